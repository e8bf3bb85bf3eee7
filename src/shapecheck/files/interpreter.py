"""Which interpreter evaluates the user's code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from shapecheck.files.discovery import project_root


def candidates(explicit: str | None, paths: Sequence[Path]) -> list[str]:
    """Interpreters to try, the most likely first: the one named, else the active or a nearby environment, else ours.

    A nearby environment is one that a checked path lies in, or a folder `.venv` or `venv` beside it or above it in its
    project: up to the repository's root, or to the nearest folder with the files of a project. Where there is neither,
    it goes up to folders that many projects share: the home directory, that of temporary files, and what holds them.
    """
    if explicit is not None:
        return [explicit]
    found = [_inside(Path(os.environ[name])) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    for path in paths:
        start = path.resolve()
        found += [_inside(folder) for folder in start.parents if (folder / "pyvenv.cfg").is_file()]
        found += [_inside(folder / name) for folder in _around(start) for name in (".venv", "venv")]
    usable = [str(p) for p in found if p is not None]
    return list(dict.fromkeys([*usable, sys.executable]))


def _around(path: Path) -> Iterator[Path]:
    """The folder of a path, and those above it that may hold its environment."""
    folder = path if path.is_dir() else path.parent
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), project_root(folder))
    shared = _shared_folders()
    for each in (folder, *folder.parents):
        if each != folder and each in shared:
            return
        yield each
        if each == top:
            return


def _shared_folders() -> set[Path]:
    """Folders in which an environment belongs to no project."""
    found = [Path(name).resolve() for name in (os.path.expanduser("~"), tempfile.gettempdir())]
    return {folder for each in found for folder in (each, *each.parents)}


def _inside(environment: Path) -> Path | None:
    for relative in ("bin/python", "Scripts/python.exe"):
        python = environment / relative
        if python.exists():
            return python
    return None
