"""Edits that put right what a finding is about: what `--fix` has, the name that was meant, or an `ignore` comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapecheck.model import Edit, Finding, Module, Span


def corrected_name(finding: Finding, module: Module) -> Edit | None:
    """What corrects the slip of the pen that SC103 is about."""
    if finding.code != "SC103":
        return None
    for near in module.near_names:
        if module.claims[near.claim].span == finding.span and f"dim {near.name}:" in finding.message:
            text = _text_at(module.lines, finding.span)
            return Edit(finding.span, re.sub(rf"\b{re.escape(near.name)}\b", near.nearest, text))
    return None


def ignore_comment(finding: Finding, module: Module) -> Edit:
    """What silences the rule on the finding's line: a comment, or a further code in the one that is there."""
    line = finding.span.line
    text = module.lines[line - 1] if line <= len(module.lines) else ""
    for suppression in module.suppressions:
        if suppression.line == line and suppression.codes:
            codes = ", ".join((*suppression.codes, finding.code))
            return Edit(suppression.span, f"# shapecheck: ignore[{codes}]")
    end = len(text.rstrip())
    return Edit(Span(line, end + 1, line, end + 1), f"  # shapecheck: ignore[{finding.code}]")


def _text_at(lines: Sequence[str], span: Span) -> str:
    chosen = list(lines[span.line - 1 : span.end_line])
    chosen[-1] = chosen[-1][: span.end_column - 1]
    chosen[0] = chosen[0][span.column - 1 :]
    return "\n".join(chosen)


def edits_of(finding: Finding, module: Module) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """All that mends a finding, the surest first, each with its title."""
    if len(finding.fix) == 1 and finding.code.startswith("SC2"):
        yield f"Write the true shape: {finding.fix[0].replacement}", finding.fix
    elif finding.fix:
        yield f"Fix {finding.code}", finding.fix
    name = corrected_name(finding, module)
    if name is not None:
        yield f"Correct the name: {name.replacement}", (name,)
