"""What a shape error of JAX suggests: which free name to tie to which size."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.namesakes import are_namesakes
from shapecheck.evaluate.inputs.facts.signature_facts import missing_parameters
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED, Size, UnknownSizeError, evaluate
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Tie
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import WrittenRelation
from shapecheck.shapes import FixedDim, SymbolicDim, parse_spec
from shapecheck.shapes.expressions import names

_WORD = re.compile(r"\d+\*[^\W\d]\w*|[^\W\d]\w*|(?<![/.])\d+")
_NUMBER = re.compile(r"\d+")
_SHAPE = re.compile(r"(?:\(|(?<=\w)\[)(\d[\d, ]*)[)\]]")
_QUOTIENT = re.compile(r"([^\W\d]\w*)//?([^\W\d]\w*)")
_EITHER = re.compile(r"\beither (\d+) or (\d+)")
_OF_ONE_AXIS = re.compile("Size of label")
_CONTRACTS = re.compile(r"contracting dimensions|Size of label|core dimension")
# Of a convolution's input and of its kernel, and of what NumPy's signatures name: `(m,m),(m)->(m)`.
_TWO_SIZES = re.compile(r"\bbut (\d+) // 1 != (\d+)|\binconsistent size for core dimension '\w+': (\d+) vs (\d+)")
RESHAPE = "cannot reshape array"
_MOST = 12
_LARGEST_STEP = 65  # a side of a patch
_SEVERAL = 2  # axes, of which each may have its part in a product
_LARGEST_FIXED = 4096  # larger numbers of a message are no sizes of one axis: products, addresses, bugs' numbers


def proposals(outcome: TrialOutcome) -> list[tuple[str, str]]:
    """Ties to try after a failure: a free name of its message with each size and each other free name there.

    The message of a symbolic run has names, that of a sized one the numbers that stand for them.
    """
    failure, bound_call = outcome.failure, outcome.bound_call
    if failure is None or bound_call is None or failure.kind == "value":
        return []
    free = {text: name for name, text in bound_call.chosen}
    words = list(dict.fromkeys(w for text in _texts(outcome) for w in _WORD.findall(text)))
    named = [w for w in words if w in free]
    known = bound_call.tie_candidates()
    # Two is the size of points in a plane, but of random keys too, which nobody means.
    least = 3 if any(array.startswith("uint32[2") for _, array in failure.arrays) else 2
    sizes = [w for w in words if w not in free and w.isdigit() and int(w) in known]
    most = math.inf if _OF_ONE_AXIS.match(failure.message) else _LARGEST_FIXED
    fixed = [w for w in words if w not in free and w.isdigit() and w not in sizes and least <= int(w) <= most]
    if (either := _EITHER.search(failure.message)) is not None:  # a cross product in a plane is one number
        fixed.sort(key=lambda number: number != either[2])
    multiples = [w for w in words if "*" in w and w.partition("*")[2] in free]
    multiples += [f"{factor}*{text}" for w in fixed for text in free for factor in _factors(w, text)]
    settled = {name for name, text in outcome.trial.substitution.ties if text.isdigit()}
    open_sizes = {text: name for text, name in free.items() if name not in settled}  # nothing follows from a number
    pairs = [
        *_solutions(outcome, [int(w) for w in words if w.isdigit()]),
        *_pairs(free, named, sizes, fixed, multiples, open_sizes),
    ]
    opposite = [frozenset(axes) for axes in opposite_sizes(failure.message)]
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
    pairs = [axes for text in _texts(outcome) for axes in opposite_sizes(text)]
    words = list(dict.fromkeys(_NUMBER.findall(outcome.failure.message)))
    for one, other in [*pairs, *itertools.combinations(words, 2)]:
        for axis, number in ((one, other), (other, one)):
            if axis not in free or number in free or int(number) <= 1:  # what has no items, or one, fits anything
                continue
            for each in relations:
                if each.may_be_of(free[axis]) and str(each.size(sizes)) == number:
                    found[(free[axis], each.text)] = None
    few = {size for text in _SHAPE.findall(outcome.failure.message) for size in _NUMBER.findall(text)} & {"0", "1"}
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
    try:
        return tie[0], str(evaluate(parse_spec(f"({tie[1]})").dims[0], lambda name: sizes[name]))
    except (UnknownSizeError, KeyError):
        return None


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
                if _computed_size(dim, {**chosen, name: size}) == wanted:
                    yield name, str(size)
                    break


def _parts(message: str, free: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The size with which the one free axis of a failure to reshape goes into the numbers on the other side.

    So the features that are split into `heads, head_dim` are as many as their product.
    """
    if not message.startswith(RESHAPE):
        return
    for side, other in itertools.permutations([[str(size) for size in axes] for axes in _left_over(message)]):
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
    for side, other in itertools.permutations([[str(size) for size in axes] for axes in _left_over(message)]):
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


