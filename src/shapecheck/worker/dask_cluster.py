"""Workers of a Dask cluster as workers of a run: what is asked of a worker process is a task, which Dask places.

What a phase asks to get a worker ready is done once, by tasks one after the other; the history of these requests is
what all other tasks of the phase need of a process, wherever they are done. Dask does a task again whose worker is
lost.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from shapecheck.files.path_marks import PathMarks
from shapecheck.files.project_archive import ArchiveError, has_files, hashes_of, pack_project
from shapecheck.worker.cluster_process import PROJECT, SCRATCH, RemoteProject, state_of
from shapecheck.worker.messages.entry_messages import AskImportEffects, ImportedFiles, ListFiles
from shapecheck.worker.messages.protocol import Answer, Reply, RequestFor, Startup, TimedRequest
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.pool import Phase
from shapecheck.worker.supervisor import ClusterRun
from shapecheck.worker.worker_client import RequestTimeoutError, WorkerEndedError, WorkerError, WorkerHandle

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

_INSTALL = "Install Dask here and where the cluster's workers run: pip install 'jax-shapecheck[dask]'"
_CONNECTING = 20.0  # seconds
_NO_WORKERS = 60.0  # seconds that a cluster may be without any worker
_ENDING = 5.0  # seconds that a process may take that has lost the one that started it
_GLANCE = 1.0
_BOUNCES = 5  # workers that may not know a history, one after the other
_AHEAD = 2  # tasks for each place: one that is under way, and one that waits there for its end
_UNWATCHED = {  # what Dask's workers do all the time for a dashboard that nobody sees: 3 % of a core each
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}

Outcome = dict[str, Any]
"""What became of a task, as its JSON has it."""

_Task = TypeVar("_Task")


class DaskCluster:
    """The cluster at an address: `dask://host:8786`, or `dask://local:4` for one that lasts as long as this object.

    `variables` of the environment are those here that results depend on. Use as a context manager.
    """

    def __init__(self, address: str, variables: Mapping[str, str], run: ClusterRun) -> None:
        self.conduct = run.conduct
        self._name = f"shapecheck-{uuid.uuid4().hex}"
        self._numbers = itertools.count()
        self._usable: set[str] = set()
        self._manned = time.monotonic()  # when there was a worker last
        self._endings = contextlib.ExitStack()
        cwd = os.path.realpath(run.cwd)
        folder = os.path.commonpath([cwd, *(plan.root for plan in run.plans)])
        names = {PROJECT: f"<project {self._name}>", SCRATCH: f"<scratch {self._name}>"}
        self.marks = PathMarks({names[PROJECT]: folder, **({names[SCRATCH]: run.scratch} if run.scratch else {})})
        try:
            self._client = self._connect(address)
            files = itertools.chain((plan.file for plan in run.plans), _python_files(run.tests))
            hashes = hashes_of(files, folder)
            self._project = RemoteProject(
                marks=names,
                folder=folder,
                hashes=hashes,
                startup=self.marks.with_marks(
                    dump(Startup(plans=tuple(run.plans), settings=run.settings, culprits={}, confined=True))
                ),
                surroundings=self.marks.with_marks(json.dumps([cwd, dict(variables)])),
                archive=b"" if self._see(folder, hashes) else pack_project(folder),
            )
            self._register()
        except ArchiveError as error:
            self.close()
            raise WorkerError(str(error)) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def places(self) -> int:
        """How many tasks to give to the cluster at a time: no place waits for the way to it and back."""
        threads: Mapping[str, int] = self._client.nthreads()
        return _AHEAD * max(1, sum(threads.values()))

    def open_worker(self, python: str, culprits: Mapping[str, str]) -> WorkerHandle:
        """Something to ask as if it were one worker. Raises WorkerError if there is no such interpreter."""
        opening = self.marks.with_marks(json.dumps({"python": python, "culprits": dict(culprits)}))
        handle = _RemoteWorker(self, (opening,))
        if opening not in self._usable:  # whoever comes later finds processes that know more than to begin
            handle.ask(ListFiles(), self.conduct.timeout)
            self._usable.add(opening)
        return handle

    def share(self, phase: Phase[_Task]) -> Phase[_Task]:
        """The phase, for workers that need no preparation once one had it."""
        return _SharedPreparation(phase)

    def end_phase(self) -> None:
        """End the processes of a phase that is over."""
        from shapecheck.worker.dask_plugin import end_processes  # noqa: PLC0415  # needs Dask

        with contextlib.suppress(Exception):  # of a worker that is lost meanwhile: its processes end with it
            self._client.run(end_processes, self._name, on_error="ignore")

    def close(self) -> None:
        """End all that was started for the run."""
        self._endings.close()

    def answer(
        self,
        state: str,
        history: tuple[str, ...],
        request: str,
        is_closed: Callable[[], bool],
        *,
        lasting: bool,
        near: str = "",
    ) -> Outcome:
        """What becomes of a task that has a request answered, `near` where the last one was, if that is so."""
        from shapecheck.worker.dask_plugin import MOST_ATTEMPTS, attempts_at, run_request  # noqa: PLC0415  # needs Dask

        task = f"{self._name}-{next(self._numbers)}"
        where = {"workers": [near], "allow_other_workers": True} if near else {}
        while True:
            key = f"{self._name}-{next(self._numbers)}"
            future = self._client.submit(
                run_request, self._name, task, state, history, request, lasting, key=key, pure=False, **where
            )
            outcome = self._wait(future, is_closed)
            if outcome is not None:
                return outcome
            # Dask gives up what was on several workers that ended, even if it only waited there.
            begun = self._client.get_metadata(attempts_at(self._name, task), 0)
            if begun >= MOST_ATTEMPTS:
                return {"killed": begun}

    def _wait(self, future: Future, is_closed: Callable[[], bool]) -> Outcome | None:
        """The outcome of a task; None if Dask has given it up."""
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415

        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_GLANCE):
            if is_closed():
                future.cancel()
                raise WorkerEndedError("was no longer wanted", "", "", repeats=False)
            if self._is_deserted():
                future.cancel()
                raise WorkerError(f"the cluster has had no worker for {_NO_WORKERS:g} s: start some, and try again")
        try:
            text = future.result()
        except KilledWorker:
            return None
        except CancelledError as error:
            raise WorkerEndedError("was no longer wanted", "", "", repeats=False) from error
        outcome = cast("dict[str, str]", json.loads(text))
        inner = {name: self.marks.to_folders(outcome.pop(name, "")) for name in ("answer", "files")}
        return {**json.loads(self.marks.to_folders(json.dumps(outcome))), **inner}

    def _is_deserted(self) -> bool:
        """Whether there has been no worker for too long, whichever part of the run was waiting for one."""
        now = time.monotonic()
        if self._client.nthreads():
            self._manned = now
        return now - self._manned > _NO_WORKERS

    def _connect(self, address: str) -> Client:
        try:
            import distributed  # noqa: PLC0415  # most runs are on one machine
        except ImportError as error:
            raise WorkerError(f"--executor {address} needs Dask, which is not installed. {_INSTALL}") from error
        logging.getLogger("distributed").setLevel(logging.ERROR)  # of lost workers the report says what matters
        rest = address.removeprefix("dask://")
        host, _, number = rest.partition(":")
        target: Any = f"tcp://{rest}" if host != "local" else self._start_local(int(number or 0))
        try:
            client = distributed.Client(target, timeout=_CONNECTING, set_as_default=False)
        except (OSError, TimeoutError) as error:
            remedy = "Is it the scheduler's address?"
            raise WorkerError(f"--executor {address}: nobody answers there ({error}). {remedy}") from error
        self._endings.callback(_quietly, client.close)
        try:
            client.wait_for_workers(1, timeout=_NO_WORKERS)
        except TimeoutError as error:
            raise WorkerError(f"--executor {address}: no worker has joined this scheduler. Start some") from error
        return client

    def _start_local(self, number: int) -> LocalCluster:
        import distributed  # noqa: PLC0415

        folder = tempfile.mkdtemp(prefix="shapecheck-dask-")
        self._endings.callback(_remove, folder)
        import dask  # noqa: PLC0415

        with _without_interrupts(), dask.config.set({"temporary-directory": folder, **_UNWATCHED}):
            try:
                cluster = distributed.LocalCluster(
                    n_workers=number or os.cpu_count(),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # that of its HTTP server: any free port
                    memory_limit=0,  # it is the worker processes that need it, and they have a limit of their own
                    local_directory=folder,
                    silence_logs=logging.ERROR,
                )
            except (RuntimeError, OSError, TimeoutError) as error:
                cause = f"{error} {error.__cause__ or ''}".strip()
                raise WorkerError(f"no local Dask cluster could be started ({cause}): --jobs needs none") from error
        self._endings.callback(_end_local, cluster)
        return cluster

    def _see(self, folder: str, hashes: Mapping[str, str]) -> bool:
        """Whether all workers see the same files at the same place."""
        return all(self._client.run(has_files, folder, dict(hashes)).values())

    def _register(self) -> None:
        from shapecheck.worker.dask_plugin import ProcessPlugin  # noqa: PLC0415  # needs Dask

        answers = self._client.register_plugin(ProcessPlugin(self._name, self._project), name=self._name)
        self._endings.callback(_quietly, lambda: self._client.unregister_worker_plugin(self._name))
        self._endings.callback(_quietly, lambda: self._client.set_metadata(["shapecheck", self._name], {}))
        failed = [str(each) for each in dict(answers or {}).values() if dict(each).get("status") == "error"]
        if failed:
            raise WorkerError(f"the cluster's workers cannot begin: {failed[0]}. {_INSTALL}")


class _RemoteWorker:
    """A history of requests, and the cluster whose processes are asked with it."""

    def __init__(self, cluster: DaskCluster, history: tuple[str, ...]) -> None:
        self._cluster = cluster
        self.history, self.prepared = history, False
        self._complaint, self._near = "", ""
        self._closed = False
        self.seconds = 0.0

    def __enter__(self) -> _RemoteWorker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask nothing more."""
        self._closed = True

    def complaint(self) -> str:
        """What the process said last of an error."""
        return self._complaint

    def ask(self, request: RequestFor[Reply], limit: float) -> Reply:
        """The reply to one request; while the worker is prepared, it becomes part of the history."""
        cluster = self._cluster
        text = cluster.marks.with_marks(dump(TimedRequest(request=request, limit=limit)))
        lasting = not self.prepared and not isinstance(request, ListFiles | AskImportEffects)
        outcome = self._outcome(text, lasting)
        for bug in outcome.get("bugs", ()):
            with cluster.conduct.lock:
                cluster.conduct.note_bug(bug)
        self._complaint, self.seconds = outcome.get("complaint", ""), outcome.get("seconds", 0.0)
        if "unusable" in outcome:
            raise WorkerError(outcome["unusable"])
        if "killed" in outcome:
            raise WorkerEndedError("ended two workers of the cluster", "", "", repeats=False)
        if "ended" in outcome:
            raise WorkerEndedError(**outcome["ended"])
        if lasting:
            self.history = (*self.history, text)
        if "timed_out" in outcome:
            reason, touched, executing = outcome["timed_out"]
            raise RequestTimeoutError(reason, tuple((path, scope) for path, scope in touched), executing)
        self._note_files(outcome["files"])
        answer = load(outcome["answer"])
        if not isinstance(answer, Answer) or not isinstance(answer.reply, request.reply):
            raise TypeError(f"the worker answered {type(request).__name__} with {answer!r}")
        return cast("Reply", answer.reply)

    def _outcome(self, text: str, lasting: bool) -> Outcome:
        state = state_of(self.history)
        known = self.prepared
        for _ in range(_BOUNCES):
            history = () if known else self.history
            near = "" if self.prepared else self._near
            outcome = self._cluster.answer(state, history, text, lambda: self._closed, lasting=lasting, near=near)
            self._near = outcome.get("at", "")
            if not outcome.get("unknown") and not (outcome.get("preparing") and self.prepared):
                return outcome
            known = False
        reason = outcome.get("ended", {}).get("reason", "does not know what it is to do")
        raise WorkerError(f"a worker of the cluster {reason} again and again, before it began with its task")

    def _note_files(self, text: str) -> None:
        files = load(text) if text else None
        if isinstance(files, ImportedFiles):
            with self._cluster.conduct.lock:
                self._cluster.conduct.saw(files)


