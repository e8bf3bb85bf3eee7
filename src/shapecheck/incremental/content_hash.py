"""Hashes that tell whether a file is still the same, or a statement as far as running it goes."""

from __future__ import annotations

import ast
import hashlib
import os
from pathlib import Path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DROPPED = {"ctx", "kind", "type_comment"}  # follow from the place, or mean nothing to Python


def content(data: bytes) -> str:
    """Hash the contents of a file."""
    return hashlib.sha256(data).hexdigest()


def file_content(file: str) -> str:
    """The hash of what is in a file; "" if it cannot be read."""
    try:
        return content(Path(file).read_bytes())
    except OSError:
        return ""


def modified_ns(file: str) -> int:
    """When a file was written; 0 if there is none."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


def may_yield(source: bytes) -> bool:
    """Whether there can be generators: looking for `yield` in the tree costs more than all else.

    Only an unusual encoding could hide the word.
    """
    return b"yield" in source or b"coding" in source


def outline(tree: ast.AST, generators: bool) -> str:
    """Hash what a statement does when it runs, provided that nothing calls the functions in it.

    That is its syntax without the bodies of functions, though with whether they are generators, as far as `may_yield`
    allows for `generators`. Comments and layout do not count.
    """
    return content("\n".join(_tokens(tree, generators)).encode("utf-8", "surrogatepass"))


def _tokens(tree: ast.AST, generators: bool) -> list[str]:
    """The tree in prefix notation, which is unambiguous since each kind of node has a fixed number of fields.

    With a stack of its own, because the nesting that Python's parser accepts is deeper than that of its calls.
    """
    tokens: list[str] = []
    pending: list[object] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            tokens.append(type(item).__name__)
            fields = [name for name in item._fields if name not in DROPPED]
            if isinstance(item, _FUNCTIONS):
                fields.remove("body")
                tokens.append(str(generators and yields(item)))
            pending.extend([getattr(item, name) for name in reversed(fields)])
        elif isinstance(item, list):
            tokens.append(f"[{len(item)}")
            pending.extend(reversed(item))
        elif type(item) is int:
            tokens.append(hex(item))  # Python refuses to write very long numbers with decimals
        else:
            tokens.append(repr(item))
    return tokens


def yields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether there is a `yield` that belongs to this function, not to one inside of it."""
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(node, _FUNCTIONS):  # what stands around its body is evaluated outside of it
            pending += [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        elif isinstance(node, ast.Lambda):
            pending.append(node.args)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return False
