"""What the phases of a run share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.worker.messages.entry_messages import ImportedFiles
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings
from shapecheck.worker.result_cache import ResultCache
from shapecheck.worker.run_result import RunResult, Trouble

Progress = Callable[[str, int, int], None]


@dataclass(kw_only=True)
class RunState:
    """What the phases of a run share. `culprits` are files whose import ended a worker, and how."""

    plans: Sequence[ModulePlan]
    to_import: Sequence[str]
    settings: WorkerSettings
    timeout: float
    progress: Progress
    result: RunResult = field(default_factory=RunResult)
    culprits: dict[str, str] = field(default_factory=dict)
    memory: ResultCache | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    steps: int = 0
    total: int = 0
    durations: dict[str, float] = field(default_factory=dict)  # seconds that tests and entries took in this run
    known_durations: Mapping[str, float] = field(default_factory=dict)  # in earlier ones
    sites: set[str] = field(default_factory=set)  # where packages lie

    def step(self, label: str) -> None:
        """Tell how far the run has come."""
        self.steps += 1
        self.total = max(self.total, self.steps)
        self.progress(label, self.steps, self.total)

    def saw(self, files: ImportedFiles) -> None:
        """Remember which files a worker had loaded."""
        self.sites.update(files.sites)
        if self.memory is not None:
            self.memory.files.loaded.update(files.loaded)
            self.memory.files.ran.update(files.ran)
            self.memory.files.sites = tuple(sorted({*self.memory.files.sites, *files.sites}))

    def note_bug(self, text: str) -> None:
        """Keep the traceback of a bug of ours: the run goes on, and its results are not kept for the next one."""
        if text not in self.result.bugs:
            self.result.bugs.append(text)
        if self.memory is not None:
            self.memory.lasting = False

    def blame(self, path: str, fallback: ModulePlan | None, reason: str) -> None:
        """Leave out the file whose body was running when a process ended."""
        culprit = next((p for p in self.plans if p.path == path), fallback)
        if culprit is not None and culprit.file in self.culprits:
            culprit = fallback
        if culprit is None:
            return
        self.culprits[culprit.file] = f"{culprit.name} {reason}"
        trouble = Trouble("SC304", culprit.path, 1, culprit.name, reason)
        if trouble not in self.result.troubles:
            self.result.troubles.append(trouble)
