"""The names that a file itself shows to be those of axes, so that texts which use nothing else are read as well.

`(tags, tags)` alone may list anything. Where another text of the file says "of shape (batch, time, tags)", or
`(time, batch, tags)`, whose other names are usual ones, it is a shape; or where two comments say `(time, tags)` behind
code, in which a shape is all that such a comment tells. `B x D` alone may be a product, but hardly where a file has
several such comments. `[n_atoms]` behind a description may be a unit, unless several of them end in lists with it. And
where a docstring has `theta: (points,)`, which is a shape for its comma, so is `phi: (rows, points)`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from shapecheck.claims.axis_words import looks_like_dim, strength
from shapecheck.claims.comment_lines import CommentLine
from shapecheck.claims.comment_text import Segment, lists_letters, read_comment
from shapecheck.shapes import NamedDim
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.scopes import Tables

_MOST = 2 / 3  # of the names of an unmarked shape that look like those of axes, for the others to be some too
_LEAST = 1 / 2  # the same behind code
_SEVERAL = 3  # comments
_CAPITAL = re.compile(r"\b[A-Z]\b")
_LIST = r"\w+(?:[ ]+[x×][ ]+(?:\w+|\(\w+(?:\s*[-+*/]\s*\w+)+\)))+"
_PRODUCT = re.compile(rf"(?:both |each )?{_LIST}")
_LINE_ENDS_SO = re.compile(rf"(?:^|[:,(]|\bis)\s*({_LIST})[.,)]?\s*$", re.MULTILINE)
_LINE_ENDS_IN_LIST = re.compile(r"\w[^\n\[\]]*\[(\w+(?:,\s*\w+)*)\]`*\.?[ \t]*$", re.MULTILINE)
# "theta: (points,) grid", "- phi (array): (rows, points)"
_ENTRY_BEGINS_SO = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?\w+[ \t]*(?:\([^()\n]*\)[ \t]*)?:[ \t]*`*\((\w+,|\w+(?:, ?\w+)+)\)", re.MULTILINE
)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def taught_dims(
    lines: Sequence[CommentLine], comments: Sequence[Comment], tables: Tables, known: Container[str]
) -> set[str]:
    """The names of axes in shapes that are read as such without knowing these names, beside those that are known.

    Not letters, but capital ones in `B x D`: they may always be axes, and in `(m, m+1)` are no more so for being some
    elsewhere.
    """
    segments = [*_of_comments(lines, known), *_of_docstrings(tables, known)]
    dims = (dim for segment in segments for shape in segment.shapes for dim in shape.spec.dims)
    names = {dim.name for dim in dims if isinstance(dim, NamedDim)} | _behind_code(lines, known) | _in_entries(tables)
    taught = {name for name in names if name not in known and len(name.rstrip("0123456789'")) > 1}
    return taught | _multiplied_letters(comments, tables) | _at_line_ends(tables)


def _multiplied_letters(comments: Sequence[Comment], tables: Tables) -> set[str]:
    """The capital letters with signs of multiplication, or blanks, between them, where that is all of several texts.

    Those are comments behind code, and what lines of docstrings end with.
    """
    texts = [comment.text.strip("# ") for comment in comments if not comment.own_line]
    products = [text for text in texts if _PRODUCT.fullmatch(text) or lists_letters(text)]
    products += [found.group(1) for text in _docstrings(tables) for found in _LINE_ENDS_SO.finditer(text)]
    found = Counter(name for text in products for name in set(_CAPITAL.findall(text)))
    return {name for name, times in found.items() if times > 1 and len(products) >= _SEVERAL}


def _at_line_ends(tables: Tables) -> set[str]:
    """The names with an underscore that stand in several lists which end lines of docstrings: `[max_atoms, 3]`.

    Not in such of one name alone, which may be units.
    """
    lists = [found.group(1) for text in _docstrings(tables) for found in _LINE_ENDS_IN_LIST.finditer(text)]
    beside = {name for text in lists if "," in text for name in re.findall(r"[^\W\d]\w*", text)}
    found = Counter(name for text in lists for name in set(re.findall(r"[^\W\d]\w*", text)))
    return {name for name in beside if found[name] > 1 and "_" in name and looks_like_dim(name)}


def _in_entries(tables: Tables) -> set[str]:
    """The names of one-axis tuples that begin entries of docstrings, and those beside these names in others."""
    found: set[str] = set()
    for text in _docstrings(tables):
        lists = [re.findall(r"[^\W\d]\w*", each.group(1)) for each in _ENTRY_BEGINS_SO.finditer(text)]
        alone = {names[0] for names in lists if len(names) == 1}
        found |= {name for names in lists if not alone.isdisjoint(names) for name in names}
    return found


def _docstrings(tables: Tables) -> Iterator[str]:
    for node in tables.nodes:
        text = ast.get_docstring(node, clean=False) if isinstance(node, _DOCUMENTED) else None
        if text is not None:
            yield text


def _of_comments(lines: Sequence[CommentLine], known: Container[str]) -> Iterator[Segment]:
    for line in lines:
        for each in line.stated:
            names = each.segment.names
            if each.segment.marked or (not each.segment.prose and strength(names, known) >= _MOST):
                yield each.segment


def _behind_code(lines: Sequence[CommentLine], known: Container[str]) -> set[str]:
    """The names that stand beside a usual one in two comments behind code, which say nothing else."""
    plain = (
        each.segment.names
        for line in lines
        if not line.comment.own_line
        for each in line.stated
        if not each.segment.prose and not each.segment.labels and not each.segment.tail.strip()
    )
    found = Counter(name for names in plain if strength(names, known) >= _LEAST for name in set(names))
    return {name for name, times in found.items() if times > 1}


def _of_docstrings(tables: Tables, known: Container[str]) -> Iterator[Segment]:
    for text in _docstrings(tables):
        if "shape" in text.lower():
            yield from (segment for segment in read_comment(text, known, described=True) if segment.marked)
