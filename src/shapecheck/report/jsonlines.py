"""A JSON object a line, one for each finding."""

from __future__ import annotations

import json

from shapecheck.model import Report
from shapecheck.report.json import finding_object


def render(report: Report, *, color: bool = False) -> str:
    """The findings as JSON lines, in ASCII; colours make no difference."""
    return "".join(json.dumps(finding_object(finding)) + "\n" for finding in report.findings)
