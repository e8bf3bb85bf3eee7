"""The closing lines: what became of the claims, and whether "no problems" means anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from shapecheck.model import LockCounts, Report, Summary
from shapecheck.report.terminal_text import Part, paint, visible
from shapecheck.rules import RULES

_GROUPS = 8


def render(
    report: Report,
    *,
    show_unreached: bool = False,
    show_assumptions: bool = False,
    quiet: bool = False,
    color: bool = False,
) -> str:
    """The summary. If `quiet`, only what must not go unnoticed: what was not checked."""
    lines = list(_warning_lines(report))
    if not quiet:
        loose = _unnamed_dims_lines(report) if show_unreached else ()
        lines = [
            *_claims(report),
            *_tests(report),
            *(_lock(report.lock) if report.lock is not None else ()),
            *_reasons(report, show_unreached),
            *loose,
            *(_assumption_lines(report) if show_assumptions else ()),
            *lines,
            *_verdict(report),
        ]
    return paint(lines, color=color)


def of_lock(lock: LockCounts, *, color: bool = False) -> str:
    """How the lock compares, on a line of its own."""
    return paint([*_lock(lock)], color=color)


def statistics(report: Report) -> str:
    """`--statistics`: a line for each code that was found, the most frequent first."""
    counts = Counter(finding.code for finding in report.findings)
    width = len(str(max(counts.values(), default=0)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:>{width}}  {code}  {RULES[code].name}\n" for code, count in ordered)


def nothing_verified(report: Report) -> bool:
    """Say whether there were claims, and the run could judge none of them."""
    counts = report.summary
    return counts.total > 0 and counts.verified + counts.mismatched == 0


def _claims(report: Report) -> Iterator[tuple[Part, ...]]:
    counts = report.summary
    if not counts.total:
        parsed = report.files - report.unparsed
        if parsed:
            yield ((f"No shape claims found in {_count(parsed, 'file')}.", "warning"),)
        elif not report.files:
            yield (("No Python files found: nothing was checked.", "warning"),)
        return
    firmly = _firmly(counts)
    general = [f"{counts.verified_for_all_sizes} for all sizes"] if firmly else []
    if counts.verified_on_alias:
        general.append(f"{counts.verified_on_alias} on an alias")
    if counts.verified_on_invention:
        general.append(f"{counts.verified_on_invention} on an invention")
    how = f" ({', '.join(general)})" if general else ""
    ranks = [f"{counts.verified_loosely} in rank alone"] if counts.verified_loosely else []
    declared = counts.unreached_declarations
    where = f" ({declared} in declarations, which never run)" if declared else ""
    others = [
        f"{counts.mismatched} mismatched",
        f"{counts.tentative} tentative",
        f"{counts.unreached} unreached{where}",
    ]
    text = ", ".join([f"{_count(counts.total, 'claim')}: {firmly} verified{how}", *ranks, *others])
    yield ((text, "bold"),)


def _firmly(counts: Summary) -> int:
    """How many claims were verified, those of which nothing but the rank was shown apart."""
    return counts.verified - counts.verified_loosely


def _tests(report: Report) -> Iterator[tuple[Part, ...]]:
    tests = report.tests
    if tests is not None:
        parts = [f"{tests.ok} evaluated to the end", f"{tests.stopped} stopped", f"{tests.skipped} skipped"]
        yield ((f"{_count(tests.collected, 'test')}: {', '.join(parts)}", ""),)
        for problem in tests.problems[:_GROUPS]:
            yield ((f"  problem: {visible(problem)}", "warning"),)
        if len(tests.problems) > _GROUPS:
            yield ((f"  and {_count(len(tests.problems) - _GROUPS, 'more problem')}", "warning"),)
    cut = [_count(tests.cut, "test")] if tests is not None and tests.cut else []
    cut += [f"{report.cut} models and functions"] if report.cut else []
    if cut:
        text = f"The time for the whole run was over before {' and '.join(cut)} (--budget SECONDS allows more)."
        yield ((text, "warning"),)


def _lock(lock: LockCounts) -> Iterator[tuple[Part, ...]]:
    text = f"{_count(lock.templates, 'template')} in {lock.path}: {_count(lock.stages, 'stage')}, "
    if lock.failed:
        yield ((f"{_count(lock.failed, 'template')} in {lock.path} cannot be evaluated.", "error"),)
    if not lock.templates:
        return
    if lock.differences:
        hint = "(if they are meant: shapecheck template --write-lock)"
        yield ((f"{text}{_count(lock.differences, 'difference')} {hint}", "warning"),)
    else:
        yield ((f"{text}no difference", ""),)


def _reasons(report: Report, show_unreached: bool) -> Iterator[tuple[Part, ...]]:
    if not report.unreached:
        return
    if show_unreached:
        yield (("Unreached:", ""),)
        for each in sorted(report.unreached, key=lambda at: (at.path, at.line, at.reason)):
            yield ((f"  {visible(each.path)}:{each.line}: {visible(each.reason)}", ""),)
        return
    groups = Counter(each.reason for each in report.unreached)
    first: dict[str, str] = {}
    for each in sorted(report.unreached, key=lambda at: (at.path, at.line)):
        first.setdefault(each.reason, f"{each.path}:{each.line}")
    ordered = sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(ordered[0][1]))
    yield (("Unreached, by reason (--show-unreached lists each):", ""),)
    for reason, count in ordered[:_GROUPS]:
        place = first[reason] if count == 1 else f"first at {first[reason]}"
        yield ((f"  {count:>{width}}  {visible(reason)} ({visible(place)})", ""),)
    rest = ordered[_GROUPS:]
    if rest:
        claims = sum(count for _, count in rest)
        yield ((f"  {claims:>{width}}  for {_count(len(rest), 'more reason')}", ""),)


def _unnamed_dims_lines(report: Report) -> Iterator[tuple[Part, ...]]:
    if report.loose:
        yield (("Verified in rank alone, since any size would do in one place:", ""),)
    for each in report.loose:
        yield ((f"  {visible(each.path)}:{each.line}: {visible(each.reason)}", ""),)


def _assumption_lines(report: Report) -> Iterator[tuple[Part, ...]]:
    if not report.resting:
        yield (("No verified claim rests on an assumption.", ""),)
        return
    yield (("Verified on assumptions (--output-format json has them in parts):", ""),)
    for each in report.resting:
        rests = "; ".join(map(str, each.assumptions))
        yield ((f"  {visible(each.path)}:{each.line}: {visible(each.claim)}: {visible(rests)}", ""),)


def _unread_files(report: Report) -> Iterator[tuple[Part, ...]]:
    """One line for each file or folder, but one for all of those that have many others with the same reason."""
    counts = Counter(reason for _, reason in report.unread)
    named: set[str] = set()
    for path, reason in report.unread:
        if counts[reason] <= _GROUPS:
            yield ((f"Not checked: {visible(path)}: {visible(reason)}", "warning"),)
        elif reason not in named:
            named.add(reason)
            text = f"Not checked: {counts[reason]} files, {visible(path)} the first: {visible(reason)}"
            yield ((text, "warning"),)


def _warning_lines(report: Report) -> Iterator[tuple[Part, ...]]:
    if (shard := report.shard) is not None:
        done = f"{shard.taken} of {shard.taken + shard.left} tests, models and functions"
        left = f"{shard.left} left to other shards" if shard.total > 1 else "and none left to others"
        final = "findings are final once `shapecheck merge` has joined all blobs"
        yield ((f"Shard {shard.number}/{shard.total}: {done}, {left}; {final}.", ""),)
    for note in report.notes:
        yield ((visible(note), "warning"),)
    if report.unparsed:
        them = "it" if report.unparsed == 1 else "them"
        text = f"{_count(report.unparsed, 'file')} could not be parsed"
        yield ((f"{text}: nothing in {them} was checked or counted (SC104).", "error"),)
    yield from _unread_files(report)
    if not nothing_verified(report):
        return
    counts = report.summary
    parts = []
    if counts.unreached:
        parts.append(f"{counts.unreached} unreached")
    if counts.tentative:
        parts.append(f"{counts.tentative} tentative and not confirmed")
    yield (
        (
            f"Nothing was verified: of {_count(counts.total, 'claim')}, {', '.join(parts) or 'none was judged'}.",
            "error",
        ),
    )
    if report.remedy:
        for line in report.remedy.rstrip("\n").split("\n"):
            yield ((visible(line), ""),)


def _verdict(report: Report) -> Iterator[tuple[Part, ...]]:
    levels = Counter(finding.severity for finding in report.findings)
    problems = levels["error"] + levels["warning"]
    hidden = [f"{report.suppressed} suppressed"] if report.suppressed else []
    hidden += [f"{report.baselined} in the baseline"] if report.baselined else []
    tail = f" ({', '.join(hidden)})" if hidden else ""
    if problems:
        warnings = f", {_count(levels['warning'], 'warning')}" if levels["warning"] else ""
        yield ((f"{_count(problems, 'problem')}: {_count(levels['error'], 'error')}{warnings}{tail}", "error"),)
    elif firmly := _firmly(report.summary):
        verified = _count(firmly, "verified claim")
        yield ((f"No problems in {verified}{tail}", "good"),)
    elif not nothing_verified(report) and (report.summary.total or tail):
        how = "verified in more than its rank" if report.summary.verified else "verified"
        yield ((f"No problems found, but none of the claims was {how}{tail}", "warning"),)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
