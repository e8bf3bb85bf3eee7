"""Values that are not finite: what gave them, how many there are, where the first is, what it was given."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import is_state
from shapecheck.evaluate.stages.value_taps import Arrays, HostArray, Sink, Stop, is_inexact
from shapecheck.runtime.nonfinite_policy import HandleNonFinite, ValuePlace
from shapecheck.syntax.intended_nonfinite import INFINITY

_MOST = 12  # arrays that went in whose ranges are shown
_OUT, _IN = 3, 4  # numbers that are sent of each array
_HINT = "  (if infinity is meant, as in a mask: --nan-only, or nan_only=True, lets it pass)"


@dataclass(frozen=True)
class NamedArrays:
    """Arrays by name, with their ranks where they are looked at: there may be mapped axes in front."""

    names: tuple[str, ...]
    ranks: tuple[int, ...]


def name_arrays(name: str, value: object, is_leaf: Callable[[object], bool] = is_state) -> NamedArrays:
    """The arrays of inexact numbers in a value."""
    leaves = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_leaf)[0]
    found = [(path, leaf) for path, leaf in leaves if is_inexact(leaf)]
    names = tuple(f"{name}{jax.tree_util.keystr(path)}" for path, _ in found)
    return NamedArrays(names, tuple(leaf.ndim for _, leaf in found))


def finite(
    place: ValuePlace,
    outs: NamedArrays,
    ins: NamedArrays,
    failed: HandleNonFinite,
    stop: Callable[[object], Stop] | None,
    passing: frozenset[str] = frozenset(),
) -> Sink:
    """A sink that calls `failed` where arrays hold NaN or infinity: those at `place`, called `outs`, made of `ins`.

    Of these two, `passing` has what the values may hold.
    """
    unfit = functools.partial(_unfit, passing)

    def receive(shapes: list[tuple[int, ...]], parts: list[HostArray]) -> bool:
        sent = parts[len(outs.names) * _OUT :]
        before = [*sent[: _MOST * _IN][_IN - 1 :: _IN], *sent[_MOST * _IN :]]
        hinted = not place.gradient and not any(int(nan) for nan in parts[1 : len(outs.names) * _OUT : _OUT])
        text = "\n".join([place.title, *_lines(outs, ins, shapes, parts), *([_HINT] if hinted else [])])
        return failed(place, text, any(int(number) for number in before))

    def worth(outs: Arrays) -> Any:
        return functools.reduce(operator.or_, [unfit(array).any() for array in outs])

    def summarize(outs: Arrays, ins: Arrays) -> list[jax.Array]:
        parts: list[jax.Array] = []
        for array in outs:
            bad = unfit(array)
            parts += [bad.sum(), (bad & _numbers(array).isnan(array)).sum(), bad.reshape(-1).argmax()]
        for array in ins[:_MOST]:
            parts += [*bounds(array), unfit(array).sum()]
        if ins[_MOST:]:
            parts.append(functools.reduce(operator.add, [unfit(array).sum() for array in ins[_MOST:]]))
        return parts

    return Sink(summarize, receive, worth, stop, on_host=True)


def _unfit(passing: frozenset[str], array: object) -> Any:
    """Which values may not be, given what may."""
    numbers = _numbers(array)
    if not passing:
        return ~numbers.isfinite(array)
    return numbers.isnan(array) if INFINITY in passing else numbers.isinf(array)


def _numbers(array: object) -> Any:
    """JAX's functions on arrays, or NumPy's."""
    return jnp if isinstance(array, jax.Array) else np


def reals(array: Any) -> Any:
    """Its values, of complex ones the magnitudes, as floats of 32 bits or more; JAX may refuse to promote them.

    https://docs.jax.dev/en/latest/type_promotion.html#strict-dtype-promotion
    """
    numbers = _numbers(array)
    real = numbers.abs(array) if numbers.iscomplexobj(array) else array
    return real if real.dtype in (np.float32, np.float64) else real.astype(np.float32)


def bounds(array: object) -> list[jax.Array]:
    """The least and the greatest of the finite values (of complex ones, their magnitudes), and how many are not."""
    numbers = _numbers(array)
    good = numbers.isfinite(array)
    real = reals(array)
    least = numbers.where(good, real, np.inf).min()
    most = numbers.where(good, real, -np.inf).max()
    return [least, most, (~good).sum()]


def _lines(
    outs: NamedArrays, ins: NamedArrays, shapes: Sequence[tuple[int, ...]], parts: Sequence[HostArray]
) -> Iterator[str]:
    count = len(outs.names)
    for index, name in enumerate(outs.names):
        bad, nan, first = (int(part) for part in parts[index * _OUT : (index + 1) * _OUT])
        if bad:
            yield f"  {name} {_where(shapes[index], outs.ranks[index], first)}: {_kinds(bad, nan)}"
    sent = parts[count * _OUT :]
    for index, name in enumerate(ins.names[:_MOST]):
        least, most, unfit, _ = sent[index * _IN : (index + 1) * _IN]
        yield f"  given {name} {_text(shapes[count + index], ins.ranks[index])}: {between(least, most, int(unfit))}"
    if len(ins.names) > _MOST:
        others = int(sent[_MOST * _IN])
        yield f"  and {len(ins.names) - _MOST} arrays more{f', {others} not finite' if others else ''}"


def _kinds(bad: int, nan: int) -> str:
    return " and ".join(filter(None, [f"{nan} NaN" if nan else "", f"{bad - nan} infinite" if bad > nan else ""]))


def _where(shape: tuple[int, ...], rank: int, first: int) -> str:
    place = f", the first at {list(map(int, np.unravel_index(first, shape)))}" if shape else ""
    return f"{_text(shape, rank)}{place}"


def between(least: HostArray, most: HostArray, bad: int) -> str:
    """`-1.5 .. 2`, `2` where all are equal, or that nothing is finite."""
    if least > most:
        return "nothing finite"
    text = f"{float(least):.6g}" if least == most else f"{float(least):.6g} .. {float(most):.6g}"
    return f"{text}, {bad} not finite" if bad else text


def _text(shape: tuple[int, ...], rank: int) -> str:
    mapped = f" ({len(shape) - rank} mapped in front)" if len(shape) > rank else ""
    return f"[{','.join(map(str, shape))}]{mapped}"
