"""Which sizes do not fit each other, as the failure of a run tells: in its message, and by the shapes on its line."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from shapecheck.evaluate.inputs.trials.size_assignment import known_size
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.shapes import SymbolicDim, parse_spec

RESHAPE = "cannot reshape array"
_WORD = re.compile(r"\d+\*[^\W\d]\w*|[^\W\d]\w*|(?<![/.])\d+")
_ELEMENTS = re.compile(r"\(size (\d+)\)")
_NUMBER = re.compile(r"\d+")
_SHAPE = re.compile(r"(?:\(|(?<=\w)\[)(\d[\d, ]*)[)\]]")
_OF_RANKS = re.compile(r"\bnumbers? of dimensions|\bndims?\b|\branks?\b", re.IGNORECASE)
_OF_EQUALS = re.compile(r"\bshape == |\b(?:same|equal|identical) shapes?\b")  # as Equinox's LayerNorm asks for
_CONTRACTS = re.compile(r"contracting dimensions|Size of label|core dimension")
# Of a convolution's input and of its kernel, and of what NumPy's signatures name: `(m,m),(m)->(m)`.
# And of what a scan goes along.
_TWO_SIZES = re.compile(
    r"\bbut (\d+) // 1 != (\d+)|\binconsistent size for core dimension '\w+': (\d+) vs (\d+)"
    r"|\bdifferent leading axis sizes: (\d+), (\d+)"
)
_MAPPED = re.compile(r"\b(?:axis|axes) (?:\([^)]*\) )?had size (\d+)")  # of several arguments of vmap


def texts_of(outcome: TrialOutcome) -> Iterator[str]:
    """The message of a failure, and the shape of each array on its line."""
    if outcome.failure is not None:
        yield outcome.failure.message
        yield from (text for _, text in outcome.failure.arrays)


def words_of(outcome: TrialOutcome) -> list[str]:
    """The names and numbers there, and multiples as `16*channels`, each once."""
    return list(dict.fromkeys(word for text in texts_of(outcome) for word in _WORD.findall(text)))


def shapes_in(message: str) -> list[list[str]]:
    """The shapes in a message, each by its sizes."""
    return [_NUMBER.findall(text) for text in _SHAPE.findall(message)]


def opposite_sizes(message: str) -> list[tuple[str, ...]]:
    """The pairs of sizes that do not fit each other, of the first two shapes in a message, from their ends on.

    One fits all others where arrays broadcast, but not where axes are contracted.
    """
    if (sizes := _TWO_SIZES.search(message)) is not None:
        return [tuple(filter(None, sizes.groups()))]
    if (mapped := _MAPPED.findall(message)) and len({*mapped}) > 1:
        return list(itertools.combinations(dict.fromkeys(mapped), 2))
    shapes = [shape[::-1] for shape in shapes_in(message)[:2]]
    if len(shapes) < 2:  # one shape alone, which is too much for something else
        return []
    fits_all = {"1"} if "contracting" not in message else set()
    pairs = zip(*shapes, strict=False)
    return [axes for axes in pairs if len({*axes}) == len(shapes) and fits_all.isdisjoint(axes)]


def unfit_pairs(outcome: TrialOutcome) -> list[tuple[str, ...]]:
    """The pairs of sizes that do not fit in a failed run.

    Of what cannot be reshaped, the products of the axes that one of the two shapes has alone, or how many elements.
    """
    message = outcome.failure.message if outcome.failure is not None else ""
    if not message.startswith(RESHAPE):
        return opposite_sizes(message)
    before, after = left_over_axes(message)
    if before and after:
        return [(str(math.prod(before)), str(math.prod(after)))]
    counts = _ELEMENTS.findall(message)
    return [tuple(counts)] if len(counts) > 1 else []


def lies_with_sizes(outcome: TrialOutcome) -> bool:
    """Whether what does not fit are sizes, and not how many axes there are."""
    message = outcome.failure.message if outcome.failure is not None else ""
    lengths = {len(shape) for shape in shapes_in(message)[:2]}
    is_of_ranks = _OF_RANKS.search(message) or (_OF_EQUALS.search(message) and len(lengths) > 1)
    return bool(unfit_pairs(outcome)) and not is_of_ranks


def refused_pairs(outcome: TrialOutcome) -> list[tuple[str, ...]]:
    """The pairs of sizes that a check of the user's refused, since they are not equal."""
    return [(str(left), str(right)) for left, right in outcome.refused.unequal()] if outcome.refused is not None else []


