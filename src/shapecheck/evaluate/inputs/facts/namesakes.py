"""What the names of dims and integers say: of what they are numbers, and whether two of them are one size."""

from __future__ import annotations

import re
from collections.abc import Collection

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say "how many" or "how large", and not of what.
_COUNTS = _word_set("n num number nb no of max min total size dim dims len length count d")
_SHORTEST_PREFIX = 3  # `seq` of `sequence`; shorter ones begin too many words
# One-letter names that nearly always mean one word.
_NUMBERS = (("n",), ("num",), ("number",))
_HOW_MANY = _word_set("n num number nb no")
_LIMITS = _word_set("max total")
_LETTERS = {"b": "ba", "t": "ti", "c": "ch"}

_SEQUENCE = _word_set(
    "s t l n seq sequence time timestep step length len token position pos patch context ctx block frame horizon"
)
_SPATIAL = _word_set("h w x y height row col column image img resolution res pixel spatial spacial side grid")
_ALONG = (_word_set("h y height row"), _word_set("w x width col column"))  # the one side of an image, and the other
_SIZE = ("size",)  # an integer of which no more is said: of what is cut into patches, most likely
_BATCH = _word_set("b bs batch example sample")
_POINTS = _word_set("m point edge node vertex agent env environment particle atom residue ray query key")
_OF_MODELS = _word_set(
    "head group layer channel class feature hidden model embed embd embedding kernel expert code vocab latent unit"
)
_PARTS = _word_set("head group layer depth expert stage")  # of which a model has several

_MOMENTS = _word_set("next prev previous curr current new old last")
# Words for the features of whatever it is.
_ANYTHING = _word_set("hidden width model channel embed embedding emb inner state out in output input unit base ch")
_SHORT = 2  # letters of what is no word
_SHORTEST_TYPO = 6  # letters of a name of which another may be a misspelling

EXTENTS = (_SEQUENCE | _SPATIAL | _BATCH | _POINTS) - {"n", "x", "y", "l"}
"""Words for axes that count things, which one more of would be as good, as against features; single letters that are
used for both are left out."""


