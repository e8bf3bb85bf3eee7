"""Sizes inside of instances that are made up for arguments and fields: they follow what they meet, and hide no bug."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

class Net(eqx.Module):
    first: eqx.nn.Linear
    last: eqx.nn.Linear

    def __init__(self, in_size: int, out_size: int, *, key):
        self.first = eqx.nn.Linear(in_size, 32, key=key)
        self.last = eqx.nn.Linear(32, out_size, key=key)

    def __call__(self, x):
        return self.last(jax.nn.relu(self.first(x)))
"""

STACK = """
class Stack(eqx.Module):
    layers: list

    def __init__(self, widths: list[int], *, key):
        self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(widths[:-1], widths[1:])]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)  {mark}
        return x
"""

CASES = {
    # Whoever makes such a net gives it the sizes that fit.
    "follow.py": STACK.format(mark="")
    + """
def residual(net: Net, x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    return x + jax.vmap(net)(x)

def timed(net: Net, x: Float[Array, "d"], t: Float[Array, ""]):
    y = net(jnp.concatenate([x, t[None]]))  # (k,)
    return y

class Scaled(eqx.Module):
    net: Net
    scale: Float[Array, "d"]

    def __call__(self, x: Float[Array, "d"]):
        return self.net(self.scale * x)

class Flow(eqx.Module):
    model: Stack

    def __call__(self, x: Float[Array, "d"], t: Float[Array, ""]) -> Float[Array, "d"]:
        return x - self.model(jnp.concatenate([x, t[None]]))
""",
    # A size that follows from several of them may be any other, too.
    "derived.py": """
class Bins(eqx.Module):
    net: Net
    bins: int

    def __init__(self, net: Net):
        self.net = net
        self.bins = (net.last.out_features // net.first.in_features - 1) // 3

    def __call__(self, x: Float[Array, "d"], c: Float[Array, "k"]) -> Float[Array, "d"]:
        parts = self.net(c).reshape(-1, 3 * self.bins + 1)
        return x * jnp.concatenate([parts[:, :-1], parts[:, 1:]], axis=1).prod(1).reshape(x.shape)
""",
    # The arrays of a record have dims of their own, which follow the model's, but not each other.
    "records.py": """
from typing import NamedTuple

class Params(NamedTuple):
    probs: Float[Array, "state_dim"]
    weights: Float[Array, "state_dim emission_dim"]

class Initial:
    def __init__(self, num_states: int):
        self.concentration = jnp.ones(num_states)

    def log_prior(self, params: Params) -> Float[Array, ""]:
        return (self.concentration * params.probs).sum()

    def expected(self, params: Params) -> Float[Array, "emission_dim"]: ~unreached
        return self.concentration @ params.weights + params.weights @ params.probs  ~SC305
""",
    # A record that asserts its own shapes is made so that they hold, though what it asserts next never does.
    "asserted.py": """
class Pairs(NamedTuple):
    n: int
    items: Float[Array, "n"]

def table(x: Float[Array, "k"], pairs: Pairs) -> Float[Array, "n 4"]: ~unreached
    if pairs.items.shape != (pairs.n,): ~unreached
        raise ValueError("items")
    if pairs.n != 1000:
        raise ValueError("never")  ~SC302
    return jnp.zeros((pairs.n, 4))
""",
    # No sizes of the net mend what is wrong outside of it.
    "wrong.py": STACK.format(mark="~SC301")
    + """
def loss(net: Net, x: Float[Array, "b d"], y: Float[Array, "b k"]) -> Float[Array, ""]: ~unreached
    p = jax.vmap(net)(x)
    return jnp.mean((p - y.T) ** 2)  ~SC305

class Turned(eqx.Module):
    model: Stack

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "t d"]: ~unreached
        return x + jax.vmap(self.model)(x.T)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_sizes_of_a_made_up_instance_follow_what_they_meet(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
