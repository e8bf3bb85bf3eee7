"""JAX's debugger, opened in the user's frame: `--on-failure breakpoint`."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Iterator

import jax

from shapecheck.runtime.excepthook import is_ours

_calling = threading.RLock()


def break_unless_true(is_own: Callable[[str], bool]) -> Callable[[jax.Array], None]:
    """A function that stops the program where it is called, if what it is given is False when it is computed.

    https://docs.jax.dev/en/latest/_autosummary/jax.debug.breakpoint.html
    """

    def stop(good: jax.Array) -> None:
        with _stack_of(is_own):
            jax.lax.cond(good, lambda: None, jax.debug.breakpoint)

    return stop


@contextlib.contextmanager
def _stack_of(is_own: Callable[[str], bool]) -> Iterator[None]:
    """A monkeypatch: meanwhile, `inspect.stack` begins with the user's frames, once.

    JAX leaves out its own frames, but no others'. It has no option for that. Should it look
    elsewhere one day, its debugger opens in a frame of ours.
    """
    stack = inspect.stack
    thread = threading.get_ident()

    def users(context: int = 1) -> list[inspect.FrameInfo]:
        frames = inspect.getouterframes(sys._getframe(1), context)
        if threading.get_ident() != thread:
            return frames
        inspect.stack = stack  # before the debugger opens
        own = list(itertools.dropwhile(lambda each: not is_own(each.filename), frames))
        return [frames[0], *(each for each in own or frames[1:] if not is_ours(each.frame))]

    with _calling:
        inspect.stack = users
        try:
            yield
        finally:
            inspect.stack = stack
