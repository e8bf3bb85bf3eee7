"""From an observed value to the arrays that a claim describes; under `vmap` as one example has them too."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from shapecheck.model import (
    ArrayValue,
    Claim,
    OtherValue,
    Selector,
    TreeValue,
    Value,
    admitted_structures,
    arrays_in,
    entry_key,
    is_structure,
)
from shapecheck.shapes import parse_spec


@dataclass(frozen=True)
class SelectedArray:
    """An array inside an observed value, and the way to it: `[1]['a'].weight`."""

    value: ArrayValue
    key: str = ""


_KEY = re.compile(r"(?:^|[_.])(?:sub)?(?:key|rng|prng|seed)s?\d*$|^k\d*s?$", re.IGNORECASE)
_MOST_PLACES = 24  # of mapped axes among those of a value
OTHER_MEMBER = "another member of its union"
"""What a value is that a claim of a union does not speak of: so ends the text of the error."""


class WrongStructureError(Exception):
    """A value, and the way to it, has not the structure that an annotation's selectors walk through.

    `wanted` says in words which one it should have, "" if that is an array.
    """

    def __init__(self, value: Value, way: str, wanted: str = "") -> None:
        super().__init__(_kind(value))
        self.value, self.way, self.wanted = value, way, wanted


class NoArrayError(Exception):
    """There is no array to compare: the text says what stands there."""


def select_annotated(claim: Claim, value: Value, *, is_given: bool) -> list[SelectedArray]:
    """The arrays that an annotation's spec is about: all of them must fit.

    Raises WrongStructureError where a tuple has another length, or stands for one array; NoArrayError where no array is
    found. An array that the caller `is_given` may have come as a tuple: most of JAX's functions make one of it.
    """
    ends = list(_walk(value, claim.select, ""))
    for end, way in ends:
        if not is_given and _is_tuple_of_arrays(end):
            raise WrongStructureError(end, way)
    parts = [SelectedArray(end, key) for end, key in ends if isinstance(end, ArrayValue)]
    if not parts:
        other = OTHER_MEMBER if any(map(is_structure, claim.select)) else "not an array"
        if isinstance(value, ArrayValue) and other != OTHER_MEMBER:
            other = "and holds no others"
        elif key := next(filter(None, map(entry_key, claim.select)), ""):
            other = f"without an array {key!r}"
        raise NoArrayError(f"the value is {_kind(value)}, {other}")
    return parts


def _is_tuple_of_arrays(value: Value) -> bool:
    return isinstance(value, TreeValue) and value.kind == "tuple" and any(True for _ in arrays_in(value))


def select_described(claim: Claim, value: Value) -> list[list[SelectedArray]]:
    """The readings of a comment: lists of arrays, each of which must fit all through; one such list suffices.

    Raises NoArrayError where no array is found.
    """
    if "?" in claim.select:
        raise NoArrayError("evaluation cannot look inside the value")
    picked = value
    for selector in claim.select:
        if isinstance(selector, int):
            # A docstring may tell of a tuple that is returned in one case, and in the other its first element alone.
            is_alone = claim.notation == "docstring" and isinstance(picked, ArrayValue)
            if is_alone and selector > 0:
                raise NoArrayError("the value is one array, and a further result was not returned with it")
            picked = picked if is_alone else _pick_element(picked, selector)
        elif selector == "held":
            picked = _held_value(picked)
        elif (name := entry_key(selector)) is not None:
            picked = _entry(picked, name)
        elif isinstance(selector, str) and admitted_structures(selector):
            continue
        elif is_structure(selector):
            if not _has_structure(picked, selector):
                raise NoArrayError(f"the value is {_kind(picked)}, {OTHER_MEMBER}")
        elif "/" in selector:
            picked = _one_of(picked, selector)
    if isinstance(picked, ArrayValue):
        readings = [[SelectedArray(picked)]]
        if claim.notation != "annotation" and _may_be_raw_keys(claim, picked):
            readings.append([SelectedArray(replace(picked, shape=picked.shape[:-1]))])
        if claim.each and picked.shape:
            readings.append([SelectedArray(replace(picked, shape=picked.shape[1:]))])
        return readings
    leaves = list(_leaves(picked, ""))
    if isinstance(picked, TreeValue) and picked.kind == "operator":
        raise NoArrayError(f"the value is {_kind(picked)}, whose axes are not those of the arrays in it")
    if isinstance(picked, TreeValue) and picked.kind == "function" and not claim.part:
        # "MLP  # [inputs, hidden, outputs]" speaks of what it takes and gives.
        raise NoArrayError(f"the value is {_kind(picked)}, which is called, and no array")
    if not leaves:
        raise NoArrayError(f"the value is {_kind(picked)}, not an array")
    if claim.notation == "code" and isinstance(picked, TreeValue) and picked.kind == "node" and picked.held is None:
        raise NoArrayError(f"the value is {_kind(picked)}, whose own `shape` is what the code tests")
    if all(leaf.key.rpartition(".")[2].startswith("_") for leaf in leaves):
        # A tensor that keeps its components in `_array` is documented as what it stands for.
        raise NoArrayError(f"the value is {_kind(picked)}, whose arrays are private")
    within_node = picked.children if isinstance(picked, TreeValue) and picked.kind == "node" else ()
    if within_node and not claim.each and not any(map(_is_nearer, within_node)):
        # The arrays of a lazy expression are its operands: `Op(fn, (Const(x),))`.
        raise NoArrayError(f"the value is {_kind(picked)}, whose arrays are those of what it holds")
    if claim.part:
        return _entries(picked, claim.part.split("|"), leaves)
    # "A masked sequence (b, t, c)": the mask that goes with the values has less axes.
    values = [leaf for leaf in leaves if not leaf.key.rpartition(".")[2].endswith("mask")]
    if claim.notation != "annotation" and values and len(values) < len(leaves):
        leaves = values
    if claim.notation == "docstring" and isinstance(picked, TreeValue) and picked.kind == "tuple":
        # "The output is an array of shape ...", and what is returned with it is described elsewhere.
        return [leaves, *([SelectedArray(each)] for each in picked.children if isinstance(each, ArrayValue))]
    stacked = [[SelectedArray(each)] for each in _as_stack(claim, picked)] if claim.notation != "annotation" else []
    within = picked.children if isinstance(picked, TreeValue) and picked.kind == "tuple" else ()
    if within and (claim.each or any(isinstance(each, TreeValue) for each in within)):
        # `logits, metrics = f(x)  # (b, t)` leaves out a dict of metrics, or a loss.
        plain = [SelectedArray(each) for each in within if isinstance(each, ArrayValue) and each.shape]
        return [leaves, *([plain] if plain else []), *stacked]
    if stacked and not any(leaf.value.shape for leaf in leaves):
        return stacked  # a list of numbers that `jnp.asarray` takes
    return [leaves, *stacked]


def _is_nearer(value: Value) -> bool:
    """Whether there is an array in a value that stands in no object inside of it."""
    if isinstance(value, TreeValue):
        return value.kind != "node" and any(map(_is_nearer, value.children))
    return isinstance(value, ArrayValue)


def _as_stack(claim: Claim, value: Value) -> Iterator[ArrayValue]:
    """A list of arrays of one shape as the array that they would be stacked: `[x, y]  # (2, n)`; lists of lists, too.

    A tuple, such as `meshgrid` gives, if the claim says in front of how many it is. Of arrays of several lengths, as of
    `lengths: tuple  # (n_planes,) of arrays`, it may say how many there are.
    """
    first = parse_spec(claim.spec).dims[:1]
    if isinstance(value, TreeValue) and (
        value.kind == "list" or (value.kind == "tuple" and list(map(str, first)) == [str(len(value.children))])
    ):
        stacked = _stack(value)
        if stacked is not None:
            yield stacked
    first_array = next(arrays_in(value), None)
    if first_array is not None and len(parse_spec(claim.spec).dims) == 1 and _is_ragged(value):
        yield replace(first_array, shape=(str(len(value.children)),))


def _is_ragged(value: Value) -> TypeGuard[TreeValue]:
    """Whether a list or tuple holds arrays of several shapes and nothing else."""
    items = value.children if isinstance(value, TreeValue) and value.kind in ("list", "tuple") else ()
    shapes = {each.shape if isinstance(each, ArrayValue) else None for each in items}
    return len(shapes) > 1 and None not in shapes


def _stack(value: Value) -> ArrayValue | None:
    """What `jnp.asarray` makes of a list, or a tuple, of arrays or of lists of them; None if they are not alike."""
    if not isinstance(value, TreeValue):
        return value if isinstance(value, ArrayValue) else None
    items = [_stack(each) for each in value.children] if value.kind in ("list", "tuple") else []
    if not items or items[0] is None or any(each is None or each.shape != items[0].shape for each in items):
        return None
    return replace(items[0], shape=(str(len(items)), *items[0].shape))


def _may_be_raw_keys(claim: Claim, value: ArrayValue) -> bool:
    """Whether an array may be random keys of the old kind, whose own axis people leave out: `split(key, n)  # (n,)`."""
    is_raw = value.dtype == "uint32" and value.shape[-1:] in (("2",), ("4",))
    return is_raw and _KEY.search(claim.target) is not None


def _pick_element(value: Value, index: int) -> Value:
    chosen = _element(value, index)
    if chosen is None:
        raise NoArrayError(f"the value is {_kind(value)}, without an element {index}")
    return chosen


def _entry(value: Value, name: str) -> Value:
    if not isinstance(value, TreeValue) or name not in value.keys:
        raise NoArrayError(f"the value is {_kind(value)}, without an entry {name!r}")
    return value.children[value.keys.index(name)]


def _one_of(value: Value, selector: str) -> Value:
    """The part of a value that one shape of a list describes: `1/2` is the second of two."""
    index, _, count = selector.rstrip("?").partition("/")
    if not isinstance(value, ArrayValue) or value.shape[:1] == (count,):
        return _pick_element(value, int(index))
    if selector.endswith("?"):
        return value
    raise NoArrayError(f"the value is one array, and {count} shapes stand beside it")


def _entries(value: Value, names: Sequence[str], leaves: list[SelectedArray]) -> list[list[SelectedArray]]:
    """The arrays in the entries of these names; where there are none, any part may be meant.

    Raises NoArrayError where the entries hold no arrays.
    """
    found = [list(_of_name(value, name)) for name in names]
    if all(len(each) == 1 for each in found):
        parts = [part for entries in found for entry in entries for part in _leaves(entry, "")]
        if not parts:
            raise NoArrayError(f"the value is {_kind(value)}, without an array {names[0]!r}")
        return [parts]
    candidates = [list(_leaves(entry, "")) for entries in found for entry in entries]
    return [each for each in candidates if each] or [leaves, *([leaf] for leaf in leaves)]


def _of_name(value: Value, name: str) -> Iterator[Value]:
    """The outermost entries of a name, also those deeper inside; a path such as `head.kernel` leads into them."""
    if not isinstance(value, TreeValue):
        return
    first, _, rest = name.partition(".")
    for key, child in zip(value.keys, value.children, strict=True):
        if key == name or (key == first and not rest):
            yield child
        elif key == first:
            yield from _of_name(child, rest)
        else:
            yield from _of_name(child, name)


def skeleton(value: Value) -> str:
    """The structure of a pytree as text, with a star for each leaf."""
    if isinstance(value, TreeValue):
        children = zip(value.keys, value.children, strict=True)
        # JAX sorts the keys of a dict.
        ordered = sorted(children, key=lambda pair: pair[0]) if value.type == "dict" else children
        inner = ",".join(f"{k}:{skeleton(c)}" for k, c in ordered)
        return f"{value.kind}:{value.type}({inner})"
    if isinstance(value, OtherValue) and value.type == "NoneType":
        return "None"
    return "*"


def pytrees(claim: Claim, value: Value) -> list[tuple[Value, str]]:
    """The pytrees that a structure name stands for, and the way to each: of `list[PyTree[..., "T"]]` every item."""
    select = claim.select[: claim.select.index("leaves")] if "leaves" in claim.select else claim.select
    return list(_walk(value, select, ""))


def _walk(value: Value, select: tuple[int | str, ...], key: str) -> Iterator[tuple[Value, str]]:
    """The values that the selectors lead to, and the way to each."""
    if not select:
        yield value, key
        return
    first, rest = select[0], select[1:]
    if admitted := admitted_structures(first):
        if not _is_admitted(value, admitted):
            raise WrongStructureError(value, key, " or ".join(map(_structure_words, admitted)))
        yield from _walk(value, rest, key)
    elif isinstance(value, TreeValue) and value.kind == "call":
        yield from _walk_call(value, first, rest)
    elif is_structure(first):
        if _has_structure(value, first):
            yield from _walk(value, rest, key)
    elif first == "held":
        yield from _walk(_held_value(value), rest, f"{key}{_held_step(value)}")
    elif first == "leaves":
        yield from ((leaf.value, leaf.key) for leaf in _leaves(value, key))
    elif first == "*" and isinstance(value, TreeValue):
        for step, child in zip(_steps(value), value.children, strict=True):
            yield from _walk(child, rest, f"{key}{step}")
    elif (name := entry_key(first)) is not None:
        if isinstance(value, TreeValue) and value.kind == "dict" and name in value.keys:
            yield from _walk(value.children[value.keys.index(name)], rest, f"{key}[{name!r}]")
    elif isinstance(first, int):
        if isinstance(value, ArrayValue) or (isinstance(value, TreeValue) and first >= len(value.children)):
            raise WrongStructureError(value, key)
        if isinstance(value, TreeValue):
            yield from _walk(value.children[first], rest, f"{key}{_steps(value)[first]}")


def _steps(tree: TreeValue) -> list[str]:
    """How Python comes to each part of a tree."""
    if tree.kind == "dict":
        return [f"[{name!r}]" for name in tree.keys]
    return [f".{name}" if name.isidentifier() else f"[{name}]" for name in tree.keys]


def _held_value(value: Value) -> Value:
    """What stands in a value for the one parameter of its generic class."""
    if not isinstance(value, TreeValue) or value.held is None:
        raise NoArrayError(f"the value is {_kind(value)}, and what that holds is not known")
    return value.children[value.held]


def _held_step(value: Value) -> str:
    key = value.keys[value.held] if isinstance(value, TreeValue) and value.held is not None else ""
    return f".{key}" if key.isidentifier() else ".value"


def _walk_call(call: TreeValue, first: int | str, rest: tuple[int | str, ...]) -> Iterator[tuple[Value, str]]:
    """Into an argument of a call, if it was given by position, or into the result."""
    *arguments, result = call.children
    if is_structure(first):
        if first == f"call/{len(arguments)}":
            yield from _walk(call, rest, "")
    elif first == "result":
        yield from _walk(result, rest, "")
    elif isinstance(first, int) and first < len(arguments):
        yield from _walk(arguments[first], rest, "")


def _is_admitted(value: Value, admitted: Sequence[str]) -> bool:
    """Whether a value has one of these structures, or one of which annotations of arrays say nothing.

    A list may stand for a tuple, as in `lax.scan`.
    """
    if isinstance(value, ArrayValue):
        return "array" in admitted
    if not isinstance(value, TreeValue) or value.kind not in ("tuple", "list", "dict"):
        return True
    return value.kind in admitted or (value.kind != "dict" and f"tuple/{len(value.children)}" in admitted)


def _structure_words(structure: str) -> str:
    kind, _, count = structure.partition("/")
    return f"{'an' if kind == 'array' else 'a'} {kind}{f' of {count}' if count else ''}"


def _has_structure(value: Value, structure: Selector) -> bool:
    if isinstance(value, TreeValue):
        if structure == "holder":
            return value.held is not None
        return structure == (f"tuple/{len(value.children)}" if value.kind == "tuple" else value.kind)
    return structure == "array" and isinstance(value, ArrayValue)


def _element(value: Value, index: int) -> Value | None:
    if isinstance(value, ArrayValue) and value.shape:
        return replace(value, shape=value.shape[1:])
    if isinstance(value, TreeValue) and -len(value.children) <= index < len(value.children):
        return value.children[index]
    return None


def _leaves(value: Value, key: str) -> Iterator[SelectedArray]:
    if isinstance(value, ArrayValue):
        yield SelectedArray(value, key)
    elif isinstance(value, TreeValue):
        for step, child in zip(_steps(value), value.children, strict=True):
            yield from _leaves(child, f"{key}{step}")


def _kind(value: Value) -> str:
    if isinstance(value, ArrayValue):
        return "an array"
    if isinstance(value, TreeValue):
        article = "a" if value.type[:1].lower() not in "aeiou" else "an"
        if value.kind in ("operator", "function"):
            return f"{article} {value.type}"
        if value.kind == "call":
            return f"called with {len(value.children) - 1} arguments by position"
        return f"{article} {value.type} of {len(value.children)}"
    return "None" if value.type == "NoneType" else f"of type {value.type}"


Axes = tuple[str, ...]


def mapped_axes(value: ArrayValue) -> Iterator[Axes]:
    """What mapped axes an array can have, never none: of hidden ones it may have any, around those that it shows."""
    for count in range(len(value.hidden) + 1):
        for some in itertools.combinations(value.hidden, count):
            if some or value.mapped:
                yield (*some, *value.mapped)


def is_mapped_within(value: Value) -> bool:
    """Whether `vmap` has taken an axis of an array in it from another place than the front."""
    return any(array.within for array in arrays_in(value))


def is_mapped(value: Value) -> bool:
    """Whether `vmap` has surely taken axes away from an array in it."""
    if isinstance(value, TreeValue):
        return any(map(is_mapped, value.children))
    return isinstance(value, ArrayValue) and bool(value.mapped)


def in_front(value: Value) -> Iterator[Value]:
    """A value as it can be outside of `vmap`, with mapped axes in front."""
    seen = {axes for array in arrays_in(value) for axes in mapped_axes(array)}
    for axes in sorted(seen):
        yield _with(value, axes)


def within(value: Value) -> Iterator[Value]:
    """An array as it can be outside of `vmap`, with mapped axes wherever they may stand."""
    if isinstance(value, ArrayValue):
        for axes in sorted(set(mapped_axes(value))):
            rank = len(axes) + len(value.shape)
            for places in itertools.islice(itertools.permutations(range(rank), len(axes)), _MOST_PLACES):
                taken, rest = dict(zip(places, axes, strict=True)), iter(value.shape)
                yield ArrayValue(value.dtype, tuple(taken[i] if i in taken else next(rest) for i in range(rank)))


def as_shown(value: Value) -> Value:
    """A value with the mapped axes that it shows itself, and none besides."""
    if isinstance(value, TreeValue):
        return replace(value, children=tuple(map(as_shown, value.children)))
    return replace(value, hidden=()) if isinstance(value, ArrayValue) else value


def alone(value: Value) -> Value:
    """A value as one example has it."""
    return _with(value, ())


def _with(value: Value, axes: Axes) -> Value:
    if isinstance(value, TreeValue):
        return replace(value, children=tuple(_with(child, axes) for child in value.children))
    if isinstance(value, ArrayValue):
        return ArrayValue(value.dtype, (*axes, *value.shape))
    return value
