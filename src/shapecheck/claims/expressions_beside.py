"""Which expressions of a statement a comment inside it may be about, the most likely first.

They follow from what hangs around the comment alone: what ends in front of it, what begins behind it, and the brackets
that it stands in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from shapecheck.syntax.owners import Inside


def readings_below(owner: Inside) -> Iterator[ast.expr]:
    """Below a comment on a line of its own: what begins there, and what that line adds to a chain or a sum."""
    around = owner.enclosing[-1] if owner.enclosing else None
    if owner.after:
        first = owner.after[0]
        yield first
        parts = [operand for outer, operand in pairwise(owner.after) if _goes_on_below(outer, operand)]
        yield from parts[-1:]
        if isinstance(around, ast.BinOp) and around.right is first:
            yield around
    elif isinstance(around, ast.Attribute):
        yield _link(owner.enclosing)
    elif around is not None:
        yield around


def _goes_on_below(outer: ast.expr, operand: ast.expr) -> bool:
    """Whether a chain or a sum goes on behind its first operand on a further line."""
    if isinstance(outer, ast.BinOp):
        return (operand.end_lineno or 0) < outer.right.lineno
    return isinstance(outer, ast.Attribute) and operand.end_lineno != outer.end_lineno


def _link(enclosing: Sequence[ast.expr]) -> ast.expr:
    """Of the attribute around a comment the link of the chain: `.sum(0)` on a line of its own."""
    *outer, link = enclosing
    while outer:
        parent = outer.pop()
        called = isinstance(parent, ast.Call) and parent.func is link
        taken = isinstance(parent, ast.Subscript) and parent.value is link
        further = isinstance(parent, ast.Attribute) and parent.end_lineno == link.end_lineno
        if not (called or taken or further):
            break
        link = parent
    return link


def opened_expression(owner: Inside, opened: ast.expr, line: int) -> ast.expr:
    """Of `jnp.array([` at the end of a line the whole call, not the list."""
    if opened not in owner.enclosing:
        return opened  # brackets around it alone
    for each in reversed(owner.enclosing):
        if each.lineno == line:
            opened = each
    return opened


def readings_behind(owner: Inside, line: int) -> Iterator[ast.expr]:
    """Of `- b  # (k,)` in a long sum: the operand, or what the sum has come to on that line, or the whole sum.

    Behind a list that a call takes, what the call gives: `jnp.hstack([` above, and `]  # (n, d)` below. Or its last
    item, if that begins the line: `y],  # (m, d)` below `[x,  # (n, d)`.
    """
    if not owner.before:
        yield from owner.after[:1]  # behind `key=`
        return
    ended = whole = owner.before[-1]
    around = owner.enclosing[-1] if owner.enclosing else None
    if isinstance(ended, ast.List | ast.Tuple) and isinstance(around, ast.Call) and ended in around.args:
        yield around
        if ended.elts and ended.lineno < ended.elts[-1].lineno == line:
            yield ended.elts[-1]
    operands = [operand for operand in _last_operands(ended) if operand.end_lineno == line]
    yield from sorted(operands, key=lambda operand: operand.lineno != line)
    yield ended
    for each in reversed(owner.enclosing):
        if not (isinstance(each, ast.BinOp) and each.left is whole):
            break
        whole = each
    if whole is not ended:
        yield whole


def _last_operands(node: ast.expr) -> Iterator[ast.expr]:
    """What stands last in an operation and begins a line there, from the largest on: b * c and c in a - b * c."""
    while isinstance(node, ast.BinOp | ast.IfExp):
        before, last = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.test, node.orelse)
        if (before.end_lineno or 0) < last.lineno:
            yield last
        node = last
