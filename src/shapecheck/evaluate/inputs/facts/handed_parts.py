"""What functions take out of their parameters, also where they hand them on: the parts that an argument must have."""

from __future__ import annotations

import ast
import functools
import types
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import CodeType

from shapecheck.evaluate.inputs.facts.attribute_classes import note_constructors
from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.handed_arguments import ArgumentReader, HandedArgument
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name
from shapecheck.evaluate.inputs.facts.source_reads import note_read
from shapecheck.evaluate.inputs.facts.transformations import calls_function
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.model.parameter_parts import ParameterParts, Part

_DEPTH = 3  # functions that hand it on to each other


class FunctionParts:
    """The source of a function, the parts that it takes of its parameters, and what it calls with them."""

    def __init__(
        self,
        tree: ast.AST,
        module: Mapping[str, object],
        owner: type | None = None,
        models: Mapping[str, type] = types.MappingProxyType({}),
    ) -> None:
        self.tree, self._module, self._owner, self._models = tree, module, owner, models
        self.own = ParameterParts(tree)

    def with_models(self, models: Mapping[str, type]) -> FunctionParts:
        """The same, where parameters are known to be models of these classes."""
        return FunctionParts(self.tree, self._module, self._owner, models) if models else self

    def receivers(self, of: Part) -> Iterator[tuple[types.FunctionType, str]]:
        """The functions that are given a part as it is, and the parameter that it is there."""
        handed = self.all_receivers(of)
        return ((callee, parameter) for _, callee, parameter, mapped, _ in handed if callee is not None and not mapped)

    def all_receivers(self, of: Part) -> Sequence[HandedArgument]:
        """The calls in which a part is an argument as it is, those too that are given one element at a time."""
        return self._receivers.get(of, ())

    def handed_parts(self) -> Iterator[Part]:
        """All parts, and whole parameters, that are arguments of calls."""
        return iter(self._receivers)

    def parts_handed_on(self, parameter: str) -> Iterator[Part]:
        """The parts of a parameter that are arguments of calls, the whole first; some may be taken apart too."""
        yield Part(parameter)
        yield from (part for part in self._receivers if part.parameter == parameter and part.keys)

    @functools.cached_property
    def calls(self) -> Mapping[tuple[int, ...], Sequence[HandedArgument]]:
        """The arguments of each call of a function that is known."""
        found: defaultdict[tuple[int, ...], list[HandedArgument]] = defaultdict(list)
        for each in self._call_arguments:
            if each.callee is not None:
                found[each.call].append(each)
        return found

    def goes_elsewhere(self, parameter: str, depth: int = _DEPTH) -> bool:
        """Whether the whole of a parameter goes where nobody knows what is taken of it: `model.apply(params, x)`."""
        whole = Part(parameter)
        for each in self._call_arguments:
            if each.callee is not None and self.own.part(each.given) == whole:
                known = function_parts(each.callee)
                if known is None or not depth or known.goes_elsewhere(each.parameter, depth - 1):
                    return True
            elif self._mentions(each.given, whole):
                return True
        return False

    def is_differentiated(self, parameter: str) -> bool:
        """Whether the gradient of a function is taken that is a parameter: then it gives a number."""
        return any(
            isinstance(node, ast.Call)
            and called_name(node.func)[0] in ("grad", "value_and_grad")
            and bool(node.args)
            and self.own.part(node.args[0]) == Part(parameter)
            and not any(each.arg == "has_aux" for each in node.keywords)
            for node in ast.walk(self.tree)
        )

    def is_transformed(self, parameter: str) -> bool:
        """Whether a function that is a parameter is called by a transformation: `jax.jacobian(dynamics)(x, u)`."""
        return any(
            isinstance(node, ast.Call)
            and bool(node.args)
            and calls_function(called_name(node.func)[0])
            and self.own.part(node.args[0]) == Part(parameter)
            for node in ast.walk(self.tree)
        )

    def is_used(self, parameter: str, made: Container[str]) -> bool:
        """Whether a parameter is used at all, but by functions that are parameters too, and `made` up.

        What one of these is mapped over by `vmap` is used: that takes arrays.
        """
        unused = {
            id(given)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and (part := self.own.part(node)) is not None and str(part) in made
            if not isinstance(node.func, ast.Call)
            for given in (*node.args, *(each.value for each in node.keywords))
        }
        names = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in unused)
        return any(node.id in (parameter, "locals") for node in names)

    @functools.cached_property
    def around(self) -> Mapping[ast.AST, ast.AST]:
        """What each node of its source stands in."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def names(self) -> Mapping[str, Sequence[ast.Name]]:
        """Where each variable stands, but those that functions inside have by the name of a parameter."""
        found: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and id(node) not in self.own.others:
                found[node.id].append(node)
        return found

    @functools.cached_property
    def loop_bounds(self) -> frozenset[str]:
        """The variables that say how many turns a loop has that Python runs: `for d in range(1, degree + 1)`.

        Or which elements are taken: of `x[::every]` a few, so that some are left.
        """
        nodes = list(ast.walk(self.tree))
        loops = (node.iter for node in nodes if isinstance(node, (ast.For, ast.comprehension)))
        ranges = (each for each in loops if isinstance(each, ast.Call) and called_name(each.func) == ("range", ""))
        bounds = (_without_step(bound) for each in ranges for bound in each.args)
        steps = (node.step for node in nodes if isinstance(node, ast.Slice))
        return frozenset(each.id for each in (*bounds, *steps) if isinstance(each, ast.Name))

    @functools.cached_property
    def slice_ends(self) -> frozenset[str]:
        """The variables that say how much is taken of an axis: `x[:, :k]`, `x[-k:]`, `top_k(x, k)`."""
        nodes = list(ast.walk(self.tree))
        ends = [end for node in nodes if isinstance(node, ast.Slice) for end in (node.lower, node.upper)]
        calls = (node for node in nodes if isinstance(node, ast.Call) and called_name(node.func)[0] == "top_k")
        ends += (each for call in calls for each in (*call.args[1:], *(one.value for one in call.keywords)))
        ends = [end.operand if isinstance(end, ast.UnaryOp) and isinstance(end.op, ast.USub) else end for end in ends]
        return frozenset(end.id for end in ends if isinstance(end, ast.Name))

    @functools.cached_property
    def exponents(self) -> Mapping[str, bool]:
        """The variables in exponents of a number, `2 ** (n - k)`, and whether each is what is taken off there.

        Or of one more or less than another, `(n_max + 1) ** n_dot`.
        """
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
        powers = [node.right for node in nodes if isinstance(node.left, ast.Constant) or _is_step(node.left)]
        inside = [each for power in powers for each in ast.walk(power)]
        off = {
            each.right.id
            for each in inside
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) and isinstance(each.right, ast.Name)
        }
        return {each.id: each.id in off for each in inside if isinstance(each, ast.Name)}

    @functools.cached_property
    def checked_divisors(self) -> Sequence[tuple[str, int, Sequence[str]]]:
        """What is refused unless it is a multiple: `assert dim % (4 * heads) == 0` as ("dim", 4, ["heads"]).

        Variables, and attributes of `self` by their names.
        """
        rests: list[ast.BinOp] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assert):
                rests += _rests_of_none(node.test)
            elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise):
                rests += _rests_of_none(ast.UnaryOp(ast.Not(), node.test))
        found = ((_own_name(each.left), _factors(each.right)) for each in rests)
        return [(name, *factors) for name, factors in found if name and factors is not None and factors[1]]

    @functools.cached_property
    def repetitions(self) -> frozenset[str]:
        """The variables, and attributes of `self`, by which lists that are written out are multiplied."""
        nodes = list(ast.walk(self.tree))
        calls = (node for node in nodes if isinstance(node, ast.Call))
        arrays = (call for call in calls if called_name(call.func)[0] in ("array", "asarray"))
        of_arrays = {id(each) for call in arrays for each in call.args}  # so many elements are an axis, of any size
        products = (node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult))
        pairs = [
            pair
            for each in products
            if id(each) not in of_arrays
            for pair in ((each.left, each.right), (each.right, each.left))
        ]
        times = (ast.unparse(times) for items, times in pairs if isinstance(items, (ast.List, ast.Tuple)))
        return frozenset(each.removeprefix("self.") for each in times)

    @functools.cached_property
    def _receivers(self) -> Mapping[Part, Sequence[HandedArgument]]:
        found: defaultdict[Part, list[HandedArgument]] = defaultdict(list)
        for each in self._call_arguments:
            part = self.own.part(each.given) if each.callee is not None else None
            if part is not None:
                found[part].append(each)
        return found

    @functools.cached_property
    def _call_arguments(self) -> Sequence[HandedArgument]:
        return ArgumentReader(self.tree, self._module, self._owner, self._models).arguments()

    def _mentions(self, given: ast.AST, whole: Part) -> bool:
        """Whether an expression is, or holds, the whole, and not only parts of it."""
        todo = [given]
        while todo:
            node = todo.pop()
            part = self.own.part(node)
            if part == whole:
                return True
            if part is None and not isinstance(node, ast.Call):
                todo += ast.iter_child_nodes(node)
        return False


_kept: dict[CodeType, FunctionParts | None] = {}


def _without_step(node: ast.expr) -> ast.expr:
    """What a fixed number is added to, or taken off: `n` in `n + 1`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        return node.left
    return node


