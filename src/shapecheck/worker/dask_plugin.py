"""What a run leaves in each worker of a Dask cluster for as long as it lasts, and the task that asks it."""

from __future__ import annotations

import json
import os
from typing import Protocol

import dask
from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from shapecheck.worker.cluster_process import ProcessKeeper, RemoteProject

MOST_ATTEMPTS = 2
"""A task that has ended so many workers is not tried on another one."""


class DaskWorker(Protocol):
    """What of Dask's own worker is used here."""

    address: str
    local_directory: str
    plugins: dict[str, object]


class ProcessPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask has no types here
    """Keeps the processes of one run in a worker, also in one that joins later; with the worker they end."""

    def __init__(self, name: str, project: RemoteProject) -> None:
        self.name, self.project = name, project
        self.keeper: ProcessKeeper | None = None

    def setup(self, worker: DaskWorker) -> None:
        """The worker is there."""
        self.keeper = ProcessKeeper(self.project, worker.local_directory, worker.address, _variables_of_dask())

    def teardown(self, worker: DaskWorker) -> None:
        """The worker goes, or the run is over."""
        if self.keeper is not None:
            self.keeper.close()


def _variables_of_dask() -> frozenset[str]:
    """The variables of the environment that Dask gives its own workers, such as how malloc is to save memory."""
    given: dict[str, object] = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    return frozenset(name for name, value in given.items() if os.environ.get(name) == str(value))


def run_request(name: str, task: str, state: str, history: tuple[str, ...], request: str, lasting: bool) -> str:
    """Have a process of this worker answer a request; the scheduler counts how often that was begun."""
    worker = get_worker()
    attempts = attempts_at(name, task)
    begun = sync(worker.loop, worker.scheduler.get_metadata, keys=attempts, default=0)
    if begun >= MOST_ATTEMPTS:
        return json.dumps({"killed": begun})
    sync(worker.loop, worker.scheduler.set_metadata, keys=attempts, value=begun + 1)
    return keeper_of(worker, name).answer(state, history, request, lasting=lasting)


def attempts_at(name: str, task: str) -> list[str]:
    """Where the scheduler counts how often a task of a run was begun."""
    return ["shapecheck", name, task]


def end_processes(name: str, dask_worker: DaskWorker) -> None:
    """End the processes of a part of the run that is over; for `Client.run`, which names the worker so."""
    keeper_of(dask_worker, name).end_processes()


def keeper_of(worker: DaskWorker, name: str) -> ProcessKeeper:
    """The processes of a run in this worker."""
    plugin = worker.plugins[name]
    if not isinstance(plugin, ProcessPlugin) or plugin.keeper is None:
        raise TypeError(f"{name} is not of this run")
    return plugin.keeper
