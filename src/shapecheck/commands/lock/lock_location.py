"""Where the lock of a project lies. Every run asks, so that this imports next to nothing."""

from __future__ import annotations

import os
from pathlib import Path

from shapecheck.config import Config

NAME = "shapes.lock"


def lock_file(config: Config, start: Path) -> Path:
    """The lock, or where it is to be: beside the configuration, else beside the nearest pyproject.toml or lock.

    That is looked for upwards from `start`, then from the working directory, where it is if there is none.
    """
    if config.file is not None:
        return config.root / NAME
    for first in (absolute(start), Path.cwd()):
        for folder in (first, *first.parents):
            if (folder / NAME).is_file() or (folder / "pyproject.toml").is_file():
                return folder / NAME
    return Path.cwd() / NAME


def absolute(path: Path) -> Path:
    """The path from the root, without `..`, and with its symbolic links."""
    return Path(os.path.normpath(path.absolute()))
