"""The brackets in the text of a comment, and which of them can be a list of dims at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from shapecheck.claims.axis_words import is_dim_word
from shapecheck.shapes import (
    DTYPES,
    GLUED_PRODUCT,
    PROSE,
    FixedDim,
    Spec,
    SpecError,
    SpecReading,
    SymbolicDim,
    comment_dtype,
    parse_comment_dims,
    parse_spec,
    read_comment_dims,
    with_spaced_products,
)

MAX_TEXT = 2000  # a longer comment is no shape
_DEPTH = 3  # how many brackets around a shape are looked through
_PAIRS = {")": "(", "]": "["}
# What may stand directly in front of a round bracket that is a shape: `shape(n,)`, `x (ndarray(n, m))`.
_SHAPED = frozenset({"shape", "Shape", "shaped", "Shaped", "SHAPE"})
_ARRAYS = frozenset({"ndarray", "Array", "Tensor"})
_WORD_BEFORE = re.compile(r"[A-Za-z]\w*+$")
_JAXTYPING_ARGUMENT = re.compile(r"""\s*[\w.]*\s*,?\s*(?:"([^"]*)"|'([^']*)')\s*""")
_WHERE = re.compile(r"\bwhere[\s`]+$", re.IGNORECASE)
_FLAT = re.compile(r"\bflat(?:tened)?[\s`]+$", re.IGNORECASE)
_COLUMNS = re.compile(r"[`\s]+columns?\b", re.IGNORECASE)
_FLATTENED = re.compile(r"[`\s,]*\b(?:flat(?:tened)?|ravell?ed)\b", re.IGNORECASE)
_IN_ORDER = re.compile(r"[\s`]+(?:layout|order(?:ing)?)\b", re.IGNORECASE)
_SIZE_OF_EACH = re.compile(r"(?:^|,)\s*[^\W\d]\w*(?:/[^\W\d]\w*){2,}\s*(?:,|$)")
_NAMES_OF_SHAPE = re.compile(
    r"\bshape\s+(?P<names>[A-Za-z]\w*(?:,\s+(?:[A-Za-z]\w*|\d+))+)"
    r"(?=[ \t]*(?:[.;]?[ \t]*(?:\n|$)|[.;][ \t])|\s+(?:that|which|where|containing|holding)\b)"
)
_SHAPE_INSIDE = re.compile(r"\s*(?:of\s+)?shape:?\s+[`'\"]*[(\[]", re.IGNORECASE)
# The first and last name differ in an index only: `dim_1, ..., dim_N` is any number of dims.
_ENUMERATED = re.compile(r"\b([A-Za-z]+_?)[01],\s*(?:\1[12],\s*)?\.\.\.,\s*\1[A-Za-z]\b")


# A set of shapes, or what maps one to another; but not a dict, whose entries have names.
_BRACES = re.compile(r"\{(?!\s*+['\"\w]++\s*+:)[^{}]*+\}")
_BARE_SIGNS = (" x ", " × ", "-by-")
_SIZE = r"(?:\d+[A-Za-z]\w*|[A-Za-z]\w*(?:\s?(?://|[*/+])\s?\w+)?|\d+|\(\w+(?:\s?[-+*/]\s?\w+)+\))"
_BARE = re.compile(
    rf"(?<![\w.\-/(\[*+^])(?:{GLUED_PRODUCT.pattern}|{_SIZE}(?:(?:-by-{_SIZE})+|(?: [x×] {_SIZE})+))(?![\w\-(\[^*/])"
)
# `n x 2 X b x b`
_CAPITAL_SIGN = re.compile(r"(?<=[x×] \w )X(?= \w)|(?<=\w )X(?= \w+ [x×] \w)")
_CUT = re.compile(r"(?:\*\*?|//|[\^·⋅+])\s++$")  # in front of what is only the rest of a list: `B x (n - 1) // m x C`
# A size of two words, which is none here: `batch x chunk size x n_chunks x dim`.
_GOES_ON = re.compile(r"\s+[A-Za-z]\w*\s+[x×]\s+\w")
_BEGAN = re.compile(r"\s[x×]\s+[A-Za-z]\w*\s+$")
# What comes before or behind a bracket that is an operand: `10000 ** (2i / dim)`.
_OPERATOR_BEFORE = re.compile(r"[\w)\]]\s*+(\*\*|\^|//?|[*×·⋅+−-]|(?<=\s)x(?=\s))\s*+$")
_OPERATOR_BEHIND = re.compile(r"(?:\s*+(?:\*\*|\^|//?|[*·⋅+])|\s++x(?=\s))\s*+[\w(\[]")
_CONTRACTION = re.compile(r"[A-Za-z\d.]++(?:\s*+,\s*+[A-Za-z\d.]++)*+\s*+(?:->|→)\s*+[A-Za-z\d.]*+")
_INSIDE = re.compile(r"[(\[]([^()\[\]]*+)[)\]]")


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """A list of dims between `start` and `end` of a text, with a dtype in front where there is one."""

    start: int
    end: int
    text: str
    spec: Spec
    dtype: str = ""
    tree: bool = False  # `PyTree[...]`
    spaced: bool = False  # only spaces between the dims: `[T B]`
    trailing_comma: bool = False
    negative: bool = False  # has a `-1` or `-pi`, as in an interval or an argument of `reshape`
    readings: tuple[Spec, ...] = ()  # what else it may mean
    ambiguous: bool = False  # it may also be no list of dims at all
    bare: bool = False  # no bracket at all: `n x d`, `n-by-2`
    of_array: bool = False  # what it is of stands directly in front: `ndarray(n, m)`

    @property
    def is_list(self) -> bool:
        """Whether it can only be a list: it has several dims, or a comma behind the one."""
        return len(self.spec.dims) > 1 or self.trailing_comma

    @property
    def is_interval(self) -> bool:
        """Whether it has bounds in it rather than sizes: `[0, 1]`, `(-pi, pi)`."""
        return self.negative or any(isinstance(dim, FixedDim) and dim.size == 0 for dim in self.spec.dims)


