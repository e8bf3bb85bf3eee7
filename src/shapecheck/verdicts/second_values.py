"""Where a function takes up other data under the names of the first: comments from there on may speak of those.

`batch = sample(7)`, comments with B, and then `batch = sample(5)` with the same comments again: nothing says that B is
the same for both. Only what was computed of the first values is held to what their comments say.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from shapecheck.model import Claim
from shapecheck.shapes import Size
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.unify import ballot, natural_site

_Flow = tuple[
    int, frozenset[str], frozenset[str]
]  # the line, the names that a statement binds, and those that it reads


def begins_anew(reader: CallReader, claims: Mapping[int, Claim], name: str, claim: Claim) -> bool:
    """Whether a claim speaks of second values, of which comments mean another size by a name that only they know."""
    sizes: list[tuple[Claim, Size]] = []
    for each in sorted(claims.values(), key=lambda each: each.span.line):
        seen = reader.seen[natural_site(reader, each)]
        found = {size for one in seen for other, size in ballot(reader, each, one, 0) if other == name}
        sizes += [(each, size) for size in found]
    before = [each for each, _ in itertools.takewhile(lambda pair: pair[1] == sizes[0][1], sizes)]
    after = [each for each, _ in sizes[len(before) :]]
    if claim not in after or len({size for _, size in sizes}) != 2:  # the first size, and one other from there on
        return False
    return _take_other_values(reader, before, after)


def _take_other_values(reader: CallReader, before: Sequence[Claim], after: Sequence[Claim]) -> bool:
    """Whether what some claims speak of follows from a variable, and what the others do from its second value alone."""
    flows = list(_flows(reader))
    first, last = before[-1].span.line, after[0].span.line
    for line, bound, read in flows:
        if not first < line <= last:
            continue
        for name in bound:
            earlier = _follow(name, [flow for flow in flows if flow[0] < line])
            later = _follow(name, [flow for flow in flows if flow[0] > line])
            if not read & earlier and _speak_of(before, earlier) and _speak_of(after, later):
                return True
    return False


def _speak_of(claims: Sequence[Claim], names: frozenset[str]) -> bool:
    return all(re.split(r"\W", claim.target, maxsplit=1)[0] in names for claim in claims)


def _follow(name: str, flows: Sequence[_Flow]) -> frozenset[str]:
    """A variable, and those that are computed of it."""
    found = {name}
    for _, bound, read in flows:
        if read & found:
            found |= bound
    return frozenset(found)


def _flows(reader: CallReader) -> Iterator[_Flow]:
    """What the statements of the call's function bind and read, in the order of the text."""
    position = reader.module.scopes[reader.call.scope].position
    try:
        tree = ast.parse("\n".join(reader.module.lines))
    except SyntaxError:  # the cell of a notebook
        return
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = [n for n in ast.walk(tree) if isinstance(n, functions) and position and n.lineno == position.line]
    nodes = (node for function in inside for node in ast.walk(function))
    for node in sorted((n for n in nodes if isinstance(n, (ast.Assign, ast.For))), key=lambda n: n.lineno):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        source = node.value if isinstance(node, ast.Assign) else node.iter
        bound = frozenset(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        yield node.lineno, bound, frozenset(each.id for each in ast.walk(source) if isinstance(each, ast.Name))
