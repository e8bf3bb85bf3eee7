"""Reads what files claim, with what they import of each other."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from shapecheck import files
from shapecheck.claims import Project, read_module
from shapecheck.config import Config
from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.incremental.content_hash import content
from shapecheck.incremental.environment_key import ourselves
from shapecheck.model import Module
from shapecheck.worker.messages.wire import dump, load


class ModuleReader:
    """Reads files of one project; `texts` stand in the place of what lies on the disk (file -> bytes).

    With a `store`, a file whose text and whose aliases in other files are as they were is not read again.
    """

    def __init__(self, config: Config, texts: Mapping[Path, bytes], store: KeptTexts | None = None) -> None:
        self._texts = {os.path.abspath(file): data for file, data in texts.items()}
        self._src = tuple(os.path.abspath(folder) for folder in config.src)
        self._roots = cache(self._find_roots)
        self._project = Project(self._read_bytes, self._roots)
        self._store = store

    def read_files(self, texts: Mapping[str, tuple[Path, bytes]], deadline: float = math.inf) -> Mapping[str, Module]:
        """What files claim, by shown path. None is begun after the `deadline`, but for the first."""
        found: dict[str, Module] = {}
        unknown: list[str] = []
        for shown, (file, data) in texts.items():
            if (found or unknown) and time.monotonic() > deadline:
                break
            module = self._load_kept_module(self._slot(os.path.abspath(file), shown, data))
            if module is None:
                unknown.append(shown)
            else:
                found[shown] = module
        for shown in unknown:
            if found and time.monotonic() > deadline:
                break
            found[shown] = self._read_anew(*texts[shown], shown)
        return found

    def read_file(self, file: Path, data: bytes, shown: str = "") -> Module:
        """All that a file claims; aliases of types may stand in other files."""
        shown = shown or files.shown_path(file)
        module = self._load_kept_module(self._slot(os.path.abspath(file), shown, data))
        return self._read_anew(file, data, shown) if module is None else module

    def _read_anew(self, file: Path, data: bytes, shown: str) -> Module:
        path = os.path.abspath(file)
        neighbours = self._project.beside(path)
        module = read_module(shown, data, neighbours=neighbours)
        if self._store is not None:
            state = self._state(neighbours.requested, neighbours.roots)
            value = {"requested": sorted(neighbours.requested), "roots": sorted(neighbours.roots), "state": state}
            self._store.put(self._slot(path, shown, data), dump({**value, "module": module}))
        return module

    def fetch(self, texts: Mapping[str, tuple[Path, bytes]]) -> None:
        """Bring near what is known of these files, by their shown paths."""
        if self._store is not None:
            slots = [self._slot(os.path.abspath(file), shown, data) for shown, (file, data) in texts.items()]
            self._store.fetch(slots)

    def _slot(self, path: str, shown: str, data: bytes) -> str:
        return f"module {json.dumps([ourselves(), path, shown, self._src, content(data)])}"

    def _load_kept_module(self, slot: str) -> Module | None:
        """What an earlier run has read."""
        text = self._store.get(slot) if self._store is not None else None
        if text is None:
            return None
        try:
            value = load(text)
            same = value["state"] == self._state(value["requested"], value["roots"])
            return value["module"] if same and isinstance(value["module"], Module) else None
        except (ValueError, KeyError, TypeError, RecursionError):  # another version's
            return None

    def _state(self, requested: Sequence[str] | set[str], folders: Mapping[str, object] | Sequence[str]) -> str:
        """What the aliases of a file depend on: the files that were looked for, and where."""
        found = [(path, self._project.file(path)) for path in sorted(requested)]
        contents = [[path, "" if each is None else content(each.data)] for path, each in found]
        roots = [[folder, *self._roots(folder)] for folder in sorted(folders)]
        text = json.dumps([contents, roots])
        return hashlib.sha256((self._store.portable(text) if self._store is not None else text).encode()).hexdigest()

    def _read_bytes(self, file: str) -> bytes | None:
        if file in self._texts:
            return self._texts[file]
        try:
            return Path(file).read_bytes() if os.path.isfile(file) else None
        except OSError:
            return None

    def _find_roots(self, folder: str) -> Sequence[str]:
        """Where the imports of the files in a folder start: at its own package's root, and at the project's."""
        root = os.path.abspath(files.module_name(Path(folder) / "__init__.py").root)
        project = files.project_root(Path(folder))
        whole = [str(project), str(project / "src")] if project is not None else []
        return list(dict.fromkeys([*self._src, root, folder, *whole]))
