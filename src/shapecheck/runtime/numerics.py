"""Values that are not finite: what gave them, how many there are, where the first is, what it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.meant import INFINITY, NAN
from shapecheck.runtime.arising import Failed, Place
from shapecheck.stage.staging.taps import Arrays, Sink, is_inexact, is_state

_MOST = 12  # arrays that went in whose ranges are told
_OUT, _IN = 3, 4  # numbers that are sent of each array
_HINT = "  (if infinity is meant, as in a mask: --nan-only, or nan_only=True, lets it pass)"

# The values that may not be, given what may.
_UNFIT: dict[frozenset[str], Callable[[jax.Array], jax.Array]] = {
    frozenset(): lambda array: ~jnp.isfinite(array),
    frozenset([INFINITY]): jnp.isnan,
    frozenset([NAN]): jnp.isinf,
}


@dataclass(frozen=True)
class Named:
    """Arrays by name, with their ranks where they are looked at: there may be mapped axes in front."""

    names: tuple[str, ...]
    ranks: tuple[int, ...]


def named(name: str, value: Any, is_leaf: Callable[[Any], bool] = is_state) -> Named:
    """The arrays of inexact numbers in a value."""
    leaves = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_leaf)[0]
    found = [(path, leaf) for path, leaf in leaves if is_inexact(leaf)]
    names = tuple(f"{name}{jax.tree_util.keystr(path)}" for path, _ in found)
    return Named(names, tuple(leaf.ndim for _, leaf in found))


def finite(
    place: Place,
    outs: Named,
    ins: Named,
    failed: Failed,
    after: Callable[[jax.Array], None] | None,
    passing: frozenset[str] = frozenset(),
) -> Sink:
    """A sink that calls `failed` where arrays hold NaN or infinity: those at `place`, called `outs`, made of `ins`.

    Of these two, `passing` has what the values may hold.
    """
    unfit = _UNFIT[passing]

    def told(shapes: list[tuple[int, ...]], parts: list[np.ndarray[Any, Any]]) -> bool:
        sent = parts[len(outs.names) * _OUT :]
        before = [*sent[: _MOST * _IN][_IN - 1 :: _IN], *sent[_MOST * _IN :]]
        meant = not place.gradient and not any(int(nan) for nan in parts[1 : len(outs.names) * _OUT : _OUT])
        text = "\n".join([place.title, *_lines(outs, ins, shapes, parts), *([_HINT] if meant else [])])
        return not failed(place, text, any(int(number) for number in before))

    def worth(outs: Arrays) -> jax.Array:
        found: jax.Array = jnp.stack([unfit(array).any() for array in outs]).any()
        return found

    def sent(outs: Arrays, ins: Arrays) -> list[jax.Array]:
        parts: list[jax.Array] = []
        for array in outs:
            bad = unfit(array)
            parts += [bad.sum(), (bad & jnp.isnan(array)).sum(), jnp.argmax(bad.reshape(-1))]
        for array in ins[:_MOST]:
            parts += [*bounds(array), unfit(array).sum()]
        if ins[_MOST:]:
            parts.append(jnp.stack([unfit(array).sum() for array in ins[_MOST:]]).sum())
        return parts

    return Sink(sent, told, worth, after)


def reals(array: jax.Array) -> jax.Array:
    """Its values, of complex ones the magnitudes, as floats of 32 bits or more; JAX may refuse to promote them.

    https://docs.jax.dev/en/latest/type_promotion.html#strict-dtype-promotion
    """
    real = jnp.abs(array) if jnp.iscomplexobj(array) else array
    return real if real.dtype in (jnp.float32, jnp.float64) else real.astype(jnp.float32)


def bounds(array: jax.Array) -> list[jax.Array]:
    """The least and the greatest of the finite values (of complex ones, their magnitudes), and how many are not."""
    good = jnp.isfinite(array)
    real = reals(array)
    least = jnp.where(good, real, jnp.inf).min()
    most = jnp.where(good, real, -jnp.inf).max()
    return [least, most, (~good).sum()]


def _lines(
    outs: Named, ins: Named, shapes: Sequence[tuple[int, ...]], parts: Sequence[np.ndarray[Any, Any]]
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


def between(least: Any, most: Any, bad: int) -> str:
    """`-1.5 .. 2`, `2` where all are equal, or that nothing is finite."""
    if least > most:
        return "nothing finite"
    text = f"{float(least):.6g}" if least == most else f"{float(least):.6g} .. {float(most):.6g}"
    return f"{text}, {bad} not finite" if bad else text


def _text(shape: tuple[int, ...], rank: int) -> str:
    mapped = f" ({len(shape) - rank} mapped in front)" if len(shape) > rank else ""
    return f"[{','.join(map(str, shape))}]{mapped}"
