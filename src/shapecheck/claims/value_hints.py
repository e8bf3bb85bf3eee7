"""What descriptions say of values beside shapes: their plain type, or that they are arrays; which texts they may be.

`white_bkgd: bool.`, `n (int): how many`, `mode: one of 'first', 'last'`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from shapecheck.model.claim import ANY_ARRAY, ARRAY_OR_NUMBER

_TYPES: Final = {
    "bool": "bool",
    "boolean": "bool",
    "float": "float",
    "int": "int",
    "integer": "int",
    "str": "str",
    "string": "str",
}
# A class by its name alone, where authors put types: `kernel : RBF`, `kernel (RBF): ...`.
MAY_SAY_TYPE = re.compile(
    rf"\b(?:{'|'.join(_TYPES)}|(?:nd)?{ANY_ARRAY}|tensor)\b|(?-i:\([A-Z]\w*[,)]|:[ \t]*[A-Z]\w*[ \t]*(?:,|\n|$))"
    r"|:[ \t]*\d+,[ \t]*\d|\bnumber[ \t]+of\b",
    re.IGNORECASE,
)
_CLASS = re.compile(
    r"[ \t]*(?:\([ \t]*`?(?P<inside>[A-Z]\w*)`?[ \t]*[,)]|:?[ \t]*`?(?P<alone>[A-Z]\w*)`?[ \t]*(?:,|\n|$))"
)
_TYPE = rf"`?(?P<{{}}>{'|'.join(_TYPES)})`?"
_FORMS = re.compile(
    # Behind a plain word comes something else, or nothing: in `float array` it is the array's.
    rf"[ \t]*(?:\([ \t]*{_TYPE.format('inside')}[ \t]*(?:,[^()\n]*)?\)"
    rf"|:?[ \t]*(?:an?[ \t]+)?{_TYPE.format('alone')}[ \t]*(?:[.,;:\n]|$))",
    re.IGNORECASE,
)
# "0, 1, or 2 for the first, second, or third"; no list of what the elements of an array are.
_NUMBERS = re.compile(r"[ \t]*:?[ \t]*\d+(?:,[ \t]*\d+)+,?[ \t]+or[ \t]+\d+\b(?![^\n]*\b(?:each|every|per|elements)\b)")
# "Number of atoms", which is one number, and not "Number of neighbours of each atom".
_COUNT = re.compile(
    r":?\s*(?:the\s+)?(?:total\s+|maximum\s+|max\.?\s+)?number[ \t]+of[ \t]+\w"
    r"(?![^\n]*(?:\b(?:each|every|per|array|tensor|vector|shape|float|fraction|traced)\b|[\[(]\w+,))",
    re.IGNORECASE,
)
# "An array ...", and the types of arrays: `np.ndarray`, `jax.Array`, `(Tensor)`.
_ARRAY_TYPE = rf"(?:\w+\.)+(?:nd)?{ANY_ARRAY}|ndarray|(?:\w+\.)*(?:Array|Tensor)"
_ARRAY = re.compile(rf":?\s*(?:(?i:an?|the)[ \t]+{ANY_ARRAY}\b|[(`]?(?:{_ARRAY_TYPE})\b)")
# "jax.Array | float", "np.ndarray or scalar", "float or Array".
_NUMBER = r"(?:float|int|complex|scalar)\b"
_OR = r"`?[ \t]*(?:\||,?[ \t]*\bor\b)[ \t]*`?(?:a[ \t]+)?"
_ARRAY_OR_NUMBER = re.compile(
    rf":?\s*[(`]?(?:Union\[[ \t]*)?(?:(?:{_ARRAY_TYPE}){_OR}{_NUMBER}|{_NUMBER}{_OR}(?:{_ARRAY_TYPE})\b)"
)
MAY_LIST_TEXTS = re.compile(r"one of|either|must be|choices|options|allowed|supported|can be|\{\s*['\"]", re.IGNORECASE)
_QUOTED = re.compile(r"""["'`]([\w.-]+)["'`]""")
_WORDS_FOR_NONE = frozenset({"None", "True", "False"})


def type_of(description: str) -> str:
    """The plain type or class, by name, that a description of a parameter begins with, behind its name; "" for none."""
    if _NUMBERS.match(description) or _COUNT.match(description):
        return "int"
    if _ARRAY_OR_NUMBER.match(description):
        return ARRAY_OR_NUMBER
    found = _FORMS.match(description)
    if found is None and _ARRAY.match(description):
        return ANY_ARRAY
    if found is None and (named := _CLASS.match(description)) is not None:
        return named["inside"] or named["alone"]
    return _TYPES[(found["inside"] or found["alone"]).lower()] if found is not None else ""


def texts_of(description: str, names: Container[str] = ()) -> tuple[str, ...]:
    """The texts that a description lists, without the `names` of what it describes."""
    if not MAY_LIST_TEXTS.search(description):
        return ()
    quoted = (word for word in _QUOTED.findall(description) if word not in _WORDS_FOR_NONE)
    return tuple(dict.fromkeys(word for word in quoted if word not in names))
