"""Parameters of which comments describe what is taken out of them: `x = batch["x"]  # (b, t)`."""

from __future__ import annotations

import pytest

HEAD = """
from collections.abc import Callable
from typing import Any
import jax
import jax.numpy as jnp

"""

CASES = {
    # entries of a dict, one by one or together, and what converts them on the way
    "entries.py": """
def pooled(_, batch):
    tokens = jnp.asarray(batch["tokens"])  # (b, t, d)
    mask = batch["mask"].astype(jnp.float32)  # (b, t)
    total = jnp.einsum("btd,bt->bd", tokens, mask)  # (b, t)  ~SC201
    return total / jnp.sum(mask, axis=1, keepdims=True)  # (b, d)

def scores(batch: dict):
    q, k = batch["q"], batch["k"]  # (b, t, d), (b, s, d)
    return jnp.einsum("btd,bsd->bts", q, k)  # (b, s, t)  ~SC201

def nested(batch: dict[str, Any]):
    x = batch["obs"]["x"]  # (n, 3)
    y = batch["obs"]["y"]  # (m, 3)
    return x @ y.T  # (m, n)  ~SC201
""",
    # of a tuple all elements must be known
    "tuples.py": """
def cell(carry, x):
    '''x: (d,)'''
    h, c = carry  # (d,), (d,)
    both = jnp.stack([h, c, x])  # (d, 3)  ~SC201
    return (h + x, c), both

def rest(carry):
    h, _ = carry  # (d,), (d,)
    return jnp.outer(h, h)  # (d, d)

def square(points):
    x, y = points
    return x @ y  # (n,)  ~unreached

def never(carry: dict[str, Any]):
    x = carry["x"]  # (n, 3)  ~unreached
    y = carry["y"]  # (m, 3)  ~unreached
    return x + y  ~SC305
""",
    # what a function gives that is a parameter
    "callables.py": """
def rollout(policy, dynamics: Callable, s0, horizon: int):
    '''s0: (state_dim,)'''
    def step(s, _):
        a = policy(s)  # (act_dim,)
        s = dynamics(jnp.concatenate([s, a]))  # (state_dim,)
        return s, (s, a)

    _, (states, actions) = jax.lax.scan(step, s0, None, length=horizon)
    # states: (horizon, state_dim), actions: (horizon, state_dim)  ~SC201
    return states, actions
""",
    # what is handed on is described where it goes
    "handed.py": """
def attend(q, k):
    '''q: (b, t, d), k: (b, s, d)'''
    return jnp.einsum("btd,bsd->bts", q, k)  # (b, t, s)

def normed(batch):
    weight = batch["w"]  # (b, s)
    return jax.nn.softmax(weight)  # (b, s)

def model(batch):
    weights = attend(batch["q"], batch["k"])
    return weights * normed(batch)[:, None]  # (b, s)  ~SC201
""",
    # a function that is called shows what it is given: what follows from a false comment is not told as well
    "called.py": """
def given():
    return taken((jnp.ones((3, 5)), jnp.ones(3)))  # (3, 5)

def taken(carry):
    h, c = carry  # (b, d), (b, d)  ~SC201
    return h * c[:, None]  # (b, d)
""",
    # other readings of the same part, and a name that is bound again, describe nothing
    "unclear.py": """
def two(batch):
    x = batch["x"]  # (b, t)  ~unreached
    y = batch["x"]  # (b, t, 1)  ~unreached
    return x @ y[..., 0].T  # (b, b)  ~unreached

def again(batch, flag):
    batch = dict(batch)
    x = batch["x"]  # (b, t)  ~unreached
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_out_of_a_parameter_describes_it(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
