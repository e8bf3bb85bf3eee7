"""What a comment hangs on, in terms of the nodes of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from shapecheck.syntax.comment_tokens import Comment


@dataclass(frozen=True)
class Behind:
    """The comment stands behind the whole of a simple statement, or behind the colon of a compound one."""

    statement: ast.stmt


@dataclass(frozen=True)
class Between:
    """The comment has its line for itself between two statements of a block, or at an end of it.

    It heads `paragraph`: the statement below it and those that follow it in the block, to a blank line, the next
    comment or the end of the block; none for a comment at the end of a block. `blank_above` and `blank_below` say
    whether a blank line parts it, with the comments directly above and below it, from `above` and from the paragraph.
    `aligned` says that it is indented as the statements of the block are.
    """

    above: ast.stmt | None
    paragraph: tuple[ast.stmt, ...]
    blank_above: bool
    blank_below: bool
    aligned: bool


@dataclass(frozen=True, kw_only=True)
class Inside:
    """The comment stands inside a simple statement, or inside the header of a compound one.

    `enclosing` are the expressions around it, the outermost first; `before` those that end directly in front of it,
    but for brackets, commas and operators, the largest last; `after` those that begin directly behind it, the largest
    first. Directly behind an opening bracket, `opened` is what that bracket belongs to. In the header of a function
    `parameter` is the name of the one that it stands beside or above, "" if there is none.
    """

    statement: ast.stmt
    enclosing: tuple[ast.expr, ...] = ()
    before: tuple[ast.expr, ...] = ()
    after: tuple[ast.expr, ...] = ()
    opened: ast.expr | None = None
    parameter: str = ""


CommentOwner = Behind | Between | Inside


@dataclass(frozen=True)
class OwnedComments:
    """What comments hang on, and why nobody knows it of others; those that hang on no statement are left out."""

    owners: Mapping[Comment, CommentOwner]
    unread: Mapping[Comment, str]


class UnreadableError(Exception):
    """libcst cannot read a file that Python can; the text says why."""


class PairingError(UnreadableError):
    """The trees of libcst and of `ast` do not correspond."""

    def __init__(self, difference: str) -> None:
        super().__init__(f"libcst reads it in another way than Python: {difference}")
