"""Where projects show how they are called: the README, docs, example scripts and notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from shapecheck.files.discovery import discover, project_root
from shapecheck.files.notebook_source import SUFFIX
from shapecheck.model.location import SCRIPT_FOLDERS

DOCUMENTS = (".md", ".markdown", ".rst")
"""How the names of documents end."""
_DOCS = ("docs", "doc", "documentation")
_LARGEST = 4_000_000  # bytes: a notebook with pictures
_MOST = 400  # files of one project


def find_snippet_files(files: Sequence[Path], exclude: Sequence[str] = (), root: Path | None = None) -> list[Path]:
    """The documents, example scripts and notebooks of the projects that `files` belong to, sorted, the README first.

    Nothing is read. What a .gitignore or `exclude` leaves out of a walk is left out.
    """
    found: dict[Path, None] = {}
    roots = {project_root(folder) for folder in {file.absolute().parent for file in files}}
    for project in sorted(filter(None, roots), key=str):
        top = [file for suffix in DOCUMENTS for file in sorted(project.glob(f"*{suffix}")) if file.is_file()]
        top.sort(key=lambda file: not file.name.lower().startswith("readme"))
        docs = [project / name for name in _DOCS if (project / name).is_dir()]
        scripts = [project / name for name in SCRIPT_FOLDERS if (project / name).is_dir()]
        beside = [
            *discover(docs, exclude, root, suffixes=(*DOCUMENTS, SUFFIX)),
            *discover(scripts, exclude, root, suffixes=(*DOCUMENTS, ".py", SUFFIX)),
        ]
        found.update(dict.fromkeys([*top, *beside][:_MOST]))
    return [file for file in found if _size(file) <= _LARGEST]


def _size(file: Path) -> float:
    try:
        return file.stat().st_size
    except OSError:  # it went away meanwhile
        return math.inf
