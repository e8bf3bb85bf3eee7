"""Several packages in one run: each by its own configuration and in its own environment, in one report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from shapecheck.commands.evaluation import finding_order
from shapecheck.config import Config
from shapecheck.model import LockCounts, Reach, Report, ShardShare, Summary, TestCounts

_Counts = TypeVar("_Counts", Summary, Reach)


def by_configuration(paths: Sequence[Path], load: Callable[[Path], Config]) -> list[tuple[Config, tuple[Path, ...]]]:
    """The paths that one `[tool.shapecheck]` table is for, together, in the order in which they are given."""
    found: dict[Path | None, tuple[Config, list[Path]]] = {}
    for path in paths:
        config = load(path)
        found.setdefault(config.file, (config, []))[1].append(path)
    return [(config, tuple(of_it)) for config, of_it in found.values()]


def join_reports(reports: Sequence[Report]) -> Report:
    """One report of all packages: what each has, one package after the other, and their counts together."""
    first, *others = reports
    if not others:
        return first
    tests = [each.tests for each in reports if each.tests is not None]
    locks = [each.lock for each in reports if each.lock is not None]
    shares = [each.shard for each in reports if each.shard is not None]
    summary = _sum(Summary, [each.summary for each in reports])
    sources = {path: lines for each in reports for path, lines in each.sources}
    return Report(
        findings=tuple(sorted((finding for each in reports for finding in each.findings), key=finding_order)),
        summary=summary,
        unreached=tuple(claim for each in reports for claim in each.unreached),
        entries=tuple(entry for each in reports for entry in each.entries),
        files=sum(each.files for each in reports),
        remedy="" if summary.verified else next((each.remedy for each in reports if each.remedy), ""),
        suppressed=sum(each.suppressed for each in reports),
        baselined=sum(each.baselined for each in reports),
        sources=tuple(sorted(sources.items())),
        unparsed=sum(each.unparsed for each in reports),
        python=", ".join(dict.fromkeys(each.python for each in reports if each.python)),
        tests=_sum_tests(tests) if tests else None,
        cut=sum(each.cut for each in reports),
        functions=_sum(Reach, [each.functions for each in reports]),
        broken=tuple(dict.fromkeys(text for each in reports for text in each.broken)),
        unread=tuple(sorted({pair for each in reports for pair in each.unread})),
        bugs=tuple(dict.fromkeys(bug for each in reports for bug in each.bugs)),
        resting=tuple(claim for each in reports for claim in each.resting),
        loose=tuple(claim for each in reports for claim in each.loose),
        lock=_sum_locks(locks) if locks else None,
        shard=_sum_shares(shares) if shares else None,
        notes=tuple(dict.fromkeys(note for each in reports for note in each.notes)),
        verified=tuple(
            sorted((claim for each in reports for claim in each.verified), key=lambda at: (at.path, at.line, at.column))
        ),
    )


def _sum(kind: type[_Counts], counts: Sequence[_Counts]) -> _Counts:
    return kind(**{each.name: sum(getattr(count, each.name) for count in counts) for each in fields(kind)})


def _sum_tests(counts: Sequence[TestCounts]) -> TestCounts:
    return TestCounts(
        collected=sum(each.collected for each in counts),
        ok=sum(each.ok for each in counts),
        stopped=sum(each.stopped for each in counts),
        skipped=sum(each.skipped for each in counts),
        cut=sum(each.cut for each in counts),
        problems=tuple(dict.fromkeys(problem for each in counts for problem in each.problems)),
    )


def _sum_shares(shares: Sequence[ShardShare]) -> ShardShare:
    """What one shard did of all packages, each of which is split into as many parts."""
    return ShardShare(
        shares[0].number,
        shares[0].total,
        sum(each.taken for each in shares),
        sum(each.left for each in shares),
        tuple(target for each in shares for target in each.left_targets),
    )


def _sum_locks(counts: Sequence[LockCounts]) -> LockCounts:
    return LockCounts(
        ", ".join(each.path for each in counts),
        sum(each.templates for each in counts),
        sum(each.stages for each in counts),
        sum(each.differences for each in counts),
        sum(each.failed for each in counts),
    )
