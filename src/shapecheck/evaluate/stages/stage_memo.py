"""Depth for free: a stage that repeats an earlier one is not evaluated again, nor is the construction of a module.

From the second time on, a stage is called through `jax.jit`, whose cache goes by the shapes, dtypes and weak types of
its arrays; one jitted function stands for one class with one static structure. So vmap, grad, scan and their kin treat
the call as JAX treats any jitted function. Where such a boundary could matter, a stage is evaluated each time: if it
has arrays with values, a `State`, static parts that cannot be compared, functions that hold tracers, or effects.

Modules are constructed so from the third time on, if the first two came out alike: what makes something of its own
each time, as the index of a state is, never does.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from types import CellType, TracebackType
from typing import Any

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import is_state, is_wrapper, pytree_classes
from shapecheck.evaluate.own_errors import is_own, raise_own_within
from shapecheck.evaluate.probes.monkeypatch import patch_attribute, subclasses
from shapecheck.evaluate.probes.recorder import Recorder, Watch
from shapecheck.evaluate.probes.vmap_axes import VmapFrames, is_mapped_within, mapped_axes
from shapecheck.evaluate.stages.stage_cost import REUSED

Signature = tuple[tuple[tuple[object, ...], str, bool], ...]
_scope = jax.named_scope  # as it is while nobody watches


class ApartError(Exception):
    """A call has to be made each time: it has effects, or arguments or results that JAX cannot take apart."""


class _Alike:
    """Parts that are equal to others where that can be said: what the user's own comparison raises on is not."""

    def __init__(self, parts: tuple[Hashable, ...]) -> None:
        self._parts = parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, _Alike) and bool(self._parts == other._parts)
        except Exception as error:  # static parts may be anything, as arrays are
            raise_own_within(error)
            return False


