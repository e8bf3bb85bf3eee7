"""A claim on what a function returns is about each `return`: the other path is taken, or named as never seen."""

from __future__ import annotations

import pytest

HEAD = """
import enum
from dataclasses import dataclass
from typing import Literal, Optional

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray
"""

# Each has a wrong path that is taken only if a switch is not as it usually is; `good` is put in for `bad`.
CASES = {
    "flag.py": (
        """
def f(x: Float[Array, "a b"], causal: bool = False) -> Float[Array, "a b"]:  ~SC203
    if causal:
        return {0}
    return x
""",
        "x.T",
        "-x",
    ),
    "on_the_way.py": (
        """
def f(x: Float[Array, "a b"], scaled: bool = False) -> Float[Array, "a b"]:  ~SC203
    if scaled:
        x = {0}
    return x
""",
        "x[:, :1]",
        "x / 2",
    ),
    "one_of_two_results.py": (
        """
def f(x: Float[Array, "a b"], scaled: bool = False) -> tuple[Float[Array, "a b"], Float[Array, "a"]]:  ~SC203
    if scaled:
        y = {0}
    else:
        y = x * 2
    return y, x.sum(1)
""",
        "x.T",
        "x / 2",
    ),
    "field_on_the_way.py": (
        """
class Scale(eqx.Module):
    weight: Array
    halved: bool
    def __init__(self, size: int, halved: bool = False):
        self.weight, self.halved = jnp.ones(size), halved
    def __call__(self, x: Float[Array, "n d"]):
        y = x * self.weight
        if not self.halved:
            y = y + 1
        if self.halved:
            y = {0}
        return y  # (n, d)  ~SC201
""",
        "y.sum(0)",
        "y / 2",
    ),
    "optional.py": (
        """
def f(x: Float[Array, "a b"], mask: Optional[Float[Array, "b"]] = None) -> Float[Array, "a b"]:  ~SC203
    if mask is None:
        y = x
    else:
        y = {0}
    return y
""",
        "(x * mask).T",
        "x * mask",
    ),
    "text.py": (
        """
def f(x: Float[Array, "a b"], mode: str = "sum") -> Float[Array, "a"]:  ~SC203
    if mode == "sum":
        return x.sum(1)
    elif mode == "mean":
        return {0}
    raise ValueError(mode)
""",
        "x.mean(0)",
        "x.mean(1)",
    ),
    "literal.py": (
        """
def f(x: Float[Array, "a b"], mode: Literal["sum", "mean"]):
    if mode == "sum":
        y = x.sum(1)
    else:
        y = {0}
    return y  # (a,)  ~SC201
""",
        "x.mean(0)",
        "x.mean(1)",
    ),
    "members.py": (
        """
class Mode(enum.Enum):
    SUM = 1
    MEAN = 2

def f(x: Float[Array, "a b"], mode: Mode = Mode.SUM) -> Float[Array, "a"]:  ~SC203
    if mode is Mode.SUM:
        return x.sum(1)
    return {0}
""",
        "x.mean(0)",
        "x.mean(1)",
    ),
    "field.py": (
        """
class Pool(eqx.Module):
    mean: bool = eqx.field(static=True)
    def __init__(self, mean: bool = False):
        self.mean = mean
    def __call__(self, x: Float[Array, "a b"]) -> Float[Array, "a"]:  ~SC203
        if self.mean:
            return {0}
        return x.sum(1)
""",
        "x.mean(0)",
        "x.mean(1)",
    ),
    # the sizes have to be found for the other path too
    "tied_field.py": (
        """
class Project(eqx.Module):
    linear: eqx.nn.Linear
    flatten: bool = eqx.field(static=True)
    def __init__(self, in_channels: int, dim: int, flatten: bool = True, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(in_channels, dim, key=key)
        self.flatten = flatten
    def __call__(self, x: Float[Array, "points channels"]) -> Float[Array, "points out"]:  ~SC203
        y = jax.vmap(self.linear)(x)
        if not self.flatten:
            return {0}
        return y
""",
        "y.ravel()",
        "-y",
    ),
    "config.py": (
        """
@dataclass(frozen=True)
class Config:
    width: int = 16
    mean: bool = False

def f(x: Float[Array, "a b"], cfg: Config) -> Float[Array, "a"]:  ~SC203
    if cfg.mean:
        return {0}
    return x.sum(1)
""",
        "x.mean(0)",
        "x.mean(1)",
    ),
    # what the model always does is one path of its part; alone the part takes the other
    "reached_by_a_model.py": (
        """
class Part(eqx.Module):
    def __call__(self, x: Float[Array, "a b"], flip: bool = False) -> Float[Array, "a b"]:  ~SC203
        if flip:
            return -x
        return {0}

class Whole(eqx.Module):
    part: Part
    def __init__(self):
        self.part = Part()
    def __call__(self, x: Float[Array, "a b"]) -> Float[Array, "a b"]:
        return self.part(x, flip=True)
""",
        "x.T",
        "x",
    ),
    # the comment on a line that usually does not run
    "comment.py": (
        """
def f(x: Float[Array, "a b"], norm: bool = False) -> Float[Array, "a b"]:
    if norm:
        scale = {0}  # (a, 1)  ~SC201
        x = x / scale
    return x
""",
        "jnp.linalg.norm(x, axis=0, keepdims=True)",
        "jnp.linalg.norm(x, axis=1, keepdims=True)",
    ),
}


