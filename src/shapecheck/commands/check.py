"""The whole run: the files, what is remembered of an earlier run; else read the claims, evaluate, compare, report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck import files
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import Config, ConfigError
from shapecheck.files.notebook_source import SUFFIX, Notebook, NotebookError, read_notebook
from shapecheck.incremental.rerun import Rerun
from shapecheck.model import Report

Progress = Callable[[str, int, int], None]


def check(
    paths: Sequence[Path],
    config: Config,
    *,
    progress: Progress | None = None,
    stdin: tuple[str, bytes] | None = None,
    echo: bool = False,
) -> Report:
    """Check files and folders, or the text of `stdin` in place of the file it names.

    With `echo`, what the user's code prints goes to stderr.

    Raises ConfigError for what the user must put right first: no usable interpreter. Wrong examples are reported in
    the report, beside what the others showed.
    """
    started = time.monotonic()
    sources = read_sources(paths, config, stdin)
    texts, notebooks, unread = sources.texts, sources.notebooks, sources.unread
    rerun = sources.rerun(config, paths) if config.cache and stdin is None else None
    known = rerun.report() if rerun is not None and not unread else None
    if known is not None:
        return known
    # What most runs of a day do not need: they find nothing changed.
    from shapecheck.commands.evaluation import EvaluationContext, check_locks, evaluate, report  # noqa: PLC0415
    from shapecheck.commands.module_plans import plan  # noqa: PLC0415
    from shapecheck.commands.module_reader import ModuleReader  # noqa: PLC0415
    from shapecheck.commands.notebook_places import with_cells  # noqa: PLC0415

    reader = ModuleReader(config, dict(texts.values()), rerun.store if rerun is not None else None)
    modules = {shown: reader.read_file(file, text, shown) for shown, (file, text) in texts.items()}
    plans = [
        plan(file, modules[shown], config, text if stdin or shown in notebooks else None)
        for shown, (file, text) in texts.items()
    ]
    memory = rerun.memory(plans) if rerun is not None else None
    around = EvaluationContext([file for file, _ in texts.values()], sources.tests, memory, progress, echo, started)
    evaluated = evaluate(plans, modules, config, around)
    kept = check_locks(sources.lock, paths, config, progress)
    found = with_cells(report(modules, evaluated, kept, config, tuple(sorted(unread.items()))), notebooks)
    if rerun is not None and memory is not None and not unread:
        alias_files = {os.path.realpath(file) for module in modules.values() for file in module.alias_files}
        if kept is None:
            rerun.keep(found, memory, found.python, alias_files)
        elif kept.complete:
            rerun.keep(found, memory, found.python or kept.python, {*alias_files, *kept.files}, kept.sites)
    return found


@dataclass(frozen=True, kw_only=True)
class CheckedSources:
    """What is checked: shown path -> the file and its bytes, of notebooks those of the module that they are."""

    texts: Mapping[str, tuple[Path, bytes]]
    notebooks: Mapping[str, Notebook]
    unread: files.UnreadPaths
    tests: Sequence[Path]
    lock: Path | None

    def rerun(self, config: Config, paths: Sequence[Path]) -> Rerun:
        """What is remembered of earlier runs like this one."""
        return Rerun(config, paths, self.texts, self.tests, self.lock)


def read_sources(paths: Sequence[Path], config: Config, stdin: tuple[str, bytes] | None = None) -> CheckedSources:
    """Find and read what is to be checked. Raises ConfigError if nothing of it can be read."""
    unread: files.UnreadPaths = {}
    notebooks: dict[str, Notebook] = {}
    texts = _texts(paths, config, stdin, unread, notebooks)
    return CheckedSources(
        texts=texts,
        notebooks=notebooks,
        unread=unread,
        tests=_tests(config, [file for file, _ in texts.values()]) if stdin is None else (),
        lock=lock_file(config, paths[0]) if config.lock and stdin is None and paths else None,
    )


def _tests(config: Config, checked: Sequence[Path]) -> Sequence[Path]:
    return config.tests if config.tests is not None else files.find_tests(checked)


def _texts(
    paths: Sequence[Path],
    config: Config,
    stdin: tuple[str, bytes] | None,
    unread: files.UnreadPaths,
    notebooks: dict[str, Notebook],
) -> Mapping[str, tuple[Path, bytes]]:
    """Shown path -> the file and its bytes, of `notebooks` those of the module that they are.

    Raises ConfigError if not one of those that were found can be read.
    """
    if stdin is not None:
        file = Path(stdin[0]).absolute()
        return {files.shown_path(file): (file, stdin[1])}
    found = files.discover(
        paths, config.exclude, config.root, named_too=config.force_exclude, notebooks=True, unread=unread
    )
    texts: dict[str, tuple[Path, bytes]] = {}
    for file in found:
        try:
            data = file.read_bytes()
            if file.suffix == SUFFIX:
                notebooks[files.shown_path(file)] = notebook = read_notebook(data)
                data = notebook.module.encode()
            texts[files.shown_path(file)] = (file, data)
        except OSError as error:
            unread[files.shown_path(file)] = files.read_failure(error)
        except NotebookError as error:
            unread[files.shown_path(file)] = str(error)
    if unread and not texts:
        raise ConfigError("\n".join(f"{path}: {reason}" for path, reason in sorted(unread.items())))
    return texts
