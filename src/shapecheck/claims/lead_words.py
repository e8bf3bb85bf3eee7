"""The words around a bracket: which announce a shape, which name the value it belongs to, and which say it is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shapecheck.claims.axis_words import words
from shapecheck.claims.doubtful_words import SELDOM_WORDS

# A label that says no more than "this value".
_GENERIC = words(
    """
    array arrays tensor tensors matrix vector output outputs out result results returns returned return ret now
    dims dimensions size sizes final new yields gives becomes after each both so then thus
    """
)
# A label that speaks of something else than the value of the statement.
_INPUTS = words("input inputs in before args arguments expects expected takes accepts needs from originally was old")

_ARRAYS = frozenset({"array", "tensor", "matrix"})
_ABBREVIATIONS = words("e.g i.e eg ie etc cf vs e i g")
# `slice of x: (b, t)` tells what x is.
_PARTS = words("slice slices part parts piece pieces row rows column columns subset")
# `the last two dimensions (h, w)` are not all of them.
_PLACES = re.compile(
    r"\b(?:last|first|leading|trailing|remaining|inner|outer)\b[\w ]{0,12}\b(?:dim|ax[ei]s|dimension)s?$"
)
_MARKERS = words("shape shapes shaped shp")
_JOINING = words(
    "is are was were be becomes now of with has have having the a an its then like should must will expected to in"
)
# Words that are never the name of a value.
_NO_LABEL = _JOINING | words(
    "and or to into for at per this that these those can could may might by as on from so only via not no"
)
_PLURALS = frozenset({"As", "Is"})  # several of what is called A
_OF_ALL = frozenset({"each", "every", "all", "both"})
_ARTICLES = frozenset({"a", "an", "the", "of"})
_HEDGES = SELDOM_WORDS | words(
    "if when unless where whenever optional optionally maybe possibly either otherwise say may might can could e.g eg"
)
_IS_SOME_KIND = re.compile(r"(?:(?:for|if|when) )?[a-z-]+(?: [a-z]+)? or").fullmatch
# `(1,) uniform or per-object arrays`
_OR_ANOTHER = re.compile(r"[a-z]+ or (?:per-\w+|one\b|several\b|varying\b|an? array\b|non-\w+)")
_HEDGING = re.compile(
    r"\b(?:(?:true|false|none) means|for (?:example|instance)|in (?:general|most cases)"
    r"|(?:in|for|handles?) the (?:\w+ )?case|by default"
    r"|at (?:most|least)|we(?: ll| will|(?: are| re) going to))\b"  # what is announced comes later
)
# What is said of some cases only, on a line before as well.
_OF_CASES = re.compile(
    r"\b(?:may|might|could|sometimes|possibly|perhaps|e\.?g\.?|for example)(?!\w)"
    r"|^\s*(?:some|certain|many|most|other|older)\s+\w+\s+(?:accept|allow|take|use|expect|return|give|need|requir|pass"
    r"|have|produc|emit)",
    re.IGNORECASE,
)
# A comment that begins with one of these and ends in "to", "into" or "form" says what becomes of the value.
_CHANGES = re.compile(
    r"(?:re-?)?(?:shap|transpos|permut|expand|broadcast|squeez|flatten|collaps|concat|stack|pad|split|convert|bring|mov"
    r"|swap|merg|unpack|fold|unfold|tile|repeat|reduc|project|pool|resiz|slic|crop|unflatten|chang|turn|map|embed"
    r"|ravel|sum|averag|gather)\w*",
    re.IGNORECASE,
)
# The same as steps of a recipe, which are done to what they name.
_STEPS = words(
    """
    reshape transpose permute expand broadcast squeeze unsqueeze flatten unflatten collapse concatenate concat convert
    move swap merge unfold tile repeat reduce resize crop ravel
    """
)
# "Broadcast to match h: (b, n, d)" gives the shape of h.
_AS_OTHERS = words("match matching like as")
# Behind one of these words a bracket without marker is an interval, a set of axes, a factor, a tuple, ...
_NOT_BEFORE = words(
    """
    by range ranges interval intervals between within inside outside in tuple tuples pair pairs order like eq eqn eqs
    namedtuple namedtuples equation section algorithm ref refs see over along across axis axes reduce indices index
    coordinates coordinate point list returns return values value e.g i.e eg ie dict keys key args on contains
    containing sum mean max min norm product permutation of permute transpose stride strides kernel pad padding from
    except todo fixme note noqa using via represent represents represented denote denotes denoting
    """
)
_PAIR = 2
# What may well end the description of an array: "the gathered indices [n]".
_DESCRIBED = words("indices index values sum mean max min norm coordinates")
_OF_EACH = words("each every per")  # "forces on each neighbour pair [atoms, neighbours, 3]"
_NOT_AFTER = words(
    """
    pair pairs tuple tuples coordinates coords coordinate range interval intervals order ordering axes axis
    quaternion quaternions triple triples index indices kwargs arguments args keys convention represent represents
    denote denotes
    """
)
_OF_POINTS = words("coordinates coords quaternions")
_OF_WHICH = re.compile(r"[\s`,;]*+(?:index|indices|coordinates?|order|ordering) (?:of|into|for|along)\b", re.IGNORECASE)
# `(dt, state, state) split along the last axis` may be the sizes of the pieces.
_IN_PIECES = re.compile(
    r"[\s`,;]*+(?:\w+ )?(?:split|divided|chunked|concat\w*|joined|packed|fused)\b"
    r"[^.;()\[\]]*\b(?:ax[ei]s|dim|dims|dimensions?)\b",
    re.IGNORECASE,
)
# `(batch, steps, n), dropping dimensions equal to 0`: then the value has fewer axes at times.
_AXES_LEFT_OUT = re.compile(
    r"(?:with\s+)?(?:the\s+)?(?:dropp|omitt|squeez|remov|skipp|ignor|exclud|leaving out|without|singleton)\w*"
    r"[\w\s-]{0,30}\b(?:ax[ei]s|dims?|dimensions?)\b"
)

# Behind a shape to which a value was changed: what is done to it next.
_AND_NEXT = re.compile(r"[\s`,;]*+(before|and then|and|then) (\w+)", re.IGNORECASE)
_NEXT_STEP = re.compile(r"(?:[,;&] )?(?:and )?(?:then|finally)\b")
_TIMES = re.compile(r"\s*\d+\s*[x×]\s+")
_TOKEN = re.compile(r"[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+(?:'s\b)?+|\d++|[-=]{1,2}>|→|⇒|⟶|↦|==|\S")
_ARROWS = frozenset({"->", "-->", "=>", "==>", "→", "⇒", "⟶", "↦"})
_TYING = frozenset(":~")  # `x: (b, t)`, and `x ~ (b, t)` as some write it
_OPERATORS = frozenset("^@*+·×⊗⊙∘")
# Between two shapes, of what is computed of the two: `(a, b) @ (b, c)`, `[b, 1] ++ [b, t]`.
_SIGNS_BETWEEN = "x @ * + - × · ⊗ ⊕ < > <= >= ≤ ≥ != ++ || cat concat concatenated stacked"
_BETWEEN_OPERANDS = frozenset(_SIGNS_BETWEEN.split())
_VERBS = words("is are has now becomes be")
_LAST_WORD = re.compile(r"([A-Za-z]++)[\s`,]*+$")
_FIRST_WORD = re.compile(r"[\s`,]*+([A-Za-z]++)")
_LOOK_BACK = 200


@dataclass(frozen=True, kw_only=True)
class Lead:
    """What stands in front of a bracket.

    `joint` is the first sign that ties it to the bracket before: "", ",", "or", "arrow", "=", "op" or "prose"; "blank"
    if nothing stands between them.
    `labels` are names that the shape may belong to, `prose` counts the words beyond labels and markers.
    """

    joint: str
    labels: tuple[str, ...] = ()
    marked: bool = False
    colon: bool = False  # a colon or a verb ties the label to the bracket
    prose: int = 0
    arrow: bool = False
    inputs: bool = False
    generic: bool = False
    each: bool = False
    hedged: bool = False
    spoiled: bool = False  # the word before says that this is no shape
    assigned: bool = False  # `x = (b, t)`, which may also be code
    changed: bool = False  # a change leads to it: `transpose to (b, t)`


def read_lead(text: str, first: bool, *, described: bool = False) -> Lead:
    """Read what stands between the bracket before (or the start of the text) and a bracket.

    A text in which one value is `described` may well say that it is an array "of (n, d)".
    """
    if first and _TIMES.fullmatch(text):
        text = "each"  # `2x (n,)`, of two values
    tokens = _TOKEN.findall(text[-_LOOK_BACK:].replace("--->", "->").replace("-->", "->").replace("==>", "->"))
    if first or text.strip(" `") != "*":  # `[e, k]*[e, 1]` is a product; other stars are Markdown
        tokens = [token for token in tokens if token not in {"`", "*", '"', "'", "“", "”", "{"}]
    return _LeadReader(tokens, first, described).read_lead()


class _LeadReader:
    """Takes a lead apart from its end. An instance reads one lead."""

    def __init__(self, tokens: list[str], first: bool, described: bool) -> None:
        self.tokens = tokens
        self.first = first
        self.described = described

    def read_lead(self) -> Lead:
        words = [token.lower() for token in self.tokens]
        if not self.first and words in (["to"], ["into"]):
            return Lead(joint="arrow", arrow=True)
        if not self.first and words[-1:] in (["to"], ["into"]) and _NEXT_STEP.match(" ".join(words)):
            return Lead(joint="arrow", arrow=True)  # `reshape to (b, h, t) then transpose to (b, t, h)`
        if self.first and len(words) > 1 and words[-1] in {";", "."} and words[-2] not in _ABBREVIATIONS:
            self.tokens, words = [], []  # a sentence, and then the shape by itself
        if self.first and len(words) > 3 and words[-2] == ":" and words[-1] in _OF_ALL:
            self.tokens, words = self.tokens[-1:], words[-1:]
        if words in (["optional"], ["(", "optional", ")"]):
            self.tokens, words = [], []  # it may also be None
        of_array = words[-1:] == ["of"] and (self.described or not _ARRAYS.isdisjoint(words[-2:-1]))
        of_values = self.described and bool(words) and words[-1] in _DESCRIBED
        of_values |= self.described and words[-1:] == ["pair"] and not _OF_EACH.isdisjoint(words[-3:-1])
        spoiled = bool(words) and words[-1] in _NOT_BEFORE and not (of_array or of_values)
        changes = self.first and self._says_change(words)
        assigns = self._assigns()
        if assigns:
            self.tokens.pop()
            words.pop()
        marked, colon, arrow = (False, True, False) if assigns else self._take_marker()
        arrow = arrow or (changes and not marked)
        if marked and self.tokens[-1:] == ["("] and len(self.tokens) > 1:
            self.tokens.pop()  # `x (shape [b, t])`
        spoiled = spoiled or _PLACES.search(" ".join(words)) is not None
        is_rest = self.first and words[-1:] == ["+"] and words[-2:-1] != []  # `batch_shape + (n, n)`
        labels = self._take_labels()
        if labels and [token.lower() for token in self.tokens[-2:]] == ["same", "as"]:
            self.tokens += labels  # `same as x: (n, d)` is about another
            labels = ()
        if colon and not labels and len(self.tokens) == 1 and self.tokens[0] in _PLURALS:
            labels = (self.tokens.pop(),)
        if assigns and not self.first:  # in `x = (n, d) images, y = (n,)` one word belongs to what stands before
            self.tokens += labels[:-1]
            labels = labels[-1:]
        elif colon and labels and not self.first:
            labels = self._without_words_before(labels)
        is_part = self.tokens[-1:] == ["of"] and not _PARTS.isdisjoint(word.lower() for word in self.tokens[-2:-1])
        if labels and colon and self.tokens[-1:] == ["where"]:
            words.remove(self.tokens.pop())  # `where x has shape` hedges nothing
        if len(self.tokens) > 1 and self.tokens[-1].lower() in {"of", "for"} and self.tokens[-2].lower() in _MARKERS:
            marked = True  # `shape of x is`
            del self.tokens[-2:]
        if self.tokens[-1:] and self.tokens[-1] in _ARROWS:
            arrow = True  # `(a, b) -> pooled (a,)`
            self.tokens.pop()
        joint = self._joint(arrow, colon, blank="" if labels or marked else "blank")
        rest = [token.lower() for token in self.tokens if token[0].isalpha()]
        lowered = {label.lower() for label in labels}
        assigned = self.tokens[-1:] == ["="] and joint != "="
        return Lead(
            joint=joint,
            labels=labels,
            marked=marked,
            colon=colon,
            prose=sum(word not in _ARTICLES for word in rest),
            arrow=arrow and not is_part,
            inputs=not _INPUTS.isdisjoint((*lowered, *rest)),
            generic=bool(labels) and lowered <= _GENERIC,
            each=not _OF_ALL.isdisjoint(words),
            hedged=not _HEDGES.isdisjoint(words) or _HEDGING.search(" ".join(words)) is not None,
            spoiled=is_part or is_rest or ((spoiled or assigned) and not (marked or arrow)),
            assigned=assigns and bool(labels),
            changed=changes,
        )

    @staticmethod
    def _says_change(words: Sequence[str]) -> bool:
        """Whether a lead tells of what becomes of a value: `transposed to`, or as a step, `reshape state:`."""
        if words[-1:] in (["to"], ["into"], ["form"]):
            return _CHANGES.fullmatch(words[0]) is not None
        return len(words) > 2 and words[-1] == ":" and words[0] in _STEPS and words[-3] not in _AS_OTHERS

    def _assigns(self) -> bool:
        """Whether a lone name and an equals sign stand in front, `x =`, or behind a comma as in `image, t =`."""
        if self.described or self.tokens[-1:] != ["="] or len(self.tokens) < 2 or self._marker_is_next():
            return False
        before = self.tokens[-3:-2]
        return self._is_label(self.tokens[-2]) and (not before or before[0] in {",", ";", "("})

    def _take_marker(self) -> tuple[bool, bool, bool]:
        """Take the marker, the arrow and the words that join them to the bracket off the end."""
        marked = colon = arrow = False
        while self.tokens:
            last = self.tokens[-1]
            word = last.lower()
            if last in _TYING or (last in {"=", "=="} and (marked or self._marker_is_next())):
                colon = True
            elif word in _MARKERS:
                marked = True
            elif last in _ARROWS:
                if marked:
                    break
                arrow = True
            elif word in _VERBS or (word in _JOINING and (marked or self._marker_is_next())):
                colon = colon or word in _VERBS
            elif last.endswith((".shape", ".shapes")):
                self.tokens[-1] = last.rpartition(".")[0]
                return True, True, arrow
            else:
                break
            self.tokens.pop()
        return marked, colon, arrow

    def _marker_is_next(self) -> bool:
        """Whether a marker stands in front of the last token, with nothing but joining words between."""
        for token in reversed(self.tokens[:-1]):
            if token.lower() in _MARKERS or token.endswith((".shape", ".shapes")):
                return True
            if token.lower() not in _JOINING and token not in {":", "="}:
                return False
        return False

    def _take_labels(self) -> tuple[str, ...]:
        """Take the names off the end that the shape may belong to: `query, key and value`."""
        labels: list[str] = []
        while self.tokens and self._is_label(self.tokens[-1]):
            labels.insert(0, self.tokens.pop().removesuffix("'s"))
            if len(self.tokens) < 2 or self.tokens[-1].lower() not in {",", "/", "&", "and"}:
                break
            if not self._is_label(self.tokens[-2]):
                break
            self.tokens.pop()
        if labels and self._ends_in_operand():
            self.tokens += labels  # `W^T W: (m, m)` is about a product, and not about W
            return ()
        return tuple(labels)

    def _without_words_before(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The labels without what is said of the bracket before: in `x: (n, d) images, y: (n,)` that of the images."""
        if self.tokens[-1:] in ([","], [";"]):
            del self.tokens[:-1]
        elif len(labels) > 1 and all(token[0].isalpha() for token in self.tokens):
            self.tokens, labels = [","], labels[1:]
        return labels

    def _ends_in_operand(self) -> bool:
        """Whether the last token is an operator or an operand: then what stands behind it is an operand as well."""
        last = self.tokens[-1:]
        if len(self.tokens) > 1 and (last[0] in _OPERATORS or self.tokens[-2] == "^"):
            return True
        return bool(last) and last[0].endswith((".T", ".mT"))

    def _is_label(self, token: str) -> bool:
        bare = token.removesuffix("'s")
        if bare.lower() == "a":  # else it is an article
            return len(self.tokens) == 1 or self.tokens[:-1] == [","] or self.tokens[-2].lower() in {"where", "and"}
        if bare == "x" and not self.first and len(self.tokens) == 1:
            return False  # `(a, b) x (b, c)`
        return bare.replace(".", "").isidentifier() and bare.lower() not in _NO_LABEL | _HEDGES

    def _joint(self, arrow: bool, colon: bool, blank: str) -> str:
        """What ties the bracket to the one before it."""
        if self.first:
            return ""
        if arrow:
            return "arrow"
        if not self.tokens:
            return "prose" if colon else blank
        signs = [token.lower() for token in self.tokens]
        if signs in ([","], [";"], ["and"], ["&"], [",", "and"]):
            return ","
        if signs in (["or"], ["/"], ["|"], [",", "or"]) or (signs[-1] == "or" and _IS_SOME_KIND(" ".join(signs))):
            return "or"  # also of `(1,) uniform or (n,)`
        if signs in (["="], ["=="]):
            return "="
        if "".join(signs) in _BETWEEN_OPERANDS:
            return "op"
        return "prose"


