"""What constants determine is computed for real, where Python asks for it: `int(GRID[0, 1])`, `if MASK.any()`.

Under `jax.eval_shape` nothing has a value, not even what the program computes from literals, its configuration, and
arrays of its modules alone. In the running program all that has one, unless a `jit` of the user's own is around it. So
each operation on constants is noted, and once somebody asks for its value, it is computed with all that it needs:
within limits of size and time, and never what calls back into Python.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import export

from shapecheck.evaluate.jax_internals import innermost_trace, leave_out_of_sources, needs_value
from shapecheck.evaluate.probes.monkeypatch import patch_attribute

_LARGEST = 20_000  # elements of one array
_MOST = 400  # operations behind one value
_SECONDS = 1.0  # of the processor for one value
_LONGEST = 1_000  # turns of a loop
_DEEPEST = 8  # functions within each other that an operation may be made of
_LOOPS = ("while", "scan")
_OUTSIDE = ("callback", "infeed", "outfeed", "ffi", "custom_call", "print")


@dataclass(frozen=True)
class _Operation:
    """An operation on constants, and what it gave: tracers, which are kept so that nothing else has their ids."""

    primitive: Any
    operands: Sequence[object]
    params: Mapping[str, Any]
    results: Sequence[object]


class ConstantValues:
    """The constants of one trace."""

    def __init__(self, trace: object) -> None:
        self.trace = trace
        self._sources: dict[int, tuple[_Operation, int]] = {}
        self._values: dict[int, object] = {}

    def note(self, primitive: Any, operands: Sequence[object], params: Mapping[str, Any], given: object) -> None:
        """Keep an operation, if all that it takes is constant and what it gives is small."""
        if not all(not isinstance(each, jax.core.Tracer) or id(each) in self._sources for each in operands):
            return
        results = tuple(given) if primitive.multiple_results and isinstance(given, (list, tuple)) else (given,)
        if all(map(_is_small, (*operands, *results))) and _is_computable(primitive.name, params, _DEEPEST):
            operation = _Operation(primitive, tuple(operands), params, results)
            for index, each in enumerate(results):  # one that changes nothing gives what it took
                self._sources.setdefault(id(each), (operation, index))

    def value(self, tracer: object) -> object:
        """The value of a constant; None if it is none, or none that can be computed within the limits."""
        if id(tracer) not in self._sources:
            return None
        if id(tracer) not in self._values:
            operations = self._operations_behind(tracer)
            if not operations:
                return None
            with jax.ensure_compile_time_eval():
                is_computed = self._compute_all(operations)
            if not is_computed:
                self._sources.clear()
        return self._values.get(id(tracer))

    def _operations_behind(self, tracer: object) -> list[_Operation]:
        """The operations behind a constant that were not computed yet, in order; none if they are too many."""
        found: dict[int, _Operation] = {}
        todo = [tracer]
        while todo:
            operation, _ = self._sources[id(todo.pop())]
            if id(operation) not in found:
                found[id(operation)] = operation
                todo += [
                    each for each in operation.operands if id(each) in self._sources and id(each) not in self._values
                ]
            if len(found) > _MOST:
                return []
        order = {id(operation): place for place, (operation, _) in enumerate(self._sources.values())}
        return sorted(found.values(), key=lambda each: order[id(each)])

    def _compute_all(self, operations: Sequence[_Operation]) -> bool:
        """Compute them, if there is time. Each is short; none is cut, for it may be in the midst of JAX."""
        begin = time.process_time()
        return all(time.process_time() - begin <= _SECONDS and self._compute(each) for each in operations)

    def _compute(self, operation: _Operation) -> bool:
        operands = [self._values.get(id(each), each) for each in operation.operands]
        try:
            given = operation.primitive.bind(*operands, **operation.params)
        except Exception:  # what JAX does not compute outside of the program has no value, as without us
            return False
        results = given if operation.primitive.multiple_results else (given,)
        for tracer, value in zip(operation.results, results, strict=True):
            self._values[id(tracer)] = value
        return True


def _is_small(value: object) -> bool:
    shape = np.shape(value) if isinstance(value, (int, float, complex)) else getattr(value, "shape", None)
    return (
        shape is not None
        and all(isinstance(size, (int, np.integer)) for size in shape)
        and math.prod(shape) <= _LARGEST
    )


def _is_computable(name: str, params: Mapping[str, Any], depth: int) -> bool:
    """Whether an operation does nothing but compute, and not for long, for sizes that are known."""
    if depth == 0 or any(word in name for word in _OUTSIDE):
        return False
    if name in _LOOPS and not (isinstance(params.get("length"), int) and params["length"] <= _LONGEST):
        return False
    return all(_is_known(value, depth) for value in params.values())


def _is_known(value: Any, depth: int) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_known(each, depth) for each in value)
    if export.is_symbolic_dim(value):
        return False
    inner = getattr(value, "jaxpr", value)
    equations = getattr(inner, "eqns", ())
    if not equations and not hasattr(inner, "eqns"):
        return True
    if getattr(inner, "effects", ()) or not all(map(_is_small, getattr(value, "consts", ()))):
        return False
    return all(
        _is_computable(each.primitive.name, each.params, depth - 1)
        and all(_is_small(variable.aval) for variable in each.outvars)
        for each in equations
    )


def eval_shape(function: Callable[..., Any], *args: object, of_sizes: bool = False) -> Any:
    """As `jax.eval_shape`, with the values of constants where Python asks for them; or those alone that may be sizes.

    In a test all is constant, and nobody wants its model to be run: but `jnp.arange(n)` needs one whole number.
    """

    def call(*given: object) -> object:
        trace = innermost_trace()
        with _give_values(ConstantValues(trace), type(trace), of_sizes=of_sizes):
            return function(*given)

    return jax.eval_shape(call, *args)


@contextlib.contextmanager
def _give_values(constants: ConstantValues, trace_class: type, *, of_sizes: bool) -> Iterator[None]:
    """Meanwhile tracers of constants, or those `of_sizes`, have their values, as concrete arrays do."""
    tracer_class: type = jax.core.Tracer
    changes: list[tuple[type, str, object]] = []
    leave_out_of_sources(__file__)
    process = vars(trace_class).get("process_primitive")
    known = vars(tracer_class).get("to_concrete_value")
    if process is None or known is None:
        yield
        return

    def process_and_note(self: object, primitive: Any, operands: Sequence[object], params: Any, /) -> object:
        given = process(self, primitive, operands, params)
        if self is constants.trace:
            constants.note(primitive, operands, params, given)
        return given

    @functools.wraps(known)
    def value_of(self: object) -> object:
        is_wanted = (not of_sizes or _may_be_size(self)) and needs_value(sys._getframe(1))
        value = constants.value(self) if is_wanted else None
        return value if value is not None else known(self)

    def with_value(name: str, convert: Callable[..., object]) -> Callable[..., object]:
        """A method of tracers which JAX gives no value, though the tracer may have one."""
        original = vars(tracer_class)[name]

        @functools.wraps(original)
        def method(self: Any, *args: object, **kwargs: object) -> object:
            value = self.to_concrete_value()
            return original(self, *args, **kwargs) if value is None else convert(value, *args, **kwargs)

        return method

    changes += [(trace_class, "process_primitive", process_and_note), (tracer_class, "to_concrete_value", value_of)]
    conversions = () if of_sizes else _CONVERSIONS
    changes += [
        (tracer_class, name, with_value(name, convert)) for name, convert in conversions if name in vars(tracer_class)
    ]
    changes += [(tracer_class, "block_until_ready", _is_ready), (tracer_class, "copy_to_host_async", _copies_nothing)]
    with contextlib.ExitStack() as stack:
        for cls, name, value in changes:
            # monkeypatch: JAX keeps no values of what it traces, and there is nothing to wait for
            stack.enter_context(patch_attribute(cls, name, value))
        yield


def _is_ready(tracer: object) -> object:
    """`Array.block_until_ready`, of what is never computed."""
    return tracer


def _copies_nothing(tracer: object) -> None:
    """`Array.copy_to_host_async`, likewise."""


def _may_be_size(tracer: Any) -> bool:
    """Whether a tracer is one whole number."""
    return tracer.shape == () and np.issubdtype(tracer.dtype, np.integer)


_CONVERSIONS: Sequence[tuple[str, Callable[..., object]]] = (
    ("__float__", float),
    ("__complex__", complex),
    ("__array__", np.asarray),
    ("tolist", operator.methodcaller("tolist")),
)
