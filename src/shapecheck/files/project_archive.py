"""A project's files in one piece, by the hash of their contents, for machines that do not see its folder."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

_LARGEST = 32 * 2**20  # bytes of one file: what is larger is data, which abstract evaluation does not read
_LARGEST_ALL = 2**30
_EPOCH = (1980, 1, 1, 0, 0, 0)  # what a file says of its time does not tell one content from another


class ArchiveError(Exception):
    """The project is too large to be sent; the message says what to do."""


def pack_project(folder: str) -> bytes:
    """All files below a folder, but for hidden ones, environments, bytecode and large ones."""
    buffer, size = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in _files(folder):
            size += os.path.getsize(file)
            if size > _LARGEST_ALL:
                raise ArchiveError(f"{folder} has more than 1 GiB of files: put it where all workers see the same path")
            name = os.path.relpath(file, folder).replace(os.sep, "/")
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), Path(file).read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def unpack_project(data: bytes, parent: str) -> str:
    """The folder below `parent` that holds what was packed, made where there is none of that content yet."""
    target = os.path.join(os.path.realpath(parent), f"shapecheck-project-{hashlib.sha256(data).hexdigest()[:32]}")
    if not os.path.isdir(target):
        part = f"{target}-{os.urandom(8).hex()}"
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(part)
        try:
            os.replace(part, target)
        except OSError:  # another worker was quicker
            shutil.rmtree(part, ignore_errors=True)
    return target


def hashes_of(files: Iterator[str], folder: str) -> dict[str, str]:
    """The hashes of the files that lie below a folder, by their paths from there."""
    found = {}
    for file in files:
        if Path(file).is_relative_to(folder):
            found[os.path.relpath(file, folder)] = _hash(file)
    return found


def has_files(folder: str, hashes: Mapping[str, str]) -> bool:
    """Whether a folder has files with these contents."""
    return all(_hash(os.path.join(folder, name)) == each for name, each in hashes.items())


def _hash(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def _files(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_source(os.path.join(here, name), name))
        for name in sorted(names):
            file = os.path.join(here, name)
            if not name.endswith(".pyc") and os.path.isfile(file) and os.path.getsize(file) <= _LARGEST:
                yield file


def _is_source(path: str, name: str) -> bool:
    ours = name.startswith(".") or name in ("__pycache__", "node_modules")
    return not ours and not os.path.exists(os.path.join(path, "pyvenv.cfg"))