def is_of_cases(text: str) -> bool:
    """Whether a sentence as far as here says what may be: `Some models accept images, or`."""
    return _OF_CASES.search(text) is not None


def spoils(text: str) -> bool:
    """Whether the last word of a text says that a bracket behind it is no shape."""
    match = _LAST_WORD.search(text[-_LOOK_BACK:])
    return match is not None and match.group(1).lower() in _NOT_BEFORE | {"the", "a", "and", "or", "with", "for"}


def is_no_subject(text: str) -> bool:
    """Whether the last word of a text is none that a shape may be of: `split into`, `a list of`."""
    match = _LAST_WORD.search(text[-_LOOK_BACK:])
    return match is not None and match.group(1).lower() in _NOT_BEFORE - _DESCRIBED


def follows_badly(text: str, axes: int, *, sizes: bool = False, described: bool = False) -> bool:
    """Whether the first word behind a bracket of so many names says that it was no shape: `(i, j) pairs`.

    Where its names are those of `sizes`, as N and M are, there may be so many indices; in `(n,) index of the child`
    each item is one, and so it is wherever a value is `described`. The keys of attention have shapes, `(s, h, d) keys`;
    those of a dict are hardly listed three at a time. Nor are there so many `(b, n, 3) coordinates` of one point.
    """
    match = _FIRST_WORD.match(text)
    word = match.group(1).lower() if match is not None else ""
    if word == "keys" and (sizes or axes > _PAIR):
        return False
    if (axes == 1 or described) and _OF_WHICH.match(text):
        return False
    if word in _OF_POINTS and described and sizes and axes > _PAIR:
        return False
    return word in _NOT_AFTER and not (sizes and word == "indices")


