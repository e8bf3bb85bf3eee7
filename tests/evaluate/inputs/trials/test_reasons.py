"""What stops an evaluation is the reason of that entry: it costs no other one, and it is told in plain words."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.trials import failure_reasons
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from shapecheck import example
"""

GOOD = """
def good(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    return x.sum(-1)
"""

CASES = {
    "speechless": (
        """
class Speechless(ValueError):
    def __str__(self):
        raise RuntimeError("no words")

class Numeric(ValueError):
    def __str__(self):
        return 3

def raises(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    raise Speechless(x)

def raises_other(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    raise Numeric(x)
""",
        "raises stopped before this line: Speechless",
    ),
    # of what a framework's base class stands for nothing can be made, and Flax's own would ask itself for its call
    "any_module": (
        """
from flax import linen as nn

class Wrapper(nn.Module):
    encoder: nn.Module

    @nn.compact
    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
        return self.encoder(x)

class Known(nn.Module):
    encoder: nn.Dense

    @nn.compact
    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "d b"]:  ~SC203
        return x
""",
        "nothing says of which class `encoder: Module` is",
    ),
    # an array in the place of a size has no value here, which says nothing of shapes
    "array_as_size": (
        """
def padded(x: Float[Array, "n d"], extra: Float[Array, ""]) -> Float[Array, "m d"]: ~unreached
    return jnp.zeros((extra.astype(int) - 2, x.shape[1]))

def halved(x: Float[Array, "n d"]) -> Float[Array, "m d"]: ~unreached
    return jnp.zeros((x.shape[0] / 2, x.shape[1])) ~SC301
""",
        "padded stopped before this line: Shapes must be",
    ),
    # `argmax` looks the axis up without a word of its own; what users look up may be any tuple
    "no_such_axis": (
        """
def best(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    return jnp.argmax(x, axis=2) ~SC301

def second(x: Float[Array, "b d"], sizes: tuple[int, ...]) -> Float[Array, "b d"]: ~unreached
    return x * sizes[7]
""",
        "second stopped before this line: tuple index out of range",
    ),
    "odd_integers": (
        """
import equinox as eqx

class Coupling(eqx.Module):
    split: int
    net: eqx.nn.Linear

    def __init__(self, dim: int, *, key):
        self.split = dim // 2
        self.net = eqx.nn.Linear(self.split, dim - self.split, key=key)

    def __call__(self, x: Float[Array, "dim"]) -> Float[Array, "dim"]:
        first = x[: self.split]  # (dim - split,) ~unreached
        return jnp.concatenate([first, x[self.split :] + self.net(first)])
""",
        "it holds for some integers of its constructor, and fails for others",
    ),
    "recursion": (
        """
def helper(x, n):
    return helper(x, n + 1)

def endless(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    return helper(x, 0)

def itself(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    return itself(x)

class Loop:
    def __getattr__(self, name):
        return getattr(self, name + "_")

def looked_up(x: Float[Array, "b d"], loop=Loop()) -> Float[Array, "b"]: ~unreached
    return loop.weight * x
""",
        "endless stopped before this line: maximum recursion depth exceeded",
    ),
    "numpy_values": (
        """
def converted(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    y = np.asarray(x)  # (b, d) ~unreached
    return y.sum(-1) if y.max() > 9 else y.no_such_attribute

def passed_on(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    y = np.sum(x, axis=-1)  # (b,)
    return y
""",
        "NumPy needs values, and was given a traced array, float32[",
    ),
    "other_library": (
        """
import tensors

def given(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    return tensors.sum(x)

""",
        "must be Tensor, not DynamicJaxprTracer (a traced array, which has no values: only JAX can compute with it)",
    ),
    "other_library_copies": (
        """
import scipy.special

def copied(x: Float[Array, "b d"]) -> Float[Array, "b"]: ~unreached
    return scipy.special.logsumexp(x, axis=-1).no_such_attribute
""",
        "scipy needs values, and was given a traced array, float32[",
    ),
}

# As much of torch as matters here, which raises the same from C.
TENSORS = """
def sum(input):
    raise TypeError(f"sum(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
"""


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(
        {"tensors.py": TENSORS, **{f"{name}.py": HEAD + text + GOOD for name, (text, _) in CASES.items()}}
    )


@pytest.mark.parametrize("name", CASES)
def test_what_stops_one_entry_costs_no_other(folder, name: str) -> None:
    case = folder.cases[f"{name}.py"]
    print(case.details)
    assert [(line, code) for line, code in case.actual if code != "SC302"] == case.expected


@pytest.mark.parametrize("name", CASES)
def test_the_reason_is_told(folder, name: str) -> None:
    report = folder.report
    reasons = [each.reason for each in report.unreached if each.path == f"{name}.py"]
    reasons += [each.reason for each in report.entries if each.target.startswith(f"{name}:")]
    assert any(CASES[name][1] in reason for reason in reasons), reasons


class EinopsError(RuntimeError):
    """The three lines that einops raises."""


def test_what_does_not_fit_is_in_the_last_line_of_einops() -> None:
    error = EinopsError(
        ' Error while processing rearrange-reduction pattern "(a b) -> a b".\n Input tensor shape: (7,). '
        "Additional info: {'a': 2}.\n Shape mismatch, can't divide axis of length 7 in chunks of 2"
    )
    assert describe_error(error).endswith(
        'pattern "(a b) -> a b": Shape mismatch, can\'t divide axis of length 7 in chunks of 2'
    )


def test_a_file_is_parsed_once_however_often_its_code_fails(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("def f(x, y):\n    z = x @ self.weight\n    return z + y.T\n")
    before = failure_reasons._parse_source.cache_info().misses
    chains = [failure_reasons._chains(str(file), line) for line in (2, 3, 2)]
    assert chains == [("x", "self.weight"), ("z", "y"), ("x", "self.weight")]
    assert failure_reasons._parse_source.cache_info().misses == before + 1
