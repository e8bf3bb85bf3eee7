"""SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
from pathlib import PurePath
from urllib.parse import quote

from shapecheck import __version__
from shapecheck.files.notebook_source import split_cell_path
from shapecheck.model import Finding, Report, Span
from shapecheck.rules import RULES, Rule
from shapecheck.verdicts.baseline import hash_findings

_ROOT = "SRCROOT"


def render(report: Report, *, color: bool = False) -> str:
    """The report as SARIF, in ASCII; colours make no difference."""
    marks = hash_findings(report.findings, dict(report.sources))
    run = {
        "tool": {
            "driver": {
                "name": "shapecheck",
                "version": __version__,
                "rules": [_rule(rule) for rule in RULES.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        # without a uri: the report does not tell where on whose machine it was made
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which shapecheck was run."}}},
        "results": [_result(finding, mark) for finding, mark in zip(report.findings, marks, strict=True)],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, object]:
    example = f"Gives {rule.code}:\n\n{rule.bad}\nGives nothing:\n\n{rule.good}"
    markdown = f"Gives {rule.code}:\n\n```python\n{rule.bad}```\n\nGives nothing:\n\n```python\n{rule.good}```\n"
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ").capitalize()},
        "fullDescription": {"text": rule.why},
        "help": {"text": example, "markdown": markdown},
        "defaultConfiguration": {"level": rule.severity, **({"enabled": False} if rule.optional else {})},
    }


def _result(finding: Finding, mark: str) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": list(RULES).index(finding.code),
        "level": finding.severity,
        "message": {"text": _plain("\n".join((finding.message, *finding.details)))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _location(finding.path),
                    "region": _region(finding.span),
                }
            }
        ],
        "partialFingerprints": {"shapecheck/v1": mark},
    }
    if finding.fix and not split_cell_path(finding.path)[1]:  # whose lines are not those of the file
        replacements = [
            {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.replacement}} for edit in finding.fix
        ]
        change = {"artifactLocation": _location(finding.path), "replacements": replacements}
        words = "Change the annotation (unsafe)" if finding.unsafe_fix else "Write what is true"
        result["fixes"] = [{"description": {"text": words}, "artifactChanges": [change]}]
    return result


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _plain(text: str) -> str:
    """Double the braces, which in SARIF's messages stand for arguments (section 3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")


def _location(path: str) -> dict[str, str]:
    pure = PurePath(split_cell_path(path)[0])
    # a name that is not UTF-8 came in with surrogates, and goes out as the bytes that it is
    uri = quote(pure.as_posix().encode("utf-8", "surrogateescape"))
    if pure.is_absolute():
        return {"uri": f"file://{uri}" if uri.startswith("/") else f"file:///{uri}"}
    return {"uri": uri, "uriBaseId": _ROOT}