def leads_on(text: str) -> bool:
    """Whether an arrow, an equals sign or an operator follows a bracket: then it is only a part of something."""
    return re.match(r"[\s`.]*+(?:[-=]{1,2}>|[→⇒⟶↦]|==?\s|[+*]\s*+[\w`(])", text) is not None


_SAYS_WHAT_IS = re.compile(r"where\s+`*\w+`*\s*(?:=(?!=)|\bis\b|\bare\b|:)")  # `where K = top_k` hedges nothing


# "(k, c) -> (d,) per patch", of all patches at once; "(b, 1) broadcasts over (b, o)", which is one operand.
_OF_EACH_OR_AGAINST = re.compile(r"[\s`]*(?:(?:per|for\s+(?:each|every))\s+[a-z]|broadcasts?\b)", re.IGNORECASE)


def is_conditional(text: str) -> bool:
    """Whether the text behind a bracket says that it holds only at times: `(b, t) if causal`."""
    if leaves_axes_out(text) or _OF_EACH_OR_AGAINST.match(text):
        return True
    text = text.lstrip(" `,(").lower()
    match = _FIRST_WORD.match(text)
    if _SAYS_WHAT_IS.match(text):
        return False
    if _OR_ANOTHER.match(text):
        return True
    return match is not None and (match.group(1) in _HEDGES | {"or", "e"} or _HEDGING.match(text) is not None)


