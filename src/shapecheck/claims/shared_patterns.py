"""One shape for several values, a name of which stands for the own size of each: `# q/k: (B, L, C)` of L1 and L2."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shapecheck.model import Claim, Span
from shapecheck.shapes import AnyDim, NamedDim, Spec, parse_spec, print_spec

_NUMBERED = re.compile(r"(?P<kind>[^\W\d_]\w*?)_?\d")


def with_open_patterns(claims: Sequence[Claim]) -> Iterator[Claim]:
    """The claims; in those of several values what is open of which the scope has several kinds.

    So is a name that no other line of the scope has, where others have it with a number behind.
    """
    texts: defaultdict[int, dict[Span, set[str]]] = defaultdict(dict)
    values: defaultdict[tuple[int, Span], int] = defaultdict(int)
    for claim in claims:
        texts[claim.scope].setdefault(claim.span, set()).update(parse_spec(claim.spec).names())
        values[claim.scope, claim.span] += 1
    for claim in claims:
        several = claim.notation == "comment" and (claim.each or values[claim.scope, claim.span] > 1)
        beside = texts[claim.scope].items() if several else ()
        others = (names for span, names in beside if span.line != claim.span.line)
        yield _with_open(claim, _kinds(set[str]().union(*others)))


def _kinds(names: Iterable[str]) -> set[str]:
    """The names of which there are at least two with numbers, and which do not stand alone: L of L1 and L2."""
    present = {*names}
    numbered = [found["kind"] for name in present if (found := _NUMBERED.fullmatch(name)) is not None]
    return {name for name in numbered if numbered.count(name) > 1} - present


def _with_open(claim: Claim, kinds: set[str]) -> Claim:
    dims = parse_spec(claim.spec).dims if kinds else ()
    opened = tuple(AnyDim() if isinstance(dim, NamedDim) and dim.name in kinds else dim for dim in dims)
    return replace(claim, spec=print_spec(Spec(opened))) if opened != dims else claim
