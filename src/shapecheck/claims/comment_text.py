"""The text of a comment: the shapes that it states, and what it says of where they belong.

This reads text only; which value a shape is claimed of, and how surely, is for `attach` to say.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.axis_words import is_dim_word, is_unit, looks_like_dim, strength
from shapecheck.claims.brackets import Bracket, find_brackets
from shapecheck.claims.lead_words import (
    Lead,
    changes_again,
    follows_badly,
    is_conditional,
    is_hedge,
    is_marked_behind,
    leads_on,
    may_list_pieces,
    read_lead,
)
from shapecheck.shapes import (
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    comment_dtype,
    is_variadic,
    parse_comment_dims,
)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Shapes that belong together: one, a list for a tuple, or alternatives. Offsets of the brackets count in the text.

    `labels` name the value, if anything does. `prose` counts the words in front beyond label and marker; `tail` is what
    follows the last bracket. Before an arrow stand the shapes `taken`. Numbers behind a label `may_be_values`: those of
    `image: (784,)` are a shape if an array is called so, those of `stride: (2, 2)` are none. What is `assigned` may be
    code: `x = (b, t)`. Shapes with nothing but blanks between them, `spaced`, may be operands. What stands between two
    arrows are shapes on the `way` to the last: `(b, t, d) -> (b, t, h, k) -> (b, h, t, k)`. That it `becomes` is what
    the last arrow leads to, if it has a name of its own: `x: (b, t) -> logits (b, k)`.
    """

    shapes: tuple[Bracket, ...]
    taken: tuple[Bracket, ...] = ()
    way: tuple[Bracket, ...] = ()
    becomes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    marked: bool = False
    colon: bool = False
    prose: int = 0
    arrow: bool = False
    generic: bool = False
    inputs: bool = False
    each: bool = False
    hedged: bool = False
    alternatives: bool = False
    may_be_values: bool = False
    assigned: bool = False
    spaced: bool = False
    tail: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All dim names of its shapes."""
        return tuple(dict.fromkeys(name for shape in self.shapes for name in shape.spec.names()))

    @property
    def explicit(self) -> bool:
        """Whether the text itself says that this is a shape: a marker, an arrow, or a dtype."""
        return self.marked or self.arrow or any(shape.dtype for shape in self.shapes)

    @property
    def numeric(self) -> bool:
        """Whether there are numbers only."""
        return not self.names and any(shape.spec.dims for shape in self.shapes)


# What one axis becomes, and no value: "reshape last axis into (G, C//G)".
_OF_ONE_AXIS = re.compile(
    r"\b(?:last|first|second|third|final|trailing|leading|single|channels?|features?|heads?|batch|time|hidden|embedding)"
    r"\s+(?:axis|dim|dimension)\s+(?:(?:is|gets)\s+)?(?:split|reshaped|unflattened)?\s*(?:in)?to\s*[`'\"]*$",
    re.IGNORECASE,
)


# `y = x * exp(-x): (b, t)` says how y is computed as well.
COMPUTED_AS = re.compile(r"(?<=\w) = (?!lambda\b)[^:=\n]*[\w)\]](?=\s*:\s+[(\[])")


def read_comment(text: str, known: Container[str] = frozenset(), *, described: bool = False) -> list[Segment]:
    """The shapes that a comment states, segment by segment; `known` are names of dims in this file.

    With `described` the text tells of one value, whose name stands before it: also `(4, 4) transform` may be its shape.
    """
    if " = " in text and not described:
        text = COMPUTED_AS.sub(lambda found: " " * len(found.group()), text)
    brackets = [
        each
        for each in find_brackets(text)
        if not is_hedge(each.text) and not _is_cut_short(text, each) and not _OF_ONE_AXIS.search(text, 0, each.start)
    ]
    segments = _segments(text, brackets, known, described=described)
    if segments and not described and any(each.labels and each.colon for each in segments):
        # In `G is (n_g, 3), R is (nat, 3)` one says what the other is.
        listed = {
            name for bracket in brackets if bracket.is_list for name in bracket.spec.names() if name.isidentifier()
        }
        further = _segments(text, brackets, AlsoKnown(known, listed), described=described)
        added = [each for each in further if each.labels and each.colon and each not in segments]
        if len(further) == len(segments) + len(added):
            return further
    if segments:
        return segments
    bare = _read_bare_dims(text, known)
    return [] if bare is None else [bare]


class AlsoKnown:
    """Names of dims, and some more."""

    def __init__(self, known: Container[str], more: Container[str]) -> None:
        self._known, self._more = known, more

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._more


# What goes on behind the bracket that closes a shape, to one that nothing opened: `(n * a), c, h // a)`.
_GOES_ON_TO_CLOSE = re.compile(r"\s*,(?:[^()\[\]\n.;:]|\[[^\[\]\n]*\]|\([^()\n]*\))+\)")


def _is_cut_short(text: str, bracket: Bracket) -> bool:
    """Whether a shape ends at a bracket too many, and goes on behind it."""
    before = text[: bracket.start]
    is_open = before.count("(") > before.count(")")
    return not is_open and bracket.text[0] == "(" and _GOES_ON_TO_CLOSE.match(text, bracket.end) is not None


_SENTENCE_END = re.compile(r"[.;](?:\s|$)")


_TYPE = re.compile(r"\s*:?\s*(?:[\w.]+\.)?(?:nd)?(?:array|tensor)s?(?:[-_]like)?,\s*", re.IGNORECASE)
_ENDS_LINE = re.compile(r"[ \t`]*\n")
# "(3, 1) vector", "linear part as a (3, 1) vector": what a value is, and none of "multiply with a (3, 3) matrix".
_BEFORE_ARRAY = re.compile(r"(?:^|\b(?:as|is)\s+|[,:]\s+)\s*(?:an?\s+)?`*$", re.IGNORECASE)
_ARRAY_BEHIND = re.compile(r"[\s`]*(?:(?:column|row)\s+)?(?:vector|matrix|tensor|array)s?\b", re.IGNORECASE)


def _segments(text: str, brackets: list[Bracket], known: Container[str], *, described: bool) -> list[Segment]:
    result: list[Segment] = []
    current: _Open | None = None
    end, hedged = 0, False
    for index, bracket in enumerate(brackets):
        lead = read_lead(text[end : bracket.start], first=index == 0, described=described)
        hedged = lead.hedged or (hedged and not _SENTENCE_END.search(text, end, bracket.start))
        lead = replace(lead, hedged=hedged)
        following = brackets[index + 1].start if index + 1 < len(brackets) else len(text)
        tail = text[bracket.end : following]
        if described and _TYPE.fullmatch(text, 0, bracket.start) and _ENDS_LINE.match(tail):
            tail = ""  # below `x : Array, (b, t)` begins what it "represents"
        is_array = _BEFORE_ARRAY.search(text, 0, bracket.start) is not None and _ARRAY_BEHIND.match(tail) is not None
        item = _BracketItem(bracket, lead, tail, index + 1 < len(brackets), is_array)
        if current is None or not current.take(item):
            if current is not None:
                result += current.close(known, described=described)
            current = _Open(item)
        end = bracket.end
    return [*result, *current.close(known, described=described)] if current is not None else result


@dataclass(frozen=True)
class _BracketItem:
    bracket: Bracket
    lead: Lead
    tail: str
    followed: bool = False  # by another bracket, which the tail leads to
    is_array: bool = False  # the noun behind it says so: `as a (3, 1) vector`


class _Open:
    """A segment that grows bracket by bracket."""

    def __init__(self, item: _BracketItem) -> None:
        self.items = [item]
        self.taken: list[_BracketItem] = []
        self.way: list[list[_BracketItem]] = []
        self.lead = item.lead
        self.arrow = item.lead.arrow
        self.operation = False
        self.alternatives = False
        self.spaced = False
        self.broken = item.lead.joint in {"=", "op"}

    def take(self, item: _BracketItem) -> bool:
        """Add a bracket, if it belongs to this segment."""
        joint = item.lead.joint
        if joint == "arrow" or (joint == "=" and self.operation):
            if self.arrow and self.taken:
                self.way.append(self.items)
            self.taken = self.taken if self.arrow else self.items
            self.items = [item]
            self.arrow, self.operation, self.alternatives = True, False, False
            return True
        if item.lead.labels or item.lead.marked or joint not in {",", "or", "op", "blank"}:
            return False
        if joint == "," and item.bracket.text[0] != self.items[0].bracket.text[0] and "[" in item.bracket.text[0]:
            return False  # `of the cameras (rvec, tvec), [m, 2]`
        if joint == "blank":
            # `(1, n)   (d, n)` stands above a product as often as above a tuple; `(n, d) (bf16/f32)` is one shape.
            if self.lead.labels or self.lead.marked or not all(each.bracket.is_list for each in (*self.items, item)):
                return False
            self.broken, self.spaced = self.broken or bool(self.taken), True
        self.items.append(item)
        self.operation = self.operation or joint == "op"
        self.broken = self.broken or (self.alternatives and joint != "or")
        self.alternatives = self.alternatives or joint == "or"
        return True

    def close(self, known: Container[str], *, described: bool) -> list[Segment]:
        """The finished segment, if it states shapes."""
        if self.operation or self.broken or (self.spaced and (described or self.alternatives or self.arrow)):
            return []
        tail = _OR_NONE.sub("", self.items[-1].tail)
        article = self.lead.labels == ("a",) and not self.lead.colon and _goes_on(tail)
        brackets = [item.bracket for item in self.items]
        if len(brackets) == 1 and not brackets[0].dtype:
            brackets[0] = replace(brackets[0], dtype=_dtype_behind(tail))
        is_of_next = self.items[-1].followed and _MARKS_NEXT.fullmatch(tail) is not None
        marked_behind = is_marked_behind(tail) and not is_of_next
        sizes = brackets[0].spec.dims
        are_numbers = len(brackets) == 1 < len(sizes) and all(isinstance(dim, FixedDim) and dim.size for dim in sizes)
        marked_behind |= not described and are_numbers and brackets[0].is_list and self.items[0].is_array
        marked = self.lead.marked or marked_behind or any(each.of_array for each in brackets)
        segment = Segment(
            shapes=tuple(brackets),
            labels=() if article else self.lead.labels,
            marked=marked,
            colon=self.lead.colon,
            prose=self.lead.prose,
            arrow=self.arrow,
            becomes=self.items[0].lead.labels if self.arrow and self.taken else (),
            generic=self.lead.generic,
            inputs=self.lead.inputs and not self.arrow,
            each=self.lead.each,
            hedged=self.lead.hedged
            or is_conditional(tail)
            # `(H, W) indices`: so many, or pairs
            or (
                not (marked or brackets[0].dtype)
                and follows_badly(tail, len(brackets[-1].spec.dims), described=described)
            )
            or (self.lead.changed and changes_again(tail))  # the statement may do both
            or (not marked and may_list_pieces(tail))
            or (not marked and any(each.ambiguous for each in brackets)),
            alternatives=self.alternatives,
            assigned=self.lead.assigned,
            spaced=self.spaced,
            tail=tail,
        )
        if self.lead.assigned and (segment.numeric or not segment.names or self.arrow):
            return []
        if self.lead.spoiled and not self.arrow:
            return []
        if not described and _may_be_values(segment):
            return [replace(segment, may_be_values=True)]
        if len(self.items) > 1:  # in `(c, d), (d,)` the one says what is in the other
            listed = {
                name for each in self.items if len(each.bracket.spec.dims) > 1 for name in each.bracket.spec.names()
            }
            known = AlsoKnown(known, listed if strength(tuple(listed), known) >= 0.5 else ())
        if all(_is_shape(replace(item, tail=""), segment, known, described) for item in self.taken):
            segment = replace(segment, taken=tuple(item.bracket for item in self.taken))
        way = [items[0] for items in self.way if len(items) == 1]
        if len(way) == len(self.way) and all(
            _is_shape(replace(item, tail=""), segment, known, described) for item in way
        ):
            segment = replace(segment, way=tuple(item.bracket for item in way))
        return [segment] if all(_is_shape(item, segment, known, described) for item in self.items) else []


_OR_NONE = re.compile(r"^[\s`]*or[\s`]+None\b[\s`]*")
# Between two brackets: `distance (vector, au) shape (3,)`.
_MARKS_NEXT = re.compile(r"[\s,`]*(?:of|with)?\s*shapes?\s*[:=]?\s*`*", re.IGNORECASE)


def _may_be_values(segment: Segment) -> bool:
    """Whether it is a label with numbers, `image: (784,)` or `t: ()`, and nothing else but further labels."""
    shape = segment.shapes[0]
    return (
        len(segment.shapes) == len(segment.labels) == 1
        and segment.colon
        and not (segment.prose or segment.explicit or segment.generic or segment.hedged)
        and (shape.is_list or not shape.spec.dims or shape.text.startswith("["))
        and (shape.text.startswith("(") or len(shape.spec.dims) == 1)
        and all(isinstance(dim, FixedDim) and dim.size > 0 for dim in shape.spec.dims)
        and (shape.trailing_comma or not _goes_on(segment.tail))
    )


def _is_shape(item: _BracketItem, segment: Segment, known: Container[str], described: bool) -> bool:
    """Whether a bracket of dims is meant as a shape."""
    bracket, spec = item.bracket, item.bracket.spec
    share = strength(_names_of_axes(spec), known)
    alone = not segment.prose and not segment.labels
    # Without a sign that ties it to the bracket, a word in front of it is no label if the sentence goes on.
    prose = segment.prose or (bool(segment.labels) and not segment.colon and _goes_on(segment.tail))
    if leads_on(item.tail) or _lists_entries(spec, segment.labels):
        return False
    if bracket.bare and not (share == 1.0 and _is_bare_shape(item, segment, known)):
        return False
    if bracket.dtype or bracket.tree:
        return True
    if segment.marked:
        return not _is_lone_word(bracket) or (share == 1.0 and not any(map(_has_label, spec.dims)))
    if bracket.is_interval:
        return False
    are_sizes = all(name in known or name.isupper() for name in spec.names())
    if follows_badly(segment.tail, len(spec.dims), sizes=are_sizes, described=described):
        return False
    if len(spec.dims) > 1 and all(map(is_variadic, spec.dims)):
        return False
    if _is_lone_word(bracket) and is_unit(bracket.text[1:-1]) and not any(name in known for name in spec.names()):
        return False
    if not spec.dims:
        return alone and (segment.arrow or len(segment.shapes) > 1 or not segment.tail.strip(" .,;"))
    if not spec.names():
        if any(not isinstance(dim, FixedDim) for dim in spec.dims):
            return alone or segment.arrow or spec.dims[0] == AnyDims()
        ends = not segment.tail.strip(" .,;") or (bracket.trailing_comma and len(spec.dims) == 1)
        return (bracket.is_list and (described or (alone and ends))) or segment.arrow  # `(3,) corner of the box`
    if _is_lone_word(bracket):
        if not all(name in known or is_dim_word(name) or (described and _is_long_dim(name)) for name in spec.names()):
            return False
        letter = len(bracket.text.strip("()[] ")) == 1 and not any(name in known for name in spec.names())
        if letter and not described and not segment.colon and (segment.prose or segment.labels):
            return False  # `atomic mass [u]`
        ends = not segment.tail.strip(" .,;:`") or bracket.text[0] == "["
        tied = alone or segment.arrow or bracket.text[0] == "[" or all(name in known for name in spec.names())
        return share == 1.0 and ends and tied
    if not prose or segment.arrow:
        return share >= 0.5
    return share >= 2 / 3 and (described or not _is_pair(bracket, known))


def _lists_entries(spec: Spec, labels: Sequence[str]) -> bool:
    """Whether all names are the label and a number: `x: [x0 x1 x2]` shows what is in x."""
    names = spec.names()
    return (
        len(labels) == 1
        and len(names) > 1
        and all(re.fullmatch(rf"{re.escape(labels[0])}_?\d+", each) for each in names)
    )


_MATRIX = re.compile(r"[\s`]*+(?:[\w.-]+\s+)?(?:matrix|matrices|arrays?|tensors?|ndarrays?|dimensional)\b")


def _is_bare_shape(item: _BracketItem, segment: Segment, known: Container[str]) -> bool:
    """Whether `n x d` is no product: a word says so, or it is all of the text, with a known name or a third axis.

    Behind other words, as in `queries, B x D`, all of its names are known.
    """
    if segment.marked or _MATRIX.match(item.tail) is not None:
        return True
    if _goes_on(segment.tail):
        return False
    spec = item.bracket.spec
    if segment.colon and len(segment.labels) == 1 and not segment.prose and all(map(str.isupper, spec.names())):
        return True  # `log_px: S x B`
    if segment.prose > 1:
        return bool(spec.names()) and all(name in known for name in spec.names())
    is_long = not segment.prose and ("-by-" in item.bracket.text or len(spec.dims) > 2)
    return is_long or any(name in known for name in spec.names())


_DTYPE = re.compile(r"[\s`,;]*+(?:dtype\s*+[=:]\s*+)?+((?:jnp\.|np\.)?+[a-z]++\d*+_?+)\s*+(?=$|[.,;)])")


def _dtype_behind(tail: str) -> str:
    """The dtype that follows a bracket and ends the thought: `(b, t), float32`."""
    match = _DTYPE.match(tail)
    return (comment_dtype(match.group(1)) or "") if match is not None else ""


_WHOLE = re.compile(r"(?:^|_)(?:shapes?|dims|batch\w*|sizes?|lead\w*)$")
_NEXT_LABEL = re.compile(r"\s*+[,;]\s*+(?:and\s++)?+`?[\w.]++`?\s*+:?\s*+$")


def _goes_on(tail: str) -> bool:
    """Whether more than the label of the next bracket follows."""
    return bool(tail.strip(" .,;:`")) and not _NEXT_LABEL.match(tail)


def _is_long_dim(name: str) -> bool:
    """Whether a name of several words is one that axes have: `N_stream`."""
    return "_" in name and looks_like_dim(name)


def _has_label(dim: Dim) -> bool:
    """Whether a dim is written `name=size`: a lone one is rather a setting."""
    return not isinstance(dim, AnyDims | AnyDim | RepeatedDim) and dim.label is not None


def _names_of_axes(spec: Spec) -> tuple[str, ...]:
    """The names that have to look like those of axes: not `*shape`, which stands for all the axes of something."""
    whole = {name for name in spec.variadic_names() if _WHOLE.search(name)}
    return tuple(name for name in spec.names() if name not in whole)


def _is_lone_word(bracket: Bracket) -> bool:
    return not bracket.is_list


def _is_pair(bracket: Bracket, known: Container[str]) -> bool:
    """`(x, y)` amid prose: two lower-case letters that nobody knows as dims."""
    names = bracket.spec.names()
    lower = all(len(name) == 1 and name.islower() and name not in known for name in names)
    return lower and bracket.text.startswith("(")


_LEGEND = re.compile(r"\b(?:let|where|and|with)\b\s+\w+\s*=", re.IGNORECASE)
_MARKED_LETTER = re.compile(r"\bshape:?\s+(?P<name>[A-Z][A-Za-z_]{0,3})\s*$")
_MARKED_BARE = re.compile(r"(?:^|\s)shapes?\s*+[:=]\s*+([^()\[\]:;=]++)$", re.IGNORECASE)


def lone_capital(text: str) -> str:
    """The capital letter that is all of a text, as it may be all that is said of a vector: `# B`; else ""."""
    letter = text.strip(": \n")
    return letter if len(letter) == 1 and letter.isalpha() and letter.isupper() else ""


def _read_bare_dims(text: str, known: Container[str]) -> Segment | None:
    """Dims without a bracket: `shape: B x T`, or, as the whole comment, `B, T, C`, or `B` that is known for one."""
    if (letter := lone_capital(text)) and letter in known:
        start = text.index(letter)
        bracket = Bracket(start=start, end=start + 1, text=letter, spec=Spec((NamedDim(letter),)))
        return Segment(shapes=(bracket,), hedged=True)  # a letter may name the value, or what it counts, as well
    if (lone := _MARKED_LETTER.search(text)) is not None and lone["name"] in known:  # `shape: R`
        bracket = Bracket(
            start=lone.start("name"), end=lone.end("name"), text=lone["name"], spec=Spec((NamedDim(lone["name"]),))
        )
        lead = read_lead(text[: lone.start("name")], first=True)
        return Segment(shapes=(bracket,), labels=lead.labels, marked=True, colon=True)
    match = _MARKED_BARE.search(text) if len(text) < 200 else None
    inside = match.group(1) if match is not None else text
    if (scalar := _SCALAR.fullmatch(text)) is not None:
        start, end = scalar.span("word")
        return Segment(shapes=(Bracket(start=start, end=end, text="scalar", spec=Spec(())),), marked=True)
    if (letters := _read_letters(text, known)) is not None:
        return letters
    if not any(sign in inside for sign in ",×x") or len(inside) > 120:
        return None
    start = match.start(1) if match is not None else 0
    stripped = inside.strip().rstrip(".")
    if match is None and _LEGEND.search(stripped):
        return None
    spec = parse_comment_dims(stripped)
    if spec is None or len(spec.dims) < 2 or not spec.names() or strength(spec.names(), known) < 1.0:
        return None
    if match is None and not _are_plain(spec, known, stripped):
        return None
    start += len(inside) - len(inside.lstrip())
    bracket = Bracket(start=start, end=start + len(stripped), text=stripped, spec=spec)
    if match is None:
        return Segment(shapes=(bracket,))
    lead = read_lead(text[: match.start(1)], first=True)
    return Segment(
        shapes=(bracket,),
        labels=lead.labels,
        marked=True,
        colon=True,
        prose=lead.prose,
        generic=lead.generic,
        hedged=lead.hedged,
    )


_LETTERS = re.compile(r"(?:^|:)\s*(?P<dims>[A-Z][a-z]?\d?(?:[ \t]+(?:[A-Z][a-z]?\d?|\d{1,4}))+)[\s.]*$")
_WORDS = re.compile(r"\s*(?P<dims>[A-Za-z]\w*(?:[ \t]+\w+){1,5})\s*")


_DASHED = re.compile(r"\w+ - ")  # a name in front: `queries - B x D x T`
_SCALAR = re.compile(r"\s*(?:an?\s+)?(?P<word>scalar)\s*[.]?\s*")


def says_scalar(text: str) -> bool:
    """Whether a text says that something is a scalar, and no more."""
    return _SCALAR.fullmatch(text) is not None


def lists_letters(text: str) -> bool:
    """Whether a text ends in capitals between blanks."""
    return len(text) < 200 and _LETTERS.search(text) is not None


def may_list_words(text: str) -> bool:
    """Whether a text is a few words between blanks, which may all be dims."""
    return len(text) < 80 and _WORDS.fullmatch(text) is not None


def _read_letters(text: str, known: Container[str]) -> Segment | None:
    """Capitals between blanks that all are known dims, `B S K 3`, as a whole comment or behind a colon; or any such."""
    match = (_LETTERS.search(text) or _WORDS.fullmatch(text)) if len(text) < 200 else None
    spec = parse_comment_dims(match["dims"], spaces=True) if match is not None else None
    if match is None or spec is None or not all(name in known for name in spec.names()):
        return None
    bracket = Bracket(start=match.start("dims"), end=match.end("dims"), text=match["dims"], spec=spec)
    lead = read_lead(text[: bracket.start], first=True)
    return Segment(shapes=(bracket,), labels=lead.labels, colon=lead.colon, prose=lead.prose, hedged=lead.hedged)


def _are_plain(spec: Spec, known: Container[str], text: str) -> bool:
    """Whether a list of words without any bracket can only be dims: short names, or names known as dims.

    `B x T` may be a product: it needs a name that is known, or a third axis.
    """
    if "," not in text:
        if _DASHED.match(text):
            return False
        return (len(spec.dims) > 2 or any(name in known for name in spec.names())) and "x" not in spec.names()
    if any(isinstance(dim, SymbolicDim) for dim in spec.dims):  # `n x m, C-order`
        return len(spec.dims) > 2 and all(name in known for name in spec.names())
    return all(name in known or is_dim_word(name) for name in spec.names())
