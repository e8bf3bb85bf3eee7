"""A cache at a URL, such as s3://bucket/folder, behind one on this machine.

What is read there is kept here, and what is put here is written there at the end of the run, each in one round of many
requests side by side. Each text is one object, written whole by those who offer that; its checksum tells everywhere.
Whatever the trouble with the place, the run goes on with what is here.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from shapecheck.config import ConfigError
from shapecheck.incremental.cache_store import Store, file_name, pack, unpack

_LIMIT = 20.0  # seconds for one object
_LIMIT_ALL = 180.0  # for a round of many
_LONGEST = 300  # characters of what others say of their trouble

_T = TypeVar("_T")


class RemoteCacheError(ConfigError):
    """Nothing here can read and write at such a URL."""

    remedy = (
        "Install what does beside shapecheck: pip install 'jax-shapecheck[remote]', and for each kind of place the "
        "package that fsspec names (s3fs for s3://, gcsfs for gs://, adlfs for abfs://)"
    )


class RemoteStore:
    """Texts under slot names at a `url` of fsspec's, signed with a `key` if there is one, with copies in `near`.

    Where it may be read alone, it is of that use.
    """

    is_shared = True

    def __init__(self, url: str, near: Store, key: bytes = b"") -> None:
        self._url, self._near, self._key = url, near, key
        self._system, self._root = _open(url)
        self._absent: set[str] = set()
        self._new: dict[str, bytes] = {}
        self._trouble = {"read": "", "write": ""}

    def portable(self, text: str) -> str:
        """A text that is hashed, as it is."""
        return text

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """The text that is near, else the one at the URL; the `newest` is the one at the URL, if that can be asked."""
        near = None if newest else self._near.get(slot)
        if near is not None or (slot in self._absent and not newest):
            return near
        text = self._take_over(slot, self._ask(lambda: self._download(slot), _LIMIT))
        return self._near.get(slot) if text is None and newest else text

    def fetch(self, slots: Sequence[str]) -> None:
        """Bring near what is at the URL alone."""
        missing = [slot for slot in dict.fromkeys(slots) if slot not in self._absent and self._near.get(slot) is None]
        if not missing:
            return
        found = self._ask(lambda: self._download_all(missing), _LIMIT_ALL) or {}
        for slot in missing:
            if self._take_over(slot, found.get(slot)) is None:
                self._absent.add(slot)

    def put(self, slot: str, text: str) -> None:
        """Keep the text near, and at the URL once the run has ended."""
        self._near.put(slot, text)
        self._new[slot] = pack(slot, text, self._key)
        self._absent.discard(slot)

    def put_first(self, slot: str, text: str) -> str:
        """Keep the text if there is none at the URL yet, and return the one that is there."""
        known = self.get(slot, newest=True)
        if known is not None:
            return known
        self._ask(lambda: self._create(slot, pack(slot, text, self._key)), _LIMIT, to="write")
        known = self.get(slot, newest=True)
        return self._near.put_first(slot, text) if known is None else known

    def prune(self, older_than: float) -> None:
        """Remove what was not used for so long from what is near; at the URL others use it, and its owner decides."""
        self._near.prune(older_than)

    def finish(self) -> tuple[str, ...]:
        """Write what is new to the URL."""
        new, self._new = self._new, {}
        if new:
            self._ask(lambda: self._upload_all(new), _LIMIT_ALL, to="write")
        trouble, self._trouble = self._trouble, {"read": "", "write": ""}
        if trouble["read"]:
            return (
                f"The cache at {self._url} is of no use to this run, which keeps to the one here: {trouble['read']}",
            )
        if trouble["write"]:
            return (f"What this run has learnt was not written to the cache at {self._url}: {trouble['write']}",)
        return ()

    def _take_over(self, slot: str, data: bytes | None) -> str | None:
        text = None if data is None else unpack(slot, data, self._key)
        if text is not None:
            self._near.put(slot, text)
        return text

    def _path(self, slot: str) -> str:
        return f"{self._root.rstrip('/')}/{file_name(slot)}"

    def _download(self, slot: str) -> bytes | None:
        try:
            return bytes(self._system.cat_file(self._path(slot)))
        except FileNotFoundError:
            return None

    def _download_all(self, slots: Sequence[str]) -> dict[str, bytes]:
        found = self._system.cat([self._path(slot) for slot in slots], on_error="return")
        for each in found.values():
            if isinstance(each, Exception) and not isinstance(each, FileNotFoundError):
                raise each
        read = {slot: found.get(self._path(slot)) for slot in slots}
        return {slot: each for slot, each in read.items() if isinstance(each, bytes)}

    def _upload_all(self, new: dict[str, bytes]) -> None:
        self._prepare()
        self._system.pipe({self._path(slot): data for slot, data in new.items()})

    def _create(self, slot: str, data: bytes) -> None:
        self._prepare()
        try:
            self._system.pipe_file(self._path(slot), data, mode="create")
        except FileExistsError:  # the one who was quicker is read, unless that is damaged
            there = self._download(slot)
            if there is not None and unpack(slot, there, self._key) is None:
                self._system.pipe_file(self._path(slot), data)

    def _prepare(self) -> None:
        if not self._system.async_impl:  # stores of objects know no folders, and might make a bucket of it
            self._system.makedirs(self._root, exist_ok=True)

    def _ask(self, request: Callable[[], _T], limit: float, *, to: Literal["read", "write"] = "read") -> _T | None:
        """The answer of the place; None where it gave none, now or before in this run."""
        if self._trouble["read"] or self._trouble[to]:
            return None
        answers: queue.Queue[_T | Exception] = queue.Queue()

        def run() -> None:
            try:
                answers.put(request())
            except Exception as error:  # of any library of any place: what matters is that it is of no use
                answers.put(error)

        # Of the libraries' own limits some are minutes, and a thread of a pool would be waited for at the end.
        threading.Thread(target=run, daemon=True).start()
        try:
            answer = answers.get(timeout=limit)
        except queue.Empty:
            self._trouble[to] = f"no answer within {limit:g} s"
            return None
        if isinstance(answer, Exception):
            words = " ".join(f"{type(answer).__name__}: {answer}".split())
            self._trouble[to] = words[:_LONGEST]
            return None
        return answer


def _open(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415  # most caches lie in a folder
    except ImportError as error:
        raise RemoteCacheError(f"--cache-dir {url} needs fsspec, which is not installed") from error
    try:
        system, root = url_to_fs(url)
    except (ImportError, ValueError, TypeError) as error:
        raise RemoteCacheError(f"--cache-dir {url}: {error}") from error
    return system, str(root)
