"""What a task of a cluster does, on a machine that has the project somewhere else, or not at all."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands.check_inputs import read_inputs
from shapecheck.commands.checked_project import plan_inputs
from shapecheck.config import load as load_config
from shapecheck.files.path_marks import PathMarks
from shapecheck.files.project_archive import hashes_of, pack_project
from shapecheck.worker.cluster_process import PROJECT, SCRATCH, ProcessKeeper, RemoteProject, state_of
from shapecheck.worker.messages.entry_messages import EntryList, EvaluateEntry, ImportModule, ListEntries
from shapecheck.worker.messages.plans import WorkerSettings
from shapecheck.worker.messages.protocol import Answer, RequestFor, Startup, TimedRequest
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.worker_client import Worker

SOURCE = """\
import os

from jaxtyping import Array, Float


def scale(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return x  # (n,)


def leave(x: Float[Array, "n"]) -> Float[Array, "n"]:
    os._exit(3)
    return x


def late(x: Float[Array, "n"]) -> Float[Array, "n"]:
    import pkg.late

    return x + pkg.late.ONE
"""
MARKS = {PROJECT: "<project>", SCRATCH: "<scratch>"}


class Asker:
    """One side of the wire: it knows the project at `folder`, the keeper does not."""

    def __init__(self, folder: Path, keeper: ProcessKeeper) -> None:
        self.keeper = keeper
        self.marks = PathMarks({"<project>": str(folder)})
        self.history: tuple[str, ...] = (json.dumps({"python": sys.executable, "culprits": {}}),)

    def ask(self, request: RequestFor[Any], *, lasting: bool = False, told: bool = True) -> dict[str, Any]:
        text = self.marks.to_marks(dump(TimedRequest(request=request, limit=30.0))) or ""
        history = self.history if told else ()
        outcome = json.loads(self.keeper.answer(state_of(self.history), history, text, lasting=lasting))
        if lasting:
            self.history = (*self.history, text)
        return dict(outcome)

    def entry(self, name: str, *, told: bool = True) -> dict[str, Any]:
        return self.ask(EvaluateEntry(key=f"function:pkg/a.py:{name}", seconds=20.0), told=told)


@pytest.fixture
def asker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asker]:
    here = tmp_path / "here"
    (here / "pkg").mkdir(parents=True)
    (here / "pkg" / "__init__.py").write_text("")
    (here / "pkg" / "a.py").write_text(SOURCE)
    (here / "pkg" / "late.py").write_text("ONE = 1\n")
    (here / "pyproject.toml").write_text("[tool.shapecheck]\n")
    monkeypatch.chdir(here)
    config = load_config([Path("pkg")], flags={"cache": False})
    plans = tuple(plan_inputs(read_inputs([Path("pkg")], config), config, None).plans.values())
    folder = os.path.realpath(here)
    marks = PathMarks({"<project>": folder})
    project = RemoteProject(
        marks=MARKS,
        folder=folder,
        hashes=hashes_of(iter(plan.file for plan in plans), folder),
        startup=marks.to_marks(dump(Startup(plans=plans, settings=WorkerSettings(), culprits={}))) or "",
        surroundings='["<project>", {}]',
        archive=pack_project(folder),
    )
    here.rename(tmp_path / "gone")  # what is here is not there
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    keeper = ProcessKeeper(project, str(tmp_path / "there"), "tcp://there")
    yield Asker(Path(folder), keeper)
    keeper.close()
    left = [each.name for each in (tmp_path / "there").iterdir()]
    assert all(name.startswith("shapecheck-project-") for name in left), "no process leaves its scratch folder"


def test_a_task_needs_nothing_but_its_history(asker: Asker) -> None:
    asker.ask(ImportModule(path="pkg/a.py"), lasting=True)
    listed = load(asker.ask(ListEntries(), lasting=True)["answer"])
    assert isinstance(listed, Answer)
    assert isinstance(listed.reply, EntryList)
    assert {entry.target for entry in listed.reply.entries} == {"pkg.a:scale", "pkg.a:leave", "pkg.a:late"}
    first = asker.entry("scale")
    assert str(asker.marks.to_folders("<project>")) not in json.dumps(first), "paths are those of whoever asks"
    assert '"ok"' in first["answer"]
    ended = asker.entry("leave")
    assert ended["ended"]["reason"] == "ended the process with exit status 3"
    assert ended["preparing"] is False
    again = asker.entry("scale")  # by another process, which was prepared anew
    assert again["answer"] == first["answer"]
    assert "pkg/a.py" in again["files"]


def test_a_history_is_known_by_name_once_it_was_told(asker: Asker) -> None:
    asker.ask(ImportModule(path="pkg/a.py"), lasting=True)
    asker.ask(ListEntries(), lasting=True)
    assert asker.entry("scale", told=False) == {"unknown": True}
    assert "answer" in asker.entry("scale")
    assert "answer" in asker.entry("scale", told=False)


def test_imported_files_are_said_when_there_are_new_ones(asker: Asker) -> None:
    asker.ask(ImportModule(path="pkg/a.py"), lasting=True)
    asker.ask(ListEntries(), lasting=True)
    asker.entry("scale")
    assert asker.entry("scale")["files"] == ""
    assert "pkg/late.py" in asker.entry("late")["files"]
    assert asker.entry("late")["files"] == ""


def test_the_seconds_of_a_task_are_those_of_its_request_alone(asker: Asker) -> None:
    asker.ask(ImportModule(path="pkg/a.py"), lasting=True)
    asker.ask(ListEntries(), lasting=True)
    assert "ended" in asker.entry("leave")
    began = time.monotonic()
    first = asker.entry("scale")  # by a process that is started for it
    assert 0 < first["seconds"] < (time.monotonic() - began) / 2


def test_what_is_prepared_once_is_not_prepared_again(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    asker.ask(ImportModule(path="pkg/a.py"), lasting=True)
    asker.ask(ListEntries(), lasting=True)
    assert "ended" in asker.entry("leave")  # so that the next one comes to a process without any history
    asked: list[str] = []
    ask = Worker.ask

    def note(self: Worker, request: Any, limit: float) -> Any:
        asked.append(type(request).__name__)
        return ask(self, request, limit)

    monkeypatch.setattr(Worker, "ask", note)
    asker.entry("scale")
    asker.entry("scale")
    assert [name for name in asked if name != "ListFiles"] == [
        "ImportModule",
        "ListEntries",
        "EvaluateEntry",
        "EvaluateEntry",
    ]
