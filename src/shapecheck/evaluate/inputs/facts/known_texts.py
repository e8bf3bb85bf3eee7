"""The texts that a parameter takes, as its function's code knows them: those that it compares it with or looks up.

`if mode == "first"`, `match mode: case "first"`, `TABLE[mode]`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shapecheck.evaluate.inputs.facts.body_shapes import compared_texts
from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import literal_text
from shapecheck.evaluate.inputs.facts.source_reads import note_read
from shapecheck.evaluate.probes.attribute_access import underlying_function, unwrap
from shapecheck.model.parameter_parts import Part

# Functions that are given texts to write or to reach something by: nobody knows what these texts would hit.
_REACHING = frozenset({"open", "mkdir", "makedirs", "savefig", "save", "savez", "savetxt", "write", "dump", "download"})
_DEPTH = 5  # functions that hand it on to each other: constructors do to those of their base classes
_REACHING_TOO = frozenset({"write_text", "write_bytes", "to_csv", "rmtree", "unlink", "system", "Popen", "urlopen"})


def known_texts(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> tuple[str, ...]:
    """The texts that the code of a function, or of one that it hands the parameter on to, knows for it, in order."""
    own = compared_texts(function, parameter) or tuple(_texts_of_tables(function, parameter))
    own = own or tuple(_texts_of_attribute(function, parameter))
    source = function_parts(_body(function)) if not own and depth else None
    receivers = source.receivers(Part(parameter)) if source is not None else ()
    handed = (known_texts(inner, name, depth - 1) for inner, name in receivers)
    return own or next(filter(None, handed), ())


def reaches_out(function: Callable[..., object]) -> bool:
    """Whether the code of a function may write files, or reach others, by names that it is given."""
    note_read(_body(function))
    code = getattr(_body(function), "__code__", None)
    return code is not None and not (_REACHING | _REACHING_TOO).isdisjoint(code.co_names)


def only_keeps(function: Callable[..., object]) -> bool:
    """Whether it is a record that does nothing with what it is given but to keep it: no code of its own runs."""
    if not isinstance(function, type) or hasattr(function, "__post_init__"):
        return False
    if issubclass(function, tuple) and hasattr(function, "_fields"):
        return True
    code = getattr(inspect.getattr_static(function, "__init__"), "__code__", None)
    return dataclasses.is_dataclass(function) and code is not None and code.co_filename == "<string>"


def _body(function: Callable[..., object]) -> Any:
    """What runs: of a class its constructor."""
    return inspect.getattr_static(function, "__init__") if isinstance(function, type) else unwrap(function)


def _texts_of_tables(function: Callable[..., object], parameter: str) -> Iterator[str]:
    """The cases of a `match` of the parameter, and the keys of tables that it is looked up in."""
    own = _body(function)
    source = function_parts(own)
    module = getattr(underlying_function(own), "__globals__", {})
    found: dict[str, None] = {}
    for name in source.names.get(parameter, ()) if source is not None else ():
        node = source.around.get(name) if source is not None else None
        if isinstance(node, ast.Match) and node.subject is name:
            cases = (each for case in node.cases for each in ast.walk(case.pattern) if isinstance(each, ast.MatchValue))
            found.update((text, None) for each in cases if (text := literal_text(each.value)))
        elif isinstance(node, ast.Subscript) and node.slice is name:
            found.update(dict.fromkeys(_keys(node.value, module)))
    yield from found


def _texts_of_attribute(function: Callable[..., object], parameter: str) -> Iterator[str]:
    """The texts that a constructor compares the attribute with in which it keeps a parameter: `self.kind == "mean"`."""
    source = function_parts(_body(function)) if isinstance(function, type) else None
    nodes = list(ast.walk(source.tree)) if source is not None else []
    kept = {
        target.attr
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == parameter
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr in kept:
            others = (
                part
                for each in node.comparators
                for part in (each.elts if isinstance(each, ast.Tuple | ast.List | ast.Set) else [each])
            )
            found.update((text, None) for text in map(literal_text, others) if text)
    yield from found


def _keys(table: ast.expr, module: Mapping[str, object]) -> Iterator[str]:
    if isinstance(table, ast.Dict):
        yield from filter(None, map(literal_text, table.keys))
    elif isinstance(table, ast.Name) and isinstance(value := module.get(table.id), dict):
        yield from (key for key in value if isinstance(key, str))
