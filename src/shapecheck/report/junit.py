"""JUnit XML, which CI systems show as test results."""

from __future__ import annotations

import re

from shapecheck.model import Finding, Report
from shapecheck.rules import RULES

# all that XML 1.0 does not allow, even escaped
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, *, color: bool = False) -> str:
    """One test suite: a failure for each error and warning, a skipped case for each note, or one case that passes.

    Written in ASCII, so that no encoding can break it; colours make no difference.
    """
    cases = [_case(finding) for finding in report.findings]
    if not cases:
        cases = [f'    <testcase name="shapecheck" classname="shapecheck">\n{_summary(report)}    </testcase>\n']
    notes = sum(finding.severity == "note" for finding in report.findings)
    counts = f'tests="{len(cases)}" failures="{len(report.findings) - notes}" errors="0" skipped="{notes}"'
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="shapecheck" {counts}>\n  <testsuite name="shapecheck" {counts}>\n'
        f"{''.join(cases)}  </testsuite>\n</testsuites>\n"
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _case(finding: Finding) -> str:
    place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
    head = (
        f"    <testcase name={_attribute(f'{finding.code} {RULES[finding.code].name} {place}')} "
        f'classname={_attribute(finding.path)} file={_attribute(finding.path)} line="{finding.span.line}">\n'
    )
    message = _attribute(finding.message)
    if finding.severity == "note":
        return f"{head}      <skipped message={message}/>\n    </testcase>\n"
    text = _text("\n".join((f"{place}: {finding.code} {finding.message}", *finding.details)))
    return f'{head}      <failure type="{finding.code}" message={message}>{text}</failure>\n    </testcase>\n'


def _summary(report: Report) -> str:
    counts = report.summary
    text = f"{counts.total} claims, {counts.verified} verified, {counts.unreached} unreached"
    return f"      <system-out>{text}</system-out>\n"


def _text(text: str) -> str:
    legal = _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return legal.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _attribute(text: str) -> str:
    # a parser turns white space in attributes into blanks unless it is written as a reference
    return '"' + _text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;") + '"'
