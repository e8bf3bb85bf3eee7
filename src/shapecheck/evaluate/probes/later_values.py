"""What callables show when they are called, and iterators when they are asked: passed on with an observer inside."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import TypeGuard

from shapecheck.model import Selector, admitted_structures, is_structure

Place = tuple[str, int]  # the file, and the site in it
NoteCall = Callable[[Sequence[object], object], None]
NoteItem = Callable[[object], None]

_PLACES = "__shapecheck_places__"  # an attribute of those that are watched
_LAZY: tuple[type, ...] = (
    *(map, filter, zip, enumerate, type(iter([])), type(iter(()))),
    *(itertools.islice, itertools.chain, itertools.repeat, itertools.cycle, itertools.count),
)


class WatchedFunctions:
    """Functions that were passed on, by where that was: each stays one and the same there, as code may compare it."""

    def __init__(self) -> None:
        self._known: dict[tuple[Place, object], _WatchedFunction] = {}

    def watch(self, place: Place, function: object, note: NoteCall) -> object:
        """A function which does the same, and notes its arguments and its result; what is no function as it is.

        If it is passed on at the same place again, its calls are those of the later time. One that came by this place
        before, as when a pytree is put together again, is noted there already.
        """
        if not _is_function(function):
            return function
        if place in getattr(function, _PLACES, ()):
            return function
        try:
            known = self._known.get((place, function))
        except TypeError:  # it cannot be hashed
            return function
        if known is None:
            known = self._known[place, function] = _WatchedFunction(place, function, note)
        known.note = note
        return known.call


def replace_functions(value: object, inside: Sequence[Selector], watch: Callable[[object], object]) -> object:
    """A value with each function in it watched that stands at the end of the selectors: the same where there is none.

    What is neither a plain list, tuple nor dict is left as it is. Whoever holds one of these goes on with a copy.
    """
    if not inside:
        return watch(value)
    first, rest = inside[0], inside[1:]
    if admitted_structures(first):
        return replace_functions(value, rest, watch)
    if is_structure(first):
        fits = first == "array" or type(value).__name__ == str(first).partition("/")[0]
        return replace_functions(value, rest, watch) if fits else value
    if type(value) is dict:
        named = {key: replace_functions(part, rest, watch) for key, part in value.items()} if first == "*" else value
        return named if any(named[key] is not part for key, part in value.items()) else value
    if type(value) not in (list, tuple) or not isinstance(value, (list, tuple)):
        return value
    parts = [
        replace_functions(part, rest, watch) if first in ("*", index) else part for index, part in enumerate(value)
    ]
    return type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value


def _is_function(value: object) -> TypeGuard[Callable[..., object]]:
    """Whether it is a function, plain or of JAX. What is a pytree, as a layer is, may hold arrays that a copy hides."""
    kinds, pytrees = _function_types()
    return isinstance(value, kinds) and not isinstance(value, pytrees)


@functools.cache
def _function_types() -> tuple[tuple[type, ...], type]:
    import jax  # noqa: PLC0415 - a program that is watched decides itself when JAX is loaded

    plain = (FunctionType, MethodType, BuiltinFunctionType, functools.partial)
    return (*plain, jax.custom_jvp, jax.custom_vjp, type(jax.jit(_is_function))), jax.tree_util.Partial


class _WatchedFunction:
    """A function, and what notes its calls now."""

    def __init__(self, place: Place, function: Callable[..., object], note: NoteCall) -> None:
        self.note = note

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            result = function(*args, **kwargs)
            self.note(args, result)
            return result

        vars(call)[_PLACES] = {place, *getattr(function, _PLACES, ())}
        self.call = call


def watch_items(items: object, note: NoteItem) -> object:
    """An iterator over the same, which notes each item; what is no iterator of Python's own as it is.

    Nothing is asked for before somebody does. A generator of a function may be one that values are sent to.
    """
    is_expression = isinstance(items, GeneratorType) and items.gi_code.co_name == "<genexpr>"
    is_lazy = is_expression or isinstance(items, _LAZY)
    return _note_each(items, note) if is_lazy and isinstance(items, Iterator) else items


def _note_each(items: Iterator[object], note: NoteItem) -> Iterator[object]:
    for item in items:
        note(item)
        yield item
