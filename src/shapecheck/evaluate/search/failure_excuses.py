"""What excuses a shape error, as the failed runs show it: it may lie with what was made up, or what nobody says.

No further run is asked for here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from types import ModuleType

from shapecheck.evaluate.inputs.facts.namesakes import are_namesakes
from shapecheck.evaluate.inputs.facts.signature_facts import missing_parameters
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED
from shapecheck.evaluate.inputs.trials.ties import CallSignature
from shapecheck.evaluate.inputs.trials.trial import CallSpec, TrialOutcome
from shapecheck.evaluate.probes.attribute_access import read_attribute, underlying_function
from shapecheck.evaluate.probes.stand_ins import StandIn, named_stand_in
from shapecheck.evaluate.search.made_functions import may_blame_function
from shapecheck.evaluate.search.unfit_sizes import RESHAPE, compared_integers, left_over_axes, opposite_sizes, shapes_in
from shapecheck.model.assumption import NO_LAYER
from shapecheck.shapes import FixedDim, parse_spec

# No size that is made up is 0: something was left at a default that holds nothing yet, such as a scene without objects.
_HOLDS_NOTHING = re.compile(r"\bempty (?:axis|array|sequence)|zero-size array|\((?:\d+, ?)*0[,)]", re.IGNORECASE)
# A size below 0 is about which of two numbers is larger, where sizes that are made up have an order that nobody gave
# them, or about a module's variable that stands at -1 until a call sets it.
_IS_NEGATIVE = re.compile(r"must have every element be nonnegative|negative dimensions|greater than or equal to zero")
# What is mapped was made up as None, or as variables with nothing in them.
_HAS_NO_ARRAY = re.compile(r"at least one argument containing an array")
_NUMBERS = re.compile(r"\d+")
# No axis, and no place in one, has the number of an integer that was made up to be a size.
_OUT_OF_BOUNDS = re.compile(r"\b(?:index|axis) -?(\d+) is out of bounds")
# What goes through some blocks, of which a class was given none, has nothing to join.
_JOINS_NOTHING = re.compile(r"need at least one array", re.IGNORECASE)
_MAPS_ONE = re.compile(
    r"vmap was requested to map its argument along axis|to be mapped:.* of argument \w+\.\w+ .* of argument \w+\.\w+ "
)
_OPERANDS = re.compile(r"number of operands, (\d+)")
# As many as an axis is long: callers give an array of so many axes, which nobody writes one by one.
_INDEXED = re.compile(r"too many indices: .* but (\d+) were indexed", re.IGNORECASE)
_MOST_AXES = 8
_OF_WHAT_WAS_MADE = (_IS_NEGATIVE, _HAS_NO_ARRAY, _JOINS_NOTHING)
_SQUEEZED = re.compile(r"size not equal to one, got shape=\(([\d, ]*)\) and dimensions=\(([\d, ]*)\)")
# A message that names a dtype, if only that of an array whose shape does not fit.
_OF_DTYPE = re.compile(r"\b(?:integer|int\d*|float\d*|floating|boolean|bool|complex\d*)\b|dtype", re.IGNORECASE)
_UNPACKS = re.compile(r"values to unpack")
_LARGEST_STEP = 65  # a side of a patch
_OTHER_LIBRARIES = frozenset({"torch", "tensorflow", "mlx", "cupy", "paddle"})
_SEVERAL = 2  # axes, of which each may have its part in a product


def is_excused(failed: Sequence[TrialOutcome], call_spec: CallSpec) -> bool:
    """Whether shape errors on one line, in runs of one call, may be no fault of the code."""
    first, signature = failed[0], call_spec.signature
    messages = [each.failure.message for each in failed if each.failure is not None]
    if any(pattern.search(message) for message in messages for pattern in _OF_WHAT_WAS_MADE):
        return True
    if len({count for message in messages for count in _OPERANDS.findall(message)}) > 1:
        return True  # as many as an argument that was made up has rows
    if any(int(count) > _MOST_AXES for message in messages for count in _INDEXED.findall(message)):
        return True
    if any(_is_of_nothing(each, call_spec) for each in failed) or _is_for_another_library(signature):
        return True
    if _is_next_to_open(first, call_spec) or _squeezes_open(first, call_spec):
        return True
    if first.blames_dtypes() or may_blame_function(first, call_spec.signature.function) or _rounds_down(failed):
        return True
    if _counts_otherwise(first, call_spec) or _indexes_by_made(first) or lacks_layer(first):
        return True
    if _maps_one_record(first) or _leaves_rest(first):
        return True
    if _meets_product(failed) and not _has_product_beside(first, signature):
        return True
    return _meets_itself(first, signature) or _meets_inside(first, signature)


def unpacks(outcome: TrialOutcome) -> bool:
    """Whether a run ended where the code unpacks another number of values than there are."""
    return outcome.failure is not None and _UNPACKS.search(outcome.failure.message) is not None


def reshapes_to_made(outcome: TrialOutcome) -> bool:
    """Whether axes are cut into as many as the items of made-up sequences say: callers give the two together."""
    if outcome.failure is None or outcome.bound_call is None or not outcome.failure.message.startswith(RESHAPE):
        return False
    items = {size for name, size in outcome.bound_call.integers.items() if name.endswith("]")}
    before, after = left_over_axes(outcome.failure.message)
    return bool(before) and len(after) > 1 and items.issuperset(after)


def _is_for_another_library(signature: CallSignature) -> bool:
    """Whether a function uses another library of arrays, and nobody says of its own that they are JAX's.

    `x.transpose(1, 2)` swaps two of three axes there.
    """
    said = [array for array in signature.arrays if not all(map(signature.is_made, parse_spec(array.spec).names()))]
    function = underlying_function(signature.function)
    code = getattr(function, "__code__", None)
    if said or code is None:
        return False
    used = (getattr(function, "__globals__", {}).get(name) for name in code.co_names)
    return any(_name_of_package(each) in _OTHER_LIBRARIES for each in used)


def _name_of_package(value: object) -> str:
    """The package that a module belongs to, or what stands for one that is not there; "" for anything else."""
    name = named_stand_in(repr(value)) if isinstance(value, StandIn) else ""
    if isinstance(value, ModuleType):
        name = str(read_attribute(value, "__name__"))
    return name.partition(".")[0]


def _is_of_nothing(outcome: TrialOutcome, call_spec: CallSpec) -> bool:
    """Whether an empty array does not fit that is of an instance, or what a made-up integer leaves of another."""
    is_made = not call_spec.relations or outcome.has_made_values()
    is_made |= outcome.bound_call is not None and bool(outcome.bound_call.integers)
    return is_made and outcome.failure is not None and bool(_HOLDS_NOTHING.search(outcome.failure.message))


def _is_next_to_open(outcome: TrialOutcome, call_spec: CallSpec) -> bool:
    """Whether an axis that does not fit is one more or less than one of any size: `vector[1:]` of `vector: "_n"`.

    With another size it may fit.
    """
    chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
    sizes = [int(size) for name, size in chosen if name in call_spec.open_names and size.isdigit()]
    numbers = set(re.findall(r"\d+", outcome.failure.message)) if outcome.failure is not None else set()
    return any(str(size + step) in numbers for size in sizes for step in (-1, 1))


def _squeezes_open(error: TrialOutcome, call_spec: CallSpec) -> bool:
    """Whether axes are squeezed out of which nobody says the size: then that is one, which is never tried."""
    found = _SQUEEZED.search(error.failure.message) if error.failure is not None else None
    if found is None or error.bound_call is None:
        return False
    free = {size for name, size in error.bound_call.chosen if name in call_spec.open_names or name in UNNAMED}
    shape, axes = (_NUMBERS.findall(text) for text in found.groups())
    return {shape[int(axis)] for axis in axes} <= {"1", *free}


def _counts_otherwise(outcome: TrialOutcome, call_spec: CallSpec) -> bool:
    """Whether the code unpacks other axes than comments say: they may have those of `vmap` among them."""
    return unpacks(outcome) and not all(array.formal for array in call_spec.signature.arrays)


def may_blame_dtype(outcome: TrialOutcome) -> bool:
    """Whether what ended a run may be the dtype that an array was given because nothing says it."""
    is_named = outcome.failure is not None and _OF_DTYPE.search(outcome.failure.message) is not None
    return is_named and outcome.may_have_other_dtypes()


def _indexes_by_made(outcome: TrialOutcome) -> bool:
    """Whether a made-up integer is what the code indexes by: `swapaxes(x, axis1, axis2)` with an axis 80.

    Or what it counts axes with, as in `sum(x, axis=front + i)`.
    """
    found = _OUT_OF_BOUNDS.search(outcome.failure.message) if outcome.failure is not None else None
    if found is None or outcome.bound_call is None or not outcome.bound_call.integers:
        return False
    is_axis = found[0].startswith("axis")
    return int(found[1]) in outcome.bound_call.integers.values() or (is_axis and int(found[1]) > _MOST_AXES)


def _maps_one_record(outcome: TrialOutcome) -> bool:
    """Whether a number, or fields, are mapped over where a record was made up: of a stack each field has an axis more.

    So callers hand it on whom `scan` or `vmap` gave it, whatever the record's class says of one of them.
    """
    maps_one = outcome.failure is not None and _MAPS_ONE.search(outcome.failure.message) is not None
    return maps_one and outcome.bound_call is not None and outcome.bound_call.has_inner_arrays


def meets_default(error: TrialOutcome, kept: TrialOutcome) -> bool:
    """Whether what does not fit is an integer and the default that it has in a run with defaults kept.

    The code has that number elsewhere, too, so nobody gives another.
    """
    if error.bound_call is None or kept.bound_call is None or error.failure is None:
        return False
    defaults = kept.bound_call.integers
    places = {(str(size), str(defaults.get(name))) for name, size in error.bound_call.integers.items()}
    pairs = [axes[:2] for axes in opposite_sizes(error.failure.message)]
    return bool(pairs) and all(not places.isdisjoint({(one, other), (other, one)}) for one, other in pairs)


def lacks_layer(outcome: TrialOutcome) -> bool:
    """Whether two integers of a constructor do not fit that was given no layer which may be there to bring them apart.

    A residual block without a `downsample` is for as many channels as it gives.
    """
    made = outcome.bound_call.assumptions if outcome.bound_call is not None else ()
    return any(each.value == NO_LAYER for each in made) and any(compared_integers(outcome))


def _meets_itself(outcome: TrialOutcome, signature: CallSignature) -> bool:
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
            # What the call itself is given, and claims call a dim, may be any number: `n: int` beside `"n 2"`.
            own = [each for each in integers if each in bound_call.arguments and signature.uses(each)]
            if integers and not own and axis in written and size not in written:
                return True
            pairs = [(name, each) for name in named for each in integers if not signature.names_both(name, each)]
            if any(name in UNNAMED or are_namesakes(name, each) for name, each in pairs):
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


def _meets_inside(outcome: TrialOutcome, signature: CallSignature) -> bool:
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


def _leaves_rest(outcome: TrialOutcome) -> bool:
    """Whether made-up integers are what an array is cut by into parts that do not come out even.

    `(80, 112)` into windows of 7 is 11 by 16 of them; whoever makes the model gives it sides that are multiples.
    """
    if outcome.failure is None or outcome.bound_call is None or not outcome.failure.message.startswith(RESHAPE):
        return False
    whole, parts = [*shapes_in(outcome.failure.message), [], []][:2]
    made = {str(size) for size in outcome.bound_call.integers.values()}
    pairs = [(int(a), int(b)) for a, b in itertools.pairwise(parts)]
    return any(
        size in made and any(0 < int(size) - one * other < max(one, other) for one, other in pairs) for size in whole
    )


def _rounds_down(failed: Sequence[TrialOutcome]) -> bool:
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


def _meets_product(failed: Sequence[TrialOutcome]) -> bool:
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


def _has_product_beside(outcome: TrialOutcome, signature: CallSignature) -> bool:
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
    shapes = [left_over_axes(text) for text in (before, after)]
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
