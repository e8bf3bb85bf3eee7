"""Waits until files of a project change, for checks that go on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from pathlib import Path

from shapecheck import files
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import Config, ConfigError
from shapecheck.files.notebook_source import SUFFIX
from shapecheck.files.snippet_files import DOCUMENTS
from shapecheck.incremental.rerun import CONFIGURE, FOLDER

_DEBOUNCE = 150  # milliseconds in which changes count as one: editors write a file in several steps
_STOP = 200  # milliseconds after which the thread looks whether it shall end


class MissingWatcherError(ConfigError):
    """watchfiles is not installed."""

    remedy = "Install it beside shapecheck: pip install 'jax-shapecheck[watch]'"


class FileWatcher:
    """Watches what a check of `paths` may depend on from now on; use as a context manager.

    That is the code beside the checked files and in their packages, the tests, docs, and what configures them. Raises
    MissingWatcherError if there is no watchfiles.
    """

    def __init__(self, paths: Sequence[Path], config: Config) -> None:
        try:
            import watchfiles  # noqa: F401, PLC0415 - an extra
        except ImportError as error:
            raise MissingWatcherError(f"--watch needs the package watchfiles ({error})") from error
        self.folders = _watched_folders(paths, config)
        extra = (config.file, config.baseline, lock_file(config, paths[0]) if paths else None)
        self._single = frozenset(str(file.absolute()) for file in extra if file is not None)
        self._changes: queue.Queue[frozenset[str]] = queue.Queue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> FileWatcher:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self) -> frozenset[str]:
        """The files that have changed since this was asked last, as soon as there are any."""
        found = set(self._changes.get())
        while not self._changes.empty():
            found |= self._changes.get()
        return frozenset(found)

    def _watch(self) -> None:
        from watchfiles import watch  # noqa: PLC0415 - as above

        changes = watch(
            *self.folders,
            watch_filter=lambda change, path: self._matters(path),
            debounce=_DEBOUNCE,
            stop_event=self._stop,
            rust_timeout=_STOP,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for found in changes:
            self._changes.put(frozenset(path for _, path in found))

    def _matters(self, path: str) -> bool:
        file = Path(path)
        if path in self._single:
            return True
        if {FOLDER, ".git", "__pycache__", "site-packages"} & set(file.parts):
            return False
        return file.suffix.lower() in (".py", SUFFIX, *DOCUMENTS) or file.name in CONFIGURE


def _watched_folders(paths: Sequence[Path], config: Config) -> tuple[Path, ...]:
    """The folders of what is checked and imported, each once and none within another."""
    found: set[Path] = set()
    for path in paths:
        found.add(files.module_name(path.absolute()).root if path.is_file() else path)
    found |= {folder for folder in config.src if folder.is_dir()}
    if config.snippets:
        found |= {
            file.parent for file in files.find_snippet_files([path / "_" if path.is_dir() else path for path in paths])
        }
    tests = config.tests if config.tests is not None else files.find_tests(list(paths))
    found |= {test if test.is_dir() else test.parent for test in tests}
    found |= {file.parent for file in (config.file, config.baseline) if file is not None}
    resolved = {folder.resolve() for folder in found if folder.is_dir()}
    return tuple(sorted(folder for folder in resolved if not resolved & set(folder.parents)))
