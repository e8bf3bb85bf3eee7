"""Runs that repeat earlier ones: what the cache gives must be what a cold run gives, whatever was edited."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.incremental.cache_store import Store
from shapecheck.model import Report
from shapecheck.worker import entry_phase, worker_client
from shapecheck.worker.messages.entry_messages import EvaluateEntry
from shapecheck.worker.messages.protocol import RequestFor
from shapecheck.worker.messages.suite_messages import CollectTests, RunTest

FILES = {
    "pkg/__init__.py": "",
    "pkg/sizes.py": "WIDTH = 4\n\n\ndef double(n):\n    return 2 * n\n",
    "pkg/layers.py": """\
import jax
import jax.numpy as jnp
from pkg.sizes import WIDTH, double


def project(x, w):
    h = x @ w  # shape: (batch, hidden)
    return h


@jax.jit
def widen(x):
    y = jnp.concatenate([x] * double(1), axis=-1)  # shape: (batch, wide)
    return y
""",
    "pkg/model.py": """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from pkg.layers import project, widen


def mlp(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]) -> Float[Array, "batch hidden"]:
    h = project(x, w)  # (batch, hidden)
    return h


def wide(x: Float[Array, "batch d"]):
    y = widen(x)  # (batch, 2*d)
    return y
""",
    "tests/conftest.py": "import jax.numpy as jnp\nimport pytest\n\n\n@pytest.fixture\ndef x():\n"
    "    return jnp.ones((4, 4))\n",
    "tests/test_model.py": """\
import jax.numpy as jnp
from pkg.model import mlp, wide


def test_mlp(x):
    assert float(mlp(x, jnp.ones((4, 6))).sum()) == 96


def test_wide(x):
    assert wide(x).shape == (4, 8)
""",
    "tests/test_layers.py": """\
import jax.numpy as jnp
from pkg.layers import project, widen


def test_widen(x):
    widen(x)


def test_project(x):
    project(x, x)
""",
    "pyproject.toml": "[tool.shapecheck]\n",
}
# What reaches names by other ways than importing them.
BY_OTHER_WAYS = {
    "pkg/kinds.py": """\
import abc

import equinox as eqx
import jax.numpy as jnp

KINDS = {}
COUNT = 1


def register(function):
    KINDS[function.__name__] = function
    return function


class Kind:
    size = 3
    all = []

    def __init_subclass__(cls):
        Kind.all.append(cls)


class Plain:
    pass


class Norm(eqx.Module):
    @abc.abstractmethod
    def normed(self, x):
        raise NotImplementedError


class Ours(Norm):
    scale: int = 1

    def normed(self, x):
        return x
""",
    "pkg/more.py": """\
import jax.numpy as jnp
from pkg.kinds import Kind, Plain, register
from pkg.sizes import *


@register
def twice(x):
    return jnp.concatenate([x, x])


class First(Kind):
    rows = WIDTH


class Holder(Plain):
    size = 2


DEPTH = WIDTH // 2
FLAT = {name: value for name, value in globals().items() if name == "DEPTH"}
""",
    "pkg/spare.py": "SPARE = 1\n",
    "pkg/ways.py": """\
import jax.numpy as jnp
from jaxtyping import Array, Float
from pkg import kinds, more, sizes
from pkg.kinds import KINDS, Kind, Norm
from pkg.more import *


def registered(x: Float[Array, "n"]):
    for name in sorted(KINDS):
        x = KINDS[name](x)
    y = x  # (2*n,)
    return y


def derived(x: Float[Array, "n"]):
    y = jnp.tile(x, len(Kind.all) * Kind.size)  # (3*n,)
    return y


def listed(x: Float[Array, "n"]):
    y = jnp.tile(x, len([name for name in dir(sizes) if name.isupper()]))  # (n,)
    return y


def asked(x: Float[Array, "n"], depth=more.DEPTH):
    y = jnp.tile(x, getattr(more, "FL" + "AT")["DEPTH"] + depth)  # (4*n,)
    return y


def starred(x: Float[Array, "n"]):
    y = jnp.tile(x, DEPTH + Holder.size)  # (4*n,)
    return y


def normed(norm: Norm, x: Float[Array, "n"]):
    y = norm.normed(x)  # (n,)
    return y


