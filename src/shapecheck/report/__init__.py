"""Reports: what a run found, in every format; one file a format, each a pure function of the report."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from shapecheck.model import Report
from shapecheck.report import concise, full, github, json, jsonlines, junit, sarif


class Renderer(Protocol):
    """Turns a report into the text of one format; `color` matters to the formats that people read."""

    def __call__(self, report: Report, *, color: bool = False) -> str:
        """Render the report."""
        ...


FORMATS: Final[Mapping[str, Renderer]] = MappingProxyType(
    {
        "full": full.render,
        "concise": concise.render,
        "json": json.render,
        "json-lines": jsonlines.render,
        "sarif": sarif.render,
        "github": github.render,
        "junit": junit.render,
    }
)
