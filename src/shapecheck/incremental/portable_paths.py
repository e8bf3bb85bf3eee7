"""A cache that machines share: what it keeps of a project holds wherever that project lies.

In names, hashes and texts, the places of the project and of its environment are written as marks, which each machine
reads as its own places.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from shapecheck.files import interpreter
from shapecheck.files.path_marks import PathMarks
from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.incremental.environment_key import our_contents, ourselves

_MARK = "<the project of shapecheck>"  # nothing that JSON would write in another way
_ENVIRONMENT = "<the environment of shapecheck>"


class ProjectPlace(PathMarks):
    """Where a project lies: `root` with its configuration, and the working directory, from which paths are shown.

    Where its interpreter is that of an environment outside, that lies somewhere else on each machine, too.
    """

    def __init__(self, root: Path, python: Path | None = None) -> None:
        here = Path.cwd()
        self.folder = os.path.realpath(here if root.is_relative_to(here) else root)
        folders = {_MARK: self.folder}
        outside = environment_folder(interpreter.candidates(str(python) if python else None, [root])[0])
        if outside is not None and not outside.is_relative_to(self.folder):
            folders[_ENVIRONMENT] = str(outside)
        super().__init__(folders)


def environment_folder(python: str) -> Path | None:
    """The virtual or conda environment of an interpreter, if that is in one."""
    folder = Path(python).parent.parent
    return folder if (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir() else None


class SharedStore:
    """A store whose texts and their names hold on all machines, kept in `texts`."""

    is_shared = True

    def __init__(self, texts: KeptTexts, place: ProjectPlace) -> None:
        self._texts, self._place = texts, place

    def portable(self, text: str) -> str:
        """A text that is hashed, as it is on all machines."""
        marked = self._place.to_marks(text)
        return text if marked is None else marked

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """As of any store."""
        text = self._texts.get(self._name(slot), newest=newest)
        return None if text is None else self._place.to_folders(text)

    def fetch(self, slots: Sequence[str]) -> None:
        """As of any store."""
        self._texts.fetch(list(map(self._name, slots)))

    def put(self, slot: str, text: str) -> None:
        """As of any store; what cannot be told from another place is not kept."""
        marked = self._place.to_marks(text)
        if marked is not None:
            self._texts.put(self._name(slot), marked)

    def put_first(self, slot: str, text: str) -> str:
        """As of any store."""
        marked = self._place.to_marks(text)
        return text if marked is None else self._place.to_folders(self._texts.put_first(self._name(slot), marked))

    def prune(self, older_than: float) -> None:
        """As of any store."""
        self._texts.prune(older_than)

    def finish(self) -> tuple[str, ...]:
        """As of any store."""
        return self._texts.finish()

    def _name(self, slot: str) -> str:
        # An installation's own times mean nothing to another machine.
        return self.portable(slot).replace(ourselves(), our_contents())
