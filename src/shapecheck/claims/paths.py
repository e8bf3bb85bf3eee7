"""The paths that a value may come by, and the switches that the code tests to choose one.

What a function returns comes from one of its `return` statements, and `y` behind `if a: y = f(x)`, `else: y = g(x)`
from one of the two arms. A claim on such a value is about all of them, so that evaluation has to take each.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from shapecheck.claims.claim_sites import SiteKey
from shapecheck.model import Point, Switch
from shapecheck.syntax.scopes import (
    Function,
    PlacedStatement,
    Tables,
    arguments,
    dotted_name,
    parameter_defaults,
    target_names,
    targets,
)

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class PathReader:
    """Finds the paths of places, and the switches of functions, in one file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._by_scope: dict[int, list[PlacedStatement]] = defaultdict(list)
        self._by_block: dict[tuple[int, int], list[PlacedStatement]] = defaultdict(list)
        self._by_point: dict[tuple[int, Point], PlacedStatement] = {}
        for statement in tables.statements:
            self._by_scope[statement.scope].append(statement)
            self._by_block[statement.scope, statement.block].append(statement)
            self._by_point.setdefault((statement.scope, _point(statement.node)), statement)

    def paths(self, place: SiteKey) -> tuple[Point, ...]:
        """Where the statements begin one of which gives the value at a place; none if it has one path only.

        A `return` without a value, or of a constant (None, NotImplemented, False) is no path of an array, and nor is
        what stands behind an end.
        """
        if place.kind == "return":
            found: Sequence[Point] = [point for end in self._returns(place.scope) for point in self._of_return(end)]
        elif place.kind == "name" and place.when in ("before", "after"):
            found = self._of_name(place)
        else:
            found = self._of_expression(place)
        return tuple(dict.fromkeys(found)) if len(set(found)) > 1 else ()

    def switches(self, scope: int) -> tuple[Switch, ...]:
        """The parameters, or what hangs on them (`self.causal`, `cfg.mode`), that the tests of a function mention."""
        node = self._tables.nodes[scope]
        if not isinstance(node, Function):
            return ()
        parameters = {argument.arg for argument in arguments(node)}
        texts: dict[str, dict[str, None]] = {}
        lines: dict[str, list[int]] = {}
        for statement in self._by_scope[scope]:
            for test, compared in _tests(statement.node):
                for name in _names(test):
                    if name.partition(".")[0] in parameters:
                        texts.setdefault(name, {}).update(dict.fromkeys(compared))
                        lines.setdefault(name, []).append(statement.node.lineno)
        return tuple(Switch(name, tuple(texts[name]), tuple(lines[name])) for name in texts)

    def _returns(self, scope: int) -> Iterator[PlacedStatement]:
        ended: set[int] = set()  # blocks that cannot be left at their end
        for statement in self._by_scope[scope]:
            node = statement.node
            is_dead = statement.block in ended
            if isinstance(node, _ENDS):
                ended.add(statement.block)
            if isinstance(node, ast.Return) and not is_dead and not _is_empty(node.value):
                yield statement

    def _of_return(self, end: PlacedStatement) -> Sequence[Point]:
        value = end.node.value if isinstance(end.node, ast.Return) else None
        parts = value.elts if isinstance(value, ast.Tuple) else [value]  # each of several results has arms of its own
        arms = [arm for part in parts if isinstance(part, ast.Name) for arm in self._arms_before(end, part.id)]
        return arms or (_point(end.node),)

    def _of_name(self, place: SiteKey) -> Sequence[Point]:
        statement = self._statement(place)
        if statement is None:
            return ()
        if place.when == "before":
            return self._arms_before(statement, place.name)
        return self._arms_of(statement.node, place.scope, place.name) if isinstance(statement.node, ast.If) else ()

    def _last_statement(self, line: int) -> PlacedStatement | None:
        """The last statement that starts on or before a line."""
        place = bisect_right(self._tables.statements, line, key=lambda each: each.node.lineno)
        return self._tables.statements[place - 1] if place else None

    def _of_expression(self, place: SiteKey) -> Sequence[Point]:
        """Those of a variable that is returned by its bare name."""
        if place.kind != "value" or place.position is None:
            return ()
        statement = self._last_statement(place.position.line)
        if statement is None or not isinstance(statement.node, ast.Return):
            return ()
        value = statement.node.value
        is_it = isinstance(value, ast.Name) and (value.lineno, value.col_offset) == (
            place.position.line,
            place.position.column,
        )
        return self._arms_before(statement, value.id) if is_it and isinstance(value, ast.Name) else ()

    def _statement(self, place: SiteKey) -> PlacedStatement | None:
        position = place.position
        return self._by_point.get((place.scope, (position.line, position.column))) if position is not None else None

    def _arms_before(self, statement: PlacedStatement, name: str) -> Sequence[Point]:
        """The arms of the `if` that gives a variable its value before a statement of the same block."""
        places = self._tables.assignments(statement.scope, name)
        earlier = bisect_left(places, statement.place)
        block = self._by_block[statement.scope, statement.block]
        # Whatever stands between the begin of a block and a statement of it stands in one of its earlier statements.
        giving = bisect_right(block, places[earlier - 1], key=lambda each: each.place) if earlier else 0
        if not giving or not self._tables.assigns(block[giving - 1], name):
            return ()
        node = block[giving - 1].node
        return self._arms_of(node, statement.scope, name) if isinstance(node, ast.If) else ()

    def _arms_of(self, node: ast.If, scope: int, name: str) -> Sequence[Point]:
        """Where the arms of an `if` begin; of `if scaled: y = f(y)` the one, and the `if` that every way passes."""
        is_alone = not node.orelse and not isinstance(node.body[-1], _ENDS)
        if is_alone and _assigns(node, name) and self._is_flag(node.test, scope):
            return _point(node), _point(node.body[0])
        return _arms(node, name)

    def _is_flag(self, test: ast.expr, scope: int) -> bool:
        """Whether a test is a parameter or a field alone that is True or False, `self.causal` or `not train`."""
        inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        head, _, rest = (dotted_name(inner) or "").partition(".")
        if not rest:
            return _takes_flag(self._tables.nodes[scope], head)
        parent = self._tables.scopes[scope].parent
        owner = self._tables.nodes[parent] if parent is not None else None
        if head != "self" or not isinstance(owner, ast.ClassDef):
            return False
        fields = (each for each in owner.body if isinstance(each, ast.AnnAssign) and dotted_name(each.target) == rest)
        makers = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
        return any(_is_bool(each.annotation, each.value) for each in fields) or any(
            _takes_flag(m, rest) for m in makers
        )


