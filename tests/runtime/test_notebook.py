"""`%load_ext shapecheck`, in a real IPython in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

# IPython and JAX are imported once, in a process that has computed nothing; each test has a copy of it.
_SHELLS = """
import json, os, signal, sys, traceback
import jax, jaxtyping
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config


def run(cells):
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    shell = InteractiveShell.instance(config=config)
    for cell in cells:
        with capture_output() as captured:
            result = shell.run_cell(cell, store_history=True)
        error = result.error_in_exec or result.error_before_exec
        yield captured.stdout, captured.stderr, type(error).__name__ if error is not None else ""


for line in sys.stdin:
    folder, variables, cells = json.loads(line)
    if os.fork() == 0:
        signal.alarm(300)
        try:
            os.chdir(folder)
            os.environ.update(variables)
            answer = list(run(cells))
        except BaseException:
            answer = traceback.format_exc()
        print(json.dumps(answer), flush=True)
        os._exit(0)
    status = os.wait()[1]
    if status:
        print(json.dumps(f"it ended with {status}"), flush=True)
"""
IMPORTS = "import jax, jax.numpy as jnp, numpy as np\nfrom jaxtyping import Array, Float\n"
LOAD = "%load_ext shapecheck"
WRONG = 'def f(x: Float[Array, "b t"]):\n    y = x.T  # (b, t)\n    return y\n'
RIGHT = WRONG.replace("# (b, t)", "# (t, b)")


@dataclass(frozen=True)
class Ran:
    """What became of a cell: `shown` is all that it printed, displayed, and complained of."""

    stdout: str
    stderr: str
    error: str

    @property
    def shown(self) -> str:
        return self.stdout + self.stderr


Run = Callable[..., Sequence[Ran]]


@pytest.fixture(scope="module")
def shells() -> Iterator[subprocess.Popen[str]]:
    """Who runs the cells of each test, in a process of its own."""
    own = {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore:os.fork"}
    command, pipe = [sys.executable, "-c", _SHELLS], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, **own}) as process:
        yield process


@pytest.fixture
def run(shells: subprocess.Popen[str], tmp_path: Path) -> Run:
    """A function that runs cells one after the other."""

    def running(*cells: str, **variables: str) -> Sequence[Ran]:
        assert shells.stdin is not None and shells.stdout is not None
        asked = [str(tmp_path), {"IPYTHONDIR": str(tmp_path / "ipython"), **variables}, cells]
        print(json.dumps(asked), file=shells.stdin, flush=True)
        answer = json.loads(shells.stdout.readline())
        assert isinstance(answer, list), answer
        return [Ran(*each) for each in answer]

    return running


def test_what_a_cell_claims_is_judged_under_its_name(run: Run) -> None:
    documented = 'def g(x):\n    """G.\n\n    Args:\n        x: array of shape (n, n)\n    """\n    return x\n'
    local = 'def h(x: Float[Array, "b t"]):\n    y: Float[Array, "b t"] = x.T\n    return y\n'
    field = 'import equinox as eqx\nclass M(eqx.Module):\n    w: Float[Array, "d d"]\n'
    ran = run(
        IMPORTS,
        LOAD,
        WRONG,
        "f(jnp.ones((2, 3)))",
        documented,
        "g(jnp.ones((2, 3)))",
        local,
        "h(jnp.ones((2, 3)))",
        field,
        "M(jnp.ones((2, 3)))",
        "x = jnp.ones((2, 3))  # shape: (a, b, c)",
        "jnp.ones((2, 3))  # shape: (a, b, c)",
        RIGHT,
        "f(jnp.ones((2, 3))).shape",
        "f(jnp.ones(2))",
    )
    *_, right, shape, rank = ran
    for index, text in {
        3: "In[3]:2:16: SC201 comment says (b, t), but y is (t=3, b=2)",
        5: "In[5]:5:27: SC207 docstring says (n, n), but x is (2, 3)",
        7: 'In[7]:2:8: SC204 annotation says Float[Array, "b t"], but y is (t=3, b=2)',
        9: 'In[9]:3:8: SC205 annotation says Float[Array, "d d"], but field w is (2, 3)',
        10: "In[11]:1:32: SC201 comment says (a, b, c), but x is (2, 3)",
        11: "In[12]:1:28: SC201 comment says (a, b, c), but jnp.ones((2, 3)) is (2, 3)",
    }.items():
        assert ran[index].error == "ShapeMismatch", index
        assert f"ShapeMismatch: {text}" in ran[index].stdout
        assert os.path.join("shapecheck", "runtime") not in ran[index].shown
    assert 'with b=2, t=3 from x: Float[Array, "b t"] (In[3]:1)\n  called from <module> (In[4]:1)' in ran[3].stdout
    assert (right.shown, right.error) == ("", "")
    assert (shape.shown, shape.error) == ("Out[14]: (3, 2)\n", "")
    assert rank.error == "ShapeMismatch"
    assert 'In[13]:1:10: SC202 annotation says Float[Array, "b t"], but argument x is (2,)' in rank.stdout


def test_cells_do_what_they_do_without_checks(run: Run) -> None:
    cells = [
        IMPORTS,
        RIGHT,
        "y = f(jnp.ones((2, 3)))  # (t, b)\ny.shape",
        "z = y + 1  # (t, b)\nz.sum();",
        "def fails(x):\n    y = x * 2  # (n, m)\n    if y.ndim:\n        raise ValueError('here')\n    return y",
        "def around(x):\n    return fails(x)  # (n, m)\n\n\naround(y)",
        "import asyncio\nawait asyncio.sleep(0)\nq = jnp.ones((2, 3))  # (b, t)\n(await asyncio.sleep(0, q)).shape",
        "def bad(:",
        "1 +",
        "x = !echo hello\nx  # (a,)",
        "%%capture seen\nprint('inside')\nw = jnp.ones(3)  # (b,)",
        "seen.stdout, w.shape",
        "%timeit -n1 -r1 -q f(y)  # (b, t)",
        "%time v = jnp.ones((2, 3)).shape  # (a, b)\nv",
        "f??",
        "import inspect\ninspect.getsource(f), f.__code__.co_firstlineno, f(y).shape",
        "class A:\n    w: Float[Array, 'd'] = 3\n    def __call__(self, x):  # (n, d)\n        return x\nA()(y).shape",
        "from __future__ import annotations\ndef k(x: Float[Array, 'b']):\n    return x\nk.__annotations__",
        "k(jnp.ones(2)).shape",
        "def gen(n):\n    for i in range(n):\n        x = jnp.ones(i)  # (i,)\n        yield x.shape\nlist(gen(3))",
        "assert y.ndim == 3, 'so'  # (b, t)",
        "%who_ls function",
        "%config InteractiveShell.ast_node_interactivity = 'last_expr_or_assign'",
        "shown = jnp.ones((2, 3)).shape  # (b, t)",
        "also = jnp.ones(2)  # (b,)",
        "%config InteractiveShell.ast_node_interactivity = 'all'",
        "a, b = y, y[0]  # (b, t), (t,)\n1\nfor i in range(2):\n    a = a + 1  # a: (b, t)\n    i\n2",
        "_, __, len(Out)",
        "%reset -f",
        "import jax.numpy as jnp\nr = jnp.ones((2, 3))  # (b, t)\nr.shape",
    ]
    plain, checked = run("pass", *cells), run(LOAD, *cells)
    timed = re.compile(r"^(?:CPU times|Wall time).*\n", re.MULTILINE)
    for cell, before, after in zip(cells, plain[1:], checked[1:], strict=True):
        assert timed.sub("", after.stdout) == timed.sub("", before.stdout), cell
        assert (after.stderr, after.error) == (before.stderr, before.error), cell
    assert "line 4, in fails(x)" in plain[6].stdout  # tracebacks are among it


def test_what_magics_run_is_checked_too(run: Run) -> None:
    ran = run(
        IMPORTS + LOAD,
        f"%%time\n{WRONG}",
        "f(jnp.ones((2, 3)))",
        "%%capture seen\nx = jnp.ones((2, 3))  # shape: (a, b, c)",
        "print(seen.stdout)",
        "x = jnp.ones((2, 3))  # shape: (a, b, c)",
    )
    assert "In[2] %%time:2:16: SC201 comment says (b, t), but y is (t=3, b=2)" in ran[2].stdout
    assert "In[4] %%capture:1:32: SC201" in ran[4].stdout
    assert "In[6]:1:32: SC201" in ran[5].stdout


def test_old_definitions_keep_their_claims(run: Run) -> None:
    ran = run(
        IMPORTS + LOAD,
        WRONG,
        f"old = f\n{RIGHT}",
        "f(jnp.ones((2, 3))).shape",
        "old(jnp.ones((2, 3)))",
        WRONG,
        "old(jnp.ones((2, 3)))",
        "f(jnp.ones((2, 3)))",
    )
    assert (ran[3].shown, ran[3].error) == ("Out[4]: (3, 2)\n", "")
    assert "ShapeMismatch: In[2]:2:16" in ran[4].stdout
    assert "ShapeMismatch: In[2]:2:16" in ran[6].stdout
    assert "ShapeMismatch: In[6]:2:16" in ran[7].stdout


def test_names_mean_what_the_notebook_has_and_left_over_sizes_nothing(run: Run) -> None:
    ran = run(
        "import jax.numpy as jnp, typing as t, jaxtyping as jt\nfrom jaxtyping import Float as F, Array\n"
        'Img = F[Array, "h w"]\nPair = tuple[F[Array, "a"], F[Array, "a"]] | None\nn = 7\nWIDTH = 5',
        LOAD,
        "def f(x: Img):\n    return x\ndef g(x) -> t.Optional[Pair]:\n    return x, x[:1]\n"
        'def h(x: jt.Float[Array, "n n"]):\n    return x\n',
        "f(jnp.ones(3))",
        "g(jnp.ones(3))",
        "h(jnp.ones((3, 2)))",
        "def k(x):\n    y = x * 2  # (n, d)\n    return y\nk(jnp.ones((3, 4))).shape",
        "def m(x):\n    y = x.reshape(-1, WIDTH)  # (k, WIDTH)\n    z = y[1:, 1:]  # (m, WIDTH)\nm(jnp.ones(10))",
    )
    assert 'SC202 annotation says Float[Array, "h w"], but argument x is (3,)' in ran[3].stdout
    assert "SC203" in ran[4].stdout
    assert 'SC202 annotation says jt.Float[Array, "n n"], but argument x is (3, 2)' in ran[5].stdout
    assert (ran[6].shown, ran[6].error) == ("Out[7]: (3, 4)\n", "")
    assert "SC201 comment says (m, WIDTH), but z is (1, 4)" in ran[7].stdout
    assert "with WIDTH=5 (an integer of that name)" in ran[7].stdout


def test_the_magic_changes_what_is_checked_in_functions_that_exist(run: Run) -> None:
    call = "f(jnp.ones((2, 3))).shape"
    log = '@jax.jit\ndef g(x: Float[Array, "b"]):\n    y = jnp.log(x)  # (b,)\n    z = y + 1\n    return z\n'
    ran = run(
        IMPORTS + LOAD,
        WRONG,
        log,
        "%shapecheck",
        "%shapecheck --warn",
        call,
        "%shapecheck --numerics outputs --no-shapes",
        call,
        "r = g(-jnp.ones(2))\n1",
        "%shapecheck --print g.z",
        "g(jnp.ones(2)).shape",
        call,
        "%shapecheck off",
        call,
        "%shapecheck on",
        call,
        "%shapecheck --numerics wrong",
        "%shapecheck --nothing",
        "%shapecheck",
    )
    assert "shapes only" in ran[3].stdout
    assert (ran[5].stdout, ran[5].error) == ("Out[6]: (3, 2)\n", "")
    assert "In[2]:2:16: SC201" in ran[5].stderr
    assert (ran[7].shown, ran[7].error) == ("Out[8]: (3, 2)\n", "")
    assert "NonFinite: the value at In[3]:3 in g is not finite" in ran[8].stdout
    assert "CpuCallback" not in ran[8].stdout
    assert "g.z (line 4) f32[2]  1" in ran[10].stderr
    assert ran[11].error == "ShapeMismatch"
    assert (ran[13].shown, ran[13].error) == ("Out[14]: (3, 2)\n", "")
    assert ran[15].error == "ShapeMismatch"
    for wrong in ran[16:18]:
        assert wrong.error == "UsageError"
        assert "--on-failure {raise,warn,breakpoint}" in wrong.stderr
    assert "--print g.z" in ran[18].stdout


def test_unloading_leaves_no_trace_and_functions_that_work(run: Run) -> None:
    state = (
        "import sys; s = get_ipython(); (len(s.ast_transformers), len(s.input_transformers_post), s.custom_exceptions, "
        "sorted((k, len(v)) for k, v in s.events.callbacks.items()), 'shapecheck' in s.magics_manager.magics['line'], "
        "[f for f in sys.meta_path if 'shapecheck' in type(f).__module__])"
    )
    call = "f(jnp.ones((2, 3))).shape, [n for n in f.__code__.co_names if 'shapecheck' in n] != []"
    ran = run(
        IMPORTS, state, LOAD, WRONG, call, "%unload_ext shapecheck", state, call, WRONG, call, LOAD, call, WRONG, call
    )
    assert ran[4].error == "ShapeMismatch"
    assert ran[6].stdout.partition(":")[2] == ran[1].stdout.partition(":")[2]
    assert ran[7].stdout == "Out[8]: ((3, 2), True)\n"
    assert ran[9].stdout == "Out[10]: ((3, 2), False)\n"
    assert "not checked" in ran[10].stderr
    assert ran[11].stdout == "Out[12]: ((3, 2), False)\n"
    assert ran[13].error == "ShapeMismatch"


def test_a_function_goes_into_another_process_with_its_variables(run: Run) -> None:
    send = (
        "import pickle, types\nnames = {n: globals()[n] for n in f.__code__.co_names if n in globals()}\n"
        "there = types.FunctionType(f.__code__, pickle.loads(pickle.dumps(names)))\nthere(jnp.ones((2, 3))).shape"
    )
    ran = run(IMPORTS + LOAD, WRONG, send)
    assert (ran[2].shown, ran[2].error) == ("Out[3]: (3, 2)\n", "")


def test_who_checks_a_stretch_hears_once_that_cells_are_not_checked(run: Run) -> None:
    block = "with shapecheck.runtime_checks():\n    f(jnp.ones((2, 3)))"
    claimless = "def f(x):\n    return x.T"
    ran = run(IMPORTS + "import shapecheck", claimless, block, WRONG, block, block, LOAD, WRONG, block)
    assert [each.error for each in ran[:8]] == [""] * 8
    assert [bool(each.stderr) for each in ran] == [False, False, False, False, True, False, True, False, False]
    assert "UserWarning: shapecheck: functions that are defined in cells" in ran[4].stderr
    assert "%load_ext shapecheck" in ran[4].stderr
    assert "run these again" in ran[6].stderr
    assert ran[8].error == "ShapeMismatch"


def test_functions_of_the_cell_that_loads_the_extension_are_told_of(run: Run) -> None:
    ran = run(IMPORTS + LOAD + "\n" + WRONG, "f(jnp.ones((2, 3))).shape", WRONG, "f(jnp.ones((2, 3)))")
    assert [bool(each.stderr) for each in ran[:3]] == [True, False, False]
    assert "not checked" in ran[0].stderr
    assert ran[3].error == "ShapeMismatch"


def test_the_environment_switches_checks_on_in_a_notebook_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(IMPORTS + WRONG, "utf-8")
    cells = [IMPORTS + "import own", "import shapecheck", RIGHT, "f(-jnp.ones((2, 3))).shape", WRONG]
    cells += ["f(jnp.ones((2, 3)))", "own.f(jnp.ones((2, 3)))", LOAD, "%shapecheck", "%unload_ext shapecheck"]
    ran = run(*cells, "own.f(jnp.ones((2, 3))).shape", SHAPECHECK_DEBUG="True", SHAPECHECK_NUMERICS="outputs")
    assert [each.error for each in ran] == ["", "", "", "", "", *["ShapeMismatch"] * 2, "", "", "", ""]
    assert ran[8].stdout == "shapecheck: --numerics outputs\n"
    assert "already loaded" in ran[7].stdout
    (refused,) = run("import shapecheck", SHAPECHECK_DEBUG="True", SHAPECHECK_NUMERICS="foo")
    assert (refused.error, "SHAPECHECK_NUMERICS: 'foo' is none of" in refused.stdout) == ("ValueError", True)


def test_a_stretch_is_checked_as_it_says_where_cells_are_checked(run: Run) -> None:
    log = 'def g(x: Float[Array, "b"]):\n    y = jnp.log(x)  # (b,)\n    return y + 1\nh = jax.jit(g)'
    call = "h(-jnp.ones(2)).shape"
    block = f"with shapecheck.runtime_checks(numerics='outputs'):\n    {call}"
    ran = run(IMPORTS + LOAD + "\nimport shapecheck", log, call, block, call, WRONG, "f(jnp.ones((2, 3)))")
    assert "NonFinite: the value at In[2]:2 in g is not finite" in ran[3].stdout
    assert [ran[2].stdout, ran[4].stdout] == ["Out[3]: (2,)\n", "Out[5]: (2,)\n"]
    assert "ShapeMismatch: In[6]:2:16" in ran[6].stdout


def test_without_our_own_process_the_notebook_goes_on(run: Run) -> None:
    ran = run(
        "import os\nos.environ['SHAPECHECK_PYTHON'] = '/nowhere/python'\n" + IMPORTS + LOAD,
        WRONG,
        "f(jnp.ones((2, 3))).shape",
    )
    assert "SHAPECHECK_PYTHON names an interpreter" in ran[1].stderr
    assert "Nothing is checked" in ran[1].stderr
    assert (ran[2].shown, ran[2].error) == ("Out[3]: (3, 2)\n", "")


def test_functions_that_autoreload_patches_are_checked_by_the_text_of_now(run: Run, tmp_path: Path) -> None:
    method = (
        '\n\nclass M:\n    def m(self, x):\n        """Of\n        two lines."""\n        z = x + 1\n        return z\n'
    )
    (tmp_path / "edited.py").write_text("from jaxtyping import Array, Float\n\n" + RIGHT + method, "utf-8")
    edit = (
        "import os, sys\nsys.path.insert(0, '')\n%load_ext autoreload\n%autoreload 2\nimport edited\n"
        "from edited import f\ndef edit(old, new):\n"
        "    with open('edited.py') as file: text = file.read()\n"
        "    with open('edited.py', 'w') as file: file.write(text.replace(old, new))\n"
        "    time = os.stat('edited.py').st_mtime + 5\n    os.utime('edited.py', (time, time))\n"
    )
    call, method_call = "f(jnp.ones((2, 3))).shape", "edited.M().m(jnp.ones((2, 3))).shape"
    ran = run(
        IMPORTS + LOAD,
        edit,
        call,
        "edit('y = x.T  # (t, b)', 'y = x.T.T  # (t, b)')",
        call,
        "edit('y = x.T.T  # (t, b)', 'y = x.T.T  # (b, t)')",
        call,
        "edit('z = x + 1', 'z = x + 2  # shape: (a,)')",
        method_call,
        "edit('  # shape: (a,)', '')\nedit('  # (b, t)', '')",
        method_call,
        call,
    )
    assert (ran[2].shown, ran[6].shown) == ("Out[3]: (3, 2)\n", "Out[7]: (2, 3)\n")
    assert "edited.py:4:18: SC201 comment says (t, b), but y is (b=2, t=3)" in ran[4].stdout
    assert "edited.py:12:29: SC201 comment says (a,), but z is (2, 3)" in ran[8].stdout
    assert (ran[10].shown, ran[11].shown) == ("Out[11]: (2, 3)\n", "Out[12]: (2, 3)\n")
