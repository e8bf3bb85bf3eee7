"""Every rule, once: the docs, the SARIF metadata, config validation and the tests of the examples come from here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from shapecheck.facts import Severity


@dataclass(frozen=True)
class Rule:
    """What one code means.

    `message` is the template of a finding's first line. `bad` and `good` are whole files: checked, `bad` gives exactly
    this code and `good` gives nothing (for SC100, with unused suppressions reported).
    """

    code: str
    name: str
    severity: Severity
    message: str
    why: str
    bad: str
    good: str


_ALL: Final = (
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
    Rule(
        "SC201",
        "comment-mismatch",
        "error",
        "{notation} says {claimed}, but {target} is {observed}",
        "A shape comment that is wrong misleads everybody who reads it. Every sensible reading of it was tried.",
        bad="""\
from jaxtyping import Array, Float


def project(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]):
    y = x @ w  # (hidden, batch)
    return y
""",
        good="""\
from jaxtyping import Array, Float


def project(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]):
    y = x @ w  # (batch, hidden)
    return y
""",
    ),
    Rule(
        "SC202",
        "argument-mismatch",
        "error",
        "{notation} says {claimed}, but argument {target} is {observed}",
        "The function is called with an array that its annotation rules out; broadcasting often hides the mistake.",
        bad="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def rescale(x: Float[Array, "batch d"], centre: Float[Array, "d"]) -> Float[Array, "batch d"]:
    return x / jnp.sum(centre**2)


def block(x: Float[Array, "batch d"]) -> Float[Array, "batch d"]:
    return rescale(x, x.mean(axis=1))
""",
        good="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def rescale(x: Float[Array, "batch d"], centre: Float[Array, "d"]) -> Float[Array, "batch d"]:
    return x / jnp.sum(centre**2)


def block(x: Float[Array, "batch d"]) -> Float[Array, "batch d"]:
    return rescale(x, x.mean(axis=0))
""",
    ),
    Rule(
        "SC203",
        "return-mismatch",
        "error",
        "{notation} says {claimed}, but {target} is {observed}",
        "The returned array is not what the signature promises to callers.",
        bad="""\
from jaxtyping import Array, Float


def pool(x: Float[Array, "batch seq d"]) -> Float[Array, "batch d"]:
    return x.mean(axis=2)
""",
        good="""\
from jaxtyping import Array, Float


def pool(x: Float[Array, "batch seq d"]) -> Float[Array, "batch d"]:
    return x.mean(axis=1)
""",
    ),
    Rule(
        "SC204",
        "local-mismatch",
        "error",
        "{notation} says {claimed}, but {target} is {observed}",
        "jaxtyping never checks annotated local variables, so a wrong one goes unnoticed at run time.",
        bad="""\
from jaxtyping import Array, Float


def gram(x: Float[Array, "n d"]):
    products: Float[Array, "d d"] = x @ x.T
    return products
""",
        good="""\
from jaxtyping import Array, Float


def gram(x: Float[Array, "n d"]):
    products: Float[Array, "d d"] = x.T @ x
    return products
""",
    ),
    Rule(
        "SC205",
        "field-mismatch",
        "error",
        "{notation} says {claimed}, but field {target} is {observed}",
        "An instance is built with an array that its class's field annotation rules out.",
        bad="""\
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Linear(eqx.Module):
    weight: Float[Array, "out_size in_size"]
    in_size: int = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        self.weight = jax.random.normal(key, (in_size, out_size))
        self.in_size = in_size
        self.out_size = out_size

    def __call__(self, x: Float[Array, "in_size"]) -> Float[Array, "out_size"]:
        return x @ self.weight
""",
        good="""\
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Linear(eqx.Module):
    weight: Float[Array, "out_size in_size"]
    in_size: int = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        self.weight = jax.random.normal(key, (out_size, in_size))
        self.in_size = in_size
        self.out_size = out_size

    def __call__(self, x: Float[Array, "in_size"]) -> Float[Array, "out_size"]:
        return self.weight @ x
""",
    ),
    Rule(
        "SC206",
        "dtype-mismatch",
        "error",
        "{notation} says {claimed}, but {target} is {observed}",
        "The shape fits and the dtype does not: often a silent promotion, or a comparison whose result was never cast.",
        bad="""\
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def one_hot(labels: Int[Array, "batch"]) -> Float[Array, "batch 10"]:
    return labels[:, None] == jnp.arange(10)[None, :]
