"""Arrays in numbers, as the program computes them, `--print`; and how it and `--show` are told which."""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import sys
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp

from shapecheck.evaluate.stages.value_taps import Arrays, HostArray, Sink
from shapecheck.runtime.numerics import between, bounds, reals
from shapecheck.runtime.stderr_lock import stderr_lock

_SENT = 5  # numbers that are sent of each array


def print_sink(title: str, names: Sequence[str], types: Sequence[str]) -> Sink:
    """A sink that prints a line for each array, with its least, greatest and mean value and its norm, to stderr."""

    def receive(shapes: list[tuple[int, ...]], parts: list[HostArray]) -> None:
        lines = []
        for index, name in enumerate(names):
            least, most, bad, mean, norm = parts[index * _SENT : (index + 1) * _SENT]
            shape = ",".join(map(str, shapes[index]))
            values = f"{between(least, most, int(bad))}  mean {float(mean):.6g}  norm {float(norm):.6g}"
            lines.append(f"{title}{name} {types[index]}[{shape}]  {values}\n")
        with stderr_lock():
            sys.stderr.write("".join(lines))
            sys.stderr.flush()

    return Sink(_parts, receive)


def _parts(outs: Arrays, ins: Arrays) -> list[jax.Array]:
    parts: list[jax.Array] = []
    for array in outs:
        real = reals(array)
        parts += [*bounds(array), real.mean(), jnp.sqrt((real * real).sum())]
    return parts


_GRADIENT = "grad:"
_MOST = 1000  # names that are kept to choose near ones from


class PrintGlobs:
    """Patterns, and which of them have matched anything so far."""

    def __init__(self, globs: Sequence[str], flag: str) -> None:
        self._globs, self._flag = tuple(globs), flag
        self._found: set[str] = set()
        self._passed: set[str] = set()  # patterns of gradients, of which one has come
        self._names: dict[str, None] = {}

    def selects(self, names: Sequence[str]) -> tuple[bool, bool]:
        """Whether the value of what has these names is asked for, and whether its gradient is."""
        if not self._globs:
            return False, False
        if len(self._names) < _MOST:
            self._names.update(dict.fromkeys(names))
        matching = {glob for glob in self._globs if _matches(names, glob.removeprefix(_GRADIENT))}
        self._found |= matching
        gradients = {glob for glob in matching if glob.startswith(_GRADIENT)}
        return matching != gradients, bool(gradients)

    def with_note(self, names: Sequence[str], sink: Sink) -> Sink:
        """The sink for a gradient of what has these names, which notes that one has come."""

        def receive(shapes: list[tuple[int, ...]], parts: list[HostArray]) -> bool | None:
            self._passed |= {glob for glob in self._globs if _matches(names, glob.removeprefix(_GRADIENT))}
            return sink.receive(shapes, parts)

        return dataclasses.replace(sink, receive=receive)

    def idle(self) -> Iterator[str]:
        """In words, each pattern that has shown nothing, with the names nearest to it if it matches none."""
        for glob in self._globs:
            if glob in self._found:
                if glob.startswith(_GRADIENT) and glob not in self._passed:
                    yield f"{self._flag} {glob}: it has run, but no gradient with respect to it was computed"
                continue
            near = difflib.get_close_matches(glob.removeprefix(_GRADIENT), self._names, n=3)
            hint = f"; there is {', '.join(near)}" if near else ""
            yield f"{self._flag} {glob}: no stage and no variable of that name has run{hint}"


def _matches(names: Sequence[str], glob: str) -> bool:
    """Whether a name matches. Brackets mean themselves: `blocks[0].*`."""
    return any(fnmatch.fnmatchcase(name, glob.replace("[", "[[]")) for name in names)
