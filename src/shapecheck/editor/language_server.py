"""The server: what the protocol asks, answered from the last results; runs are begun by edits, and saved files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from shapecheck import __version__, files
from shapecheck.editor.diagnostics import diagnostics
from shapecheck.editor.file_result import FileResult, WorkspaceResults
from shapecheck.editor.open_notebook import OpenNotebook
from shapecheck.editor.positions import EditorText, MovedLines
from shapecheck.editor.project_checker import OpenDocument, ProjectChecker, RunOutcome
from shapecheck.editor.run_queue import RunListener, RunQueue
from shapecheck.editor.work_progress import WorkProgress
from shapecheck.files.notebook_source import SUFFIX

_MOST = 10_000.0  # milliseconds


@dataclass(frozen=True)
class ServerSettings:
    """The settings of the server; what a check means is set in `[tool.shapecheck]`.

    `debounce` are the seconds after an edit before it is checked. `python` wins over the configuration's.
    """

    inlay_hints: bool = False
    debounce: float = 0.25
    python: str = ""

    @classmethod
    def of_json(cls, given: object) -> ServerSettings:
        """The settings in a client's JSON, with defaults in place of what is no setting."""
        if not isinstance(given, dict):
            return cls()
        debounce, python = given.get("debounce"), given.get("python")
        seconds = cls.debounce
        if isinstance(debounce, int | float) and not isinstance(debounce, bool) and 0 <= debounce <= _MOST:
            seconds = debounce / 1000
        return cls(
            inlay_hints=given.get("inlayHints") is True,
            debounce=seconds,
            python=python if isinstance(python, str) else "",
        )


NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithCells(
            cells=[types.NotebookCellLanguage(language="python")],
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook", scheme="file"),
        )
    ],
    save=True,
)
STATUS: Final = "$/shapecheck/status"
"""The notification of how far the claims of a document are verified: `uri`, `version`, `text`. Clients may drop it."""
_IN_EDITOR = " From an editor: set `python` in [tool.shapecheck], or the setting `python` of this server."