@dataclass
class _BracketGroup:
    start: int
    end: int
    inner: list[_BracketGroup]


_PLURALS = ("(s)", "(es)")  # `shape(s)`


def find_brackets(text: str) -> list[Bracket]:
    """All brackets that hold dims, in order; calls, subscripts and prose are left out."""
    return [] if len(text) > MAX_TEXT else [*_brackets_in(text)]


# `(B,) D` and `(B,) T, D`: axes in parentheses are optional, and others go on behind them.
_AXES_BEHIND = re.compile(r" (?:[A-Z][A-Z\d]?)(?: ?, ?[A-Z][A-Z\d]?)*[ .]*(?:$|\n|[-=]>|→)")


@lru_cache(maxsize=4096)  # the same few shapes stand in most comments of a file
def _brackets_in(text: str) -> tuple[Bracket, ...]:
    result: list[Bracket] = []
    braced = [match.span() for match in _BRACES.finditer(text)] if "{" in text else []
    outside = [group for group in _groups(text) if not any(start < group.start < end for start, end in braced)]
    pending = [(group, 1) for group in reversed(outside)]
    while pending:
        group, depth = pending.pop()
        found = _read_bracket(text, group)
        if isinstance(found, Bracket) and found.trailing_comma and _AXES_BEHIND.match(text, found.end):
            continue
        if isinstance(found, Bracket):
            result.append(found)
        elif found and depth < _DEPTH:
            pending += [(inner, depth + 1) for inner in reversed(group.inner)]
    if may_list_bare_sizes(text):
        result = sorted([*result, *_bare_lists(text, outside)], key=lambda each: each.start)
    if "shape " in text:
        result = sorted([*result, *_names_of_shape(text)], key=lambda each: each.start)
    return tuple(result)


def may_list_bare_sizes(text: str) -> bool:
    """A quick look for sizes outside of brackets: `n x d`, `BxTxD`, `n-by-2`."""
    return any(sign in text for sign in _BARE_SIGNS) or GLUED_PRODUCT.search(text) is not None


def _bare_lists(text: str, outside: Sequence[_BracketGroup]) -> Iterator[Bracket]:
    """Sizes with a sign of multiplication or "by" between them, outside of brackets."""
    text = _CAPITAL_SIGN.sub("x", text)
    for match in _BARE.finditer(text):
        start, end = match.span()
        spec = parse_comment_dims(match.group().replace("-by-", " x "))
        beside = [group for group in outside if group.start < end and start < group.end]
        free = all(start <= group.start and group.end <= end for group in beside)  # `B x (1 + Q)` holds one
        operands = {*re.split(r"-by-| [x×] ", with_spaced_products(match.group()))}
        twice = len(operands) == 1 and all(len(each) > 1 for each in operands)  # "step-by-step"
        if _CUT.search(text, 0, start) or _GOES_ON.match(text, end) or _BEGAN.search(text, 0, start):
            continue
        if free and spec is not None and len(spec.dims) > 1 and not twice and operands.isdisjoint(PROSE | {"x"}):
            yield Bracket(start=start, end=end, text=match.group(), spec=spec, bare=True)


