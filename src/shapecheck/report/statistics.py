"""`--statistics`: how often each rule was broken."""

from __future__ import annotations

from collections import Counter

from shapecheck.model import Report
from shapecheck.rules import RULES


def render(report: Report) -> str:
    """A line for each code that was found, the most frequent first."""
    counts = Counter(finding.code for finding in report.findings)
    width = len(str(max(counts.values(), default=0)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:>{width}}  {code}  {RULES[code].name}\n" for code, count in ordered)
