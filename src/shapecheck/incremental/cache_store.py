"""A folder of texts under names, which may be lost at any time but are never wrong.

Whatever is amiss with the folder, a run goes on as if there were no cache. Every file begins with a checksum of its
contents and of the name it is kept under, so a file that is torn, damaged or misplaced counts as missing. Whoever can
write in the folder can write a checksum, too: where there is a key, which others do not know, that signs each file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

_MAGIC = b"shapecheck-cache 1 "  # the number changes with the format of the file, not with that of the texts
_PLAIN, _PACKED = b"text", b"zlib"
_HEADER = len(_MAGIC) + len(_PLAIN) + 1 + 64 + 1
_LONG = 4096  # bytes: shorter texts take one block on the disk either way

_ENTRY = re.compile(r"[0-9a-f]{64}\.shapecheck")
_TEMPORARY = re.compile(r"[0-9a-f]{32}\.shapecheck\.tmp")
_ABANDONED = 3600.0  # seconds after which nobody is still writing a temporary file
_DAY = 86400.0

_TAG_NAME, _IGNORE_NAME = "CACHEDIR.TAG", ".gitignore"
_TAG = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"  # by which backup tools know a cache
    b"# This file is a cache directory tag created by shapecheck.\n"
)
_TAG_HELP = b"# For information about cache directory tags see https://bford.info/cachedir/\n"
_IGNORE = b"*\n"

# A named pipe must not block, and nothing in the folder may lead out of it. Windows knows neither, but wants O_BINARY.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class KeptTexts(Protocol):
    """Texts under slot names, which may be lost."""

    @property
    def is_shared(self) -> bool:
        """Whether other machines keep theirs there too."""

    def portable(self, text: str) -> str:
        """The text with the project's own paths in a form that is the same on all of these."""

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """Return the text under this name, or None if there is none; where copies may differ, perhaps the newest."""

    def fetch(self, slots: Sequence[str]) -> None:
        """Bring near what is going to be asked for, all at once."""

    def put(self, slot: str, text: str) -> None:
        """Keep the text under this name."""

    def put_first(self, slot: str, text: str) -> str:
        """Keep the text if there is none yet, and return the one that is there."""

    def prune(self, older_than: float) -> None:
        """Remove what was not used for so many seconds."""

    def finish(self) -> tuple[str, ...]:
        """Hand on what was put, at the end of a run; what there is to say of that."""


class Store:
    """Texts under slot names in `folder`, shared by any number of processes.

    The folder is created with the first text. One that holds something else already is left alone. With a `key`, what
    was not written with it counts as missing.
    """

    is_shared = False  # with other machines

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        self._folder, self._key = folder, key
        self._prepared = False
        self._stopped = False

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """Return the text that was stored last under this name, or None if it is not there or not intact."""
        path = self._path(slot)
        try:
            data = _read_regular(path, _MAGIC)
            text = None if data is None else unpack(slot, data, self._key)
        except MemoryError:
            return None
        if text is not None:
            _mark_used(path)
        return text

    def fetch(self, slots: Sequence[str]) -> None:
        """Nothing lies nearer than this."""

    def put(self, slot: str, text: str) -> None:
        """Store the text under this name, or do nothing; after a first failure, do nothing from then on."""
        if self._stopped:
            return
        try:
            if not self._prepared:
                _prepare(self._folder)
                self._prepared = True
            _write(self._path(slot), pack(slot, text, self._key))
        except OSError:
            self._stopped = True

    def put_first(self, slot: str, text: str) -> str:
        """Store the text unless there is one under this name, and return what is there: all who ask get the same."""
        path = self._path(slot)
        existed = path.exists()  # asked first: one that another process writes meanwhile is whole
        known = self.get(slot)
        if known is not None or self._stopped:
            return text if known is None else known
        try:
            if not self._prepared:
                _prepare(self._folder)
                self._prepared = True
            _write(path, pack(slot, text, self._key), replace=existed)  # damaged, if it existed
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links has no way to tell who was first
            self.put(slot, text)
        known = self.get(slot)
        return text if known is None else known

    def portable(self, text: str) -> str:
        """A text that is hashed, as it is wherever the store is used."""
        return text

    def prune(self, older_than: float) -> None:
        """Remove what was not used for so many seconds, and what interrupted runs left behind.

        Use is noted once a day, so whoever names less than that may lose what is in use.
        """
        now = time.time()
        if not _is_ours(self._folder):
            return
        for entry in _entries(self._folder):
            limit = older_than if _ENTRY.fullmatch(entry.name) else _ABANDONED
            with suppress(OSError):
                if _is_own_file(entry) and now - entry.stat(follow_symlinks=False).st_mtime >= limit:
                    Path(entry).unlink()

    def finish(self) -> tuple[str, ...]:
        """All is written, or nothing can be."""
        return ()

    def _path(self, slot: str) -> Path:
        return self._folder / file_name(slot)