def words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters and singular: `num_patches`, `nPatches` -> num, patch."""
    return tuple(_singular(word.lower()) for word in _WORD.findall(name))


def is_extent(name: str) -> bool:
    """Whether an axis of this name counts things: a batch, the steps of time, the points of a cloud."""
    return any(word in EXTENTS for word in words(name))


def is_count(name: str, *, or_bound: bool = False) -> bool:
    """Whether a name says in two words how many there are of something that is none of a model: `num_states`.

    Also, with `or_bound`, how many there may be: `max_nodes`.
    """
    counted, *rest = words(name) or ("",)
    counts = counted in _HOW_MANY or (or_bound and counted in _LIMITS)
    return counts and bool(rest) and not is_of_models(name)


def counts_examples(name: str) -> bool:
    """Whether an axis of this name counts what a model is given many of: no size of the model follows that."""
    return any(word in (_BATCH | _POINTS) - {"m", "query", "key"} for word in words(name))


def counts_parts(name: str) -> bool:
    """Whether an integer of this name counts parts that a model has, such as its layers or heads."""
    return not _PARTS.isdisjoint(words(name))


def are_of_two_kinds(dim: str, related: Collection[str]) -> bool:
    """Whether an axis counts things, and what is computed of some integers belongs to each of a model's parts.

    So it is with `t` and `dim // heads`, but not with `t // heads`.
    """
    return is_extent(dim) and any(map(counts_parts, related)) and not any(map(is_extent, related))


def is_of_features(name: str) -> bool:
    """Whether an integer of this name counts features: `hidden_dim`, `width`."""
    return not (_ANYTHING | {"dim", "feature"}).isdisjoint(words(name))


def is_of_models(name: str) -> bool:
    """Whether an integer of this name belongs to how a model is built, and to no axis of its data: `n_heads`."""
    return any(word in _OF_MODELS for word in words(name))


def are_namesakes(dim: str, integer: str) -> bool:
    """Whether a dim and an integer go by one name: `embed`, `embed_dim`; `t`, `num_timesteps`; `seq`, `max_len`."""
    if dim == integer:
        return True
    left, right = significant_words(dim), significant_words(integer)
    if left == right:
        return True
    if len(dim) == 1:
        start = _LETTERS.get(dim.lower(), dim.lower())
        if any(word.startswith(start) for word in right):
            return True
        if start == "n" and words(integer)[:1] in _NUMBERS and is_extent(integer) and not is_of_models(integer):
            return True  # `N` of `num_points`
    elif any(_abbreviates(a, b) or _abbreviates(b, a) for a in left for b in right):
        return True
    if is_spatial(dim) and right == _SIZE:
        return True
    return any(kind & set(left) and kind & set(right) for kind in (_SEQUENCE, _SPATIAL, _BATCH))


def are_spelled_alike(dim: str, integer: str) -> bool:
    """Whether a dim has the words of an integer, or abbreviates them: `cls`, `num_classes`; no single letter does."""
    left, right = significant_words(dim), significant_words(integer)
    return (
        len(dim) > 1
        and len(left) == len(right)
        and all(a == b or _abbreviates(a, b) or _abbreviates(b, a) for a, b in zip(left, right, strict=True))
    )


def count_the_same(dim: str, integer: str) -> bool:
    """Whether an integer says in two words how many there are of what a dim has the name: `n_nodes`, `num_nodes`."""
    counted, *rest = words(integer) or ("",)
    named = words(dim)
    things = named[1:] if len(named) > 1 and named[0] in _HOW_MANY else named
    return counted in _HOW_MANY and bool(rest) and tuple(rest) == things


def is_of_moment(name: str) -> bool:
    """Whether a name is one of several for what changes: `k_next`, `prev_len`."""
    return not _MOMENTS.isdisjoint(words(name))


def are_moments(first: str, second: str) -> bool:
    """Whether two names are of one thing at two moments: `(k_next, k_curr)` is a square."""
    bases = [{*significant_words(name)} - _MOMENTS for name in (first, second)]
    return is_of_moment(first) and is_of_moment(second) and bases[0] == bases[1] != set()


def may_be_one_dim(first: str, second: str) -> bool:
    """Whether two dims of one call may be two names of one size.

    Not so `x_dim` and `y_dim`, `h` and `w`, `s` and `t`, of which an integer such as `img_size` may be either. But the
    `h` of one array may be the `y` of another; `k_next` and `k_curr` are a `k`, and a misspelt name is the right one.
    """
    left, right = set(significant_words(first)), set(significant_words(second))
    if left - _MOMENTS == right - _MOMENTS != set() or _is_misspelt(first, second):
        return True
    if any(left <= along and right <= along for along in _ALONG):
        return True
    if left != right and (left | right <= _SPATIAL or all(len(word) == 1 for word in left | right)):
        return False
    return are_namesakes(first, second)


def _is_misspelt(first: str, second: str) -> bool:
    """Whether two names have the same letters, of which some changed places, or one lacks a letter inside."""
    short, long = sorted((first.lower(), second.lower()), key=len)
    if len(short) < _SHORTEST_TYPO or short == long or any(each.isdigit() for each in short + long):
        return False
    if len(short) == len(long):
        return sorted(short) == sorted(long)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(1, len(short)))


def are_height_and_width(name: str, other: str) -> bool:
    """Whether two names are those of the two sides of an image: `h` and `w`, `rows` and `x`."""
    sides = [set(words(each)) for each in (name, other)]
    return any(one & _ALONG[0] and two & _ALONG[1] for one, two in (sides, sides[::-1]))


def is_side(name: str) -> bool:
    """Whether a name is that of the one side of an image, or of the other: `height`, `num_columns`."""
    return any(word in side for word in words(name) for side in _ALONG)


def are_different_things(dim: str, integer: str) -> bool:
    """Whether both names say of what there are so many, and not the same: `latents` and `features`, `vocab` and `rank`.

    A letter, `dim` or `hidden` may be the size of anything.
    """
    one, other = (frozenset(significant_words(name)) - _ANYTHING for name in (dim, integer))
    are_words = bool(one and other) and all(len(word) > _SHORT for word in one | other)
    return are_words and one.isdisjoint(other) and not are_namesakes(dim, integer)


def is_spatial(name: str) -> bool:
    """Whether a name has a word for space."""
    return not _SPATIAL.isdisjoint(words(name))


def are_sides(name: str, other: str, integer: str) -> bool:
    """Whether two names are the sides of an image, and an integer is its size: a square one has that twice."""
    return (
        are_height_and_width(name, other)
        and (is_spatial(integer) or words(integer) == _SIZE)
        and not (_ALONG[0] | _ALONG[1]) & {*words(integer)}
    )


def significant_words(name: str) -> tuple[str, ...]:
    """The words of a name that say of what it is a number, if any do: of `num_heads` that is head."""
    found = words(name)
    return tuple(word for word in found if word not in _COUNTS) or found


def _abbreviates(short: str, long: str) -> bool:
    """Whether a word is the beginning of another, or has its consonants: `seq`, `cls` of `class`, `img` of `image`."""
    return len(short) >= _SHORTEST_PREFIX and (long.startswith(short) or _consonants(long) == short)


def _consonants(word: str) -> str:
    """The first letter of a word and its further consonants, two equal ones in a row once."""
    return re.sub(r"(.)\1+", r"\1", word[:1] + re.sub("[aeiou]", "", word[1:]))


def _singular(word: str) -> str:
    if word.endswith(("ches", "xes", "sses")):
        return word[:-2]
    if len(word) == _SHORTEST_PREFIX and not re.search("[aeiouy]", word):
        return word  # `cls` is short for one of them
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
