"""What functions take out of their parameters, also where they hand them on: the parts that an argument must have."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from types import CodeType

from shapecheck.evaluate.inputs.defining_source import defining_source
from shapecheck.evaluate.inputs.source_reads import note_read
from shapecheck.model.parameter_parts import ParameterParts, Part

# Of JAX, and as Equinox and NNX call theirs.
_TRANSPARENT = frozenset({"grad", "value_and_grad", "jit", "checkpoint", "remat", "jacfwd", "jacrev", "hessian"})
_DEPTH = 3  # functions that hand it on to each other


class FunctionParts:
    """The source of a function, the parts that it takes of its parameters, and what it calls with them."""

    def __init__(self, tree: ast.AST, module: Mapping[str, object]) -> None:
        self.tree, self._module = tree, module
        self.own = ParameterParts(tree)

    def receivers(self, of: Part) -> Iterator[tuple[types.FunctionType, str]]:
        """The functions of the same file that are given a part as it is, and the parameter that it is there."""
        for node in ast.walk(self.tree):
            function = _without_transformation(node.func) if isinstance(node, ast.Call) else None
            if not isinstance(node, ast.Call) or not isinstance(function, ast.Name):
                continue
            called = self._module.get(function.id)
            inner = inspect.unwrap(called) if callable(called) else None
            if not isinstance(inner, types.FunctionType) or inner.__globals__ is not self._module:
                continue
            parameters = list(inspect.signature(inner).parameters)
            before_stars = [each for each in node.args if not isinstance(each, ast.Starred)]
            if len(before_stars) == len(node.args):
                for parameter, given in zip(parameters, node.args, strict=False):
                    if self.own.part(given) == of:
                        yield inner, parameter
            for each in node.keywords:
                if each.arg in parameters and self.own.part(each.value) == of:
                    yield inner, each.arg


_kept: dict[CodeType, FunctionParts | None] = {}


def function_parts(function: Callable[..., object]) -> FunctionParts | None:
    """The parts that a function takes; None where it has no source."""
    own = inspect.unwrap(function) if callable(function) else function
    own = getattr(own, "__func__", own)
    if not isinstance(own, types.FunctionType):
        return None
    note_read(own)
    if own.__code__ not in _kept:
        source = defining_source(own)
        _kept[own.__code__] = FunctionParts(source.tree, own.__globals__) if source is not None else None
    return _kept[own.__code__]


def parts_of(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> tuple[Part, ...]:
    """What a function, and those that it hands a parameter on to, take out of it; nothing if that is the whole."""
    found = function_parts(function)
    if found is None:
        return ()
    parts = dict.fromkeys(found.own.taken().get(parameter, ()))
    for whole in (Part(parameter), *parts):
        for inner, name in found.receivers(whole) if depth else ():
            handed = [each.of(whole) for each in parts_of(inner, name, depth - 1)]
            if handed:
                parts.pop(whole, None)
                parts.update(dict.fromkeys(handed))
    return tuple(parts)


def _without_transformation(function: ast.expr) -> ast.expr:
    """What is called, inside of transformations that hand on their arguments as they are: `jax.grad(loss)(params)`."""
    while isinstance(function, ast.Call) and function.args:
        name = function.func.attr if isinstance(function.func, ast.Attribute) else getattr(function.func, "id", "")
        if name.removeprefix("filter_") not in _TRANSPARENT:
            break
        function = function.args[0]
    return function