class _SharedPreparation(Generic[_Task]):
    """A phase whose workers have one history, so that the first alone is prepared."""

    def __init__(self, phase: Phase[_Task]) -> None:
        self._phase = phase
        self._history: tuple[str, ...] = ()
        self.count_remaining, self.take = phase.count_remaining, phase.take
        self.perform, self.on_worker_end = phase.perform, phase.on_worker_end
        self.is_worth_another = phase.is_worth_another

    def prepare(self, worker: WorkerHandle) -> bool:
        """Prepare the first, and give its history to the others."""
        remote = cast("_RemoteWorker", worker)
        if not self._history:
            if not self._phase.prepare(worker):
                return False
            self._history = remote.history
        remote.history, remote.prepared = self._history, True
        return True

    def finish(self, worker: WorkerHandle) -> None:
        """Nothing: the cluster ends the processes of a phase, wherever they are."""


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let what is started in the body not hear of Ctrl-C, as the terminal tells all: who started it ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _python_files(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*.py"))
        yield from (os.path.realpath(file) for file in found)


def _end_local(cluster: LocalCluster) -> None:
    """End a cluster of our own with what its workers have started, so that nothing of these is in use any more."""
    import psutil  # noqa: PLC0415  # comes with Dask

    below: list[Any] = []
    for nanny in cluster.workers.values():
        with contextlib.suppress(psutil.Error, AttributeError):  # its worker has ended by itself
            below += psutil.Process(nanny.process.pid).children(recursive=True)
    _quietly(cluster.close)
    psutil.wait_procs(below, timeout=_ENDING)


def _remove(folder: str) -> None:
    """Remove a folder into which a process that is being killed may yet write."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.25)


def _quietly(end: Callable[[], object]) -> None:
    """End something that may have gone by itself."""
    with contextlib.suppress(Exception):  # whatever Dask says of workers and schedulers that are not there any more
        end()