""",
        good="""\
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def one_hot(labels: Int[Array, "batch"]) -> Float[Array, "batch 10"]:
    return (labels[:, None] == jnp.arange(10)[None, :]).astype(jnp.float32)
""",
    ),
    Rule(
        "SC207",
        "docstring-mismatch",
        "error",
        "{notation} says {claimed}, but {target} is {observed}",
        "The documentation promises another shape than the code has.",
        bad='''\
from jaxtyping import Array, Float


def pool(x: Float[Array, "batch seq d"]):
    """Average over the sequence.

    Args:
        x: The tokens.

    Returns:
        Array of shape (batch, seq).
    """
    return x.mean(axis=1)
''',
        good='''\
from jaxtyping import Array, Float


def pool(x: Float[Array, "batch seq d"]):
    """Average over the sequence.

    Args:
        x: The tokens.

    Returns:
        Array of shape (batch, d).
    """
    return x.mean(axis=1)
''',
    ),
    Rule(
        "SC209",
        "structure-mismatch",
        "error",
        "{notation} says {claimed}, but {target} has the structure {observed}",
        "Two pytrees that are annotated with one structure name must have the same structure.",
        bad="""\
import jax
from jaxtyping import Array, Float, PyTree


def total(old: PyTree[Float[Array, "d"], "T"], new: PyTree[Float[Array, "d"], "T"]):
    return sum(jax.tree.leaves(old)) + sum(jax.tree.leaves(new))


def step(x: Float[Array, "d"]):
    return total([x, x], (x, x))
""",
        good="""\
import jax
from jaxtyping import Array, Float, PyTree


def total(old: PyTree[Float[Array, "d"], "T"], new: PyTree[Float[Array, "d"], "T"]):
    return sum(jax.tree.leaves(old)) + sum(jax.tree.leaves(new))


def step(x: Float[Array, "d"]):
    return total([x, x], [x, x])
""",
    ),
    Rule(
        "SC301",
        "shape-error",
        "error",
        "{operation} does not fit: {reason}",
        "JAX itself raises a shape error on this line, for every assignment of sizes that was tried.",
        bad="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def prepend(token: Float[Array, "d"], x: Float[Array, "seq d"]) -> Float[Array, "seq+1 d"]:
    return jnp.concatenate([token, x])
""",
        good="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def prepend(token: Float[Array, "d"], x: Float[Array, "seq d"]) -> Float[Array, "seq+1 d"]:
    return jnp.concatenate([token[None], x])
""",
    ),
    Rule(
        "SC302",
        "not-evaluable",
        "note",
        "{target} cannot be evaluated abstractly: {reason}",
        "The code decides on the value of an array, and abstract evaluation has none. The claims behind this line are "
        "unreached. It would fail under `jax.jit` too.",
        bad="""\
from jaxtyping import Array, Float


def rectify(x: Float[Array, "n"]) -> Float[Array, "n"]:
    if x.sum() > 0:
        return x
    return -x
""",
        good="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def rectify(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return jnp.where(x.sum() > 0, x, -x)
""",
    ),
    Rule(
        "SC303",
        "import-failed",
        "note",
        "import of {module} failed: {reason}",
        "A module that cannot be imported cannot be evaluated: its claims are unreached. "
        "Often --python names another interpreter than the one your program runs in.",
        bad="""\
import a_package_that_nobody_installed as missing
from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return missing.double(x)
""",
        good="""\
from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x
""",
    ),
    Rule(
        "SC304",
        "worker-stopped",
        "note",
        "{target} stopped the worker: {reason}",
        "The process that imports and evaluates your code crashed, ended itself, or ran out of time or memory. "
        "--timeout and --memory set the bounds.",
        bad="""\
import os

from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x


os._exit(3)
""",
        good="""\
import os

from jaxtyping import Array, Float


def double(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x


if __name__ == "__main__":
    os._exit(3)
""",
    ),
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.code: rule for rule in _ALL})


def as_code(text: str) -> str | None:
    """Return the code, or beginning of codes ("SC2"), that `text` is in any case or names (`comment-mismatch`)."""
    code = text.upper()
    if code.startswith("SC") and any(known.startswith(code) for known in RULES):
        return code
    return next((rule.code for rule in RULES.values() if rule.name == text.lower()), None)


def nearest_code(text: str) -> str:
    """Return the rule's code that `text` was probably meant to be."""
    return difflib.get_close_matches(text.upper(), RULES, n=1, cutoff=0.0)[0]
