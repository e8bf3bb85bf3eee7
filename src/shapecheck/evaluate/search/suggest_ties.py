"""What a shape error of JAX suggests: which free name to tie to which size, and which ties the code itself writes."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.trials.size_assignment import known_size
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Tie
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import WrittenRelation
from shapecheck.evaluate.search.unfit_sizes import (
    RESHAPE,
    contracts,
    left_over_axes,
    opposite_sizes,
    refused_pairs,
    shapes_in,
    texts_of,
    words_of,
)
from shapecheck.shapes import parse_spec
from shapecheck.shapes.expressions import names

_NUMBER = re.compile(r"\d+")
_QUOTIENT = re.compile(r"([^\W\d]\w*)//?([^\W\d]\w*)")
_EITHER = re.compile(r"\beither (\d+) or (\d+)")
_OF_ONE_AXIS = re.compile("Size of label")
_OF_CHANNELS = "feature_group_count"
_MOST = 12
_SEVERAL = 2  # shapes in a message about reshaping: that of the array, and the wanted one
_LARGEST_FIXED = 4096  # larger numbers of a message are no sizes of one axis: products, addresses, bugs' numbers


def proposals(outcome: TrialOutcome) -> list[tuple[str, str]]:
    """Ties to try after a failure: a free name of its message with each size and each other free name there.

    The message of a symbolic run has names, that of a sized one the numbers that stand for them.
    """
    failure, bound_call = outcome.failure, outcome.bound_call
    if failure is None or bound_call is None or failure.kind == "value":
        return []
    free = {text: name for name, text in bound_call.chosen}
    words = words_of(outcome)
    named = [w for w in words if w in free]
    known = bound_call.tie_candidates()
    # Two is the size of points in a plane, but of random keys too, which nobody means.
    least = 3 if any(array.startswith("uint32[2") for _, array in failure.arrays) else 2
    sizes = [w for w in words if w not in free and w.isdigit() and int(w) in known]
    most = math.inf if _OF_ONE_AXIS.match(failure.message) else _LARGEST_FIXED
    met = {size for axes in opposite_sizes(failure.message) for size in axes}
    fixed = [w for w in words if w not in free and w.isdigit() and w not in sizes and int(w) >= least]
    if _OF_CHANNELS in failure.message and "1" in met:  # one channel fits no others there, as an axis of one does
        fixed.append("1")
    fixed = [w for w in fixed if int(w) <= most or w in met]
    if (either := _EITHER.search(failure.message)) is not None:  # a cross product in a plane is one number
        fixed.sort(key=lambda number: number != either[2])
    multiples = [w for w in words if "*" in w and w.partition("*")[2] in free]
    multiples += [f"{factor}*{text}" for w in fixed for text in free for factor in _factors(w, text)]
    settled = {name for name, text in outcome.trial.substitution.ties if text.isdigit()}
    open_sizes = {text: name for text, name in free.items() if name not in settled}  # nothing follows from a number
    pairs = [
        *_products(outcome, free),
        *_expressions(outcome, named, words),
        *_solutions(outcome, [int(w) for w in words if w.isdigit()]),
        *_pairs(free, named, sizes, fixed, multiples, open_sizes),
    ]
    opposite = [frozenset(axes) for axes in (*opposite_sizes(failure.message), *refused_pairs(outcome))]
    numbers = {name: text for text, name in free.items()}
    # First the two sizes that stand in one place of the two shapes: a long message has too many pairs.
    pairs.sort(key=lambda tie: frozenset((numbers.get(tie[0], ""), numbers.get(tie[1], tie[1]))) not in opposite)
    likely = [*_parts(failure.message, free), *_sides(failure.message, free, known)]
    likely += _common_factors(failure.message, free, known)
    return list(dict.fromkeys([*likely, *pairs]))[:_MOST]


def written_ties(outcome: TrialOutcome, relations: Sequence[WrittenRelation]) -> list[tuple[str, str]]:
    """Ties of a free name to what the file writes of sizes, where that comes to the number which the name meets."""
    if outcome.bound_call is None or outcome.failure is None or not relations:
        return []
    sizes = outcome.bound_call.sizes().by_name()
    free = {text: name for name, text in outcome.bound_call.chosen if text.isdigit()}
    found: dict[tuple[str, str], None] = {}
    pairs = [axes for text in texts_of(outcome) for axes in opposite_sizes(text)]
    words = list(dict.fromkeys(_NUMBER.findall(outcome.failure.message)))
    for one, other in [*pairs, *itertools.combinations(words, 2)]:
        for axis, number in ((one, other), (other, one)):
            if axis not in free or number in free or int(number) <= 1:  # what has no items, or one, fits anything
                continue
            for each in relations:
                if each.may_be_of(free[axis]) and str(each.size(sizes)) == number:
                    found[(free[axis], each.text)] = None
    few = {size for shape in shapes_in(outcome.failure.message) for size in shape} & {"0", "1"}
    named = {name: int(text) for text, name in free.items()}
    for quotient in filter(None, (_QUOTIENT.fullmatch(each.text) for each in relations)):
        one, other = quotient.groups()
        # A quotient of two sizes is written that came to nothing: who divides one by the other has it larger.
        if {one, other} <= named.keys() and (
            str(named[one] // named[other]) in few or _is_split_with_rest(outcome, named[one], named[other])
        ):
            found[(one, f"3*{other}")] = None
    return list(found)[:_MOST]


def _is_split_with_rest(outcome: TrialOutcome, size: int, parts: int) -> bool:
    """Whether an axis of this size could not be split into so many parts, each as long as that gives."""
    message = outcome.failure.message if outcome.failure is not None else ""
    if not message.startswith(RESHAPE) or "-1" not in message or size % parts == 0:
        return False
    shapes = [_NUMBER.findall(text) for text in re.findall(r"\(([-\d, ]*)\)", message) if "," in text][:_SEVERAL]
    return len(shapes) == _SEVERAL and str(size) in shapes[0] and str(parts) in shapes[1]


def as_number(tie: tuple[str, str], outcome: TrialOutcome) -> tuple[str, str] | None:
    """The tie to the number that a relation to another name comes to in a run: 136 of `2*s`, where `s` is 68."""
    chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
    sizes = {name: int(text) for name, text in chosen if text.isdigit()}
    size = known_size(parse_spec(f"({tie[1]})").dims[0], sizes)
    return None if size is None else (tie[0], str(size))


def _products(outcome: TrialOutcome, free: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Ties by which products pass a check: `y.size == math.prod(x.shape)`, or `(heads*width,)` of 8 times the width."""
    sizes = [(int(text), name) for text, name in free.items() if text.isdigit()]
    computed = outcome.bound_call.computed if outcome.bound_call is not None else {}
    for one, other in itertools.chain(*((pair, pair[::-1]) for pair in refused_pairs(outcome))):
        if one in free:
            several = itertools.combinations(sizes, 2)
            yield from ((free[one], f"{a}*{b}") for (x, a), (y, b) in several if str(x * y) == other)
        for size, name in sizes if int(one) in computed else ():
            apiece, rest = divmod(int(one), size)
            if not rest and name in names(computed[int(one)].expression) and int(other) % apiece == 0 < int(other):
                yield name, str(int(other) // apiece)


def _expressions(outcome: TrialOutcome, named: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What claims say of the axis that a free size meets: of 92 and 4624, which is said to be `p**2`."""
    bound_call = outcome.bound_call
    if bound_call is None:
        return
    free = {text: name for name, text in bound_call.chosen}
    for word in words:
        dim = bound_call.computed.get(int(word)) if word.isdigit() else None
        yield from (
            (free[size], str(dim)) for size in named if dim is not None and free[size] not in names(dim.expression)
        )


def _solutions(outcome: TrialOutcome, numbers: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Sizes of the model with which an axis that follows from a name fits another: of 39 and 25, `n//2+1` is 25."""
    bound_call = outcome.bound_call
    if bound_call is None:
        return
    chosen = {name: int(text) for name, text in bound_call.chosen if text.isdigit()}
    shared = (int(size) for _, size in bound_call.shared)
    candidates = dict.fromkeys((*bound_call.tie_candidates(), *shared))
    for number, wanted in itertools.permutations(numbers, 2):
        dim = bound_call.computed.get(number)
        if dim is None or wanted in bound_call.computed or wanted in chosen.values() or wanted < 2:
            continue
        for name in [each for each in names(dim.expression) if each in chosen]:
            for size in candidates:
                if known_size(dim, {**chosen, name: size}) == wanted:
                    yield name, str(size)
                    break


def _parts(message: str, free: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The size with which the one free axis of a failure to reshape goes into the numbers on the other side.

    So the features that are split into `heads, head_dim` are as many as their product.
    """
    if not message.startswith(RESHAPE):
        return
    for side, other in itertools.permutations([[str(size) for size in axes] for axes in left_over_axes(message)]):
        named = [size for size in side if size in free]
        if len(named) != 1 or any(size in free for size in other):
            continue
        known = math.prod(int(size) for size in side if size not in free)
        wanted, rest = divmod(math.prod(map(int, other)), known) if known else (0, 0)  # of no heads there are none
        if not rest and wanted > 1:
            yield free[named[0]], str(wanted)


def _sides(message: str, free: Mapping[str, str], known: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The size of the model that two free axes may both have, where they are reshaped to one of `size*size` items."""
    if not message.startswith(RESHAPE):
        return
    for side, other in itertools.permutations([[str(size) for size in axes] for axes in left_over_axes(message)]):
        named = [free[size] for size in side if size in free]
        roots = [root for number in map(int, other) if (root := math.isqrt(number)) in known and root**2 == number]
        yield from ((name, str(root)) for root in roots for name in named if len(named) > 1)


def _common_factors(message: str, free: Mapping[str, str], known: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The size of the model of which there is the same multiple on one side as of a free axis on the other.

    So the `c*p*p` numbers of a patch are as many as a layer takes that is made for `channels*p*p`.
    """
    for pair in opposite_sizes(message):
        for made, taken in itertools.permutations(map(int, pair)):
            for text, name in free.items():
                factor = made // int(text) if text.isdigit() and int(text) and made % int(text) == 0 else 1
                if factor > 1 and taken % factor == 0 and taken // factor in known:
                    yield name, str(taken // factor)


def _pairs(
    free: dict[str, str],
    names: list[str],
    sizes: list[str],
    fixed: list[str],
    multiples: list[str],
    open_sizes: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    for name in names:
        yield from ((free[name], size) for size in sizes)
    for multiple in multiples:  # 48 and 16*channels
        number, _, inner = multiple.partition("*")
        parts = [divmod(int(size), int(number)) for size in (*sizes, *fixed) if not _is_multiple(size, multiple)]
        yield from ((free[inner], str(part)) for part, rest in parts if not rest and part > 1)
    for index, name in enumerate(names):
        yield from ((free[other], free[name]) for other in names[index + 1 :])
    for name in names:
        for multiple in multiples:
            number, _, inner = multiple.partition("*")
            if inner != name:
                yield free[name], f"{number}*{free[inner]}"
    for name, size in itertools.product(names, fixed):
        related = _relations(int(size), open_sizes)
        yield from ((free[name], relation) for relation in related if free[name] not in relation)
    for name in names:  # what follows from the size of another name is mostly no number of its own
        yield from ((free[name], size) for size in fixed if not any(_relations(int(size), open_sizes)))


def _is_multiple(size: str, multiple: str) -> bool:
    """Whether a number is the very one that was taken for a multiple."""
    number, _, inner = multiple.partition("*")
    return inner.isdigit() and int(size) == int(number) * int(inner)


def _factors(number: str, size: str) -> Iterator[int]:
    """How many times a number is the size of a free name, where that is a number too."""
    if size.isdigit() and int(number) % int(size) == 0 and int(number) > int(size):
        yield int(number) // int(size)


def _relations(size: int, free: Mapping[str, str]) -> Iterator[str]:
    """How a number follows from the size of a free name: one more or less, twice, half; or from two as their sum."""
    numbers = [(int(text), name) for text, name in free.items() if text.isdigit()]
    yield from (f"{a}+{b}" for (x, a), (y, b) in itertools.combinations(numbers, 2) if x + y == size)
    for text, name in free.items():
        if text.isdigit():
            other = int(text)
            forms = {other + 1: "{}+1", other - 1: "{}-1", 2 * other: "2*{}", other // 2: "{}//2"}
            if size in forms:
                yield forms[size].format(name)


def meets_count(tie: Tie, outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether the two sizes of a tie do not fit each other, and may be one number by what they count."""
    (name, size), bound_call = tie, outcome.bound_call
    if bound_call is None or outcome.failure is None or not size.isdigit():
        return False
    met = {dict(bound_call.chosen).get(name, ""), size}
    if not any(met == {*pair} for pair in opposite_sizes(outcome.failure.message)):
        return False
    named = (each.rpartition(".")[2] for each, value in bound_call.integers.items() if str(value) == size)
    return any(signature.may_count_as(name, each) for each in named)


def counts_true(tie: Tie, outcome: TrialOutcome) -> bool:
    """Whether the size of a tie is that of no axis where a mask is used: as many items of it are true.

    Those are its values, as who makes the mask knows.
    """
    failure, bound_call = outcome.failure, outcome.bound_call
    if failure is None or bound_call is None or not tie[1].isdigit():
        return False
    of_arrays = {number for _, text in failure.arrays for number in _NUMBER.findall(text.partition("[")[2])}
    known = {"1", *of_arrays, *map(str, bound_call.sizes().by_name().values()), *map(str, bound_call.sizes().own)}
    met = {dict(bound_call.chosen).get(tie[0], ""), tie[1]}
    is_masked = any(text.startswith("bool[") for _, text in failure.arrays)
    return is_masked and tie[1] not in known and any(met == {*pair} for pair in opposite_sizes(failure.message))


def contracts_with_own(tie: Tie, outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether the size of a tie is that of an array which the instance holds or the code writes, and multiplies there.

    Of `self.coef @ hist` nothing but the constructor says how many coefficients there are: who calls it gives as many
    rows. Where a claim names that axis, or several arguments have the other one, the code tells the two apart.
    """
    (name, size), failure, bound_call = tie, outcome.failure, outcome.bound_call
    if failure is None or bound_call is None or not contracts(outcome):
        return False
    if not size.isdigit() or int(size) in bound_call.held.values():
        return False
    if sum(name in parse_spec(array.spec).names() for array in signature.arrays) != 1:
        return False
    met = {dict(bound_call.chosen).get(name, ""), size}
    if not any(met == {*pair} for pair in opposite_sizes(failure.message)):
        return False  # what meets it there is computed of several axes
    constant = _constant_arrays(signature.function)
    own = (text for array, text in failure.arrays if array.startswith("self.") or array in constant)
    return any(size in _NUMBER.findall(text.partition("[")[2]) for text in own)


def _constant_arrays(function: Callable[..., object] | None) -> frozenset[str]:
    """The variables of a function that are lists of numbers, as it writes them: `b = jnp.array([0.5, 0.5])`."""
    source = defining_source(function)
    found: set[str] = set()
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
            numbers = not any(isinstance(each, ast.Name) for each in ast.walk(node.value.args[0]))
            if numbers and isinstance(node.value.args[0], ast.List | ast.Tuple):
                found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)
