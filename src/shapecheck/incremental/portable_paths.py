"""A cache that machines share: what it keeps of a project holds wherever that project lies.

In names, hashes and texts the place of the project is written as a mark, which each machine reads as its own place.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.environment_key import our_contents, ourselves

_MARK = "<the project of shapecheck>"  # nothing that JSON would write in another way


class ProjectPlace:
    """Where a project lies: `root` with its configuration, and the working directory, from which paths are shown."""

    def __init__(self, root: Path) -> None:
        here = Path.cwd()
        self.folder = os.path.realpath(here if root.is_relative_to(here) else root)
        self._written = json.dumps(self.folder)[1:-1]

    def to_mark(self, text: str) -> str | None:
        """A JSON text without the place; None for one that holds the mark itself."""
        return None if _MARK in text else text.replace(self._written, _MARK)

    def to_place(self, text: str) -> str:
        """The inverse of `to_mark`."""
        return text.replace(_MARK, self._written)


class SharedStore(Store):
    """A store whose texts and their names hold on all machines."""

    is_shared = True

    def __init__(self, folder: Path, place: ProjectPlace) -> None:
        super().__init__(folder)
        self._place = place

    def portable(self, text: str) -> str:
        """A text that is hashed, as it is on all machines."""
        marked = self._place.to_mark(text)
        return text if marked is None else marked

    def get(self, slot: str) -> str | None:
        """As of any store."""
        text = super().get(self._name(slot))
        return None if text is None else self._place.to_place(text)

    def put(self, slot: str, text: str) -> None:
        """As of any store; what cannot be told from another place is not kept."""
        marked = self._place.to_mark(text)
        if marked is not None:
            super().put(self._name(slot), marked)

    def put_first(self, slot: str, text: str) -> str:
        """As of any store."""
        marked = self._place.to_mark(text)
        return text if marked is None else self._place.to_place(super().put_first(self._name(slot), marked))

    def _name(self, slot: str) -> str:
        # An installation's own times mean nothing to another machine.
        return self.portable(slot).replace(ourselves(), our_contents())
