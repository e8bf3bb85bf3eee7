"""What is remembered of runs over unsaved text: it stays in memory, in front of the project's cache."""

from __future__ import annotations

from collections.abc import Sequence

from shapecheck.incremental.cache_store import KeptTexts

_MOST = 64 * 2**20  # characters that are kept; the least recently used go first


class MemoryStore:
    """Texts under slot names that no other process sees. What is not there is looked for in `behind`."""

    def __init__(self, behind: KeptTexts) -> None:
        self._behind = behind
        self._texts: dict[str, str] = {}
        self._size = 0

    @property
    def is_shared(self) -> bool:
        """Whether what lies behind is."""
        return self._behind.is_shared

    def portable(self, text: str) -> str:
        """A text that is hashed, as the store behind has it."""
        return self._behind.portable(text)

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """Return the text that was stored last under this name, here or behind."""
        text = self._texts.pop(slot, None)
        if text is None:
            return self._behind.get(slot, newest=newest)
        self._texts[slot] = text
        return text

    def fetch(self, slots: Sequence[str]) -> None:
        """Have what lies behind bring near what is not here."""
        self._behind.fetch([slot for slot in slots if slot not in self._texts])

    def put(self, slot: str, text: str) -> None:
        """Keep the text under this name, in memory alone."""
        self._size += len(text) - len(self._texts.pop(slot, ""))
        self._texts[slot] = text
        while self._size > _MOST:
            oldest = next(iter(self._texts))
            self._size -= len(self._texts.pop(oldest))

    def put_first(self, slot: str, text: str) -> str:
        """Keep the text, if there is none yet; return the one that is there."""
        known = self.get(slot)
        if known is None:
            self.put(slot, text)
        return text if known is None else known

    def prune(self, older_than: float) -> None:
        """Leave what lies behind alone: it is others' too."""

    def finish(self) -> tuple[str, ...]:
        """Hand on nothing: nobody has saved the text that these results are of."""
        return ()
