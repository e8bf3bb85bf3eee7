"""Runs that repeat an earlier one: the same report if nothing has changed, else only what the change concerns."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shapecheck.config import Config, options
from shapecheck.incremental.cache_store import KeptTexts, Store
from shapecheck.incremental.content_hash import content, file_content, modified_ns
from shapecheck.incremental.environment_key import (
    environment,
    installed_packages,
    our_contents,
    ourselves,
    portable_environment,
)
from shapecheck.model import assumption, finding, is_test_file, location
from shapecheck.model.finding import Report
from shapecheck.model.plain_facts import PlainFacts

if TYPE_CHECKING:
    from shapecheck.model import Snippet
    from shapecheck.worker.messages.plans import ModulePlan
    from shapecheck.worker.result_cache import ResultCache

FOLDER = ".shapecheck_cache"
KEY = "SHAPECHECK_CACHE_KEY"
"""The variable with the secret of those who may write to a shared cache."""
_UNUSED = 30 * 24 * 3600.0  # seconds after which a result that no run asked for is put away
_FACTS = PlainFacts(
    Report,
    assumption.Assumption,
    finding.AssumedClaim,
    finding.Edit,
    finding.EntryResult,
    finding.Finding,
    finding.LockCounts,
    finding.Reach,
    finding.Summary,
    finding.TestCounts,
    finding.UnreachedClaim,
    finding.VerifiedClaim,
    location.Span,
)
CONFIGURE = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "conftest.py")
"""Names of files that configure tests, in the folders above them."""


def store_of(config: Config) -> KeptTexts:
    """Where the results of a project's runs are kept: in its own folder, or where machines share them."""
    if config.cache_dir is None:
        return Store(config.root / FOLDER)
    return shared_store(shared_texts(config.cache_dir, config.root), config)


def shared_store(texts: KeptTexts, config: Config) -> KeptTexts:
    """A project's results among such texts, wherever that lies."""
    from shapecheck.incremental.portable_paths import ProjectPlace, SharedStore  # noqa: PLC0415  # few do share

    return SharedStore(texts, ProjectPlace(config.root, config.python))


def shared_texts(place: Path | str, root: Path) -> KeptTexts:
    """What machines share: a folder, or a URL with copies of what is there in the project's own cache."""
    key = os.environ.get(KEY, "").encode("utf-8", "surrogateescape")
    if isinstance(place, Path):
        return Store(place, key)
    from shapecheck.incremental.remote_store import RemoteStore  # noqa: PLC0415  # as above

    return RemoteStore(place, Store(root / FOLDER, key), key)


