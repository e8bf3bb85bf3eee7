"""NaN and infinity that the source itself names: what a mask holds, or the mark of what is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

INFINITY: Final = "infinity"
NAN: Final = "NaN"
_WORDS: Final = {
    **dict.fromkeys(("inf", "infty", "infinity", "ninf", "pinf", "neginf", "posinf"), INFINITY),
    "nan": NAN,
}
_SIGNS: Final = frozenset(["neg", "pos", "minus", "plus", "negative", "positive"])


def intended_nonfinite(node: ast.AST | None) -> frozenset[str]:
    """Which of `NAN` and `INFINITY` the value of an expression holds on purpose, since its source names them.

    `jnp.inf`, `float("-inf")` and `self.neg_inf` do. What is only compared does not, nor does the name of a function
    that is called: `jnp.nan_to_num(x)`.
    """
    return frozenset(_named_nonfinite(node)) if node is not None else frozenset()


def _named_nonfinite(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        return
    if isinstance(node, ast.Name):
        yield from _words(node.id)
    elif isinstance(node, ast.Attribute):
        yield from _words(node.attr)
        yield from _named_nonfinite(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from _named_nonfinite(node.func.value)
        for argument in (*node.args, *node.keywords):
            yield from _named_nonfinite(argument)
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            yield from _read_float_text(node.args)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _named_nonfinite(child)


def _words(name: str) -> Iterator[str]:
    """Of a name that says nothing else: what `nan_mask` leads to, is to hold no NaN."""
    words = [word for word in name.lower().split("_") if word and word not in _SIGNS]
    if len(words) == 1 and words[0] in _WORDS:
        yield _WORDS[words[0]]


def _read_float_text(arguments: list[ast.expr]) -> Iterator[str]:
    """Of `float("-inf")`."""
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield from _words(argument.value.strip().lstrip("+-"))
