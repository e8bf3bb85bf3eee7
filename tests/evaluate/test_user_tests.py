"""The user's own tests, evaluated abstractly: what they reach, what stops them, and what they prove.

A case is a module with claims and a file of tests that calls it. In a module that is only names, each stands for a
function whose comment is wrong, so that it gives a finding where the tests reach it.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import TestCounts

HEAD = """
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

VECTOR = jnp.ones(3)
MATRIX = jnp.ones((2, 3))
"""


pytestmark = pytest.mark.usefixtures("installed_plugins")


class Case(NamedTuple):
    module: str
    tests: str
    counts: dict[str, int]
    needs: str = ""


def probes(reached: str, unreached: str = "") -> str:
    """A function for each name, whose comment is wrong."""
    body = "(x):\n    y = (lambda z: z + 1)(x)  # shape: (n, m)"  # so that the claim does not say what x is
    functions = [f"def {name}{body}  ~SC201\n    return y\n" for name in reached.split()]
    functions += [f"def {name}{body}  ~unreached\n    return y\n" for name in unreached.split()]
    return "\n".join(functions)


CASES = {
    "collected": Case(
        probes("function in_class parametrised in_unittest after_set_up doc helped", "not_collected"),
        """
import unittest

def test_function():
    m.function(VECTOR)

class TestClass:
    def test_method(self):
        m.in_class(VECTOR)

@pytest.mark.parametrize("scale", [1, pytest.param(2, id="two")])
@pytest.mark.parametrize("x", [VECTOR, jnp.ones(2)])
def test_parametrised(x, scale):
    if scale == 2 and x.shape == (2,):
        m.parametrised(x * scale)

class Unit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.number = float(jnp.ones(3).sum())
    def setUp(self):
        self.x = jnp.ones(3)
    def test_method(self):
        if self.number == 3:
            m.in_unittest(self.x)

class TestSetUp:
    def setup_class(cls):
        cls.number = float(jnp.ones(3).sum())
    def setup_method(self):
        self.x = jnp.ones(3)
    def test_method(self):
        if self.number == 3:
            m.after_set_up(self.x)

def test_helper():
    def helper(x):
        m.helped(x)
        return 3
    assert helper(VECTOR) == 4

def example():
    '''
    >>> m.doc(VECTOR) is None
    False
    '''
    m.not_collected(VECTOR)
""",
        {"ok": 10},
    ),
    "fixtures": Case(
        probes("own from_conftest wide auto cached leaked temporary patched printed logged torn_down"),
        """
import functools
import logging
import os
import numpy as np

@pytest.fixture
def own():
    yield jnp.ones(3)
    m.torn_down(VECTOR)

@pytest.fixture(scope="class")
def per_class():
    return jax.random.normal(jax.random.key(0), (3,))

@pytest.fixture(autouse=True)
def auto():
    m.auto(VECTOR)

def test_own(own):
    m.own(own)

def test_conftest(vector):
    if os.environ["IN_CONFTEST"] == "yes":
        m.from_conftest(vector)

def test_wider_ones_are_concrete(per_module, per_session, per_class):
    if float(per_module) == 2 and np.asarray(per_session).sum() == 6:
        m.wide(per_class * per_module)

@functools.lru_cache
def once():
    return jnp.ones(3)

def test_cached():
    m.cached(once())

def test_an_array_that_an_earlier_test_kept():
    m.leaked(once() @ jnp.ones((3, 3)))

def test_temporary(tmp_path):
    (tmp_path / "file").write_text("x")
    m.temporary(VECTOR)

def test_patched(monkeypatch):
    monkeypatch.setattr(m, "patched_size", 3, raising=False)
    m.patched(jnp.ones(m.patched_size))

def test_printed(capsys):
    print("hello")
    if capsys.readouterr().out == "hello\\n":
        m.printed(VECTOR)

def test_logged(caplog):
    logging.getLogger("x").warning("hello")
    if caplog.messages == ["hello"]:
        m.logged(VECTOR)
""",
        {"ok": 9},
    ),
    "marks": Case(
        probes("expected_to_fail before_skip", "skipped skipped_if in_unittest never_run after_skip slow"),
        """
import unittest

@pytest.mark.skip
def test_skipped():
    m.skipped(VECTOR)

