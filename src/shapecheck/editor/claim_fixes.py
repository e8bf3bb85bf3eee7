"""Edits that put right what a finding is about: what `--fix` has, and for a false claim the shape that is true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapecheck.model import Edit, Finding, Module, Span

_SHAPE_CODES = ("SC201", "SC202", "SC203", "SC204", "SC205", "SC207")
_DIMS = re.compile(r"(?P<before>[^(\[]*)(?P<open>[(\[])(?P<dims>[^()\[\]]*)(?P<close>[)\]])(?P<after>.*)", re.DOTALL)
_ANNOTATION = re.compile(
    r"(?P<before>.*?\[[^\"']*)(?P<quote>[\"'])(?P<dims>[^\"']*)(?P=quote)(?P<after>\s*\])", re.DOTALL
)


def true_shape(finding: Finding, module: Module) -> Edit | None:
    """What writes the observed shape in place of the claimed one; None where that is not plain to do."""
    if finding.code not in _SHAPE_CODES or not finding.observed.startswith("("):
        return None
    dims = [_plain_dim(dim) for dim in finding.observed[1:-1].split(",") if dim.strip()]
    if any(dim is None for dim in dims):
        return None
    text = _text_at(module.lines, finding.span)
    if finding.claimed not in text:
        return None
    before, _, after = text.partition(finding.claimed)
    fixed = _with_dims(finding.claimed, [dim for dim in dims if dim is not None])
    return Edit(finding.span, f"{before}{fixed}{after}") if fixed is not None else None


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


def _plain_dim(text: str) -> str | None:
    """A dim as one writes it: the name of `heads=4`, else the number or the expression."""
    name = text.strip().partition("=")[0]
    # JAX writes `floordiv(t, 2)`, which is no notation for claims.
    return name if re.fullmatch(r"[\w*/+\- ]+", name) else None


def _with_dims(claim: str, dims: Sequence[str]) -> str | None:
    """The claim in its own notation, with other dims."""
    annotation = _ANNOTATION.fullmatch(claim)
    if annotation is not None:
        if any(" " in dim for dim in dims):
            dims = [dim.replace(" ", "") for dim in dims]
        quote = annotation["quote"]
        return f"{annotation['before']}{quote}{' '.join(dims)}{quote}{annotation['after']}"
    found = _DIMS.fullmatch(claim)
    if found is None or "->" in claim:
        return None
    inner = ", ".join(dims)
    if len(dims) == 1 and found["open"] == "(":
        inner += ","
    return f"{found['before']}{found['open']}{inner}{found['close']}{found['after']}"


def edits_of(finding: Finding, module: Module) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """All that mends a finding, the surest first, each with its title."""
    if len(finding.fix) == 1 and finding.code.startswith("SC2"):
        yield f"Write the true shape: {finding.fix[0].replacement}", finding.fix
    elif finding.fix:
        yield f"Fix {finding.code}", finding.fix
    shape = true_shape(finding, module) if not finding.fix else None
    if shape is not None:
        yield f"Write the true shape: {shape.replacement}", (shape,)
    name = corrected_name(finding, module)
    if name is not None:
        yield f"Correct the name: {name.replacement}", (name,)
