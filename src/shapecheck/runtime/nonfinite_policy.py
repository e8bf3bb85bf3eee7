"""What becomes of values that are not finite: raised, logged, or counted as what was reported before, passed on."""

from __future__ import annotations

import ctypes
import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import jax

from shapecheck.runtime.errors import NonFinite

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
