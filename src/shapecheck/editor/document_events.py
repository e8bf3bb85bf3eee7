"""What a client tells: sessions, settings, folders, and documents that are opened, edited, saved and closed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from shapecheck.editor.language_server import ServerSettings, ShapecheckServer

_WATCHED = ("**/*.py", "**/pyproject.toml", "**/shapes.lock")


def add_lifecycle(server: ShapecheckServer) -> None:
    """Answer how a session begins and ends, and what it says of settings, folders and files."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.settings = ServerSettings.of_json(params.initialization_options)
        roots = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        first = to_fs_path(roots[0]) if roots[0].startswith("file:") else None
        if first and Path(first).is_dir():
            os.chdir(first)  # paths in messages are relative to it, as where the command is run
        if server.pulls:
            options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False)
            server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(_pull(server))

    @server.feature(types.INITIALIZED)
    def on_initialized(params: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watches = workspace.did_change_watched_files if workspace else None
        if watches is not None and watches.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
            registration = types.Registration(
                id="shapecheck-files", method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES, register_options=options
            )
            server.client_register_capability(types.RegistrationParams(registrations=[registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configure(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings.get("shapecheck", params.settings) if isinstance(params.settings, dict) else None
        if given:  # some clients begin with a change to nothing
            server.settings = ServerSettings.of_json(given)
            server.recheck_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            path = to_fs_path(change.uri)
            file = Path(os.path.normpath(path)) if path is not None else None
            queue = server.queue_of_project(file) if file is not None else None
            if queue is not None and file not in {each for _, each in server.open_files()}:
                queue.request("project", server.settings.debounce)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            path = to_fs_path(folder.uri)
            if path is not None:
                server.close_folder(Path(os.path.normpath(path)))

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.close()


def add_documents(server: ShapecheckServer) -> None:
    """Begin runs where documents are opened, edited, saved and closed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        file = server.file_of(uri)
        if file is not None:
            server.withdraw(uri)
            server.publish(uri)
            server.queue(file).request_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        file = server.file_of(params.text_document.uri)
        if file is not None:
            server.publish(params.text_document.uri)
            server.queue(file).request("edited", server.settings.debounce)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        path = to_fs_path(params.text_document.uri)
        file = Path(os.path.normpath(path)) if path is not None else None
        queue = server.queue(file) if file and file.suffix == ".py" else file and server.queue_of_project(file)
        if queue:
            queue.request("project")

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.drop_text(params.text_document.uri)
        file = server.file_of(params.text_document.uri)
        if file is not None:  # what was typed and not saved is gone
            server.queue(file).request("project", server.settings.debounce)


def add_notebooks(server: ShapecheckServer) -> None:
    """The same for notebooks, whose code cells are one module."""

    def request(notebook_uri: str, *, edited: bool) -> None:
        notebook = server.workspace.get_notebook_document(notebook_uri=notebook_uri)
        cells = [cell.document for cell in notebook.cells] if notebook is not None else []
        file = next((file for uri in cells if (file := server.file_of(uri)) is not None), None)
        if file is None:
            return
        for uri in cells:
            server.publish(uri)
        if edited:
            server.queue(file).request("edited", server.settings.debounce)
        else:
            server.queue(file).request_all()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        request(params.notebook_document.uri, edited=False)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        request(params.notebook_document.uri, edited=True)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        request(params.notebook_document.uri, edited=False)


def _pull(
    server: ShapecheckServer,
) -> Callable[[types.DocumentDiagnosticParams], types.RelatedFullDocumentDiagnosticReport]:
    def pull(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(items=server.diagnostics(params.text_document.uri))

    return pull
