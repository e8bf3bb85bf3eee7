"""What a comment stands at: a statement, a parameter, a field, or an expression inside a statement; and which value
that is about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.claim_sites import SiteKey, name_place, value_place
from shapecheck.claims.expressions_beside import opened_expression, readings_behind, readings_below
from shapecheck.claims.known_dims import shape_of
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.owners import CommentOwner, Inside
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, dotted_name
from shapecheck.syntax.source_text import SourceText

_TYPES = frozenset({"Tuple", "tuple", "List", "list", "Dict", "dict", "Union", "Optional", "Callable", "Sequence"})
_PLAIN = frozenset({"int", "str", "bool", "Callable"})
_NOTHING_LEFT = (ast.Raise, ast.Return, ast.Continue, ast.Break, ast.Pass)


def left_by(node: ast.If | ast.For | ast.AsyncFor) -> ast.expr | None:
    """The one variable that every branch of an `if`, or a loop, assigns last, if it goes on behind it at all."""
    found: dict[str, ast.expr] = {}
    bodies = [node.body, node.orelse]
    while bodies:  # no recursion: an `elif` chain nests as deeply as it is long
        body = bodies.pop()
        last = _last(body)
        if isinstance(last, ast.If):
            bodies += [last.body, last.orelse]
            continue
        if last is None or isinstance(last, _NOTHING_LEFT):
            continue
        target = _assignment_target(last)
        name = dotted_name(target) if target is not None else None
        if target is None or name is None:
            return None
        found.setdefault(name, target)
    return next(iter(found.values())) if len(found) == 1 else None


def _calls_its_variable(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop is over what it calls, `for layer in layers: x = layer(x)`: a comment there tells of `x`."""
    if not isinstance(node.target, ast.Name):
        return False
    calls = (each.func for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Name) and each.id == node.target.id for each in calls)


def _last(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The last statement that is more than a call for its effect."""
    return next((each for each in reversed(body) if not isinstance(each, ast.Expr)), None)


def _assignment_target(node: ast.stmt) -> ast.expr | None:
    if isinstance(node, ast.Assign):
        return node.targets[-1]
    return node.target if isinstance(node, ast.AnnAssign | ast.AugAssign) else None


def subject(node: ast.expr) -> ast.expr | None:
    """The one array whose shape an expression is about: x in `print(x.shape)`, `x.ndim == 2`, `assert_rank(x, 2)`."""
    if isinstance(node, ast.Call):
        if not speaks(node):
            return None
        if _last_name(node.func) in {"assert_shape", "assert_rank"} and node.args:
            return node.args[0]
    found: dict[str, ast.expr] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in {"shape", "ndim"}:
            found.setdefault(dotted_name(part.value) or f"expression {len(found)}", part.value)
    return next(iter(found.values())) if len(found) == 1 else None


def _put_in(node: ast.expr) -> ast.expr | None:
    """What a statement puts into a list: `out.append((w, b))  # (n, d), (d,)`."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords
    if not isinstance(node, ast.Call) or not is_call or not node.args:
        return None
    return node.args[-1] if _last_name(node.func) in ("append", "appendleft", "insert") else None


def is_plain_type(annotation: ast.expr) -> bool:
    """Whether a type is one of whole numbers, texts or functions, and of nothing that may be an array."""
    nodes = (node for node in ast.walk(annotation) if isinstance(node, ast.expr))
    names = [part for node in nodes if (part := dotted_name(node)) is not None]
    lasts = {name.rpartition(".")[2] for name in names}
    return not lasts.isdisjoint(_PLAIN) and lasts <= _PLAIN | _TYPES


def is_no_array(value: ast.expr) -> bool:
    """Whether an expression is a plain number or text, a type, or one whose value a probe cannot pass on."""
    if isinstance(value, ast.Subscript) and (dotted_name(value.value) or "").rpartition(".")[2] in _TYPES:
        return True
    return isinstance(value, ast.Constant | ast.JoinedStr | ast.Starred)


def speaks(call: ast.Call) -> bool:
    """Whether a call only tells or asserts something of its arguments."""
    name = _last_name(call.func)
    return name in {"print", "len"} or name.lower().startswith("assert")


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


_NAME_LENGTH = 40
_HANDED_ON = re.compile(r"(?:^|[._])(?:state|cache|carry|memory|buffer|aux|info|metrics)s?(?:_\w+)?$")
_VERB = re.compile(r"[A-Za-z]{4,}")
_ARROW = re.compile(r"[-=]>|[→⇒]")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UPDATES = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"})
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, kw_only=True)
class CommentTarget:
    """What a shape beside it describes.

    `places` are its readings, the most natural first; `elements` are those of a tuple target, one by one, where the
    value is unpacked, and of one that is nested its own; `meant` is the place of the one element that a single shape
    may be of alone. `scope` is whose bindings count; `unsure` says that the place itself is a guess.
    """

    scope: int
    name: str
    places: tuple[SiteKey, ...]
    statement: PlacedStatement
    elements: tuple[CommentTarget, ...] = ()
    meant: tuple[SiteKey, ...] = ()
    unsure: bool = False
    part: ast.expr | None = None  # where it is only a part of the statement

    @property
    def variables(self) -> tuple[CommentTarget, ...]:
        """Those of a tuple target, in a row, whatever tuples they stand in: `_`, `x` and `y` of `_, (x, y)`."""
        return tuple(inner for each in self.elements for inner in (each.variables or (each,)))

    @property
    def code(self) -> ast.AST:
        """The code that it stands beside."""
        return self.statement.node if self.part is None else self.part


