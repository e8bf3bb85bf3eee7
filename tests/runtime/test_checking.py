"""Every call is held against its claims, as the static rules mean them, and the first mismatch stops the program."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import shapecheck
from shapecheck.model import ArrayValue, Call, Evaluation, Observation
from shapecheck.runtime.judge_client import JudgeClient

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""


def test_a_wrong_comment_raises_with_the_message_of_the_static_rule(load: Any) -> None:
    module = load(
        HEAD
        + """
def mean(x: Float[Array, "batch seq"]) -> Float[Array, " batch"]:
    y = x.mean(axis=0)  # (batch,)
    return x.mean(axis=1)
"""
    )
    with pytest.raises(shapecheck.ShapeMismatch, match=r"SC201 comment says \(batch,\), but y is \(3,\)") as caught:
        module.mean(jnp.ones((2, 3)))
    assert (caught.value.code, caught.value.line) == ("SC201", 8)
    assert 'with batch=2 from x: Float[Array, "batch seq"]' in str(caught.value)


def test_an_argument_that_does_not_fit_stops_the_call_before_it_does_anything(load: Any) -> None:
    module = load(
        HEAD
        + """
done = []

def add(x: Float[Array, " n"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    done.append(1)
    return x + y
"""
    )
    with pytest.raises(shapecheck.ShapeMismatch, match="SC202"):
        module.add(jnp.ones(3), jnp.ones(1))
    assert module.done == []


def test_a_traced_function_is_judged_when_it_is_traced_and_costs_nothing_after(load: Any) -> None:
    module = load(
        HEAD
        + """
@jax.jit
def double(x: Float[Array, "n m"]) -> Float[Array, "n m"]:
    y = 2 * x  # (n, m)
    return y
"""
    )
    for _ in range(3):
        module.double(jnp.ones((2, 3)))
    judged = load.client.judged
    module.double(jnp.ones((2, 3)))
    assert load.client.judged == judged > 0


def test_shapes_that_were_judged_are_not_judged_again(load: Any) -> None:
    module = load(HEAD + "def double(x: Float[Array, ' n']) -> Float[Array, ' n']:\n    return 2 * x\n")
    module.double(jnp.ones(3))
    judged = load.client.judged
    for _ in range(5):
        module.double(jnp.ones(3))
    assert load.client.judged == judged
    module.double(jnp.ones(4))
    assert load.client.judged > judged


def test_each_call_and_each_turn_of_a_loop_has_sizes_of_its_own(load: Any) -> None:
    module = load(
        HEAD
        + """
def pad(rows):
    out = []
    for row in rows:
        wide = jnp.concatenate([row, row])  # (2*length,)
        half = wide[: row.shape[0]]  # (length,)
        out.append(half)
    return out

kept = [pad([jnp.ones(n), jnp.ones(n + 1), jnp.ones(n)]) for n in (3, 5)]
for size in (2, 3, 2):
    batch = jnp.ones((size, 4))  # (batch, dim)
    total = batch.sum(1)  # (batch,)
"""
    )
    assert len(module.kept) == 2


def test_a_turn_of_a_loop_that_is_wrong_is_found_before_the_loop_ends(load: Any) -> None:
    module = load(
        HEAD
        + """
def run(sizes, seen):
    for size in sizes:
        a = jnp.ones((size, 4))  # (batch, dim)
        b = jnp.ones((5, 4))  # (batch, dim)
        seen.append(size)
"""
    )
    seen: list[int] = []
    with pytest.raises(shapecheck.ShapeMismatch):
        module.run([5, 5, 7, 7, 7, 7], seen)
    assert seen == [5, 5, 7]


def test_comments_that_all_leave_out_the_same_axes_are_right(load: Any) -> None:
    module = load(
        HEAD
        + """
def attend(q, k):
    scores = jnp.einsum("...td,...sd->...ts", q, k)  # [T, S]
    weights = jax.nn.softmax(scores)  # [T, S]
    return weights
"""
    )
    assert module.attend(jnp.ones((9, 2, 3)), jnp.ones((9, 4, 3))).shape == (9, 2, 4)


def test_a_mapped_function_is_read_for_one_example(load: Any) -> None:
    module = load(
        HEAD
        + """
def norm(x: Float[Array, " d"]) -> Float[Array, ""]:
    squares = x * x  # (d,)
    return squares.sum()
"""
    )
    assert jax.vmap(module.norm)(jnp.ones((5, 3))).shape == (5,)


def test_what_the_program_raises_itself_is_left_alone(load: Any) -> None:
    module = load(
        HEAD
        + """
def fail(x: Float[Array, " n"]):
    y = 2 * x  # (n,)
    raise KeyError("mine")

def generate(x: Float[Array, " n"]):
    for _ in range(3):
        y = 2 * x  # (n,)
        yield y
"""
    )
    with pytest.raises(KeyError, match="mine"):
        module.fail(jnp.ones(3))
    generator = module.generate(jnp.ones(3))
    next(generator)
    generator.close()


def test_an_error_of_the_program_s_own_has_a_note_of_the_mismatch_that_led_to_it(load: Any) -> None:
    module = load(
        HEAD
        + """
def project(x: Float[Array, "n d"], w: Float[Array, "d e"]):
    y = x.T  # (n, d)
    return y @ w

def refuse(x: Float[Array, "n d"]):
    y = x.T  # (n, d)
    if y.shape[0] != 2:
        raise ValueError("two, please")
"""
    )
    with pytest.raises(TypeError) as caught:
        module.project(jnp.ones((2, 3)), jnp.ones((3, 4)))
    assert not isinstance(caught.value, shapecheck.ShapeMismatch)
    assert any("SC201 comment says (n, d), but y is (d=3, n=2)" in text for text in caught.value.__notes__)
    with pytest.raises(ValueError, match="two, please"):
        module.refuse(jnp.ones((2, 3)))


def test_a_call_made_while_an_error_is_handled_is_judged_for_itself(load: Any) -> None:
    module = load(
        HEAD
        + """
def wrong(x: Float[Array, "n d"]):
    y = x.T  # (n, d)

def handle(x):
    try:
        raise KeyError("mine")
    except KeyError:
        wrong(x)
"""
    )
    with pytest.raises(shapecheck.ShapeMismatch):
        module.handle(jnp.ones((2, 3)))


def test_warn_logs_a_mismatch_once_and_goes_on(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    module = load(HEAD + "def f(x: Float[Array, 'n n']):\n    return x\n", failing="warn")
    for _ in range(3):
        assert module.f(jnp.ones((2, 3))).shape == (2, 3)
    assert [record.name for record in caplog.records] == ["shapecheck"]
    assert "SC202" in caplog.text


def test_ignored_and_tentative_claims_stop_nothing(load: Any) -> None:
    module = load(
        HEAD
        + """
def f(x: Float[Array, "n m"]):
    y = x.T  # (n, m)  # shapecheck: ignore[SC201]
    point = x.sum()  # (left, right)
    return y
"""
    )
    assert module.f(jnp.ones((2, 3))).shape == (3, 2)


def test_fields_are_held_against_their_claims(load: Any) -> None:
    module = load(
        HEAD
        + """
import equinox as eqx

class Layer(eqx.Module):
    weight: Float[Array, "n n"]

    def __init__(self, n, m):
        self.weight = jnp.ones((n, m))
"""
    )
    module.Layer(3, 3)
    with pytest.raises(shapecheck.ShapeMismatch, match="SC205"):
        module.Layer(3, 4)


def test_a_constructor_s_variables_bind_names(load: Any) -> None:
    module = load(
        HEAD
        + """
import equinox as eqx

class Layer(eqx.Module):
    weight: Array

    def __init__(self, width):
        self.weight = jnp.ones((width, 3))

    def __call__(self, x):
        y = self.weight @ x  # (width,)
        return y
"""
    )
    layer = module.Layer(4)
    assert jax.jit(layer.__call__)(jnp.ones(3)).shape == (4,)


def test_models_are_not_kept_alive(load: Any) -> None:
    module = load(
        HEAD
        + """
import equinox as eqx

class Layer(eqx.Module):
    weight: Float[Array, "width 3"]

    def __init__(self, width):
        self.weight = jnp.ones((width, 3))

    def __call__(self, x: Float[Array, "3"]) -> Array:
        y = self.weight @ x  # (width,)
        return y
"""
    )
    layer = module.Layer(4)
    layer(jnp.ones(3))
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    rebuilt = jax.tree_util.tree_map(lambda leaf: leaf, module.Layer(5))
    assert rebuilt(jnp.ones(3)).shape == (5,)


def test_a_dtype_that_stands_beside_the_shape_is_told(load: Any) -> None:
    module = load("def f(x):\n    y = x.sum()  # shape=(), dtype=jnp.float32\n    return y\n")
    with pytest.raises(shapecheck.ShapeMismatch, match=r"comment says \(\) of float32, but y is bfloat16"):
        module.f(jnp.ones(3, jnp.bfloat16))


def test_ctrl_c_and_a_fork_leave_no_answer_to_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = b"def f(x):\n    y = x.T  # shape: (a, b)\n    return y\n"
    client = JudgeClient()
    plan = client.read_file(str(tmp_path / "mine.py"), source).plan
    assert plan is not None  # as it would be if nothing were claimed
    [site] = [site.index for site in plan.sites if site.kind == "value"]
    [scope] = [index for index, scope in enumerate(plan.scopes) if scope.qualname == "f"]

    def found(*shape: str) -> list[str]:
        seen = Observation(site, ArrayValue("float32", shape))
        call = Call(path=plan.path, scope=scope, number=1, parent=None, observations=(seen,))
        asked = Evaluation(
            target="it", origin="run", path=plan.path, line=1, mode="sized", status="ok", reason="", calls=(call,)
        )
        return [finding.code for finding in client.judge(asked, over=True)]

    assert found("2", "3", "4") == ["SC201"]
    first = client._process
    assert first is not None and first.stdout is not None
    with monkeypatch.context() as patch:
        patch.setattr(first, "stdout", Interrupted(first.stdout))
        with pytest.raises(KeyboardInterrupt):
            found("2", "3")
    assert first.returncode == 0  # nothing is left behind
    assert found("2", "3", "4") == ["SC201"]  # by another, which knows the file too
    client.close()


class Interrupted:
    """A stream whose reader presses Ctrl-C."""

    def __init__(self, stream: Any) -> None:
        self.close = stream.close

    def readline(self) -> bytes:
        raise KeyboardInterrupt
