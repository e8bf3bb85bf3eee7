"""What the comments and docstrings of a file say that its dims are equal to: `M = H * D model size`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Container, Iterator
from contextlib import suppress

from shapecheck.shapes import SpecError, parse_comment_dim
from shapecheck.shapes.equations import equations_in
from shapecheck.syntax.scopes import Tables
from shapecheck.syntax.source_text import SourceText

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def written_equations(source: SourceText, tables: Tables, dims: Container[str]) -> Iterator[tuple[str, str]]:
    """The `dims` that are said to be a sum, difference, product or quotient, and what of, as it is written."""
    docstrings = (ast.get_docstring(node, clean=False) for node in tables.nodes if isinstance(node, _DOCUMENTED))
    texts = itertools.chain((comment.text for comment in source.comments), filter(None, docstrings))
    for name, text in dict.fromkeys(itertools.chain.from_iterable(map(equations_in, texts))):
        with suppress(SpecError):
            is_step = name in re.findall(r"\w+", text)  # `n = n + 1`, which says nothing of a size
            if name in dims and not is_step and parse_comment_dim(text):
                yield name, text
