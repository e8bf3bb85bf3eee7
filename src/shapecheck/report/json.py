"""The whole report as one JSON object: the format that programs and the tests build on."""

from __future__ import annotations

import json
from dataclasses import asdict

from shapecheck.model import Edit, Finding, Report
from shapecheck.rules import RULES


def render(report: Report, *, color: bool = False) -> str:
    """The report as JSON, in ASCII, sorted, the same for the same report; colours make no difference."""
    document: dict[str, object] = {
        "version": 1,
        "findings": [finding_object(finding) for finding in report.findings],
        "claims": asdict(report.summary),
        "unreached": [asdict(each) for each in sorted(report.unreached, key=lambda at: (at.path, at.line, at.reason))],
        "entries": [asdict(each) for each in report.entries],
        "tests": None if report.tests is None else asdict(report.tests),
        "functions": asdict(report.functions),
        "verified": [asdict(each) for each in report.verified],
        "assumptions": [asdict(each) for each in report.resting],
        "loose": [asdict(each) for each in report.loose],
        "unread": [{"path": path, "reason": reason} for path, reason in report.unread],
        "lock": None if report.lock is None else asdict(report.lock),
    }
    if report.shard is not None:
        document["shard"] = asdict(report.shard)
    return json.dumps(document, indent=2) + "\n"


def finding_object(finding: Finding) -> dict[str, object]:
    """One finding as a JSON object; lines and columns count from 1, the end is exclusive."""
    return {
        "code": finding.code,
        "name": RULES[finding.code].name,
        "severity": finding.severity,
        "path": finding.path,
        "line": finding.span.line,
        "column": finding.span.column,
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "message": finding.message,
        "details": list(finding.details),
        "claimed": finding.claimed,
        "observed": finding.observed,
        "bindings": dict(finding.bindings),
        "stage": finding.stage,
        "fix": [_edit_object(edit) for edit in finding.fix] or None,
        "fix_applicability": ("unsafe" if finding.unsafe_fix else "safe") if finding.fix else None,
    }


def _edit_object(edit: Edit) -> dict[str, object]:
    return {**asdict(edit.span), "replacement": edit.replacement}