def unfit_axes(outcome: TrialOutcome) -> int:
    """How many axes of the shapes in the message of a failure do not fit."""
    return len(opposite_sizes(outcome.failure.message)) if outcome.failure is not None else 0


def left_over_axes(message: str) -> tuple[list[int], list[int]]:
    """The axes of the first two shapes in a message, without those that both have."""
    shapes = [[int(size) for size in shape] for shape in shapes_in(message)[:2]]
    if len(shapes) < 2:
        return [], []
    first, second = shapes
    for size in [*first]:
        if size in second:
            first.remove(size)
            second.remove(size)
    return first, second


def contracts(outcome: TrialOutcome) -> bool:
    """Whether what does not fit are axes over which two arrays are multiplied."""
    return outcome.failure is not None and _CONTRACTS.search(outcome.failure.message) is not None


def compared_integers(outcome: TrialOutcome) -> Iterator[tuple[str, str]]:
    """The pairs of integers, by name, whose sizes stand beside each other in the message of a failure."""
    if outcome.failure is None or outcome.bound_call is None:
        return
    words = [word for word in words_of(outcome) if word.isdigit()]
    named = [[n for n, size in outcome.bound_call.integers.items() if str(size) == word] for word in words]
    for left, right in itertools.combinations(filter(None, named), 2):
        yield from itertools.product(left, right)


def fails_elsewhere(outcome: TrialOutcome, before: TrialOutcome) -> bool:
    """Whether two failures on one line differ: they read otherwise, name other dims, or fewer axes do not fit."""
    texts = [each.failure.message if each.failure is not None else "" for each in (outcome, before)]
    if _NUMBER.sub("", texts[0]) != _NUMBER.sub("", texts[1]):
        return True
    if len(opposite_sizes(texts[0])) < len(opposite_sizes(texts[1])):
        return True
    if len(refused_pairs(outcome)) < len(refused_pairs(before)):
        return True
    if not _models_shapes(outcome) <= set(_SHAPE.findall(texts[1])):  # another array of the model takes part
        return True
    named, earlier = _free_names(outcome), _free_names(before)
    return bool(named and earlier) and not named & earlier


def _models_shapes(outcome: TrialOutcome) -> set[str]:
    """The shapes in the message of a failure that have none of the sizes which were chosen for names."""
    if outcome.bound_call is None or outcome.failure is None:
        return set()
    chosen = {text for _, text in outcome.bound_call.chosen} | {str(size) for size in outcome.bound_call.computed}
    sizes = outcome.bound_call.sizes().by_name()
    for _, text in outcome.trial.substitution.ties:
        (dim,) = parse_spec(f"({text})").dims
        chosen.add(str(known_size(dim, sizes)) if isinstance(dim, SymbolicDim) else text)
    return {text for text in _SHAPE.findall(outcome.failure.message) if not chosen & set(_NUMBER.findall(text))}


def _free_names(outcome: TrialOutcome) -> set[str]:
    """The free names whose sizes stand in the message of a failure."""
    if outcome.failure is None or outcome.bound_call is None:
        return set()
    words = set(_WORD.findall(outcome.failure.message))
    ties = dict(outcome.trial.substitution.ties)
    found = [name for name, text in outcome.bound_call.chosen if text in words or ties.get(name) in words]
    return {*found, *(ties[name] for name in found if name in ties)}
