"""Where the records of a training run go: a table on a terminal, lines of JSON, TensorBoard's event files."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TextIO

from shapecheck.runtime.errors import CheckError

Record = Mapping[str, Any]
"""One monitored step; plain data."""

_MOST = 30  # rows that a terminal shows
_COLUMNS = ("norm", "min", "max", "gradient_norm", "update_norm", "update_ratio")


class MonitorOutput(Protocol):
    """Takes records, one after the other."""

    def write(self, record: Record) -> None:
        """Take one."""

    def close(self) -> None:
        """There are no more."""


class JsonLinesOutput:
    """A line of JSON for each record. What is not finite is a text, for JSON has no such number."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: TextIO | None = None  # processes that the program starts have no steps, and open no file

    def write(self, record: Record) -> None:
        """Write a line, at once: the program may be killed."""
        if self._stream is None:
            self._stream = open(self._path, "w", encoding="utf-8")  # noqa: SIM115 - it stays open to the end
        self._stream.write(f"{json.dumps(_finite(record), allow_nan=False)}\n")
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


class TensorBoardOutput:
    """Event files, which `tensorboard --logdir` shows."""

    def __init__(self, folder: str) -> None:
        """Raises CheckError where there is no writer for them."""
        try:
            self._open = importlib.import_module("tensorboardX").SummaryWriter
        except ImportError:
            raise CheckError(missing_writer(sys.executable)) from None
        self._folder = folder
        self._writer: Any = None

    def write(self, record: Record) -> None:
        """Write a scalar for each number, under `parameters/PATH/norm` and the like."""
        self._writer = self._writer or self._open(self._folder)
        for tag, number in scalars(record):
            self._writer.add_scalar(tag, number, record["step"])
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


class TableOutput:
    """A table of the latest record: live on a terminal, where rich is there; else once, at the end."""

    def __init__(self) -> None:
        self._latest: Record | None = None
        self._live: Any = None

    def _start(self) -> None:
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            try:
                console = importlib.import_module("rich.console").Console(stderr=True)
                self._live = importlib.import_module("rich.live").Live(console=console, auto_refresh=False)
                self._live.start()
            except ImportError:  # the program's interpreter needs nothing of ours
                self._live = None

    def write(self, record: Record) -> None:
        """Show it in place of the one before."""
        if self._latest is None:
            self._start()
        self._latest = record
        if self._live is not None:
            text = importlib.import_module("rich.text").Text("\n".join(table(record)), no_wrap=True)
            self._live.update(text, refresh=True)

    def close(self) -> None:
        """Leave the latest on the screen."""
        if self._live is not None:
            self._live.stop()
        elif self._latest is not None:
            sys.stderr.write("\n".join(["", *table(self._latest), ""]))


def missing_writer(python: str) -> str:
    """What to do where an interpreter has nothing that writes event files."""
    return (
        f"--monitor-tensorboard needs tensorboardX where the program runs: {python} -m pip install tensorboardX "
        "(or 'jax-shapecheck[monitor]')"
    )


def open_outputs(file: str, board: str) -> list[MonitorOutput]:
    """All that is asked for, the table in any case. Raises CheckError for what cannot be written."""
    outputs: list[MonitorOutput] = [JsonLinesOutput(file)] if file else []
    if board:
        outputs.append(TensorBoardOutput(board))
    return [*outputs, TableOutput()]


def scalars(record: Record) -> Iterator[tuple[str, float]]:
    """All numbers of a record, with where they stand in it."""
    for head, value in record.items():
        if isinstance(value, Mapping):
            yield from ((f"{head}/{tag}", number) for tag, number in scalars(value))
        elif isinstance(value, (int, float)) and head not in ("step", "time"):
            yield head, float(value)


def table(record: Record) -> list[str]:
    """A record as lines of text: parameters with their gradients, updates and state; stages; what else there is."""
    lines = [_head(record)]
    parameters: Mapping[str, Record] = record["parameters"]
    states = list(dict.fromkeys(name for row in parameters.values() for name in row.get("state", {})))
    columns = [name for name in _COLUMNS if any(name in row for row in parameters.values())]
    grid = [["parameter", *(name.replace("_", " ") for name in columns), *states]] if parameters else []
    for path, row in list(parameters.items())[:_MOST]:
        numbers = [row.get(name) for name in columns] + [row.get("state", {}).get(name) for name in states]
        grid.append([path + _bad(row), *map(_number, numbers)])
    lines += _align(grid)
    if len(parameters) > _MOST:
        lines.append(f"and {len(parameters) - _MOST} parameters more")
    stages: Mapping[str, Record] = record["stages"]
    if stages:
        grid = [["stage", "norm", "min", "max", "seconds"]]
        for path, row in list(stages.items())[:_MOST]:
            grid.append([path + _bad(row), *(_number(row.get(name)) for name in ("norm", "min", "max", "seconds"))])
        lines += ["", *_align(grid)]
    if len(stages) > _MOST:
        lines.append(f"and {len(stages) - _MOST} stages more")
    return lines


def _head(record: Record) -> str:
    parts = [f"step {record['step']}"]
    if record.get("seconds_per_step"):
        parts.append(f"{1000 * record['seconds_per_step']:.4g} ms a step")
    parts += [f"{name} {1000 * row['seconds']:.4g} ms" for name, row in record["functions"].items() if "seconds" in row]
    parts += [f"{name} {_number(row['value'])}" for name, row in record["optimizer"].items() if "value" in row]
    memory = record["memory"]
    parts += [f"{name.replace('_', ' ')} {size / 2**20:.0f} MiB" for name, size in memory.items()]
    return "  ".join(parts)


def _bad(row: Record) -> str:
    norms = [row[name] for name in ("norm", "gradient_norm", "update_norm") if name in row]
    return "" if all(map(math.isfinite, norms)) else "  (not finite)"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _align(grid: list[list[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in grid) for place in range(len(grid[0]))] if grid else []
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
