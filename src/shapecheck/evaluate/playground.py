"""A folder that looks like the one where the user is: code reads what it knows there, and writes beside it.

It is made of links. What code would change in place of a link is copied first, so that a log can be appended to and a
checkpoint overwritten: folders become folders of links, and files copies.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from shapecheck.evaluate.read_only_disk import Refusal, writable

_LARGEST_COPY = 64 << 20  # bytes; a log or a cache is smaller, and a data set is not copied for a check
_BESIDE_DATABASES = ("-journal", "-wal", "-shm")  # what SQLite changes along with a file, by names of its own


def playground(home: str, folder: str) -> str:
    """Make `folder` look like `home`, by links; what is there already stays, and what has been removed is back."""
    with writable():
        _link(home, folder)
    return folder


def _link(home: str, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for entry in os.scandir(home):
        link = Path(folder, entry.name)
        if link.is_symlink():
            continue
        if not link.exists():
            link.symlink_to(entry.path)
        elif link.is_dir() and entry.is_dir():
            _link(entry.path, str(link))


def copy_for_writing(home: str, folder: str, refused: Iterable[Refusal]) -> list[str]:
    """Put copies in the place of the links by which code would have changed what is at `home`; which ones it did."""
    copied: list[str] = []
    with writable():
        for each in refused:
            for path, top in ((each.name, home), (each.name, folder), (each.real, home)):
                if path.startswith(os.path.join(top, "")):
                    copied += _copy(folder, os.path.relpath(path, top))
    return copied


def link_again(home: str, folder: str, copied: Iterable[str]) -> None:
    """Replace copies of files by links: what one function has written is no input of the next."""
    with writable():
        for path in map(Path, copied):
            original = Path(home, path.relative_to(folder))
            if path.is_file() and not path.is_symlink() and original.exists():
                path.unlink()
                path.symlink_to(original)


def _copy(folder: str, path: str) -> list[str]:
    """Replace each link on the way to a file or folder of a playground."""
    copied = []
    for part in Path(path).parts:
        folder = os.path.join(folder, part)
        if not os.path.islink(folder):
            continue
        copied += [each for each in (folder, *(folder + end for end in _BESIDE_DATABASES)) if _replace(each)]
    return copied


def _replace(link: str) -> bool:
    """Put a copy in the place of one link; False where there is none, or what it links to is not copied."""
    if not os.path.islink(link):
        return False
    original = os.path.realpath(link)
    copy = f"{link}.shapecheck-copy"
    try:
        if os.path.isdir(original):
            _link(original, copy)
        elif os.path.isfile(original) and os.path.getsize(original) <= _LARGEST_COPY:
            shutil.copy2(original, copy)
        else:
            return False
        os.unlink(link)
        os.rename(copy, link)
    except OSError:  # it cannot be read, or the disk is full
        return False
    return True
