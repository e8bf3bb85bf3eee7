"""The whole run: the files, what is remembered of an earlier run; else read the claims, evaluate, compare, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shapecheck.commands.check_inputs import read_inputs
from shapecheck.config import Config
from shapecheck.model import Report

if TYPE_CHECKING:
    from shapecheck.incremental.rerun import Rerun
    from shapecheck.worker.imported_forks import StartFor
    from shapecheck.worker.spawn import Start

Progress = Callable[[str, int, int], None]


def check(
    paths: Sequence[Path],
    config: Config,
    *,
    progress: Progress | None = None,
    stdin: tuple[str, bytes] | None = None,
    echo: bool = False,
    start: Start | None = None,
) -> Report:
    """Check files and folders, or the text of `stdin` in place of the file it names.

    With `echo`, what the user's code prints goes to stderr. `start` is how worker processes are started.

    Raises ConfigError for what the user must put right first: no usable interpreter. Wrong examples are reported in
    the report, beside what the others showed.
    """
    started = time.monotonic()
    inputs = read_inputs(paths, config, stdin)
    rerun = inputs.rerun(config) if config.cache and stdin is None else None
    known = rerun.report() if rerun is not None and not inputs.unread else None
    if rerun is not None and known is not None:
        return with_notes(known, rerun)
    # What most runs of a day do not need: they find nothing changed.
    from shapecheck.commands.checked_project import check_inputs  # noqa: PLC0415

    start_for: StartFor | None = (lambda *about: start) if start is not None else None
    found = check_inputs(
        inputs, config, rerun, progress=progress, echo=echo, start_for=start_for, started=started
    ).report
    return found if rerun is None else with_notes(found, rerun)


def with_notes(report: Report, rerun: Rerun) -> Report:
    """Hand on what the run has learnt, and note what became of that."""
    return replace(report, notes=rerun.store.finish())