def lately(x: Float[Array, "n"]):
    try:
        from pkg import spare
    except Exception:
        return x
    y = jnp.tile(x, spare.SPARE + kinds.COUNT)  # (2*n,)
    return y
""",
    "tests/test_ways.py": """\
import jax.numpy as jnp
import pytest
from pkg import ways


def test_ways():
    ways.registered(jnp.ones(3))
    ways.derived(jnp.ones(4))


@pytest.mark.parametrize("size", [3, ways.DEPTH])
def test_sizes(size, monkeypatch):
    monkeypatch.setattr("pkg.kinds.COUNT", 1)
    ways.starred(jnp.ones(size))
    ways.lately(jnp.ones(size))
""",
}

# Each is a number of replacements: the file, what stands there, and what comes in its place, or else a whole file that
# comes. Each may be done or undone at any time, if what it replaces is there.
WHOLE = ""
EDITS = [
    [("pkg/layers.py", "h = x @ w  #", "h = (x @ w).T  #")],
    [("pkg/layers.py", "(batch, wide)", "(wide, batch)")],
    [("pkg/sizes.py", "return 2 * n", "return 3 * n")],
    [("pkg/sizes.py", "WIDTH = 4", "WIDTH = 5")],
    [("pkg/model.py", "(batch, 2*d)", "(batch, 3*d)")],
    [("pkg/model.py", "    return y\n", "    return y.T  # (wide, batch)\n")],
    [("tests/conftest.py", "(4, 4)", "(5, 4)")],
    [("tests/test_model.py", "def test_wide(x):", "def test_wider(x):\n    wide(x[:2])\n\n\ndef test_wide(x):")],
    [("tests/test_layers.py", "    widen(x)", "    widen(x.T[:3])")],
    [
        (
            "tests/test_model.py",
            "    assert float(mlp(x",
            "    if float(x.sum()) > 0:\n        return\n    assert float(mlp(x",
        )
    ],
    # names that come, go, and change
    [("pkg/sizes.py", "def double", "def triple(n):\n    return 3 * n\n\n\ndef double")],
    [("pkg/sizes.py", "def double", "HEIGHT = 3\n\n\ndef double")],
    [("pkg/sizes.py", "def double(n)", "def double(n=2)")],
    [("pkg/sizes.py", "return 2 * n", "return WIDTH // 2 * n")],
    [("pkg/sizes.py", "WIDTH =", "WIDTH = 8\nWIDTH =")],
    [("pkg/sizes.py", "WIDTH =", "__all__ = ['double']\nWIDTH =")],
    [("pkg/model.py", "import jax\n", "import functools\nimport jax\n")],
    [("pkg/sizes.py", "WIDTH =", "from pkg.model import wide\n\nWIDTH =")],
    [("pkg/layers.py", "@jax.jit\ndef widen", "@jax.vmap\ndef widen")],
    [("pkg/layers.py", "def widen", "def broaden"), ("pkg/model.py", "widen", "broaden")],
    [
        ("pkg/layers.py", "def project(x, w)", "def project(x, w, *, scale=WIDTH)"),
        ("pkg/layers.py", "h = x @", "h = scale * x @"),
    ],
    [("pkg/model.py", "(batch, hidden)\n", "(batch, hidden, 1)\n")],
    # files and tests that come and go
    [("pkg/new.py", WHOLE, "def new(x):\n    y = x.T  # shape: (a, b)\n    return y\n")],
    [("pkg/late.py", WHOLE, "from pkg.kinds import Kind, register\n\n\n@register\ndef same(x):\n    return x[:2]\n")],
    [("pkg/alike.py", WHOLE, "from pkg.kinds import Kind\n\n\nclass Second(Kind):\n    pass  # shape: (n,)\n")],
    [
        (
            "pkg/aaa.py",
            WHOLE,
            "from pkg import kinds\nfrom pkg.kinds import Norm\n\n\nclass Aside(Norm):\n    # shape: (n,)\n"
            "    def normed(self, x):\n        return x[1:]\n",
        )
    ],
    [("pkg/spare.py", "SPARE = 1", "SPARE = 1\nNEVER = 1 / 0")],
    [("pkg/spare.py", "SPARE = 1", "SPARE = 2")],
    [("pkg/spare.py", "SPARE = 1\n", "")],
    [
        (
            "tests/test_new.py",
            WHOLE,
            "import jax.numpy as jnp\nfrom pkg import ways\n\n\ndef test_new():\n    ways.listed(jnp.ones(7))\n",
        )
    ],
    [
        (
            "tests/test_more.py",
            WHOLE,
            "from pkg import kinds\n\nkinds.KINDS.clear()\n\n\ndef test_none(x):\n    assert x.shape\n",
        )
    ],
    [
        (
            "tests/test_sets.py",
            WHOLE,
            "import jax\n\njax.config.update('jax_enable_x64', True)\n\n\ndef test_none(x):\n    assert x.shape\n",
        )
    ],
    [("tests/test_layers.py", "def test_project", "def test_shape(x):\n    assert x.shape\n\n\ndef test_project")],
    [("tests/test_layers.py", "import jax.numpy as jnp\n", "import os\nimport jax.numpy as jnp\n")],
    [("tests/test_layers.py", "def test_project(x):\n", "def test_project(x):\n    import os\n    os._exit(3)\n")],
    # by other ways
    [("pkg/kinds.py", "COUNT = 1", "COUNT = 2")],
    [("pkg/kinds.py", "    size = 3", "    size = 2")],
    [("pkg/kinds.py", "class Plain:\n    pass", "class Plain:\n    size = 5")],
    [("pkg/kinds.py", "    return function", "    return lambda x: function(x)[:1]")],
    [
        (
            "pkg/kinds.py",
            "class Ours(Norm)",
            "class Mine(Norm):\n    def normed(self, x):\n        return x[None]\n\n\nclass Ours(Norm)",
        )
    ],
    [("pkg/kinds.py", "class Ours(Norm)", "class Ours(Plain)")],
    [("pkg/more.py", "@register\ndef twice", "def twice")],
    [("pkg/more.py", "class First(Kind)", "class First(Plain)")],
    [("pkg/more.py", "class Holder(Plain):\n    size = 2", "class Holder(Plain):\n    pass")],
    [("pkg/more.py", "WIDTH // 2", "WIDTH // 4")],
    [("pkg/more.py", "from pkg.sizes import *", "from pkg.sizes import WIDTH")],
    [("pkg/more.py", "DEPTH = ", "KINDS = {}\nDEPTH = ")],
    [("pkg/ways.py", "from pkg.kinds import KINDS", "import pkg.spare\nfrom pkg.kinds import KINDS")],
    [("pkg/__init__.py", "", "sizes = None\n")],
    [("pkg/__init__.py", "", "from pkg.sizes import WIDTH\n")],
]


SEED, ROUNDS = int(os.environ.get("SEED", "20")), int(os.environ.get("ROUNDS", "2"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def run(*, cache: bool = True, **settings: Any) -> Report:
    return check([Path("pkg")], replace(load([Path("pkg")]), **{"cache": cache, "jobs": 2, **settings}))


def told(report: Report) -> object:
    """All that a user sees of a report."""
    entries = sorted(set(report.entries), key=str)
    return report.findings, report.summary, report.unreached, report.tests, report.functions, report.loose, entries


def edit(project: Path, replacements: list[tuple[str, str, str]]) -> None:
    """Do it, or undo it if it was done."""
    for name, old, new in replacements:
        file = project / name
        text = file.read_text() if file.exists() else WHOLE
        if old == WHOLE and not text:
            file.write_text(new)
        elif new and new in text:
            file.write_text(text.replace(new, old))
        elif old:
            file.write_text(text.replace(old, new, 1))
        if not file.read_text() and name not in FILES:
            file.unlink()


def next_edits(chance: random.Random, done: list[list[tuple[str, str, str]]]) -> list[list[tuple[str, str, str]]]:
    """What to do, or undo, so that the project never gets far from one that works. `done` is kept."""
    edits = chance.sample(done, 1) if len(done) > chance.randrange(4) else []
    edits += chance.sample([each for each in EDITS if each not in edits], 1 if edits else chance.choice([1, 1, 2]))
    done[:] = [each for each in (*done, *edits) if (each in done) != (each in edits)]
    return edits


def test_any_sequence_of_edits_gives_what_a_cold_run_gives(project: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311
    for name, text in BY_OTHER_WAYS.items():
        (project / name).write_text(text)
    run()
    done: list[list[tuple[str, str, str]]] = []
    for _ in range(ROUNDS):
        for replacements in next_edits(chance, done):
            edit(project, replacements)
        assert told(run()) == told(run(cache=False))


def test_only_what_ran_through_the_edited_file_runs_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = worker_client.Worker.ask

    def listen(self: worker_client.Worker, request: RequestFor[object], limit: float) -> object:
        if isinstance(request, RunTest | EvaluateEntry):
            asked.append(request.key)
        return ask(self, request, limit)

    monkeypatch.setattr(worker_client.Worker, "ask", listen)
    first = run()
    assert {"tests/test_model.py::test_mlp", "tests/test_layers.py::test_widen"} <= set(asked)
    asked.clear()
    assert told(run()) == told(first)
    assert asked == []
    # Both tests of `widen` run again, though JAX had traced it in one of them only.
    file = project / "pkg" / "layers.py"
    file.write_text(file.read_text().replace("[x] * double(1)", "[x] * (double(1) + 0)"))
    run()
    assert {"tests/test_model.py::test_wide", "tests/test_layers.py::test_widen"} <= set(asked)
    asked.clear()
    file = project / "pkg" / "model.py"
    file.write_text(file.read_text().replace("    return y\n", "    y = y + 0\n    return y\n"))
    run()
    assert "tests/test_layers.py::test_project" not in asked
    assert "tests/test_model.py::test_wide" in asked


def test_what_ended_its_worker_or_took_too_long_is_tried_again_after_an_edit(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "pkg" / "slow.py"
    head = "from jaxtyping import Array, Float\n\n\n"
    file.write_text(f'{head}def slow(x: Float[Array, "n"]) -> Float[Array, "n"]:\n    while True:\n        x = x + 1\n')
    (project / "tests" / "test_exit.py").write_text("import os\n\n\ndef test_exit():\n    os._exit(3)\n")
    asked: list[str] = []
    ask = worker_client.Worker.ask

    def listen(self: worker_client.Worker, request: RequestFor[object], limit: float) -> object:
        asked.append(str(getattr(request, "key", type(request))))
        return ask(self, request, limit)

    monkeypatch.setattr(worker_client.Worker, "ask", listen)

    def evaluate() -> Report:
        tests = (Path("tests/test_exit.py"), Path("tests/test_more.py"))
        return check([Path("pkg")], replace(load([Path("pkg")]), jobs=1, timeout=4.0, tests=tests))

    (project / "tests" / "test_more.py").write_text("def test_more():\n    pass\n")
    first = evaluate()
    assert "took longer than 4 s" in next(f.message for f in first.findings if f.code == "SC304")
    ended = ("tests/test_exit.py::test_exit ended the process with exit status 3",)
    assert first.tests is not None
    assert first.tests.problems == ended
    asked.clear()
    assert told(evaluate()) == told(first)
    assert asked == []
    (project / "tests" / "test_more.py").write_text("def test_more():\n    assert True\n")
    assert told(evaluate()) == told(first)
    assert [key for key in asked if "::" in key] == ["tests/test_more.py::test_more"]
    (project / "pkg" / "sizes.py").write_text(FILES["pkg/sizes.py"].replace("2 * n", "2 * n + 0"))
    assert told(evaluate()) == told(first)
    # Of what ended its worker nobody knows what ran; of what took too long, it is known.
    assert "tests/test_exit.py::test_exit" in asked
    assert "function:pkg/slow.py:slow" not in asked
    file.write_text(file.read_text().replace("True", "False").replace("x + 1", "x + 1\n    return x"))
    assert "SC304" not in {finding.code for finding in evaluate().findings}


def test_tests_that_run_again_find_what_the_others_have_set(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "pkg" / "precise.py"
    text = 'from jaxtyping import Array, Float64\n\n\ndef double(x: Float64[Array, "n"]):\n    return 2 * x\n'
    file.write_text(text)
    uses = "import jax.numpy as jnp\nfrom pkg.precise import double\n\n\ndef test_use():\n    double(jnp.ones(3))\n"
    (project / "tests" / "test_precise.py").write_text(uses)
    sets = 'import jax\n\njax.config.update("jax_enable_x64", True)\n'
    (project / "tests" / "test_sets.py").write_text(
        f"{sets}\n\ndef test_set():\n    assert jax.numpy.ones(2).sum() == 2\n"
    )
    (project / "tests" / "test_devices.py").write_text(
        "import os\n\nimport jax\n\n\ndef setup_module():\n"
        '    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"\n\n\n'
        "def test_devices():\n    if jax.device_count() != 3:\n        raise RuntimeError\n"
    )
    monkeypatch.setenv("XLA_FLAGS", "")
    first = run()
    assert (first.tests.ok, first.findings) == (first.tests.collected, ())
    collected: list[object] = []
    ask = worker_client.Worker.ask

    def listen(self: worker_client.Worker, request: RequestFor[object], limit: float) -> object:
        if isinstance(request, CollectTests):
            collected.append(request.part)
        return ask(self, request, limit)

    monkeypatch.setattr(worker_client.Worker, "ask", listen)
    file.write_text(text.replace("2 * x", "3 * x"))
    assert told(run()) == told(first)
    (part,) = collected
    assert {Path(path).name for path in part.files} == {"test_precise.py", "test_devices.py"}


_LIST_IMPORTS = """
import json, subprocess, sys
before = set(sys.modules)
def refuse(*a, **k): raise SystemExit("a process was started")
subprocess.Popen.__init__ = refuse
from shapecheck.cli import main
status = main(["pkg", "--jobs", "2"])
print(json.dumps(sorted(set(sys.modules) - before)))
sys.exit(status)
"""


def test_an_unchanged_run_imports_what_reads_and_prints_a_report_and_starts_no_process(project: Path) -> None:
    run()
    done = subprocess.run([sys.executable, "-c", _LIST_IMPORTS], capture_output=True, text=True, check=False)
    assert (done.returncode, "No problems" in done.stderr) == (0, True), done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"click", "shapecheck"}
    ours = [name.split(".")[1:] for name in loaded if name.startswith("shapecheck.")]
    assert {name[0] for name in ours} == {
        *("cli", "commands", "config", "evaluate", "files", "incremental", "model", "report", "rules", "verdicts")
    }
    parts = {".".join(name) for name in ours if len(name) > 1 and name[0] not in ("cli", "config", "files", "rules")}
    assert parts == {
        "commands.check",
        "commands.check_inputs",
        "commands.lock",
        "commands.lock.lock_location",
        "evaluate.framework_protocol",  # what the files of frameworks state, which is read and not run
        "evaluate.parse_python",
        "incremental.cache_store",
        "incremental.content_hash",
        "incremental.environment_key",
        "incremental.rerun",
        "model.assumption",
        "model.finding",
        "model.location",
        "model.plain_facts",
        "report.concise",
        "report.full",
        "report.progress",
        "report.summary",
        "report.terminal_text",
        "verdicts.baseline",
    }
    unused = {"configparser", "difflib", "libcst", "pathspec", "rich", "secrets", "tempfile", "xml"}
    assert loaded & unused == set()


def test_a_damaged_cache_is_as_good_as_none(project: Path) -> None:
    first = told(run())
    for number, file in enumerate(sorted((project / ".shapecheck_cache").glob("*.shapecheck"))):
        data = file.read_bytes()
        file.write_bytes((data[: len(data) // 2], data[::-1], b"")[number % 3])
    assert told(run()) == first


def test_what_is_edited_while_it_is_evaluated_is_not_remembered(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "pkg" / "layers.py"
    before = file.read_text()
    ask = worker_client.Worker.ask

    def edit(self: worker_client.Worker, request: RequestFor[object], limit: float) -> object:
        file.write_text(before.replace("(batch, wide)", "(wide, batch, wide)"))
        return ask(self, request, limit)

    kept: list[str] = []
    monkeypatch.setattr(Store, "put", lambda self, slot, text: kept.append(slot))
    monkeypatch.setattr(worker_client.Worker, "ask", edit)
    run()
    assert kept
    # What was read of a text is true of that text, whatever the file says meanwhile.
    assert [slot for slot in kept if not slot.startswith("module ")] == []


TABLES = """\
import functools
import jax.numpy as jnp


