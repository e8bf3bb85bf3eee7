"""Shapes that code itself states: `assert x.shape == (b, t)`, `chex.assert_shape(x, (b, t))`, and tests of them.

Such a line is checked by Python as well, but only where the program comes by, and only for the sizes that it has then.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.claims.claim_sites import SiteKey, Sites, name_place, value_place
from shapecheck.claims.einops_patterns import EinopsPattern, read_einops_call
from shapecheck.claims.name_suffixes import NameSuffixes
from shapecheck.model import Claim
from shapecheck.shapes import Spec, parse_comment_dims, print_spec
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, dotted_name, last_name
from shapecheck.syntax.source_text import SourceText

_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What compares its first two arguments and raises where they differ: unittest's, and NumPy's.
_ASSERT_EQUAL = frozenset({"assertEqual", "assertTupleEqual", "assertSequenceEqual", "assert_equal"})
_EXPECTED_TO_FAIL = re.compile(r"xfail|skip|expectedFailure")
_UNKNOWN = "?"
# A key of `chex.Dimensions`: a letter or digit for each axis, `*` for any, and several in brackets that are one axis.
_KEY = re.compile(r"(?:[^\W\d_]|\d|\*|\([^\W\d_]+\))+")
_AXIS_OF_KEY = re.compile(r"\((\w+)\)|(.)")
_LONGEST_NAME = 40


@dataclass(frozen=True, kw_only=True)
class _StatedShape:
    """A shape that code states of an array: `written` is the node that says it, `value` the array's."""

    value: ast.expr
    written: ast.expr
    spec: Spec


class CodeClaimReader:
    """Reads the code of one file. `known` are names of dims."""

    def __init__(self, source: SourceText, tables: Tables, sites: Sites, known: set[str]) -> None:
        self.source = source
        self.tables = tables
        self.sites = sites
        self.known = known

    def claims(self) -> Iterator[Claim]:
        """All claims of code, in order."""
        suffixes = NameSuffixes(self.source, self.tables, self.known)
        dimensions = _names_of_dimensions(self.source.tree)
        for placed in self.tables.statements:
            for stated in _asserted_shapes(placed.node):
                if _tables_with_keys(stated.written) <= dimensions:
                    yield from self._of_assertion(placed, stated)
            for call, loop in _calls(placed):
                pattern = read_einops_call(call, self.known)
                if pattern is not None:
                    yield from self._of_pattern(placed, call, pattern, loop)
            for suffix in suffixes.of(placed):
                yield self._claim(suffix.node, suffix.spec, suffix.name, [suffix.place], sure=suffix.sure)

    def _of_assertion(self, placed: PlacedStatement, stated: _StatedShape) -> Iterator[Claim]:
        scope = self.tables.function_scope(placed.scope)
        name = dotted_name(stated.value)
        if name is None and isinstance(stated.value, ast.Constant | ast.Starred):
            return
        is_argument = False
        if name is None:
            places = [value_place(scope, stated.value, self._call_it(stated.value), placed.loop)]
        else:
            places = [name_place(scope, name, placed.node, "before", placed.loop)]
            if is_argument := self._is_argument(scope, name, placed):
                places.insert(0, SiteKey(kind="param", scope=scope, name=name))
        # An argument with other numbers is refused, whoever gives it; of other values one call may make these.
        means_all = bool(stated.spec.names()) or is_argument or self._makes_its_arrays(scope)
        sure = means_all and not self._is_precondition(scope, name or "", placed)
        yield self._claim(stated.written, stated.spec, name or places[0].name, places, sure=sure)

    def _is_argument(self, scope: int, name: str, placed: PlacedStatement) -> bool:
        """Whether a variable is a parameter as it came, at a statement to which every call of the function comes."""
        node = self.tables.nodes[scope]
        if name not in self.tables.scopes[scope].parameters or not isinstance(node, Function):
            return False
        assigned = self.tables.assignments(scope, name)
        if assigned and assigned[0] < placed.place:
            return False
        before = node.body[: node.body.index(placed.node)] if placed.node in node.body else None
        return before is not None and not any(map(_may_leave, before))

    def _makes_its_arrays(self, scope: int) -> bool:
        """Whether a function is a test, or takes nothing, as `main`: then its numbers are those of every run."""
        node = self.tables.nodes[scope]
        if isinstance(node, Function):
            if any(_EXPECTED_TO_FAIL.search(ast.unparse(each)) for each in node.decorator_list):
                return False
            return node.name.startswith("test") or not {*self.tables.scopes[scope].parameters} - {"self", "cls"}
        return isinstance(node, ast.Module)

    def _is_precondition(self, scope: int, name: str, placed: PlacedStatement) -> bool:
        """Whether what is asserted narrows what a function takes: an argument of some calls, or one with a type."""
        first = name.partition(".")[0]
        node = self.tables.nodes[scope]
        if first not in self.tables.scopes[scope].parameters or not isinstance(node, Function):
            return False
        if self.tables.assignments(scope, first) or first in {"self", "cls"}:
            return False
        typed = any(argument.arg == first and argument.annotation is not None for argument in arguments(node))
        return typed or not self._is_argument(scope, name, placed)

    def _of_pattern(
        self, placed: PlacedStatement, call: ast.Call, pattern: EinopsPattern, loop: tuple[int, ...]
    ) -> Iterator[Claim]:
        """What goes into a call of einops, and what comes out of it: names mean what they mean in that pattern."""
        scope = self.tables.function_scope(placed.scope)
        for node, spec in ((pattern.argument, pattern.before), (call, pattern.after)):
            if spec is not None and not isinstance(node, ast.Constant | ast.Starred | ast.List | ast.Tuple):
                name = self._call_it(node)
                place = value_place(scope, node, name, loop)
                yield self._claim(pattern.text, spec, name, [place], sure=False)

    def _call_it(self, node: ast.expr) -> str:
        """How to call an expression in a message."""
        name = dotted_name(node) or self.source.segment(node)
        return name if "\n" not in name and len(name) <= _LONGEST_NAME else "the value"

    def _claim(self, written: ast.expr, spec: Spec, target: str, places: Sequence[SiteKey], *, sure: bool) -> Claim:
        return Claim(
            path=self.source.path,
            span=self.source.span(written),
            notation="code",
            text=" ".join(self.source.segment(written).split()),
            spec=print_spec(spec),
            dtype="",
            target=target,
            scope=places[0].scope,
            sites=tuple(self.sites.add(place, spec.names()) for place in places),
            sure=sure,
            marked=True,
            loose=not sure,
        )


