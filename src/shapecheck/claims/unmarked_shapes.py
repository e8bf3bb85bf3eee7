"""Shapes in a description that does not call them so: `x: [B, T, D] tokens`, `w: weight matrix (n, m)`.

Much that is in brackets is none: units, intervals, tuples of results, what a name is short for. So only a bracket in a
place where authors put shapes counts, and only if all its names are such as axes have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container

from shapecheck.claims.axis_words import is_dim_word, strength, words
from shapecheck.claims.brackets import Bracket
from shapecheck.claims.comment_text import Segment, lone_capital
from shapecheck.shapes import AnyDims, FixedDim, SymbolicDim, comment_dtype
from shapecheck.syntax.scopes import dotted_name

_ARRAYS = words(
    """
    array arrays tensor tensors matrix matrices ndarray ndarrays vector vectors array_like arraylike arr mask masks
    logits embeddings image images tokens indices
    """
)
# What may stand between the name of a parameter and its shape; of a dotted word the last part counts.
_ARTICLES = words("a an the of optional numpy jax jnp np torch dense real binary boolean batched like type dtype nd")
_WORD = re.compile(r"[A-Za-z_][\w.]*|\d-?[dD]\b")
_NOUN_BEHIND = re.compile(
    r"[\s`'\"]*+(?:[\w./-]+\s+){0,2}?(?:(?:[\w.]+\.)?(?:nd|Named)?[Aa]rrays?|[Tt]ensors?|matrix|matrices|vectors?|dimensional|masks?)\b"
)
_WORD_BEHIND = re.compile(r"[\s`'\"]*+(?:in\s+)?([A-Za-z]\w*)")
# Between the name and the colon: `(complex64)`, `(array, optional)`, `(Tuple[int, int])`.
_SLOT = re.compile(r"\s*\((?:[^()\n]|\([^()\n]*\))*\)\s*(?=:)")
_ENTRY = re.compile(
    r"(?:^|\n)[ \t]*(?:[-*+]\s+|\d+[.)]\s+)?[`*'\"]*([A-Za-z_]\w*)[`*'\"]*\s*(?:\([^()\n]*\)\s*)?"
    r"(?::|(?<=\s)[-–][ \t])([^:\n]*)$"
)
# density `[..., 1]`: of each point
_NAMED = re.compile(r"(?:^|\n)[ \t]*(?:[-*+]\s+)?[`*'\"]*[A-Za-z_]\w*[`*'\"]*[ \t]+(?:`\w+`[ \t]*)?`?$")
_COLON_BEHIND = re.compile(r"`?[\w -]{0,20}:")
_SENTENCE = re.compile(r"[.;](?=\s|$)|\n\s*\n")
_NO_ARRAY = re.compile(
    r"\b(?:int|float|str|bool|tuple|Tuple|[Nn]amed[Tt]uple|list|List|Sequence|Callable|callable|dict|Dict|Mapping|type)\b"
)
_SOME_ARRAY = re.compile(r"[Aa]rray|[Tt]ensor|PyTree|Float|Int\b|matrix|jnp|np\.|Any\b")
# Parameters that are shapes or places themselves.
_TUPLE_NAMES = re.compile(
    r"(?:^|_)(?:sizes?|shapes?|strides?|padding|pad|resolution|dims|dimensions|axes|axis|ranges?|bounds?|limits?|lims?"
    r"|dilations?|interval|figsize|args|kwargs|fn|spec|specs|order|layout|pspec|hw)$"
)
_NUMBERS = frozenset({"float", "int", "complex"})
_NUMBER_BEFORE = re.compile(r"(?:^|[:(])\s*(?:float|int|scalar|number)\)?(?:\s+or)?\s+[`'\"]*$")
_NUMBER_BEHIND = re.compile(r"[\s`'\")\]]*,?\s*or\s+(?:an?\s+|one\s+)?(?:float|int|scalar|number)\b", re.IGNORECASE)
_COORDINATES = words("x y z u v w i j")
_OF_A_PLACE = words("row col column lat lon r c")
_BOUNDS_BEFORE = re.compile(r"\b(?:bounds|limits|interval|range)\s+[`'\"]*$", re.IGNORECASE)
_PLACE_BEFORE = re.compile(r"\b(?:position|point|location|place|coordinates?|cell|pixel)\s+[`'\"]*$", re.IGNORECASE)
_UNIT_BEFORE = re.compile(r"\b(?:in|units?|(?<!array )(?<!tensor )(?<!matrix )of|from|to|between|by)\s+[`'\"]*$")
_COUNTED = re.compile(r"(\w*?)_?\d+")
_FLOAT = re.compile(r"b?fp?\d+")
_OF_ARRAY = re.compile(r"\b(?:(?:array|tensor|matrix) of|of size|of dimensions?)\s+[`'\"]*$")
_UNITS = re.compile(r"\bunits?\W*$", re.IGNORECASE)
_OR_NONE = re.compile(r"^[\s`,]*(?:\(?optional\)?|or\s+`*None`*)", re.IGNORECASE)
_VALUES = words(
    """
    range interval default defaults values value pairs pair tuple tuples namedtuple namedtuples e.g eg i.e ie or between
    unit units
    """
)


def is_unmarked_shape(text: str, segment: Segment, begin: int, *, is_return: bool, known: Container[str]) -> bool:
    """Whether a segment of a description is a shape by its place; behind `begin` begins the text since the last one."""
    if not is_return and lone_capital(text):
        return True
    bracket = segment.shapes[0]
    lead = text[begin : bracket.start] if begin else _SLOT.sub(_blank, text[: bracket.start], count=1)
    if _BOUNDS_BEFORE.search(text[: bracket.start]):
        return False  # "the lower and upper bounds [L, U]"
    if _PLACE_BEFORE.search(text[: bracket.start]) and _OF_A_PLACE.issuperset(bracket.spec.names()):
        return False  # "target position (row, col)"
    if _UNITS.search(bracket.text):
        return False  # "energy density [geometric units]"
    if segment.arrow or not all(may_be_shape(each, known) for each in segment.shapes):
        return False
    entry = _ENTRY.search(text[: bracket.start]) if is_return else None
    if is_return and _NAMED.search(text[: bracket.start]) and _COLON_BEHIND.match(text, bracket.end):
        return True
    if entry is not None:
        return _is_article(entry.group(2)) or _ends_in_noun(entry.group(2)) or _is_last(text, bracket)
    at_start = not begin and _is_article(lead)
    if _UNIT_BEFORE.search(lead) or (begin and is_return):
        return False
    behind = _NOUN_BEHIND.match(segment.tail) is not None or _is_dtype_behind(segment.tail)
    if at_start:
        return behind or not is_return or _is_last(text, bracket) or bool(_words(lead))
    if not bracket.is_list and all(len(name) == 1 and name not in known for name in bracket.spec.names()):
        return False  # `length [m]` has a unit
    if _lists_components(lead, bracket, known):
        return False
    sentence = _SENTENCE.split(lead)[-1]
    others = _VALUES & {each.lower() for each in _words(sentence)}
    are_known = bool(bracket.spec.names()) and all("_" in name and name in known for name in bracket.spec.names())
    is_of_values = _ends_in_noun(sentence) or _is_unmistakable(bracket) or are_known
    if others and not are_known and not (others <= {"value", "values"} and is_of_values):
        return False  # but `value tensor (b, t)` and `target values [num_samples, y_dim]` are so many
    if _ends_in_noun(sentence) or _OF_ARRAY.search(sentence):
        return True
    if not _words(sentence) and _is_last(text, bracket):
        return True  # "The masked values. [batch, n]"
    strong = bool(bracket.spec.names()) or any(isinstance(dim, AnyDims) for dim in bracket.spec.dims)
    placed = behind or _is_last(text, bracket)
    placed = placed or (not is_return and (_is_unmistakable(bracket) or _is_quoted_list(text, bracket)))
    return strong and placed and _is_first_sentence(text, bracket)


def _lists_components(lead: str, bracket: Bracket, known: Container[str]) -> bool:
    """Whether the names behind "vector" are those of its parts: `a velocity vector [v, w]`."""
    before = _words(lead)
    small = all(len(name) == 1 and not name.isupper() and name not in known for name in bracket.spec.names())
    return before[-1:] in (["vector"], ["vectors"]) and bracket.is_list and bool(bracket.spec.names()) and small


def is_listed_shape(segment: Segment, known: Container[str], beside: Container[str]) -> bool:
    """Whether what follows "x and y are" or "x" is one shape, and no tuple of values.

    So is the one axis of `x: [n_x]`, and that of `w [n]` where n is `beside` it, in another shape of the text.
    """
    bracket = segment.shapes[0]
    return (
        not (segment.arrow or segment.hedged)
        and len(segment.shapes) == 1
        and (
            bracket.is_list
            or (bracket.text.startswith("[") and (segment.colon or all(name in beside for name in segment.names)))
        )
        and may_be_shape(bracket, known)
    )


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def takes_no_array(name: str, description: str, annotation: ast.expr | None) -> bool:
    """Whether a parameter is a size, a tuple or a function, by its name, its type or the type in its description."""
    if _TUPLE_NAMES.search(name.lower()):
        return True
    slot = _SLOT.match(description)
    types = [slot.group()] if slot is not None else []
    types += [ast.unparse(annotation)] if annotation is not None else []
    return any(_NO_ARRAY.search(each) and not _SOME_ARRAY.search(each) for each in types)


def admits_number(before: str, behind: str, annotation: ast.expr | None) -> bool:
    """Whether one number may be given in place of an array, by what stands around its shape or by its type.

    `r: (float) (n,) radii`, "of shape (n,), or a scalar", or `r: float | jax.Array`.
    """
    nodes = ast.walk(annotation) if annotation is not None else ()
    members = [part for each in nodes if isinstance(each, ast.expr) and (part := dotted_name(each))]
    is_union = len(members) > 1 and not _NUMBERS.isdisjoint(members)
    return is_union or _NUMBER_BEFORE.search(before) is not None or _NUMBER_BEHIND.match(behind) is not None


def may_be_shape(bracket: Bracket, known: Container[str]) -> bool:
    """Whether all that is in a bracket may be axes: names such as axes have, and sizes that are no interval."""
    names = bracket.spec.names()
    if bracket.is_interval or bracket.ambiguous or _is_enumeration(bracket):
        return False
    if not names:
        fixed = [dim.size for dim in bracket.spec.dims if isinstance(dim, FixedDim)]
        others = [dim for dim in bracket.spec.dims if not isinstance(dim, FixedDim)]
        plain = all(isinstance(dim, AnyDims) for dim in others) and all(size > 1 for size in fixed)
        return bool(fixed) and plain and bracket.is_list
    if strength(names, known) < 1.0:
        return False
    if all(name in _COORDINATES and name not in known for name in names):
        return False
    if len(bracket.spec.dims) == 1 and not bracket.trailing_comma:
        dim = bracket.spec.dims[0]
        word = not isinstance(dim, SymbolicDim) or all(name in known or "_" in name for name in names)
        if not bracket.text.startswith("["):  # `charges: (M)` beside `atoms: (M, 3)`; words may be anything else
            return word and all(name in known and ("_" in name or name.isupper()) for name in names)
        return word and all("_" in name or name in known or is_dim_word(name) for name in names)
    return True


def _is_enumeration(bracket: Bracket) -> bool:
    """Whether a bracket counts from 0 or 1 on: `at times [1, ..., T]`, `amplitudes [a_1, a_3, ...]`."""
    first, *others = bracket.spec.dims or (AnyDims(),)
    beginnings = [found.group(1) for found in map(_COUNTED.fullmatch, bracket.spec.names()) if found is not None]
    if any(isinstance(dim, AnyDims) for dim in others) and len({*beginnings}) < len(beginnings):
        return True
    return isinstance(first, FixedDim) and first.size <= 1 and any(isinstance(dim, AnyDims) for dim in others[:-1])


def _is_unmistakable(bracket: Bracket) -> bool:
    """Whether a bracket lists several axes by long names: `[batch_size, num_frames, 2]`."""
    long = [name for name in bracket.spec.names() if "_" in name]
    return bracket.text.startswith("[") and len(bracket.spec.dims) > 1 and len(long) == len(bracket.spec.names()) > 0


def _is_quoted_list(text: str, bracket: Bracket) -> bool:
    """Whether a bracket of several axes is marked as code: ``(B, H, W, C)``."""
    return bracket.is_list and text[: bracket.start].endswith("`") and text.startswith("`", bracket.end)


def _words(text: str) -> list[str]:
    return [word.rstrip(".").rpartition(".")[2] for word in _WORD.findall(text)]


def _is_article(lead: str) -> bool:
    """Whether nothing but articles and types of arrays stands in front of a bracket."""
    return all(
        word.lower() in _ARTICLES | _ARRAYS or word[0].isdigit() or comment_dtype(word) is not None
        for word in _words(lead)
    )


def _ends_in_noun(lead: str) -> bool:
    """Whether the last word in front of a bracket is one for arrays."""
    found = re.search(r"([A-Za-z_][\w.]*)[\s`'\",:]*$", lead)
    if found is not None and (comment_dtype(found.group(1)) is not None or _FLOAT.fullmatch(found.group(1))):
        return True
    return found is not None and found.group(1).rpartition(".")[2].lower() in _ARRAYS - {"indices", "tokens", "images"}


def _is_dtype_behind(tail: str) -> bool:
    found = _WORD_BEHIND.match(tail)
    return found is not None and comment_dtype(found.group(1)) is not None


def _is_last(text: str, bracket: Bracket) -> bool:
    """Whether a bracket ends its line, or its sentence."""
    rest = re.split(r"\n|\.(?:\s|$)", text[bracket.end :], maxsplit=1)[0]
    return not _OR_NONE.sub("", rest).strip(" .,;`'\"*)")


def _is_first_sentence(text: str, bracket: Bracket) -> bool:
    return not _SENTENCE.search(text.strip()[: max(bracket.start - (len(text) - len(text.lstrip())), 0)])
