"""What one evaluation says of each claim that it saw: it holds, it fails, or what it shows proves nothing."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shapecheck.model import ArrayValue, Call, Claim, Evaluation, Module, Point
from shapecheck.model.assumption import AS_CLAIMED
from shapecheck.shapes import (
    Bindings,
    EvaluationError,
    FixedDim,
    NamedDim,
    Size,
    Spec,
    SymbolicDim,
    UndefinedSizeError,
    is_variadic,
    match,
    parse_spec,
)
from shapecheck.shapes import evaluate as evaluate_expression
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes, Mismatch, size_at_fault
from shapecheck.verdicts.comment_verdicts import read_call
from shapecheck.verdicts.mapped_calls import as_callers_have_it
from shapecheck.verdicts.numeric_samples import Samples
from shapecheck.verdicts.rank_only import rank_only_names
from shapecheck.verdicts.select_arrays import OTHER_MEMBER


def ends_at_claim(module: Module, claim: Claim, evaluation: Evaluation) -> bool:
    """Whether an evaluation ended because a shape that code asserts is another one.

    An assertion that fails on the way to something else was caught: so tests do that hand over what does not fit.
    """
    failure = evaluation.failure
    if claim.notation != "code" or failure is None or failure.frame is None or failure.frame.path != module.path:
        return False
    positions = (module.sites[site].position for site in claim.sites)
    return any(each is not None and each.line <= failure.frame.line <= each.end_line for each in positions)


ClaimKey = tuple[str, int]
MISFIT = "the example's own arguments do not fit the parameters"
UNEVEN = "it was seen only with sizes for which its division does not come out even"
UNEVEN_BESIDE = "it was seen only with sizes for which the division of another claim does not come out even"
OTHER_ARGUMENTS = "what the comment starts from has another number of axes here"
CONSEQUENCE = "its function, or one that calls it, is given arguments that do not fit what is said of them"
MADE_UP = "it fails, but only for made-up arguments, which prove nothing"
MADE_EQUAL = "two of its names have one size in all that was evaluated, since the code runs with no other"
HALF_WAY = "evaluation did not come to the end of its function"
HOLDS_NOTHING = "it was seen only as an empty array, which stands for data that nobody gave"
OVERRIDE = "what overrides it has claims or a docstring of its own, which say something else"
SOME_INSTANCES = "it holds for some instances of its class, and others have another number of axes"
OWN_SIZE = "its size is the instance's own, of which an override has an annotation with that number"
_SMALLEST_OWED = 15  # multiples of smaller sizes mean nothing
_FACTORS = range(1, 9)
_NEAR = 4  # steps between a size and what is left of an axis
_LARGEST_DIVISOR = 1000
_DIVISION = re.compile(r"(?<!/)/(?!/)")


@dataclass
class Result:
    """What one evaluation says of one claim."""

    good: bool = False
    bad: Mismatch | None = None
    unknown: str = ""
    loose: tuple[str, ...] = ()
    paths: set[Point] = field(default_factory=set)  # of the calls in which it is good
    paths_of_others: set[Point] = field(default_factory=set)  # of those whose value another member of its union is for
    reader: CallReader | None = None  # of the first call in which it is good
    multiple: int = 1  # it holds for sizes that are multiples of this, and not for all
    general: bool = False  # in a run with free sizes, or of what the entry itself says: that is the same in each run


def evaluate(modules: Mapping[str, Module], evaluation: Evaluation) -> dict[ClaimKey, Result]:
    """What one evaluation says of each claim that it saw.

    Claims with divisions presuppose that these come out even: where such a claim fails for free symbols, the
    evaluation is read again with sizes divisible by the divisors.
    """
    results = _read_results(modules, evaluation, Samples(evaluation))
    uneven: set[tuple[str, str]] = set()
    for (path, index), result in results.items():
        claim = modules[path].claims[index]
        if result.bad is not None and _comes_out_uneven(claim, result.bad):
            divided = parse_spec(claim.spec).names() if is_invented_call(evaluation) else ()
            uneven |= {(bound.name, bound.size) for bound in result.bad.bound if bound.name in divided}
            result.bad, result.unknown = None, UNEVEN
    for result in results.values():
        if result.bad is not None and any((bound.name, bound.size) in uneven for bound in result.bad.bound):
            result.bad, result.unknown = None, UNEVEN_BESIDE
    failing = {k for k, r in results.items() if r.bad is not None}
    divisors = {divisor for path, index in results if failing for divisor in _divisors(modules[path].claims[index])}
    multiple = math.lcm(*divisors, 1)
    if multiple > 1:
        samples = Samples(evaluation, multiple)
        if samples.symbolic:
            again = _read_results(modules, evaluation, samples)
            holding = {k: again[k] for k in failing if again[k].bad is None}
            for result in holding.values():
                result.multiple = multiple
            results.update(holding)
    return results


def _read_results(modules: Mapping[str, Module], evaluation: Evaluation, samples: Samples) -> dict[ClaimKey, Result]:
    readers: dict[int, CallReader] = {}
    results: dict[ClaimKey, Result] = defaultdict(Result)
    misfits: dict[int, Mismatch] = {}
    consequences = Consequences()
    unfit = False
    # Of an array that was made with an axis more, that comments leave it out says nothing.
    has_guessed_rank = any(
        (a.kind, a.provenance) == ("rank", "invented") or a.value.endswith(AS_CLAIMED) for a in evaluation.assumptions
    )
    open_sizes = _open_sizes(evaluation, modules)
    for each in evaluation.calls:
        call = as_callers_have_it(modules[each.path], each, evaluation)
        reader = CallReader(modules[call.path], call, samples, _outer(readers, call))
        readers[call.number] = reader
        if not evaluation.refused:
            reader.made_of = _made_of_themselves(reader, evaluation)
        _follow_fields(reader, readers)
        outcomes = read_call(reader)
        for index in [i for i in outcomes.bad if not _binds_override(reader, i, evaluation)]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, OVERRIDE)
        if reader.left_out and has_guessed_rank:
            claims = reader.module.claims
            beside = [index for index in outcomes.good if claims[index].notation != "annotation"]
            outcomes.good.difference_update(beside)
            outcomes.unknown.update(dict.fromkeys(beside, MADE_UP))
        of_open = {i for i, m in outcomes.bad.items() if open_sizes and _is_of_open_size(m, open_sizes)}
        own = (
            of_open | reader.made_of | _of_invented(reader, evaluation) | _otherwise_named(reader, outcomes, evaluation)
        )
        for index in [
            i
            for i, m in outcomes.bad.items()
            if i in own or _is_chance(i, m, reader, evaluation, modules) or _may_be_callees(i, m, reader, evaluation)
        ]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, MADE_UP)
        for index in [i for i, m in outcomes.bad.items() if _holds_nothing(m, evaluation)]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, HOLDS_NOTHING)
        for index in _of_other_arguments(reader, outcomes):
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, OTHER_ARGUMENTS)
        if evaluation.origin in ("example", "config") and call.caller is None and not unfit:
            misfits = _misfits(reader, outcomes)
            unfit = bool(misfits)
        if unfit:  # what follows from it is no news
            others = (outcomes.good | outcomes.bad.keys()) - misfits.keys()
            outcomes = ClaimOutcomes(bad=misfits, unknown=dict.fromkeys(others, MISFIT))
            misfits = {}
        outcomes = consequences.without(reader, outcomes)
        if not call.complete:  # what ends half-way shows nothing of what would have followed
            claims = reader.module.claims
            caught = [
                i
                for i in outcomes.bad
                if claims[i].notation == "code" and not ends_at_claim(reader.module, claims[i], evaluation)
            ]
            bad = {i: mismatch for i, mismatch in outcomes.bad.items() if i not in caught}
            outcomes = ClaimOutcomes(
                bad=bad, unknown={**dict.fromkeys((*outcomes.good, *caught), HALF_WAY), **outcomes.unknown}
            )
        for index in [i for i in outcomes.good if _are_made_equal(i, reader, evaluation)]:
            outcomes.good.discard(index)
            outcomes.unknown.setdefault(index, MADE_EQUAL)
        _collect(reader, outcomes, results)
        for index, names in rank_only_names(reader, outcomes.unknown.keys() - outcomes.good).items():
            if index in outcomes.good:
                results[(call.path, index)].loose = names
    for size in _sizes_of_instance(modules, evaluation, results):
        for result in results.values():
            if result.bad is not None and size in _sizes_in(result.bad):
                result.bad, result.unknown = None, OWN_SIZE
    for (path, index), result in results.items():
        other_rank = result.bad is not None and result.bad.reason == "rank"
        if result.good and other_rank and _is_of_any_instance(modules[path], index):
            result.good, result.bad, result.unknown = False, None, SOME_INSTANCES
        elif result.good and result.bad is not None and _lacks_batch(modules[path].claims[index], result.bad):
            result.bad = None
    return dict(results)


def _sizes_of_instance(
    modules: Mapping[str, Module], evaluation: Evaluation, results: Mapping[ClaimKey, Result]
) -> set[str]:
    """The free sizes in place of which an override writes a number, where a call was seen and is run with other sizes.

    The base class says `"channels n"`; the instance whose call was seen is one for `"2 n"`, and was given these.
    """
    if evaluation.origin != "seen":
        return set()
    seen = [call for call in evaluation.calls if call.caller is None]
    own = {(call.path, modules[call.path].scopes[call.scope].parent) for call in seen}
    found: set[str] = set()
    for (path, index), result in results.items():
        module, false = modules[path], result.bad
        claim = module.claims[index]
        dims = parse_spec(claim.spec).dims
        if false is None or false.reason != "dim" or false.axis is None or false.axis >= len(dims):
            continue
        owner = module.scopes[false.call.scope].parent
        is_override = owner is not None and module.scopes[owner].kind == "class" and (path, owner) not in own
        is_param = module.sites[claim.sites[0]].kind == "param"
        if is_override and is_param and isinstance(dims[false.axis], FixedDim):
            found.add(size_at_fault(false))
    return found


def _sizes_in(mismatch: Mismatch) -> set[str]:
    shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
    return {*shape, *(bound.size for bound in mismatch.bound)}


def _is_of_any_instance(module: Module, index: int) -> bool:
    """Whether a claim is what a class's docstring says of a field: it may have one kind of its instances in mind.

    Others are made for a part of a pytree, or hold a stack of what the text describes.
    """
    claim = module.claims[index]
    return claim.notation == "docstring" and module.sites[claim.sites[0]].kind == "field"


def _lacks_batch(claim: Claim, mismatch: Mismatch) -> bool:
    """Whether a comment tells of an axis in front that a value has not, as where a model is set up with one example."""
    spec = parse_spec(claim.spec)
    is_shorter = isinstance(mismatch.value, ArrayValue) and len(mismatch.value.shape) + 1 == spec.rank()
    is_named = bool(spec.dims) and isinstance(spec.dims[0], NamedDim)
    return claim.notation == "comment" and mismatch.reason == "rank" and is_shorter and is_named


def _binds_override(reader: CallReader, index: int, evaluation: Evaluation) -> bool:
    """Whether a claim of a declaration, if it is one, holds for what overrides it, if that has none of its own.

    Of an override with a docstring another one says nothing, and comments say nothing of any. What an argument is that
    was made up for the override says nothing of the declaration.
    """
    if not reader.module.scopes[reader.call.scope].declares:
        return True
    site = reader.module.sites[reader.module.claims[index].sites[0]]
    if site.kind == "param" and is_invented_call(evaluation):
        return False
    notations = {"": ("annotation", "docstring"), "docstring": ("annotation",), "claims": ()}
    return reader.module.claims[index].notation in notations[reader.call.of_its_own]


class Consequences:
    """What follows, in one evaluation, from arguments that do not fit what is said of them: one cause, one finding.

    The names in it mean nothing in that call, and what the function hands on is as wrong there.
    """

    def __init__(self) -> None:
        self._wrongly_called: set[tuple[str, str]] = set()  # functions, by path and qualified name

    def without(self, reader: CallReader, outcomes: ClaimOutcomes) -> ClaimOutcomes:
        """The outcomes of a call, of which mere consequences say nothing. Calls come in their order."""
        found = _misfits(reader, outcomes)
        claims = reader.module.claims
        # One member of a union has the right shape: it is another dtype that is wrong.
        shaped = {claims[i].group for i, m in found.items() if m.reason == "dtype"} - {None}
        misfits = {i for i, m in found.items() if m.reason in ("rank", "dim") and claims[i].group not in shaped}
        if not misfits:
            return outcomes
        names = {name for index in misfits for name in parse_spec(claims[index].spec).names()}
        dropped = {i for i in outcomes.bad.keys() - misfits if names & set(parse_spec(claims[i].spec).names())}
        caller = reader.call.caller
        if caller is not None and self._is_within(caller.path, caller.function):
            dropped |= misfits
        self._wrongly_called.add((reader.module.path, reader.module.scopes[reader.call.scope].qualname))
        unknown = {**dict.fromkeys(dropped, CONSEQUENCE), **outcomes.unknown}
        return replace(outcomes, bad={i: m for i, m in outcomes.bad.items() if i not in dropped}, unknown=unknown)

    def _is_within(self, path: str, function: str) -> bool:
        parts = function.split(".")
        outer = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return any((path, each) in self._wrongly_called for each in outer)


def _misfits(reader: CallReader, outcomes: ClaimOutcomes) -> dict[int, Mismatch]:
    """The parameters of which what is written does not fit a call's arguments; texts bind who calls inside of the code.

    Of an example's own call that is all that it shows.
    """
    claims, sites, is_inside = reader.module.claims, reader.module.sites, reader.call.caller is not None
    return {
        index: mismatch
        for index, mismatch in outcomes.bad.items()
        if (is_inside or claims[index].notation == "annotation") and sites[claims[index].sites[0]].kind == "param"
    }


def _holds_nothing(mismatch: Mismatch, evaluation: Evaluation) -> bool:
    """Whether the array that does not fit is empty, in a call that was made up: it has no size that was made.

    `self.psd = jnp.array([])` in a constructor says what there is before there are data.
    """
    value = mismatch.value
    return is_invented_call(evaluation) and isinstance(value, ArrayValue) and "0" in value.shape


def _is_chance(
    index: int, mismatch: Mismatch, reader: CallReader, evaluation: Evaluation, modules: Mapping[str, Module]
) -> bool:
    """Whether the axis that does not fit owes its size to an instance that was made up.

    Unless an annotation of this call admits that size, under its own name: whoever gives the instance may give another.
    But not one that follows the data: no model has as many classes as a batch has examples.
    """
    value, axis = mismatch.value, mismatch.axis
    if mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue) or axis >= len(value.shape):
        return False
    size = value.shape[axis]
    invented = [a for a in evaluation.assumptions if a.kind == "size" and a.provenance == "invented"]
    numbers = [int(a.value) for a in invented if a.value.isdigit()]
    if numbers and reader.call.caller is not None:  # an instance that a call was given, and integers beside it
        numbers += _given_integers(evaluation, modules)
    admitted = {size[0] for size in reader.memo.single.values() if len(set(size)) == 1}
    if not size.isdigit() or int(size) in admitted or _counts_examples(index, axis, len(value.shape), reader):
        return False
    return any(_is_owed(int(size), number) for number in numbers if number >= _SMALLEST_OWED)


def _given_integers(evaluation: Evaluation, modules: Mapping[str, Module]) -> list[int]:
    """The integers among the arguments of what was evaluated."""
    first = next((call for call in evaluation.calls if call.caller is None), None)
    given = modules[first.path].scopes[first.scope].parameters if first is not None else ()
    return [int(size) for name, size in evaluation.integers if name.partition("[")[0] in given and size.isdigit()]


def _may_be_callees(index: int, mismatch: Mismatch, reader: CallReader, evaluation: Evaluation) -> bool:
    """Whether one of the two sizes that do not fit is one for which only a function has a name that is called.

    Any would do: of `y = dense(params, x)  # (n, h)` it is the comment that says what the layer gives. Not so where
    another claim has a name for the axis already, where another axis does not fit either, or where two would be one.
    """
    value, axis = mismatch.value, mismatch.axis
    sizes = {each.value for each in evaluation.assumptions if each.kind == "callee"}
    if not sizes or mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue):
        return False
    if axis >= len(value.shape):
        return False
    shape, dims = reader.samples.shape(value.shape), parse_spec(reader.module.claims[index].spec).dims
    names = [each.name if isinstance(each, NamedDim) else "" for each in dims]
    bound = {each.name: each.size for each in mismatch.bound}
    is_seen = any(_mentions(value.shape[axis], size) for size in sizes)
    if shape is None or len(dims) != len(shape) or any(map(is_variadic, dims)):
        return is_seen
    is_named = shape[axis] in (*reader.memo.single.values(), *reader.fresh.values())
    is_named |= any(size == value.shape[axis] for name, size in bound.items() if name != names[axis])
    if not is_seen:
        return bound.get(names[axis]) in sizes and not is_named
    if value.shape[axis] in sizes and is_named:
        return False
    others = [pair for number, pair in enumerate(zip(names, value.shape, strict=True)) if number != axis]
    fit = all(bound.get(name, size) == size or size in sizes for name, size in others)
    return fit and all(size != bound.get(names[axis]) or name == names[axis] for name, size in others)


def _mentions(size: str, other: str) -> bool:
    """Whether a size is another one, or computed of it: `2*d` of `d`, 152 of 76."""
    if size.isdigit() and other.isdigit():
        return _is_owed(int(size), int(other))
    return re.search(rf"(?<!\w){re.escape(other)}(?!\w)", size) is not None


def _are_made_equal(index: int, reader: CallReader, evaluation: Evaluation) -> bool:
    """Whether a claim names two axes that have one size since one of them was tied to it, or what it follows was.

    What `h = x @ w  # (n, k)` gives may have k columns. But where the code runs only with n, that proves nothing.
    """
    claim = reader.module.claims[index]
    ties = [a for a in evaluation.assumptions if a.kind == "tie" and a.provenance != "invented"]
    names = parse_spec(claim.spec).free_names() if ties and claim.notation != "annotation" else ()
    sizes = {name: size for name in names if (size := reader.lookup(name)) is not None}
    tied = {size for each in ties for name, size in evaluation.sizes if name == each.value}
    tied |= {reader.samples.text(sizes[each.subject]) for each in ties if each.subject in sizes}
    texts = Counter(reader.samples.text(size) for size in sizes.values())
    return any(times > 1 and text in tied for text, times in texts.items())


def _counts_examples(index: int, axis: int, axes: int, reader: CallReader) -> bool:
    """Whether a claim has a name for an axis that leads all other arrays of this call which have it beside others.

    That of one matrix may be its rows, which are features as well.
    """
    claims = reader.module.claims
    spec = parse_spec(claims[index].spec)
    dim = spec.dims[axis] if len(spec.dims) == axes else None
    if not isinstance(dim, NamedDim):
        return False
    others = (parse_spec(claims[each].spec).dims for each in reader.seen_claims if each != index)
    names = ([each.name if isinstance(each, NamedDim) else "" for each in dims] for dims in others)
    having = [each for each in names if dim.name in each and len(each) > 1]
    is_data = len(having) > 1 or any(len(each) > 2 for each in having)
    return is_data and all(dim.name not in each[1:] for each in having)


def _made_of_themselves(reader: CallReader, evaluation: Evaluation) -> set[int]:
    """The comments and docstrings of parameters whose arguments were made for this call as nothing else describes them.

    Such an argument can contradict only what was made up with it, as the size that a constructor's local has.
    """
    if reader.call.caller is not None or not is_invented_call(evaluation):
        return set()
    module = reader.module
    by_site: dict[int, list[int]] = defaultdict(list)
    for index in reader.seen_claims:
        site = module.claims[index].sites[0]
        if site in reader.seen and module.sites[site].kind == "param":
            by_site[site].append(index)
    alike = (indices for indices in by_site.values() if len({module.claims[index].spec for index in indices}) == 1)
    own = (indices for indices in alike if all(module.claims[index].notation != "annotation" for index in indices))
    return {index for indices in own for index in indices}


def _otherwise_named(reader: CallReader, outcomes: ClaimOutcomes, evaluation: Evaluation) -> set[int]:
    """The comments and docstrings of parameters that fail for an axis which another of them calls by another name.

    The argument was made as that other one has it: the two names may well mean one size.
    """
    if reader.call.caller is not None or not is_invented_call(evaluation):
        return set()
    claims, sites = reader.module.claims, reader.module.sites
    found: set[int] = set()
    for index, mismatch in outcomes.bad.items():
        site = claims[index].sites[0]
        beside = [claims[each] for each in reader.seen_claims if each != index and claims[each].sites[0] == site]
        if mismatch.reason != "dim" or sites[site].kind != "param" or mismatch.axis is None:
            continue
        spec = parse_spec(claims[index].spec)
        place = place_of_axis(spec, mismatch.axis, len(getattr(mismatch.value, "shape", ())))
        names = {*Spec((spec.dims[place],)).names()} if place is not None else set[str]()
        others = {name for each in beside for name in parse_spec(each.spec).names()}
        if names and beside and not names & others and all(each.notation != "annotation" for each in beside):
            found.add(index)
    return found


def _of_other_arguments(reader: CallReader, outcomes: ClaimOutcomes) -> list[int]:
    """What fails behind an arrow, in a call where what stands in front of it has another number of axes.

    `# [batch, n] -> [batch, n, 1]` says nothing of what is made of three axes; that is held against the front.
    """
    claims = reader.module.claims
    other = {
        (claims[index].scope, claims[index].span.line)
        for index, mismatch in outcomes.bad.items()
        if mismatch.reason == "rank" and claims[index].notation == "comment" and not claims[index].behind_arrow
    }
    behind = (index for index in outcomes.bad if claims[index].behind_arrow)
    return [index for index in behind if (claims[index].scope, claims[index].span.line) in other]


def _of_invented(reader: CallReader, evaluation: Evaluation) -> set[int]:
    """The claims of arguments and fields whose own numbers of axes were made up: these can contradict nothing."""
    ranks = (a for a in evaluation.assumptions if (a.kind, a.provenance) == ("rank", "invented"))
    made = {each.subject.rpartition(".")[2] for each in ranks}
    claims, sites = reader.module.claims, reader.module.sites
    firsts = {index: claims[index].sites[0] for index in (reader.seen_claims if made else ())}
    return {
        index
        for index, site in firsts.items()
        if site in reader.seen and sites[site].kind in ("param", "field") and sites[site].name in made
    }


def _open_sizes(evaluation: Evaluation, modules: Mapping[str, Module]) -> Mapping[str, str]:
    """The axes of arrays that are made as claims say, and which no claim calls by a name: their names and sizes."""
    texts = [a.value for a in evaluation.assumptions if a.value.endswith(AS_CLAIMED)]
    if not texts:
        return {}
    words = {word for text in texts for word in re.findall(r"[^\W\d]\w*", text)}
    paths = {call.path for call in evaluation.calls}
    used = {name for path in paths for claim in modules[path].claims for name in parse_spec(claim.spec).names()}
    return {name: size for name, size in evaluation.sizes if name in words - used}


def _is_of_open_size(mismatch: Mismatch, open_sizes: Mapping[str, str]) -> bool:
    """Whether the axis that does not fit has, or follows from, a size that nobody says."""
    shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
    if mismatch.reason != "dim" or mismatch.axis is None or mismatch.axis >= len(shape):
        return False
    size = shape[mismatch.axis]
    if not size.isdigit():
        return not open_sizes.keys().isdisjoint(re.findall(r"[^\W\d]\w*", size))
    numbers = [int(each) for each in open_sizes.values() if each.isdigit()]
    return any(abs(int(size) - each) <= _NEAR or _is_owed(int(size), each) for each in numbers)


def is_invented_call(evaluation: Evaluation) -> bool:
    """Whether its first call got arguments that we made, as annotations, comments or names have them."""
    return evaluation.origin in ("function", "model")


def _is_owed(size: int, number: int) -> bool:
    return any(size == factor * number or factor * size == number for factor in _FACTORS)


def _outer(readers: Mapping[int, CallReader], call: Call) -> CallReader | None:
    return readers.get(call.parent) if call.parent is not None else None


def _follow_fields(reader: CallReader, readers: Mapping[int, CallReader]) -> None:
    """Tell a call the names in the fields of the classes of its arguments, where all their instances agree on them."""
    module = reader.module
    records = module.scopes[reader.call.scope].records
    found: dict[str, dict[Size, BoundSize]] = defaultdict(dict)
    for other in readers.values() if records else ():
        if other.module is module and other.call.scope in records:
            for name, origin, size in other.fresh_names():
                found[name].setdefault(size, origin)
    reader.of_records = {
        name: (origin, size) for name, by in found.items() if len(by) == 1 for size, origin in by.items()
    }
    fields = [claim for claim in module.claims if claim.scope in records and module.is_about(claim, "field")]
    numbers = {dim.size for claim in fields for dim in parse_spec(claim.spec).dims if isinstance(dim, FixedDim)}
    reader.numbers_of_records = {(number,) * reader.samples.count for number in numbers}


def _collect(reader: CallReader, outcomes: ClaimOutcomes, results: dict[ClaimKey, Result]) -> None:
    call = reader.call
    for index in outcomes.good:
        result = results[(call.path, index)]
        result.good, result.reader = True, result.reader or reader
        result.general |= reader.samples.symbolic or call.caller is None
        result.paths.update(call.paths)
    for index, mismatch in outcomes.bad.items():
        result = results[(call.path, index)]
        result.bad = result.bad or mismatch
    for index, reason in outcomes.unknown.items():
        results[(call.path, index)].unknown = reason
        if reason.endswith(OTHER_MEMBER):
            results[(call.path, index)].paths_of_others.update(call.paths)


def _comes_out_uneven(claim: Claim, mismatch: Mismatch) -> bool:
    """Whether the axis that does not fit is claimed by a division that does not come out even: rounded, it fits."""
    spec, value, axis = parse_spec(claim.spec), mismatch.value, mismatch.axis
    if mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue):
        return False
    place = place_of_axis(spec, axis, len(value.shape))
    if place is None:
        return False
    dim = Spec((spec.dims[place],))
    sizes = {bound.name: int(bound.size) for bound in mismatch.bound if bound.size.isdigit()}
    known = [sizes[name] for name in dim.names() if name in sizes]
    bindings = Bindings({name: (size,) for name, size in sizes.items()})
    if not any(size % divisor for divisor in dim.divisors() for size in known) and not _is_fraction(dim, sizes):
        return False
    dim = parse_spec(_DIVISION.sub("//", str(dim)))
    observed = int(value.shape[axis]) if value.shape[axis].isdigit() else -1
    env = {name: (size,) for name, size in sizes.items()}
    rounded = (match(dim, ((observed - up,),), bindings, env=env, defer=True) for up in (0, 1))
    return any(each.ok or each.reason == "unbound" for each in rounded)


def place_of_axis(spec: Spec, axis: int, axes: int) -> int | None:
    """Which dim of a spec an axis is: counted from its end, behind a dim that stands for several; None of a number."""
    if not spec.dims:
        return None
    variadic = [index for index, dim in enumerate(spec.dims) if is_variadic(dim)]
    if not variadic or (axis < variadic[0] and axis < len(spec.dims)):
        return min(axis, len(spec.dims) - 1)
    place = axis - axes + len(spec.dims)
    return place if variadic[-1] < place < len(spec.dims) else None  # the value may have too few axes


def _is_fraction(dim: Spec, sizes: Mapping[str, int]) -> bool:
    """Whether a dim is a quotient which is no whole number: `n/{by}`, of sizes that were made up."""
    (only,) = dim.dims
    if not isinstance(only, SymbolicDim) or not _DIVISION.search(str(dim)):
        return False
    known = {name: (size,) for name, size in sizes.items()}
    try:
        evaluate_expression(only.expression, known, 1, arguments=known)
    except UndefinedSizeError:
        return True
    except EvaluationError:
        return False
    return False


def _divisors(claim: Claim) -> set[int]:
    return {divisor for divisor in parse_spec(claim.spec).divisors() if divisor < _LARGEST_DIVISOR}
