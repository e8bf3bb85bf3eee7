"""Of what the arrays in the body of a `jax.lax.scan`, or under `vmap`, are slices: of parameters that layers share out.

`jax.lax.scan` hands its body slices of what it scans over, so it is watched. Inside of `jax.jit` or `jax.checkpoint`
the body has other tracers in their place: there the names and shapes of a whole part tell.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax

from shapecheck.stage.observe.frames import wrapped
from shapecheck.stage.observe.values import is_array

_Path = tuple[str, ...]
_Named = Mapping[_Path, Any]


@dataclass(frozen=True)
class _Turn:
    """A run of a body: what it carries, what is scanned over, and which slices of that it was given, by identity."""

    carried: Any
    scanned: Any
    slices: Mapping[int, Any]


class Stacks:
    """The scans that are under way, while they are `noticed`."""

    def __init__(self, is_mine: Callable[[], bool]) -> None:
        """`is_mine` says whether the thread that runs is to be looked at."""
        self._is_mine = is_mine
        self._turns: list[_Turn] = []

    @contextlib.contextmanager
    def noticed(self) -> Iterator[None]:
        """Meanwhile bodies of `jax.lax.scan` tell what they are given."""
        original = jax.lax.scan

        @functools.wraps(original)
        def scan(f: Callable[..., Any], init: Any, xs: Any = None, *args: Any, **kwargs: Any) -> Any:
            watched = self._is_mine() and callable(f) and xs is not None
            return original(self._body(f, xs) if watched else f, init, xs, *args, **kwargs)

        names = list(_names_of(original))
        for module, name in names:
            setattr(module, name, scan)
        try:
            yield
        finally:
            for module, name in names:
                setattr(module, name, original)

    def _body(self, function: Callable[..., Any], scanned: Any) -> Callable[..., Any]:
        wholes = jax.tree_util.tree_leaves(scanned)

        @functools.wraps(function)
        def body(carry: Any, x: Any) -> Any:
            slices = {id(own): whole for own, whole in zip(jax.tree_util.tree_leaves(x), wholes, strict=False)}
            self._turns.append(_Turn(carry, scanned, slices))
            try:
                return function(carry, x)
            finally:
                self._turns.pop()

        return body

    def whole(self, part: Any) -> Any:
        """A pytree of arrays, with those of which they are slices in their place, over which scans and `vmap` run."""
        leaves, structure = _flat(part)
        for turn in reversed(self._turns):
            leaves = _outside({path: _unmapped(leaf) for path, leaf in leaves.items()}, turn)
        return jax.tree_util.tree_unflatten(structure, list(map(_unmapped, leaves.values())))


def _names_of(function: Callable[..., Any]) -> Iterator[tuple[Any, str]]:
    """The modules that know a function, under which names: those of JAX's that are private are left alone."""
    for path, module in list(sys.modules.items()):
        if type(module) is ModuleType and not path.startswith("jax._src."):
            yield from ((module, name) for name, value in list(vars(module).items()) if value is function)


def _outside(leaves: _Named, turn: _Turn) -> dict[_Path, Any]:
    found = {path: turn.slices[id(leaf)] for path, leaf in leaves.items() if id(leaf) in turn.slices}
    others = {path: leaf for path, leaf in leaves.items() if path not in found and is_array(leaf)}
    if others and not _named(others, turn.carried, lambda own, there: own == there):
        found.update(_named(others, turn.scanned, lambda own, there: own == there[1:]))
    return {**leaves, **{path: whole for path, whole in found.items() if _is_sized(whole)}}


def _named(leaves: _Named, tree: Any, fits: Callable[[tuple[Any, ...], tuple[Any, ...]], bool]) -> dict[_Path, Any]:
    """The arrays of these names side by side somewhere in `tree`, if all are there and fit."""
    there, _ = _flat(tree)
    first = next(iter(leaves))
    for end in there:
        if first and end[-len(first) :] != first:
            continue
        beginning = end[: len(end) - len(first)]
        found: dict[_Path, Any] = {path: there.get(beginning + path) for path in leaves}
        if all(is_array(found[p]) and fits(tuple(leaf.shape), tuple(found[p].shape)) for p, leaf in leaves.items()):
            return found
    return {}


def _flat(tree: Any) -> tuple[dict[_Path, Any], Any]:
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    return {tuple(map(_step, path)): leaf for path, leaf in leaves}, structure


def _step(key: Any) -> str:
    names = (getattr(key, name, None) for name in ("key", "name", "idx"))
    return str(next((name for name in names if name is not None), key))


def _unmapped(leaf: Any) -> Any:
    """The array that `vmap` and derivatives have in hand, if its size is known: free ones cannot be counted."""
    for _, inner in wrapped(leaf):
        if not _is_sized(inner):
            break
        leaf = inner
    return leaf


def _is_sized(whole: Any) -> bool:
    return is_array(whole) and all(isinstance(size, int) for size in whole.shape)
