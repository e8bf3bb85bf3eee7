"""The worker outlives whatever user code does: each disaster is that module's own, and the rest is still checked."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from shapecheck.model import Scope
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.messages import wire
from shapecheck.worker.messages.entry_messages import ImportModule, ListEntries
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings
from shapecheck.worker.messages.protocol import Startup, TimedRequest
from shapecheck.worker.messages.suite_messages import EndTests
from shapecheck.worker.spawn import spawn_process
from shapecheck.worker.supervisor import Limits, RunResult, Supervisor
from shapecheck.worker.worker_client import Worker, WorkerError

pytestmark = pytest.mark.usefixtures("spawned_workers")

MODULE = (Scope(index=0, kind="module", qualname="<module>", parent=None, position=None),)


def plan(file: Path, root: Path, name: str | None = None) -> ModulePlan:
    dotted = name or ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    return ModulePlan(
        file=str(file.resolve()), path=file.name, root=str(root.resolve()), name=dotted, scopes=MODULE, sites=()
    )


def startup(settings: WorkerSettings | None = None, *plans: ModulePlan) -> Startup:
    return Startup(plans=plans, settings=settings or WorkerSettings(), culprits={})


def run(folder: Path, files: dict[str, str], *, timeout: float = 20, memory: float = 8) -> RunResult:
    plans = []
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        plans.append(plan(file, folder))
    wanted = [p.path for p in plans]
    settings = WorkerSettings(memory=memory)
    return Supervisor(plans, wanted, settings, limits=Limits(timeout), cwd=folder).run([sys.executable])


def troubles(result: RunResult) -> dict[str, tuple[str, str]]:
    return {t.path: (t.code, t.reason) for t in result.troubles}


def test_disasters_at_import_are_their_modules_own(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "a_exit.py": "import os\nos._exit(7)\n",
            "b_segfault.py": "import ctypes\nctypes.string_at(0)\n",
            "c_system_exit.py": "raise SystemExit(3)\n",
            "d_raises.py": "import nowhere_to_be_found\n",
            "e_syntax.py": "def f(:\n",
            "f_imports_a.py": "x = 1\nimport a_exit\n",
            "g_fine.py": "import jax.numpy as jnp\n",
            "h_interrupts.py": "raise KeyboardInterrupt('from the module')\n",
            "i_closes.py": "import sys\nsys.stdout.close()\nsys.stdout = None\n",
            "j_prints.py": "print('still there')\n",
            "v1.2.py": "NAME = 'no name to import'\n",
        },
    )
    found = troubles(result)
    assert set(found) == {
        "a_exit.py",
        "b_segfault.py",
        "c_system_exit.py",
        "d_raises.py",
        "e_syntax.py",
        "f_imports_a.py",
        "h_interrupts.py",
    }
    assert found["a_exit.py"] == ("SC304", "ended the process with exit status 7")
    assert found["b_segfault.py"] == ("SC304", "ended the process with a segmentation fault")
    assert found["c_system_exit.py"] == (
        "SC303",
        'SystemExit: 3 (guard what shall not run on import with `if __name__ == "__main__":`)',
    )
    assert found["d_raises.py"] == ("SC303", "it is not installed; what needs it was not evaluated")
    assert found["e_syntax.py"][0] == "SC303"
    assert found["h_interrupts.py"] == ("SC303", "KeyboardInterrupt: from the module")
    # the module that imports the culprit is told so, and the worker does not die a second time
    assert found["f_imports_a.py"] == ("SC303", "CulpritImportError: a_exit ended the process with exit status 7")


def test_an_endless_loop_ends_at_the_time_limit_even_if_it_swallows_exceptions(tmp_path: Path) -> None:
    stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass\n"
    start = time.monotonic()
    result = run(tmp_path, {"loop.py": "while True: pass\n", "stubborn.py": stubborn, "fine.py": ""}, timeout=2)
    assert {path: code for path, (code, _) in troubles(result).items()} == {"loop.py": "SC304", "stubborn.py": "SC304"}
    assert all("longer than 2 s (--timeout)" in reason for _, reason in troubles(result).values())
    assert time.monotonic() - start < 60


def test_memory_beyond_the_limit_fails_inside_the_worker(tmp_path: Path) -> None:
    result = run(tmp_path, {"hungry.py": "x = bytearray(6 * 2**30)\n", "fine.py": ""}, memory=3)
    assert troubles(result) == {"hungry.py": ("SC303", "MemoryError (--memory sets the limit)")}


def test_output_input_and_working_directory_do_not_disturb(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    noisy = (
        "import os, sys\nprint('x' * 100_000)\nos.write(1, b'{\"result\": 1}\\n')\nsys.stderr.write('no newline')\n"
        "assert sys.stdin.read() == ''\nos.chdir('elsewhere')\n"
    )
    result = run(tmp_path, {"noisy.py": noisy, "later.py": "import os\nassert os.path.exists('elsewhere')\n"})
    assert troubles(result) == {}


def test_modules_are_imported_once_and_under_the_users_names(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "REGISTRY = []\n",
        "pkg/a.py": "from . import REGISTRY\nfrom .sub import b\nassert 'a' not in REGISTRY\nREGISTRY.append('a')\n",
        "pkg/sub/b.py": "from pkg import REGISTRY\nassert 'b' not in REGISTRY\nREGISTRY.append('b')\nimport pkg.a\n",
        "pkg/check.py": "from . import REGISTRY, a\nassert REGISTRY == ['b', 'a'], REGISTRY\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    plans = [
        ModulePlan(
            file=str(tmp_path / n),
            path=n,
            root=str(tmp_path),
            name=n[:-3].replace("/", ".").removesuffix(".__init__"),
            scopes=MODULE,
            sites=(),
        )
        for n in files
    ]
    settings = WorkerSettings(memory=8)
    supervisor = Supervisor(plans, list(files), settings, limits=Limits(20), cwd=tmp_path)
    assert supervisor.run([sys.executable]).troubles == []


def test_two_modules_of_one_name_in_different_folders(tmp_path: Path) -> None:
    plans = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper.py").write_text(f"WHERE = '{folder}'\n")
        (tmp_path / folder / "model.py").write_text(f"import helper\nassert helper.WHERE == '{folder}', helper.WHERE\n")
        for name in ("model", "helper"):
            file = tmp_path / folder / f"{name}.py"
            plans.append(
                ModulePlan(
                    file=str(file),
                    path=f"{folder}/{name}.py",
                    root=str(file.parent),
                    name=name,
                    scopes=MODULE,
                    sites=(),
                )
            )
    settings = WorkerSettings(memory=8)
    supervisor = Supervisor(plans, [p.path for p in plans], settings, limits=Limits(20), cwd=tmp_path)
    assert supervisor.run([sys.executable]).troubles == []


def test_a_checkout_that_has_the_name_of_its_package_does_not_stand_for_it(tmp_path: Path) -> None:
    checkout = tmp_path / "net"
    files = {"examples/demo.py": "from net import core\n", "net/__init__.py": "", "net/core.py": "import net.core\n"}
    plans = []
    for name, text in files.items():
        file = checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        root = file.parent if name.startswith("examples") else checkout
        plans.append(plan(file, root))
    settings = WorkerSettings(memory=8)
    supervisor = Supervisor(plans, [p.path for p in plans], settings, limits=Limits(20), cwd=tmp_path)
    assert supervisor.run([sys.executable]).troubles == []


def runs(command: str) -> bool:
    """Whether a process runs that has this among its arguments."""
    done = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True)
    return any(line.startswith("sh") and command in line for line in done.stdout.splitlines())


@pytest.mark.parametrize("forked", [False, True])
def test_nothing_is_left_behind(forked: bool, tmp_path: Path) -> None:
    loop = f"while true; do sleep 0.05; done # {tmp_path}"
    file = tmp_path / "fork.py"
    file.write_text(f"import subprocess\nCHILD = subprocess.Popen(['sh', '-c', {loop!r}])\n")
    settings = WorkerSettings(memory=8)
    with ForkServers() as stems:
        start = stems.start if forked else spawn_process
        with Worker(sys.executable, startup(settings, plan(file, tmp_path)), cwd=tmp_path, start=start) as worker:
            worker.ask(ImportModule(path="fork.py"), 20)
            assert runs(loop)
    time.sleep(0.5)
    assert not runs(loop)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fork.py"]


def test_a_request_that_the_worker_does_not_know_is_an_error_that_names_it(tmp_path: Path) -> None:
    worker = Worker(sys.executable, startup(), cwd=tmp_path)
    with worker, pytest.raises(RuntimeError, match="no worker answers EndTests"):
        worker.ask(EndTests(), 20)
    later = wire.dump(TimedRequest(request=EndTests(), limit=20)).replace("EndTests", "Foresee")
    with Worker(sys.executable, startup(), cwd=tmp_path) as worker:
        worker._stdin.write(later.encode() + b"\n")
        worker._stdin.flush()
        with pytest.raises(RuntimeError, match="Foresee is no message of this version"):
            worker._receive(20)


def test_an_interpreter_that_cannot_serve_is_refused_in_words(tmp_path: Path) -> None:
    settings = WorkerSettings(memory=8)
    with pytest.raises(WorkerError, match=r"cannot start .*--python"):
        Worker(str(tmp_path / "no-python"), startup(settings), cwd=tmp_path)
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$3"\n')
    bare.chmod(0o755)
    with pytest.raises(WorkerError, match="JAX cannot be imported"):
        Worker(str(bare), startup(settings), cwd=tmp_path)


def test_where_a_worker_cannot_be_forked_it_is_started_by_itself(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ -z "$4" ] || exit 1\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    settings = WorkerSettings()
    with ForkServers() as stems, Worker(str(python), startup(settings), cwd=tmp_path, start=stems.start) as worker:
        assert worker.ask(ListEntries(), 20).entries == ()
    with pytest.raises(WorkerError, match=r"cannot start .*no-python: No such file"), ForkServers() as stems:
        Worker(str(tmp_path / "no-python"), startup(settings), cwd=tmp_path, start=stems.start)
