"""Workflow commands, which GitHub Actions shows as annotations beside the code."""

from __future__ import annotations

from shapecheck.files.notebook_source import split_cell_path
from shapecheck.model import Finding, Report
from shapecheck.rules import RULES

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, *, color: bool = False) -> str:
    """One workflow command for each finding; colours make no difference."""
    return "".join(_command(finding) for finding in report.findings)


def _command(finding: Finding) -> str:
    span = finding.span
    # GitHub shows what stands in a notebook's cell at the file: it knows no cells.
    properties = {"file": split_cell_path(finding.path)[0], "line": str(span.line), "endLine": str(span.end_line)}
    if span.line == span.end_line:  # GitHub takes columns on one line only
        properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    properties["title"] = f"{finding.code} {RULES[finding.code].name}"
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = "\n".join((finding.message, *finding.details))
    return f"::{_COMMAND[finding.severity]} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape what would end the command; other line breaks that Python or a terminal knows mean nothing to it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
