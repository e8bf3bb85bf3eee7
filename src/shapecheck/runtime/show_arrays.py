"""Arrays as pictures, as the program computes them: `--show`. What a picture needs of an array is chosen here."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import numpy as np

from shapecheck.evaluate.probes.describe_value import array_text
from shapecheck.evaluate.stages.value_taps import Arrays, HostArray, Sink
from shapecheck.runtime.numerics import between, bounds, reals
from shapecheck.runtime.show_page import ArrayView, ShowPage

_SIDE = 256  # rows and columns of a heat map
_SLICES = 4  # heat maps of one array
_SAMPLE = 100_000  # numbers of a histogram
_SENT = 5  # arrays that are sent of each


def show_sink(page: ShowPage, title: str, names: Sequence[str]) -> Sink:
    """A sink that hands arrays with these names to a page; `title` says where they are computed."""
    types: list[str] = []

    def parts(outs: Arrays, ins: Arrays) -> list[jax.Array]:
        types[:] = [array_text(array).partition("[")[0] for array in outs]
        return [part for array in outs for part in _parts(array)]

    def receive(shapes: list[tuple[int, ...]], sent: list[HostArray]) -> None:
        for index, name in enumerate(names):
            slices, sample, least, most, bad = sent[index * _SENT : (index + 1) * _SENT]
            shape = shapes[index]
            view = ArrayView(
                name=name,
                place=title,
                text=f"{types[index]}[{','.join(map(str, shape))}]  {between(least, most, int(bad))}",
                slices=slices,
                labels=tuple(_label(index, shape[:-2]) for index in range(len(slices))),
                sample=sample,
                notes=tuple(_notes(shape)),
            )
            page.add(view)

    return Sink(parts, receive)


def _parts(array: jax.Array) -> list[jax.Array]:
    """Slices along the last two axes, and of a large array a sample of its numbers."""
    real = reals(array)
    flat = real.reshape(-1)
    rows, columns = _steps(array.shape)
    if array.ndim < 2:
        slices = flat[:: max(1, math.ceil(flat.size / _SAMPLE))].reshape(1, 1, -1)
    else:
        slices = real.reshape(-1, *array.shape[-2:])[:_SLICES, ::rows, ::columns]
    sample = flat[:: math.ceil(flat.size / _SAMPLE)] if max(rows, columns) > 1 else flat[:0]
    return [slices, sample, *bounds(array)]


def _steps(shape: tuple[int, ...]) -> tuple[int, int]:
    """Of how many rows, and columns, a heat map has one."""
    if len(shape) < 2:
        return 1, 1
    return math.ceil(shape[-2] / _SIDE), math.ceil(shape[-1] / _SIDE)


def _label(index: int, axes: tuple[int, ...]) -> str:
    """Which slice it is: `[0, 2]`, of an array of three axes or more."""
    return str([int(part) for part in np.unravel_index(index, axes)]) if axes else ""


def _notes(shape: tuple[int, ...]) -> list[str]:
    """What a picture leaves out."""
    rows, columns = _steps(shape)
    count = math.prod(shape[:-2])
    notes = [f"the first {_SLICES} of {count} slices along the last two axes"] if count > _SLICES else []
    if rows > 1:
        notes.append(f"one of {rows} rows")
    if columns > 1:
        notes.append(f"one of {columns} columns")
    return notes