@pytest.fixture(scope="module")
def folder(check_folder):
    files = {name: HEAD + text.replace("{0}", bad) for name, (text, bad, _) in CASES.items()}
    files |= {
        f"good_{n}": HEAD + text.replace("{0}", good).replace("  ~SC203", "").replace("  ~SC201", "")
        for n, (text, _, good) in CASES.items()
    }
    return check_folder({**files, **{name: HEAD + text for name, text in OTHERS.items()}})


OTHERS = {
    # what a flag guards may fail though nothing is claimed there, also in a method that is called
    "guarded.py": """
class Model(eqx.Module):
    weight: Float[Array, "v d"]
    dropout: bool = False

    def __call__(self, tokens: Array) -> Array:
        # tokens: (length,)
        return self.embed(tokens)

    def embed(self, tokens: Array) -> Array:
        # tokens: (length,)
        x = self.weight[tokens]
        if self.dropout:
            x = jnp.where((tokens == 32)[None, :], 0, x)  ~SC305
        return x

def right(x: Float[Array, "n d"], keep: Bool[Array, "n"], dropped: bool = False) -> Array:
    if dropped:
        x = jnp.where(keep[:, None], x, 0)
    return x

def wrong(x: Float[Array, "n d"], keep: Bool[Array, "n"], dropped: bool = False) -> Array:
    if dropped:
        x = jnp.where(keep, x, 0)  ~SC305
    return x

# a flag that asks for what was left out is no shape error
def asks(x: Float[Array, "n d"], bias=None, biased: bool = False) -> Array:
    if biased:
        x = x + bias
    return x
""",
    # of which arrays are otherwise with a flag its own words may tell
    "documented.py": """
def with_words(weights, states, both):
    \"\"\"Read out.

    Args:
        weights (float32): output weights (H, P)
        states (float32): states (L, P)
        both (bool): whether to go back as well; weights have 2P columns then
    \"\"\"
    if both:
        states = jnp.concatenate((states, states), axis=-1)
    return states @ weights.T

def without(weights, states, both):
    \"\"\"Read out.

    Args:
        weights (float32): output weights (H, P)
        states (float32): states (L, P)
        both (bool): whether to go back as well
    \"\"\"
    if both:
        states = jnp.concatenate((states, states), axis=-1)
    return states @ weights.T  ~SC301
""",
    # also where the sizes of a layer have to be found first
    "of_layers.py": """
class Causal(eqx.Module):
    linear: eqx.nn.Linear
    causal: bool

    def __init__(self, dim: int, causal: bool = False, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.causal = causal

    def __call__(self, x: Float[Array, "n d"]):
        y = jax.vmap(self.linear)(x)
        if self.causal:
            y = y * jnp.tril(jnp.ones((x.shape[1], x.shape[1])))  ~SC305
        return y

class Masked(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim: int, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x: Float[Array, "n d"], mask: Optional[Float[Array, "n n"]] = None):  ~unreached
        y = jax.vmap(self.linear)(x)
        if mask is not None:
            y = y @ mask  ~SC305
        return y

    def right(self, x: Float[Array, "n d"], mask: Optional[Float[Array, "n n"]] = None):
        y = jax.vmap(self.linear)(x)
        if mask is not None:
            y = mask @ y
        return y
""",
    # nobody knows which values lead there
    "unknown.py": """
def f(x: Float[Array, "a b"], n: float) -> Float[Array, "a b"]:  ~unreached
    if n > 7:
        return x.T
    return x
""",
    # a guard, an end without value, and what stands behind an end are no paths
    "guards.py": """
def f(x: Float[Array, "a b"], n: float) -> Optional[Float[Array, "a b"]]:
    if n > 7:
        return None
    if n > 6:
        return
    if n > 5:
        raise ValueError(n)
    return x
    return x.T

def g(x: Float[Array, "a b"], n: float) -> Float[Array, "a b"]:
    if n > 7:
        raise ValueError(n)
    elif n > 5:
        y = None
        return NotImplemented
    else:
        y = x
    return y
""",
    # the claims of a nested function, and of a method of a class in it, are about their own returns
    "nested.py": """
def f(x: Float[Array, "a b"], n: float) -> Float[Array, "a b"]:
    def inner(y: Float[Array, "c"]) -> Float[Array, "c"]:
        return -y
    return jax.vmap(inner)(x)
""",
    # ranks lead along several paths by themselves
    "ranks.py": """
def f(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    if x.ndim == 1:
        return x
    return -x
""",
    # any other text leads there; which, nobody knows, so that it may confirm and not accuse
    "any_text.py": """
def f(x: Float[Array, "a b"], how: str = "fast") -> Float[Array, "a b"]:
    if how == "fast":
        return -x
    return x

def g(x: Float[Array, "a b"], how: str = "fast") -> Float[Array, "a b"]:  ~unreached
    if how == "fast":
        return -x
    return x.T
""",
    # what returns a constant returns no array
    "constant.py": """
def f(x: Float[Array, "a b"], n: float) -> bool | Bool[Array, "a"]:
    if n > 7:
        return False
    return x.sum(1) > 0
""",
    # the comment may be about the statement before it
    "before.py": """
def f(x: Float[Array, "a b"], n: float):
    y = x.sum(axis=1, keepdims=True)
    # (a, 1)
    if n > 7:
        z = x.T
    else:
        z = y + y
    return z
""",
    # a path that fails is one that was taken
    "failing.py": """
def path(
    start: Float[Array, "*#batch 3"],
    middle: Float[Array, "*#batch n 3"] | Float[Array, "*#batch 3"],
    end: Float[Array, "*#batch 3"] | None = None,  ~unreached
) -> Float[Array, "*batch n+2 3"] | Float[Array, "*batch 2 3"]:  ~unreached
    if end is None:
        batch = jnp.broadcast_shapes(start.shape[:-1], middle.shape[:-1])
        ends = [jnp.broadcast_to(each[..., None, :], (*batch, 1, 3)) for each in (start, middle)]
        return jnp.concatenate(ends, axis=-2)
    return jnp.stack([start[..., None, :], middle, end[..., None, :]])  ~SC301
""",
    # what raises with the switch set is no path that was seen
    "raising.py": """
def f(x: Float[Array, "a b"], fast: bool = False) -> Float[Array, "a b"]:  ~unreached
    if fast:
        assert x.shape == (3, 3)  ~unreached
        return x
    return -x
""",
}