def clean(folder: Path) -> bool:
    """Remove the cache in `folder`, and the folder if nothing else is in it; return whether anything was removed.

    A folder without the tag that `Store` puts there is left alone, and so is a symbolic link to one.
    """
    if folder.is_symlink() or not _is_ours(folder):
        return False
    removed, strangers = False, False
    for entry in _entries(folder):
        if _is_own_file(entry):
            removed = _remove(Path(entry)) or removed
        else:
            strangers = strangers or not (entry.name == _TAG_NAME or _is_our_ignore(entry))
    if not strangers:  # else the marks stay: without them `Store` would take the folder for somebody else's
        removed = _remove(folder / _IGNORE_NAME) or removed
        removed = _remove(folder / _TAG_NAME) or removed
        with suppress(OSError):  # somebody stored something meanwhile
            folder.rmdir()
    return removed


def _prepare(folder: Path) -> None:
    """Create the folder with its marks, or complete one whose creation was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    if _is_ours(folder):
        return
    strangers = [entry for entry in _entries(folder) if not (_is_own_file(entry) or _is_our_ignore(entry))]
    if strangers and not _is_ours(folder):  # asked again, since the stranger may be the tag of a process beside us
        raise FileExistsError(f"{folder} holds something other than a cache")
    _write(folder / _IGNORE_NAME, _IGNORE)
    _write(folder / _TAG_NAME, _TAG + _TAG_HELP)


def _is_ours(folder: Path) -> bool:
    return _read_regular(folder / _TAG_NAME, _TAG) is not None


def _is_our_ignore(entry: os.DirEntry[str]) -> bool:
    return entry.name == _IGNORE_NAME and _read_regular(Path(entry), _IGNORE) == _IGNORE


def _is_own_file(entry: os.DirEntry[str]) -> bool:
    """Whether this is a stored text or a temporary file."""
    if not (_ENTRY.fullmatch(entry.name) or _TEMPORARY.fullmatch(entry.name)):
        return False
    try:
        return stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return True  # a process beside us has renamed or removed it


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _mark_used(path: Path) -> None:
    with suppress(OSError):  # reading does not need the permission to write
        if abs(time.time() - path.stat().st_mtime) > _DAY:  # in the future, too: clocks are set back
            os.utime(path)


def _read_regular(path: Path, start: bytes) -> bytes | None:
    """The contents of a regular file that begins with `start`, None for anything else."""
    try:
        handle = os.open(path, _READ)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with open(handle, "rb", closefd=False) as stream:
            begin = stream.read(len(start))
            return begin + stream.read() if begin == start else None
    except OSError:
        return None
    finally:
        os.close(handle)


def _write(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write the file all at once. Nothing is flushed to the disk: if power fails, the checksum tells.

    Raises FileExistsError for a file that is there, unless it may be replaced.
    """
    temporary = path.parent / f"{os.urandom(16).hex()}.shapecheck.tmp"
    try:
        # not `tempfile`, whose files nobody else may read: a checkout can be shared
        with open(os.open(temporary, _CREATE, 0o666), "wb") as stream:
            stream.write(data)
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path)
            temporary.unlink()
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def file_name(slot: str) -> str:
    """The name of the file that keeps what is stored under a name."""
    return f"{hashlib.sha256(_encode(slot)).hexdigest()}.shapecheck"


def pack(slot: str, text: str, key: bytes) -> bytes:
    """The contents of that file."""
    body = _encode(text)
    if len(body) < _LONG:
        return _header(slot, _PLAIN, body, key) + body
    body = zlib.compress(body, 1)
    return _header(slot, _PACKED, body, key) + body


def unpack(slot: str, data: bytes, key: bytes) -> str | None:
    """The text that the file keeps, None for anything but what `pack` made for this name with this key."""
    form = data[len(_MAGIC) : len(_MAGIC) + len(_PLAIN)]
    body = memoryview(data)[_HEADER:]
    if form not in (_PLAIN, _PACKED) or not hmac.compare_digest(data[:_HEADER], _header(slot, form, body, key)):
        return None
    try:
        return str(zlib.decompress(body) if form == _PACKED else body, "utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):  # nothing that `pack` made
        return None


def _header(slot: str, form: bytes, body: bytes | memoryview, key: bytes) -> bytes:
    name = _encode(slot)
    begin = b"%s %d %s" % (form, len(name), name)
    digest = hmac.new(key, begin, "sha256") if key else hashlib.sha256(begin)
    digest.update(body)
    return b"%s%s %s\n" % (_MAGIC, form, digest.hexdigest().encode())


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # names of files may hold lone surrogates
