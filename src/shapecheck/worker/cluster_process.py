"""What a task of a cluster does: it has a worker process beside it answer one request.

A process is told from another by its history: what it was asked so far that lasts (imports, the collection of tests). A
task takes one that has the history it needs, or the longest part of it, or starts one; and what is missing is asked
again. So any machine can take any task, and a task that was lost can be done again elsewhere.

All that comes and goes is text: JSON, with marks in the place of folders.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shapecheck.files.path_marks import PathMarks
from shapecheck.files.project_archive import has_files, unpack_project
from shapecheck.worker.messages.entry_messages import ListFiles
from shapecheck.worker.messages.protocol import Answer, TimedRequest
from shapecheck.worker.messages.suite_messages import EndTests
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.spawn import spawn_process
from shapecheck.worker.worker_client import RequestTimeoutError, Worker, WorkerEndedError, WorkerError

PROJECT, SCRATCH = "project", "scratch"
"""The folders that lie elsewhere on each machine."""

_UNUSED = 300.0  # seconds after which a process goes that no task has used: who asked for it may be gone
_ENDING = 10.0  # seconds for the fixtures of a whole session to end
_BRIEF = 30.0  # seconds for what takes no time


@dataclass(frozen=True, kw_only=True)
class RemoteProject:
    """A run's project, as all machines know it.

    `marks` are those of its folders; `folder` is where it lies for whoever asks, with files of these `hashes`; where
    that is not so, the `archive` is unpacked. `startup` is the opening message; `surroundings` are the working
    directory and variables of the environment, as JSON.
    """

    marks: Mapping[str, str]
    folder: str
    hashes: Mapping[str, str]
    startup: str
    surroundings: str
    archive: bytes = b""


@dataclass(kw_only=True)
class _KeptProcess:
    worker: Worker
    marks: PathMarks
    scratch: str
    history: tuple[str, ...]
    files_state: int = 0  # in which it last said what it has imported
    bugs: list[str] = field(default_factory=list)
    used: float = 0.0

    def close(self) -> None:
        self.worker.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


class ProcessKeeper:
    """The processes of one run on one machine, as many as it does tasks at a time, `without` these variables."""

    def __init__(self, project: RemoteProject, parent: str, address: str, without: Container[str] = ()) -> None:
        self._project, self._parent, self._address, self._without = project, parent, address, without
        self._lock = threading.Lock()
        self._idle: list[_KeptProcess] = []
        self._busy: list[_KeptProcess] = []
        self._histories: dict[str, tuple[str, ...]] = {}
        self._folder = ""
        self._closed = threading.Event()
        threading.Thread(target=self._end_unused, daemon=True).start()

    def answer(self, state: str, history: Sequence[str], request: str, *, lasting: bool) -> str:
        """The answer of a process with this history, which others may know by the name of its `state`.

        What is `lasting` becomes part of the history of the process.
        """
        with self._lock:
            if history:
                self._histories[state] = tuple(history)
            wanted = self._histories.get(state)
        if wanted is None:
            return json.dumps({"unknown": True})
        try:
            process = self._take(wanted)
        except WorkerError as error:
            return json.dumps({"unusable": str(error)})
        except WorkerEndedError as error:
            return json.dumps({"ended": _describe_end(error), "preparing": True})
        outcome = self._outcome(process, wanted, request)
        beside = {"bugs": process.bugs, "complaint": process.worker.complaint(), "at": self._address}
        text = process.marks.with_marks(json.dumps({**outcome, **beside}))
        if "ended" in outcome:
            self._drop(process)
        else:
            if lasting:
                process.history = (*wanted, request)
            process.bugs.clear()
            self._put_back(process)
        return text

    def end_processes(self) -> None:
        """End all that no task uses, after what their tests want to put away."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            if any("CollectTests" in text for text in process.history):
                with contextlib.suppress(WorkerEndedError, RequestTimeoutError, RuntimeError):
                    process.worker.ask(EndTests(), _ENDING)
            process.close()

    def close(self) -> None:
        """End all processes."""
        self._closed.set()
        with self._lock:
            processes, self._idle, self._busy = [*self._idle, *self._busy], [], []
        for process in processes:
            process.close()

    def _outcome(self, process: _KeptProcess, history: Sequence[str], text: str) -> dict[str, object]:
        """What becomes of a request, once the process has the history."""
        preparing = True
        try:
            for missing in history[len(process.history) :]:
                with contextlib.suppress(RequestTimeoutError):  # as it was the first time
                    self._ask(process, missing)
                process.history = (*process.history, missing)
            preparing = False
            answer = process.marks.with_marks(dump(Answer(reply=self._ask(process, text))))
            seconds = process.worker.seconds  # alone, without those that it took to get so far
            return {"answer": answer, "seconds": seconds, "files": self._new_files(process)}
        except RequestTimeoutError as error:
            stopped = [error.reason, list(error.touched), error.executing]
            return {"timed_out": stopped, "seconds": process.worker.seconds}
        except WorkerEndedError as error:
            return {"ended": _describe_end(error), "seconds": process.worker.seconds, "preparing": preparing}

    @staticmethod
    def _ask(process: _KeptProcess, text: str) -> object:
        timed = load(process.marks.to_folders(text))
        if not isinstance(timed, TimedRequest):
            raise TypeError(f"no request: {text}")
        request: Any = timed.request
        return process.worker.ask(request, timed.limit)

    @staticmethod
    def _new_files(process: _KeptProcess) -> str:
        """The files that it has imported, if these are others than were handed on before."""
        files = process.worker.ask(ListFiles(known=process.files_state), _BRIEF)
        known, process.files_state = process.files_state, files.state
        return "" if files.state == known else process.marks.with_marks(dump(files))

    def _take(self, history: tuple[str, ...]) -> _KeptProcess:
        """A process whose history is the longest beginning of this one."""
        with self._lock:
            fitting = [each for each in self._idle if each.history == history[: len(each.history)]]
            if fitting:
                process = max(fitting, key=lambda each: len(each.history))
                self._idle.remove(process)
                self._busy.append(process)
                return process
            useless, self._idle = self._idle, []  # of an attempt that was given up, or of another part of the run
        for process in useless:
            process.close()
        process = self._start(history[0])
        with self._lock:
            self._busy.append(process)
        return process

    def _start(self, opening: str) -> _KeptProcess:
        project = self._project
        with self._lock:
            self._folder = self._folder or self._find_project()
        scratch = tempfile.mkdtemp(prefix="shapecheck-scratch-", dir=self._parent)
        marks = PathMarks({project.marks[PROJECT]: self._folder, project.marks[SCRATCH]: scratch})
        asked = json.loads(marks.to_folders(opening))
        startup = marks.to_folders(project.startup)
        if asked["culprits"]:
            startup = dump(dataclasses.replace(load(startup), culprits=asked["culprits"]))
        python = asked["python"] if os.path.exists(asked["python"]) else sys.executable
        cwd, variables = json.loads(marks.to_folders(project.surroundings))
        bugs: list[str] = []
        try:
            worker = Worker(
                python,
                startup,
                cwd=Path(cwd),
                start=partial(spawn_process, variables=variables, without=self._without),
                on_bug=bugs.append,
            )
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        return _KeptProcess(worker=worker, marks=marks, scratch=scratch, history=(opening,), bugs=bugs)

    def _find_project(self) -> str:
        project = self._project
        if has_files(project.folder, project.hashes):
            return project.folder
        if project.archive:
            return unpack_project(project.archive, self._parent)
        raise WorkerError(f"a worker of the cluster has other files in {project.folder} than this machine")

    def _put_back(self, process: _KeptProcess) -> None:
        process.used = time.monotonic()
        with self._lock:
            if process in self._busy:
                self._busy.remove(process)
                self._idle.append(process)
                return
        process.close()

    def _drop(self, process: _KeptProcess) -> None:
        with self._lock:
            if process in self._busy:
                self._busy.remove(process)
        process.close()

    def _end_unused(self) -> None:
        while not self._closed.wait(_UNUSED / 10):
            now = time.monotonic()
            with self._lock:
                unused = [each for each in self._idle if now - each.used > _UNUSED]
                self._idle = [each for each in self._idle if each not in unused]
            for process in unused:
                process.close()


def state_of(history: Sequence[str]) -> str:
    """A name for a history."""
    return hashlib.sha256("\n".join(history).encode("utf-8", "surrogatepass")).hexdigest()


def _describe_end(error: WorkerEndedError) -> dict[str, object]:
    return {"reason": error.reason, "executing": error.executing, "tail": error.tail, "repeats": error.repeats}
