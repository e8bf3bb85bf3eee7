"""From drafts to claims: what a segment of a comment says of a target, taken apart into single claims."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.brackets import Bracket
from shapecheck.claims.claim_sites import Sites
from shapecheck.claims.comment_lines import comment_span
from shapecheck.claims.comment_targets import CommentTarget
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.literal_tuples import (
    begins_longer_shape,
    has_list_of_numbers,
    is_listed,
    is_row,
    lists_numbers,
    repeats_values,
    starred_readings,
)
from shapecheck.claims.other_places import OtherPlaces
from shapecheck.model import Claim, Selector
from shapecheck.shapes import AnyDims, Spec, print_spec
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.source_text import SourceText

# `..., (steps,)`, `(2, n), _`, `scalar, (2,)`: others of several values stand around the shape.
_OPEN_SLOT = r"(?:\.{3}|…|[-_*?]|scalar|None)"
_ROW = re.compile(rf"\W*?(?P<before>(?:{_OPEN_SLOT}\s*,\s*)*)$")
_ROW_GOES_ON = re.compile(rf"(?:\s*,\s*{_OPEN_SLOT})*\s*$")
_PLACES = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "last": -1}
# `second output is (n,)`
_COUNTED = re.compile(
    rf"\W*(?:the\s+)?(?P<place>{'|'.join(_PLACES)})\s+(?:output|result|value|return(?:ed)?(?:\s+value)?|element|entry|one)s?\s*"
    r"(?:is|has|:|=)?\s*(?:of\s+)?(?:shape\s*)?[:=]?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ClaimDraft:
    """What a segment claims of a target.

    `sure` false is final; true means that a known name, or an `explicit` text, makes the claims sure.
    """

    segment: Segment
    offset: int
    target: CommentTarget
    sure: bool
    explicit: bool
    part: str = ""
    select: tuple[Selector, ...] = ()


class DraftedClaims:
    """Writes the claims of one file; `known` are names of dims that make them sure."""

    def __init__(
        self,
        source: SourceText,
        sites: Sites,
        known: set[str],
        new_group: Callable[[], int],
        other_places: OtherPlaces,
    ) -> None:
        self.source = source
        self.sites = sites
        self.known = known
        self.new_group = new_group
        self.other_places = other_places

    def claims(self, comment: Comment, draft: ClaimDraft) -> Iterator[Claim]:
        """The claims that the shapes of a segment make of a value: one, alternatives, or one for each element."""
        segment, target, shapes = draft.segment, draft.target, draft.segment.shapes
        if not (segment.explicit or draft.select):
            named = segment.colon and target.name in segment.labels
            if not named and any(repeats_values(shape.spec, target.code) for shape in shapes):
                return
            if len(shapes) == 1 and not named and lists_numbers(target.code, len(shapes[0].spec.dims)):
                return
            if len(shapes) == 1 and not named and is_row(target.code, len(shapes[0].spec.dims)):
                return  # `(row, column, values)` above such tuples says what is in each
            if len(shapes) == 1 and is_listed(target.code, len(shapes[0].spec.dims)):
                draft = replace(draft, sure=False)  # `size = (h, w)  # (rows, cols)` names the elements
        if segment.alternatives:
            group = self.new_group()
            for shape in shapes:
                yield from self._claim(comment, draft, shape, target, group=group)
        elif len(shapes) == 1 and (row := _place_in_row(comment, draft)) is not None:
            place, values = row
            draft = replace(draft, sure=not segment.hedged)
            if target.elements:
                yield from self._claim(comment, draft, shapes[0], target.elements[place])
            else:
                yield from self._claim(comment, draft, shapes[0], target, select=(f"{place}/{values}",))
        elif len(shapes) == 1 and any(element.name == "_" for element in target.elements):
            for element in target.elements:
                if element.name != "_":
                    yield from self._claim(comment, draft, shapes[0], element)
        elif len(shapes) == 1 and target.places:
            each = bool(target.elements) or segment.each
            target = replace(target, places=(*target.places, *target.meant))
            yield from self._claim(comment, draft, shapes[0], target, select=draft.select, each=each)
        elif len(shapes) == 1:  # the variables of a `for` or a `with`
            for element in target.elements if segment.each else ():
                yield from self._claim(comment, draft, shapes[0], element)
        elif variables := _variables_of(target, len(shapes)):
            for shape, variable in zip(shapes, variables, strict=True):
                yield from self._claim(comment, draft, shape, variable)
        elif not target.elements:
            for index, shape in enumerate(shapes):
                yield from self._claim(comment, draft, shape, target, select=(f"{index}/{len(shapes)}",))

    def _claim(
        self,
        comment: Comment,
        draft: ClaimDraft,
        shape: Bracket,
        target: CommentTarget,
        *,
        select: Sequence[Selector] = (),
        group: int | None = None,
        each: bool = False,
    ) -> Iterator[Claim]:
        """One claim, unless nothing can be observed at its place."""
        if not target.places:
            return
        readings = [*shape.readings]
        if begins_longer_shape(shape.spec, target.code):
            readings.append(Spec((*shape.spec.dims, AnyDims())))  # "Broadcast to [b, t]" above `(b, t, *x.shape)`
        readings += starred_readings(shape.spec, target.code)
        names = tuple(dict.fromkeys(name for spec in (shape.spec, *readings) for name in spec.names()))
        later = self.other_places.when_bound(target.statement, target.name, names)
        places = dict.fromkeys((*target.places, *later))
        sizes = dict(self.other_places.later_sizes(target.statement, names))
        for place in dict.fromkeys(sizes.values()):
            self.sites.add(place, names)
        sure = draft.sure and (bool(names) or draft.explicit)
        yield Claim(
            path=self.source.path,
            span=comment_span(comment, draft.offset + shape.start, draft.offset + shape.end),
            notation="comment",
            text=shape.text,
            spec=print_spec(shape.spec),
            dtype=shape.dtype,
            target=target.name,
            scope=target.scope,
            sites=tuple(self.sites.add(place, names) for place in places),
            select=(*select, "leaves") if shape.tree else tuple(select),
            group=group,
            sure=sure and (draft.explicit or any(name in self.known for name in names)),
            marked=draft.segment.marked,
            readings=tuple(map(print_spec, readings)),
            part=draft.part,
            loose=not sure,
            each=each,
            exact=_is_exact(comment, draft, shape),
            behind_arrow=draft.segment.arrow,
            later_sizes=tuple(sizes),
        )


def _place_in_row(comment: Comment, draft: ClaimDraft) -> tuple[int, int] | None:
    """Of which of how many values a comment tells that has a sign in place of each other one; None if it has not."""
    shape, text = draft.segment.shapes[0], comment.text[draft.offset :]
    several = len(draft.target.elements) or len(value_row(draft.target.code))
    if (counted := _COUNTED.match(text, 0, shape.start)) is not None:
        place = _PLACES[counted["place"].lower()]
        return (place % several, several) if several > 1 and place < several else None
    before, behind = _ROW.match(text[: shape.start]), _ROW_GOES_ON.match(text, shape.end)
    if before is None or behind is None:
        return None
    place = before["before"].count(",")
    values = place + 1 + behind.group().count(",")
    return (place, values) if values == several > 1 else None


def _variables_of(target: CommentTarget, count: int) -> Sequence[CommentTarget]:
    """The variables of a tuple target that so many shapes are of, in this order; what is called `_` may be left out.

    Nothing if it holds another tuple, and nobody can tell whether a shape is that of one or of all in it.
    """
    kept = [each for each in target.variables if each.name != "_"]
    return next((each for each in (kept, target.variables) if len(each) == count), ())


def value_row(code: ast.AST) -> Sequence[ast.expr]:
    """The several values that a statement returns, or gives variables."""
    value = code.value if isinstance(code, ast.Return) else None
    if isinstance(code, ast.Assign) and len(code.targets) == 1:
        value = code.targets[0]
    return value.elts if isinstance(value, ast.Tuple) else ()


def _is_exact(comment: Comment, draft: ClaimDraft, shape: Bracket) -> bool:
    """Whether a comment behind a statement is a list of numbers and nothing else, which the statement does not list.

    `jnp.array([[1, 2], [3, 4]])  # (1, 2), (3, 4)` has its values behind it.
    """
    if comment.own_line or not (draft.segment.numeric and shape.is_list) or len(draft.segment.shapes) > 1:
        return False
    if comment.text.strip("# \t.") != shape.text or not draft.target.places:
        return False
    return not has_list_of_numbers(draft.target.code)
