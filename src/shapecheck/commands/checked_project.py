"""A run that repeats no earlier one: what was read, what evaluation showed, how the claims ended, what is reported."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapecheck.commands.check_inputs import CheckInputs
from shapecheck.commands.evaluation import (
    EvaluationContext,
    Judgement,
    Progress,
    check_locks,
    evaluate,
    judge_run,
    report,
)
from shapecheck.commands.module_plans import plan
from shapecheck.commands.module_reader import ModuleReader
from shapecheck.commands.notebook_places import with_cells
from shapecheck.commands.snippet_reader import read_snippets
from shapecheck.commands.unread_cells import with_unread_cells
from shapecheck.config import Config
from shapecheck.incremental.rerun import Rerun
from shapecheck.model import Module, Report, Snippet

_FOR_READING = 0.5  # the part of the budget in which files are read, before any is evaluated
_LATE = "no time was left to read it (--budget SECONDS allows more)"

if TYPE_CHECKING:
    from shapecheck.worker.imported_forks import StartFor
    from shapecheck.worker.messages.plans import ModulePlan
    from shapecheck.worker.result_cache import ResultCache
    from shapecheck.worker.supervisor import RunResult


@dataclass(frozen=True, kw_only=True)
class CheckedProject:
    """All that a run knows. `modules` are by shown path."""

    report: Report
    modules: Mapping[str, Module]
    evaluated: RunResult
    judgement: Judgement


@dataclass(frozen=True, kw_only=True)
class PlannedProject:
    """What the files claim and what is to be observed of it, by shown path; and what earlier runs showed."""

    modules: Mapping[str, Module]
    plans: Mapping[str, ModulePlan]
    snippets: Sequence[Snippet]
    memory: ResultCache | None
    late: Sequence[str] = ()  # the files for which there was no time


def plan_inputs(
    inputs: CheckInputs,
    config: Config,
    rerun: Rerun | None,
    prepare: Callable[[Module, bytes], Module] = lambda module, text: module,
    deadline: float = math.inf,
) -> PlannedProject:
    """Read all files, as far as `rerun` does not remember what they claim. `prepare` adds to what is observed.

    Those that nothing is remembered of come last, and no more are read after the `deadline` (by time.monotonic).
    """
    texts = inputs.texts
    reader = ModuleReader(config, dict(texts.values()), rerun.store if rerun is not None else None)
    if rerun is not None and rerun.store.is_shared:
        reader.fetch(texts)
    read = reader.read_files(texts, deadline)
    whole = {shown: with_unread_cells(each, inputs.notebooks.get(shown)) for shown, each in read.items()}
    modules = {shown: prepare(whole[shown], text) for shown, (_, text) in texts.items() if shown in whole}
    plans = {
        shown: plan(texts[shown][0], module, config, texts[shown][1] if shown in inputs.unsaved else None)
        for shown, module in modules.items()
    }
    in_time = {shown: each for shown, each in texts.items() if shown in modules}
    snippets = read_snippets(in_time, inputs.shown_in, plans) if inputs.shown_in is not None else ()
    memory = rerun.memory(list(plans.values()), snippets) if rerun is not None else None
    late = [shown for shown in texts if shown not in read]
    return PlannedProject(modules=modules, plans=plans, snippets=snippets, memory=memory, late=late)


def check_inputs(
    inputs: CheckInputs,
    config: Config,
    rerun: Rerun | None,
    *,
    progress: Progress | None = None,
    echo: bool = False,
    start_for: StartFor | None = None,
    cwd: str = "",
    started: float | None = None,
    prepare: Callable[[Module, bytes], Module] = lambda module, text: module,
) -> CheckedProject:
    """Evaluate what `rerun` does not remember, and judge all claims.

    `prepare` adds to what is observed of a file. `start_for` says how worker processes are started, in `cwd`,
    if not by themselves in the working directory. The budget counts from when the run `started`.
    """
    started = time.monotonic() if started is None else started
    planned = plan_inputs(inputs, config, rerun, prepare, started + _FOR_READING * config.budget)
    unread = {**inputs.unread, **dict.fromkeys(planned.late, _LATE)}
    modules, plans, memory = planned.modules, list(planned.plans.values()), planned.memory
    files = [file for file, _ in inputs.texts.values()]
    around = EvaluationContext(files, inputs.tests, memory, progress, echo, start_for, cwd, started, planned.snippets)
    evaluated = evaluate(plans, modules, config, around)
    kept = check_locks(inputs.lock, inputs.paths, config, progress)
    judgement = judge_run(modules, evaluated, config)
    whole = report(modules, evaluated, judgement, kept, config, tuple(sorted(unread.items())))
    found = with_cells(whole, inputs.notebooks)
    if rerun is not None and memory is not None and not unread and not found.bugs:
        alias_files = {os.path.realpath(file) for module in modules.values() for file in module.alias_files}
        if kept is None:
            rerun.keep(found, memory, found.python, alias_files)
        elif kept.complete:
            rerun.keep(found, memory, found.python or kept.python, {*alias_files, *kept.files}, kept.sites)
    return CheckedProject(report=found, modules=modules, evaluated=evaluated, judgement=judgement)
