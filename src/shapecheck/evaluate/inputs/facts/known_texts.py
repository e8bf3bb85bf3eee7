"""The texts that a parameter takes, as its function knows them: those that it compares it with, looks up, or lists.

`if mode == "first"`, `match mode: case "first"`, `TABLE[mode]`, and of a docstring "mode: one of 'first', 'last'".
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shapecheck.evaluate.inputs.facts.body_shapes import compared_texts
from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.parameter_facts import literal_text
from shapecheck.evaluate.inputs.facts.source_reads import note_read

_ENTRY = re.compile(r"^[ \t]*(?:[-*][ \t]*)?[`*:]*(?:param )?{name}[`*]*[ \t]*(?=[:(,-]|$)", re.MULTILINE)
_NEXT = r"^[ \t]*(?:[-*][ \t]*)?[`*:]*(?:param )?\w+[`*]*[ \t]*(?:\([^)\n]*\))?[ \t]*:|^[ \t]*$"
_LISTS = re.compile(r"one of|either|must be|choices|options|allowed|supported|can be|\{\s*['\"]", re.IGNORECASE)
_QUOTED = re.compile(r"""["'`]([\w.-]+)["'`]""")
_WORDS_FOR_NONE = frozenset({"None", "True", "False"})
# Functions that are given texts to write or to reach something by: nobody knows what these texts would hit.
_REACHING = frozenset({"open", "mkdir", "makedirs", "savefig", "save", "savez", "savetxt", "write", "dump", "download"})
_REACHING_TOO = frozenset({"write_text", "write_bytes", "to_csv", "rmtree", "unlink", "system", "Popen", "urlopen"})


def known_texts(function: Callable[..., object], parameter: str) -> tuple[str, ...]:
    """The texts that the code, or else the docstring, of a function knows for a parameter, the first one first."""
    found = compared_texts(function, parameter) or tuple(_texts_of_tables(function, parameter))
    return found or tuple(_texts_of_docstring(function, parameter))


def reaches_out(function: Callable[..., object]) -> bool:
    """Whether the code of a function may write files, or reach others, by names that it is given."""
    note_read(_body(function))
    code = getattr(_body(function), "__code__", None)
    return code is not None and not (_REACHING | _REACHING_TOO).isdisjoint(code.co_names)


def _body(function: Callable[..., object]) -> Any:
    """What runs: of a class its constructor."""
    return inspect.getattr_static(function, "__init__") if isinstance(function, type) else inspect.unwrap(function)


def _texts_of_tables(function: Callable[..., object], parameter: str) -> Iterator[str]:
    """The cases of a `match` of the parameter, and the keys of tables that it is looked up in."""
    own = _body(function)
    source = defining_source(own)
    if source is None:
        return
    module = getattr(own, "__globals__", {})
    found: dict[str, None] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Match) and _is_named(node.subject, parameter):
            cases = (each for case in node.cases for each in ast.walk(case.pattern) if isinstance(each, ast.MatchValue))
            found.update((text, None) for each in cases if (text := literal_text(each.value)))
        elif isinstance(node, ast.Subscript) and _is_named(node.slice, parameter):
            found.update(dict.fromkeys(_keys(node.value, module)))
    yield from found


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _keys(table: ast.expr, module: Mapping[str, object]) -> Iterator[str]:
    if isinstance(table, ast.Dict):
        yield from filter(None, map(literal_text, table.keys))
    elif isinstance(table, ast.Name) and isinstance(value := module.get(table.id), dict):
        yield from (key for key in value if isinstance(key, str))


def _texts_of_docstring(function: Callable[..., object], parameter: str) -> Iterator[str]:
    """The texts that a docstring lists for the parameter: of a class, its own or that of its constructor."""
    holders = [_body(function), *([function] if isinstance(function, type) else [])]
    for text in (inspect.getdoc(holder) or "" for holder in holders):
        begin = re.search(_ENTRY.pattern.replace("{name}", re.escape(parameter)), text, re.MULTILINE)
        if begin is None:
            continue
        rest = text[begin.end() :]
        end = re.search(_NEXT, rest[1:], re.MULTILINE)
        entry = rest[: end.start() + 1] if end is not None else rest
        if _LISTS.search(entry):
            quoted = (word for word in _QUOTED.findall(entry) if word not in _WORDS_FOR_NONE)
            yield from dict.fromkeys(word for word in quoted if word != parameter)
            return