class ShapecheckServer(LanguageServer):
    """One server process, for any number of workspace folders."""

    def __init__(self) -> None:
        super().__init__("shapecheck", __version__, notebook_document_sync=NOTEBOOKS)
        self.settings = ServerSettings()
        self.results = WorkspaceResults()
        self._queues: dict[Path, RunQueue] = {}
        self._texts: dict[str, tuple[int | None, EditorText]] = {}
        self._said: set[str] = set()
        self._published: set[str] = set()
        self._templates: dict[tuple[Path, str, int], asyncio.Future[str]] = {}

    # What the client has

    def open_files(self) -> Iterator[tuple[str, Path]]:
        """The documents that are open, and their files; of notebooks each cell, and the file of the notebook."""
        for document in self.workspace.text_documents.values():  # whose keys are not the client's URIs
            file = self.file_of(document.uri)
            if file is not None:
                yield document.uri, file

    def notebook_of(self, uri: str) -> OpenNotebook | None:
        """The notebook that a document is a cell of, if it is of one that lies in a file."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return OpenNotebook.of(notebook, self.workspace) if notebook is not None else None

    def file_of(self, uri: str) -> Path | None:
        """The file of a document, or of the notebook that it is a cell of, if it has one and is Python.

        JupyterLab sends the Python of a notebook as one text, under the name of the notebook.
        """
        notebook = self.notebook_of(uri)
        if notebook is not None:
            return notebook.file
        path = to_fs_path(uri) if uri.startswith("file:") else None
        if not path or not path.endswith((".py", SUFFIX)):
            return None
        is_json = path.endswith(SUFFIX) and self.workspace.get_text_document(uri).language_id != "python"
        return Path(os.path.normpath(path)) if not is_json else None

    def text(self, uri: str) -> EditorText:
        """The document as the editor has it now."""
        notebook = self.notebook_of(uri)
        if notebook is not None:
            return notebook.text(uri, self.position_units)
        document = self.workspace.get_text_document(uri)
        kept = self._texts.get(uri)
        if kept is None or kept[0] != document.version or document.version is None:
            kept = (document.version, EditorText(document.source, self.position_units))
            self._texts[uri] = kept
        return kept[1]

    def lookup(self, uri: str) -> tuple[FileResult, EditorText, MovedLines] | None:
        """What is known of a document, with its text and how that has moved since."""
        file = self.file_of(uri)
        result = self.results.get(files.shown_path(file)) if file is not None else None
        if result is None:
            return None
        text = self.text(uri)
        return result, text, self.results.movement(result, text.lines)

    def lookup_typed(self, uri: str) -> tuple[FileResult, EditorText, MovedLines] | None:
        """The same with the claims of the present text, read anew where a run has not seen it: none may be missed."""
        known, file = self.lookup(uri), self.file_of(uri)
        if known is None or file is None or known[0].lines == known[1].lines:
            return known
        result, text, _ = known
        module = self.queue(file).checker.read_claims(file, text.source)
        if not module.parsed:
            return known
        typed = replace(result, module=module, lines=module.lines)
        return typed, text, MovedLines(typed.lines, text.lines)

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics itself, and lets itself be told when to ask anew."""
        document, workspace = self.client_capabilities.text_document, self.client_capabilities.workspace
        refreshes = workspace.diagnostics.refresh_support if workspace and workspace.diagnostics else False
        return bool(document and document.diagnostic and refreshes)

    @property
    def position_units(self) -> str:
        """The code units that columns are counted in."""
        agreed = self.workspace.position_encoding
        return agreed.value if isinstance(agreed, types.PositionEncodingKind) else agreed or "utf-16"

    # Runs

    def queue_of_project(self, file: Path) -> RunQueue | None:
        """The runs of the workspace folder that a file lies in, if it lies in one."""
        return self.queue(file) if self._root_of(file) is not None else None

    def _root_of(self, file: Path) -> Path | None:
        roots = [
            Path(os.path.normpath(path))
            for folder in self.workspace.folders.values()
            if (path := to_fs_path(folder.uri))
        ]
        if not roots and self.workspace.root_path:
            roots = [Path(os.path.normpath(self.workspace.root_path))]
        around = [root for root in roots if file.is_relative_to(root)]
        return max(around, key=lambda root: len(root.parts), default=None)

    def queue(self, file: Path) -> RunQueue:
        """The runs of the folder that a file belongs to."""
        root = self._root_of(file)
        folder = root or file.parent
        if folder not in self._queues:
            checker = ProjectChecker(folder, whole=root is not None, python=self.settings.python)
            progress = WorkProgress(self, f"shapecheck: {folder.name}")
            listener = RunListener(
                on_progress=progress.step,
                on_outcome=lambda outcome: self._take(folder, outcome),
                on_loss=lambda how: self._say_once(
                    f"A worker of shapecheck is gone (it {how}); another takes its place.", error=False
                ),
                on_bug=lambda text: self._say_once(f"shapecheck met a bug, please report it:\n{text}", error=True),
            )
            self._queues[folder] = RunQueue(checker, lambda: self._open_documents(folder), listener)
        return self._queues[folder]

    def close(self) -> None:
        """End all runs and their processes."""
        for queue in self._queues.values():
            queue.close()
        self._queues.clear()

    def close_folder(self, folder: Path) -> None:
        """End the runs of a folder that is no longer one of the workspace."""
        queue = self._queues.pop(folder, None)
        if queue is not None:
            queue.close()

    def recheck_all(self) -> None:
        """Check each folder anew, as after a change of the settings."""
        for queue in self._queues.values():
            queue.checker.python = self.settings.python
            queue.request("project", self.settings.debounce)

    def _open_documents(self, folder: Path) -> Sequence[OpenDocument]:
        found: dict[Path, OpenDocument] = {}
        for uri, file in self.open_files():
            if file in found or not (file.is_relative_to(folder) and self.queue(file).checker.folder == folder):
                continue
            notebook = self.notebook_of(uri)
            if notebook is not None:
                found[file] = OpenDocument(file, notebook.module, notebook.version, differs=True)
                continue
            document = self.workspace.get_text_document(uri)
            found[file] = OpenDocument(file, document.source, document.version or 0, _differs(file, document.source))
        return list(found.values())

    def _take(self, folder: Path, outcome: RunOutcome) -> None:
        whole = outcome.extent == "project" and self._queues[folder].checker.whole
        if outcome.problem:
            here = _IN_EDITOR if "--python" in outcome.problem else ""
            self._say_once(f"shapecheck: {outcome.problem}{here}", error=True)
        if outcome.problem and not outcome.results:
            self._send_status(folder, "cannot check: " + outcome.problem.splitlines()[0])
            return
        if not outcome.problem:
            self._said.clear()
        changed = self.results.take(outcome.results, folder if whole else None, cut=outcome.cut)
        self._publish_paths(changed)
        self._send_status(folder, "")
        self._refresh()

    def _say_once(self, text: str, *, error: bool) -> None:
        if text in self._said:
            return
        self._said.add(text)
        kind = types.MessageType.Error if error else types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(type=kind, message=text))

    def _send_status(self, folder: Path, problem: str) -> None:
        for uri, file in self.open_files():
            if not file.is_relative_to(folder):
                continue
            result = self.results.get(files.shown_path(file))
            text = problem or (result.status if result is not None else "not checked")
            version = result.version if result is not None else None
            words = f"{text}, version {version}" if version is not None and not problem else text
            self.protocol.notify(STATUS, {"uri": uri, "version": version, "text": words})

    def _refresh(self) -> None:
        """Let the client ask anew for what it has asked before."""
        workspace = self.client_capabilities.workspace
        if workspace is None:
            return
        if self.pulls:
            self.workspace_diagnostic_refresh(None)
        if self.settings.inlay_hints and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)
        if workspace.code_lens and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def template(self, file: Path, name: str) -> asyncio.Future[str]:
        """The template of a model in brief, evaluated once for each state of its file."""
        try:
            stamp = file.stat().st_mtime_ns
        except OSError:
            stamp = 0
        key = (file, name, stamp)
        if key not in self._templates:
            checker = self.queue(file).checker
            self._templates[key] = asyncio.ensure_future(asyncio.to_thread(checker.template, file, name))
        return self._templates[key]

    # Diagnostics

    def _publish_paths(self, paths: set[str]) -> None:
        uris: dict[str, list[str]] = {}
        for uri, file in self.open_files():
            uris.setdefault(files.shown_path(file), []).append(uri)
        for path in sorted(paths):
            for uri in uris.get(path, ()):
                self.publish(uri)
            if path not in uris:
                self._publish_closed(path)

    def publish(self, uri: str) -> None:
        """Push the diagnostics of an open document, at its present version, unless the client asks for them."""
        if not self.pulls:
            found = self.diagnostics(uri)
            if found or uri in self._published:
                self._push(uri, found, self.workspace.get_text_document(uri).version)
            elif self.lookup(uri) is not None:
                self._push(uri, [], self.workspace.get_text_document(uri).version)

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of an open document, where they stand now."""
        known = self.lookup(uri)
        return self._diagnostics_in(known[0], known[1], uri) if known is not None else []

    def _diagnostics_in(self, result: FileResult, text: EditorText, uri: str) -> list[types.Diagnostic]:
        found: list[types.Diagnostic] = []
        for each in (result.unread, result):
            if each is not None:
                moved = self.results.movement(each, text.lines)
                found += diagnostics(each.findings, each.claims, text, moved, uri)
        return found

    def _publish_closed(self, path: str) -> None:
        """Push the diagnostics of a file that is not open."""
        result = self.results.get(path)
        uri = from_fs_path(str(Path(path).absolute()))
        if uri is None:
            return
        found: list[types.Diagnostic] = []
        if result is not None:
            text = EditorText("\n".join((result.unread or result).lines), self.position_units)
            found = self._diagnostics_in(result, text, uri)
        if not found:
            if uri in self._published:
                self._push(uri, [], None)
            return
        self._push(uri, found, None)

    def _push(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        (self._published.add if found else self._published.discard)(uri)
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )

    def withdraw(self, uri: str) -> None:
        """Take back what was pushed of a file that the client asks for itself, now that it is open."""
        if self.pulls and uri in self._published:
            self._push(uri, [], None)

    def drop_text(self, uri: str) -> None:
        """Forget the text of a document that was closed."""
        self._texts.pop(uri, None)


def _differs(file: Path, text: str) -> bool:
    try:
        return file.read_bytes() != text.encode("utf-8", "surrogatepass")
    except OSError:
        return True
