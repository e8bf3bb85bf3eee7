"""Which interpreter evaluates the user's code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def candidates(explicit: str | None, paths: Sequence[Path]) -> list[str]:
    """Interpreters to try, the most likely first: the one named, else the active or a nearby environment, else ours.

    A nearby environment is a folder `.venv` or `venv` beside a checked path or in one of its parents.
    """
    if explicit is not None:
        return [explicit]
    found = [_inside(Path(os.environ[name])) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    for path in paths:
        start = path.resolve()
        found += [_inside(folder / name) for folder in (start, *start.parents) for name in (".venv", "venv")]
    usable = [str(p) for p in found if p is not None]
    return list(dict.fromkeys([*usable, sys.executable]))


def _inside(environment: Path) -> Path | None:
    for relative in ("bin/python", "Scripts/python.exe"):
        python = environment / relative
        if python.exists():
            return python
    return None
