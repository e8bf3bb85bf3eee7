"""How large the integers of an argument may be: by the tables, classes and segments that a traced program looks up.

A token is less than the vocabulary since `table[token]` reads a row of a table of that many, whatever the size is
called. What an index goes through on its way (a reshape, a cast, a negative one counted from the end) leaves it one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

# What gives the numbers that it is given, all or some of them, in another order or dtype.
_KEEPS = frozenset(
    [
        *("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev", "slice", "copy", "copy_p"),
        *("convert_element_type", "reduce_precision", "stop_gradient", "sharding_constraint", "device_put"),
        *("optimization_barrier", "pvary"),
    ]
)


@dataclass(frozen=True)
class _InputOrigin:
    """Which inputs a value's numbers are of, and the length of the iota that it may be one of.

    A value that was put together along its last axis has its `columns` apart: each indexes an axis of its own.
    """

    inputs: frozenset[int] = frozenset()
    lengths: frozenset[int] = frozenset()
    columns: tuple[_InputOrigin, ...] = ()

    def __or__(self, other: _InputOrigin) -> _InputOrigin:
        columns = self.columns if self.columns == other.columns else ()
        return _InputOrigin(self.inputs | other.inputs, self.lengths | other.lengths, columns)


_UNKNOWN = _InputOrigin()


@dataclass
class _Origins:
    """One jaxpr: what is known of its variables, and the bounds of all."""

    bounds: dict[int, int]
    origins: dict[object, _InputOrigin] = field(default_factory=dict)

    def origin(self, variable: Var | Literal) -> _InputOrigin:
        return _UNKNOWN if hasattr(variable, "val") else self.origins.get(variable, _UNKNOWN)

    def limit(self, origin: _InputOrigin, size: object) -> None:
        """Note that numbers of this origin are less than a size, if that is a number."""
        if isinstance(size, int) and size > 0:
            for index in origin.inputs:
                self.bounds[index] = min(size, self.bounds.get(index, size))


def index_bounds(program: ClosedJaxpr) -> Mapping[int, int]:
    """By the place of an input: the number that all of its integers are less than, where one is known."""
    bounds: dict[int, int] = {}
    _follow(program.jaxpr, [_InputOrigin(frozenset([index])) for index in range(len(program.jaxpr.invars))], bounds)
    return bounds


def _follow(jaxpr: Jaxpr, given: Sequence[_InputOrigin], bounds: dict[int, int]) -> list[_InputOrigin]:
    scope = _Origins(bounds)
    scope.origins.update(zip(jaxpr.invars, given, strict=True))
    for equation in jaxpr.eqns:
        found = list(_results(equation, scope))
        scope.origins.update((v, origin) for v, origin in zip(equation.outvars, found, strict=False))
    return [scope.origin(variable) for variable in jaxpr.outvars]


def _results(equation: JaxprEqn, scope: _Origins) -> Iterable[_InputOrigin]:
    """What the results of an equation are, whose bounds are noted."""
    name, params = equation.primitive.name, equation.params
    given = [scope.origin(variable) for variable in equation.invars]
    shapes = [tuple(getattr(variable.aval, "shape", ())) for variable in equation.invars]
    if name == "iota":
        return [_InputOrigin(lengths=frozenset([params["shape"][params["dimension"]]]))]
    if name == "eq":  # one class among all, as in a one-hot encoding
        for one, other in (given, given[::-1]):
            for length in other.lengths:
                scope.limit(one, length)
    elif name == "gather":
        _limit_columns(scope, given[1], shapes[1], shapes[0], params["dimension_numbers"].start_index_map)
        return given[:1]
    elif name.startswith("scatter"):
        axes = params["dimension_numbers"].scatter_dims_to_operand_dims
        _limit_columns(scope, given[1], shapes[1], shapes[0], axes)
    elif name == "dynamic_slice":
        for origin, size, taken in zip(given[1:], shapes[0], params["slice_sizes"], strict=False):
            scope.limit(origin, size - taken + 1)
        return given[:1]
    elif name == "dynamic_update_slice":
        for origin, size, taken in zip(given[2:], shapes[0], shapes[1], strict=False):
            scope.limit(origin, size - taken + 1)
    elif name == "concatenate":
        return [_concatenate(given, shapes, params["dimension"])]
    elif name in ("select_n", "clamp"):
        cases = given[1:] if name == "select_n" else given[1:2]
        return [_join(cases)]
    elif name in ("max", "min"):
        return [_join(given)]
    elif name in _KEEPS:
        return given[: len(equation.outvars)]
    else:
        return _inside(equation, given, scope)
    return ()


def _limit_columns(
    scope: _Origins, origin: _InputOrigin, indices: Sequence[object], operand: Sequence[object], axes: Sequence[int]
) -> None:
    """The columns of an array of indices index these axes of an array, one each."""
    columns = origin.columns if len(origin.columns) == len(axes) else (origin,) * len(axes)
    if indices and indices[-1] == len(axes):
        for column, axis in zip(columns, axes, strict=True):
            scope.limit(column, operand[axis])


def _concatenate(given: Sequence[_InputOrigin], shapes: Sequence[Sequence[object]], axis: int) -> _InputOrigin:
    whole = _join(given)
    apart = all(axis == len(shape) - 1 and shape[-1] == 1 for shape in shapes)
    return _InputOrigin(whole.inputs, frozenset(), tuple(given) if apart else ())


def _join(origins: Iterable[_InputOrigin]) -> _InputOrigin:
    found = _UNKNOWN
    for origin in origins:
        found |= origin
    return found


def _inside(equation: JaxprEqn, given: list[_InputOrigin], scope: _Origins) -> list[_InputOrigin]:
    """The results of the jaxprs inside of an equation: calls, loops, branches."""
    name, params = equation.primitive.name, equation.params
    results: list[_InputOrigin] = []
    for each in _jaxprs(params.values()):
        passed = given
        if name == "cond":
            passed = given[1:]
        elif name == "while":
            conditions, constants = params["cond_nconsts"], params["body_nconsts"]
            is_body = len(each.invars) == len(given) - conditions
            own = given[conditions:] if is_body else [*given[:conditions], *given[conditions + constants :]]
            passed = own
        if len(passed) != len(each.invars):
            continue
        found = _follow(each, passed, scope.bounds)
        results = [a | b for a, b in zip(results, found, strict=False)] if results else found
    return results


def _jaxprs(values: Iterable[Any]) -> Iterator[Jaxpr]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _jaxprs(value)
        elif hasattr(value, "eqns"):
            yield getattr(value, "jaxpr", value)
