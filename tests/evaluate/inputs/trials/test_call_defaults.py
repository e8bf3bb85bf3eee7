"""Integers of a call that claims use as sizes: a default such as 1 lets much run that no other size does."""

from __future__ import annotations

import pytest

HEAD = """
import jax.numpy as jnp
from jaxtyping import Array, Float

"""
CASES = {
    "broadcast.py": """
def windows(x: Float[Array, "time d"], start: Float[Array, "n"], length: int = 1) -> Float[Array, "n length"]:
    steps = jnp.arange(length)[:, None] * jnp.ones((start.shape[0], length))  ~SC305
    return steps + start[:, None]

def fine(x: Float[Array, "time d"], start: Float[Array, "n"], length: int = 1) -> Float[Array, "n length"]:
    return jnp.arange(length)[None] * jnp.ones((start.shape[0], length)) + start[:, None]
""",
    "contradicted.py": """
def first(x: Float[Array, "n d"], copies: int = 1):
    stack = jnp.stack([x] * copies)  # (copies, n, d)
    return stack[:1]  # (copies, n, d)  ~SC201

def all_of_them(x: Float[Array, "n d"], copies: int = 1):
    stack = jnp.stack([x] * copies)  # (copies, n, d)
    return stack[:copies]  # (copies, n, d)
""",
    # A default inside of an argument: what fails for other sizes is nobody's error, what fails for it as well is one.
    "settings.py": """
from dataclasses import dataclass

@dataclass
class Settings:
    n_agents: int = 1

def acting(settings: Settings):
    actions = jnp.ones((1, 2)).reshape((1, settings.n_agents, -1))
    return actions.sum(-1)  # shape: (1, n_agents)

def stopped(settings: Settings):
    actions = jnp.ones((1, 2)).reshape((1, settings.n_agents, -1))
    if float(actions.sum()) > open("no such file"):  ~SC302
        actions = -actions
    return actions.sum(-1)  # shape: (1, n_agents)  ~unreached

def broken(settings: Settings):
    actions = jnp.ones((1, 3)).reshape((7, settings.n_agents, -1))  ~SC301
    return actions.sum()  # shape: ()  ~unreached
""",
    # What only some sizes let run says so, or divides: nobody's error.
    "particular.py": """
def heads(x: Float[Array, "t d"], n_heads: int = 4) -> Float[Array, "n_heads t k"]:
    return x.reshape(x.shape[0], n_heads, -1).swapaxes(0, 1)

def ordered(x: Float[Array, "t"], order: int = 2) -> Float[Array, "order t"]:
    if order not in (1, 2, 3):
        raise ValueError("up to three")
    return jnp.stack([x] * order)

def summed(x: Float[Array, "t d"], axis: int = 1):
    return x.sum(axis)  # shape: (t,)

def patches(image: Float[Array, "h w"], patch: int = 16) -> Float[Array, "p patch patch"]:
    h, w = image.shape
    tiles = image.reshape(h // patch, patch, w // patch, patch)
    return tiles.swapaxes(1, 2).reshape(-1, patch, patch)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_a_size_with_a_default_is_any_size(folder, name: str) -> None:
    checked = folder.cases[name]
    assert checked.as_marked(), checked.details


def test_the_finding_names_the_default(folder) -> None:
    (finding,) = folder.cases["broadcast.py"].findings
    assert "runs only where length = 1, which the claims leave open" in finding.message
