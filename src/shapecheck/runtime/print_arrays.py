"""Arrays in numbers, as the program computes them: `--print`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.stages.value_taps import Arrays, Sink
from shapecheck.runtime.numerics import between, bounds, reals

_SENT = 5  # numbers that are sent of each array


def print_sink(title: str, names: Sequence[str], types: Sequence[str]) -> Sink:
    """A sink that prints a line for each array, with its least, greatest and mean value and its norm, to stderr."""

    def receive(shapes: list[tuple[int, ...]], parts: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> None:
        lines = []
        for index, name in enumerate(names):
            least, most, bad, mean, norm = parts[index * _SENT : (index + 1) * _SENT]
            shape = ",".join(map(str, shapes[index]))
            values = f"{between(least, most, int(bad))}  mean {float(mean):.6g}  norm {float(norm):.6g}"
            lines.append(f"{title}{name} {types[index]}[{shape}]  {values}\n")
        sys.stderr.write("".join(lines))
        sys.stderr.flush()

    return Sink(_parts, receive)


def _parts(outs: Arrays, ins: Arrays) -> list[jax.Array]:
    parts: list[jax.Array] = []
    for array in outs:
        real = reals(array)
        parts += [*bounds(array), real.mean(), jnp.sqrt((real * real).sum())]
    return parts
