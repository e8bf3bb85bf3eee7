"""The places that a comment may mean besides what it stands at: what goes into a value, a step on the way, a part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from shapecheck.claims.claim_sites import SiteKey, describe_expression, name_place, value_place
from shapecheck.claims.known_dims import shape_of
from shapecheck.claims.statement_subjects import assignment_target, is_no_array
from shapecheck.syntax.scopes import PlacedStatement, Tables, dotted_name, last_name
from shapecheck.syntax.source_text import SourceText

_HANDED_ON = re.compile(r"(?:^|[._])(?:state|cache|carry|memory|buffer|aux|info|metrics)s?(?:_\w+)?$")
_VERB = re.compile(r"[A-Za-z]{4,}")
_UPDATES = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"})


class OtherPlaces:
    """Finds them in the statements of one file; each method knows one form of code, and has nothing for the others."""

    def __init__(self, source: SourceText, tables: Tables) -> None:
        self.source = source
        self.tables = tables

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
        return self._value(placed, value.right)

    def updated_part(self, placed: PlacedStatement) -> SiteKey | None:
        """What a statement writes into an array: `update` of `x = x.at[i].set(update)`, beside the array itself."""
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or not value.args:
            return None
        place = value.func.value
        is_update = isinstance(place, ast.Subscript) and (dotted_name(place.value) or "").rpartition(".")[2] == "at"
        if not is_update or value.func.attr not in _UPDATES:
            return None
        return self._value(placed, value.args[0])

    def inner_operation(self, placed: PlacedStatement) -> SiteKey | None:
        """The operation whose result a statement goes on with: `a * b` of `c = (a * b).reshape(-1)`."""
        value = getattr(placed.node, "value", None)
        inner = value
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            inner = inner.func.value
        if not isinstance(inner, ast.BinOp) or inner is value:
            return None
        return self._value(placed, inner)

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
        return self._value(placed, whole)

    def expanded_variable(self, placed: PlacedStatement, name: str) -> SiteKey | None:
        """What puts axes of one into a variable, where a statement takes that: `mean[None, :]` of `x - mean[None, :]`.

        None where it does so in two ways.
        """
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.expr) or self.tables.assigns(placed, name):
            return None
        found = {ast.unparse(each): each for each in ast.walk(value) if _only_expands(each, name)}
        only = next(iter(found.values())) if len(found) == 1 else None
        return self._value(placed, only) if isinstance(only, ast.expr) else None

    def last_entry(self, placed: PlacedStatement, line: int) -> SiteKey | None:
        """The last value of a dict over several lines, where it stands alone on the line with the closing brace."""
        value = getattr(placed.node, "value", None)
        if not isinstance(value, ast.Dict) or value.lineno == line or not value.values or value.end_lineno != line:
            return None
        *before, last = value.values
        if last.lineno != line or any(each.end_lineno == line for each in before):
            return None
        return self._value(placed, last)

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

    def taken_anew(self, placed: PlacedStatement) -> SiteKey | None:
        """The variable that a statement computes anew of itself, as it is before: `x` of `x = f(x)`."""
        target = assignment_target(placed.node)
        value = getattr(placed.node, "value", None)
        if not isinstance(target, ast.Name) or not isinstance(value, ast.expr):
            return None
        if not any(isinstance(each, ast.Name) and each.id == target.id for each in ast.walk(value)):
            return None
        scope = self.tables.function_scope(placed.scope)
        return name_place(scope, target.id, placed.node, "before", placed.loop)

    def when_bound(self, placed: PlacedStatement, variable: str, names: Iterable[str]) -> Iterator[SiteKey]:
        """The variable that a statement sets, behind further statements that bind `names` anew from a shape.

        In `y = f(x)  # (n, d)` above `n, d = y.shape`, n and d are those to come. In a loop they may be taken from
        another array of the same turn.
        """
        if placed.compound or not self.tables.assigns(placed, variable):
            return
        changed = self.tables.next_assignment(placed.scope, variable, placed.place)
        for name in names:
            binding = self.tables.next_assignment(placed.scope, name, placed.place)
            if binding is None or binding.block != placed.block or not isinstance(binding.node, ast.Assign):
                continue
            source = shape_of(binding.node.value)
            if source is None or not (placed.loop or dotted_name(source) == variable):
                continue
            if changed is None or changed.place > binding.place:
                scope = self.tables.function_scope(binding.scope)
                yield name_place(scope, variable, binding.node, "after", binding.loop)

    def later_sizes(self, placed: PlacedStatement, names: Iterable[str]) -> Iterator[tuple[str, SiteKey]]:
        """Those of `names` that a statement further down gives to sizes, once for all, and where these can be read.

        Of `y = x.mean(2)  # (batch, dim)` above `batch, time, dim = x.shape` both are what they are to be. One letter
        alone may be that of something else.
        """
        if placed.loop:
            return
        found: dict[PlacedStatement, list[str]] = {}
        for name in names:
            places = self.tables.assignments(placed.scope, name)
            binding = self.tables.next_assignment(placed.scope, name, placed.place) if len(places) == 1 else None
            if binding is not None and binding.block == placed.block and isinstance(binding.node, ast.Assign):
                found.setdefault(binding, []).append(name)
        for binding, bound in found.items():
            source = shape_of(binding.node.value) if isinstance(binding.node, ast.Assign) else None
            variable = dotted_name(source) if source is not None else None
            changed = (
                self.tables.next_assignment(placed.scope, variable, placed.place) if variable is not None else None
            )
            is_kept = variable is not None and (changed is None or changed.place > binding.place)
            if variable is None or not is_kept or (len(bound) == 1 and len(bound[0]) == 1):
                continue
            scope = self.tables.function_scope(binding.scope)
            place = name_place(scope, variable, binding.node, "after", binding.loop)
            yield from ((name, place) for name in bound)

    def described_step(self, placed: PlacedStatement, lead: str) -> SiteKey | None:
        """The call inside of a statement's value that the words above tell of, and not what is made of its result.

        `# Transpose to [b, t, h, d]` stands above `y = x.transpose(0, 2, 1, 3).reshape(b, t, -1)` too.
        """
        words = [each.lower() for each in _VERB.findall(lead)]
        value = getattr(placed.node, "value", None)
        calls = list(_chained_calls(value))
        matches = [any(last_name(call.func).lower().startswith(word) for word in words) for call in calls]
        if True not in matches or (matches[0] and calls[0] is value):
            return None
        return self._value(placed, calls[matches.index(True)])

    def beside_others(self, placed: PlacedStatement) -> Iterator[SiteKey]:
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
            yield self._value(placed, meant)

    def beside_carried(self, placed: PlacedStatement, node: ast.Assign) -> Iterator[SiteKey]:
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

    def _value(self, placed: PlacedStatement, node: ast.expr) -> SiteKey:
        scope = self.tables.function_scope(placed.scope)
        return value_place(scope, node, describe_expression(self.source, node), placed.loop)


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


def _only_expands(node: ast.AST, name: str) -> bool:
    """Whether an expression does no more than put axes of one into a variable."""
    if not isinstance(node, ast.Subscript) or dotted_name(node.value) != name:
        return False
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    new = [each for each in index if ast.unparse(each) == "None" or ast.unparse(each).endswith("newaxis")]
    return bool(new) and all(isinstance(each, ast.Slice | ast.Constant) or each in new for each in index)
