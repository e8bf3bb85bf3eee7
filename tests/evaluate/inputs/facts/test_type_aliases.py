"""Aliases and type parameters of Python 3.12's syntax: `type Batch = ...`, `def f[T: ...](x: T)`."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="older Pythons cannot parse it")

CASES = {
    "aliases.py": """
from jaxtyping import Array, Float

type Batch = Float[Array, "b d"]
type Pair[K] = tuple[Batch, Batch]
type Turned = Float[Array, "d b"] | None

def wrong(x: Batch) -> Batch: ~SC203
    return x.T

def right(x: Batch) -> Turned:
    return x.T

def first(pair: Pair) -> Batch:
    y: Batch = pair[0]
    return y

def second(pair: Pair[int]) -> Batch:
    return pair[1]

class Method[T]:
    def call(self, x: Batch) -> Float[Array, "d b"]: ~SC203
        return x
""",
    "parameters.py": """
from jaxtyping import Array, Float

def wrong[S: Float[Array, "n"]](x: S) -> S: ~SC203
    return x[1:]

def right[U: Float[Array, "n"]](x: U) -> U:
    return 2 * x
""",
    # Within a callable, too, which stands in a union.
    "callables.py": """
from collections.abc import Callable, Mapping
from jaxtyping import Array, Float

type Number = float | Float[Array, ""]
type Fixed = Number | Callable[[dict[str, Number]], Number]

def fixed(
    x: Float[Array, "n"],
    values: Mapping[str, Fixed], ~unreached
) -> Float[Array, "n"]: ~SC203
    return x[1:]
""",
    # What stands for itself, or for nothing, has no shape; the others are checked.
    # one that stands for a number is that number where an axis is called so
    "numbers.py": """
import jax.numpy as jnp
from jaxtyping import Array, Float

class Dim:
    def __class_getitem__(cls, size):
        return cls

type Pose = Dim[4]
type Control = Dim[2]
type Other = list[int]

def step(state: Float[Array, "Pose M"], control: Float[Array, "Control M"]) -> Float[Array, "Pose M"]:
    x, y, angle, speed = state
    turn, push = control
    return jnp.stack([x + speed, y, angle + turn, speed + push])

def wrong(state: Float[Array, "Pose M"]) -> Float[Array, "Pose M"]: ~SC203
    x, y, angle, speed = state
    return jnp.stack([x, y, angle])

def of_any(state: Float[Array, "Other M"]) -> Float[Array, "M Other"]:
    return state.T
""",
    "endless.py": """
from jaxtyping import Array, Float

type Endless = tuple[Endless, Float[Array, "n"]]
type Lazy = Missing

def takes_endless(x: Endless, y: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    return y

def takes_lazy(x: Lazy, y: Float[Array, "n"]) -> Float[Array, "n"]:
    return y

def wrong(y: Float[Array, "n"]) -> Float[Array, "n"]: ~SC203
    return y[1:]
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(CASES)


@pytest.mark.parametrize("name", CASES)
def test_they_are_followed(folder, name):
    checked = folder.cases[name]
    assert checked.actual == checked.expected, checked.details
    assert not folder.report.bugs
