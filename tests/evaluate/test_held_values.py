"""What annotations say of the value inside of a generic class is held against that value, where it is known."""

from __future__ import annotations

import pytest

HEAD = """
from typing import Generic, TypeVar, Union
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

T = TypeVar("T")
U = TypeVar("U")
"""

CASES = {
    "fields.py": """
class Box(eqx.Module, Generic[T]):
    item: T
    count: int = eqx.field(static=True, default=3)

def unbox(box: Box[Float[Array, "n d"]], x: Float[Array, "d"]) -> Float[Array, "n"]:
    return box.item @ x

def swapped(box: Box[Float[Array, "n d"]], x: Float[Array, "d"]) -> Box[
    Float[Array, "d"] ~SC203
]:
    return Box(box.item @ x)

def either(
    box: Union[
        Float[Array, "n"],
        Box[Float[Array, "n d"]],
    ],
    x: Float[Array, "n"],
) -> Float[Array, "n"]:
    return box.item.sum(1) + x if isinstance(box, Box) else box + x
""",
    # what a lazy expression is worth is no operand of it
    "lazy.py": """
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Constant:
    value: Array

@dataclasses.dataclass(frozen=True)
class Operation:
    function: object
    arguments: tuple

def mean(points: Float[Array, "n 2"]) -> Operation:
    '''Return the mean of the points, shape ``(2,)``.'''  ~unreached
    return Operation(lambda v: v.mean(0), (Constant(points),))

def held(points: Float[Array, "n 2"]) -> Constant:
    '''Return the points, shape ``(2, n)``.'''  ~SC207
    return Constant(points)
""",
    # nothing says which attribute is of which type
    "unknown.py": """
class Pair(Generic[T, U]):
    def __init__(self, first: T, second: U):
        self.first, self.second = first, second

class Plain(Generic[T]):
    def __init__(self, value: T):
        self.value = value

def pair(
    p: Pair[
        Float[Array, "n d"], ~unreached
        Float[Array, "d"], ~unreached
    ],
) -> Float[Array, "n"]:
    return p.first @ p.second

def plain(
    p: Plain[
        Float[Array, "n d"] ~unreached
    ],
) -> Float[Array, "n"]:
    return p.value.sum(1)
""",
}
VARIABLES = """
def scaled(
    scale: nnx.Param[Float[Array, "n d"]], x: Float[Array, "d"]
) -> nnx.Variable[Float[Array, "n"]]:
    return nnx.Variable(scale[...] @ x)

class Layer(nnx.Module):
    weight: nnx.Param[Float[Array, "d out"]]

    def __init__(self, d: int, out: int):
        self.weight = nnx.Param(jnp.ones((d, out)))  # (d, out)

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b out"]:
        turned: Union[
            Float[Array, ""], ~unreached
            nnx.Variable[
                Float[Array, "out d"] ~SC204
            ],
        ] = self.weight
        return x @ self.weight[...]
"""


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_of_what_generic_classes_hold(folder, name):
    assert folder.cases[name].as_marked()


def test_reasons_name_the_class(folder):
    reasons = {each.reason for each in folder.report.unreached if each.path == "unknown.py"}
    assert reasons == {
        "nothing says which part of Pair is of which of its types",
        "the value is of type Plain, and what that holds is not known",
    }


def test_messages_lead_to_the_value(folder):
    (finding,) = folder.cases["fields.py"].findings
    assert finding.message == 'annotation says Float[Array, "d"], but the returned value.item is (n,)'


def test_variables_of_nnx(check_folder):
    pytest.importorskip("flax.nnx")
    found = check_folder({"variables.py": HEAD + "from flax import nnx\n" + VARIABLES}).cases["variables.py"]
    assert found.as_marked()
