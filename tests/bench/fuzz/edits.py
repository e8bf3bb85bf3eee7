"""Random edits of sources: what people leave half-typed, and what nobody would write."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable

from fuzz.hostile import DECORATORS, OBJECTS, STATEMENTS

_IMPORTS = (
    "import abc, asyncio, atexit, contextlib, dataclasses, enum, functools, operator, threading, typing\n"
    "import unittest.mock, weakref, pytest, jax, equinox as eqx\n"
)
_COMMENTS = (
    "# (b, d)",
    "# shape: (b, s, d)",
    "# [B, T, C]",
    "# (n, 2*m)",
    "# x: (b,)",
    "# (b, d), (d,)",
    "# f32[b, s]",
)
_TOKENS = re.compile(r"\b\w+\b|[-+*/@%<>=]+|[()\[\]{}]")
_KINDS = re.compile(r"^class Odd", re.MULTILINE)


def edited(source: str, chance: random.Random) -> str:
    """A source after one to six edits; most still can be parsed."""
    for _ in range(chance.randint(1, 6)):
        for _ in range(4):
            found = chance.choice(_EDITS)(source, chance)
            if _is_python(found):
                source = found
                break
            if chance.random() < 0.02:
                return found
    return source


def hostile(source: str, chance: random.Random) -> str:
    """A source with a hostile statement or object in its module's body, or in a function."""
    definitions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    lines = source.splitlines()
    if chance.random() < 0.25:
        begins = [match.start() for match in _KINDS.finditer(OBJECTS)]
        begin = chance.choice(begins)
        end = next((each for each in begins if each > begin), len(OBJECTS))
        return f"{source}\n{OBJECTS[begin:end]}\nodd = Odd{chance.choice(['()', '', '(3)'])}\n"
    statement = chance.choice(STATEMENTS)
    if definitions and chance.random() < 0.6:
        first = chance.choice(definitions).body[0]
        lines.insert(first.lineno - 1, " " * first.col_offset + statement)
        return "\n".join(lines) + "\n"
    tree = ast.parse(source)
    places = [node.lineno - 1 for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    place = chance.choice([*places[1:], len(lines)])
    return "\n".join([*lines[:place], statement, *lines[place:]]) + "\n"


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _drop_line(source: str, chance: random.Random) -> str:
    lines = source.splitlines()
    del lines[chance.randrange(len(lines))]
    return "\n".join(lines) + "\n"


def _double_line(source: str, chance: random.Random) -> str:
    lines = source.splitlines()
    line = chance.choice(lines)
    lines.insert(chance.randrange(len(lines)), line)
    return "\n".join(lines) + "\n"


def _swap_tokens(source: str, chance: random.Random) -> str:
    first, second = sorted(chance.choices(list(_TOKENS.finditer(source)), k=2), key=lambda each: each.start())
    if first.end() > second.start():
        return source
    between = source[first.end() : second.start()]
    return source[: first.start()] + second.group() + between + first.group() + source[second.end() :]


def _replace_token(source: str, chance: random.Random) -> str:
    place = chance.choice(list(_TOKENS.finditer(source)))
    other = chance.choice([chance.choice(list(_TOKENS.finditer(source))).group(), "0", "None", "-1", "*", "self", "x"])
    return source[: place.start()] + other + source[place.end() :]


def _decorate(source: str, chance: random.Random) -> str:
    tree = ast.parse(source)
    kinds = ast.FunctionDef | ast.ClassDef
    definitions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    if not definitions:
        return source
    node = chance.choice(definitions)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    lines = source.splitlines()
    lines.insert(first - 1, " " * node.col_offset + "@" + chance.choice(DECORATORS))
    return "\n".join(lines) + "\n"


def _comment(source: str, chance: random.Random) -> str:
    lines = source.splitlines()
    number = chance.randrange(len(lines))
    lines[number] += "  " + chance.choice(_COMMENTS)
    return "\n".join(lines) + "\n"


_EDITS: tuple[Callable[[str, random.Random], str], ...] = (
    _drop_line,
    _double_line,
    _swap_tokens,
    _replace_token,
    _decorate,
    _decorate,
    _comment,
    _comment,
)


def prepared(source: str) -> str:
    """A source whose decorators of ours have what they name; behind its docstring and `__future__` imports."""
    tree = ast.parse(source)
    place = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place = node.end_lineno or 0
    lines = source.splitlines(keepends=True)
    return "".join(lines[:place]) + _IMPORTS + "".join(lines[place:])
