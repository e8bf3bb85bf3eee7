"""The variables that the labels of comments name: `x: (b, t)`."""

from __future__ import annotations

import ast
import functools
import itertools
import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from shapecheck.claims.claim_sites import SiteKey, When, name_place, value_place
from shapecheck.claims.comment_targets import CommentTarget
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.known_dims import own_sizes
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, own_nodes

# What holds numbers itself, so that those behind its name are its values.
_OF_NUMBERS = re.compile(
    r"shape|size|stride|pad|kernel|dilat|window|dims|ax[ei]s|range|bound|limit|resol|ratio|grid|factor|perm|order|indices"
)
_ENDS = (ast.Return, ast.Yield, ast.YieldFrom)
# What gives an array other axes than it has.
_RESHAPING = re.compile(
    r"T|all|any|argmax|argmin|diagonal|dot|expand_dims|flatten|matmul|max|mean|min|moveaxis|mT|pad|prod|ravel|rearrange|"
    r"reduce|repeat|reshape|rollaxis|squeeze|std|sum|swapaxes|take|tile|trace|transpose|var"
)
# "Select the operators based on indices: shape (n, d)" tells of what is selected.
_USES = r"\b(?:based\s+on|according\s+to|using|via|from|by)\s+(?:the\s+)?[`'\"]*{label}[`'\"]*\s*:"
# "Displacement from rows to columns: (n, m, 3)" ends a sentence that tells of something else.
_UP_TO = r"\b(?:between|from)\b.*\b(?:to|and)\s+(?:the\s+|all\s+|each\s+|every\s+)?[`'\"]*{label}[`'\"]*\s*:"
# "Gather atom positions: (n, k, 3)" tells of what is gathered.
_WHAT_IS_DONE = (
    r"#?\s*(?:\d+[.)]\s*)?(?:apply|broadcast|build|calculate|collect|combine|compute|concatenate|construct|convert|create"
    r"|evaluate|expand|extract|form|gather|generate|get|join|make|map|merge|normali[sz]e|pick|project|reduce|reshape|sample"
    r"|scale|select|slice|split|stack|sum|take|transform|update)\s+(?:\S+\s+)+[`'\"]*{label}[`'\"]*\s*:"
)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class CommentLabels:
    """Finds what labels name, in one file."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._ends: dict[int, float] = {}
        self._nonlocal: dict[int, frozenset[str]] = {}

    def find_variables(
        self, comment: Comment, segment: Segment, placed: PlacedStatement, targets: Sequence[CommentTarget]
    ) -> list[CommentTarget] | None:
        """The variables that the labels name, if they all are visible; None if the labels are no names."""
        if not segment.labels or (segment.prose and not segment.colon):
            return None
        given = {each.name for target in targets for each in (target, *target.elements)}
        if (
            segment.generic
            and not (self.begins(placed) and all(self._is_argument(label, placed, segment) for label in segment.labels))
            and not given.issuperset(segment.labels)
        ):
            return None  # a parameter may be called `returns`, too, and a variable `final`
        if segment.arrow:
            return None  # `x: (a) -> (b)` and `x (a) -> (b)` tell what becomes of x
        if any(re.search(rf"""(['"]){re.escape(label)}\1\s*:""", comment.text) for label in segment.labels):
            return None  # `'k': (b, t)` is an entry, and no variable
        if re.search(_USES.format(label=re.escape(segment.labels[-1])), comment.text, re.IGNORECASE):
            return None
        words = _WHAT_IS_DONE.format(label=re.escape(segment.labels[-1]))
        made = {each.name for target in targets[:1] for each in (target, *target.elements)}
        if segment.labels[-1] not in made and re.match(words, comment.text, re.IGNORECASE):
            return None
        if segment.prose and re.search(_UP_TO.format(label=re.escape(segment.labels[-1])), comment.text):
            return None
        found = [self._variable(comment, label, segment, placed, targets) for label in segment.labels]
        visible = [target for target in found if target is not None]
        return visible if len(visible) == len(found) else None

    def may_be_code(self, segment: Segment, placed: PlacedStatement) -> bool:
        """Whether `x = (a, b)` may be code that is commented out: some variable that is no size has a name in it."""
        scope = self.tables.function_scope(placed.scope)
        if isinstance(placed.node, Function):
            scope = self.tables.scope_of[placed.node.lineno, placed.node.col_offset]
        sizes = self._own_sizes.get(scope, set())
        return any(self.tables.is_visible(scope, name) and name not in sizes for name in segment.names)

    @functools.cached_property
    def _own_sizes(self) -> Mapping[int, Set[str]]:
        return own_sizes(self.tables)

    def arrays_of_numbers(self, named: Sequence[CommentTarget], placed: PlacedStatement) -> list[CommentTarget]:
        """Those of which numbers are a shape rather than values: parameters that no word says hold numbers.

        A function says so where it begins. Further down it may tell what they are.
        """
        if not isinstance(placed.node, Function) and not self.begins(placed):
            return []
        return [
            target
            for target in named
            if [place.kind for place in target.places] == ["param"]
            and _OF_NUMBERS.search(target.name) is None
            and not self._has_default(target)
        ]

    def _has_default(self, target: CommentTarget) -> bool:
        node = self.tables.nodes[target.scope]
        if not isinstance(node, Function):
            return True
        by_place = [*node.args.posonlyargs, *node.args.args]
        with_default = {each.arg for each in by_place[len(by_place) - len(node.args.defaults) :]}
        with_default |= {each.arg for each, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d}
        return target.name in with_default

    def _variable(
        self,
        comment: Comment,
        label: str,
        segment: Segment,
        placed: PlacedStatement,
        targets: Sequence[CommentTarget],
    ) -> CommentTarget | None:
        """The variable, parameter or field of this name that is meant beside or above a statement."""
        above = comment.own_line and placed.node.lineno > comment.line
        for target in targets[:1]:
            for candidate in (target, *target.elements):
                if above and self._is_argument(label, placed, segment):
                    break  # above `b, t = x.shape`, which tells of x as well
                if candidate.name == label and candidate.places:
                    # Behind `if` it may tell of what is there before, or of what the branches leave.
                    either = above or isinstance(placed.node, ast.If)
                    return self._or_before(candidate, segment, placed) if either else candidate
        if isinstance(placed.node, Function):
            inner = self.tables.scope_of[placed.node.lineno, placed.node.col_offset]
            if label in self.tables.scopes[inner].parameters:
                return CommentTarget(
                    scope=inner,
                    name=label,
                    places=(SiteKey(kind="param", scope=inner, position=None, name=label),),
                    statement=placed,
                )
        if self.tables.scopes[placed.scope].kind == "class" and label in self.tables.assigned[placed.scope]:
            return CommentTarget(
                scope=placed.scope,
                name=label,
                places=(SiteKey(kind="field", scope=placed.scope, position=None, name=label),),
                statement=placed,
            )
        scope = self.tables.function_scope(placed.scope)
        if not self._is_variable(scope, label):
            return None
        own = ast.Name(label, ast.Load())  # above `return h, c` a comment may tell of c alone
        place = self._place(scope, label, segment, placed, above=above)
        returned = [value_place(scope, each, label, placed.loop) for each in _returned_of(placed.node, label)]
        places = (*returned, place) if len(returned) == 1 and not above else (place,)
        return CommentTarget(scope=scope, name=label, places=places, statement=placed, part=own)

    def _is_argument(self, label: str, placed: PlacedStatement, segment: Segment) -> bool:
        """Whether a variable is a parameter as it came, at a statement of a function which leaves it so."""
        scope = self.tables.function_scope(placed.scope)
        is_own = label in self.tables.scopes[scope].parameters
        return is_own and self._is_as_given(label, placed, segment) and not self.tables.assigns(placed, label)

    def _place(self, scope: int, label: str, segment: Segment, placed: PlacedStatement, *, above: bool) -> SiteKey:
        """Where to read a variable that is none of the statement's targets."""
        when: When = "before" if above or placed.compound or isinstance(placed.node, _LEAVES) else "after"
        is_own = label in self.tables.scopes[scope].parameters
        if when == "before" and is_own and self._is_as_given(label, placed, segment):
            # It describes what the function takes.
            return SiteKey(kind="param", scope=scope, position=None, name=label)
        if when == "before" and not self._has_value(scope, label, placed):
            later = self.tables.next_assignment(scope, label, placed.place - 1)
            if later is not None:
                return name_place(scope, label, later.node, "after", later.loop)
        return name_place(scope, label, placed.node, when, placed.loop)

    def begins(self, placed: PlacedStatement) -> bool:
        """Whether a function comes to this statement whenever it is called, before it does anything."""
        node = self.tables.nodes[self.tables.function_scope(placed.scope)]
        body = node.body[:] if isinstance(node, Function) else []
        while body and body[0] is not placed.node:
            if not _does_nothing(body.pop(0)):
                return False
        return bool(body)

    def is_unconditional(self, placed: PlacedStatement) -> bool:
        """Whether a statement stands in a function itself, and in no branch or loop of it."""
        node = self.tables.nodes[self.tables.function_scope(placed.scope)]
        return isinstance(node, Function) and placed.block == self.tables.by_node[node.body[0]].block

    def _is_as_given(self, parameter: str, placed: PlacedStatement, segment: Segment) -> bool:
        """Whether a call that does not fail comes to this statement, and the parameter is there what was passed.

        Further down a comment may also tell of what the statement makes of it, `x: (t, d), averaged over the batch`.
        """
        scope = self.tables.function_scope(placed.scope)
        node = self.tables.nodes[scope]
        if not isinstance(node, Function) or not self.is_unconditional(placed):
            return False
        if not self.begins(placed) and (segment.tail.strip(" .") or _makes_part(placed.node, parameter)):
            return False
        if parameter in self._bound_inside(scope, node):
            return False
        bound = self.tables.assignments(scope, parameter)
        return placed.node.lineno <= self._first_end(scope, node) and (not bound or bound[0] >= placed.place)

    def _first_end(self, scope: int, function: Function) -> float:
        """The line of the first statement at which a call may end, or that makes it a generator."""
        if scope not in self._ends:
            ends = (each.lineno for each in own_nodes(function) if isinstance(each, _ENDS))
            self._ends[scope] = min(ends, default=math.inf)
        return self._ends[scope]

    def _bound_inside(self, scope: int, function: Function) -> frozenset[str]:
        """The variables that inner functions bind, `nonlocal` there."""
        if scope not in self._nonlocal:
            inner = (each.names for each in ast.walk(function) if isinstance(each, ast.Nonlocal))
            self._nonlocal[scope] = frozenset(itertools.chain.from_iterable(inner))
        return self._nonlocal[scope]

    def _or_before(self, target: CommentTarget, segment: Segment, placed: PlacedStatement) -> CommentTarget:
        """A comment that names x may also speak of what goes in, as above `x = f(x)`."""
        scope = self.tables.function_scope(placed.scope)
        if target.places[0].kind == "field" or not self._has_value(scope, target.name, placed):
            return target
        if not self._is_variable(scope, target.name):
            return target
        before = self._place(scope, target.name, segment, placed, above=True)
        return replace(target, places=(*target.places, before))

    def _is_variable(self, scope: int, label: str) -> bool:
        first, _, rest = label.partition(".")
        if rest and first != "self":
            return self.tables.is_visible(scope, first)
        return self.tables.is_visible(scope, label)

    def _has_value(self, scope: int, label: str, placed: PlacedStatement) -> bool:
        """Whether the variable may have a value before the statement."""
        places = self.tables.assignments(scope, label)
        return not places or places[0] < placed.place or label in self.tables.scopes[scope].parameters


def _returned_of(node: ast.stmt, label: str) -> list[ast.expr]:
    """What a statement returns that is made of a variable by its own methods: `idx.reshape(b, t)`."""
    value = node.value if isinstance(node, ast.Return) else None
    found: list[ast.expr] = []
    for each in value.elts if isinstance(value, ast.Tuple) else [value]:
        inner: ast.AST | None = each
        while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if each is not None and inner is not each and isinstance(inner, ast.Name) and inner.id == label:
            found.append(each)
    return found


def _makes_part(node: ast.stmt, label: str) -> bool:
    """Whether a statement makes another shape of a variable: `table[d]`, `x.mean(0)`, `jnp.swapaxes(x, 0, 1)`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript) and _is_name(each.value, label):
            return True
        if isinstance(each, ast.Attribute) and _is_name(each.value, label) and _RESHAPING.fullmatch(each.attr):
            return True
        if isinstance(each, ast.Call) and each.args and _is_name(each.args[0], label):
            called = each.func.attr if isinstance(each.func, ast.Attribute) else ""
            if _RESHAPING.fullmatch(called):
                return True
    return False


def _is_name(node: ast.expr, label: str) -> bool:
    return isinstance(node, ast.Name) and node.id == label


def _does_nothing(node: ast.stmt) -> bool:
    """Whether a statement is a docstring or an import."""
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
