"""SC2xx: the claim against what evaluation shows."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

MISMATCHES: Final = (
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
)