def _names_of_shape(text: str) -> Iterator[Bracket]:
    """Sizes that are listed without a bracket: "of shape n_obs, n_states"; plain words may go on with the text."""
    for match in _NAMES_OF_SHAPE.finditer(text):
        names = [each.strip() for each in match["names"].split(",")]
        spec = parse_comment_dims(match["names"])
        if spec is not None and all("_" in each or each.isupper() or each.isdigit() for each in names):
            yield Bracket(start=match.start("names"), end=match.end(), text=match["names"], spec=spec, bare=True)


def find_unclosed(text: str) -> int | None:
    """Where the first bracket begins that is never closed."""
    opened: list[tuple[int, str]] = []
    for index, character in enumerate(text[:MAX_TEXT]):
        if character in "([":
            opened.append((index, character))
        elif character in ")]" and opened and opened[-1][1] == _PAIRS[character]:
            opened.pop()
    return opened[0][0] if opened else None


def _groups(text: str) -> list[_BracketGroup]:
    """The outermost closed brackets, each with those inside it."""
    found: list[_BracketGroup] = []
    opened: list[tuple[int, str, int]] = []
    for index, character in enumerate(text):
        if character in "([":
            opened.append((index, character, len(found)))
        elif character in ")]" and opened and opened[-1][1] == _PAIRS[character]:
            start, _, count = opened.pop()
            found[count:] = [_BracketGroup(start, index + 1, found[count:])]
    return found


def _read_bracket(text: str, group: _BracketGroup) -> Bracket | bool:
    """The dims of a bracket; if it holds none, whether to look at the brackets inside it."""
    inside = text[group.start + 1 : group.end - 1]
    square = text[group.start] == "["
    start, dtype, tree = group.start, "", False
    if text[group.start : group.end] in _PLURALS and text[group.start - 1 : group.start].isalpha():
        return False
    before = text[max(group.start - 40, 0) : group.start]
    word = _WORD_BEFORE.search(before)
    is_of_array = word is not None and word.group() in _ARRAYS and not square
    if word is not None and not (word.group() in _SHAPED and not square) and not is_of_array:
        typed = _read_jaxtyping(text, group, word.group()) if square else None
        if typed is not None:
            return typed
        dtype = (comment_dtype(word.group()) or "") if square else ""
        if not dtype:
            return False
        start -= len(word.group())
        before = text[max(start - 40, 0) : start]
        if before[-1:].isalnum() or before[-1:] in {"_", "."} or _WHERE.search(before):
            return False  # "where pred[k] is made of xs[:k]" is about one item
    elif word is None and before[-1:] and (before[-1].isalnum() or before[-1] in "_.)]'\"^\\$"):
        return False
    if not _ends_well(text, group.end):
        return False
    if _SHAPE_INSIDE.match(inside):
        return True  # "noise (shape [d, d])"
    enumerated = _ENUMERATED.sub("...", inside)
    inside = inside if enumerated.strip() == "..." else enumerated
    reading = read_comment_dims(inside)
    spaced = reading is None and square
    if spaced:
        reading = read_comment_dims(inside, spaces=True)
    if reading is None or (spaced and not _are_dims_between_spaces(inside, reading)):
        return not _has_dims_beside(text, group)
    if _is_operand(text, group, reading.spec) or _is_legend(text, group, reading.spec):
        return False
    if "optional" in map(str.lower, reading.spec.names()):
        return False  # `(tuple, optional)` says of which type a parameter is
    if is_of_array and comment_dtype(inside.strip()):
        return False  # `ndarray(float32), [..., 3]`
    if _FLAT.search(before) and _IN_ORDER.match(text, group.end):
        return False  # "the flat (k, p, b) layout": in which order the entries of one axis come
    if _SIZE_OF_EACH.search(inside):
        return False  # `q, k, v  # [n, dk/dk/dv]`: sizes of several arrays, one by one
    if square and _COLUMNS.match(text, group.end) and reading.spec.names():
        return False  # "a table with [time, x] columns"
    others = reading.others
    if len(reading.spec.dims) > 1 and _FLATTENED.match(text, group.end):
        # What "(c, q) flattened" has is one axis, or these.
        flat = read_comment_dims("*".join(f"({dim})" for dim in reading.spec.dims) + ",")
        others = (*others, flat.spec) if flat is not None else others
    return Bracket(
        start=start,
        end=group.end,
        text=text[start : group.end],
        spec=reading.spec,
        dtype=dtype,
        tree=tree,
        spaced=spaced,
        trailing_comma=inside.rstrip().endswith(",") or is_of_array,
        of_array=is_of_array,
        negative=re.search(r"(?:^|,)\s*[-−]\s*\w", inside) is not None,
        readings=others,
        ambiguous=reading.ambiguous,
    )


