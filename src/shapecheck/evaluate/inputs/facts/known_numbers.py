"""Whether a parameter that nothing describes takes a number, as its function's code uses it.

`range(n)`, `jnp.zeros((n, 3))`, `x[:n]` and `jax.nn.one_hot(x, n)` take an integer; what code only computes with,
`x * scale`, is a number or an array. `zip(sizes[:-1], sizes[1:])` takes the widths of layers. Only source is read.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name, named_value
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of, signature_of
from shapecheck.evaluate.probes.attribute_access import underlying_function, unwrap

Kind = Literal["integer", "scalar", "number", ""]

_MAKERS = ("__init__", "__post_init__", "__check_init__", "setup", "build")
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
_BOUNDS = {"fori_loop": (0, 1), "randint": (2, 3)}  # further ones, likewise
_ENDS = {"linspace": (0, 1), "logspace": (0, 1), "geomspace": (0, 1)}  # what may be an array, and hardly ever is
_SHAPED = frozenset({"zeros", "ones", "full", "empty", "broadcast_to", "reshape", "tile", "normal", "uniform"})
_SHAPE_FIRST = frozenset({"zeros", "ones", "full", "empty"})
_SIZES = frozenset({"length", "num", "num_segments", "num_classes", "axis_size", "total_repeat_length", "fill_count"})
_ELEMENTWISE = frozenset(
    {"exp", "log", "sqrt", "square", "abs", "tanh", "sin", "cos", "power", "maximum", "minimum", "clip", "where"}
    | {"add", "subtract", "multiply", "divide", "full_like", "float32", "rsqrt", "sigmoid", "softplus", "sign"}
)


def number_kind(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> Kind:
    """Whether a function takes an integer, a single number, or what it computes with; "" if its code does not tell."""
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else unwrap(function)
    own = getattr(own, "__func__", own)
    source = function_parts(own)
    if source is None:
        return ""
    around, names = source.around, source.names.get(parameter, ())
    if not names or any(not isinstance(node.ctx, ast.Load) for node in names):
        return ""
    kinds = {_kind(node, around, own.__globals__, depth) for node in names}
    if any(_takes_layer(node, around, own.__globals__) is float for node in names):
        return "scalar"
    if isinstance(function, type) and any(_is_for_layer(node, around) for node in names):
        return "integer"
    if "integer" in kinds:
        return "integer"
    if "scalar" in kinds:
        return "scalar"
    return "number" if kinds == {"number"} else ""


def integer_parameters(function: Callable[..., object]) -> list[str]:
    """The parameters that must be given an integer, by their annotations or, without one, by what the body does."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError):
        return []
    required = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
    types = {each.name: annotation_of(function, each.name, each.annotation) for each in required}
    return [
        name
        for name, annotation in types.items()
        if annotation is int or (annotation is MISSING and number_kind(function, name) == "integer")
    ]


