"""SC1xx: the claim itself, as it is written."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

WRITTEN: Final = (
    Rule(
        "SC100",
        "unused-suppression",
        "warning",
        "unused suppression: {reason}",
        "An ignore comment that suppresses nothing hides the next mistake on its line. "
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
        "SC101",
        "malformed-annotation",
        "error",
        "malformed annotation {text}: {reason}",
        "jaxtyping cannot read this shape string, so nobody checks it, at run time either.",
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
        "SC102",
        "malformed-comment",
        "error",
        "malformed shape comment {text}: {reason}",
        "The comment announces a shape with a marker such as `shape:`, but what follows is none.",
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
        "SC103",
        "unknown-dim",
        "error",
        "unknown dim {name}: did you mean {nearest}?",
        "A name that stands once, one letter away from a name that stands often, is a typing mistake; "
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