def _are_dims_between_spaces(inside: str, reading: SpecReading) -> bool:
    """Whether the words of `[T B]` are dims: capitals, single letters, or words that axes are called by."""
    if not reading.spec.names():
        return False
    parts = inside.split()
    if all(part.isupper() or len(part) == 1 for part in parts):
        return True
    return all(is_dim_word(part) and part not in PROSE for part in parts)


def _has_dims_beside(text: str, group: _BracketGroup) -> bool:
    """Whether a bracket that cannot be read has plain dims in it: then those in its inner brackets are not all."""
    inside, begin = "", group.start + 1
    for inner in group.inner:
        inside, begin = inside + text[begin : inner.start] + "()", inner.end
    pieces = [piece.strip() for piece in (inside + text[begin : group.end - 1]).split(",")]
    plain = [piece for piece in pieces if piece and "(" not in piece]
    return bool(group.inner) and any(
        piece == "..." or piece.isdigit() or (piece.isidentifier() and is_dim_word(piece)) for piece in plain
    )


def _is_operand(text: str, group: _BracketGroup, spec: Spec) -> bool:
    """Whether a bracket is a part of a formula: one size with an operator beside it."""
    before = _OPERATOR_BEFORE.search(text[max(group.start - 40, 0) : group.start])
    if before is not None and before.group(1) in {"**", "^"}:
        return True
    if len(spec.dims) != 1 or text[group.end - 2] == ",":
        return False
    if before is not None and (before.group(1) not in {"-", "−"} or isinstance(spec.dims[0], SymbolicDim)):
        return True  # a dash may also stand between a name and its shape
    return _OPERATOR_BEHIND.match(text, group.end) is not None


def _is_legend(text: str, group: _BracketGroup, spec: Spec) -> bool:
    """Whether a bracket tells what the letters of a contraction, or of another bracket, stand for."""
    labels = [getattr(dim, "label", None) for dim in spec.dims]
    if not labels or not all(labels):
        return False
    others = text[: group.start], text[group.end :]
    letters = {letter for other in others for found in _CONTRACTION.findall(other) for letter in found}
    names = {word for other in others for found in _INSIDE.findall(other) for word in re.findall(r"\w+", found)}
    return all(label in letters or label in names for label in labels)


def _read_jaxtyping(text: str, group: _BracketGroup, word: str) -> Bracket | None:
    """jaxtyping's own text in a comment: `Float[Array, "b s"]`, or a `PyTree` of it."""
    start = group.start - len(word)
    if word == "PyTree" and len(group.inner) == 1:
        inner = _read_bracket(text, group.inner[0])
        if isinstance(inner, Bracket) and inner.dtype in DTYPES and text[group.start + 1 : inner.start].strip() == "":
            return Bracket(
                start=start, end=group.end, text=text[start : group.end], spec=inner.spec, dtype=inner.dtype, tree=True
            )
    match = _JAXTYPING_ARGUMENT.fullmatch(text, group.start + 1, group.end - 1)
    if word not in DTYPES or match is None or not _ends_well(text, group.end):
        return None
    try:
        spec = parse_spec(match.group(1) if match.group(1) is not None else match.group(2), strict=True)
    except SpecError:
        return None
    return Bracket(start=start, end=group.end, text=text[start : group.end], spec=spec, dtype=word)


def _ends_well(text: str, end: int) -> bool:
    """Whether what follows the bracket leaves it a bracket: no call, no subscript, no attribute, no power."""
    after = text[end : end + 1]
    if after == ".":
        return not text[end + 1 : end + 2].isidentifier()
    return not (after.isalnum() or after in {"_", "(", "[", "^", "'", '"', "{"})
