"""The checks of one workspace folder: with its configuration, what it remembers, and the texts not saved yet."""

from __future__ import annotations

import ast
import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from shapecheck import files
from shapecheck.commands.check_inputs import CheckInputs, read_inputs
from shapecheck.commands.checked_project import CheckedProject, check_inputs
from shapecheck.commands.module_reader import ModuleReader
from shapecheck.config import Config, ConfigError, load
from shapecheck.editor.file_result import FileResult, file_results
from shapecheck.editor.line_places import with_line_sites
from shapecheck.editor.run_processes import RunProcesses
from shapecheck.evaluate.session.fork_child import PRELOADED
from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.memory_store import MemoryStore
from shapecheck.incremental.rerun import FOLDER
from shapecheck.model import Module
from shapecheck.syntax.source_text import declared_encoding
from shapecheck.verdicts.baseline import BaselineError
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.imported_forks import ImportedForks, ImportRequest
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings
from shapecheck.worker.run_state import Progress
from shapecheck.worker.spawn import Process, Start


def leading_imports(plan: ModulePlan) -> Iterator[str]:
    """The imports at the top of a planned file, as `pkg` and `pkg:part`; none of a file that Python cannot parse.

    Up to the first statement that is no import: what it does, such as to set a variable of the environment, may matter
    to imports behind it.
    """
    try:
        data = plan.source.encode("latin-1") if plan.source else Path(plan.file).read_bytes()
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError):
        return
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            module = _absolute(statement, plan)
            if module and module != "__future__":
                yield from (module if alias.name == "*" else f"{module}:{alias.name}" for alias in statement.names)
        elif number or not isinstance(statement, ast.Expr):  # a docstring may come first
            return


def _absolute(statement: ast.ImportFrom, plan: ModulePlan) -> str:
    if not statement.level:
        return statement.module or ""
    parts = plan.name.split(".")
    is_package = Path(plan.file).name == "__init__.py"
    package = parts[: len(parts) - statement.level + is_package]
    return ".".join((*package, *((statement.module,) if statement.module else ())))


Extent = Literal["edited", "project"]
"""What a run looks at: the documents that are open, without tests; or all files of the folder, with its tests."""
# Its runs observe more values than others, so that neither can take the other's results.
_PURPOSES: Mapping[Extent, str] = {"edited": "editor", "project": "editor of a project"}


@dataclass(frozen=True)
class OpenDocument:
    """A document as the editor has it. It `differs` if that is not what lies on the disk."""

    file: Path
    text: str
    version: int
    differs: bool


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """What a run came to: the results of its files, or the `problem` that kept it from its job.

    `lost` says how a worker ended by somebody else's doing, if one did. If `cut`, it had no time for all.
    """

    extent: Extent
    results: tuple[FileResult, ...] = ()
    problem: str = ""
    lost: str = ""
    cut: bool = False
    python: str = ""


