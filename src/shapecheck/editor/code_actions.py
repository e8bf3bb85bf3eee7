"""Quick fixes of the findings under the cursor, and all safe ones of a file at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from lsprotocol import types

from shapecheck.editor.diagnostics import SOURCE
from shapecheck.editor.file_result import FileResult
from shapecheck.editor.positions import EditorText, MovedLines
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


FIX_ALL: Final = "source.fixAll.shapecheck"
KINDS: Final = (types.CodeActionKind.QuickFix, FIX_ALL)


class CodeActions:
    """The actions for one document, as its text is now."""

    def __init__(self, result: FileResult, text: EditorText, moved: MovedLines, uri: str, version: int | None) -> None:
        self._result, self._text, self._moved = result, text, moved
        self._uri, self._version = uri, version

    def actions(self, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
        """What the client asks for: the kinds that it names, or all."""
        if _is_wanted(types.CodeActionKind.QuickFix, params.context.only):
            for finding, diagnostic in self._findings_at(params):
                yield from self._quick_fixes(finding, diagnostic)
        if _is_wanted(FIX_ALL, params.context.only):
            edit = self._fix_all()
            if edit is not None:
                yield types.CodeAction(title="Fix all of shapecheck's findings", kind=FIX_ALL, edit=edit)

    def _findings_at(self, params: types.CodeActionParams) -> Iterator[tuple[Finding, types.Diagnostic | None]]:
        chosen = params.range
        for finding in self._result.findings:
            span = self._moved.span(finding.span)
            if span is None or not self._text.owns(span.line):
                continue
            place = self._text.range(span)
            if place.start.line <= chosen.end.line and chosen.start.line <= place.end.line:
                mine = (d for d in params.context.diagnostics if d.source == SOURCE and d.code == finding.code)
                yield finding, next((d for d in mine if d.range == place), None)

    def _quick_fixes(self, finding: Finding, diagnostic: types.Diagnostic | None) -> Iterator[types.CodeAction]:
        choices = list(edits_of(finding, self._result.module))
        choices.append((f"Ignore {finding.code} on this line", (ignore_comment(finding, self._result.module),)))
        for number, (title, edits) in enumerate(choices):
            edit = self._workspace_edit(edits)
            if edit is not None:
                yield types.CodeAction(
                    title=title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic] if diagnostic is not None else None,
                    is_preferred=number == 0 and len(choices) > 1,
                    edit=edit,
                )

    def _fix_all(self) -> types.WorkspaceEdit | None:
        """The fixes that `--fix` writes: those that leave what the program computes, and what the author meant."""
        chosen: list[Edit] = []
        for finding in self._result.findings:
            if finding.unsafe_fix or not all(self._is_here(edit) for edit in finding.fix):
                continue
            if finding.fix and not any(_overlap(new, old) for new in finding.fix for old in chosen):
                chosen += finding.fix
        return self._workspace_edit(chosen) if chosen else None

    def _is_here(self, edit: Edit) -> bool:
        span = self._moved.span(edit.span)
        return span is not None and self._text.owns(span.line)

    def _workspace_edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit | None:
        changes: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
        for edit in edits:
            span = self._moved.span(edit.span)
            if span is None or not self._text.owns(span.line):  # the line was edited since, or is another cell's
                return None
            changes.append(types.TextEdit(range=self._text.range(span), new_text=edit.replacement))
        document = types.OptionalVersionedTextDocumentIdentifier(uri=self._uri, version=self._version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=changes)])


def _is_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in map(_text, only))


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _overlap(one: Edit, other: Edit) -> bool:
    begins, ends = (one.span.line, one.span.column), (one.span.end_line, one.span.end_column)
    return begins < (other.span.end_line, other.span.end_column) and (other.span.line, other.span.column) < ends