class SplitArguments:
    """The arguments of one call: its tracers, and all the rest, which is static."""

    def __init__(self, value: object) -> None:
        """Raises ApartError for what JAX cannot take apart, such as a dict whose keys have no order."""
        try:
            leaves, self.tree = jax.tree_util.tree_flatten(value)
        except (ValueError, TypeError) as error:
            raise ApartError from error
        self.is_tracer = tuple(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
        self.tracers = [leaf for leaf, traced in zip(leaves, self.is_tracer, strict=True) if traced]
        self.static = tuple(None if traced else leaf for leaf, traced in zip(leaves, self.is_tracer, strict=True))

    def with_tracers(self, tracers: Sequence[object]) -> Any:
        """The value, with other tracers."""
        left = iter(tracers)
        leaves = [next(left) if traced else leaf for leaf, traced in zip(self.static, self.is_tracer, strict=True)]
        return jax.tree_util.tree_unflatten(self.tree, leaves)

    def key(self) -> Hashable:
        """What is equal for calls that differ in their tracers only; None where that cannot be known."""
        if not all(map(_is_plain, self.static)):
            return None
        key = _Alike((self.tree, self.is_tracer, tuple((type(leaf), leaf) for leaf in self.static)))
        try:
            hash(key)
        except TypeError:
            return None
        except Exception as error:  # static parts may be anything
            _raise_own(error)
            return None
        return key

    def signature(self) -> Signature:
        """The shapes, dtypes and weak types of the tracers."""
        return _signature(self.tracers)


class StageMemo:
    """Remembers which calls were made, for one evaluation."""

    def __init__(
        self,
        plainly: int = 1,
        quiet: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        """So many calls are made `plainly` at first. What is traced again, for its boundary, is so under `quiet()`."""
        self._plainly, self._quiet = plainly, quiet
        self.under: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext  # around the boundaries
        self.off, self.used = False, False  # whether it is switched off, and whether it has saved a call
        self._times: Counter[Hashable] = Counter()
        self._seen: set[Hashable] = set()
        self._apart: set[Hashable] = set()  # those for which a boundary would matter
        self._jitted: dict[Hashable, Any] = {}
        self._results: dict[Hashable, tuple[SplitArguments, list[tuple[bool, int]]]] = {}
        self._made: dict[Hashable, Hashable] = {}  # what the first construction came to

    def call(
        self,
        function: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        forget: Callable[[], None] = lambda: None,
        extra_key: Callable[[Sequence[object]], Hashable] = lambda tracers: None,
    ) -> tuple[object, Hashable]:
        """The result of `function(*args, **kwargs)`, and the call's key (None if it is unlike any other).

        Where it has to begin again, it calls `forget` before. What distinguishes calls that JAX cannot tell
        apart, `extra_key` gives for their tracers.
        """
        try:
            given = SplitArguments((list(args), dict(kwargs)))
        except ApartError:
            return function(*args, **kwargs), None
        static = given.key()
        key: Hashable = None
        if static is not None and not _has_state((args, kwargs)):
            key = ((function, static), given.signature(), extra_key(given.tracers))
        if key is None or key in self._apart:
            return function(*args, **kwargs), key
        self._times[key] += 1
        if self._times[key] <= self._plainly or self.off:
            result = function(*args, **kwargs)
            if self._has_changed(args, kwargs, static):
                self._apart.add(key)
            return result, key
        try:
            return self.repeat(function, given, (function, static)), key
        except Exception as error:  # whatever the user's code raises
            # The boundary may be to blame: where it is not, the call raises the same again.
            _raise_own(error)
            self._apart.add(key)
            forget()
            return function(*args, **kwargs), key

    @staticmethod
    def _has_changed(args: Sequence[object], kwargs: Mapping[str, object], static: Hashable) -> bool:
        """Whether a call has put something into what it was given."""
        try:
            return SplitArguments((list(args), dict(kwargs))).key() != static
        except ApartError:
            return True

    def make(self, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """The result of `function(*args, **kwargs)`, a construction."""
        try:
            given = SplitArguments((list(args), dict(kwargs)))
        except ApartError:
            return function(*args, **kwargs)
        static = given.key()
        key = None if static is None or not given.tracers else ((function, static), given.signature())
        if key is None or key in self._apart or self.off:
            return function(*args, **kwargs)
        if key in self._seen:
            try:
                return self.repeat(function, given, (function, static))
            except Exception as error:  # as in `call`
                _raise_own(error)
                self._apart.add(key)
                return function(*args, **kwargs)
        result = function(*args, **kwargs)
        try:
            made = SplitArguments(result)
        except ApartError:
            self._apart.add(key)
            return result
        form = (made.key(), made.signature())
        if form[0] is None or self._made.setdefault(key, form) != form:
            self._apart.add(key)
        elif self._made[key] is not form:
            self._seen.add(key)
        return result

    def repeat(self, function: Callable[..., object], given: SplitArguments, static: Hashable) -> object:
        """The result of a call by way of `jax.jit`, which knows it from before."""
        self.used = True
        key = static, given.signature()
        if static not in self._jitted:

            def trace_split(tracers: Sequence[jax.Array]) -> Sequence[object]:
                args, kwargs = given.with_tracers(tracers)
                with self._quiet(), _scope(REUSED):
                    result = SplitArguments(function(*args, **kwargs))
                # What was given comes back itself, and what stands in two places remains one.
                places = {id(tracer): index for index, tracer in enumerate(tracers)}
                new = {id(tracer): tracer for tracer in result.tracers if id(tracer) not in places}
                numbers = {name: index for index, name in enumerate(new)}
                sources = [(id(t) in places, {**numbers, **places}[id(t)]) for t in result.tracers]
                self._results[static, _signature(tracers)] = result, sources
                return list(new.values())

            self._jitted[static] = jax.jit(trace_split)
        jitted = self._jitted[static]
        if key not in self._results:
            with self.under():
                effects = jitted.trace(given.tracers).jaxpr.effects
            if effects:
                raise ApartError("it has effects")
        with self.under():
            new = jitted(given.tracers)
        result, sources = self._results[key]
        return result.with_tracers([given.tracers[index] if own else new[index] for own, index in sources])


def _raise_own(error: Exception) -> None:
    """Raise what is a bug of ours: nothing is to blame for it but the code here."""
    if is_own(error) and not isinstance(error, ApartError):
        raise error


def _signature(tracers: Sequence[jax.Array]) -> Signature:
    return tuple((tuple(t.shape), str(t.dtype), bool(getattr(t, "weak_type", False))) for t in tracers)


def _is_plain(leaf: object) -> bool:
    """Whether a static leaf has no arrays, and no function with tracers in its closure, and cannot change.

    What is equal only to itself may be an object that holds something else from call to call; functions do not.
    """
    if isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
        return False
    hashing = type(leaf).__hash__
    if hashing is object.__hash__ and not callable(leaf) and leaf is not None:
        return False
    cells = getattr(leaf, "__closure__", None) or ()
    return not any(isinstance(cell_content(cell), jax.core.Tracer) for cell in cells)


def cell_content(cell: CellType) -> object:
    """What a function closes over, None if it is not filled yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _has_state(value: object) -> bool:
    return any(map(is_state, jax.tree_util.tree_leaves(value, is_leaf=is_state)))


class RepeatedCalls(Watch):
    """While it is entered, calls of modules that repeat earlier ones of the same evaluation run once.

    Two calls are equal only if a claim sees the same in both: also the axes over which JAX maps, be they hidden by
    a `jit` inside, and the sizes that the module's constructor had, though the module may not hold them.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._surroundings = VmapFrames()
        self._wrapped: dict[type, tuple[object, Callable[..., object]]] = {}
        self._entered = contextlib.ExitStack()
        self._plain = False
        self.begin()

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""
        self._once = StageMemo(2, self._recorder.pause)
        self._once.off = self._plain

    def __enter__(self) -> RepeatedCalls:
        self._plain = False
        with contextlib.ExitStack() as stack:
            for cls in chain.from_iterable(map(subclasses, pytree_classes())):
                call = vars(cls).get("__call__")
                if call is not None and not getattr(call, "__isabstractmethod__", False) and not is_wrapper(cls):
                    # monkeypatch: a class has no hook for its calls
                    stack.enter_context(patch_attribute(cls, "__call__", self._once_each(cls, call)))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    def retry(self) -> bool:
        """Whether an evaluation failed that left calls out: it runs once more, and no other will leave out any."""
        again = self._once.used and not self._plain
        self._plain = self._plain or again
        return again

    def _once_each(self, cls: type, call: Callable[..., object]) -> Callable[..., object]:
        known = self._wrapped.get(cls)
        if known is None or known[0] is not call:
            self._wrapped[cls] = known = call, self._wrapper(call)
        return known[1]

    def _wrapper(self, call: Callable[..., object]) -> Callable[..., object]:
        def plain(module: object, /, *args: object, **kwargs: object) -> object:
            return call.__get__(module, type(module))(*args, **kwargs)

        def call_once(self_: object, /, *args: object, **kwargs: object) -> object:
            frame = sys._getframe(1)

            def call_key(tracers: Sequence[object]) -> Hashable:
                hidden = self._surroundings.hidden_axes(frame)
                mapped = tuple((mapped_axes(each), is_mapped_within(each)) for each in tracers)
                return mapped, hidden, self._constructor_sizes(self_)

            return self._once.call(plain, (self_, *args), kwargs, extra_key=call_key)[0]

        return functools.wraps(call)(call_once)

    def _constructor_sizes(self, module: object) -> Hashable:
        """The sizes that the constructor of a module had; of one that JAX has rebuilt, what it holds tells them."""
        found: Sequence[Mapping[str, object]] = self._recorder.constructions.own(module)
        return tuple(tuple((n, v) for n, v in variables.items() if type(v) is int) for variables in found)
