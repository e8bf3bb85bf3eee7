"""An integer that code only compares with others is one of these, each on a path of its own; and what NewType names."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NewType, Optional
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

CUBE, BALL = 0, 1
Level = NewType("Level", int)
Batch = NewType("Batch", Float[Array, "b d"])
"""

CASES = {
    "named.py": """
def sides(kind: int, x: Float[Array, "n d"]) -> Float[Array, "n"]: ~SC203
    if kind == CUBE:
        return x.sum(1)
    elif kind == BALL:
        return x.sum(0)
    raise ValueError(f"no {kind}")

def right(kind: int, x: Float[Array, "n d"]) -> Float[Array, "n"]:
    if kind == CUBE:
        return x.sum(1)
    elif BALL == kind:
        return x.max(1)
    raise ValueError(kind)
""",
    "untyped.py": """
def sides(kind, x: Float[Array, "n d"]) -> Float[Array, "n"]: ~SC203
    if kind == BALL:
        return x.sum(0)
    elif kind in (CUBE, 4):
        return x.sum(1)
    else:
        raise ValueError(kind)
""",
    "of_default.py": """
def sides(x: Float[Array, "n d"], kind=CUBE) -> Float[Array, "n"]: ~SC203
    if kind == BALL:
        return x.sum(0)
    return x.sum(1)

def matched(x: Float[Array, "n d"], kind: int = 0) -> Float[Array, "n"]: ~SC203
    match kind:
        case 0:
            return x.sum(1)
        case 1:
            return x.sum(0)
    raise NotImplementedError(kind)
""",
    # one alone is an exception among sizes
    "sizes.py": """
def padded(x: Float[Array, "n d"], count: int):
    if count == 0:
        return x
    return jnp.zeros((count, 3)) @ x  ~SC305

def repeated(x: Float[Array, "n d"], times: int) -> Float[Array, "{times} n d"]:
    if times == 1:
        return x[None]
    return jnp.stack([x] * times)
""",
    "new_types.py": """
def summed(level: Level, x: Float[Array, "n d"]) -> Float[Array, "n"]: ~SC203
    return x.sum(0)

def optional(level: Optional[Level], x: Float[Array, "n d"]) -> Float[Array, "n"]:
    return x.sum(1)

def turned(x: Batch) -> Float[Array, "d b"]: ~SC203
    return x

def turned_back(x: Batch) -> Float[Array, "d b"]:
    return x.T
""",
    # a member that an annotation writes may be given, whatever the default is
    "members.py": """
def lifted(x: Float[Array, "n d"], w: float | Float[Array, "n"] = 1.0) -> Float[Array, "n d+1"]:
    ones = w * jnp.ones(x.shape[0])
    if isinstance(w, float):
        return jnp.concatenate([x, ones[:, None]], 1)
    return jnp.concatenate([x, ones[None]], 1)  ~SC301

def filled(x: Float[Array, "n d"], w: float | Float[Array, "n"] = 1.0) -> Float[Array, "n d+1"]:
    return jnp.concatenate([x, jnp.full((x.shape[0], 1), w)], 1)  ~SC301

def right(x: Float[Array, "n d"], w: float | Float[Array, "n"] = 1.0) -> Float[Array, "n d+1"]:
    return jnp.concatenate([x, jnp.broadcast_to(w, x.shape[:1])[:, None]], 1)
""",
    # with the usual sizes these compute for more than a check may take
    "dear.py": """
def distances(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]: ~SC203
    return np.linalg.norm(x[:, None] - y[None], axis=-1).T

def of_three(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"], z: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, "n k m"]: ~SC203
    return np.linalg.norm(x[:, None, None] + y[:, None] - z[None, None], axis=-1)

def right(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"], z: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, "n m k"]:
    return np.linalg.norm(x[:, None, None] + y[:, None] - z[None, None], axis=-1)
""",
    # an axis that goes along in both has nothing to do with what is mapped
    "mapped.py": """
import jax

def paired(x: Float[Array, "n d"], y: Float[Array, "m n"]) -> Float[Array, "n"]:
    return jax.vmap(lambda a, b: a.sum() + b.sum())(x, y)  ~SC305
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_each_mode_is_evaluated(folder, name):
    case = folder.cases[name]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details


def test_the_finding_says_which(folder):
    (finding,) = folder.cases["named.py"].findings
    assert "kind = 1" in " ".join(finding.details)


def test_no_mode_is_left_out(folder):
    assert not [each for each in folder.report.unreached if each.path in ("named.py", "untyped.py", "new_types.py")]
