"""Folders that lie at another place on another machine, as marks in texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_END = r"(?![\w.-])"  # a folder ends with its name: /home/me/net is not in /home/me/net2


class PathMarks:
    """JSON texts with marks in the place of folders, by the mark; a mark is nothing that JSON writes in another way."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        inner_first = sorted(folders.items(), key=lambda each: -len(each[1]))  # one may lie in another
        self._folders = {mark: json.dumps(folder)[1:-1] for mark, folder in inner_first}
        self._patterns = {mark: re.compile(re.escape(folder) + _END) for mark, folder in self._folders.items()}

    def to_marks(self, text: str) -> str | None:
        """The text without the folders; None for one that holds a mark itself."""
        if any(mark in text for mark in self._folders):
            return None
        for mark, pattern in self._patterns.items():
            text = pattern.sub(mark, text)
        return text

    def with_marks(self, text: str) -> str:
        """The text without the folders. One that holds a mark is part of a text that has its marks already."""
        marked = self.to_marks(text)
        return text if marked is None else marked

    def to_folders(self, text: str) -> str:
        """The inverse of `to_marks`."""
        for mark, folder in self._folders.items():
            text = text.replace(mark, folder)
        return text
