"""Reads what files claim, with what they import of each other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from shapecheck import files
from shapecheck.claims import Project, read_module
from shapecheck.config import Config
from shapecheck.model import Module


class ModuleReader:
    """Reads files of one project; `texts` stand in the place of what lies on the disk (file -> bytes)."""

    def __init__(self, config: Config, texts: Mapping[Path, bytes]) -> None:
        self._texts = {os.path.abspath(file): data for file, data in texts.items()}
        self._src = tuple(os.path.abspath(folder) for folder in config.src)
        self._project = Project(self._read_bytes, cache(self._roots))

    def read_file(self, file: Path, data: bytes, shown: str = "") -> Module:
        """All that a file claims; aliases of types may stand in other files."""
        neighbours = self._project.beside(os.path.abspath(file))
        return read_module(shown or files.shown_path(file), data, neighbours=neighbours)

    def _read_bytes(self, file: str) -> bytes | None:
        if file in self._texts:
            return self._texts[file]
        try:
            return Path(file).read_bytes() if os.path.isfile(file) else None
        except OSError:
            return None

    def _roots(self, folder: str) -> Sequence[str]:
        """Where the imports of the files in a folder start: at its own package's root, and at the project's."""
        root = os.path.abspath(files.module_name(Path(folder) / "__init__.py").root)
        project = files.project_root(Path(folder))
        whole = [str(project), str(project / "src")] if project is not None else []
        return list(dict.fromkeys([*self._src, root, folder, *whole]))