def function_parts(function: Callable[..., object]) -> FunctionParts | None:
    """The parts that a function takes; None where it has no source."""
    own = underlying_function(function)
    if not isinstance(own, types.FunctionType):
        return None
    note_read(own)
    owner = own.__globals__.get(own.__qualname__.partition(".")[0])
    owner = owner if isinstance(owner, type) and own.__qualname__ != owner.__qualname__ else None
    if owner is not None:
        note_constructors(owner)
    if own.__code__ not in _kept:
        source = defining_source(own)
        _kept[own.__code__] = FunctionParts(source.tree, own.__globals__, owner) if source is not None else None
    return _kept[own.__code__]


def parts_of(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> tuple[Part, ...]:
    """What a function, and those that it hands a parameter on to, take out of it; nothing if that is the whole."""
    found = function_parts(function)
    if found is None:
        return ()
    parts = dict.fromkeys(found.own.by_parameter().get(parameter, ()))
    if not parts and found.is_transformed(parameter):
        parts[Part(parameter).inner(None)] = None
    for whole in dict.fromkeys((*found.parts_handed_on(parameter), *parts)):
        for inner, name in found.receivers(whole) if depth else ():
            handed = [each.of(whole) for each in parts_of(inner, name, depth - 1)]
            if handed:
                parts.pop(whole, None)
                parts.update(dict.fromkeys(handed))
    return tuple(parts)


def called_functions(function: Callable[..., object], depth: int = _DEPTH) -> Iterator[Callable[..., object]]:
    """The functions of its file that a function calls with what it has, and those that these call."""
    seen: dict[Callable[..., object], None] = {}
    todo: list[tuple[Callable[..., object], int]] = [(function, depth)]
    for each, left in todo:
        source = function_parts(each) if left else None
        for arguments in source.calls.values() if source is not None else ():
            callee = arguments[0].callee
            if callee is not None and callee not in seen:
                seen[callee] = None
                todo.append((callee, left - 1))
    return iter(seen)


def goes_elsewhere(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function, or one that it hands a parameter on to, uses the whole of it in a way that nobody knows."""
    found = function_parts(function)
    return found is not None and found.goes_elsewhere(parameter)


def is_used(function: Callable[..., object], parameter: str, made: Container[str]) -> bool:
    """Whether a function may use a parameter, but by functions that are `made` up; one without source may."""
    found = function_parts(function)
    return found is None or found.is_used(parameter, made)


def _is_step(node: ast.expr) -> bool:
    """Whether an expression is `n + 1`, or the like."""
    match node:
        case ast.BinOp(left=ast.Name(), op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            return True
    return False


def _own_name(node: ast.expr) -> str:
    """The name of a variable, or of an attribute of `self`; "" of anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _rests_of_none(condition: ast.expr) -> Iterator[ast.BinOp]:
    """The remainders, `a % b`, that a condition wants to be 0."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for each in condition.values:
            yield from _rests_of_none(each)
    operator: type[ast.cmpop] = ast.Eq
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        condition, operator = condition.operand, ast.NotEq
        if isinstance(condition, ast.BinOp) and isinstance(condition.op, ast.Mod):
            yield condition
        if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.Or):
            for each in condition.values:
                yield from _rests_of_none(ast.UnaryOp(ast.Not(), each))
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1 or not isinstance(condition.ops[0], operator):
        return
    sides = (condition.left, condition.comparators[0])
    if any(isinstance(side, ast.Constant) and side.value == 0 for side in sides):
        yield from (side for side in sides if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod))


def _factors(node: ast.expr) -> tuple[int, list[str]] | None:
    """The number and the names of which an expression is the product; None if it is anything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0:
        return node.value, []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _factors(node.left), _factors(node.right)
        return (left[0] * right[0], [*left[1], *right[1]]) if left is not None and right is not None else None
    name = _own_name(node)
    return (1, [name]) if name else None
