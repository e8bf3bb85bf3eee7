"""What a run does that repeats no earlier one: evaluate the code, compare it with the claims, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shapecheck import files
from shapecheck.commands import suppress
from shapecheck.config import Config, ConfigError
from shapecheck.files import interpreter
from shapecheck.incremental.environment_key import portable_variables
from shapecheck.model import (
    EntryResult,
    Evaluation,
    Finding,
    FunctionKey,
    Module,
    Reach,
    Report,
    ShardShare,
    Snippet,
    is_test_file,
)
from shapecheck.rules import RULES
from shapecheck.verdicts import baseline
from shapecheck.verdicts import findings as reports
from shapecheck.verdicts.contradicted_parts import without_contradicted
from shapecheck.verdicts.denied_functions import denied_functions, denied_notes
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.judge import Verdicts, judge
from shapecheck.verdicts.messages import line_span
from shapecheck.verdicts.unreached import Reasons, remedy
from shapecheck.worker.entry_phase import CUTS
from shapecheck.worker.messages.plans import ConfiguredExample, ModulePlan, WorkerSettings
from shapecheck.worker.result_cache import ResultCache
from shapecheck.worker.shard_outcome import ShardOutcome
from shapecheck.worker.shard_split import Shard
from shapecheck.worker.supervisor import Cluster, ClusterRun, Limits, RunResult, Supervisor, Trouble
from shapecheck.worker.worker_client import WorkerError

if TYPE_CHECKING:
    from shapecheck.commands.lock.lock_check import LockCheck
    from shapecheck.worker.imported_forks import StartFor

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class EvaluationContext:
    """What an evaluation needs besides plans and settings."""

    files: Sequence[Path]
    tests: Sequence[Path]
    memory: ResultCache | None
    progress: Progress | None
    echo: bool
    start_for: StartFor | None = None
    cwd: str = ""
    started: float | None = None  # by time.monotonic
    snippets: Sequence[Snippet] = ()


def evaluate(
    plans: Sequence[ModulePlan],
    modules: Mapping[str, Module],
    config: Config,
    around: EvaluationContext,
) -> RunResult:
    """Nothing is imported where nothing is claimed, nor printed that JAX may trace."""
    supervisor = _supervisor(plans, modules, config, around)
    return RunResult() if supervisor is None else _run(supervisor, config, around)


def evaluate_shard(
    plans: Sequence[ModulePlan], modules: Mapping[str, Module], config: Config, around: EvaluationContext, shard: Shard
) -> ShardOutcome:
    """The same for a part of what there is to evaluate, with all that it showed."""
    supervisor = _supervisor(plans, modules, config, around, shard)
    if supervisor is None:
        return ShardOutcome()
    _run(supervisor, config, around)
    return supervisor.outcome()


def _run(supervisor: Supervisor, config: Config, around: EvaluationContext) -> RunResult:
    try:
        return supervisor.run(interpreter.candidates(str(config.python) if config.python else None, around.files))
    except WorkerError as error:
        raise ConfigError(str(error)) from error


def _supervisor(
    plans: Sequence[ModulePlan],
    modules: Mapping[str, Module],
    config: Config,
    around: EvaluationContext,
    shard: Shard | None = None,
) -> Supervisor | None:
    to_import = [p.path for p in plans if _worth_importing(modules[p.path], p)]
    if not any(modules[p.path].claims or p.claimed for p in plans):
        return None
    examples = tuple(
        ConfiguredExample(
            call=e.call, init=e.init, args=e.args, kwargs=e.kwargs, method=e.method, script=e.script, argv=e.argv
        )
        for e in config.examples
    )
    settings = WorkerSettings(
        memory=config.memory,
        script_limit=config.test_timeout,
        sizes=dict(config.sizes),
        examples=examples,
        config_file=files.shown_path(config.file) if config.file else "",
        snippets=tuple(around.snippets),
    )
    return Supervisor(
        plans,
        to_import,
        settings,
        limits=Limits(
            config.timeout, config.test_timeout, time_to_evaluate(config.budget, modules.values()), config.workers
        ),
        cwd=Path(around.cwd or Path.cwd()),
        tests=around.tests,
        progress=around.progress,
        memory=around.memory,
        echo=around.echo,
        started=around.started,
        start=around.start_for(plans, to_import, settings) if around.start_for is not None else None,
        shard=shard,
        cluster_for=_cluster_for(config),
    )


_TO_REPORT = 0.0008  # seconds that a claim takes once all is evaluated: its verdict, and to keep what was seen of it
_MOST_TO_REPORT = 0.15  # of the budget


def time_to_evaluate(budget: float, modules: Iterable[Module]) -> float:
    """When evaluation has to end, so that the verdicts of all claims are there within the budget."""
    claims = sum(len(module.claims) for module in modules)
    return budget - min(_TO_REPORT * claims, _MOST_TO_REPORT * budget)


def _cluster_for(config: Config) -> Callable[[ClusterRun], Cluster] | None:
    if config.executor is None:
        return None
    from shapecheck.worker.dask_cluster import DaskCluster  # noqa: PLC0415  # most runs are on one machine

    return partial(DaskCluster, config.executor, portable_variables())


def _broken(evaluated: RunResult) -> Iterator[str]:
    """The examples that are wrong by themselves, in words."""
    for run in evaluated.runs:
        for evaluation in run:
            if evaluation.origin in ("config", "script", "example") and evaluation.status == "failed":
                line = f":{evaluation.line}" if evaluation.origin == "example" else ""
                yield f"{evaluation.path}{line}: {evaluation.target}: {evaluation.reason.removeprefix('example: ')}"


_NEVER_IMPORTED = ("__main__.py", "setup.py", "conftest.py")
_MORE_TIME = "There was no time for it: --budget SECONDS allows more."


def _worth_importing(module: Module, plan: ModulePlan) -> bool:
    """Files with claims, with prints of what JAX may trace, or with examples; others only as these import them."""
    name = module.path.rpartition("/")[2]
    if name in _NEVER_IMPORTED:
        return False
    return bool(module.claims or plan.claimed) or any(
        "shapecheck" in line and "example" in line for line in module.lines
    )


def check_locks(
    lock: Path | None, paths: Sequence[Path], config: Config, progress: Progress | None
) -> LockCheck | None:
    """The lock's templates of what lies under the paths against what is, if anybody wants to know."""
    codes = ("SC501", "SC502", "SC503")
    if lock is None or not lock.is_file() or not any(suppress.may_show(code, config) for code in codes):
        return None
    from shapecheck.commands.lock import lock_check, lock_paths  # noqa: PLC0415 - most projects have no lock

    kept = [each for each in lock_paths.read_lock(lock) if lock_paths.is_under(each, lock, paths)]
    return lock_check.check(lock, kept, config, progress) if kept else None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How the claims ended: the verdicts, which of them may be reported, and why the others were not reached."""

    every_run: Sequence[Sequence[Evaluation]]
    runs: Sequence[Sequence[Evaluation]]  # those that show something of claims
    verdicts: Verdicts
    sure: set[ClaimKey]
    denied: Mapping[FunctionKey, tuple[ClaimKey, ...]]  # of functions of which nothing that their words say holds
    troubles: Mapping[str, str]
    reasons: Reasons


def judge_run(
    modules: Mapping[str, Module], evaluated: RunResult, config: Config, *, is_shard: bool = False
) -> Judgement:
    """Hold the claims against what evaluation showed; of a shard, others may have reached what it did not."""
    every_run: Sequence[Sequence[Evaluation]] = evaluated.runs
    runs = reports.runs_for_claims(every_run)
    verdicts = judge(modules, runs)
    trusted = without_contradicted(modules, every_run, verdicts)
    if trusted is not every_run:
        every_run, runs = trusted, reports.runs_for_claims(trusted)
        verdicts = judge(modules, runs)
    troubles = _troubles(modules, evaluated.troubles)
    sure = reports.reportable(modules, verdicts, config.strict_comments)
    denied = {} if config.strict_comments else denied_functions(modules, verdicts, sure)
    return Judgement(
        every_run=every_run,
        runs=runs,
        verdicts=verdicts,
        sure=sure.difference(*denied.values()),
        denied=denied,
        troubles=troubles,
        reasons=Reasons(modules, runs, troubles, verdicts, shared=is_shard),
    )


def report(
    modules: Mapping[str, Module],
    evaluated: RunResult,
    judgement: Judgement,
    locked: LockCheck | None,
    config: Config,
    unread: tuple[tuple[str, str], ...] = (),
    share: ShardShare | None = None,
) -> Report:
    """What claims and observations come to; `unread` are files and folders that cannot be read, and why.

    Where that is the `share` of one shard, what it did not reach may be what others reach.
    """
    runs, verdicts, sure = judgement.runs, judgement.verdicts, judgement.sure
    counted = reports.tally(modules, verdicts, sure, judgement.reasons)
    summary, unreached = counted.summary, counted.unreached
    findings = reports.findings(modules, judgement.every_run, verdicts, sure)
    findings += denied_notes(modules, verdicts, judgement.denied)
    findings += reports.stops(modules, runs, unreached, sure & verdicts.bad.keys(), findings)
    ended = {(each.path, each.span.line) for each in findings if each.code in ("SC301", "SC305")}
    troubles = _trouble_findings(modules, evaluated.troubles)
    findings += [each for each in troubles if (each.path, each.span.line) not in ended]  # which says it better
    findings += locked.findings if locked is not None else []
    outcome = suppress.apply(findings, list(modules.values()), config, unreached)
    sources = {path: module.lines for path, module in modules.items()}
    sources = {**(locked.lines if locked is not None else {}), **sources}
    # Another shard may have what an ignore comment is there for.
    unused = outcome.unused if share is None else ()
    kept, baselined = tuple(sorted({*outcome.findings, *unused}, key=finding_order)), 0
    if config.baseline is not None:
        kept, baselined = baseline.filter(kept, sources, config.baseline)
    hint = ""
    if share is None and summary.total > 0 and summary.verified == 0 and not (evaluated.bugs or verdicts.bugs):
        late = evaluated.cut or any(trouble.reason in CUTS for trouble in evaluated.troubles)
        hint = _MORE_TIME if late else remedy(modules, judgement.troubles, evaluated.python)
    return Report(
        findings=kept,
        summary=summary,
        unreached=unreached,
        entries=(
            *(_entry(e) for run in evaluated.runs for e in run if e.origin != "module"),
            *(locked.entries if locked is not None else ()),
        ),
        files=len(modules),
        remedy=hint,
        suppressed=outcome.suppressed,
        baselined=baselined,
        sources=tuple((path, sources[path]) for path in sorted(sources)),
        unparsed=sum(not module.parsed for module in modules.values()),
        python=evaluated.python,
        tests=evaluated.tests,
        cut=evaluated.cut,
        functions=_reach(modules, evaluated),
        broken=(
            *dict.fromkeys(_broken(evaluated)),
            *(locked.broken if locked is not None else ()),
            *evaluated.failures,
        ),
        bugs=(*evaluated.bugs, *verdicts.bugs),
        unread=unread,
        resting=counted.resting,
        loose=counted.loose,
        lock=locked.counts if locked is not None else None,
        verified=counted.verified,
        shard=share,
    )


def _reach(modules: Mapping[str, Module], evaluated: RunResult) -> Reach:
    """How far evaluation came, in functions."""
    functions: set[FunctionKey] = set()
    claimed: set[FunctionKey] = set()
    annotated: set[FunctionKey] = set()
    for path, module in modules.items():
        if is_test_file(path) or os.path.basename(path) == "conftest.py":
            continue
        functions |= {(path, scope.index) for scope in module.scopes if scope.kind == "function"}
        for claim in module.claims:
            places = {(path, module.sites[site].scope) for site in claim.sites}
            claimed |= places
            annotated |= places if claim.notation == "annotation" else set()
    claimed, annotated = claimed & functions, annotated & functions
    return Reach(
        total=len(functions),
        reached=len(functions & evaluated.touched),
        claimed=len(claimed),
        claimed_reached=len(claimed & evaluated.touched),
        annotated=len(annotated),
        annotated_reached=len(annotated & evaluated.touched),
    )


def _troubles(modules: Mapping[str, Module], troubles: Sequence[Trouble]) -> dict[str, str]:
    words = {"SC303": "the import failed: ", "SC304": "the import stopped the worker: ", "": ""}
    found = {t.path: f"{words[t.code]}{t.reason}" for t in troubles if t.is_whole_module}
    for path, module in modules.items():
        unread = next((p.message for p in module.problems if not p.code), None)
        if unread is not None and not module.claims:
            found[path] = unread
        name = path.rpartition("/")[2]
        if name in _NEVER_IMPORTED:
            found[path] = f"{name} is not imported, since it may act at once"
    return found


def _trouble_findings(modules: Mapping[str, Module], troubles: Sequence[Trouble]) -> list[Finding]:
    found = []
    for trouble in (each for each in troubles if each.code):
        rule = RULES[trouble.code]
        message = rule.message.format(module=trouble.subject, target=trouble.subject, reason=trouble.reason)
        if trouble.path in modules:
            span = line_span(modules[trouble.path].lines, trouble.line)
            found.append(Finding(code=rule.code, severity=rule.severity, path=trouble.path, span=span, message=message))
    for module in modules.values():
        for problem in module.problems:
            if not problem.code:
                found.append(
                    Finding(code="SC303", severity="note", path=module.path, span=problem.span, message=problem.message)
                )
    return found


def _entry(evaluation: Evaluation) -> EntryResult:
    return EntryResult(evaluation.target, evaluation.origin, evaluation.mode, evaluation.status, evaluation.reason)


def finding_order(finding: Finding) -> tuple[str, int, int, str, str]:
    """By which findings are sorted: where they are, then what they are."""
    return finding.path, finding.span.line, finding.span.column, finding.code, finding.message
