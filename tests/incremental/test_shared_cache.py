"""A cache that several machines use: projects at other places find what holds for them, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.portable_paths import ProjectPlace, SharedStore
from shapecheck.report import FORMATS
from shapecheck.worker import supervisor


class WorkerStartedError(Exception):
    """A run that ought to find everything has begun to evaluate."""


def test_a_project_at_another_place_takes_over_what_holds(
    project: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(folder: Path) -> str:
        monkeypatch.chdir(folder)
        config = load([Path("pkg")], flags={"cache_dir": tmp_path / "shared", "jobs": 1})
        return FORMATS["json"](check([Path("pkg")], config))

    def no_worker(*_: object, **__: object) -> None:
        raise WorkerStartedError

    here, there = project(tmp_path / "a" / "one"), project(tmp_path / "b" / "another place")
    first = run(here)
    assert '"SC201"' in first
    assert not (here / ".shapecheck_cache").exists()
    (here / "pkg" / "layers.py").write_text("broken(")  # whatever happens there is of no matter
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "Worker", no_worker)
        assert run(there) == first
        edited = there / "pkg" / "layers.py"
        edited.write_text(edited.read_text().replace("x.T  # (batch, d)", "x.T  # (d, batch)"))
        with pytest.raises(WorkerStartedError):
            run(there)
    again = run(there)
    assert '"SC201"' not in again


def test_what_was_tampered_with_is_a_miss(tmp_path: Path) -> None:
    store = SharedStore(Store(tmp_path / "shared"), ProjectPlace(tmp_path))
    store.put("slot", f'"{tmp_path}/x"')
    (file,) = (tmp_path / "shared").glob("*.shapecheck")
    data = file.read_bytes()
    for forged in (data.replace(b"/x", b"/y"), data[:-1], b"", data.replace(b"text", b"zlib")):
        file.write_bytes(forged)
        assert store.get("slot") is None
    other = file.with_name(f"{'0' * 64}.shapecheck")
    other.write_bytes(data)
    file.write_bytes(data)
    assert store.get("slot") == f'"{tmp_path}/x"'


def test_only_who_has_the_key_takes_over_what_was_written_with_it(
    project: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(key: str) -> str:
        monkeypatch.setenv("SHAPECHECK_CACHE_KEY", key)
        config = load([Path("pkg")], flags={"cache_dir": tmp_path / "shared", "jobs": 1})
        return FORMATS["json"](check([Path("pkg")], config))

    def no_worker(*_: object, **__: object) -> None:
        raise WorkerStartedError

    monkeypatch.chdir(project(tmp_path / "project"))
    first = run("secret")
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "Worker", no_worker)
        assert run("secret") == first
        for other in ("guess", ""):
            with pytest.raises(WorkerStartedError):
                run(other)


def test_a_text_that_holds_the_mark_itself_is_not_kept(tmp_path: Path) -> None:
    store = SharedStore(Store(tmp_path / "shared"), ProjectPlace(tmp_path))
    store.put("slot", "<the project of shapecheck>/x")
    assert store.get("slot") is None
    assert store.put_first("slot", "<the project of shapecheck>/x") == "<the project of shapecheck>/x"


WRITER = """
import sys
from pathlib import Path
from shapecheck.incremental.cache_store import Store

store, me = Store(Path(sys.argv[1])), sys.argv[2]
sys.stdin.read()  # all begin at once
print(store.put_first("split", me))
for turn in range(200):
    store.put(f"slot {turn % 7}", f"{turn % 7} " + me * 5000)
    found = store.get(f"slot {turn % 7}")
    assert found is not None and found.startswith(f"{turn % 7} "), found
    assert len(set(found[2:])) == 1 and len(found) == 5002
"""


def test_many_writers_never_read_half_of_a_text_and_agree_on_who_was_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "shared")]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abcd"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
        writer.stdin = None
    answers = [writer.communicate(timeout=120)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert len(set(answers)) == 1
    assert answers[0].strip() in "abcd"


def test_runs_at_two_places_at_once_leave_what_a_third_finds(
    project: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, form = tmp_path / "shared", ["--output-format", "json", "--jobs", "1", "-q"]
    runs = []
    for name in ("a/one", "b/another place"):
        command = [sys.executable, "-m", "shapecheck", "check", "pkg", "--cache-dir", str(shared), *form]
        runs.append(subprocess.Popen(command, cwd=project(tmp_path / name), stdout=subprocess.PIPE, text=True))
    outputs = [run.communicate(timeout=300)[0] for run in runs]
    assert outputs[0] == outputs[1]
    assert '"SC201"' in outputs[0]

    def no_worker(*_: object, **__: object) -> None:
        raise WorkerStartedError

    monkeypatch.chdir(project(tmp_path / "c"))
    monkeypatch.setattr(supervisor, "Worker", no_worker)
    config = load([Path("pkg")], flags={"cache_dir": shared, "jobs": 1})
    assert FORMATS["json"](check([Path("pkg")], config)).strip() == outputs[0].strip()


def test_the_first_text_stays_and_a_damaged_one_does_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "shared")
    assert store.put_first("slot", "one") == "one"
    assert store.put_first("slot", "two") == "one"
    (file,) = (tmp_path / "shared").glob("*.shapecheck")
    file.write_bytes(b"damaged")
    assert store.put_first("slot", "three") == "three"
    assert store.get("slot") == "three"
