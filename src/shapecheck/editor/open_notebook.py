"""A notebook that is open: its code cells are documents each, and one module together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import Workspace

from shapecheck.editor.positions import EditorText
from shapecheck.files.notebook_source import SUFFIX, Notebook, notebook_of_cells


@dataclass(frozen=True)
class OpenNotebook:
    """A notebook in a file; `uris` are those of its code cells, in order."""

    file: Path
    version: int
    uris: tuple[str, ...]
    notebook: Notebook

    @classmethod
    def of(cls, document: types.NotebookDocument, workspace: Workspace) -> OpenNotebook | None:
        """The notebook as the editor has it now; None if it lies in no file."""
        path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
        if not path or not path.endswith(SUFFIX):
            return None
        # Cells of other languages are not sent; the workspace's keys are unquoted.
        cells = [cell.document for cell in document.cells if unquote(cell.document) in workspace.text_documents]
        texts = [workspace.get_text_document(uri).source for uri in cells]
        return cls(Path(os.path.normpath(path)), document.version, tuple(cells), notebook_of_cells(texts))

    @property
    def module(self) -> str:
        """The Python of all cells."""
        return self.notebook.module

    def text(self, uri: str, encoding: str) -> EditorText:
        """The document of one cell, as a part of the module."""
        number = self.uris.index(uri) if uri in self.uris else 0
        cell = self.notebook.cells[number]
        return EditorText(self.module, encoding, above=cell.begin - 1, count=cell.text.count("\n") + 1)
