"""What is known of a line: the values on it with their shapes, and of a claim what it means and on what it rests."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from shapecheck.editor.file_result import FileResult, ShownValue
from shapecheck.editor.positions import EditorText, MovedLines
from shapecheck.model import JudgedClaim, Span

_MOST_STAGES = 3  # of which a value is shown
_HOW = {
    "all sizes": "holds for all sizes",
    "seen sizes": "holds for the sizes that were seen",
    "rank alone": "holds, but shows only the number of axes: nothing else binds its names",
}


def hover(result: FileResult, text: EditorText, moved: MovedLines, position: types.Position) -> types.Hover | None:
    """The claim under the cursor, else the values and claims of its line."""
    line, column = text.place(position)
    old = moved.back(line)
    if old is None:
        return None
    here = [claim for claim in result.claims if claim.span.line <= old <= claim.span.end_line]
    pointed = [claim for claim in here if _contains(claim.span, old, column)]
    parts = [part for claim in pointed[:1] for part in _describe_claim(claim)]
    if not pointed:
        parts += _describe_values(result.values.get(old, ()))
        parts += [_brief(claim) for claim in here]
    if not parts:
        return None
    where = text.range(moved.span(pointed[0].span) or pointed[0].span) if pointed else text.line_range(line)
    return types.Hover(
        contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value="\n\n".join(parts)), range=where
    )


def class_at(result: FileResult, text: EditorText, moved: MovedLines, position: types.Position) -> str | None:
    """The class whose name in its definition the cursor is on."""
    line, column = text.place(position)
    for scope in result.module.scopes:
        if scope.kind == "class" and scope.position is not None and moved.forward(scope.position.line) == line:
            start = text.lines[line - 1].find(scope.qualname) + 1
            if start and start <= column <= start + len(scope.qualname):
                return scope.qualname
    return None


def _contains(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _describe_values(values: tuple[ShownValue, ...]) -> Iterator[str]:
    by_label: dict[str, list[ShownValue]] = {}
    for value in values:
        by_label.setdefault(value.place.label, []).append(value)
    for label, shown in by_label.items():
        lines = [f"{label}: {shown[0].shapes}"]
        stages = [value for value in shown if value.stage]
        others = [v for v in shown[1:] if v.shapes != shown[0].shapes][: _MOST_STAGES - 1]
        lines += [f"{label}: {value.shapes}  # in {value.stage or value.function}" for value in others]
        block = "```python\n" + "\n".join(lines) + "\n```"
        notes = [f"in stage `{', '.join(dict.fromkeys(v.stage for v in stages[:_MOST_STAGES]))}`"] if stages else []
        if shown[0].sizes:
            sizes = ", ".join(f"{name}={size}" for name, size in shown[0].sizes)
            notes.append(f"seen with {sizes}")
        yield "\n\n".join((block, *notes))


def _describe_claim(claim: JudgedClaim) -> Iterator[str]:
    what = f" of `{claim.target}`" if claim.target else ""
    yield f"**{claim.notation}** `{claim.claim}`{what}"
    yield _verdict(claim)
    if claim.observed:
        yield f"The value is `{claim.observed}`."
    if claim.bindings:
        bound = [
            f"- `{b.name}`{f' = {b.size}' if b.size != b.name else ''} from {_code(b.source)}"
            f"{f' (line {b.line})' if b.line is not None else ''}"
            for b in claim.bindings
        ]
        yield "\n".join(bound)
    if claim.assumptions:
        yield "Rests on what nobody gave: " + "; ".join(map(str, claim.assumptions))


def _verdict(claim: JudgedClaim) -> str:
    if claim.verdict == "verified" and claim.how is not None:
        return f"Verified: it {_HOW[claim.how]}."
    if claim.verdict == "mismatched":
        return f"False: {claim.reason}."
    if claim.verdict == "tentative":
        return "It does not hold, but may be no shape at all: tentative, reported only with `--strict-comments`."
    return f"Not reached: {claim.reason}."


def _brief(claim: JudgedClaim) -> str:
    return f"`{claim.claim}`: {_verdict(claim)}"


def _code(source: str) -> str:
    return f"`{source}`" if "`" not in source else source
