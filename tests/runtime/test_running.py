"""`shapecheck run`, as a user's shell sees it: the program is as without us, until a check fails."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
assert "jax" not in sys.modules
os.environ["JAX_ENABLE_X64"] = "1"
print(sys.argv, __name__, os.path.basename(__file__), sys.path[0], __spec__, vars(sys.modules["__main__"]) is globals())
import jax.numpy as jnp
from own.model import mean

x = jnp.ones((2, 3))  # (batch, dim)
print(x.dtype, mean(x))
if sys.argv[1] == "fail":
    raise KeyError("mine")
if sys.argv[1] == "wait":
    print("waiting", flush=True)
    import time
    time.sleep(60)
if sys.argv[1] == "mismatch":
    mean(x.T)
"""
MODEL = """
from jaxtyping import Array, Float

def mean(x: Float[Array, "batch dim"]) -> Float[Array, " batch"]:
    if x.shape[0] == 3:
        y = x.mean(0)  # (batch,)
    return x.mean(1)
"""
LOOP = """\
import equinox as eqx
import jax

net = eqx.nn.MLP(4, 4, 8, 3, key=jax.random.PRNGKey(0))
run = eqx.filter_jit(net)
x = run(jax.numpy.ones(4))
print("began", flush=True)
for _ in range(4):
    try:
        while True:
            run(x)
    except KeyboardInterrupt:
        print("saved", flush=True)
"""
SPAWNING = """
import multiprocessing
import jax.numpy as jnp

def work(n):
    z = jnp.ones((n, 2))  # (n, n)
    return z.sum()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.map(work, [3])
        except TypeError as error:
            print("told:", error)
    raise SystemExit(7)
"""
TESTS = """
import unittest
import jax, jax.numpy as jnp
import pytest
from own.model import mean

class Case(unittest.TestCase):
    def test_not_finite(self):
        jax.jit(mean)(jnp.full((2, 3), jnp.nan))

def test_right():
    mean(jnp.ones((2, 3)))

def test_wrong():
    mean(jnp.ones((3, 4)))

def test_not_finite():
    jax.jit(mean)(jnp.full((2, 3), jnp.nan))

def test_claims_of_its_own():
    x = jnp.ones((2, 3))  # (a, b)
    y = x.T  # (a, b)

def test_details():
    x = jnp.ones((2, 3))  # (a, b)
    assert (
        x.sum(1)  # (a,)
        == jnp.arange(2)
    ).all()

@pytest.fixture
def a_fixture(in_conftest):
    x = jnp.ones((2, 3))  # (a, b)
    yield x
    x.T  # (a, b)

def test_with_fixtures(a_fixture):
    pass
"""
CONFTEST = """
import jax.numpy as jnp
import pytest

@pytest.fixture
def in_conftest():
    return jnp.ones((2, 2))  # (a, a)

@pytest.fixture(autouse=True)
def around(request):
    x = jnp.ones((2, 3))  # (a, b)
    y = x.T if request.node.name == "test_right" else x  # (a, b)
"""
STOPPING = """
import jax, jax.numpy as jnp
from jaxtyping import Array, Float

@jax.jit
def root(x: Float[Array, " n"]):
    local = x - 1
    y = jnp.sqrt(local)  # (n,)
    z = 2 * y  # (n,)
    return 2 * z

print("gave", root(root(jnp.array([5.0, -2.0]))))
"""
STOPPING_IN_LAYERS = """
import sys
import equinox as eqx, jax, jax.numpy as jnp

class Layer(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        hidden = self.linear(x)
        return jnp.sqrt(hidden) if "bad" in sys.argv else jnp.tanh(hidden)

class Model(eqx.Module):
    layers: Layer

    def __call__(self, x):
        arrays, others = eqx.partition(self.layers, eqx.is_array)

        def step(x, layer):
            out = eqx.combine(layer, others)(x)
            return out, None

        return jax.lax.scan(step, x, arrays)[0]

keys = jax.random.split(jax.random.PRNGKey(0), 3)
model = Model(eqx.filter_vmap(lambda key: Layer(eqx.nn.Linear(4, 4, key=key)))(keys))
print("gave", eqx.filter_jit(eqx.filter_vmap(model))(jnp.ones((2, 4))).shape)
"""
MAPPED = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
from jaxtyping import Array, Float

