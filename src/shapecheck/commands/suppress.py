"""Which findings the user wants to see: ignore comments, --select and --ignore, per-file-ignores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck.config import Config
from shapecheck.model import Finding, Module, Suppression, UnreachedClaim
from shapecheck.rules import RULES


@dataclass(frozen=True)
class SuppressResult:
    """`findings` are those to show, `suppressed` counts the ignore comments' share, `unused` are findings of SC100."""

    findings: tuple[Finding, ...]
    suppressed: int
    unused: tuple[Finding, ...]


def apply(
    findings: Sequence[Finding], modules: Sequence[Module], config: Config, unreached: Sequence[UnreachedClaim] = ()
) -> SuppressResult:
    """Sort out what is not to be shown. An ignore comment counts on the first or the last line of a finding's span.

    An ignore comment on a line with an unreached claim is never called unused: nobody knows yet.
    """
    by_path = {module.path: module.suppressions for module in modules}
    used: set[tuple[str, Suppression, str]] = set()
    ignores = _Ignores(config)
    kept = []
    suppressed = 0
    for finding in findings:
        silencers = [
            (suppression, code)
            for suppression in by_path.get(finding.path, ())
            for code in suppression.codes or ("",)
            if _covers(suppression, finding) and finding.code.startswith(code)
        ]
        used.update((finding.path, suppression, code) for suppression, code in silencers)
        if not ignores.is_selected(finding):
            continue
        if silencers:
            suppressed += 1
        else:
            kept.append(finding)
    unused = _unused_suppressions(by_path, used, ignores, unreached) if config.report_unused_ignores else ()
    return SuppressResult(tuple(kept), suppressed, unused)


def may_show(code: str, config: Config) -> bool:
    """Say whether --select and --ignore let any finding of a rule through; --select has to name an optional one."""
    selected = _longest(code, config.select) if config.select or RULES[code].optional else 0
    return selected > _longest(code, config.ignore)


def _covers(suppression: Suppression, finding: Finding) -> bool:
    span = finding.span
    # a span that ends before the first character of a line has its last character on the line before
    last = span.end_line - (span.end_column <= 1 and span.end_line > span.line)
    return suppression.line is None or suppression.line in (span.line, last)


def _unused_suppressions(
    by_path: Mapping[str, Sequence[Suppression]],
    used: set[tuple[str, Suppression, str]],
    ignores: _Ignores,
    unreached: Sequence[UnreachedClaim],
) -> tuple[Finding, ...]:
    unknown = {(each.path, each.line) for each in unreached}
    unknown_files = {each.path for each in unreached}
    result = []
    for path, suppressions in by_path.items():
        for suppression in suppressions:
            if path in unknown_files if suppression.line is None else (path, suppression.line) in unknown:
                continue
            idle = [code for code in suppression.codes or ("",) if (path, suppression, code) not in used]
            if idle:
                finding = _unused_finding(path, suppression, idle)
                if not ignores.is_ignored(finding):
                    result.append(finding)
    return tuple(result)


def _unused_finding(path: str, suppression: Suppression, idle: Sequence[str]) -> Finding:
    place = "in this file" if suppression.line is None else "on this line"
    if idle == [""]:
        reason = f"there is nothing to ignore {place}"
    else:
        reason = f"there is no {' or '.join(idle)} to ignore {place}"
        unknown = [code for code in idle if not any(each.startswith(code) for each in RULES)]
        if unknown:
            reason += f" ({', '.join(unknown)} is no rule)"
    rule = RULES["SC100"]
    return Finding(
        code=rule.code,
        severity=rule.severity,
        path=path,
        span=suppression.span,
        message=rule.message.format(reason=reason),
    )


class _Ignores:
    """--select, --ignore and per-file-ignores, ready to be asked."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.files: dict[str, tuple[str, ...]] = {}

    def is_selected(self, finding: Finding) -> bool:
        """Say whether --select takes the finding, and nothing ignores it.

        Of --select and --ignore the longer beginning of a code wins, --ignore where they are equal.
        """
        return may_show(finding.code, self.config) and _longest(finding.code, self._per_file(finding.path)) < 0

    def is_ignored(self, finding: Finding) -> bool:
        """Say whether --ignore or per-file-ignores name the finding's code, whatever --select says."""
        codes = (*self.config.ignore, *self._per_file(finding.path))
        return _longest(finding.code, codes) >= 0

    def _per_file(self, path: str) -> tuple[str, ...]:
        if not self.config.per_file_ignores:
            return ()
        if path not in self.files:
            from pathspec import GitIgnoreSpec  # noqa: PLC0415  # only who configures it pays for it

            name = Path(os.path.relpath(Path(path).absolute(), self.config.root)).as_posix()
            self.files[path] = tuple(
                code
                for glob, codes in self.config.per_file_ignores
                if GitIgnoreSpec.from_lines([glob]).match_file(name)
                for code in codes
            )
        return self.files[path]


def _longest(code: str, prefixes: Sequence[str]) -> int:
    """Length of the longest of the prefixes that `code` has, -1 if none."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)
