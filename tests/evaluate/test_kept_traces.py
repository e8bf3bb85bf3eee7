"""What JAX has traced of its own functions is kept from one evaluation to the next, and nothing of the user's code."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax._src import pjit, util

from shapecheck.evaluate.jax_internals import keep_own_traces

WIDE = jax.ShapeDtypeStruct((5, 3), jnp.float32)


@pytest.fixture(autouse=True)
def kept_traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pjit, "_infer_params_cached", pjit._infer_params_cached)
    monkeypatch.setattr(util, "_caches", weakref.WeakKeyDictionary(util._caches))
    keep_own_traces(lambda names: False)
    yield
    jax.clear_caches()


def count_runs(function: Callable[..., object], *args: object) -> Counter[str]:
    """Which functions of Python run, and how often, in two evaluations with empty caches between them."""
    ran: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            ran[frame.f_code.co_name] += 1

    for _ in range(2):
        jax.clear_caches()
        sys.setprofile(note)
        try:
            jax.eval_shape(function, *args)
        finally:
            sys.setprofile(None)
    return ran


def test_functions_of_jax_are_traced_once() -> None:
    assert count_runs(lambda x: jnp.roll(x, 2), WIDE)["_roll_static"] <= 1


def test_the_users_functions_are_traced_each_time() -> None:
    def own(x: jax.Array) -> jax.Array:
        return x + 1

    assert count_runs(jax.jit(own), WIDE)["own"] == 2


def test_the_users_functions_are_traced_where_one_of_jax_calls_them() -> None:
    def low(x: jax.Array) -> jax.Array:
        return x - 1

    def solve(b: jax.Array) -> jax.Array:
        return jax.scipy.sparse.linalg.cg(low, b)[0]

    assert count_runs(lambda x: jnp.piecewise(x, [x > 0], [low, 0]), WIDE)["low"] == 2
    assert count_runs(solve, WIDE)["low"] >= 2


def test_sizes_that_are_symbols_belong_to_one_evaluation() -> None:
    for _ in range(2):
        (size,) = export.symbolic_shape("n")
        jax.clear_caches()
        found = jax.eval_shape(lambda x: jnp.roll(x, 2), jax.ShapeDtypeStruct((size, 3), jnp.float32))
        assert found.shape == (size, 3)