def root(x: Float[Array, " n"]):
    y = jnp.sqrt(x)  # (n,)
    return y

total = jax.pmap(lambda x: jax.lax.psum(root(x), "devices"), axis_name="devices")
print("gave", total(jnp.array([[4.0], [9.0]])).tolist())
try:
    if len(sys.argv) > 1:
        jax.pmap(root)(jnp.array([[4.0], [-9.0]]))  # nobody waits for it
        raise SystemExit(0)
    total(jnp.array([[-4.0], [-9.0]])).block_until_ready()
finally:
    print("cleaned up")
"""
# Python has written the name of the class when it asks for the message.
ODD = """
import threading, time
import jax, jax.numpy as jnp
def f(x):
    y = x * 2
    return y
class Odd(Exception):
    def __str__(self):
        threading.Thread(target=lambda: jax.jit(f)(jnp.ones(1))).start()
        time.sleep(0.5)
        return "what is odd"
jax.jit(f).lower(jnp.ones(1)).compile()
raise Odd
"""
OPERATIONS = """
import sys, threading
import equinox as eqx, jax, jax.numpy as jnp

jax.config.update("jax_debug_nans", False)  # as of an option of the program's own
log = jax.jit(lambda x: jnp.log(x) * 2)

def work():
    eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 2, key=key))(jax.random.split(jax.random.PRNGKey(0), 3))
    print("finite", log(jnp.ones(2)))
    with jax.debug_nans(False):
        print("meant", log(-jnp.ones(2)))
    try:
        print("passed", log(-jnp.ones(2)))
    except FloatingPointError:
        print("raised")