@pytest.mark.skipif(jax.__version__ > "0", reason="always")
def test_skipped_if():
    m.skipped_if(VECTOR)

class Unit(unittest.TestCase):
    @unittest.skip("always")
    def test_skipped(self):
        m.in_unittest(VECTOR)

@pytest.mark.xfail(run=False)
def test_never_run():
    m.never_run(VECTOR)

@pytest.mark.xfail
def test_expected_to_fail():
    m.expected_to_fail(VECTOR)
    VECTOR @ jnp.ones(4)

def test_skips():
    m.before_skip(VECTOR)
    pytest.skip("there is more")
    m.after_skip(VECTOR)

@pytest.mark.slow
def test_deselected():
    m.slow(VECTOR)
""",
        {"skipped": 5, "stopped": 1},
    ),
    "stepped_over": Case(
        probes("asserted compared nearly in_loop")
        + """
def positive(x):
    if x.sum() < 0:
        raise ValueError("negative")
""",
        """
import unittest
import numpy as np

def test_asserted():
    assert float(VECTOR.sum()) == 7
    assert VECTOR == 7, "no"
    m.asserted(VECTOR)

def test_compared():
    np.testing.assert_allclose(VECTOR, 7)
    np.testing.assert_array_equal(jnp.zeros(3), VECTOR)
    print(f"{float(VECTOR.sum()):.2f}")
    m.compared(VECTOR)

class Unit(unittest.TestCase):
    def test_nearly(self):
        self.assertAlmostEqual(float(VECTOR.sum()), 7)
        self.assertTrue(VECTOR.sum() == 7)
        m.nearly(VECTOR)
    def test_in_loop(self):
        for number in range(2):
            with self.subTest(number):
                self.assertEqual(float(VECTOR.sum()), number)
        m.in_loop(VECTOR)
""",
        {"ok": 4},
    ),
    "made_to_be_refused": Case(
        """
from dataclasses import dataclass

@dataclass
class Mesh:
    ends: jax.Array  # (2, edges)
    weight: jax.Array  # (edges, width)

def pack(mesh):
    if mesh.weight.shape[0] != mesh.ends.shape[1]:
        raise RuntimeError("rows")
    return mesh.weight.sum(0)
""",
        """
def test_good():
    m.pack(m.Mesh(jnp.zeros((2, 5)), jnp.ones((5, 3))))

def test_rows():
    bad = m.Mesh(jnp.zeros((2, 2)), jnp.ones((3, 1)))
    with pytest.raises(RuntimeError, match="rows"):
        m.pack(bad)
""",
        {"ok": 2},
    ),
    # What the user's own assertion refuses, while somebody is prepared for that, is as wrong on purpose.
    "refused_by_assertion": Case(
        """
import equinox as eqx

class Grid(eqx.Module):
    data: Float[Array, "h w"]
    mask: Float[Array, "h w"]

    def __check_init__(self):
        assert self.data.shape == self.mask.shape, "the shapes differ"

def checked(x: Float[Array, "n 3"]):
    return x

""",
        """
def test_message():
    try:
        m.Grid(jnp.ones((3, 4)), jnp.ones((2, 5)))
    except AssertionError as error:
        assert "shapes" in str(error)
    m.Grid(jnp.ones((3, 4)), jnp.ones((3, 4)))
    m.checked(jnp.ones((2, 3)))
""",
        {"ok": 1},
    ),
    # A checker that is off here would have raised what is expected before JAX raises something else.
    "refused_by_checker": Case(
        """
def add(x: Float[Array, "n 2"], y: Float[Array, "n 2"]) -> Float[Array, "n 2"]:
    return jax.vmap(lambda a, b: a + b)(x, y)
""",
        """
from jaxtyping import jaxtyped

def test_refused():
    checked = jaxtyped(m.add, typechecker=None)
    checked(jnp.ones((3, 2)), jnp.ones((3, 2)))
    with pytest.raises(TypeError):
        checked(jnp.ones((3, 2)), jnp.ones((4, 2)))
