"""Tables of settings that are written out: `{"num_head": 8}`, `ConfigDict(dict(rate=0.1))`, `config.model.dim = 64`.

So are the arguments of a command: `parser.add_argument("--dim", type=int, default=16)`. A table inside of another is
one of its values. Of a value that is no literal only its name is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from shapecheck.evaluate.inputs.facts.parameter_facts import called_name, literal_text

UNKNOWN: Final = object()
"""A value that is not written out."""

_MAKING = re.compile(r"(?:[dD]ict|Namespace|Config|Settings)$")  # what is called to make one
_OF_ACTIONS: Final[Mapping[str, object]] = {"store_true": False, "store_false": True}
_LEAST = 2  # names of a table: one alone says nothing


def written_tables(tree: ast.AST) -> Iterator[Mapping[str, object]]:
    """All tables in a file, also those inside of others."""
    for node in ast.walk(tree):
        table = _table(node) if isinstance(node, (ast.Dict, ast.Call)) else None
        if table is not None and len(table) >= _LEAST:
            yield table
        if isinstance(node, (ast.FunctionDef, ast.Module)):
            for each in _assigned_tables(node.body):
                yield from _with_inner(each)
            arguments = _command_arguments(node.body)
            if len(arguments) >= _LEAST:
                yield arguments


def _with_inner(table: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    if len(table) >= _LEAST:
        yield table
    for value in table.values():
        if isinstance(value, dict):
            yield from _with_inner(value)


def _assigned_tables(body: list[ast.stmt]) -> Iterator[dict[str, object]]:
    """What is assigned to the attributes of each variable in some statements: `config.model.dim = 64`."""
    found: dict[str, dict[str, object]] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
            continue
        names: list[str] = []
        target: ast.expr = statement.targets[0]
        while isinstance(target, ast.Attribute):
            names.insert(0, target.attr)
            target = target.value
        if not isinstance(target, ast.Name) or target.id == "self":
            continue
        table = found.setdefault(target.id, {})
        for name in names[:-1]:
            inner = table.setdefault(name, {})
            table = inner if isinstance(inner, dict) else {}
        value = _value(statement.value)
        if not (value == {} and isinstance(table.get(names[-1]), dict)):
            table[names[-1]] = value
    yield from found.values()


def _command_arguments(body: list[ast.stmt]) -> dict[str, object]:
    """The arguments of a command that these statements declare, with their defaults."""
    found: dict[str, object] = {}
    for statement in body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or called_name(call.func)[0] != "add_argument" or not call.args:
            continue
        given = {each.arg: each.value for each in call.keywords if each.arg is not None}
        flags = [text for each in call.args if (text := literal_text(each))]
        long = [each for each in flags if each.startswith("--")] or flags
        if name := literal_text(given.get("dest")) or next(iter(long), ""):
            action = literal_text(given.get("action"))
            default = _value(given["default"]) if "default" in given else _OF_ACTIONS.get(action, UNKNOWN)
            found[name.lstrip("-").replace("-", "_")] = default
    return found


def _table(node: ast.expr) -> dict[str, object] | None:
    """The table that an expression is, written out; None if it is none."""
    if isinstance(node, ast.Dict) and all(isinstance(each, ast.Constant) for each in node.keys):
        keys = [each.value for each in node.keys if isinstance(each, ast.Constant)]
        if all(isinstance(key, str) for key in keys):
            return {str(key): _value(each) for key, each in zip(keys, node.values, strict=True)}
    is_made = isinstance(node, ast.Call) and _MAKING.search(called_name(node.func)[0]) is not None
    if is_made and isinstance(node, ast.Call) and not node.args and all(each.arg for each in node.keywords):
        return {str(each.arg): _value(each.value) for each in node.keywords}
    return None


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node) if not isinstance(node, ast.Dict) else _table(node)
    except (ValueError, TypeError, SyntaxError):
        pass
    if isinstance(node, ast.Call):
        inner = node.args[0] if len(node.args) == 1 and not node.keywords else node
        table = _table(inner)
        return table if table is not None else UNKNOWN
    return UNKNOWN