work()
jax.config.update("jax_debug_nans", True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("", "utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "own" / "model.py").write_text(MODEL, "utf-8")
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    return tmp_path


def called(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=project, capture_output=True, text=True, check=False, timeout=120
    )


def ours(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called(project, "-m", "shapecheck", "run", *arguments)


def test_a_program_is_as_python_runs_it(project: Path) -> None:
    plain, checked = called(project, "train.py", "fail", "--flag"), ours(project, "train.py", "fail", "--flag")
    assert checked.stdout == plain.stdout
    assert checked.returncode == plain.returncode
    told, _, arrays = checked.stderr.partition("\nArrays in these frames, the innermost first:\n")
    assert told == plain.stderr
    assert "x  f64[2,3]  1" in arrays


def test_a_mismatch_ends_it_with_a_traceback_of_the_user_s_frames(project: Path) -> None:
    said = ours(project, "--no-shapes", "--shapes", "-m", "train", "mismatch", "--flag")  # which is the program's
    assert said.returncode == 1
    assert "'mismatch', '--flag'] __main__ train.py" in said.stdout
    assert "own/model.py:6:26: SC201 comment says (batch,), but y is (2,)" in said.stderr.replace(os.sep, "/")
    frames = [line for line in said.stderr.splitlines() if line.startswith("  File")]
    assert [Path(frame.split('"')[1]).name for frame in frames] == ["train.py", "model.py"]
    assert "  train.py:18 in <module>\n    x  f64[2,3]  1" in said.stderr


def test_a_signal_ends_it_as_it_ends_python(project: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "shapecheck", "run", "train.py", "wait"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    with process:
        while "waiting" not in process.stdout.readline():
            assert process.poll() is None
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
    assert process.returncode == -signal.SIGINT
    assert stderr.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_reaches_the_program_and_not_the_callbacks_that_run(project: Path) -> None:
    (project / "loop.py").write_text(LOOP, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "shapecheck", "run", "--log", "stages.log", "loop.py"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    with process:
        for expected in ("began", "saved", "saved", "saved"):
            if not select.select([process.stdout], [], [], 100)[0]:
                process.kill()  # it would go on for ever
            assert process.stdout.readline().strip() == expected, process.stderr.read()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
    assert (process.returncode, stderr) == (0, "")


def test_a_spawned_process_is_checked_too(project: Path) -> None:
    (project / "spawning.py").write_text(SPAWNING, "utf-8")
    said = ours(project, "spawning.py")
    assert said.stdout.startswith("told: spawning.py:6:29: SC201"), said.stderr
    assert said.returncode == 7


def test_pytest_runs_with_checks_also_in_its_own_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "test_own.py").write_text(TESTS, "utf-8")
    (project / "conftest.py").write_text(CONFTEST, "utf-8")
    command = ["-m", "pytest", "-q", "-p", "shapecheck", "--tb=short", "test_own.py"]
    options = ["--shapecheck-run", "--shapecheck-numerics", "outputs", "--shapecheck-print", "mean.y"]
    with monkeypatch.context() as patch:
        patch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # beside all other plugins
        checked = called(project, *command, *options).stdout
    for told in (
        "ERROR test_own.py::test_right - shapecheck.ShapeMismatch",
        "shapecheck.ShapeMismatch: conftest.py:12:",
        "FAILED test_own.py::test_wrong - shapecheck.ShapeMismatch",
        "FAILED test_own.py::test_not_finite - shapecheck.NonFinite",
        "FAILED test_own.py::Case::test_not_finite - shapecheck.NonFinite",
        "FAILED test_own.py::test_claims_of_its_own - shapecheck.ShapeMismatch",
        "shapecheck.ShapeMismatch: test_own.py:22:",
        "ERROR test_own.py::test_with_fixtures - shapecheck.ShapeMismatch",
        "shapecheck.ShapeMismatch: test_own.py:35:",
        "5 failed, 1 passed, 2 errors",
        "mean.y (line 6) f32[4]  1  mean 1",
    ):
        assert told in checked
    assert "Array([3., 3.], dtype=float32) == Array([0, 1], dtype=int32)" in checked  # what pytest tells of an assert
    assert "shapecheck.evaluate" not in checked and "checking.py" not in checked
    numbers_only = called(project, *command, "--shapecheck-numerics", "outputs", "--shapecheck-no-shapes").stdout
    assert "ShapeMismatch" not in numbers_only
    assert "3 failed, 4 passed" in numbers_only  # one fails by itself
    assert "FAILED test_own.py::test_not_finite - shapecheck.NonFinite" in numbers_only
    assert "without numerics nothing looks for NaN" in called(project, *command, "--shapecheck-nan-only").stderr


def test_operations_are_looked_at_after_jax_has_looked_away_for_a_while(project: Path) -> None:
    (project / "operations.py").write_text(OPERATIONS, "utf-8")
    said = ours(project, "--numerics", "ops", "operations.py")
    lines = [line for line in said.stdout.splitlines() if not line.startswith("Invalid nan")]  # which JAX prints
    assert lines == ["finite [0. 0.]", "meant [nan nan]", "raised"] * 2


def test_the_debugger_of_jax_opens_in_the_user_s_frame(project: Path) -> None:
    (project / "stopping.py").write_text(STOPPING, "utf-8")
    options = ["--numerics", "outputs", "--on-failure", "breakpoint"]
    said = at_a_terminal(project, [*options, "stopping.py"], ["p local", "up", "c"])
    assert "stopping.py:8 in root is not finite" in said
    assert "Array([ 4., -3.], dtype=float32)" in said
    assert "gave [10.583005       nan]" in said
    assert said.count("(jdb) c") == 1  # it goes to the end
    assert (
        "What is not finite was passed on 3 times, in 2 places; the first: the value at stopping.py:9 in root" in said
    )
    context = said[said.index("(jdb) up") :]
    assert "stopping.py(12)" in context and "->  print" in context  # nothing of ours, or of JAX's, is between


def test_it_opens_in_the_body_of_a_loop_and_has_the_value_that_is_not_finite(project: Path) -> None:
    (project / "stopping.py").write_text(STOPPING_IN_LAYERS, "utf-8")
    options = ["--numerics", "outputs", "--on-failure", "breakpoint", "stopping.py"]
    assert at_a_terminal(project, options, []) == "gave (2, 4)\n"
    typed = ["p output.shape, jnp.isnan(output).any()", "p jnp.isfinite(hidden).all()", "up", "p x", "c"]
    said = at_a_terminal(project, [*options, "bad"], typed)
    assert "stage layers (Layer at stopping.py:10), called at stopping.py:19 gave what is not finite" in said
    assert "The value is `output` here" in said
    assert "((2, 4), Array(True, dtype=bool))" in said
    assert "hidden).all()\nArray(True, dtype=bool)" in said
    assert "->              out = eqx.combine(layer, others)(x)" in said[said.index("(jdb) up") :]
    assert "(jdb) p x\nArray([[1., 1., 1., 1.]" in said
    assert said.count("(jdb) c") == 1 and "gave (2, 4)\n" in said


def at_a_terminal(project: Path, arguments: list[str], typed: list[str]) -> str:
    """What is shown at a terminal, where a line is typed at each prompt."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "shapecheck", "run", *arguments]
    with subprocess.Popen(command, cwd=project, stdin=child, stdout=child, stderr=child) as process:
        os.close(child)
        shown = b""
        while select.select([parent], [], [], 60)[0]:
            try:
                new = os.read(parent, 4096)
            except OSError:  # nobody is left to write
                break
            shown += new
            if shown.endswith(b"(jdb) ") and typed:
                os.write(parent, typed.pop(0).encode() + b"\n")
        process.kill()
    os.close(parent)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("arguments", [[], ["apart"]])
def test_each_device_of_a_pmap_is_looked_at_and_none_waits_for_ever(project: Path, arguments: list[str]) -> None:
    (project / "mapped.py").write_text(MAPPED, "utf-8")
    said = ours(project, "--numerics", "outputs", "--print", "root.y", "mapped.py", *arguments)
    assert said.stdout.startswith("gave [[5.0], [5.0]]\n")
    lines = said.stderr.splitlines()
    printed = [line.split("  ")[1] for line in lines if line.startswith("root.y (line 8) f32[1]")]
    assert sorted(printed[:2]) == ["2", "3"]
    found = "the value at mapped.py:8 in root is not finite"
    assert [line for line in lines if found in line] == [f"shapecheck.NonFinite: {found}"]
    assert "ignored" not in said.stderr
    assert said.returncode == 1
    if not arguments:  # else the program may be at its end when it is interrupted
        assert said.stdout.endswith("cleaned up\n") and "During handling" not in said.stderr


def test_what_a_device_prints_does_not_run_into_a_traceback(project: Path) -> None:
    (project / "odd.py").write_text(ODD, "utf-8")
    said = ours(project, "--print", "f.y", "odd.py")
    assert {"Odd: what is odd", "f.y (line 5) f32[1]  2  mean 2  norm 2"} <= {*said.stderr.splitlines()}


def test_what_cannot_be_run_is_refused(project: Path) -> None:
    for arguments, text in [
        (["nowhere.py"], "There is no file or folder 'nowhere.py'"),
        ([], "Missing argument 'SCRIPT', or -m MODULE"),
        (["--pdb", "train.py"], "need a terminal"),
        (["--log", "own", "train.py"], "own is a folder"),
    ]:
        said = ours(project, *arguments)
        assert said.returncode == 2
        assert text in said.stderr