@functools.lru_cache
def table():
    return jnp.ones((4, 8))


class Tables:
    @staticmethod
    @functools.cache
    def row():
        return jnp.ones((8,))
"""
USES = """\
from jaxtyping import Array, Float
from pkg.tables import Tables, table


def {name}(x: Float[Array, "n 4"]):
    y = x @ table()  # (n, 8)
    z = y + Tables.row()  # (n, 8)
    return z
"""


@pytest.mark.parametrize("old", ["(4, 8)", "(8,)"])
def test_what_functions_remember_of_themselves_is_not_taken_for_what_they_give_now(old: str, project: Path) -> None:
    (project / "pkg" / "tables.py").write_text(TABLES)
    for name in ("first", "second"):
        (project / "pkg" / f"{name}.py").write_text(USES.format(name=name))
    assert not run().findings
    edit(project, [("pkg/tables.py", old, old.replace("8", "7"))])
    found = run()
    assert {finding.path for finding in found.findings} == {"pkg/first.py", "pkg/second.py"}
    assert told(found) == told(run(cache=False))


ALIASES = """\
from jaxtyping import Array, Float

Act = Float[Array, "n 4"]
"""
ALIASED = """\
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from pkg.aliases import Act


def doubled(x: Float[Array, "n 4"]) -> "Act":
    y: "Act" = 2 * x
    return y