class CommentTargets:
    """Finds what comments stand at, in one file."""

    def __init__(self, source: SourceText, tables: Tables, owners: Mapping[Comment, CommentOwner]) -> None:
        self.source = source
        self.tables = tables
        inside = (owner for owner in owners.values() if isinstance(owner, Inside))
        self._with_parameters = {owner.statement for owner in inside if owner.parameter}

    def behind(self, comment: Comment, placed: PlacedStatement) -> CommentTarget | None:
        """What a comment describes that stands behind a statement, or behind the colon of its header."""
        if isinstance(placed.node, _FUNCTIONS):
            return self._behind_header(placed, placed.node, comment)
        if isinstance(placed.node, ast.If) and _ARROW.search(comment.text):
            return self._left_by_arm(placed, placed.node)
        if isinstance(placed.node, ast.If):
            tested = self._condition_subject(placed, placed.node)
            return tested if tested is not None else self.statement(placed)
        return None if isinstance(placed.node, ast.ClassDef) else self.statement(placed)

    def _condition_subject(self, placed: PlacedStatement, node: ast.If) -> CommentTarget | None:
        """What `if x.ndim == 2:  # (b, t)` describes: the array that is tested, where the branch begins."""
        operand = subject(node.test)
        if operand is None and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.IsNot):
            operand = node.test.left  # `if mask is not None:`
        name = dotted_name(operand) if operand is not None else None
        if name is None:
            return None
        scope = self.tables.function_scope(placed.scope)
        begin = name_place(scope, name, node.body[0], "before", placed.loop)
        return CommentTarget(scope=scope, name=name, places=(begin,), statement=placed)

    def _left_by_arm(self, placed: PlacedStatement, node: ast.If) -> CommentTarget | None:
        """What `if x.ndim == 2:  # (b, t) -> (b, t, 1)` describes: what the arm assigns last, where it is taken."""
        last = _last(node.body)
        target = _assignment_target(last) if last is not None else None
        name = dotted_name(target) if target is not None else None
        if last is None or name is None:
            return None
        scope = self.tables.function_scope(placed.scope)
        end = name_place(scope, name, last, "after", placed.loop)
        return CommentTarget(scope=scope, name=name, places=(end,), statement=placed)

    def widened_operand(self, placed: PlacedStatement) -> SiteKey | None:
        """The operand that ends a statement's value, if an axis of one is written for it: `x - h[..., None]`."""
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.BinOp) or not isinstance(value.right, ast.Subscript):
            return None
        index = value.right.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if not any(
            (isinstance(part, ast.Constant) and part.value is None)
            or (dotted_name(part) or "").rpartition(".")[2] == "newaxis"
            for part in parts
        ):
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, value.right, self._describe_expression(value.right), placed.loop)

    def updated_part(self, placed: PlacedStatement) -> SiteKey | None:
        """What a statement writes into an array: `update` of `x = x.at[i].set(update)`, beside the array itself."""
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or not value.args:
            return None
        place = value.func.value
        is_update = isinstance(place, ast.Subscript) and (dotted_name(place.value) or "").rpartition(".")[2] == "at"
        if not is_update or value.func.attr not in _UPDATES:
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, value.args[0], self._describe_expression(value.args[0]), placed.loop)

    def made_of(self, placed: PlacedStatement, name: str) -> SiteKey | None:
        """What a statement makes of a variable directly: `v.squeeze(-1)` of `return m, v.squeeze(-1)`, `mask[:, None]`.

        None where that is all of its value, where the variable is bound anew, or stands there several times.
        """
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.expr) or self.tables.assigns(placed, name):
            return None
        chains = [chain for chain in _chains(value) if chain[0].id == name]
        if len(chains) != 1 or chains[0][-1] is value:
            return None
        whole = chains[0][-1]
        if isinstance(whole, ast.Name) and not (isinstance(value, ast.Tuple) and whole in value.elts):
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, whole, self._describe_expression(whole), placed.loop)

    def inner_operation(self, placed: PlacedStatement) -> SiteKey | None:
        """The operation whose result a statement goes on with: `a * b` of `c = (a * b).reshape(-1)`."""
        value = getattr(placed.node, "value", None)
        inner = value
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            inner = inner.func.value
        if not isinstance(inner, ast.BinOp) or inner is value:
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, inner, self._describe_expression(inner), placed.loop)

    def expanded_variable(self, placed: PlacedStatement, name: str) -> SiteKey | None:
        """The value of a statement that only puts axes of one into a variable: `mu = mean[None, None, :]`."""
        value = getattr(placed.node, "value", None)
        is_of_it = isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == name
        if not isinstance(value, ast.Subscript) or not is_of_it or self.tables.assigns(placed, name):
            return None
        index = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        new = [each for each in index if ast.unparse(each) == "None" or ast.unparse(each).endswith("newaxis")]
        whole = all(isinstance(each, ast.Slice | ast.Constant) or each in new for each in index)
        if not new or not whole:
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, value, self._describe_expression(value), placed.loop)

    def taken_variable(self, placed: PlacedStatement, name: str) -> SiteKey | None:
        """A variable where a statement takes it to make another: `index` of `rows = repeat(index[:, None], n)`."""
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.expr) or self.tables.assigns(placed, name):
            return None
        chains = [chain for chain in _chains(value) if chain[0].id == name]
        if len(chains) != 1:
            return None
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, chains[0][0], name, placed.loop)

    def described_step(self, placed: PlacedStatement, lead: str) -> SiteKey | None:
        """The call inside of a statement's value that the words above tell of, and not what is made of its result.

        `# Transpose to [b, t, h, d]` stands above `y = x.transpose(0, 2, 1, 3).reshape(b, t, -1)` too.
        """
        words = [each.lower() for each in _VERB.findall(lead)]
        value = getattr(placed.node, "value", None)
        calls = list(_chained_calls(value))
        matches = [any(_last_name(call.func).lower().startswith(word) for word in words) for call in calls]
        if True not in matches or (matches[0] and calls[0] is value):
            return None
        call, scope = calls[matches.index(True)], self.tables.function_scope(placed.scope)
        return value_place(scope, call, self._describe_expression(call), placed.loop)

    def inside(self, comment: Comment, placed: PlacedStatement, owner: Inside) -> CommentTarget | None:
        """What a comment describes that stands inside a statement or header."""
        if isinstance(placed.node, _FUNCTIONS):
            return self._parameter(placed, placed.node, owner.parameter)
        outermost = next(iter((*owner.enclosing, *owner.before[::-1], *owner.after)), None)
        if outermost not in _roots(placed.node):
            return None
        loop = (*placed.loop, *(each.lineno for each in owner.enclosing if isinstance(each, _INNER)))
        if comment.own_line:
            return self._first(placed, loop, readings_below(owner))
        if owner.opened is not None:
            if comment.line == placed.node.lineno and not placed.compound:
                return self.statement(placed)
            return self._first(placed, loop, [opened_expression(owner, owner.opened, comment.line)])
        return self._first(placed, loop, readings_behind(owner, comment.line))

    def statement(self, placed: PlacedStatement) -> CommentTarget | None:
        """What a comment describes that speaks of a whole statement."""
        node, scope = placed.node, placed.scope
        in_class = self.tables.scopes[scope].kind == "class"
        if isinstance(node, ast.AnnAssign | ast.Assign) and in_class:
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[-1]
            if isinstance(target, ast.Name) and not (isinstance(node, ast.Assign) and is_no_array(node.value)):
                return CommentTarget(
                    scope=scope,
                    name=target.id,
                    places=(SiteKey(kind="field", scope=scope, position=None, name=target.id),),
                    statement=placed,
                )
            return None
        if isinstance(node, ast.Assign):
            assigned = self._value(placed, node.value, node.targets[-1])
            if assigned is None:
                return None
            return replace(assigned, meant=tuple(self._beside_carried(placed, node)))
        if isinstance(node, ast.AnnAssign):
            return self._value(placed, node.value, node.target) if node.value is not None else None
        if isinstance(node, ast.AugAssign):
            return self._after(placed, node.target)
        if isinstance(node, ast.Return):
            returned = self._value(placed, node.value, None) if node.value is not None else None
            if returned is None:
                return None
            return replace(returned, name="the returned value", meant=tuple(self._beside_others(placed)))
        if isinstance(node, ast.Expr):
            return self._expression_statement(placed, node.value)
        if isinstance(node, ast.Assert):
            return self._asserted_target(placed, node.test)
        if isinstance(node, ast.For | ast.AsyncFor):
            if not _calls_its_variable(node):
                return self._loop_variables(placed, node.target)
            variable = left_by(node)
            left = self._after(placed, variable) if variable is not None else None
            return None if left is None else replace(left, unsure=True)
        if isinstance(node, ast.With | ast.AsyncWith) and node.items[-1].optional_vars is not None:
            return self._loop_variables(placed, node.items[-1].optional_vars)
        if isinstance(node, ast.If) and (variable := left_by(node)) is not None:
            left = self._after(placed, variable)
            return None if left is None else replace(left, unsure=not node.orelse)
        return None

    def _beside_others(self, placed: PlacedStatement) -> Iterator[SiteKey]:
        """The one result of `return y, new_state` or `return x, x[:, 0]` that is meant behind it.

        What is handed on beside it has a shape of its own, and so have variables beside what is computed there.
        """
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.Tuple) or len(value.elts) == 1:
            return
        computed = [each for each in value.elts if dotted_name(each) is None]
        meant = computed[0] if len(computed) == 1 else value.elts[0]
        others = [each for each in value.elts if each is not meant]
        if is_no_array(meant) or isinstance(meant, ast.Starred | ast.Constant):
            return
        if computed == [meant] or all(_HANDED_ON.search(dotted_name(each) or "") for each in others):
            scope = self.tables.function_scope(placed.scope)
            yield value_place(scope, meant, self._describe_expression(meant), placed.loop)

    def _beside_carried(self, placed: PlacedStatement, node: ast.Assign) -> Iterator[SiteKey]:
        """The one variable of `x, steps = scan(f, x, rows)` that is new: the others go into the call and come back."""
        target, call = node.targets[-1], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            return
        given = {dotted_name(each) for each in (*call.args, *(keyword.value for keyword in call.keywords))}
        new = [each for each in target.elts if dotted_name(each) not in given]
        name = dotted_name(new[0]) if len(new) == 1 < len(target.elts) else None
        if name is not None:
            scope = self.tables.function_scope(placed.scope)
            yield name_place(scope, name, placed.node, "after", placed.loop)

    def taken_anew(self, placed: PlacedStatement) -> CommentTarget | None:
        """The variable that a statement computes anew of itself, as it is before: `x` of `x = f(x)`."""
        target = _assignment_target(placed.node)
        value = getattr(placed.node, "value", None)
        if not isinstance(target, ast.Name) or not isinstance(value, ast.expr):
            return None
        if not any(isinstance(each, ast.Name) and each.id == target.id for each in ast.walk(value)):
            return None
        scope = self.tables.function_scope(placed.scope)
        place = name_place(scope, target.id, placed.node, "before", placed.loop)
        return CommentTarget(scope=scope, name=target.id, places=(place,), statement=placed)

    def variable(self, placed: PlacedStatement, name: str) -> CommentTarget:
        """A variable or attribute chain behind a statement."""
        scope = self.tables.function_scope(placed.scope)
        return CommentTarget(
            scope=scope,
            name=name,
            places=(name_place(scope, name, placed.node, "after", placed.loop),),
            statement=placed,
        )

    def when_bound(self, target: CommentTarget, names: Iterable[str]) -> Iterator[SiteKey]:
        """The variable that a statement sets, behind further statements that bind `names` anew from a shape.

        In `y = f(x)  # (n, d)` above `n, d = y.shape`, n and d are those to come. In a loop they may be taken from
        another array of the same turn.
        """
        placed = target.statement
        if placed.compound or not self.tables.assigns(placed, target.name):
            return
        changed = self.tables.next_assignment(placed.scope, target.name, placed.place)
        for name in names:
            binding = self.tables.next_assignment(placed.scope, name, placed.place)
            if binding is None or binding.block != placed.block or not isinstance(binding.node, ast.Assign):
                continue
            source = shape_of(binding.node.value)
            if source is None or not (placed.loop or dotted_name(source) == target.name):
                continue
            if changed is None or changed.place > binding.place:
                yield from self.variable(binding, target.name).places

    def _value(self, placed: PlacedStatement, value: ast.expr, target: ast.expr | None) -> CommentTarget | None:
        """The value of an assignment or return."""
        loop = placed.loop
        if isinstance(value, ast.Lambda):
            value, loop = value.body, (*loop, value.lineno)
        if isinstance(value, ast.Attribute) and value.attr == "shape" and target is not None:
            name = dotted_name(value.value)  # `b, t = x.shape` is about x, and says itself what its names are
            if name is not None and not self.tables.assigns(placed, name):
                return self.variable(placed, name)
            value, target = value.value, None
        if is_no_array(value):
            return None
        scope = self.tables.function_scope(placed.scope)
        name = self._describe_expression(target if target is not None else value)
        elements: tuple[CommentTarget, ...] = ()
        if isinstance(target, ast.Tuple | ast.List):
            elements = tuple(self._element(placed, element) for element in target.elts)
        return CommentTarget(
            scope=scope, name=name, places=(value_place(scope, value, name, loop),), statement=placed, elements=elements
        )

    def _element(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget:
        """One element of a tuple that is assigned to: read from its variable, since not every value can be indexed."""
        scope = self.tables.function_scope(placed.scope)
        name = dotted_name(target.value if isinstance(target, ast.Starred) else target)
        places = (name_place(scope, name, placed.node, "after", placed.loop),) if name is not None else ()
        inner = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        return CommentTarget(
            scope=scope,
            name=name or self._describe_expression(target),
            places=places,
            statement=placed,
            elements=tuple(self._element(placed, each) for each in inner),
        )

    def _after(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget | None:
        name = dotted_name(target)
        return None if name is None else self.variable(placed, name)

    def _loop_variables(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget | None:
        """The variables that `for` and `with` bind, at the start of the body."""
        scope = self.tables.function_scope(placed.scope)
        loop = (*placed.loop, placed.node.lineno) if isinstance(placed.node, ast.For | ast.AsyncFor) else placed.loop
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        bound = []
        for part in parts:
            name = dotted_name(part)
            places = (name_place(scope, name, placed.node, "body", loop),) if name is not None else ()
            bound.append(
                CommentTarget(
                    scope=scope, name=name or self._describe_expression(part), places=places, statement=placed
                )
            )
        if len(parts) == 1 and parts[0] is target:
            return bound[0] if bound[0].places else None
        return CommentTarget(
            scope=scope, name=self._describe_expression(target), places=(), statement=placed, elements=tuple(bound)
        )

    def _expression_statement(self, placed: PlacedStatement, value: ast.expr) -> CommentTarget | None:
        if isinstance(value, ast.Constant | ast.JoinedStr):
            return None
        if isinstance(value, ast.Yield | ast.Await) and value.value is not None:
            value = value.value
        shown = subject(value) or _put_in(value)
        if shown is None and isinstance(value, ast.Call) and speaks(value):
            return None
        return self._value(placed, shown if shown is not None else value, None)

    def _asserted_target(self, placed: PlacedStatement, test: ast.expr) -> CommentTarget | None:
        """The one array whose shape or rank is asserted."""
        operand = subject(test)
        return self._after(placed, operand) if operand is not None else None

    def _behind_header(self, placed: PlacedStatement, node: Function, comment: Comment) -> CommentTarget:
        """Behind the header of a function: what it returns, or the parameter on whose line the header ends.

        It is that parameter where those above have comments of their own.
        """
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        site = SiteKey(kind="return", scope=scope)
        returned = CommentTarget(scope=scope, name="the returned value", places=(site,), statement=placed)
        beside = [a for a in arguments(node) if a.end_lineno == comment.line and a.arg not in {"self", "cls"}]
        alone = comment.line == node.lineno
        if node.returns is not None or not beside:
            return replace(returned, unsure=alone and node.returns is None)
        place = SiteKey(kind="param", scope=scope, name=beside[-1].arg)
        parameter = CommentTarget(scope=scope, name=beside[-1].arg, places=(place,), statement=placed)
        if not alone:
            return _join_readings([parameter, returned] if node in self._with_parameters else [returned, parameter])
        return replace(_join_readings([returned, parameter]) if len(beside) == 1 else returned, unsure=True)

    def signature(self, placed: PlacedStatement) -> tuple[CommentTarget, ...]:
        """What a function takes, in order, and what it returns; nothing for other statements."""
        node = placed.node
        if not isinstance(node, _FUNCTIONS):
            return ()
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        names = [each.arg for each in arguments(node) if each.arg not in {"self", "cls"}]
        sites = [(name, SiteKey(kind="param", scope=scope, name=name)) for name in names]
        sites.append(("the returned value", SiteKey(kind="return", scope=scope)))
        return tuple(CommentTarget(scope=scope, name=name, places=(site,), statement=placed) for name, site in sites)

    def _parameter(self, placed: PlacedStatement, node: Function, name: str) -> CommentTarget | None:
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        if not name:
            return None
        annotation = next((each.annotation for each in arguments(node) if each.arg == name), None)
        if annotation is not None and is_plain_type(annotation):
            return None  # `sizes: Sequence[int],  # (b, t)` tells what these are
        place = SiteKey(kind="param", scope=scope, name=name)
        return CommentTarget(scope=scope, name=name, places=(place,), statement=placed)

    def _first(
        self, placed: PlacedStatement, loop: tuple[int, ...], readings: Iterable[ast.expr]
    ) -> CommentTarget | None:
        """Expressions that one comment may describe, the most natural first."""
        found = (self._expression(placed, loop, reading) for reading in readings)
        targets = [target for target in found if target is not None]
        return _join_readings(targets) if targets else None

    def _expression(self, placed: PlacedStatement, loop: tuple[int, ...], node: ast.expr) -> CommentTarget | None:
        while isinstance(node, ast.Lambda):
            loop = (*loop, node.lineno)
            node = node.body
        if is_no_array(node) or shape_of(node) is not None:
            return None
        scope = self.tables.function_scope(placed.scope)
        name = self._describe_expression(node)
        return CommentTarget(
            scope=scope, name=name, places=(value_place(scope, node, name, loop),), statement=placed, part=node
        )

    def _describe_expression(self, node: ast.expr) -> str:
        """How to call an expression in a message."""
        name = dotted_name(node)
        if name is None:
            span = self.source.span(node)
            end = span.end_column - 1 if span.line == span.end_line else None
            name = self.source.lines[span.line - 1][span.column - 1 : end].strip()
            name += "" if end is not None else " ..."
        return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 3]}..."


def _chained_calls(value: ast.expr | None) -> Iterator[ast.Call]:
    """The calls of which one is made of the result of the next: `reshape` and `transpose` of `f(x.transpose())`.

    Around the first an axis may be added: `x.transpose()[:, None]`.
    """
    value = value.value if isinstance(value, ast.Subscript) else value
    while isinstance(value, ast.Call):
        yield value
        receiver = value.func.value if isinstance(value.func, ast.Attribute) else None
        value = receiver if isinstance(receiver, ast.Call) else value.args[0] if value.args else None


def _chains(value: ast.expr) -> Iterator[tuple[ast.Name, *tuple[ast.expr, ...]]]:
    """The variables in an expression, each with what is made of it link by link: `x`, `x.T`, `x.T.reshape(2, -1)`."""
    above = {child: node for node in ast.walk(value) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            links: list[ast.expr] = []
            link: ast.AST = node
            while (outer := above.get(link)) is not None and isinstance(
                outer, ast.Attribute | ast.Subscript | ast.Call
            ):
                if link is not (outer.func if isinstance(outer, ast.Call) else outer.value):
                    break
                links.append(outer)
                link = outer
            yield node, *links


def _join_readings(targets: Sequence[CommentTarget]) -> CommentTarget:
    """The readings of one comment, the most natural first."""
    return replace(targets[0], places=tuple(dict.fromkeys(place for each in targets for place in each.places)))


def _roots(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates, without those of the statements inside it."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    found = (getattr(node, name, None) for name in ("value", "test", "iter", "subject", "exc", "msg"))
    return [root for root in found if isinstance(root, ast.expr)]