def changes_again(text: str) -> bool:
    """Whether the text behind a bracket goes on to another shape: `transpose to (d, n) before ravel`."""
    goes_on = _AND_NEXT.match(text)
    if goes_on is None:
        return False
    return goes_on.group(1).lower() == "before" or _CHANGES.fullmatch(goes_on.group(2)) is not None


def leaves_axes_out(text: str) -> bool:
    """Whether the text behind a bracket says that the value may lack some of the axes: `, dropping those of size 1`."""
    return _AXES_LEFT_OUT.match(text.lstrip(" `,(").lower()) is not None


def may_list_pieces(text: str) -> bool:
    """Whether the text behind a bracket says that it may have the sizes of the pieces of one axis."""
    return _IN_PIECES.match(text) is not None


def is_hedge(text: str) -> bool:
    """Whether a bracket only says that what is before it does not always hold: `(b, t) (usually)`."""
    return text.strip("()[] ").lower() in SELDOM_WORDS


def is_marked_behind(text: str) -> bool:
    """Whether the marker stands behind the bracket: `[B, T]-shaped`; not of "the (rows, columns) shape, as a tuple"."""
    return re.match(r"`*+[-\s]*+shaped?\b(?!\s+of\b|,?\s+as\s+an?\s+(?:\w+\s+)?tuple\b)", text) is not None
