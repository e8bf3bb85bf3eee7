"""Above functions and models: how their claims ended, and what is missing where they were not reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from shapecheck.editor.file_result import FileResult
from shapecheck.editor.positions import EditorText, MovedLines
from shapecheck.model import JudgedClaim, Scope

INSERT_EXAMPLE: Final = "shapecheck.insertExample"
SHOW_TEMPLATE: Final = "shapecheck.showTemplate"
_LONGEST = 90  # characters of a reason that a line has room for

_EXAMPLE = """

@example
def {name}():
    return {call}, Float[Array, "batch seq 64"]  # the callable, then its arguments
"""


def code_lenses(result: FileResult, text: EditorText, moved: MovedLines, uri: str) -> Iterator[types.CodeLens]:
    """A lens for each model that was evaluated, and for each function or class with claims that nothing reached."""
    by_owner: dict[str, list[JudgedClaim]] = {}
    for claim in result.claims:
        by_owner.setdefault(claim.function.partition(".")[0], []).append(claim)
    for scope in result.module.scopes:
        if scope.position is None or scope.parent != 0:
            continue
        line = moved.forward(scope.position.line)
        claims = by_owner.get(scope.qualname, [])
        if line is None or not text.owns(line):
            continue
        place = text.line_range(line)
        if scope.qualname in result.models:
            verified = sum(claim.verdict == "verified" for claim in claims)
            title = f"verified {verified} of {len(claims)} | template" if claims else "template"
            command = types.Command(title=title, command=SHOW_TEMPLATE, arguments=[uri, scope.qualname])
            yield types.CodeLens(range=place, command=command)
        missing = [claim for claim in claims if claim.verdict == "unreached"]
        if missing:
            reason = missing[0].reason
            short = reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 3]}..."
            noun = "claim" if len(missing) == 1 else "claims"
            title = f"{len(missing)} {noun} not reached: {short} | insert an example"
            command = types.Command(title=title, command=INSERT_EXAMPLE, arguments=[uri, scope.qualname])
            yield types.CodeLens(range=place, command=command)


def example_edits(result: FileResult, text: EditorText, name: str) -> list[types.TextEdit]:
    """What inserts an example of a function or class at the end of a document, with the imports that it needs."""
    scope: Scope | None = next((each for each in result.module.scopes if each.qualname == name), None)
    if scope is None:
        return []
    call = f"{name}(...)" if scope.kind == "class" else name
    example = _EXAMPLE.format(name=f"{name.lower()}_example", call=call)
    last = len(text.lines)
    end = text.position(last, len(text.lines[-1]) + 1)
    start = "" if not text.lines[-1] else "\n"
    edits = [types.TextEdit(range=types.Range(start=end, end=end), new_text=f"{start}{example}")]
    wanted = ["from shapecheck import example"]
    if "from jaxtyping import" not in text.source:
        wanted.append("from jaxtyping import Array, Float")
    missing = [line for line in wanted if line not in text.source]
    if missing:
        above = text.position(_import_line(text), 1)
        block = "".join(f"{line}\n" for line in missing)
        edits.append(types.TextEdit(range=types.Range(start=above, end=above), new_text=block))
    return edits


def _import_line(text: EditorText) -> int:
    """The line of the first import that is not of the future; the end of the file if there is none."""
    for number, line in enumerate(text.lines, 1):
        if line.startswith(("import ", "from ")) and not line.startswith("from __future__"):
            return number
    return 1