class ProjectChecker:
    """Runs checks of `folder`, one at a time. A folder that is not `whole` is no project: only open documents count."""

    def __init__(self, folder: Path, *, whole: bool = True, python: str = "") -> None:
        self.folder, self.whole, self.python = folder, whole, python
        self._servers = ForkServers()
        self._forks = ImportedForks(self._servers.start)
        self._libraries: frozenset[str] = frozenset()
        self._edited: frozenset[str] = frozenset()  # the files that were typed in since they were opened
        self._request: ImportRequest | None = None
        self._memory: MemoryStore | None = None
        self._root: Path | None = None
        self._is_settled = False

    def close(self) -> None:
        """End all processes."""
        self._forks.close()
        self._servers.close()

    def wait(self) -> None:
        """Wait until what makes the next run cheap is done."""
        self._forks.wait()

    def run(
        self, extent: Extent, documents: Sequence[OpenDocument], processes: RunProcesses, progress: Progress
    ) -> RunOutcome:
        """Check; raises RunCancelledError if nobody wants the result any more."""

        def step(label: str, done: int, total: int) -> None:
            processes.progress(label, done, total)
            progress(label, done, total)

        try:
            config = self.config()
            if extent == "edited":  # scripts run for seconds, as tests do: they wait until the file is saved
                config = replace(config, examples=tuple(each for each in config.examples if not each.script))
            inputs = self._inputs(extent, documents, config)
            if not inputs.texts:
                return RunOutcome(extent=extent)
            self._preload(inputs)
            self._note_edited(documents)
            project = self._check(inputs, extent, config, documents, processes, step)
        except BaselineError as error:
            return RunOutcome(extent=extent, problem=str(error))
        except ConfigError as error:
            step("", 0, 1)
            return RunOutcome(extent=extent, problem=f"{error}\n{error.remedy}".rstrip())
        step("", 1, 1)
        if not self._is_settled:
            # What a first run has imported and made is here to stay: no collection after an edit has to look at it.
            gc.freeze()
            self._is_settled = True
        if extent == "edited" and self._request is not None:
            self._forks.prepare(self._request)
        shown = {files.shown_path(each.file) for each in documents}
        texts = {path: data for path, (_, data) in inputs.texts.items() if path in shown}
        versions = {files.shown_path(each.file): each.version for each in documents}
        troubles = (trouble.reason for trouble in project.evaluated.troubles if trouble.code == "SC304")
        return RunOutcome(
            extent=extent,
            results=tuple(file_results(project, texts, versions)),
            problem="\n".join((*project.report.broken, *project.report.bugs)),
            lost=next((reason for reason in troubles if "a kill" in reason), ""),
            cut=bool(project.report.cut) or any(not trouble.code for trouble in project.evaluated.troubles),
            python=project.report.python,
        )

    def template(self, file: Path, name: str) -> str:
        """The template of a model in a file as it was saved, in brief; raises ConfigError where it cannot be made."""
        # most hovers are over something else
        from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415
        from shapecheck.commands.template import find  # noqa: PLC0415
        from shapecheck.templates import down_to, fold_repeats  # noqa: PLC0415

        request = TargetRequest(target=f"{file}:{name}", folder=self.folder)
        found = find(request, self.config(), self._servers.start).template
        return str(down_to(fold_repeats(found), 1))

    def read_claims(self, file: Path, text: str) -> Module:
        """What a text claims, read and not evaluated."""
        return ModuleReader(self.config(), {}).read_file(file, encode(text))

    def config(self) -> Config:
        """The configuration as it is now; raises ConfigError."""
        flags = {"python": Path(self.python)} if self.python else {}
        return load([self.folder], flags=flags)

    def _preload(self, inputs: CheckInputs) -> None:
        """Have the libraries that the files import in the process that workers are forked from."""
        wanted = self._libraries | {name for _, data in inputs.texts.values() for name in preloadable(data)}
        if wanted != self._libraries:
            self._libraries = wanted
            self._forks.close()
            self._servers.close()
            self._servers = ForkServers(sorted(wanted))
            self._forks = ImportedForks(self._servers.start)

    def _check(
        self,
        inputs: CheckInputs,
        extent: Extent,
        config: Config,
        documents: Sequence[OpenDocument],
        processes: RunProcesses,
        progress: Progress,
    ) -> CheckedProject:
        is_saved = not any(each.differs for each in documents)
        store = self._store(config)
        self._request = None
        rerun = inputs.rerun(
            config, None if is_saved and config.cache and not inputs.unsaved else store, purpose=_PURPOSES[extent]
        )
        return check_inputs(
            inputs,
            config,
            rerun,
            progress=progress,
            start_for=lambda plans, to_import, settings: processes.track(
                self._start_for(plans, to_import, settings, config.timeout)
            ),
            cwd=os.fspath(self.folder),
            prepare=with_line_sites,
        )

    def _note_edited(self, documents: Sequence[OpenDocument]) -> None:
        """Of these files others are to be apart, so that an edit costs no more than its own module."""
        present = {os.path.realpath(each.file) for each in documents}
        differing = {os.path.realpath(each.file) for each in documents if each.differs}
        self._edited = frozenset((self._edited & present) | differing)

    def _start_for(
        self, plans: Sequence[ModulePlan], to_import: Sequence[str], settings: WorkerSettings, limit: float
    ) -> Start:
        """Workers from a process that has imported what is not edited, else from one that has imported JAX."""
        edited = self._edited or frozenset(plan.file for plan in plans)
        ahead = {plan.file: tuple(leading_imports(plan)) for plan in plans if plan.file in edited}

        def start(python: str, cwd: Path) -> Process:
            self._request = ImportRequest(
                python=python,
                cwd=cwd,
                plans=tuple(plans),
                to_import=tuple(to_import),
                settings=settings,
                edited=edited,
                ahead=ahead,
                limit=limit,
            )
            return self._forks.fork(self._request) or self._servers.start(python, cwd)

        return start

    def _store(self, config: Config) -> MemoryStore:
        if self._memory is None or self._root != config.root:
            self._memory, self._root = MemoryStore(Store(config.root / FOLDER)), config.root
        return self._memory

    def _inputs(self, extent: Extent, documents: Sequence[OpenDocument], config: Config) -> CheckInputs:
        own = [each for each in documents if self._is_checked(each.file, config)]
        texts = {files.shown_path(each.file): (each.file, encode(each.text)) for each in own}
        unsaved = frozenset(files.shown_path(each.file) for each in own if each.differs)
        if extent == "project" and self.whole:
            found = read_inputs([self.folder], config)
            closed = {path: notebook for path, notebook in found.notebooks.items() if path not in texts}
            merged = {**found.texts, **texts}
            return replace(found, texts=merged, unsaved=found.unsaved | unsaved, notebooks=closed)
        return CheckInputs(
            paths=[self.folder], texts=texts, unsaved=unsaved, unread={}, notebooks={}, tests=(), lock=None
        )

    def _is_checked(self, file: Path, config: Config) -> bool:
        """Whether the configuration does not exclude the file; one that is not saved yet cannot be asked about."""
        if not file.is_file():
            return True
        return bool(files.discover([file], config.exclude, config.root, named_too=True, notebooks=True, unread={}))


def preloadable(data: bytes) -> Iterator[str]:
    """The libraries that a text imports which may be imported before its own code runs."""
    for name in PRELOADED:
        top, _, part = name.partition(".")
        if re.search(rf"^\s*(?:import|from)\s+{top}\b.*{part}".encode(), data, re.MULTILINE):
            yield name


def encode(text: str) -> bytes:
    """The bytes that an editor will write: in the encoding that the text declares, else in UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return text.encode(declared_encoding(data))
    except (SyntaxError, LookupError, UnicodeError):
        return data