def _may_leave(node: ast.stmt) -> bool:
    """Whether a function may end inside a statement, so that not every call comes to what stands below it."""
    return any(isinstance(part, ast.Return) for part in ast.walk(node)) and not isinstance(node, Function)


def _asserted_shapes(node: ast.stmt) -> Iterator[_StatedShape]:
    """What a statement asserts of shapes, by itself or by calling what does."""
    if isinstance(node, ast.Assert):
        for test in _conjuncts(node.test):
            yield from _compared_shapes(test, ast.Eq)
    elif isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
        yield from _compared_shapes(node.test, ast.NotEq)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        name = last_name(call.func)
        if name == "assert_shape" and len(call.args) >= 2:
            yield from _given_shapes(call.args[0], call.args[1])
        elif name in _ASSERT_EQUAL and len(call.args) >= 2:
            yield from _equal_shapes(call.args[:2])


def _conjuncts(test: ast.expr) -> Sequence[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _compared_shapes(test: ast.expr, operator: type[ast.cmpop]) -> Iterator[_StatedShape]:
    """`x.shape == (b, t)`, the other way around, and `x.shape == y.shape == (b, t)`."""
    if isinstance(test, ast.Compare) and all(isinstance(each, operator) for each in test.ops):
        yield from _equal_shapes([test.left, *test.comparators])


def _equal_shapes(sides: Sequence[ast.expr]) -> Iterator[_StatedShape]:
    written = [side for side in sides if isinstance(side, ast.Tuple | ast.List | ast.BinOp)]
    spec = _spec_of(written[0]) if len(written) == 1 else None
    for side in sides if spec is not None else ():
        found = _shape_and_axes(side)
        if found is not None and spec is not None:
            value, before, after = found
            dims = ", ".join((*before, _text_of_dims(spec), *after)).strip(", ")
            whole = spec if not before and not after else parse_comment_dims(dims + ",")
            if whole is not None:
                yield _StatedShape(value=value, written=written[0], spec=whole)


def _text_of_dims(spec: Spec) -> str:
    """The dims of a spec as a comment has them."""
    return ", ".join(_UNKNOWN if str(dim).startswith("_") else str(dim) for dim in spec.dims)


def _shape_and_axes(node: ast.expr) -> tuple[ast.expr, Sequence[str], Sequence[str]] | None:
    """The array of `x.shape`, or of a slice of it, and what stands before and behind the slice's axes."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
        inner = _shape_and_axes(node.value)
        start, stop = _index(node.slice.lower), _index(node.slice.upper)
        if inner is None or inner[1] or inner[2] or start is None or stop is None:
            return None
        if stop == 0:  # to the end
            return inner[0], [_UNKNOWN] * start if start > 0 else ["..."], ()
        if start == 0 and stop < 0:
            return inner[0], (), [_UNKNOWN] * -stop
        return (inner[0], (), ["..."]) if start == 0 else None
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value, (), ()
    if isinstance(node, ast.Call) and len(node.args) == 1 and (dotted_name(node.func) or "").endswith(".shape"):
        return node.args[0], (), ()
    return None


def _index(node: ast.expr | None) -> int | None:
    """The bound of a slice: 0 where there is none; None where it is computed."""
    if node is None:
        return 0
    try:
        value: object = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _given_shapes(arrays: ast.expr, shapes: ast.expr) -> Iterator[_StatedShape]:
    """`assert_shape(x, (b, t))`: also several arrays, of one shape or of as many."""
    values = arrays.elts if isinstance(arrays, ast.List | ast.Tuple) else [arrays]
    several = isinstance(arrays, ast.List | ast.Tuple) and isinstance(shapes, ast.List | ast.Tuple)
    each = list(shapes.elts) if several and isinstance(shapes, ast.List | ast.Tuple) else []
    if not each or not all(isinstance(shape, ast.List | ast.Tuple) for shape in each):
        each = [shapes] * len(values)
    if len(each) == len(values):
        for value, shape in zip(values, each, strict=True):
            spec = _spec_of(shape)
            if spec is not None:
                yield _StatedShape(value=value, written=shape, spec=spec)


def _spec_of(node: ast.expr) -> Spec | None:
    """The shape that a tuple or list says, or a sum of them; None if it says none."""
    dims = list(_dims_of(node))
    if not dims or dims.count("...") > 1:
        return Spec() if isinstance(node, ast.Tuple) and not node.elts else None
    return parse_comment_dims(", ".join(dims) + ",")


def _dims_of(node: ast.expr) -> Iterator[str]:
    if (key := _key_of_dimensions(node)) is not None:
        for several, one in _AXIS_OF_KEY.findall(key):
            yield "*".join(several) or (_UNKNOWN if one == "*" else one)
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield _dim_of(element)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [list(_dims_of(side)) for side in (node.left, node.right)]
        if not all(side in ([], ["..."]) for side in sides):
            yield from (dim for side in sides for dim in side or ["..."])


def _key_of_dimensions(node: ast.expr) -> str | None:
    """The key of `dims["BTD"]`, if it may be one of `chex.Dimensions`; None of anything else."""
    key = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    if not isinstance(key, str) or not _KEY.fullmatch(key) or key != key.upper():
        return None
    return key


def _tables_with_keys(written: ast.expr) -> set[str]:
    """The names of what `_dims_of` reads keys of, in a shape as it is written; "" of what has no name."""
    if isinstance(written, ast.BinOp):
        return _tables_with_keys(written.left) | _tables_with_keys(written.right)
    if isinstance(written, ast.Subscript) and _key_of_dimensions(written) is not None:
        return {dotted_name(written.value) or ""}
    return set()


def _names_of_dimensions(tree: ast.Module | None) -> set[str]:
    """The variables that a file says to be `chex.Dimensions`: what it makes one, and parameters with that type.

    Of other tables a key in capitals says nothing: `SHAPES["OUT"]` is a shape of any rank.
    """
    names: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = last_name(node.value.func) == "Dimensions"
            names.update(dotted_name(target) or "" for target in node.targets if made)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            parts = (part for part in ast.walk(node.annotation) if isinstance(part, ast.expr))
            names.update(node.arg for part in parts if last_name(part) == "Dimensions")
    return names - {""}


def _dim_of(element: ast.expr) -> str:
    """One axis as a comment has it; a size that only Python can compute may be any."""
    if isinstance(element, ast.Starred) or (isinstance(element, ast.Constant) and element.value is Ellipsis):
        return "..."
    if isinstance(element, ast.Constant) and type(element.value) is not int:
        return _UNKNOWN
    try:
        text = ast.unparse(element)
    except RecursionError:
        return _UNKNOWN
    spec = parse_comment_dims(f"{text},") if text.isascii() else None
    return text if spec is not None and len(spec.dims) == 1 and spec.rank() == 1 else _UNKNOWN


def _calls(placed: PlacedStatement) -> Iterator[tuple[ast.Call, tuple[int, ...]]]:
    """The calls in a statement itself, with the loops around each; those in the statements inside it are theirs."""
    stack: list[tuple[ast.AST, tuple[int, ...]]] = [
        (child, placed.loop) for child in ast.iter_child_nodes(placed.node) if not isinstance(child, ast.stmt)
    ]
    if isinstance(placed.node, Function | ast.ClassDef):
        return
    while stack:
        node, loop = stack.pop()
        if isinstance(node, ast.Call):
            yield node, loop
        if isinstance(node, _INNER):
            loop = (*loop, node.lineno)
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            stack += [(child, loop) for child in ast.iter_child_nodes(node)]
