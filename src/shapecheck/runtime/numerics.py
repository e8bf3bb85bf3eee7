"""Values that are not finite: what gave them, where the first is, and whether they are raised, logged or passed on."""

from __future__ import annotations

import ctypes
import functools
import logging
import operator
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import is_state
from shapecheck.evaluate.stages.value_taps import Arrays, HostArray, Sink, Stop, is_inexact
from shapecheck.runtime.errors import NonFinite
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


LOGGER: Final = logging.getLogger("shapecheck")


@dataclass(frozen=True)
class ValuePlace:
    """Where a value is looked at, as known when it was traced.

    If it is a `stage` that gave it, that is its name, and `within` has those of the stages around it.
    """

    title: str
    stage: str = ""
    within: tuple[str, ...] = ()
    gradient: bool = False
    thread: int = field(default_factory=threading.get_ident)


# Gets where, what in words, and whether what the value was made of was not finite either; says whether to stop.
HandleNonFinite = Callable[[ValuePlace, str, bool], bool]


class RaiseNonFinite:
    """Raises NonFinite, and notes its text in `found`: JAX wraps what a callback raises in an error of its own.

    Where several devices compute together, the others may wait for the one whose callback raises, until XLA ends the
    process. So there the computation goes on, and the thread that asked for it is interrupted, as by Ctrl-C.
    """

    def __init__(self, found: list[str]) -> None:
        self._found = found
        self._lock = threading.Lock()
        self._coming = ""  # until it is there
        self._there: weakref.ref[NonFinite] | None = None  # until nobody handles it any more

    def handle(self, place: ValuePlace, text: str, follows: bool) -> bool:
        """Raise it, here or in the thread that asked for it. There is nowhere to stop."""
        if jax.local_device_count() == 1 or threading.get_ident() == place.thread:
            self._found.append(text)
            raise NonFinite(text)
        with self._lock:
            if self._coming or (self._there is not None and self._there() is not None):
                return False  # what other devices find, and what follows from the first
            self._coming = text
        self._found.append(text)
        error = self._error_class(text)
        if not _interrupt(place.thread, error):
            _interrupt(threading.main_thread().ident or 0, error)
        return False

    def arrive(self) -> None:
        """All is computed: raise what could not be raised in time. What is computed from now on is another matter."""
        text, self._coming, self._there = self._coming, "", None
        if text:
            raise NonFinite(text)

    def _error_class(self, text: str) -> type[NonFinite]:
        """A class of errors, as an interrupt wants it; it is made an error in the thread that is interrupted."""

        def init(error: NonFinite) -> None:
            super(NonFinite, error).__init__(text)
            self._there, self._coming = weakref.ref(error), ""

        names = {"__init__": init, "__module__": NonFinite.__module__, "__qualname__": NonFinite.__qualname__}
        return type(NonFinite.__name__, (NonFinite,), names)


def _interrupt(thread: int, error: type[BaseException]) -> bool:
    """Raise an error in another thread; whether there is one. Python has this for C alone.

    https://docs.python.org/3/c-api/threads.html#c.PyThreadState_SetAsyncExc
    """
    threads: int = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
    return threads == 1


class LogNonFinite:
    """Logs what arises, and counts what is passed on. With `again`, the same place counts as often as it arises."""

    def __init__(self, *, again: bool = False) -> None:
        self._again = again
        self._lock = threading.Lock()
        self._reported: set[str] = set()
        self._around: set[str] = set()  # stages around a value that was reported
        self._passing: set[str] = set()  # gradients, since one that was reported
        self._passed: Counter[str] = Counter()

    def handle(self, place: ValuePlace, text: str, follows: bool) -> bool:
        """Log it, if it arises at this place; whether it does."""
        with self._lock:
            arises = self._arises(place, follows)
        if arises:
            LOGGER.warning("%s", text)
        return arises

    def sum_up(self) -> None:
        """Say how often it was passed on."""
        if self._passed:
            number, places = sum(self._passed.values()), len(self._passed)
            times = "once" if number == 1 else f"{number} times"
            where = f"in {places} places; the first: " if places > 1 else ""
            LOGGER.warning("What is not finite was passed on %s, %s%s", times, where, next(iter(self._passed)))
            self._passed.clear()

    def _arises(self, place: ValuePlace, follows: bool) -> bool:
        title, known = place.title, place.title in self._reported
        if place.gradient:
            # A backward pass goes through the same places each time, from where it became so. Where it comes to one
            # of them a second time, and not to what was reported, it became so anew.
            if known:
                self._passing.clear()
                return False
            passed = bool(self._reported) and title not in self._passing
            self._passing.add(title)
        else:
            passed = place.stage in self._around or (follows and bool(self._reported))
            self._around.discard(place.stage)
            self._passing.clear()  # and then its gradients
        if passed:
            self._passed[title] += 1
            return False
        self._reported.add(title)
        self._around.update(place.within)
        return self._again or not known
