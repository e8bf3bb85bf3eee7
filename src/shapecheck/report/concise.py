"""`path:line:column: CODE message`, a finding a line."""

from __future__ import annotations

from shapecheck.model import Finding, Report
from shapecheck.report.terminal_text import Part, paint, visible


def render(report: Report, *, color: bool = False) -> str:
    """One line for each finding."""
    return paint((headline(finding) for finding in report.findings), color=color)


def headline(finding: Finding) -> tuple[Part, ...]:
    """The line that stands alone, in parts."""
    place = f"{visible(finding.path)}:{finding.span.line}:{finding.span.column}:"
    return ((place, "bold"), (" ", ""), (finding.code, finding.severity), (f" {visible(finding.message)}", ""))
