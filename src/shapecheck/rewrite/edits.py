"""Insertion of whole lines into the bytes of a file: nothing else of it changes."""

from __future__ import annotations

import codecs
import io
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from shapecheck.model import INSERTED
from shapecheck.rewrite.insertion_points import Spot
from shapecheck.syntax.inserted_lines import split_lines

LINE = "<line>"
"""Stands in a text for the line `Insertion.about`, as the file counts when everything is inserted."""


@dataclass(frozen=True)
class Insertion:
    """One line to insert. Those of one spot stand in the order of `rank`, then as they were given."""

    spot: Spot
    text: str
    rank: int = 0
    about: int = 0


def insert(data: bytes, insertions: Iterable[Insertion]) -> bytes:
    """The file with the lines inserted, each with the mark by which it is found again."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    lines = split_lines(data[len(mark) :])
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data[len(mark) :]).readline)
    by_line: dict[int, list[Insertion]] = {}
    for each in sorted(dict.fromkeys(insertions), key=lambda i: i.rank):
        by_line.setdefault(each.spot.line, []).append(each)
    numbers = _numbers(len(lines), by_line)
    result = [mark]
    for number in range(len(lines) + 1):
        line = lines[number - 1] if number else b""
        end = _end(line) or _usual_end(lines, number)
        result.append(line)
        for each in by_line.get(number, ()):
            text = each.text.replace(LINE, str(numbers.get(each.about, each.about)))
            new = f"{each.spot.indent}{text}  {INSERTED}".encode(encoding)
            # A file without a line end at its end has none afterwards, either.
            result.append(end + new if number and not _end(line) else new + end)
    return b"".join(result)


def _numbers(count: int, by_line: dict[int, list[Insertion]]) -> dict[int, int]:
    """The new number of each line."""
    numbers, shift = {}, 0
    for line in range(1, count + 1):
        shift += len(by_line.get(line - 1, ()))
        numbers[line] = line + shift
    return numbers


def _end(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _usual_end(lines: list[bytes], number: int) -> bytes:
    """The line end of the neighbour above, else of the first line."""
    near = lines[number - 2] if number > 1 else lines[0] if lines else b""
    return _end(near) or b"\n"
