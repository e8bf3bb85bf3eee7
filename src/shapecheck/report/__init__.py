"""Reports: what a run found, in every format; one file a format, each a pure function of the report."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from shapecheck.model import Report


class Renderer(Protocol):
    """Turns a report into the text of one format; `color` matters to the formats that people read."""

    def __call__(self, report: Report, *, color: bool = False) -> str:
        """Render the report."""
        ...


_FILES: Final = {
    "full": "full",
    "concise": "concise",
    "json": "json",
    "json-lines": "jsonlines",
    "sarif": "sarif",
    "github": "github",
    "junit": "junit",
}


class _Formats(Mapping[str, Renderer]):
    """The renderers by the names of their formats; a run imports the one that it uses."""

    def __getitem__(self, name: str) -> Renderer:
        renderer: Renderer = importlib.import_module(f"{__name__}.{_FILES[name]}").render
        return renderer

    def __iter__(self) -> Iterator[str]:
        return iter(_FILES)

    def __len__(self) -> int:
        return len(_FILES)


FORMATS: Final[Mapping[str, Renderer]] = _Formats()