@pytest.mark.parametrize("name", [*CASES, *(f"good_{name}" for name in CASES), *OTHERS])
def test_each_path_is_taken_or_named(folder, name) -> None:
    case = folder.cases[name]
    assert case.expected == case.actual, case.details


def test_the_path_that_never_ran_is_named(folder) -> None:
    reasons = {each.path: each.reason for each in folder.report.unreached}
    line = OTHERS["unknown.py"].splitlines().index("        return x.T") + HEAD.count("\n")
    assert reasons["unknown.py"] == f"seen on 1 of 2 paths: line {line} never ran"


def test_the_switch_that_shows_a_mismatch_is_told(folder) -> None:
    (finding,) = folder.cases["flag.py"].findings
    assert "with causal = True" in finding.details


def test_a_test_that_takes_one_path_leaves_the_other_to_the_search(check_folder) -> None:
    module = (
        HEAD
        + """
def f(x: Float[Array, "a b"], causal: bool = False) -> Float[Array, "a b"]:  ~SC203
    if causal:
        return x.T
    return x

def g(x: Float[Array, "a b"], scale: float) -> Float[Array, "a b"]:  ~unreached
    if scale > 1:
        return x * scale
    return x
"""
    )
    tests = """
import jax.numpy as jnp
import m

def test_f():
    m.f(jnp.ones((3, 4)), False)
    m.g(jnp.ones((3, 4)), 1.0)
"""
    folder = check_folder({"m.py": module, "test_m.py": tests})
    case = folder.cases["m.py"]
    assert case.expected == case.actual, case.details
