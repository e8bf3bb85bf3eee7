"""SC3xx: evaluation itself, and why it ends."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

EVALUATION: Final = (
    Rule(
        code="SC301",
        name="shape-error",
        severity="error",
        message="{operation} does not fit: {reason}",
        why="JAX itself raises a shape error on this line, for every assignment of sizes that was tried.",
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
        code="SC302",
        name="not-evaluable",
        severity="note",
        message="{target} cannot be evaluated abstractly: {reason}",
        why="The code decides on the value of an array, and abstract evaluation has none. The claims behind this line "
        "are unreached. It would fail under `jax.jit` too.",
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
        code="SC303",
        name="import-failed",
        severity="note",
        message="import of {module} failed: {reason}",
        why="A module that cannot be imported cannot be evaluated: its claims are unreached. "
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
        code="SC304",
        name="worker-stopped",
        severity="note",
        message="{target} stopped the worker: {reason}",
        why="The process that imports and evaluates your code crashed, ended itself, or ran out of time or memory. "
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
    Rule(
        code="SC305",
        name="narrower-than-claimed",
        severity="error",
        message="this runs only where {requires}, which the claims tell apart: {operation} does not fit, {reason}",
        why="The claims name two sizes, so they may differ; but JAX raises a shape error on this line whenever they "
        "do, and none when they are equal. A test in which both happen to have one size does not show it. Mend the "
        "line; or, if the two are one size, give them one name.",
        bad="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def scores(query: Float[Array, "q d"], key: Float[Array, "k d"]) -> Float[Array, "q k"]:
    return query @ key
""",
        good="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def scores(query: Float[Array, "q d"], key: Float[Array, "k d"]) -> Float[Array, "q k"]:
    return query @ key.T
""",
    ),
)
