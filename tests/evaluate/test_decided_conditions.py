"""Both arms of an `if` whose condition nothing determines are evaluated, each claim on the path where it stands."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import pytest

from shapecheck.evaluate.probes.constant_values import eval_shape
from shapecheck.evaluate.probes.decided_conditions import decided_conditions

ROWS = jax.ShapeDtypeStruct((5, 3), jnp.float32)

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "arms.py": """
def both(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    if (x > 5).all():
        y = x.sum(1)  # (n,)
    else:
        y = x.mean(1)  # (n,)
    return y

def one_wrong(x: Float[Array, "n d"]):
    if (x > 5).all():
        y = x.sum(0)  # (n,)  ~SC201
    else:
        y = x.mean(1)  # (n,)
    return y

def positive(x: Float[Array, "n d"]):
    if (x > 0).all():
        y = x.sum(0)  # (n,)  ~SC201
    else:
        y = x.mean(1)  # (n,)
    return y

def does_not_fit(x: Float[Array, "n d"], w: Float[Array, "d"]):
    if (x > 0).any():
        y = x @ w  # (n,)
    else:
        y = x.T @ w  ~SC305
    return y

def early(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    if jnp.isnan(x).any():
        return jnp.zeros(x.shape[0])
    return x.sum(1)

def halved(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    while x.max() > 7:
        x = x / 2  # (n, d)
    return x.sum(1)

def guarded(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    if jnp.isnan(x).any():
        raise ValueError("not a number")
    if (x > 5).all():
        y = x.sum(1)  # (n,)
    else:
        y = x.mean(1)  # (n,)
    return y
""",
    # of two conditions nobody knows how they hang together, so that the path may be none
    "together.py": """
def opposite(x: Float[Array, "n d"]) -> Float[Array, "k"]: ~unreached
    if (x > 0.5).any(): ~SC302
        x = x.sum(0)
    if ~(x > 0.5).any():
        x = x[None].sum(0)
    y = x  # (n, d)  ~unreached
    return y
""",
    "afterwards.py": """
def after(x: Float[Array, "n d"]):
    if (x > 5).all(): ~SC302
        y = x.sum(0)
    else:
        y = x.sum(1)
    z = y  # (n,)  ~unreached
    return z
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_on_paths(folder, name):
    found = folder.cases[name]
    assert found.as_marked()


def test_messages_say_on_which_path(folder):
    found = folder.cases["arms.py"].findings
    paths = [next(each for each in finding.details if each.startswith("on the path")) for finding in found]
    assert [path.rpartition(" ")[2] for path in paths] == ["true", "true", "false"]


def test_reasons_say_on_which_path(folder):
    (reason,) = {each.reason for each in folder.report.unreached if each.path == "afterwards.py"}
    assert reason.startswith("it holds on one path, and fails on the path on which undetermined conditions are")


def answers(function, *usual):
    """What conditions were decided as, in order, while a function was evaluated."""
    found = []

    def call(x):
        with decided_conditions(usual, {__file__}, Counter()):
            function(x, found)

    eval_shape(call, ROWS)
    return found


def test_later_conditions_are_decided_as_the_last():
    def ask(x, found):
        found.append(bool(x.any()))
        found.append(bool(x.all()))
        found.append(bool(x.max() > 1))

    assert answers(ask, True) == [True, True, True]
    assert answers(ask, True, False) == [True, False, False]


def test_one_that_is_asked_again_has_the_other_answer():
    def ask(x, found):
        while x.any():
            found.append(True)

    assert answers(ask, True) == [True]
    assert answers(ask, False) == []


def test_constants_are_what_they_are():
    assert answers(lambda x, found: found.append(bool(jnp.arange(3).any())), False) == [True]


def test_inside_of_a_jit_nothing_is_decided():
    with pytest.raises(jax.errors.TracerBoolConversionError):
        answers(lambda x, found: jax.jit(lambda y: y if y.any() else y + 1)(x), True)


def test_nor_are_several_values_at_once():
    with pytest.raises(ValueError, match="ambiguous"):
        answers(lambda x, found: found.append(bool(x > 1)), True)
