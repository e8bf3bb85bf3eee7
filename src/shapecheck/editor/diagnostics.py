"""Findings as diagnostics, where they stand in the text as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types

import shapecheck.rules
from shapecheck.editor.positions import EditorText, MovedLines
from shapecheck.model import Finding, JudgedClaim, Severity, Span

SOURCE: Final = "shapecheck"
_SEVERITIES: Final[dict[Severity, types.DiagnosticSeverity]] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_NEEDLESS: Final = ("SC100",)  # what they mark can go


def diagnostics(
    findings: Sequence[Finding], claims: Sequence[JudgedClaim], text: EditorText, moved: MovedLines, uri: str
) -> Iterator[types.Diagnostic]:
    """The findings whose lines are as they were when they were found."""
    bindings = {(claim.span, claim.claim): claim.bindings for claim in claims if claim.verdict == "mismatched"}
    for finding in findings:
        span = moved.span(finding.span)
        if span is None or not text.owns(span.line):
            continue
        related = []
        for bound in bindings.get((finding.span, finding.claimed), ()):
            line = moved.forward(bound.line) if bound.line is not None else None
            if line is not None and line != span.line and text.owns(line):
                size = "" if bound.size == bound.name else f" = {bound.size}"
                location = types.Location(uri=uri, range=_text_of_line(text, line))
                message = f"{bound.name}{size}, from {bound.source}"
                related.append(types.DiagnosticRelatedInformation(location=location, message=message))
        yield types.Diagnostic(
            range=text.range(span),
            message="\n".join((finding.message, *finding.details)),
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(href=rule_page(finding.code)),
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if finding.code in _NEEDLESS else None,
            related_information=related or None,
        )


def rule_page(code: str) -> str:
    """The page of a rule: the file that `shapecheck explain` prints."""
    return (Path(shapecheck.rules.__file__).parent / f"{code}.md").as_uri()


def _text_of_line(text: EditorText, line: int) -> types.Range:
    content = text.lines[line - 1] if line <= len(text.lines) else ""
    start = len(content) - len(content.lstrip())
    return text.range(Span(line, start + 1, line, len(content.rstrip()) + 1))