def _computed_size(dim: SymbolicDim, sizes: Mapping[str, int]) -> Size | None:
    try:
        return evaluate(dim, lambda name: sizes[name])
    except (UnknownSizeError, KeyError):
        return None


def fails_elsewhere(outcome: TrialOutcome, before: TrialOutcome) -> bool:
    """Whether two failures on one line differ: they read otherwise, name other dims, or fewer axes do not fit."""
    texts = [each.failure.message if each.failure is not None else "" for each in (outcome, before)]
    if _NUMBER.sub("", texts[0]) != _NUMBER.sub("", texts[1]):
        return True
    if len(opposite_sizes(texts[0])) < len(opposite_sizes(texts[1])):
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
        chosen.add(str(_computed_size(dim, sizes)) if isinstance(dim, SymbolicDim) else text)
    return {text for text in _SHAPE.findall(outcome.failure.message) if not chosen & set(_NUMBER.findall(text))}


def unfit_axes(outcome: TrialOutcome) -> int:
    """How many axes of the shapes in the message of a failure do not fit."""
    return len(opposite_sizes(outcome.failure.message)) if outcome.failure is not None else 0


def meets_itself(outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether what does not fit is an integer of the constructor and an axis of an array that it was given.

    Where the two go by one name, or nobody names the axis, whoever makes such an instance gives it what fits. So it is
    with an axis as long as a sequence beside it; where no claim of the call uses the name, nor one the integer; with
    a number that an argument's claim writes, which a real instance is made for; and where the axis had to be a multiple
    of something, as the array of the instance that it meets would have to be.
    """
    bound_call = outcome.bound_call
    if bound_call is None or outcome.failure is None:
        return False
    dims = (dim for array in signature.arrays for dim in parse_spec(array.spec).dims)
    written = {str(dim.size) for dim in dims if isinstance(dim, FixedDim)}
    divided = {text for name, text in bound_call.chosen if name in dict(outcome.trial.multiples)}
    for one, other in opposite_sizes(outcome.failure.message):
        for axis, size in ((one, other), (other, one)):
            if axis in divided and any(text == size for _, text in bound_call.built):
                return True
            if int(size) in bound_call.lengths and any(text == axis for _, text in bound_call.built):
                return True
            named = [name for name, text in bound_call.built if text == axis]
            integers = [name for name, value in bound_call.integers.items() if str(value) == size]
            if integers and axis in written and size not in written:
                return True
            if any(name in UNNAMED or are_namesakes(name, each) for name in named for each in integers):
                return True
            used = {name for name, _ in bound_call.built}
            last = [each.rpartition(".")[2] for each in integers]
            is_free = last and not any(each in used or signature.uses(each) for each in last)
            if is_free and named and not any(map(signature.uses, named)):
                return True
    return False


def have_two_names(outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether what does not fit are two sizes of one argument by whose names the claims of a call mean two dims.

    So are `n_rbf` and `features` of what `init_params(key, n_rbf, features)` has made, beside `(n, n_rbf)`.
    """
    nested = outcome.bound_call.options.integers if outcome.bound_call is not None else ()
    places: dict[str, list[tuple[str, str]]] = {}
    for place, size in dict(nested).items():
        owner, _, name = place.rpartition(".")
        places.setdefault(str(size), []).append((owner, name))

    def are_two(one: str, other: str) -> bool:
        pairs = itertools.product(places.get(one, ()), places.get(other, ()))
        return any(a[0] == b[0] and signature.names_both(a[1], b[1]) for a, b in pairs)

    pairs = opposite_sizes(outcome.failure.message) if outcome.failure is not None else []
    return bool(pairs) and all(are_two(*axes[:2]) for axes in pairs)


def meets_inside(outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether what does not fit are sizes that instances in arguments got with their making, or are next to these.

    Whoever makes such an instance may well know that it takes one more than it gives: `MLP(n + 1, hidden, n)`. So it is
    with such a size and an integer beside it: `sample(model, shape)` is given what the model takes.
    """
    if outcome.bound_call is None or outcome.failure is None:
        return False
    if have_two_names(outcome, signature):
        return False
    made = {a.value for a in outcome.bound_call.assumptions if (a.kind, a.provenance) == ("size", "invented")}
    near = {int(size) + step for size in made if size.isdigit() for step in (-1, 0, 1)}
    given = missing_parameters(signature.function, {}) if near and signature.function is not None else []
    beside = {size for name, size in outcome.bound_call.integers.items() if name.partition("[")[0] in given}
    pairs = [[int(size) for size in axes] for axes in opposite_sizes(outcome.failure.message)]
    return bool(pairs) and all(not near.isdisjoint(axes) and near | beside >= {*axes} for axes in pairs)


def rounds_down(failed: Sequence[TrialOutcome]) -> bool:
    """Whether a size that does not fit is always a little less than a free one, by other numbers in other runs.

    So is what comes of a root that was rounded, `n = int(sqrt(8 * size + 1) - 1) // 2` and back: there are sizes for
    which it comes out even. A fixed step or part of the other size is none.
    """
    less: set[int] = set()
    for outcome in failed:
        chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
        free = {int(text) for _, text in chosen if text.isdigit()}
        pairs = opposite_sizes(outcome.failure.message) if outcome.failure is not None else []
        if len(pairs) != 1 or outcome.trial.substitution.ties:
            continue
        small, large = sorted(map(int, pairs[0]))
        if large not in free or (large - small) ** 2 > 9 * large:  # the next square is no further away
            return False
        less.add(large - small)
    return len(less) > 1


def meets_product(failed: Sequence[TrialOutcome]) -> bool:
    """Whether what does not fit is a size of the model and a product of several free names, which may well be that.

    No tie of two sizes says so: an image of `h * w * c` pixels goes into the layer that is made for its pixels.
    """
    if len(failed) < 2 or failed[0].trial.invention != failed[1].trial.invention:
        return False
    messages = [each.failure.message if each.failure is not None else "" for each in failed[:2]]
    if _may_fold(*messages):
        return True
    places = [*zip(*map(opposite_sizes, messages), strict=False)]
    return bool(places) and all(_is_product(failed, before, after) for before, after in places)


def has_product_beside(outcome: TrialOutcome, signature: CallSignature) -> bool:
    """Whether one claim has both axes of which the sizes do not fit: a product of free sizes and one of the model's.

    That of `(b*h*w, k)` is not k.
    """
    if outcome.failure is None or outcome.bound_call is None:
        return False
    sizes = outcome.bound_call.sizes()
    free = {name: int(text) for name, text in sizes.chosen.items() if text.isdigit() and int(text) > 1}
    for pair in opposite_sizes(outcome.failure.message):
        for product, other in itertools.permutations(map(int, pair[:2])):
            names = [*sizes.names_of(other), *(name for name, size in outcome.bound_call.held.items() if size == other)]
            for claim in signature.claims:
                own = free.keys() & claim - {*names}
                parts = [free[name] for name in own if product % free[name] == 0]
                if len(parts) > 1 and math.prod(parts) == product and any(name in claim for name in names):
                    return True
    return False


def _is_product(failed: Sequence[TrialOutcome], before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether one of two sizes that do not fit stays in both failures, and the other may be a product of free ones.

    Or one more than that: a token for the class stands in front of those of an image's patches.
    """
    for varies, stays in itertools.permutations((0, 1)):
        if before[stays] == after[stays] and before[varies] != after[varies]:
            for more in (0, 1):
                numbers, wanted = (int(before[varies]) - more, int(after[varies]) - more), int(before[stays]) - more
                if _may_have_product(failed[0], numbers[0], wanted) or _may_have_parts(failed, numbers, wanted):
                    return True
            return False
    return False


def _may_have_parts(failed: Sequence[TrialOutcome], numbers: tuple[int, int], wanted: int) -> bool:
    """Whether two numbers are products of parts of two free sizes: of an image cut into patches, rows times columns."""
    chosen = [dict(each.bound_call.chosen) if each.bound_call is not None else {} for each in failed[:2]]
    ties = [dict(each.trial.substitution.ties) for each in failed[:2]]
    free = [name for name, text in chosen[0].items() if text.isdigit() and chosen[1].get(name, "").isdigit()]
    free = [name for name in free if not any(name in each for each in ties)]
    for one, other in itertools.combinations(free, 2):
        pairs = [(int(sizes[one]), int(sizes[other])) for sizes in chosen]
        for step, up in itertools.product(range(2, _LARGEST_STEP), (0, 1)):
            cells = [((a + up * (step - 1)) // step) * ((b + up * (step - 1)) // step) for a, b in pairs]
            if 0 in cells or any(number % cell for number, cell in zip(numbers, cells, strict=True)):
                continue
            factors = {number // cell for number, cell in zip(numbers, cells, strict=True)}
            if len(factors) == 1 and min(cells) > 1 and wanted >= 2**_SEVERAL * factors.pop():
                return True
    return False


def _may_fold(before: str, after: str) -> bool:
    """Whether two failures to reshape set several axes that vary against a number that stays: their product may be it.

    So the rows and columns of patches are as many as the model has places for, where the image has the size that it was
    made for. One axis alone would have been tied to that.
    """
    if not (before.startswith(RESHAPE) and after.startswith(RESHAPE)):
        return False
    shapes = [_left_over(text) for text in (before, after)]
    for varies, stays in itertools.permutations((0, 1)):
        first, second = (shape[varies] for shape in shapes)
        wanted, other = (math.prod(shape[stays]) for shape in shapes)
        if wanted != other or len(first) != len(second):
            continue
        fixed = math.prod(a for a, b in zip(first, second, strict=True) if a == b)
        free = sum(a != b for a, b in zip(first, second, strict=True))
        if free >= _SEVERAL and wanted % fixed == 0 and wanted >= fixed * 2**free:
            return True
    return False


def _left_over(message: str) -> tuple[list[int], list[int]]:
    """The axes of the first two shapes in a message, without those that both have."""
    shapes = [[int(size) for size in _NUMBER.findall(text)] for text in _SHAPE.findall(message)[:2]]
    if len(shapes) < 2:
        return [], []
    first, second = shapes
    for size in [*first]:
        if size in second:
            first.remove(size)
            second.remove(size)
    return first, second


def _may_have_product(outcome: TrialOutcome, number: int, wanted: int) -> bool:
    """Whether a number has two free sizes or more in it, which others could be chosen for so that it is the other."""
    chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
    ties = dict(outcome.trial.substitution.ties)
    sizes = [int(text) for name, text in chosen if text.isdigit() and name not in ties]
    within = [size for size in sizes if number % _largest_prime(size) == 0]
    if len(within) > 1 and wanted * math.prod(within) >= number * 2 ** len(within):
        return True
    # What is flattened may have been joined to something: `concatenate([x.reshape(-1), y])`.
    beside = {*sizes, *(outcome.bound_call.integers.values() if outcome.bound_call is not None else ())}
    pairs = [(one * other, {one, other}) for one, other in itertools.combinations(sizes, 2)]
    return any(number == product + more for product, pair in pairs for more in beside - pair if more < wanted)


def _largest_prime(number: int) -> int:
    """The largest prime factor, which tells a free size from the others."""
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            number //= factor
        else:
            factor += 1
    return number


def opposite_sizes(message: str) -> list[tuple[str, ...]]:
    """The pairs of sizes that do not fit each other, of the first two shapes in a message, from their ends on.

    One fits all others where arrays broadcast, but not where axes are contracted.
    """
    if (sizes := _TWO_SIZES.search(message)) is not None:
        return [tuple(filter(None, sizes.groups()))]
    shapes = [_NUMBER.findall(text)[::-1] for text in _SHAPE.findall(message)[:2]]
    if len(shapes) < 2:  # one shape alone, which is too much for something else
        return []
    fits_all = {"1"} if "contracting" not in message else set()
    pairs = zip(*shapes, strict=False)
    return [axes for axes in pairs if len({*axes}) == len(shapes) and fits_all.isdisjoint(axes)]


def _free_names(outcome: TrialOutcome) -> set[str]:
    """The free names whose sizes stand in the message of a failure."""
    if outcome.failure is None or outcome.bound_call is None:
        return set()
    words = set(_WORD.findall(outcome.failure.message))
    ties = dict(outcome.trial.substitution.ties)
    found = [name for name, text in outcome.bound_call.chosen if text in words or ties.get(name) in words]
    return {*found, *(ties[name] for name in found if name in ties)}


def compared_integers(outcome: TrialOutcome) -> Iterator[tuple[str, str]]:
    """The pairs of integers, by name, whose sizes stand beside each other in the message of a failure."""
    if outcome.failure is None or outcome.bound_call is None:
        return
    words = dict.fromkeys(w for text in _texts(outcome) for w in _WORD.findall(text) if w.isdigit())
    named = [[n for n, size in outcome.bound_call.integers.items() if str(size) == word] for word in words]
    for left, right in itertools.combinations(filter(None, named), 2):
        yield from itertools.product(left, right)


def _texts(outcome: TrialOutcome) -> Iterator[str]:
    if outcome.failure is not None:
        yield outcome.failure.message
        yield from (text for _, text in outcome.failure.arrays)


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


def contracts(outcome: TrialOutcome) -> bool:
    """Whether what does not fit are axes over which two arrays are multiplied."""
    return outcome.failure is not None and _CONTRACTS.search(outcome.failure.message) is not None


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
