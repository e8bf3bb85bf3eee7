"""Of what the arrays in the body of a `jax.lax.scan`, or under `vmap`, are slices: of parameters that layers share out.

`jax.lax.scan` hands its body slices of what it scans over, so it is watched; the tracers of `vmap` have in hand what
they are slices of. Inside of `jax.jit` or `jax.checkpoint` other tracers are in their place: there the names and shapes
of a whole part tell. What `vmap` was given is in its frame, under names of JAX 0.5 to 0.12.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

import jax

from shapecheck.evaluate.jax_internals import is_private, nested_tracers, vmap_arguments
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.probes.vmap_axes import VmapFrames

_Path = tuple[str, ...]
_Shape = tuple[object, ...]
_NamedLeaves = Mapping[_Path, Any]


@dataclass(frozen=True)
class _Turn:
    """What a body of `scan`, or a function under `vmap`, is given: some as it is, of others slices.

    These have other shapes inside of it. Those that are known by their identity are recognised by it.
    """

    same: _NamedLeaves
    sliced: Mapping[_Path, tuple[object, _Shape]]
    slices: Mapping[int, object] = field(default_factory=dict)


class StackedParameters:
    """The scans that are under way, under `observe_scans`."""

    def __init__(self, is_mine: Callable[[], bool]) -> None:
        """`is_mine` says whether the thread that runs is to be looked at."""
        self._is_mine = is_mine
        self._turns: dict[FrameType, _Turn] = {}
        self._surroundings = VmapFrames()

    @contextlib.contextmanager
    def observe_scans(self) -> Iterator[None]:
        """Meanwhile bodies of `jax.lax.scan` tell what they are given."""
        original = jax.lax.scan

        @functools.wraps(original)
        def scan(f: Callable[..., Any], init: object, xs: object = None, *args: Any, **kwargs: Any) -> object:
            watched = self._is_mine() and callable(f) and xs is not None
            return original(self._body(f, xs) if watched else f, init, xs, *args, **kwargs)

        names = list(_names_of(original))  # monkeypatch: inside of the body, nothing tells whose slices there are
        for module, name in names:
            setattr(module, name, scan)
        try:
            yield
        finally:
            for module, name in names:
                setattr(module, name, original)

    def _body(self, function: Callable[..., object], scanned: object) -> Callable[..., Any]:
        wholes = jax.tree_util.tree_leaves(scanned)

        @functools.wraps(function)
        def body(carry: object, x: object) -> object:
            slices = {id(own): whole for own, whole in zip(jax.tree_util.tree_leaves(x), wholes, strict=False)}
            sliced = {path: (leaf, tuple(leaf.shape)[1:]) for path, leaf in _flat(scanned)[0].items() if is_array(leaf)}
            frame = sys._getframe()
            self._turns[frame] = _Turn(_flat(carry)[0], sliced, slices)
            try:
                return function(carry, x)
            finally:
                del self._turns[frame]

        return body

    def with_stacks(self, part: object) -> object:
        """A pytree of arrays, with those of which they are slices in their place, over which scans and `vmap` run."""
        leaves, structure = _flat(part)
        for turn in self._around(sys._getframe(1)):
            leaves = _outside({path: _unmapped_array(leaf) for path, leaf in leaves.items()}, turn)
        return jax.tree_util.tree_unflatten(structure, list(map(_unmapped_array, leaves.values())))

    def _around(self, frame: FrameType | None) -> Iterator[_Turn]:
        """The scans, and the `vmap`s that no tracer shows, which are under way in a frame: the inner ones first."""
        mapping = set(self._surroundings.hidden_frames(frame))
        while frame is not None:
            if frame in self._turns:
                yield self._turns[frame]
            elif frame in mapping:
                yield _vmap_turn(frame)
            frame = frame.f_back


def _vmap_turn(frame: FrameType) -> _Turn:
    """What `vmap` was given, which runs in a frame."""
    arguments = vmap_arguments(frame)
    if arguments is None:
        return _Turn({}, {})
    given, axes, tree = arguments
    places, _ = _flat(jax.tree_util.tree_unflatten(tree, range(len(given))))
    sliced = {path: (given[i], _without(given[i].shape, axes[i])) for path, i in places.items() if type(axes[i]) is int}
    return _Turn({path: given[i] for path, i in places.items() if axes[i] is None}, sliced)


def _without(shape: _Shape, axis: int) -> _Shape:
    return tuple(size for index, size in enumerate(shape) if index != axis % len(shape))


def _names_of(function: Callable[..., object]) -> Iterator[tuple[object, str]]:
    """The modules that know a function, under which names: those of JAX's that are private are left alone."""
    for path, module in list(sys.modules.items()):
        if type(module) is ModuleType and not is_private(path):
            yield from ((module, name) for name, value in list(vars(module).items()) if value is function)


def _outside(leaves: _NamedLeaves, turn: _Turn) -> dict[_Path, object]:
    found = {path: turn.slices[id(leaf)] for path, leaf in leaves.items() if id(leaf) in turn.slices}
    others = {path: leaf for path, leaf in leaves.items() if path not in found and is_array(leaf)}
    same = {path: (leaf, tuple(leaf.shape)) for path, leaf in turn.same.items() if is_array(leaf)}
    if others:
        found.update(_named_arrays(others, same) or _named_arrays(others, turn.sliced))
    return {**leaves, **{path: whole for path, whole in found.items() if _is_sized(whole)}}


def _named_arrays(leaves: _NamedLeaves, there: Mapping[_Path, tuple[object, _Shape]]) -> dict[_Path, object]:
    """The arrays of these names side by side somewhere, if all are `there` and have these shapes."""
    first = next(iter(leaves))
    for end in there:
        if first and end[-len(first) :] != first:
            continue
        beginning = end[: len(end) - len(first)]
        found = {path: there[beginning + path] for path in leaves if beginning + path in there}
        if len(found) == len(leaves) and all(tuple(leaves[path].shape) == shape for path, (_, shape) in found.items()):
            return {path: whole for path, (whole, _) in found.items()}
    return {}


def _flat(tree: object) -> tuple[dict[_Path, Any], object]:
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    return {tuple(map(_step, path)): leaf for path, leaf in leaves}, structure


def _step(key: object) -> str:
    names = (getattr(key, name, None) for name in ("key", "name", "idx"))
    return str(next((name for name in names if name is not None), key))


def _unmapped_array(leaf: object) -> object:
    """The array that `vmap` and derivatives have in hand, if its size is known: free ones cannot be counted."""
    for _, inner in nested_tracers(leaf):
        if not _is_sized(inner):
            break
        leaf = inner
    return leaf


def _is_sized(whole: object) -> bool:
    return is_array(whole) and all(isinstance(size, int) for size in whole.shape)
