"""SC4xx: calls for debugging that do not do what they look like."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

DEBUGGING: Final = (
    Rule(
        code="SC401",
        name="early-format",
        severity="warning",
        message="{text} is formatted before {function} sees it: {transformation} traces it, so a tracer is printed, "
        "no value",
        why="An f-string, `%` or `.format` makes its text while JAX traces, when there is no value yet. "
        "Give `jax.debug.print` a plain format string and the arrays as arguments. "
        "Reported where evaluation saw that JAX traces the value in any run; --fix rewrites plain f-strings.",
        bad="""\
import jax
from jaxtyping import Array, Float


@jax.jit
def mean(x: Float[Array, "n"]) -> Float[Array, ""]:
    result = x.mean()
    jax.debug.print(f"mean {result}")
    return result
""",
        good="""\
import jax
from jaxtyping import Array, Float


@jax.jit
def mean(x: Float[Array, "n"]) -> Float[Array, ""]:
    result = x.mean()
    jax.debug.print("mean {result}", result=result)
    return result
""",
    ),
    Rule(
        code="SC402",
        name="debug-call",
        severity="warning",
        message="{function} is left in the code",
        why="A breakpoint waits for somebody at a terminal, and a debug print slows the program down; "
        "both may be meant to stay, so this is off unless --select names it: SC402, SC4 or SC.",
        bad="""\
import jax
from jaxtyping import Array, Float


def halve(x: Float[Array, "n"]) -> Float[Array, "n"]:
    jax.debug.breakpoint()
    return x / 2
""",
        good="""\
from jaxtyping import Array, Float


def halve(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return x / 2
""",
        optional=True,
    ),
    Rule(
        code="SC403",
        name="print-of-tracer",
        severity="warning",
        message="print shows a tracer for {text}, and no value: {transformation} traces it",
        why="Python's `print` runs while JAX traces, once for all calls, when there is no value yet. "
        "`jax.debug.print` prints the values, each time. "
        "Reported where evaluation saw that JAX traces the value in any run, not where vmap or grad alone do.",
        bad="""\
import jax
from jaxtyping import Array, Float


@jax.jit
def mean(x: Float[Array, "n"]) -> Float[Array, ""]:
    print("mean of", x)
    return x.mean()
""",
        good="""\
import jax
from jaxtyping import Array, Float


@jax.jit
def mean(x: Float[Array, "n"]) -> Float[Array, ""]:
    print("tracing mean for", x.shape)
    jax.debug.print("mean of {}", x)
    return x.mean()
""",
    ),
    Rule(
        code="SC404",
        name="impossible-order",
        severity="error",
        message="ordered=True cannot be kept: {reason}",
        why="JAX raises this where callbacks would have to run in an order that a transformation leaves open: "
        "`io_callback(ordered=True)` under `vmap`, ordered debug prints under the `pmap` of older JAX.",
        bad="""\
import jax
from jax.experimental import io_callback
from jaxtyping import Array, Float


def note(value):
    pass


def logged(row: Float[Array, "d"]) -> Float[Array, "d"]:
    io_callback(note, None, row, ordered=True)
    return row


def rows(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(logged)(x)
""",
        good="""\
import jax
from jax.experimental import io_callback
from jaxtyping import Array, Float


def note(value):
    pass


def logged(row: Float[Array, "d"]) -> Float[Array, "d"]:
    io_callback(note, None, row, ordered=False)
    return row


def rows(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(logged)(x)
""",
    ),
)
