"""On which parameters of its function a claimed value depends: what is made up for the others is no matter.

In `interpolate(model, params, a, b, steps)` the value of `jnp.linspace(0, 1, steps)` owes nothing to a made-up model.
Dependence is that of data and of the conditions around, whatever the order of statements; what calls of other functions
give depends on their arguments. It ends at variables of which another claim holds: below `err = y - pred  # (n, d)` it
is no matter of what shape y was made, as that claim, or the one below, is false.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from shapecheck.model import Assumption, Claim, Module, Position
from shapecheck.syntax.functions_by_position import Function, functions_by_position

_WORD = re.compile(r"[^\W\d]\w*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_UPDATES = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"})
_BLOCKS = (ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Match, ast.Try)


def without_unused(
    assumptions: Sequence[Assumption], module: Module, claim: Claim, sources: Iterable[str], known: Iterable[Claim]
) -> Sequence[Assumption]:
    """The assumptions, apart from what was made up for parameters on which a claim and its value do not depend.

    The `sources` are what binds its names; the `known` claims hold.
    """
    scope = module.scopes[claim.scope]
    if scope.kind != "function" or not any(each.provenance == "invented" for each in assumptions):
        return assumptions
    position = scope.position
    function = (
        functions_by_position(module.lines).get((position.line, position.column)) if position is not None else None
    )
    start = _start(function, module, claim) if function is not None else None
    if function is None or start is None:
        return assumptions
    start |= {word for text in (*sources, claim.spec) for word in _WORD.findall(text)}
    ends = {each.target for each in known if each.scope == claim.scope and each is not claim and not each.select}
    needed = _closure(function, start, ends & _single_bindings(function))
    unused = {each for each in scope.parameters if each not in needed}
    return [each for each in assumptions if each.kind == "tie" or _root(each.subject) not in unused]


def _root(subject: str) -> str:
    """`model` of `model.width`, `batch` of `batch['x']`."""
    return subject.partition(".")[0].partition("[")[0]


def _start(function: Function, module: Module, claim: Claim) -> set[str] | None:
    """The names that the claimed value is made of at once; None if nobody can tell."""
    found: set[str] = set()
    for site in (module.sites[each] for each in claim.sites):
        if site.scope != claim.scope:
            return None
        if site.kind == "return":
            found |= _names(*(node for node in _inside(function) if isinstance(node, ast.Return)))
        elif site.kind == "value" and site.position is not None:
            nodes = [node for node in ast.walk(function) if _stands_at(node, site.position)]
            if not nodes:
                return None
            found |= _names(*nodes) | _conditions(function, nodes[0])
        elif site.kind == "name":
            name = site.name.partition(".")[0]
            found |= _dependencies(function)[0].get(name, {name})
        elif site.kind == "param":
            found.add(site.name)
        else:
            return None
    return found


def _closure(function: Function, start: set[str], ends: set[str]) -> frozenset[str]:
    """All names that these depend on, by any number of steps; what the `ends` depend on is no matter."""
    direct, always = _dependencies(function)
    found, todo = set[str](), [*start, *always]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += direct.get(name, ()) if name not in ends else ()
    return frozenset(found)


def _single_bindings(function: Function) -> set[str]:
    """The variables that one statement binds, and nothing changes."""
    count = Counter(bound for node in ast.walk(function) for bound, _ in _bindings(node))
    return {name for name, times in count.items() if times == 1} - _names_of_parameters(function)


@lru_cache(maxsize=32)
def _dependencies(function: Function) -> tuple[Mapping[str, set[str]], set[str]]:
    """For each variable the names that it is made of; and the names that decide which statements run at all."""
    direct: dict[str, set[str]] = {}
    always: set[str] = set()
    parameters = _names_of_parameters(function)
    for node in ast.walk(function):
        if isinstance(node, _FUNCTIONS) and node is not function:
            for name in _names_of_parameters(node):  # who calls it, and with what, is not looked into
                direct.setdefault(name, set()).update(parameters)
            if not isinstance(node, ast.Lambda):
                direct.setdefault(node.name, set()).update(_names(node))
        elif isinstance(node, ast.If | ast.While) and any(isinstance(each, _ENDS) for each in ast.walk(node)):
            always |= _names(node.test)
        for bound, made_of in _bindings(node):
            direct.setdefault(bound, set()).update(_names(made_of))
    for node in ast.walk(function):
        if isinstance(node, _BLOCKS):  # what is bound inside depends on what it is inside of
            tests = _names(*_heads(node))
            for inner in ast.walk(node):
                for bound, _ in _bindings(inner):
                    direct.setdefault(bound, set()).update(tests)
    return direct, always


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The variables that a node binds or changes, each with what it is made of."""
    if isinstance(node, ast.Assign):
        yield from ((name, node) for target in node.targets for name in _names(target))  # of `x[i] = y` on i as well
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from ((name, node.value) for name in _names(node.target))
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from ((name, node.iter) for name in _names(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((name, node.context_expr) for name in _names(node.optional_vars))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # `found.append(x)`, `fill(table, x)`
        call = node.value
        holders = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        changed = {name for each in (*holders, *call.args) for name in _roots(each)}
        yield from ((name, call) for name in changed)
    elif isinstance(node, ast.match_case):
        yield from ((name, node) for name in _capture_names(node.pattern))


def _roots(node: ast.AST) -> Iterator[str]:
    """The variable that an attribute or an item is one of."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _capture_names(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def _conditions(function: Function, node: ast.AST) -> set[str]:
    """The names in the heads of the blocks that a node stands in."""
    around = [each for each in ast.walk(function) if isinstance(each, _BLOCKS) and node in ast.walk(each)]
    return _names(*(head for each in around for head in _heads(each)))


def _heads(block: ast.AST) -> Iterator[ast.AST]:
    for name in ("test", "iter", "subject"):
        if isinstance(head := getattr(block, name, None), ast.AST):
            yield head
    yield from (item.context_expr for item in getattr(block, "items", ()))


def _names(*nodes: ast.AST) -> set[str]:
    """The variables in some code, without those of what is written into an array: `x.at[i].set(y)` is as x is."""
    found, todo = set[str](), [*nodes]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        array = _array_of_update(node)
        todo += [array] if array is not None else ast.iter_child_nodes(node)
    return found


def _array_of_update(node: ast.AST) -> ast.expr | None:
    """The array of which a call gives a changed copy."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _UPDATES:
        return None
    items = node.func.value
    at = items.value if isinstance(items, ast.Subscript) else None
    return at.value if isinstance(at, ast.Attribute) and at.attr == "at" else None


def _names_of_parameters(function: ast.AST) -> set[str]:
    if not isinstance(function, _FUNCTIONS):
        return set()
    return {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}


def _inside(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)


def _stands_at(node: ast.AST, position: Position) -> bool:
    return isinstance(node, ast.expr) and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == (
        position.line,
        position.column,
        position.end_line,
        position.end_column,
    )
