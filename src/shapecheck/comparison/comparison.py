"""A comparison as its users hold it: two models' stages side by side, with the ways to show them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from shapecheck.comparison.compared_models import ComparedModels, plain
from shapecheck.comparison.comparison_text import Row, conclusion, notes, rows

_HEAD = ("stage", "type", "output", "max abs", "max rel", "")


def as_text(comparison: ComparedModels, *, color: bool = False) -> str:
    """Lines that stand alone: shapes that differ, a table, what only one has, and where the two part."""
    if color:
        return _colored_table(comparison)
    table = [_HEAD, *(row.cells for row in rows(comparison))]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(_HEAD))]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)) for cells in table]
    return "\n".join([*notes(comparison), *(line.rstrip() for line in lines), "", conclusion(comparison)])


def as_json(comparison: ComparedModels, *, color: bool = False) -> str:
    """JSON, version 1."""
    found = {
        "version": 1,
        "a": comparison.a,
        "b": comparison.b,
        "rtol": comparison.tolerance.rtol,
        "atol": comparison.tolerance.atol,
        "equal": comparison.equal,
        "first": comparison.first,
        "conclusion": conclusion(comparison),
        "only_a": list(comparison.only_a),
        "only_b": list(comparison.only_b),
        "proposed": dict(comparison.proposed),
        "stages": [plain(stage) for stage in comparison.stages],
    }
    return json.dumps(found, indent=2)


FORMATS: Mapping[str, Callable[..., str]] = {"table": as_text, "json": as_json}


def _colored_table(comparison: ComparedModels) -> str:
    import io  # noqa: PLC0415 - only for terminals, where rich is

    from rich.console import Console  # noqa: PLC0415 - likewise
    from rich.markup import escape  # noqa: PLC0415 - likewise
    from rich.table import Table  # noqa: PLC0415 - likewise

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in _HEAD:
        table.add_column(name, overflow="fold", justify="right" if name.startswith("max") else "left")
    for row in rows(comparison):
        table.add_row(*map(escape, row.cells[:-1]), f"[{_color(row)}]{escape(row.cells[-1])}[/]")
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, highlight=False)
    for line in notes(comparison):
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
    console.print(table)
    color = "green" if comparison.equal else "red"
    console.print(f"\n[bold {color}]{escape(conclusion(comparison))}[/]", soft_wrap=True)
    return stream.getvalue().rstrip("\n")


def _color(row: Row) -> str:
    return "green" if row.equal else "red"


class Comparison(ComparedModels):
    """What became of comparing two models. `str(comparison)` is the text for a terminal."""

    def to_json(self) -> str:
        """JSON, version 1."""
        return as_json(self)

    def __str__(self) -> str:
        return as_text(self)
