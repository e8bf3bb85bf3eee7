"""What libcst's transformers make of a file: every byte that they leave alone is kept."""

from __future__ import annotations

import libcst as cst

from shapecheck.syntax.concrete_file import ConcreteFile, deep_recursion

COMPOUND = (
    cst.BaseSuite,
    cst.BaseCompoundStatement,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
    cst.Module,
)
"""The nodes in which statements stand: a transformer that changes statements need not look into others."""


class RewriteError(Exception):
    """A file that has to be left alone; the text says why."""


def transform(file: ConcreteFile, transformer: cst.CSTTransformer) -> bytes:
    """The bytes that a transformer makes of a file. Raises UnreadableError."""
    module = file.module
    with deep_recursion():
        module = module.visit(transformer)
        if not isinstance(module, cst.Module):
            raise TypeError("a transformer gives no module for a module")
        return module.bytes


def require_lossless(file: ConcreteFile) -> None:
    """Raise RewriteError where libcst loses bytes: form feeds before code, for one, which stand in no node."""
    module = file.module
    with deep_recursion():
        kept = module.bytes
    if kept != file.data:
        pairs = zip(kept.splitlines(), file.data.splitlines(), strict=False)
        line = next((number for number, (new, old) in enumerate(pairs, 1) if new != old), 1)
        why = "a form feed before code, say, or a last comment that ends with a backslash"
        raise RewriteError(f"line {line}: libcst would not give it back as it is ({why})")