class Rerun:
    """One way to call the checker: paths and settings. `files` maps shown paths to the file and its bytes.

    Runs for another `purpose` have results of their own. The files may be others at the next such run, and what is
    remembered of those that stay is of use.
    """

    def __init__(
        self,
        config: Config,
        paths: Sequence[Path],
        files: Mapping[str, tuple[Path, bytes]],
        tests: Sequence[Path],
        lock: Path | None = None,
        store: KeptTexts | None = None,
        purpose: str = "",
        shown_in: Sequence[Path] = (),
    ) -> None:
        self.started = time.time_ns()
        self.store: KeptTexts = store or store_of(config)
        self.config, self.tests, self.lock = config, tests, lock
        self._shown_in = [os.path.realpath(file) for file in shown_in]
        self._known = {os.path.realpath(file): content(data) for file, data in files.values()}
        self._checked = frozenset(self._known)
        self._bytes = {os.path.realpath(file): data for file, data in files.values()}
        names = ["file", *(name for name, declared in options().items() if not declared.presentation_only)]
        settings = {name: repr(getattr(config, name)) for name in names}
        # Each version of ours has its own results, for their format changes with it.
        version = our_contents() if self.store.is_shared else ourselves()
        called = [version + purpose, sorted({os.path.abspath(path) for path in paths}), os.getcwd(), settings]
        self.name = hashlib.sha256(self.store.portable(json.dumps(called)).encode()).hexdigest()

    def report(self) -> Report | None:
        """The report of the last such run, if nothing that it depends on has changed since."""
        text = self.store.get(self._report_slot)
        if text is None:
            return None
        try:
            kept = _FACTS.load(text)
            same = kept["state"] == self._state(kept["python"], kept["sites"], kept["files"])
            return kept["report"] if same and isinstance(kept["report"], Report) else None
        except (ValueError, KeyError, TypeError, RecursionError):  # another version's
            return None

    def memory(self, plans: Sequence[ModulePlan], snippets: Sequence[Snippet] = ()) -> ResultCache:
        """What is remembered of single entries."""
        # A run without changes asks for none of them.
        from shapecheck.incremental.hashed_files import HashedFiles  # noqa: PLC0415
        from shapecheck.worker.result_cache import ResultCache  # noqa: PLC0415

        project = frozenset(plan.name.partition(".")[0] for plan in plans)
        hashing = HashedFiles(self._content, self._read_bytes, self._has_changed, project, self.store)
        return ResultCache(
            self.store, self.name, hashing, plans, self._test_files, self._surroundings, self._shared_state, snippets
        )

    def keep(
        self, report: Report, memory: ResultCache, python: str, files: Iterable[str] = (), sites: Iterable[str] = ()
    ) -> None:
        """Remember the report of a run that is worth it: one that came to its end, of files that stayed the same.

        It depends on `files` and `sites` too, which the lock's templates depend on.
        """
        cut = report.cut or (report.tests is not None and report.tests.cut)
        loaded = {*memory.files.loaded, *files}
        if cut or not memory.complete or self._has_changed(loaded):
            return
        shown = {finding.path for finding in report.findings}
        slim = dataclasses.replace(report, sources=tuple(s for s in report.sources if s[0] in shown))
        folders = sorted({*memory.files.sites, *sites})
        state = self._state(python, folders, sorted(loaded))
        value = {"python": python, "sites": folders, "files": sorted(loaded), "state": state, "report": slim}
        self.store.put(self._report_slot, _FACTS.dump(value))
        self.store.prune(_UNUSED)

    def _has_changed(self, loaded: Iterable[str]) -> bool:
        """Whether a file was written while the run was under way: then nobody knows which text was evaluated."""
        return any(modified_ns(file) > self.started for file in {*self._checked, *loaded, *self._test_files})

    def _state(self, python: str, sites: Sequence[str], files: Sequence[str]) -> str:
        parts = {
            "environment": (portable_environment if self.store.is_shared else environment)(python, sites),
            "files": {file: self._content(file) for file in {*files, *self._checked}},
            "tests": self._test_files,
            "surroundings": self._surroundings,
            "shown in": {file: self._content(file) for file in self._shown_in},
            "lock": self._content(str(self.lock)) if self.lock is not None else "",
            # Of one that is not there, a run says so: it is another run than one without.
            "baseline": ["", self._content(str(self.config.baseline))] if self.config.baseline else [],
        }
        return hashlib.sha256(self.store.portable(json.dumps(parts, sort_keys=True)).encode()).hexdigest()

    @property
    def _report_slot(self) -> str:
        return f"{self.name}:report" + (f":{self._shared_state}" if self.store.is_shared else "")

    @cached_property
    def _shared_state(self) -> str:
        """What tells this run from those of other branches and environments that keep theirs beside it.

        It need not tell everything: whether a result holds is asked of the result.
        """
        if not self.store.is_shared:
            return ""
        from shapecheck.files import interpreter  # noqa: PLC0415  # few do share

        python = str(self.config.python) if self.config.python else None
        installed = installed_packages(interpreter.candidates(python, [self.config.root])[0])
        files = {file: self._content(file) for file in sorted(self._checked)}
        aside = [self._content(str(file)) for file in (self.lock, self.config.baseline) if file is not None]
        shown_in = [self._content(file) for file in self._shown_in]
        parts = [installed, files, self._test_files, self._surroundings, aside, shown_in]
        return hashlib.sha256(self.store.portable(json.dumps(parts)).encode()).hexdigest()

    @cached_property
    def _test_files(self) -> dict[str, str]:
        """The files of tests, as pytest names them by default."""
        return {file: self._content(file) for file in self._beside if is_test_file(file)}

    @cached_property
    def _surroundings(self) -> dict[str, str]:
        """What else lies with the tests or configures them, and the scripts, which all run as the main module."""
        found = [file for file in self._beside if not is_test_file(file)]
        folders = {self.config.root, *(parent for test in self.tests for parent in Path(test).absolute().parents)}
        found += [str(folder / name) for folder in folders for name in CONFIGURE]
        found += [os.path.realpath(example.script) for example in self.config.examples if example.script]
        return {file: self._content(file) for file in sorted(found) if os.path.isfile(file)}

    @cached_property
    def _beside(self) -> list[str]:
        found = {os.path.realpath(f) for test in self.tests for f in ([test] if test.is_file() else test.rglob("*.py"))}
        return sorted(found)

    def _content(self, file: str) -> str:
        if file not in self._known:
            self._known[file] = file_content(file)
        return self._known[file]

    def _read_bytes(self, file: str) -> bytes:
        try:
            return self._bytes[file] if file in self._bytes else Path(file).read_bytes()
        except OSError:
            return b""