def _takes_flag(node: ast.AST | None, name: str) -> bool:
    """Whether a function has a parameter of this name that is True or False."""
    if not isinstance(node, Function):
        return False
    defaults = {parameter.arg: value for parameter, value in parameter_defaults(node)}
    return any(each.arg == name and _is_bool(each.annotation, defaults.get(name)) for each in arguments(node))


def _is_bool(annotation: ast.expr | None, default: ast.expr | None) -> bool:
    is_default = isinstance(default, ast.Constant) and isinstance(default.value, bool)
    return is_default or (isinstance(annotation, ast.Name) and annotation.id == "bool")


def _arms(node: ast.If, name: str) -> Sequence[Point]:
    """Where each arm begins that assigns a variable; none unless all do that do not end the function or a loop."""
    found: list[Point] = []
    todo: list[ast.If] = [node]
    while todo:  # no recursion: a chain of `elif`s nests as deeply as it is long
        branch = todo.pop()
        if not branch.orelse:
            return ()
        for body in (branch.body, branch.orelse):
            if isinstance(body[-1], _ENDS):
                continue
            giving = next((each for each in reversed(body) if _assigns(each, name)), None)
            if giving is None:
                return ()
            if isinstance(giving, ast.If) and _arms_or_part(giving, name):
                todo.append(giving)
            else:
                found.append(_point(body[0]))
    return tuple(sorted(found))


def _arms_or_part(node: ast.If, name: str) -> bool:
    """Whether every way through an inner `if` gives the variable a value: else it may keep one from before it."""
    return bool(node.orelse) and all(
        isinstance(body[-1], _ENDS) or any(_assigns(each, name) for each in body) for body in (node.body, node.orelse)
    )


def _assigns(node: ast.stmt, name: str) -> bool:
    inner = (part for part in ast.walk(node) if isinstance(part, ast.stmt))
    return any(name in target_names(target) for part in inner for target in targets(part))


def _tests(node: ast.stmt) -> Iterator[tuple[ast.expr, Sequence[str]]]:
    """What a statement tests, and the texts that stand in it."""
    if isinstance(node, ast.If | ast.While):
        yield node.test, _texts(node.test)
    elif isinstance(node, ast.Match):
        yield node.subject, [text for case in node.cases for text in _texts(case.pattern)]


def _texts(node: ast.AST) -> list[str]:
    constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def _names(test: ast.expr) -> Iterator[str]:
    """The variables and attribute chains of a test, each as long as it is; `x.shape` is no switch."""
    stack: list[ast.AST] = [test]
    while stack:
        node = stack.pop()
        name = dotted_name(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if name is not None:
            yield name
        else:
            stack += ast.iter_child_nodes(node)


def _is_empty(value: ast.expr | None) -> bool:
    if value is None or isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Name) and value.id == "NotImplemented"


def _point(node: ast.stmt) -> Point:
    return node.lineno, node.col_offset