def counts_turns(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function has a loop of so many turns that Python runs: `for _ in range(steps)`."""
    found = function_parts(function)
    return found is not None and parameter in found.loop_bounds


def ends_slices(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function takes so many items of an array: `x[:k]`."""
    found = function_parts(function)
    return found is not None and parameter in found.slice_ends


def exponents(function: Callable[..., object]) -> Mapping[str, bool]:
    """The variables of a function that stand in exponents, `2 ** n`, and whether each is taken off another there."""
    found = function_parts(function)
    return found.exponents if found is not None else {}


def checked_divisors(function: Callable[..., object]) -> Iterator[tuple[str, int, Sequence[str]]]:
    """What a function, or a class as it makes its instances, refuses unless it is a multiple of a number times others.

    `("dim", 4, ["heads"])` of `assert dim % (4 * heads) == 0`.
    """
    own = underlying_function(function)
    makers = [vars(own).get(name) for name in _MAKERS] if isinstance(own, type) else [unwrap(function)]
    for each in makers:
        found = function_parts(each) if isinstance(each, types.FunctionType) else None
        yield from found.checked_divisors if found is not None else ()


def repeats_items(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function, or the methods of a class, repeat a list so many times: `kernel_size=self.dim * [3]`."""
    own = underlying_function(function)
    held = vars(own).values() if isinstance(own, type) else (own,)
    functions = (unwrap(each) for each in held if isinstance(each, types.FunctionType))
    # Of a class only the methods are read that mention it, so that an edit of another one changes nothing here.
    read = [function_parts(each) for each in functions if _mentions(each, parameter)]
    return any(found is not None and parameter in found.repetitions for found in read)


def _mentions(function: Callable[..., object], name: str) -> bool:
    """Whether the code of a function has a parameter or an attribute of this name."""
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and (name in code.co_names or name in code.co_varnames)


def holds_sizes(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> bool:
    """Whether a parameter is a sequence of sizes, such as the widths of layers: `zip(sizes[:-1], sizes[1:])`."""
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else unwrap(function)
    own = getattr(own, "__func__", own)
    source = function_parts(own)
    if source is None:
        return False
    around = source.around
    sequences = {parameter, *_joined_from(source.tree, parameter)}
    names = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
    used = [node for node in names if node.id in sequences and isinstance(node.ctx, ast.Load)]
    if any(node.id == parameter and not isinstance(node.ctx, ast.Load) for node in names):
        return False
    if any(_is_no_sequence_of_numbers(node, around) for node in used):
        return False
    module = own.__globals__
    for node in used:
        outer = around.get(node)
        if isinstance(outer, ast.Subscript) and node is outer.value:
            if isinstance(outer.slice, ast.Slice):
                if _is_paired(outer, around) or _gives_sizes(outer, source.tree, around, module, depth):
                    return True
            elif _kind(outer, around, module, depth) == "integer":
                return True
        elif _gives_sizes(node, source.tree, around, module, depth):
            return True
        elif isinstance(outer, ast.Call) and node in outer.args and depth and node.id == parameter:
            inner = _callee(outer, module)
            names_there = list(inspect.signature(inner).parameters) if inner is not None else []
            place = outer.args.index(node)
            if inner is not None and place < len(names_there) and holds_sizes(inner, names_there[place], depth - 1):
                return True
    return False


def _joined_from(tree: ast.AST, parameter: str) -> set[str]:
    """The variables that are longer sequences with its items: `sizes = [n_in, *hidden, n_out]`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        todo, names = [node.value], set[str]()
        while todo:
            each = todo.pop()
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
                todo += [each.left, each.right]
            elif isinstance(each, (ast.List, ast.Tuple)):
                todo += [item.value for item in each.elts if isinstance(item, ast.Starred)]
            elif isinstance(each, ast.Call) and called_name(each.func)[0] in ("list", "tuple") and each.args:
                todo.append(each.args[0])
            elif isinstance(each, ast.Name) and each is not node.value:
                names.add(each.id)
        if parameter in names:
            found.add(node.targets[0].id)
    return found


def _is_no_sequence_of_numbers(node: ast.Name, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a sequence of numbers could not be used so: `x.shape`, `x["w"]`, `x[:, 0]`, `sizes[0]["w"]`."""
    outer = around.get(node)
    if isinstance(outer, ast.Attribute):
        return True
    if not isinstance(outer, ast.Subscript) or node is not outer.value:
        return False
    index = outer.slice
    is_text = isinstance(index, ast.Constant) and not isinstance(index.value, int)
    return is_text or isinstance(index, ast.Tuple) or isinstance(around.get(outer), (ast.Attribute, ast.Subscript))


def _is_paired(part: ast.Subscript, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether it is one of the two in `zip(sizes[:-1], sizes[1:])`."""
    call = around.get(part)
    if not isinstance(call, ast.Call) or called_name(call.func)[0] != "zip":
        return False
    texts = {ast.unparse(each) for each in call.args}
    name = ast.unparse(part.value)
    return bool({f"{name}[:-1]", name} & texts) and f"{name}[1:]" in texts


def _gives_sizes(
    sequence: ast.expr, tree: ast.AST, around: Mapping[ast.AST, ast.AST], module: Mapping[str, object], depth: int
) -> bool:
    """Whether a loop over the items uses them as integers: `for width in widths: x = dense(width)(x)`."""
    outer, target = around.get(sequence), None
    index = -1  # in the tuples that the loop is over
    if isinstance(outer, ast.Call) and sequence in outer.args and called_name(outer.func)[0] in ("enumerate", "zip"):
        index = outer.args.index(sequence) + (called_name(outer.func)[0] == "enumerate")
        outer = around.get(outer)
    if isinstance(outer, (ast.For, ast.comprehension)):
        target = outer.target
        if index >= 0:
            target = target.elts[index] if isinstance(target, ast.Tuple) and index < len(target.elts) else None
    if not isinstance(target, ast.Name):
        return False
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)]
    return any(_kind(each, around, module, depth) == "integer" for each in uses)


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
        if isinstance(call, ast.Call) and outer.arg is not None and _is_size_of_layer(call, outer.arg, module):
            return "integer"
        if top is node and isinstance(call, ast.Call) and outer.arg is not None:
            return _handed_on(call, outer.arg, module, depth)
    if isinstance(outer, (ast.Tuple, ast.List)) and isinstance(call := around.get(outer), (ast.Call, ast.keyword)):
        call = around.get(call) if isinstance(call, ast.keyword) else call
        if isinstance(call, ast.Call) and called_name(call.func)[0] in _SHAPED:
            return "integer"
    if isinstance(outer, ast.Call) and top in outer.args:
        name, index = called_name(outer.func)[0], outer.args.index(top)
        if (name in _INTEGERS and _INTEGERS[name] in (-1, index)) or index in _BOUNDS.get(name, ()):
            return "integer"
        if name in _SHAPE_FIRST and index == 0 and isinstance(outer.func, ast.Attribute) and not _is_shape(top):
            return "integer"
        if name in _SHAPED and isinstance(outer.func, ast.Attribute) and name == "reshape" and index:
            return "integer"
        if index in _ENDS.get(name, ()):
            return "scalar"
        if name in _ELEMENTWISE:
            return "number"
        if _is_size_of_layer(outer, index, module):
            return "integer"
        if top is node:
            return _handed_on(outer, index, module, depth)
    if _is_element_of_array(top, around):
        return "scalar"
    if _divides_sizes(node, around):
        return "integer"
    is_computed = top is not node and isinstance(top, (ast.BinOp, ast.UnaryOp))
    return "number" if is_computed or isinstance(outer, ast.Compare) else ""


def _is_element_of_array(node: ast.AST, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether it stands in a list beside numbers, of which an array is made: `jnp.array([[1, nu], [nu, 1]])`."""
    row = outer = around.get(node)
    while isinstance(around.get(outer), ast.List) if outer is not None else False:
        outer = around[outer] if outer is not None else None
    call = around.get(outer) if isinstance(outer, ast.List) else None
    is_array = isinstance(call, ast.Call) and call.args[:1] == [outer]
    is_array = is_array and isinstance(call, ast.Call) and called_name(call.func)[0] in ("array", "asarray")
    return is_array and isinstance(row, ast.List) and any(isinstance(each, ast.Constant) for each in row.elts)


def _divides_sizes(node: ast.AST, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether it is what sizes are divided by: `(x.shape[0] - width) // hop`."""
    outer = around.get(node)
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.FloorDiv) or outer.right is not node:
        return False
    return any(isinstance(each, ast.Attribute) and each.attr == "shape" for each in ast.walk(outer.left))


def _is_shape(node: ast.AST) -> bool:
    """Whether a variable is called as what holds several sizes: `jnp.zeros(batch_shape)`."""
    return isinstance(node, ast.Name) and re.search(r"shapes?$|dims$|sizes$", node.id) is not None


def _is_for_layer(node: ast.expr, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a constructor makes a part of its own with it: `Linear(2 * d, d)`."""
    top: ast.AST = node
    while isinstance(around.get(top), (ast.BinOp, ast.UnaryOp)):
        top = around[top]
    call = around.get(top)
    return isinstance(call, ast.Call) and top in call.args and called_name(call.func)[0][:1].isupper()


def _is_size_of_layer(call: ast.Call, place: int | str, module: Mapping[str, object]) -> bool:
    """Whether it is given to a constructor that takes an integer there: `hk.Embed(vocab, dim)`."""
    annotation = _annotation_of_layer(call, place, module)
    return annotation is int or (int in typing.get_args(annotation) and float not in typing.get_args(annotation))


def _takes_layer(node: ast.Name, around: Mapping[ast.AST, ast.AST], module: Mapping[str, object]) -> object:
    """What the constructor to which it is given as it is takes there: a float of `Dropout(rate)`."""
    parent = around.get(node)
    call = around.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return MISSING
    if isinstance(parent, ast.keyword):
        return _annotation_of_layer(call, parent.arg or "", module)
    return _annotation_of_layer(call, call.args.index(node), module) if node in call.args else MISSING


def _annotation_of_layer(call: ast.Call, place: int | str, module: Mapping[str, object]) -> object:
    """What a constructor that is called annotates the parameter with which stands at a place."""
    cls = named_value(call.func, module)
    if not isinstance(cls, type):
        return MISSING
    try:
        parameters = signature_of(cls).parameters
    except (TypeError, ValueError):
        return MISSING
    key = place if isinstance(place, str) else next(iter(list(parameters)[place : place + 1]), "")
    return annotation_of(cls, key, parameters[key].annotation) if key in parameters else MISSING


def _handed_on(call: ast.Call, place: int | str, module: Mapping[str, object], depth: int) -> Kind:
    """What a function of the same module says of the parameter that it is handed on to."""
    inner = _callee(call, module)
    if not depth or inner is None:
        return ""
    parameters = list(inspect.signature(inner).parameters)
    if isinstance(place, int) and called_name(call.func)[0] == "partial":  # whose first argument is the function
        place -= 1
    name = place if isinstance(place, str) else parameters[place] if place < len(parameters) else ""
    return number_kind(inner, name, depth - 1) if name in parameters else ""


def _callee(call: ast.Call, module: Mapping[str, object]) -> types.FunctionType | None:
    """The function of the same module that is called."""
    function = call.args[0] if called_name(call.func)[0] == "partial" and call.args else call.func
    inner = module.get(function.id) if isinstance(function, ast.Name) else None
    inner = unwrap(inner) if callable(inner) else None
    return inner if isinstance(inner, types.FunctionType) and inner.__globals__ is module else None


def refuses_integer(function: Callable[..., object], name: str, value: int) -> bool:
    """Whether a function, or a constructor, asserts of an integer that it is more than a number, and this one is not.

    So `assert steps > 0` does of `steps: int = 0`.
    """
    inner = inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
    source = function_parts(inner) if callable(inner) else None
    tests = (node.test for node in ast.walk(source.tree) if isinstance(node, ast.Assert)) if source is not None else ()
    return any(_asks_for_more(test, name, value) for test in tests)


def _asks_for_more(test: ast.expr, name: str, value: int) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
        return False
    least = test.comparators[0]
    if test.left.id != name or not (isinstance(least, ast.Constant) and type(least.value) is int):
        return False
    is_more = isinstance(test.ops[0], ast.Gt) and value <= least.value
    return is_more or (isinstance(test.ops[0], ast.GtE) and value < least.value)
