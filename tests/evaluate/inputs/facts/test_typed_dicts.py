"""A TypedDict says what stands under each key, wherever it annotates a value; such dicts are made up as well."""

from __future__ import annotations

import pytest

HEAD = """
from typing import Generic, TypedDict, TypeVar
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
"""

CASES = {
    "types_.py": """
class Batch(TypedDict):
    tokens: Int[Array, "b t"]
    mask: Bool[Array, "b t"]

class Labelled(Batch):
    label: Int[Array, "b"]

Params = TypedDict("Params", {"w": Float[Array, "i o"], "b": Float[Array, "o"]})
""",
    "uses.py": """
from types_ import Batch, Labelled, Params

def embed(batch: Batch, table: Float[Array, "v d"]) -> Float[Array, "b t d"]:
    return jnp.where(batch["mask"][..., None], table[batch["tokens"]], 0.0)

def unmasked(batch: Batch, table: Float[Array, "v d"]) -> Float[Array, "v"]: ~unreached
    return jnp.where(batch["mask"], table[batch["tokens"]], 0.0) ~SC305

def shifted(batch: Batch) -> Batch: ~SC203
    return {"tokens": batch["tokens"], "mask": batch["mask"][:, 1:]}

def linear(params: Params, x: Float[Array, "n i"]) -> Float[Array, "n o"]:
    return x @ params["w"] + params["b"]

def first(batches: list[Batch]) -> Int[Array, "t b"]: ~SC203
    return batches[0]["tokens"]

def labels(batch: Labelled) -> Int[Array, "b t"]: ~SC203
    return batch["label"][:, None] + batch["tokens"].T[:1].T + batch["tokens"][:, :1]

def masked_only(batch: Batch) -> Batch: ~unreached
    return {"mask": batch["mask"]}
""",
    "kinds.py": """
from typing import NotRequired

class Tree(TypedDict):
    leaf: Float[Array, "n"]
    left: NotRequired["Tree"]

def leaf_of(tree: Tree) -> Float[Array, "n"]: ~unreached
    return tree["leaf"]

T = TypeVar("T")

class Boxed(TypedDict, Generic[T]):
    value: T
    scale: Float[Array, "n"]

def scaled(x: Boxed[Float[Array, "n d"]]) -> Float[Array, "n d"]: ~unreached
    value = x["value"] * x["scale"][:, None]  # (n, d)
    return value

class Weighted(TypedDict, total=False):
    x: Float[Array, "n d"]
    weight: Float[Array, "n"]

def mean(data: Weighted) -> Float[Array, "d"]: ~unreached
    x = data["x"]
    if "weight" in data:
        x = data["weight"] @ x  # (d,)
    else:
        x = x.mean(0)
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_stands_under_each_key(folder, name):
    assert folder.cases[name].as_marked()


def test_messages_name_the_key(folder):
    (finding,) = (each for each in folder.cases["uses.py"].findings if "mask" in each.message)
    assert "the returned value['mask'] is" in finding.message


def test_reasons_name_the_key_that_is_not_there(folder):
    reasons = {each.reason for each in folder.report.unreached if each.path == "uses.py"}
    assert any("without an array 'tokens'" in each for each in reasons)


def test_types_alone_claim_nothing(folder):
    assert not [each for each in folder.report.verified if each.path == "types_.py"]
