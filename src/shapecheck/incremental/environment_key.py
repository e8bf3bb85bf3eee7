"""What an evaluation depends on besides the project's own files, known without starting the interpreter."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from shapecheck.evaluate.framework_protocol import framework_facts

_VARIABLES = ("JAX", "XLA", "PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTEST", "JAXTYPING")  # JAXTYPING_DISABLE, ...
_PLACES = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTEST_CURRENT_TEST")  # say where something lies, not what it is


def environment(python: str, sites: Sequence[str]) -> dict[str, str]:
    """The interpreter, the state of the folders that packages are installed in, the variables, and our own version.

    Installing or removing a package changes the time of its folder; so one that is edited in place there goes unseen.
    """
    found = {f"folder {site}": _time(site) for site in sites}
    found[f"python {python}"] = f"{os.path.realpath(python)} {_time(os.path.realpath(python))}"
    found.update(_variables())
    found["shapecheck"] = ourselves()
    return found


def portable_environment(python: str, sites: Sequence[str]) -> dict[str, str]:
    """The same for machines that share a cache: which packages are installed in which version, whenever that was."""
    installed = sorted({name for site in sites for name in _names(site) if name.endswith((".dist-info", ".egg-info"))})
    packages = {"installed": "\n".join(installed), "sites": "\n".join(sites)}
    return {**portable_variables(), **packages, "shapecheck": our_contents()}


def portable_variables() -> dict[str, str]:
    """The variables that results depend on, but for those that say where something lies."""
    return {name: value for name, value in _variables().items() if name not in _PLACES}


def _variables() -> dict[str, str]:
    prefixes = (*_VARIABLES, *framework_facts("variables"))
    found = {name: value for name, value in os.environ.items() if name.startswith(prefixes)}
    found.pop("PYTHONHASHSEED", None)  # the worker has one of its own, and Dask sets it here for its workers
    return found


def installed_packages(python: str) -> list[str]:
    """The names and versions of what is installed beside an interpreter, as far as that shows without starting it."""
    pattern = "Lib/site-packages" if os.name == "nt" else "lib/python*/*-packages"
    folders = Path(python).parent.parent.glob(pattern)
    return sorted(name for folder in folders for name in _names(str(folder)) if name.endswith(".dist-info"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


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


@cache
def our_contents() -> str:
    """A hash of all files of this package: what tells one version from another on any machine."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder).as_posix()} {file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _modified_ns(folder: str) -> Iterator[int]:
    """When each Python file was written. Every run asks, and `Path.rglob` takes three times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.stat().st_mtime_ns
            elif entry.is_dir():
                yield from _modified_ns(entry.path)
