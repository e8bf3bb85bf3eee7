"""What the body of a function asks of its arguments: how many axes, which of them are equal, what kind of number.

Where nothing describes an argument its code mostly does: `b, t, c = x.shape`, `assert x.ndim == 2`,
`chex.assert_rank([x, y], [1, 2])`, `jnp.einsum("ij,jk->ik", x, y)`, `x[:, None, :]`. Only source is read, nothing is
called; a parameter that is bound again is read up to there.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.known_calls import KnownCalls
from shapecheck.evaluate.inputs.facts.name_hints import array_dtype
from shapecheck.evaluate.inputs.facts.parameter_facts import (
    Axis,
    BodyFact,
    ParameterFacts,
    called_name,
    is_ellipsis,
    literal_integer,
    literal_text,
)
from shapecheck.evaluate.probes.attribute_access import underlying_function

ARRAY_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "T", "mT", "at"})
"""What is read off arrays, and hardly off anything else."""
ARRAY_METHODS = frozenset({"astype", "reshape", "sum", "mean", "transpose"})
"""What is called on arrays. What is only read, as `pca.mean` is, may be a field of something else."""
_OF_ONE_KIND = frozenset({"where", "clip", "maximum", "minimum", "mod", "remainder", "ravel", "reshape", "squeeze"})
"""What gives numbers of the kind that it is given."""
_INDEX_ARGUMENTS: Mapping[str, int] = {
    **dict.fromkeys(("take", "take_along_axis", "segment_sum", "segment_max", "segment_min", "segment_prod"), 1),
    **dict.fromkeys(("one_hot", "bincount"), 0),
}
"""Which argument of a function is an array of integers, by its place."""
_KEEPING = frozenset({"asarray", "array", "astype", "stop_gradient", "lax_stop_gradient", "nan_to_num"})


@dataclass(frozen=True)
class BodyFacts:
    """What a body asks of its parameters, and the sets of axes that it takes to be equal."""

    parameters: Mapping[str, BodyFact]
    equal_axes: Sequence[frozenset[Axis]] = ()
    equal_shapes: Sequence[frozenset[str]] = ()


NO_FACTS = BodyFacts({})


def facts_of(function: Callable[..., object]) -> BodyFacts:
    """What the source of a function says of its parameters; nothing where there is no source."""
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
    inner = underlying_function(own)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType):
        return NO_FACTS
    if code not in _kept:  # a class is constructed anew for each attempt
        _kept[code] = _read_function(inner)
    return _kept[code]


_kept: dict[CodeType, BodyFacts] = {}


def _read_function(inner: Callable[..., object]) -> BodyFacts:
    source = defining_source(inner)
    if source is None or not isinstance(source.tree, ast.FunctionDef):
        return NO_FACTS
    return _Reader(source.tree, getattr(inner, "__globals__", {})).read_body()


class _Reader:
    """Reads one function, statement by statement."""

    def __init__(self, tree: ast.FunctionDef, module: Mapping[str, object]) -> None:
        self._tree = tree
        self._known = ParameterFacts(tree, module)
        self._calls = KnownCalls(self._known)
        self._made_of: dict[str, list[str]] = {}  # variables, and the parameters whose kind of number they have

    def read_body(self) -> BodyFacts:
        """All that it says."""
        self._block(self._tree.body)
        return BodyFacts(self._known.facts, self._known.axes, self._known.shapes)

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._read_nested(statement)
            return
        for expression in _own_expressions(statement):
            self._expression(expression)
        if isinstance(statement, ast.Assert):
            self._condition(statement.test)
        elif isinstance(statement, ast.If) and _raises(statement.body):
            self._refusal(statement.test)
        elif isinstance(statement, ast.Assign):
            self._assignment(statement)
        for block in _blocks(statement):
            self._block(block)
        self._known.live -= _bound_again(statement)

    def _read_nested(self, inner: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """What is inside reads the parameters too, but for those of its own of the same name."""
        own: set[str] = set()
        if not isinstance(inner, ast.ClassDef):
            arguments = inner.args
            own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            own |= {
                node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
        before, self._known.live = self._known.live, self._known.live - own
        for statement in inner.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr):
                    self._node(node)
        self._known.live = before

    def _expression(self, expression: ast.expr) -> None:
        for node in ast.walk(expression):
            if isinstance(node, ast.expr):
                self._node(node)

    def _node(self, node: ast.expr) -> None:
        if isinstance(node, ast.Attribute) and node.attr in ARRAY_ATTRIBUTES and (fact := self._known.fact(node.value)):
            fact.is_array = True
        elif isinstance(node, ast.Subscript):
            self._subscript(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                if fact := self._known.fact(side):
                    fact.need(1)
        elif isinstance(node, ast.Compare):
            self._compared_texts(node)
        elif isinstance(node, ast.Call):
            method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS else None
            if method is not None and (fact := self._known.fact(method.value)):
                fact.is_array = True
            self._calls.note_call(node)
            place = _INDEX_ARGUMENTS.get(called_name(node.func)[0], len(node.args))
            if place < len(node.args):
                self._index(node.args[place])

    def _compared_texts(self, node: ast.Compare) -> None:
        fact = self._known.fact(node.left)
        if fact is None:
            return
        for other in node.comparators:
            parts = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
            fact.texts = tuple(dict.fromkeys([*fact.texts, *filter(None, map(literal_text, parts))]))

    def _subscript(self, node: ast.Subscript) -> None:
        index = node.slice
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            self._index(part)
        shaped = self._known.shape_of(node.value)
        if shaped is not None:  # x.shape[2], x.shape[-2:]
            number = literal_integer(index)
            if number is None and isinstance(index, ast.Slice):
                number = literal_integer(index.lower)
                upper = literal_integer(index.upper) or 1
                number = number if number is not None else upper - 1 if upper > 0 else upper
            if number is not None:
                self._known.facts[shaped].need_axis(number)
            return
        fact = self._known.fact(node.value)
        if fact is None:
            return
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(literal_text(part) for part in parts):  # of a table of arrays
            return
        axes = [part for part in parts if not _is_new_axis(part) and not is_ellipsis(part)]
        if isinstance(index, ast.Tuple) or _is_new_axis(index) or any(isinstance(part, ast.Slice) for part in parts):
            fact.need(len(axes))

    def _index(self, node: ast.expr) -> None:
        """What picks elements, whole or in part (`tags[1:]`), is an array of integers, if its name tells of no mask."""
        while isinstance(node, ast.Subscript):
            node = node.value
        for name in self._of_kind(node):
            fact = self._known.facts[name]
            fact.indexes = True
            if (fact.is_array or name in self._known.arrays) and array_dtype(name) != "bool":
                fact.dtype = fact.dtype or "Int"

    def _of_kind(self, node: ast.expr) -> Sequence[str]:
        """The parameters whose kind of number an expression has."""
        if isinstance(node, ast.Name) and node.id in self._made_of:
            return self._made_of[node.id]
        return [name] if (name := self._known.name(node)) is not None else []

    def _assignment(self, statement: ast.Assign) -> None:
        """`b, t, *rest = x.shape`, `h, c = state`, `rows = jnp.clip(ids, 0, n - 1)`."""
        self._note_kind(statement)
        target, shaped = statement.targets[0], self._known.shape_of(statement.value)
        if (whole := self._known.fact(statement.value)) is not None and isinstance(target, (ast.Tuple, ast.List)):
            whole.parts = len(target.elts)
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        for name, value in zip(targets, values, strict=False):  # `n, d = x.shape[0], x.shape[1]`
            axis = self._known.axis_of(value)
            if axis is not None and isinstance(name, ast.Name) and name.id.strip("_"):
                self._known.facts[axis[0]].names.setdefault(axis[1], name.id)
        if shaped is None or not isinstance(target, (ast.Tuple, ast.List)):
            return
        fact = self._known.facts[shaped]
        if any(isinstance(each, ast.Starred) for each in target.elts):
            fact.need(len(target.elts) - 1)
            return
        fact.admit((len(target.elts),))
        for number, each in enumerate(target.elts):
            if isinstance(each, ast.Name) and each.id.strip("_"):
                fact.names.setdefault(number, each.id)

    def _note_kind(self, statement: ast.Assign) -> None:
        """Which variables are of the same kind of number as others."""
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name):
            return
        given: list[ast.expr] = []
        if isinstance(value, ast.Call) and (name := called_name(value.func)[0]) in _OF_ONE_KIND:
            receiver = [value.func.value] if isinstance(value.func, ast.Attribute) else []
            given = value.args[1:] if name == "where" else [*receiver, *value.args[:1]]
        made_of = [*itertools.chain.from_iterable(map(self._of_kind, given))]
        self._made_of.pop(target.id, None)
        if made_of:
            self._made_of[target.id] = made_of

    def _condition(self, test: ast.expr) -> None:
        """What holds from here on."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for each in test.values:
                self._condition(each)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._refusal(test.operand)
        elif isinstance(test, ast.Compare):  # also of a chain: `q.shape == k.shape == v.shape`
            for left, how, right in zip([test.left, *test.comparators], test.ops, test.comparators, strict=False):
                self._comparison(left, how, right)

    def _refusal(self, test: ast.expr) -> None:
        """What does not hold from here on: `if x.ndim != 2: raise ...`."""
        opposite: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
            ast.NotEq: ast.Eq, ast.NotIn: ast.In, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt
        }  # fmt: skip
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            for each in test.values:
                self._refusal(each)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._condition(test.operand)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in opposite:
            self._comparison(test.left, opposite[type(test.ops[0])](), test.comparators[0])

    def _comparison(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> None:
        ranked = self._known.rank_of(left)
        if ranked is not None:
            number = self._known.constant(right)
            if isinstance(how, ast.Eq) and number is not None:
                self._known.facts[ranked].admit((number,))
            elif isinstance(how, ast.In) and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                options = [each for part in right.elts if (each := self._known.constant(part)) is not None]
                self._known.facts[ranked].admit(sorted(options, reverse=True))
            elif isinstance(how, (ast.GtE, ast.Gt)) and number is not None:
                self._known.facts[ranked].need(number + isinstance(how, ast.Gt))
            return
        axes = [axis for each in (left, right) if (axis := self._known.axis_of(each)) is not None]
        if axes and isinstance(how, ast.Eq):
            for name, number in axes:
                self._known.facts[name].need_axis(number)
            if len(axes) > 1:
                self._known.axes.append(frozenset(axes))
            elif text := self._known.size_text(right if self._known.axis_of(left) is not None else left):
                self._known.facts[axes[0][0]].names.setdefault(axes[0][1], text)
        shaped, other = self._known.shape_of(left), self._known.shape_of(right)
        if shaped is None or not isinstance(how, ast.Eq):
            return
        if other is not None:
            self._known.shapes.append(frozenset({shaped, other}))
        elif isinstance(right, (ast.Tuple, ast.List)):
            self._known.note_shape(shaped, right.elts)


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are not those of the blocks inside of it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _bound_again(statement: ast.stmt) -> set[str]:
    """The names that a statement binds to something else: not `x = jnp.asarray(x)`."""
    stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if isinstance(statement, ast.Assign) and len(stored) == 1 and isinstance(statement.value, ast.Call):
        call, (name,) = statement.value, stored
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        same = [each for each in (receiver, *call.args[:1]) if isinstance(each, ast.Name) and each.id == name]
        if same and called_name(call.func)[0] in _KEEPING:
            return set()
    return stored


def _raises(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _is_new_axis(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    return called_name(node)[0] == "newaxis"