""",
        {"ok": 1},
    ),
    # What is converted keeps its shape, and the second of two shapes above two statements is not of the first's rows.
    "converted": Case(
        '''
def marginal(locations, n_time: int):
    """Marginal intensities.

    Args:
        locations: ``(N, d_space)`` query locations.

    Returns:
        ``(N,)`` array of intensities.  ~SC207
    """
    locations = jnp.asarray(locations)
    t = jnp.linspace(0.0, 1.0, n_time)
    # Tile locations across the time axis: (N, T, d_space) and (N, T).  ~tentative
    s_tiled = jnp.repeat(locations[:, None, :], n_time, axis=1)
    t_tiled = jnp.broadcast_to(t, (locations.shape[0], n_time))
    return jnp.sum(jnp.exp(s_tiled.sum(-1) * t_tiled), axis=0)
''',
        """
def test_marginal():
    assert jnp.all(m.marginal(jnp.array([[0.5, 0.5], [2.0, 2.0]]), n_time=32) > 0)
""",
        {"ok": 1},
    ),
    # The base class says any number of channels; the instance whose call was seen is one for two.
    "override_of_seen": Case(
        """
import equinox as eqx

class Stepper(eqx.Module):
    scale: Array

    def step(self, u: Float[Array, "C n"]) -> Float[Array, "C n"]:
        return self.advance(u)

    def advance(self, u: Float[Array, "C n"]) -> Float[Array, "C n"]:
        return u * self.scale

class Wave(Stepper):
    def __init__(self):
        self.scale = jnp.ones(())

    def advance(self, u: Float[Array, "2 n"]) -> Float[Array, "2 n"]:
        return jnp.stack([u.sum(0), u[0]])
""",
        """
def test_wave():
    m.Wave().step(jnp.ones((2, 8)))
""",
        {"ok": 1},
    ),
    "expecting": Case(
        probes(
            "after_raises after_assert after_parameter after_warning handled_well after_suppress",
            "inside handled",
        )
        + """
def positive(x):
    if x.sum() < 0:
        raise ValueError("negative")

def three(x: Float[Array, "n 3"]):
    y = x @ jnp.ones((3, 2))  # (n, 2)
    return y

def anything(x: Float[Array, "n 3"]):
    return x.sum()
""",
        """
import contextlib
import unittest
import warnings

WRONG = jnp.ones((2, 4))

def test_raises():
    with pytest.raises(ValueError, match="negative") as info:
        m.positive(-VECTOR)
    assert "negative" in str(info.value)
    with pytest.raises(TypeError):
        m.inside(VECTOR)
        m.anything(WRONG)
        m.three(WRONG)
    pytest.raises(TypeError, m.three, WRONG)
    m.after_raises(VECTOR)

class Unit(unittest.TestCase):
    def test_assert_raises(self):
        self.assertRaises(ValueError, m.positive, -VECTOR)
        self.assertRaises(TypeError, m.three, WRONG)
        with self.assertRaises(ValueError) as caught:
            m.positive(-VECTOR)
        self.assertIn("negative", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "contracting"):
            m.three(WRONG)
        m.after_assert(VECTOR)

@pytest.mark.parametrize(
    "x, outcome",
    [(MATRIX, contextlib.nullcontext()), (WRONG, pytest.raises(TypeError))],
)
def test_outcome(x, outcome):
    with outcome:
        m.three(x)
    context = pytest.raises(TypeError) if x is WRONG else contextlib.nullcontext()
    with context:
        m.three(x)
    m.after_parameter(VECTOR)

def test_warns():
    with pytest.warns(UserWarning):
        if VECTOR.sum() > 0:
            warnings.warn("positive")
    m.after_warning(VECTOR)

def test_handled():
    try:
        m.handled_well(VECTOR)
    except TypeError:
        pass
    try:
        m.handled(VECTOR)
        m.anything(WRONG)
        m.three(WRONG)
    except TypeError:
        pass
    else:
        pytest.fail("it fits")
    with contextlib.suppress(TypeError):
        m.anything(WRONG)
        m.three(WRONG)
    m.after_suppress(VECTOR)
""",
        {"ok": 6},
    ),
    "stopped": Case(
        probes("before before_number", "after after_number"),
        """
def test_branches():
    m.before(VECTOR)
    if VECTOR.sum() > 0:
        m.after(VECTOR)

def test_counts():
    m.before_number(VECTOR)
    for _ in range(int(VECTOR.sum())):
        m.after_number(VECTOR)
""",
        {"stopped": 2},
    ),
    "shape_errors": Case(
        """
def product(x, w):
    y = x + 1  # (2, 3)
    return y @ w ~SC301

