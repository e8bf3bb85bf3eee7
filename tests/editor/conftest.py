"""A client of the language server over its real pipes, as tests use it: each step waits for what it asked for."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

_LIMIT = 60.0


class LspSession:
    """One server process with one client; use `async with`."""

    def __init__(self, folders: list[Path], *, python: str = sys.executable, options: dict[str, Any] | None = None):
        self.folders = [folder.resolve() for folder in folders]
        self.python, self.options = python, options or {}
        self.client = LanguageClient("tests", "1")
        self.published: list[types.PublishDiagnosticsParams] = []
        self.statuses: list[tuple[float, str, str]] = []
        self.messages: list[types.ShowMessageParams] = []
        self.progress: list[str] = []
        self.refreshed: list[str] = []
        self.edits: list[Any] = []
        self.capabilities = types.ClientCapabilities(
            window=types.WindowClientCapabilities(work_done_progress=True),
            workspace=types.WorkspaceClientCapabilities(
                inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
            ),
        )
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.notebooks: dict[str, list[str]] = {}
        self._changed = asyncio.Event()
        self._listen()

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self._changed.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params)
            self._changed.set()

        @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            return None

        @client.feature(types.PROGRESS)
        def progress(params: types.ProgressParams) -> None:
            value = params.value
            self.progress.append(value["kind"] if isinstance(value, dict) else value.kind)
            self._changed.set()

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            self._changed.set()
            return types.ApplyWorkspaceEditResult(applied=True)

        @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def inlay(params: None) -> None:
            self.refreshed.append("inlay")
            self._changed.set()

        @client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def pull(params: None) -> None:
            self.refreshed.append("diagnostics")
            self._changed.set()

        @client.feature("$/shapecheck/status")
        def status(params: Any) -> None:
            self.statuses.append((time.monotonic(), params.uri, params.text))
            self._changed.set()

    async def __aenter__(self) -> LspSession:
        await self.client.start_io(self.python, "-m", "shapecheck", "lsp", env={**os.environ, "PYTHONWARNINGS": ""})
        folders = [types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name) for folder in self.folders]
        params = types.InitializeParams(
            capabilities=self.capabilities,
            root_uri=self.folders[0].as_uri(),
            workspace_folders=folders,
            initialization_options={"debounce": 30, **self.options},
        )
        self.initialized = await self.client.initialize_async(params)
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    @property
    def pid(self) -> int:
        return self.client._server.pid

    def open(self, file: Path, text: str | None = None) -> str:
        uri = file.as_uri()
        self.versions[uri], self.texts[uri] = 1, file.read_text() if text is None else text
        item = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def open_notebook(self, file: Path, cells: list[str]) -> list[str]:
        """Open a notebook of code cells, behind one that is Markdown; the URIs of the cells."""
        base = f"vscode-notebook-cell:{file.as_uri().removeprefix('file:')}"
        uris = [f"{base}#W{number}sZmlsZQ%3D%3D" for number in range(len(cells))]
        items = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in zip(uris, cells, strict=True)]
        for item in items:
            self.versions[item.uri], self.texts[item.uri] = 1, item.text
        self.notebooks[file.as_uri()] = uris
        code = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in uris]
        above = types.NotebookCell(types.NotebookCellKind.Markup, f"{uris[0]}markdown")
        notebook = types.NotebookDocument(file.as_uri(), "jupyter-notebook", 1, [above, *code])
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
        return uris

    def edit_cell(self, file: Path, uri: str, text: str) -> None:
        self.versions[uri] += 1
        self.texts[uri] = text
        change = types.NotebookDocumentCellContentChanges(
            document=types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri),
            changes=[types.TextDocumentContentChangeWholeDocument(text)],
        )
        cells = types.NotebookDocumentCellChanges(text_content=[change])
        notebook = types.VersionedNotebookDocumentIdentifier(version=self.versions[uri], uri=file.as_uri())
        self.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(notebook, types.NotebookDocumentChangeEvent(cells=cells))
        )

    def edit(self, uri: str, old: str, new: str) -> int:
        """Replace a text that stands once in the document, as an incremental change; returns the new version."""
        text = self.texts[uri]
        assert text.count(old) == 1
        start = text.index(old)
        edited = types.Range(start=_position(text, start), end=_position(text, start + len(old)))
        change = types.TextDocumentContentChangePartial(range=edited, text=new)
        self.versions[uri] += 1
        self.texts[uri] = text.replace(old, new)
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )
        return self.versions[uri]

    def close_all(self) -> None:
        """Close all documents."""
        cells = {uri for uris in self.notebooks.values() for uri in uris}
        for uri in self.texts.keys() - cells:
            document = types.TextDocumentIdentifier(uri=uri)
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=document))
        for uri, uris in self.notebooks.items():
            texts = [types.TextDocumentIdentifier(uri=each) for each in uris]
            notebook = types.NotebookDocumentIdentifier(uri=uri)
            self.client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(notebook, texts))
        self.texts.clear()
        self.notebooks.clear()

    def save(self, file: Path) -> None:
        file.write_text(self.texts[file.as_uri()])
        document = types.TextDocumentIdentifier(uri=file.as_uri())
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=document))

    async def until(self, holds: Callable[[], object], limit: float = _LIMIT) -> None:
        deadline = time.monotonic() + limit
        while not holds():
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), max(deadline - time.monotonic(), 0.01))
            except TimeoutError:
                shown = (self.codes_by_uri(), self.statuses[-5:], self.messages)
                raise AssertionError(f"it did not come: {shown}") from None

    async def status(self, uri: str, version: int) -> str:
        """The status of a version, as soon as there is one."""
        ends = f", version {version}"
        await self.until(lambda: any(u == uri and text.endswith(ends) for _, u, text in self.statuses))
        return next(text for _, u, text in reversed(self.statuses) if u == uri and text.endswith(ends))

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        return next((list(each.diagnostics) for each in reversed(self.published) if each.uri == uri), [])

    def codes(self, uri: str) -> list[tuple[str, int]]:
        """The codes and lines (from 1) of what was published last, notes apart."""
        found = self.diagnostics(uri)
        return [
            (str(d.code), d.range.start.line + 1) for d in found if d.severity != types.DiagnosticSeverity.Information
        ]

    def codes_by_uri(self) -> dict[str, list[tuple[str, int]]]:
        return {uri: self.codes(uri) for uri in {each.uri for each in self.published}}

    async def hover(self, uri: str, needle: str) -> str:
        position = _position(self.texts[uri], self.texts[uri].index(needle))
        document = types.TextDocumentIdentifier(uri=uri)
        found = await self.client.text_document_hover_async(
            types.HoverParams(text_document=document, position=position)
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def actions(self, uri: str, needle: str, only: list[str] | None = None) -> list[types.CodeAction]:
        position = _position(self.texts[uri], self.texts[uri].index(needle))
        context = types.CodeActionContext(diagnostics=self.diagnostics(uri), only=only)
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=uri),
            range=types.Range(start=position, end=position),
            context=context,
        )
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    def apply(self, uri: str, action: types.CodeAction) -> str:
        """The text of the document with the action's edits."""
        assert action.edit is not None
        assert action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        return apply_edits(self.texts[uri], list(change.edits))


