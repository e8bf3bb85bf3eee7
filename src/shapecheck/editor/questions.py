"""What a client asks of a document: answered from the last results, without a run but for templates."""

from __future__ import annotations

import asyncio
import re

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from shapecheck.config import ConfigError
from shapecheck.editor.code_actions import KINDS, CodeActions
from shapecheck.editor.code_lenses import INSERT_EXAMPLE, SHOW_TEMPLATE, code_lenses, example_edits
from shapecheck.editor.dim_names import DimName, DimNames
from shapecheck.editor.hover import class_at, hover
from shapecheck.editor.inlay_hints import inlay_hints
from shapecheck.editor.language_server import ShapecheckServer
from shapecheck.model import Span

_PATIENCE = 5.0  # seconds that a hover waits for a template


def add_questions(server: ShapecheckServer) -> None:
    """Answer what is asked of lines, of names, and of models."""
    _add_lines(server)
    _add_names(server)
    _add_models(server)


def _add_lines(server: ShapecheckServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def on_hover(params: types.HoverParams) -> types.Hover | None:
        known = server.lookup(params.text_document.uri)
        if known is None:
            return None
        name = class_at(*known, params.position)
        if name is not None and name in known[0].models:
            shown = await _template(server, params.text_document.uri, name)
            content = types.MarkupContent(kind=types.MarkupKind.Markdown, value=f"```text\n{shown}\n```")
            return types.Hover(contents=content)
        return hover(*known, params.position)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def on_inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        known = server.lookup(params.text_document.uri) if server.settings.inlay_hints else None
        return list(inlay_hints(*known, params.range)) if known is not None else []

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))
    def on_code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        known = server.lookup(uri)
        if known is None:
            return []
        version = server.workspace.get_text_document(uri).version
        return list(CodeActions(*known, uri, version).actions(params))


def _add_names(server: ShapecheckServer) -> None:
    def find(uri: str, position: types.Position) -> DimName | None:
        try:
            known = server.lookup_typed(uri)
        except ConfigError as error:
            raise _refusal(str(error)) from error
        return DimNames(*known).at(position) if known is not None else None

    def range_of(uri: str, span: Span) -> types.Range:
        return server.text(uri).range(span)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def on_references(params: types.ReferenceParams) -> list[types.Location]:
        uri = params.text_document.uri
        found = find(uri, params.position)
        places = [place for place in found.places if server.text(uri).owns(place.line)] if found else []
        return [types.Location(uri=uri, range=range_of(uri, place)) for place in places]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def on_prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        found = find(params.text_document.uri, params.position)
        if found is None:
            return None
        _refuse_integer(found)
        return range_of(params.text_document.uri, found.span)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def on_rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        uri, new = params.text_document.uri, params.new_name
        found = find(uri, params.position)
        if found is None:
            return None
        _refuse_integer(found)
        if not new.isidentifier():
            raise _refusal(f"{new!r} is no name of a dim")
        if not all(server.text(uri).owns(place.line) for place in found.places):
            raise _refusal(f"{found.name} stands in other cells of the notebook, too")
        if new in found.others:
            raise _refusal(f"{new} is another dim of the same claims: one name would make the two one")
        edits = [types.TextEdit(range=range_of(uri, place), new_text=new) for place in found.places]
        return types.WorkspaceEdit(changes={uri: edits})

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    def on_completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        known = server.lookup(params.text_document.uri)
        return list(DimNames(*known).completions(params.position)) if known is not None else []


def _refuse_integer(found: DimName) -> None:
    if found.integer:
        raise _refusal(f"{found.name} is the program's own integer ({found.integer}): rename that, then its claims")


def _refusal(text: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(message=text)


def _add_models(server: ShapecheckServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def on_code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        known = server.lookup(uri)
        return list(code_lenses(*known, uri)) if known is not None else []

    @server.command(INSERT_EXAMPLE)
    def insert_example(uri: str, name: str) -> None:
        known = server.lookup(uri)
        edits = example_edits(known[0], known[1], name) if known is not None else []
        if edits:
            edit = types.WorkspaceEdit(changes={uri: list(edits)})
            server.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit=edit, label=f"an example of {name}"))

    @server.command(SHOW_TEMPLATE)
    async def show_template(uri: str, name: str) -> str:
        text = await _template(server, uri, name)
        server.window_show_message(types.ShowMessageParams(type=types.MessageType.Info, message=text))
        return text


async def _template(server: ShapecheckServer, uri: str, name: str) -> str:
    """The template of a model in the saved file, in brief; or why there is none."""
    file = server.file_of(uri)
    if file is None:
        return "this document has no file"
    task = server.template(file, name)
    try:
        text = await asyncio.wait_for(asyncio.shield(task), _PATIENCE)
    except TimeoutError:
        return f"{name} is being evaluated; ask again in a moment"
    except ConfigError as error:
        return f"{name} cannot be evaluated: {error}"
    return re.sub(rf"^{re.escape(str(file))}:", "", text)