def only_for_tracers(x):
    y = x  # (3,)  ~unreached
    if isinstance(x, jax.core.Tracer):
        return x @ jnp.ones(7)
    return x

def size_from_values(x):
    try:
        size = int(x.sum())
    except TypeError:
        size = 4
    return x + jnp.zeros(size)

def checked_by_the_user(x):
    if x.shape != (4,): ~SC208
        raise ValueError("the shape must be (4,)")

def expected(x, w):
    return x @ w
""",
        """
def test_product():
    m.product(MATRIX, jnp.ones((4, 5)))

def test_only_for_tracers():
    m.only_for_tracers(VECTOR * 1)

def test_size_from_values():
    m.size_from_values(VECTOR * 1)

def test_checked_by_the_user():
    m.checked_by_the_user(VECTOR)

@pytest.mark.xfail(reason="known")
def test_known():
    m.expected(MATRIX, jnp.ones((4, 5)))
""",
        {"stopped": 5},
    ),
    # in tests all sizes below are numbers: what is wrong is so only for others
    "generalised": Case(
        """
import equinox as eqx

class Attention(eqx.Module):
    w: Array
    heads: int = eqx.field(static=True)
    def __init__(self, d, heads, key):
        self.w = jax.random.normal(key, (d, d))
        self.heads = heads
    def __call__(self, x: Float[Array, "batch seq d"]):
        b, s, d = x.shape
        y = (x @ self.w).reshape(b, s, self.heads, d // self.heads)
        y = y.transpose(0, 2, 1, 3)  # (batch, heads, seq, d // heads)
        y = y.transpose(1, 0, 2, 3)  # (batch, heads, seq, d // heads)  ~SC201
        return y

def gram(x: Float[Array, "n d"]) -> Float[Array, "d n"]:
    y = x.T @ x  # (n, n)  ~SC201
    z = x @ x.T  # (n, n)
    return x.T

def fixture(x: Float[Array, "n d"]):
    y = x.T  # (n, d)  ~SC201
    return y

def difference(a, b):
    y = a[:, None] - b[None, :]  # (n, n)
    return y

def rotated(v):
    w = jnp.stack([v[0], v[2], v[1]])  # (3,)
    return w

def scaled(x, gain):
    y = x * gain  # (3,)
    return y

def grown(x, n):
    y = jnp.broadcast_to(x, (n, x.shape[0]))  # (4, 4)
    return y

def three(x: Float[Array, "n 3"]):
    y = x @ jnp.ones((3, 2))  # (n, 2)
    return y
""",
        """
@pytest.fixture(scope="module")
def square():
    return jnp.ones((3, 3))

def test_attention():
    attention = m.Attention(8, 4, jax.random.key(0))
    attention(jnp.ones((4, 5, 8)))
    jax.vmap(attention)(jnp.ones((2, 4, 5, 8)))

def test_gram():
    m.gram(jnp.ones((4, 4)))

def test_fixture(square):
    m.fixture(square)

def test_undescribed():
    m.difference(VECTOR, VECTOR)
    m.difference(VECTOR * 1, VECTOR * 1)
    m.rotated(VECTOR * 1)
    m.scaled(VECTOR * 1, VECTOR * 1)
    m.grown(jnp.ones(4), 4)

def test_three():
    m.three(MATRIX * 1)
    with pytest.raises((TypeError, ValueError)):
        m.three(jnp.float32(3))
""",
        {"ok": 5},
    ),
    "training": Case(
        """
def loss(y):
    squares = (y**2).sum(1)  # shape: (n, 2)  ~SC201
    return squares.mean()
""",
        """
import equinox as eqx
import numpy as np

def test_step():
    model = eqx.nn.MLP(4, 2, 8, 2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (16, 4))

    @eqx.filter_jit
    def step(model, x):
        return eqx.filter_value_and_grad(lambda model: m.loss(jax.vmap(model)(x)))(model)

    value, grads = step(model, x)
    assert value >= 0
    np.testing.assert_array_less(0, np.abs(grads.layers[0].weight).sum())
    assert jax.jit(m.loss)(jnp.ones((5, 2))).item() == 2
""",
        {"ok": 1},
    ),
    "asserted_before": Case(
        "",
        """
import numpy as np

def test_values():
    np.testing.assert_allclose(VECTOR, VECTOR * 2)
    assert VECTOR.sum() > 7
    x = VECTOR * 2
    assert x.shape == (3,)
    assert x.shape == (4,) ~SC208
""",
        {"ok": 1},
    ),
    "chex_asserts": Case(
        probes("after"),
        """
import chex

def test_chex():
    chex.assert_trees_all_close({"a": VECTOR}, {"a": VECTOR * 2})
    chex.assert_tree_all_finite({"a": VECTOR})
    chex.assert_shape(VECTOR, (3,))
    m.after(VECTOR)
""",
        {"ok": 1},
        needs="chex",
    ),
    "absl_tests": Case(
        probes("plain parameter named raised"),
        """
from absl.testing import absltest, parameterized

class Plain(absltest.TestCase):
    def test_plain(self):
        self.assertAlmostEqual(float(VECTOR.sum()), 7)
        self.assertSequenceAlmostEqual(VECTOR, [7, 7, 7])
        m.plain(VECTOR)

class Parameters(parameterized.TestCase):
    @parameterized.parameters(1, 2)
    def test_parameter(self, number):
        if number == 2:
            m.parameter(VECTOR)
    @parameterized.named_parameters(("one", 1), ("two", 2))
    def test_named(self, number):
        if number == 2:
            m.named(VECTOR)
    def test_raises(self):
        with self.assertRaisesWithLiteralMatch(ValueError, "no"):
            float(VECTOR.sum())
        m.raised(VECTOR)
""",
        {"ok": 6},
        needs="absl",
    ),
    "given": Case(
        probes("given", "after"),
        """
from hypothesis import given, strategies as st

@given(st.integers(1, 4))
def test_given(n):
    assert float(jnp.ones(n).sum()) == 7
    m.given(jnp.ones(n))

@given(st.integers(1, 4))
def test_branches(n):
    if jnp.ones(n).sum() > 2:
        m.after(jnp.ones(n))
""",
        {"ok": 1, "stopped": 1},
    ),
    # what a docstring calls L throughout need not be `self.L`; one name beside it is no reason
    "lattice": Case(
        """
class Model:
    def __init__(self):
        self.L = 8

    def shear(self, stress):
        '''Take one.

        Args:
            stress: tensor of shape (3, L, L).

        Returns:
            The shear, shape (L, L).
        '''
        return stress[2]

    def row(self, stress):
        '''Take one.

        Args:
            stress: tensor of shape (3, n, m).

        Returns:
            The shear, shape (L, m). ~SC207
        '''
        return stress[2]
""",
        """
def test_lattice():
    m.Model().shear(jnp.ones((3, 2, 2)))
    m.Model().row(jnp.ones((3, 4, 5)))
""",
        {"ok": 1},
    ),
}

CASES = {name: case for name, case in CASES.items() if not case.needs or importlib.util.find_spec(case.needs)}

CONFTEST = """
import os
import signal
import pytest
import jax
import jax.numpy as jnp

def listen(event, seconds, **more):
    if "backend_compile" in event:
        with open("LOG", "a") as log:
            log.write(os.environ["PYTEST_CURRENT_TEST"] + "\\n")

@pytest.fixture(scope="session", autouse=True)
def listening():
    jax.monitoring.register_event_duration_secs_listener(listen)
    yield
    with open("LOG.clock", "a") as log:
        log.write(str(signal.getitimer(signal.ITIMER_REAL)[0]))

@pytest.fixture
def vector():
    return jnp.ones(3)

@pytest.fixture(scope="module")
def per_module():
    return jnp.float32(2)

@pytest.fixture(scope="session")
def per_session():
    yield jax.jit(lambda: jnp.arange(4.))()

@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    monkeypatch.setenv("IN_CONFTEST", "yes")
"""
OPTIONS = (
    "-x -q --lf --exitfirst --durations=3 --junitxml=junit.xml --log-file=log.txt --import-mode=importlib"
    " --doctest-modules -s -v -m 'not slow'"
)
CONFIG = f"""
cache = false
jobs = {{jobs}}
[tool.pytest.ini_options]
addopts = "{OPTIONS}"
markers = ["slow: not now"]
filterwarnings = ["error"]
"""
BROKEN = "import nowhere_to_be_found\n\ndef test_nothing():\n    pass\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "compiled"


@pytest.fixture(scope="module")
def check_tests(check_folder, log, installed_plugins):
    def run(jobs: int):
        files = {"tests/conftest.py": CONFTEST.replace("LOG", str(log)), "tests/test_broken.py": BROKEN}
        for name, case in CASES.items():
            files[f"{name}.py"] = HEAD + case.module
            files[f"tests/test_{name}.py"] = f"{HEAD}import {name} as m\n{case.tests}"
        return check_folder(files, CONFIG.format(jobs=jobs))

    return run


@pytest.fixture(scope="module")
def folder(check_tests):
    return check_tests(1)


@pytest.mark.parametrize("name", CASES)
def test_what_the_users_tests_reach_is_checked(folder, name: str) -> None:
    assert folder.cases[f"{name}.py"].as_marked()
    assert folder.cases[f"tests/test_{name}.py"].as_marked()


def test_every_test_is_counted_and_what_a_file_cannot_import_is_told(folder) -> None:
    counts = sum((Counter(case.counts) for case in CASES.values()), Counter())
    problem = (
        "tests/test_broken.py: it needs nowhere_to_be_found, which is not installed; what needs it was not evaluated"
    )
    expected = TestCounts(
        collected=counts.total() + 1,
        ok=counts["ok"] + 1,
        stopped=counts["stopped"],
        skipped=counts["skipped"],
        cut=0,
        problems=(problem,),
    )
    assert folder.report.tests == expected


def test_nothing_is_compiled_and_so_nothing_runs_but_wider_fixtures_and_what_seems_wrong(folder, log) -> None:
    compiling = {tuple(line.rsplit(" ", 1)) for line in log.read_text().splitlines()}
    assert {test.removeprefix("tests/test_") for test, when in compiling if when == "(setup)"} == {
        "collected.py::Unit::test_method",
        "collected.py::TestSetUp::test_method",
        "fixtures.py::test_wider_ones_are_concrete",
        "generalised.py::test_fixture",
    }
    assert {test.partition("::")[0] for test, when in compiling if when == "(call)"} == {"tests/test_shape_errors.py"}


def test_the_time_limit_for_collecting_does_not_go_on_while_tests_run(folder, log) -> None:
    assert log.with_suffix(".clock").read_text() == "0.0"


def test_what_is_found_does_not_depend_on_the_number_of_workers(folder, check_tests) -> None:
    report = check_tests(3).report
    assert report.findings == folder.report.findings
    assert report.unreached == folder.report.unreached
    assert report.entries == folder.report.entries
    assert (report.summary, report.tests) == (folder.report.summary, folder.report.tests)
    assert report.functions == folder.report.functions


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, ""),
        ({}, "-p no:xdist -p no:hypothesispytest -p no:jaxtyping"),
        ({}, "--import-mode=importlib --of-a-plugin=m --that-is-absent"),
        ({}, "-p nowhere_to_be_found"),
    ],
)
def test_plugins_that_are_left_out_or_absent_are_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], options: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    config = f"[tool.shapecheck]\ncache = false\n[tool.pytest.ini_options]\naddopts = '{options}'\n"
    (tmp_path / "pyproject.toml").write_text(config)
    (tmp_path / "m.py").write_text("def f(x):\n    return x.T  # (b, d)\n")
    (tmp_path / "test_m.py").write_text(
        "import jax.numpy as jnp\nimport m\n\ndef test_it():\n    m.f(jnp.ones((3, 4)))\n"
    )
    report = check([tmp_path / "m.py"], load([tmp_path]))
    assert report.tests is not None
    assert (report.tests.ok, report.tests.problems) == (1, ())


def test_a_file_that_ends_the_program_on_import_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n")
    (tmp_path / "m.py").write_text("def f(x):\n    return x.T  # (b, 3)\n")
    (tmp_path / "test_a.py").write_text("import sys\n\nsys.exit('which seed?')\n")
    (tmp_path / "test_m.py").write_text(
        "import jax.numpy as jnp\nimport m\n\ndef test_it():\n    m.f(jnp.ones((3, 4)))\n"
    )
    report = check([tmp_path / "m.py"], load([tmp_path]))
    assert report.tests is not None
    assert report.tests.ok == 1
    (problem,) = report.tests.problems
    assert problem.startswith("test_a.py: SystemExit: which seed?")
