"""What is made up for one parameter is no excuse for a claim about a value that depends on others alone."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from flax import linen as nn
"""

CASES = {
    # a table that nobody describes has nothing to do with the number of steps, and runs out after it was seen
    "apart.py": """
class Decoder(nn.Module):
    width: int

    @nn.compact
    def __call__(self, z):
        # z: (steps, latents)
        return nn.Dense(self.width)(z)

def between(model, params, a, b, steps):
    '''Codes on the line between two.

    Args:
        a: (latents,)
        b: (latents,)
    '''
    t = jnp.linspace(0.0, 1.0, steps)  # (steps, 1) ~SC201
    codes = a + jnp.outer(t, b - a)  # (latents, steps) ~SC201
    return model.apply({"params": params}, codes)
""",
    # a claim that holds is what the next ones are about, whatever was made up for it
    "behind.py": """
def pinball(logits, labels, mask):
    # logits: num_nodes x num_classes
    onehot = jax.nn.one_hot(labels, logits.shape[1])  # num_nodes x num_classes
    loss = -(onehot * jax.nn.log_softmax(logits)).sum(axis=1)  # (num_classes,) ~SC201
    return (loss * mask).sum()

def unclaimed(logits, labels):
    # logits: num_nodes x num_classes
    onehot = jax.nn.one_hot(labels, logits.shape[1])
    return -(onehot * jax.nn.log_softmax(logits)).sum(axis=1)  # (num_classes,) ~unreached
""",
    # so it is with methods of models; what the constructor was given under the same name is another thing
    "methods.py": """
class Head(nn.Module):
    bins: int

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array):
        n, _ = x.shape
        logits = nn.Dense(23)(x)  # (n, 22) ~SC201
        return logits * mask[:, None]

class Masked:
    def __init__(self, mask: jax.Array):
        self.mask = mask

    def kept(self, x: jax.Array, mask: jax.Array):
        n, _ = x.shape
        mine = jnp.concatenate([self.mask, jnp.ones(3)])  # (4,) ~unreached
        return x * mask[:, None], mine
""",
    # it may depend on what was made up by way of a condition, a loop, or a function inside
    "within.py": """
def by_condition(x, labels):
    # x: (n, d)
    y = x
    if labels.ndim > 1:
        y = jax.nn.one_hot(labels, 3).sum(axis=0)
    else:
        y = jax.nn.one_hot(labels, 3).T
    return y  # (n, d) ~unreached

def by_loop(x, labels):
    # x: (n, d)
    total = []
    for number in range(2):
        total.append(jax.nn.one_hot(labels, x.shape[1]).sum(axis=1))
    return total[0]  # (d,)

def by_function(x, labels):
    # x: (n, d)
    def picked(v):
        return jax.nn.one_hot(labels, v.shape[1])
    return picked(x).sum(axis=1)  # (d,)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_beside_what_is_made_up(folder, name):
    assert folder.cases[name].as_marked()
