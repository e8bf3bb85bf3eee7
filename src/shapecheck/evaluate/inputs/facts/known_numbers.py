"""Whether a parameter that nothing describes takes a number, as its function's code uses it.

`range(n)`, `jnp.zeros((n, 3))`, `x[:n]` and `jax.nn.one_hot(x, n)` take an integer; what code only computes with,
`x * scale`, is a number or an array. Only source is read.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Literal

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name

Kind = Literal["integer", "number", ""]

_DEPTH = 3  # functions that hand it on to each other
# Where integers stand among the arguments of well-known functions; -1 for any place.
_INTEGERS = {
    "range": -1,
    "arange": -1,
    "one_hot": 1,
    "split": 1,
    "array_split": 1,
    "top_k": 1,
    "linspace": 2,
    "eye": -1,
}
_SHAPED = frozenset({"zeros", "ones", "full", "empty", "broadcast_to", "reshape", "tile", "normal", "uniform"})
_SIZES = frozenset({"length", "num", "num_segments", "num_classes", "axis_size", "total_repeat_length", "fill_count"})
_ELEMENTWISE = frozenset(
    {"exp", "log", "sqrt", "square", "abs", "tanh", "sin", "cos", "power", "maximum", "minimum", "clip", "where"}
    | {"add", "subtract", "multiply", "divide", "full_like", "float32", "rsqrt", "sigmoid", "softplus", "sign"}
)


def number_kind(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> Kind:
    """Whether a function takes an integer, or any number, for a parameter; "" if its code does not tell."""
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else inspect.unwrap(function)
    own = getattr(own, "__func__", own)
    source = defining_source(own)
    if source is None or not isinstance(own, types.FunctionType):
        return ""
    around = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    names = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == parameter]
    if not names or any(not isinstance(node.ctx, ast.Load) for node in names):
        return ""
    kinds = {_kind(node, around, own.__globals__, depth) for node in names}
    if isinstance(function, type) and any(_is_for_layer(node, around) for node in names):
        return "integer"
    if "integer" in kinds:
        return "integer"
    return "number" if kinds == {"number"} else ""


def counts_turns(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function has a loop of so many turns that Python runs: `for _ in range(steps)`."""
    found = function_parts(function)
    return found is not None and parameter in found.loop_bounds


def _kind(node: ast.expr, around: Mapping[ast.AST, ast.AST], module: Mapping[str, object], depth: int) -> Kind:
    """What one use of the parameter says."""
    top: ast.AST = node
    while isinstance(around.get(top), (ast.BinOp, ast.UnaryOp)):
        top = around[top]
    outer = around.get(top)
    if isinstance(outer, ast.Slice):
        return "integer"
    if isinstance(outer, ast.keyword):
        if outer.arg in _SIZES:
            return "integer"
        call = around.get(outer)
        if top is node and isinstance(call, ast.Call) and outer.arg is not None:
            return _handed_on(call, outer.arg, module, depth)
    if isinstance(outer, (ast.Tuple, ast.List)) and isinstance(call := around.get(outer), (ast.Call, ast.keyword)):
        call = around.get(call) if isinstance(call, ast.keyword) else call
        return "integer" if isinstance(call, ast.Call) and called_name(call.func)[0] in _SHAPED else ""
    if isinstance(outer, ast.Call) and top in outer.args:
        name, index = called_name(outer.func)[0], outer.args.index(top)
        if name in _INTEGERS and _INTEGERS[name] in (-1, index):
            return "integer"
        if name in _SHAPED and isinstance(outer.func, ast.Attribute) and name == "reshape" and index:
            return "integer"
        if name in _ELEMENTWISE:
            return "number"
        if top is node:
            return _handed_on(outer, index, module, depth)
    is_computed = top is not node and isinstance(top, (ast.BinOp, ast.UnaryOp))
    return "number" if is_computed or isinstance(outer, ast.Compare) else ""


def _is_for_layer(node: ast.expr, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a constructor makes a part of its own with it: `Linear(2 * d, d)`."""
    top: ast.AST = node
    while isinstance(around.get(top), (ast.BinOp, ast.UnaryOp)):
        top = around[top]
    call = around.get(top)
    return isinstance(call, ast.Call) and top in call.args and called_name(call.func)[0][:1].isupper()


def _handed_on(call: ast.Call, place: int | str, module: Mapping[str, object], depth: int) -> Kind:
    """What a function of the same module says of the parameter that it is handed on to."""
    inner = module.get(call.func.id) if isinstance(call.func, ast.Name) else None
    inner = inspect.unwrap(inner) if callable(inner) else None
    if not depth or not isinstance(inner, types.FunctionType) or inner.__globals__ is not module:
        return ""
    parameters = list(inspect.signature(inner).parameters)
    name = place if isinstance(place, str) else parameters[place] if place < len(parameters) else ""
    return number_kind(inner, name, depth - 1) if name in parameters else ""
