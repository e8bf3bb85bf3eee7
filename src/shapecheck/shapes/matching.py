"""Whether a shape fits a spec, and what that binds. The meaning is jaxtyping's.

Names bind at their first use and must agree after that. `#` lets an axis be 1 without binding it; `*#name` binds the
broadcast of all shapes that were seen; a variadic dim is looked at after all the others; a mismatch binds nothing.

Wider than jaxtyping are: sizes under several samples (a size is 1 if it is 1 in every sample), names that `env` knows
in expressions, and several variadic dims.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from shapecheck.shapes.expressions import EvaluationError, Expression, Size, UnboundName, evaluate
from shapecheck.shapes.spec import (
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    VariadicDim,
    is_variadic,
)

Reason = Literal["", "rank", "dim", "unbound"]
Shape = tuple[Size, ...]


@dataclass(frozen=True)
class Bindings:
    """What names mean in one scope. It is never changed: matching gives new bindings.

    `variadic` gives for each name whether the shape may still grow by broadcasting, and the shape; `structures` what
    the names of tree structures stand for.
    """

    single: Mapping[str, Size] = field(default_factory=dict)
    variadic: Mapping[str, tuple[bool, Shape]] = field(default_factory=dict)
    structures: Mapping[str, str] = field(default_factory=dict)

    def with_single(self, name: str, size: Size) -> Bindings:
        """These bindings and one more name of an axis."""
        return replace(self, single={**self.single, name: size})

    def without(self, names: Collection[str]) -> Bindings:
        """These bindings but for some names of axes."""
        if not any(name in self.single for name in names):
            return self
        return replace(self, single={name: size for name, size in self.single.items() if name not in names})

    def with_structure(self, name: str, structure: str) -> Bindings:
        """These bindings and one more name of a tree structure."""
        return replace(self, structures={**self.structures, name: structure})


@dataclass(frozen=True)
class Match:
    """The outcome: the new bindings if it is `ok`, else the old ones, the reason, and the axis that does not fit."""

    ok: bool
    bindings: Bindings
    reason: Reason = ""
    dim: int | None = None
    detail: str = ""


def leaf_name(leaf: str, name: str) -> str:
    """Under which name `?name` is bound for one leaf of a tree."""
    return f"{leaf}?{name}"


def match(
    spec: Spec,
    shape: Shape,
    bindings: Bindings,
    *,
    env: Mapping[str, Size] | None = None,
    count: int = 1,
    leaf: str = "",
    defer: bool = False,
) -> Match:
    """Match a shape, whose sizes have `count` samples each, against a spec.

    `env` gives the sizes of names in expressions that are not bound, and of all names in braces. `leaf` tells the
    leaves of a tree apart, for `?name`. With `defer` an expression may use names that stand behind it in the same
    spec (`2*n n`), which jaxtyping refuses.
    """
    least = sum(not is_variadic(dim) for dim in spec.dims)
    rank = spec.rank()
    if len(shape) < least or (rank is not None and len(shape) > rank):
        dims = f"{least} or more" if rank is None else f"{rank}"
        return Match(False, bindings, "rank", None, f"{len(shape)} dims, not {dims}")
    outcomes = [
        _Attempt(bindings, env or {}, count, leaf).match_all(
            sorted(placed, key=_deferred_order if defer else _in_order), defer
        )
        for placed in _placements(spec.dims, shape, len(shape) - least)
    ]
    fitting = [outcome for outcome in outcomes if outcome.ok]
    if not fitting:
        # Where all that is known fits, the claim is open, however the other ways to lay its dims fail.
        return next((outcome for outcome in outcomes if outcome.reason == "unbound"), outcomes[0])
    return fitting[0] if len(fitting) == 1 else Match(True, _common(bindings, fitting))


@dataclass(frozen=True)
class _DimAxes:
    """A dim, and the axes that fall to it."""

    dim: Dim
    axis: int
    sizes: Shape


def _placements(dims: tuple[Dim, ...], shape: Shape, spare: int) -> Iterator[list[_DimAxes]]:
    """Every way to give the `spare` axes to the variadic dims. There is just one way if at most one is variadic."""
    open_dims = sum(map(is_variadic, dims))
    for lengths in _partitions(spare, open_dims):
        placed, axis, rest = [], 0, iter(lengths)
        for dim in dims:
            length = next(rest) if is_variadic(dim) else 1
            placed.append(_DimAxes(dim, axis, shape[axis : axis + length]))
            axis += length
        yield placed


def _in_order(placed: _DimAxes) -> int:
    """Variadic dims come last, as in jaxtyping: which misfit is seen first decides between "dim" and "unbound"."""
    return int(is_variadic(placed.dim))


def _deferred_order(placed: _DimAxes) -> int:
    return 2 if isinstance(placed.dim, (SymbolicDim, RepeatedDim)) else _in_order(placed)


def _partitions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 0:
        yield ()
    elif parts == 1:
        yield (total,)
    else:
        for first in range(total + 1):
            for rest in _partitions(total - first, parts - 1):
                yield (first, *rest)


def _common(old: Bindings, fitting: list[Match]) -> Bindings:
    """What all ways to match bind alike. What differs stays as it was, and is not held against later shapes."""
    first, *others = (outcome.bindings for outcome in fitting)
    single = {k: v for k, v in first.single.items() if all(other.single.get(k) == v for other in others)}
    variadic = {k: v for k, v in first.variadic.items() if all(other.variadic.get(k) == v for other in others)}
    return replace(old, single={**old.single, **single}, variadic={**old.variadic, **variadic})


class _Misfit(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail


class _Attempt:
    """One way to lay the dims over the axes. It collects bindings of its own, and is thrown away."""

    def __init__(self, bindings: Bindings, env: Mapping[str, Size], count: int, leaf: str) -> None:
        self._old = bindings
        self._single = dict(bindings.single)
        self._variadic = dict(bindings.variadic)
        self._env = env
        self._count = count
        self._leaf = leaf

    def match_all(self, placed: list[_DimAxes], defer: bool) -> Match:
        unbound: Match | None = None
        for place in placed:
            try:
                if isinstance(place.dim, VariadicDim):
                    self._bind_shape(place.dim, place.sizes)
                elif isinstance(place.dim, RepeatedDim):
                    self._check_repeated(place.dim, place.sizes)
                elif not isinstance(place.dim, AnyDims):
                    self._check_size(place.dim, place.sizes[0])
            except _Misfit as misfit:
                outcome = Match(False, self._old, misfit.reason, place.axis, misfit.detail)
                if not defer or misfit.reason != "unbound":
                    return outcome
                unbound = unbound or outcome  # one size that is not known does not excuse the axes behind it
        return unbound or Match(True, replace(self._old, single=self._single, variadic=self._variadic))

    def _check_size(self, dim: AnyDim | FixedDim | NamedDim | SymbolicDim, size: Size) -> None:
        if isinstance(dim, AnyDim) or (dim.broadcastable and _is_one(size)):
            return
        if isinstance(dim, FixedDim):
            expected = (dim.size,) * self._count
        elif isinstance(dim, SymbolicDim):
            expected = self._evaluate(dim.expression)
        else:
            expected = self._single.setdefault(self._key(dim), size)
        if expected != size:
            value = _text(expected)
            raise _Misfit("dim", f"{_text(size)}, not {dim}" + ("" if str(dim) == value else f"={value}"))

    def _check_repeated(self, dim: RepeatedDim, sizes: Shape) -> None:
        for size in sizes:
            self._check_size(dim.dim, size)
        times = None if dim.times is None else self._evaluate(dim.times)
        if not sizes if times is None else times != (len(sizes),) * self._count:
            expected = "one or more" if times is None else f"{dim.times}={_text(times)}"
            raise _Misfit("rank", f"{len(sizes)} axes of size {dim.dim}, not {expected}")

    def _evaluate(self, expression: Expression) -> Size:
        try:
            return evaluate(expression, ChainMap(self._single, dict(self._env)), self._count, arguments=self._env)
        except UnboundName as error:
            raise _Misfit("unbound", str(error)) from None
        except EvaluationError as error:
            raise _Misfit("dim", str(error)) from None

    def _key(self, dim: NamedDim | VariadicDim) -> str:
        if not dim.per_leaf:
            return dim.name
        if not self._leaf:
            raise _Misfit("unbound", f"?{dim.name} has a meaning only in a tree with a structure name")
        return leaf_name(self._leaf, dim.name)

    def _bind_shape(self, dim: VariadicDim, shape: Shape) -> None:
        key = self._key(dim)
        if key not in self._variadic:
            self._variadic[key] = (dim.broadcastable, shape)
            return
        may_grow, known = self._variadic[key]
        if not may_grow and not dim.broadcastable:
            if shape != known:
                raise _Misfit("dim", f"{_texts(shape)}, not {dim}={_texts(known)}")
            return
        together = _broadcast(shape, known)
        if together is None:
            raise _Misfit("dim", f"{_texts(shape)} does not broadcast with {dim}={_texts(known)}")
        if not may_grow and together != known:
            raise _Misfit("dim", f"{_texts(shape)} does not broadcast to {dim}={_texts(known)}")
        if not dim.broadcastable and together != shape:
            raise _Misfit("dim", f"{dim}={_texts(known)} does not broadcast to {_texts(shape)}")
        if may_grow:
            self._variadic[key] = (dim.broadcastable, together)


def _is_one(size: Size) -> bool:
    return all(entry == 1 for entry in size)


def _broadcast(left: Shape, right: Shape) -> Shape | None:
    """The shape that two shapes broadcast to, or None."""
    if len(left) < len(right):
        left, right = right, left
    lead = len(left) - len(right)
    result = list(left[:lead])
    for a, b in zip(left[lead:], right, strict=True):
        if a != b and not _is_one(a) and not _is_one(b):
            return None
        result.append(b if _is_one(a) else a)
    return tuple(result)


def _text(size: Size) -> str:
    return str(size[0]) if len(set(size)) == 1 else "/".join(map(str, size))


def _texts(shape: Shape) -> str:
    return f"({', '.join(map(_text, shape))})"
