"""SC1xx: the claim itself, as it is written."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

WRITTEN: Final = (
    Rule(
        code="SC100",
        name="unused-suppression",
        severity="warning",
        message="unused suppression: {reason}",
        why="An ignore comment that suppresses nothing hides the next mistake on its line. "
        "Reported with --report-unused-ignores only.",
        bad="""\
from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x  # shapecheck: ignore[SC201]
""",
        good="""\
from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x
""",
    ),
    Rule(
        code="SC101",
        name="malformed-annotation",
        severity="error",
        message="malformed annotation {text}: {reason}",
        why="jaxtyping cannot read this shape string, so nobody checks it, at run time either.",
        bad="""\
from __future__ import annotations

from jaxtyping import Array, Float


def mean(x: Float[Array, "*batch *seq"]):
    return x.mean()
""",
        good="""\
from __future__ import annotations

from jaxtyping import Array, Float


def mean(x: Float[Array, "*batch seq"]):
    return x.mean()
""",
    ),
    Rule(
        code="SC102",
        name="malformed-comment",
        severity="error",
        message="malformed shape comment {text}: {reason}",
        why="The comment announces a shape with a marker such as `shape:`, but what follows is none.",
        bad="""\
def pairwise(x, y):
    return x[:, None] - y[None, :]  # shape: (n, m
""",
        good="""\
def pairwise(x, y):
    return x[:, None] - y[None, :]  # shape: (n, m)
""",
    ),
    Rule(
        code="SC103",
        name="unknown-dim",
        severity="error",
        message="unknown dim {name}: did you mean {nearest}?",
        why="A name that stands once, one letter away from a name that stands often, is a typing mistake; "
        "as a new name it would match any size, so the claim would check nothing.",
        bad="""\
import jax
from jaxtyping import Array, Float


def normalise(x: Float[Array, "batch tokens"]) -> Float[Array, "batch tokens"]:
    weights = jax.nn.softmax(x)  # (batch, tokns)
    return weights
""",
        good="""\
import jax
from jaxtyping import Array, Float


def normalise(x: Float[Array, "batch tokens"]) -> Float[Array, "batch tokens"]:
    weights = jax.nn.softmax(x)  # (batch, tokens)
    return weights
""",
    ),
)
