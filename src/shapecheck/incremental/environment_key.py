"""What an evaluation depends on besides the project's own files, known without starting the interpreter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

_VARIABLES = ("JAX", "XLA", "PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTEST", "EQX", "JAXTYPING")


def environment(python: str, sites: Sequence[str]) -> dict[str, str]:
    """The interpreter, the state of the folders that packages are installed in, the variables, and our own version.

    Installing or removing a package changes the time of its folder; so one that is edited in place there goes unseen.
    """
    found = {f"folder {site}": _time(site) for site in sites}
    found[f"python {python}"] = f"{os.path.realpath(python)} {_time(os.path.realpath(python))}"
    found.update({name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)})
    found["shapecheck"] = ourselves()
    return found


def _time(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)
    except OSError:
        return "gone"


@cache
def ourselves() -> str:
    """The newest file of this package, and how many there are: what tells one version of it from another."""
    times = list(_modified_ns(str(Path(__file__).parents[1])))
    return f"{max(times)} {len(times)}"


def _modified_ns(folder: str) -> Iterator[int]:
    """When each Python file was written. Every run asks, and `Path.rglob` takes three times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.stat().st_mtime_ns
            elif entry.is_dir():
                yield from _modified_ns(entry.path)
