"""What one shard has used and learnt of a cache, so that it can be carried to another one, and joined with others'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.result_cache import TABLES

_INDEX = "index"


class RecordedTexts:
    """A store, with all texts that went in and out, as they are on all machines."""

    def __init__(self, texts: KeptTexts) -> None:
        self._texts = texts
        self.seen: dict[str, str] = {}

    @property
    def is_shared(self) -> bool:
        """As of the store."""
        return self._texts.is_shared

    def portable(self, text: str) -> str:
        """As of the store."""
        return self._texts.portable(text)

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """As of the store."""
        text = self._texts.get(slot, newest=newest)
        if text is not None:
            self.seen[slot] = text
        return text

    def fetch(self, slots: Sequence[str]) -> None:
        """As of the store."""
        self._texts.fetch(slots)

    def put(self, slot: str, text: str) -> None:
        """As of the store."""
        self.seen[slot] = text
        self._texts.put(slot, text)

    def put_first(self, slot: str, text: str) -> str:
        """As of the store."""
        self.seen[slot] = text = self._texts.put_first(slot, text)
        return text

    def prune(self, older_than: float) -> None:
        """As of the store."""
        self._texts.prune(older_than)

    def finish(self) -> tuple[str, ...]:
        """As of the store."""
        return self._texts.finish()


def keep_joined(parts: Sequence[Mapping[str, str]], texts: KeptTexts) -> int:
    """Keep what all shards of a run carry, and return how many texts that is.

    Each shard knows the files and seconds of its own results: these tables are joined, with those that are there. Of
    lists of all that there is the most complete one counts.
    """
    joined: dict[str, str] = {}
    for part in parts:
        for slot, text in part.items():
            joined[slot] = _join(slot, joined[slot], text) if slot in joined else text
    for slot, text in joined.items():
        known = texts.get(slot, newest=True) if _is_table(slot) else None
        texts.put(slot, text if known is None else _join(slot, known, text))
    return len(joined)


def _join(slot: str, one: str, other: str) -> str:
    if _is_table(slot):
        return dump({**_load_table(one), **_load_table(other)})
    if _INDEX in slot.split(":"):
        return max(one, other, key=lambda text: _completeness(_load_table(text)))
    return other  # the same, for its name says what it is of


def _is_table(slot: str) -> bool:
    return slot.rpartition(":")[2] in TABLES


def _load_table(text: str) -> Mapping[str, Any]:
    try:
        found = load(text)
    except (ValueError, KeyError, TypeError, RecursionError):  # not ours: it is as good as none
        return {}
    return found if isinstance(found, dict) else {}


def _completeness(index: Mapping[str, Any]) -> tuple[bool, bool, int]:
    return bool(index.get("listed")), bool(index.get("whole")), len(index.get("loaded") or ())
