"""SC2xx: the claim against what evaluation shows."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

MISMATCHES: Final = (
    Rule(
        code="SC201",
        name="comment-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} is {observed}",
        why="A shape comment that is wrong misleads everybody who reads it. Every sensible reading of it was tried.",
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
        code="SC202",
        name="argument-mismatch",
        severity="error",
        message="{notation} says {claimed}, but argument {target} is {observed}",
        why="The function is called with an array that its annotation rules out; broadcasting often hides the mistake.",
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
        code="SC203",
        name="return-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} is {observed}",
        why="The returned array is not what the signature promises to callers.",
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
        code="SC204",
        name="local-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} is {observed}",
        why="jaxtyping never checks annotated local variables, so a wrong one goes unnoticed at run time.",
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
        code="SC205",
        name="field-mismatch",
        severity="error",
        message="{notation} says {claimed}, but field {target} is {observed}",
        why="An instance is built with an array that its class's field annotation rules out.",
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
        code="SC206",
        name="dtype-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} is {observed}",
        why="The shape fits and the dtype does not: often a silent promotion, or a comparison whose result was never "
        "cast.",
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
        code="SC207",
        name="docstring-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} is {observed}",
        why="The documentation promises another shape than the code has.",
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
        code="SC209",
        name="structure-mismatch",
        severity="error",
        message="{notation} says {claimed}, but {target} has the structure {observed}",
        why="Two pytrees that are annotated with one structure name must have the same structure.",
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