"""


def test_an_edit_of_an_alias_shows_in_the_files_that_use_it(project: Path) -> None:
    (project / "pkg" / "aliases.py").write_text(ALIASES)
    (project / "pkg" / "uses.py").write_text(ALIASED)
    assert not run().findings
    assert not run().findings
    edit(project, [("pkg/aliases.py", "n 4", "4 n")])
    found = run()
    assert {(finding.path, finding.code) for finding in found.findings} == {
        ("pkg/uses.py", "SC203"),
        ("pkg/uses.py", "SC204"),
    }
    assert told(found) == told(run(cache=False)) == told(run())


def cut_after(monkeypatch: pytest.MonkeyPatch, tasks: int, error: type[BaseException] | None = None) -> None:
    """Let the time of the run be over, or the run be interrupted, after so many entries were begun."""
    take, begun, skew = entry_phase.EntryPhase.take, [0], [0.0 if tasks else 1e6]

    def take_few(self: entry_phase.EntryPhase) -> int | None:
        begun[0] += 1
        if begun[0] > tasks:
            skew[0] = 1e6
            if error is not None:
                raise error
        return take(self)

    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + skew[0])
    monkeypatch.setattr(entry_phase, "time", clock)
    monkeypatch.setattr(entry_phase.EntryPhase, "take", take_few)


def verified(report: Report) -> set[tuple[str, int]]:
    return {(claim.path, claim.line) for claim in report.verified}


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_run_that_was_cut_goes_on_where_it_stopped(
    project: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    whole = run(cache=False, tests=(), jobs=1)
    with monkeypatch.context() as patch:
        cut_after(patch, 3, error)
        if error is None:
            first = run(tests=(), jobs=1)
            assert first.cut
            assert set() < verified(first) < verified(whole)
        else:
            with pytest.raises(error):
                run(tests=(), jobs=1)
    with monkeypatch.context() as patch:
        cut_after(patch, 0)  # no time even to import anything
        second = run(tests=(), jobs=1)
        assert verified(second)
        assert error is not None or verified(second) >= verified(first)
    with monkeypatch.context() as patch:
        cut_after(patch, 1)
        third = run(tests=(), jobs=1)
        assert verified(third) > verified(second)
    again = run(tests=(), jobs=1)
    assert told(again) == told(whole)
    # What was verified stays so only until a file changes that it ran through.
    for file in project.rglob("pkg/*.py"):
        file.write_text(file.read_text().replace("x @ w", "(x @ w).T"))
    with monkeypatch.context() as patch:
        cut_after(patch, 0)
        assert verified(run(tests=(), jobs=1)) < verified(again)


def test_another_budget_is_no_other_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        cut_after(patch, 3)
        first = run(tests=(), jobs=1, budget=50.0)
        assert verified(first)
    with monkeypatch.context() as patch:
        cut_after(patch, 0)
        assert verified(run(tests=(), jobs=1, budget=70.0)) == verified(first)