def apply_edits(text: str, edits: list[Any]) -> str:
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = _offset(text, edit.range.start), _offset(text, edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


def _position(text: str, offset: int) -> types.Position:
    before = text[:offset].split("\n")
    return types.Position(line=len(before) - 1, character=len(before[-1].encode("utf-16-le")) // 2)


def _offset(text: str, position: types.Position) -> int:
    lines = text.split("\n")
    rest = lines[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le")
    return sum(len(line) + 1 for line in lines[: position.line]) + len(rest)


class Project:
    """A folder of files, with the sessions over it; a test ends with no process left in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def session(self, *folders: str, **given: Any) -> LspSession:
        return LspSession([self.folder / name for name in folders or (".",)], **given)

    def processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and Path(os.readlink(entry / "cwd")).is_relative_to(self.folder):
                    found.append(int(entry.name))
            except OSError:  # ended meanwhile
                continue
        return found

    def left_over(self) -> list[int]:
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.processes()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path.resolve())
    project.write("pyproject.toml", "[tool.shapecheck]\n")
    return project


class SharedServer:
    """One server in one project for all tests of a module that ask about documents and leave the server as it is.

    Each test has files of its own, which are gone when it ends.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runner = asyncio.Runner()
        self._session: LspSession | None = None
        self._written: list[Path] = []

    def run(self, test: Callable[[LspSession, Path], Coroutine[Any, Any, None]], name: str, text: str) -> None:
        """Run a test in the session, with a file of its own; its name may have folders in front."""
        file = self.write(name, text)

        async def run() -> None:
            if self._session is None:
                self._session = await LspSession([self.folder]).__aenter__()
            session = self._session
            for noted in (session.published, session.statuses, session.progress, session.edits):
                noted.clear()
            try:
                await test(session, file)
            finally:
                session.close_all()
                for each in self._written:
                    each.unlink()
                self._written.clear()

        self._runner.run(run())

    def write(self, name: str, text: str) -> Path:
        """Write a file for the test that runs next."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self._written.append(file)
        return file

    def close(self) -> None:
        """End the server."""
        with self._runner:
            if self._session is not None:
                self._runner.run(self._session.__aexit__())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    folder = tmp_path_factory.mktemp("shared").resolve()
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
    shared = SharedServer(folder)
    yield shared
    shared.close()
