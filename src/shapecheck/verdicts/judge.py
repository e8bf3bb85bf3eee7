"""Claims x evaluations -> how each claim ended."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shapecheck.model import ArrayValue, Assumption, Call, Claim, Evaluation, Module, Point, proves, weakest
from shapecheck.shapes import Bindings, Spec, match, parse_spec
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.claim_outcome import ClaimOutcomes, Mismatch
from shapecheck.verdicts.comment_verdicts import read_call
from shapecheck.verdicts.numeric_samples import Samples
from shapecheck.verdicts.own_failures import ends_at_claim
from shapecheck.verdicts.rank_only import rank_only_names

ClaimKey = tuple[str, int]
MISFIT = "the example's own arguments do not fit the parameters"
UNEVEN = "it was seen only with sizes for which its division does not come out even"
CONSEQUENCE = "its function, or one that calls it, is given arguments that do not fit its annotations"
MADE_UP = "it fails, but only for made-up arguments, which prove nothing"

HALF_WAY = "evaluation did not come to the end of its function"
HOLDS_NOTHING = "it was seen only as an empty array, which stands for data that nobody gave"
SOME_PATHS = "seen on {seen}: {missing} never ran"
SOME_INSTANCES = "it holds for some instances of its class, and others have another number of axes"
SOME_SIZES = "it holds for some sizes and fails for others: for {holds}, but not for {fails}"
SOME_INTEGERS = "it holds for some integers of its constructor, and fails for others"

_GIVEN = ("test", "example", "config", "script", "run")  # origins of arguments that the user wrote
_PARTICULAR = ("tie", "size", "rank")  # assumptions under which a claim was not seen for all sizes
_SMALLEST_OWED = 15  # multiples of smaller sizes mean nothing
_FACTORS = range(1, 9)
_LARGEST_DIVISOR = 1000


@dataclass(frozen=True)
class Contradiction:
    """A claim that evaluation contradicts: the most telling case, and what was chosen for it."""

    mismatch: Mismatch
    evaluation: Evaluation


@dataclass(frozen=True, eq=False)
class ClaimInCall:
    """A claim that holds in a call: who read the call, and the evaluation that made it."""

    reader: CallReader
    evaluation: Evaluation


@dataclass(kw_only=True)
class Verdicts:
    """How the claims ended, by (path, index). A claim in none of these was not observed at all."""

    good: set[ClaimKey] = field(default_factory=set)
    for_all_sizes: set[ClaimKey] = field(default_factory=set)
    firm: set[ClaimKey] = field(default_factory=set)  # good, and every name was bound by something else
    loose: dict[ClaimKey, tuple[str, ...]] = field(default_factory=dict)  # good, but for these names
    bad: dict[ClaimKey, Contradiction] = field(default_factory=dict)
    unknown: dict[ClaimKey, str] = field(default_factory=dict)
    paths: dict[ClaimKey, set[Point]] = field(default_factory=lambda: defaultdict(set))  # by which it was seen to hold
    general_paths: dict[ClaimKey, set[Point]] = field(default_factory=lambda: defaultdict(set))  # for all sizes
    rests_on: dict[ClaimKey, tuple[Assumption, ...]] = field(default_factory=dict)  # the strongest run that verifies it
    shown_by: dict[ClaimKey, ClaimInCall] = field(default_factory=dict)  # where a good one was seen, best for all sizes
    explained: list[Evaluation] = field(default_factory=list)  # what failed untied, for a relation that claims write


def judge(modules: Mapping[str, Module], runs: Iterable[Sequence[Evaluation]]) -> Verdicts:
    """The verdicts over all entries; `runs` are the evaluations of one entry each.

    Within an entry a claim is false only if it fails in every evaluation that saw it: other sizes, or numbers in
    place of symbols, may show that it holds after all. Over entries one failure is enough.
    """
    verdicts = Verdicts()
    for evaluations in runs:
        _entry(modules, evaluations, verdicts)
    for key in verdicts.bad:
        verdicts.good.discard(key)
        verdicts.for_all_sizes.discard(key)
    for key in list(verdicts.good):
        _require_all_paths(key, modules[key[0]], verdicts)
    for key in verdicts.firm | verdicts.bad.keys():
        verdicts.loose.pop(key, None)
    return verdicts


def _require_all_paths(key: ClaimKey, module: Module, verdicts: Verdicts) -> None:
    """A claim holds where it holds by each path that its value may come by: else it was not reached.

    One that may as well be about another value, which comes by one path, was seen with that.
    """
    sites = [module.sites[site].paths for site in module.claims[key[1]].sites]
    paths = sites[0] if all(sites) else ()
    missing = [path for path in paths if path not in verdicts.paths[key]]
    if missing:
        verdicts.good.discard(key)
        lines = " and ".join(str(line) for line, _ in missing)
        of = f"{len(paths) - len(missing)} of {len(paths)} paths"
        verdicts.unknown[key] = SOME_PATHS.format(
            seen=of, missing=f"{'line' if len(missing) == 1 else 'lines'} {lines}"
        )
    if any(path not in verdicts.general_paths[key] for path in paths):
        verdicts.for_all_sizes.discard(key)


@dataclass(frozen=True, eq=False)
class EvaluationView:
    """What one evaluation shows of the claims."""

    evaluation: Evaluation
    results: Mapping[ClaimKey, Result]

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What it rests on."""
        return self.evaluation.assumptions

    def everywhere(self) -> bool:
        """Whether it is for all sizes: with symbols, none of which had to be a number or another."""
        is_whole = self.evaluation.mode == "symbolic" and self.evaluation.status == "ok"
        return is_whole and not any(each.kind in _PARTICULAR for each in self.assumptions)

    def is_free(self, group: Sequence[EvaluationView]) -> bool:
        """Whether it went to its end with numbers, and with no more ties than others needed."""
        is_whole = self.evaluation.mode == "sized" and self.evaluation.status == "ok"
        is_another_case = any(each.kind == "value" and each.provenance == "given" for each in self.assumptions)
        return is_whole and not is_another_case and self.ties() == min(each.ties() for each in group)

    def ties(self) -> int:
        """How many dims were tied."""
        return sum(each.kind == "tie" for each in self.assumptions)


def _about_refused(
    modules: Mapping[str, Module], evaluation: Evaluation, results: Mapping[ClaimKey, Result]
) -> Mapping[ClaimKey, Result]:
    """Of a run with another shape than documented for one argument, what it shows of that argument."""
    if not evaluation.refused:
        return results

    def is_meant(key: ClaimKey) -> bool:
        claim = modules[key[0]].claims[key[1]]
        site = modules[key[0]].sites[claim.sites[0]]
        return site.kind == "param" and site.name == evaluation.refused

    return {key: result for key, result in results.items() if is_meant(key)}


def _entry(modules: Mapping[str, Module], evaluations: Sequence[Evaluation], verdicts: Verdicts) -> None:
    every = [EvaluationView(each, _about_refused(modules, each, evaluate(modules, each))) for each in evaluations]
    every = _select_counting(every, verdicts)
    for each in every:
        verdicts.unknown.update({key: result.unknown for key, result in each.results.items() if result.unknown})
        for key, result in each.results.items():
            if result.good and result.bad is None:
                verdicts.paths[key] |= result.paths
                if each.everywhere():
                    verdicts.general_paths[key] |= result.paths
    cases: dict[tuple[int, str], list[EvaluationView]] = {}
    for each in every:
        cases.setdefault((each.evaluation.rank, each.evaluation.case), []).append(each)
    good: dict[ClaimKey, bool] = {}
    bad: dict[ClaimKey, Contradiction] = {}
    for number, ((rank, _), group) in enumerate(cases.items()):
        is_usual = rank == evaluations[0].rank
        for key in dict.fromkeys(key for each in group for key in each.results):
            if not is_usual and not _is_for_each_rank(modules[key[0]].claims[key[1]]):
                continue
            found = _verdict(modules, key, group, verdicts)
            if isinstance(found, Contradiction):
                bad.setdefault(key, found)
            elif found is not None and not number:
                good[key] = found
    for key, everywhere in good.items():
        verdicts.good.add(key)
        if everywhere and key not in bad:
            verdicts.for_all_sizes.add(key)
    for key, contradiction in bad.items():
        verdicts.bad.setdefault(key, contradiction)


def _is_for_each_rank(claim: Claim) -> bool:
    """Whether a claim is about any number of axes: a comment may speak of the case that its author had in mind."""
    return claim.notation == "annotation" or parse_spec(claim.spec).rank() is None


def _verdict(
    modules: Mapping[str, Module], key: ClaimKey, group: Sequence[EvaluationView], verdicts: Verdicts
) -> Contradiction | bool | None:
    """How a claim ends by the evaluations of one entry: a contradiction; that it holds, everywhere or not; or nothing.

    One evaluation in which it holds is enough. If it fails in another, and both rest on what was invented, it holds by
    one invention alone.
    """
    bad = [each for each in group if key in each.results and each.results[key].bad is not None]
    good = [each for each in group if key in each.results and each.results[key].good and each not in bad]
    if bad and good and all(weakest(each.assumptions) == "invented" for each in (*bad, *good)):
        verdicts.unknown.setdefault(key, MADE_UP)
        return None
    free = [each for each in group if each.is_free(group)]
    if (fails := [each for each in bad if each in free]) and (holds := [each for each in good if each in free]):
        verdicts.unknown.setdefault(key, _some_sizes(holds, fails))
        return None
    if good:
        best = min(good, key=lambda each: _strength(each.assumptions))
        kept = verdicts.rests_on.get(key)
        if kept is None or _strength(best.assumptions) < _strength(kept):
            verdicts.rests_on[key] = tuple(a for a in best.assumptions if a.kind not in ("dtype", "follows"))
        _note_shown(key, good, verdicts)
        loose = [each.results[key].loose for each in good]
        if all(loose):
            verdicts.loose.setdefault(key, loose[0])
        else:
            verdicts.firm.add(key)
        return not bad and any(each.everywhere() and not each.results[key].loose for each in good)
    module = modules[key[0]]
    counting = (each for each in bad if _counts(each.evaluation) or _ends_there(module, key, each))
    shown = [(each, mismatch) for each in counting if (mismatch := each.results[key].bad)]
    for _, mismatch in shown:
        # What an invention does not bring about is the same for all of them.
        alike = [each for each, other in shown if (other.reason, other.axis) == (mismatch.reason, mismatch.axis)]
        about: Literal["shape", "dim", "dtype"] = "shape"
        is_written = _is_written_size(modules[key[0]], mismatch, alike)
        about = (
            "dim" if mismatch.reason == "dim" and not is_written else "dtype" if mismatch.reason == "dtype" else about
        )
        if proves([each.assumptions for each in alike], about):
            return Contradiction(mismatch, alike[0].evaluation)
    if bad and not all(any(a.kind == "follows" for a in each.assumptions) for each in bad):
        verdicts.unknown.setdefault(key, MADE_UP)
    return None


def _ends_there(module: Module, key: ClaimKey, each: EvaluationView) -> bool:
    return ends_at_claim(module, module.claims[key[1]], each.evaluation)


def _note_shown(key: ClaimKey, good: Sequence[EvaluationView], verdicts: Verdicts) -> None:
    """Keep where a claim was seen to hold: with symbols, if it ever was, else with sizes."""
    kept = verdicts.shown_by.get(key)
    if kept is None or kept.evaluation.mode != "symbolic":
        best = next((each for each in good if each.everywhere()), good[0])
        reader = best.results[key].reader
        if reader is not None and (kept is None or best.everywhere()):
            verdicts.shown_by[key] = ClaimInCall(reader, best.evaluation)


def _is_written_size(module: Module, mismatch: Mismatch, alike: Sequence[EvaluationView]) -> bool:
    """Whether the axis that does not fit has the size of a dim that claims name: then no invented array brought it."""
    if mismatch.axis is None or not isinstance(mismatch.value, ArrayValue):
        return False
    size = mismatch.value.shape[mismatch.axis] if mismatch.axis < len(mismatch.value.shape) else ""
    names = {name for each in alike for name, other in each.evaluation.sizes if other == size}
    return bool(names) and any(not names.isdisjoint(parse_spec(claim.spec).names()) for claim in module.claims)


def _some_sizes(holds: Sequence[EvaluationView], fails: Sequence[EvaluationView]) -> str:
    one, other = _sizes(holds), _sizes(fails)
    return SOME_INTEGERS if one == other else SOME_SIZES.format(holds=one, fails=other)


def _sizes(seen: Sequence[EvaluationView]) -> str:
    return ", ".join(f"{name}={size}" for name, size in seen[0].evaluation.sizes) or "the default sizes"


def _strength(assumptions: Sequence[Assumption]) -> int:
    order = ("given", "written", "namesake", "alias", "invented")
    return order.index(weakest(assumptions))


def _counts(evaluation: Evaluation) -> bool:
    """Whether what an evaluation contradicts is contradicted. Sizes which do not even evaluate prove nothing."""
    if evaluation.status == "ok":
        return True
    # A failure of kind "shape" is one that is reported itself.
    is_known = evaluation.failure is not None and evaluation.failure.kind in ("value", "shape")
    return is_known or evaluation.origin in _GIVEN


def _select_counting(every: Sequence[EvaluationView], verdicts: Verdicts) -> list[EvaluationView]:
    """Those that count, where some ran only under a tie that nothing explains: the others, which failed without it.

    But a relation with a factor (`d = 2*half`) is explained if a claim holds only with it: the claim writes it.
    """
    tied = [each for each in every if any(a.kind == "tie" and a.provenance == "invented" for a in each.assumptions)]
    if not tied:
        return list(every)
    untied = [each for each in every if each not in tied]
    failed = [each for each in untied if each.evaluation.failure is not None and each.evaluation.failure.requires]
    if failed and any(_writes_relation(each, failed) for each in tied):
        verdicts.explained += [each.evaluation for each in failed]
        return [_as_written(each) for each in tied]
    return untied


def _writes_relation(tied: EvaluationView, failed: Sequence[EvaluationView]) -> bool:
    relations = [a for a in tied.assumptions if a.kind == "tie" and a.provenance == "invented"]
    if any(a.value.isalnum() or a.value.isidentifier() for a in relations):
        return False
    holds = (key for key, result in tied.results.items() if result.good)
    return any((r := each.results.get(key)) is not None and r.bad is not None for key in holds for each in failed)


def _as_written(seen: EvaluationView) -> EvaluationView:
    """The same, with its relations as the claims write them."""
    written = tuple(
        replace(a, provenance="written") if a.kind == "tie" and a.provenance == "invented" else a
        for a in seen.assumptions
    )
    return EvaluationView(replace(seen.evaluation, assumptions=written), seen.results)


@dataclass
class Result:
    """What one evaluation says of one claim."""

    good: bool = False
    bad: Mismatch | None = None
    unknown: str = ""
    loose: tuple[str, ...] = ()
    paths: set[Point] = field(default_factory=set)  # of the calls in which it is good
    reader: CallReader | None = None  # of the first call in which it is good


def evaluate(modules: Mapping[str, Module], evaluation: Evaluation) -> dict[ClaimKey, Result]:
    """What one evaluation says of each claim that it saw.

    Claims with divisions presuppose that these come out even: where such a claim fails for free symbols, the
    evaluation is read again with sizes divisible by the divisors.
    """
    results = _read_results(modules, evaluation, Samples(evaluation))
    for (path, index), result in results.items():
        if result.bad is not None and _comes_out_uneven(modules[path].claims[index], result.bad):
            result.bad, result.unknown = None, UNEVEN
    failing = {k for k, r in results.items() if r.bad is not None}
    divisors = {divisor for path, index in results if failing for divisor in _divisors(modules[path].claims[index])}
    multiple = math.lcm(*divisors, 1)
    if multiple > 1:
        samples = Samples(evaluation, multiple)
        if samples.symbolic:
            again = _read_results(modules, evaluation, samples)
            results.update({k: again[k] for k in failing if again[k].bad is None})
    return results


def _read_results(modules: Mapping[str, Module], evaluation: Evaluation, samples: Samples) -> dict[ClaimKey, Result]:
    readers: dict[int, CallReader] = {}
    results: dict[ClaimKey, Result] = defaultdict(Result)
    misfits: dict[int, Mismatch] = {}
    consequences = Consequences()
    unfit = False
    for call in evaluation.calls:
        reader = CallReader(modules[call.path], call, samples, _outer(readers, call))
        readers[call.number] = reader
        outcomes = read_call(reader)
        own = set[int]() if evaluation.refused else _made_of_themselves(reader, evaluation)
        own |= _of_invented(reader, evaluation)
        for index in [i for i, m in outcomes.bad.items() if i in own or _is_chance(m, reader, evaluation)]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, MADE_UP)
        for index in [i for i, m in outcomes.bad.items() if _holds_nothing(m, evaluation)]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, HOLDS_NOTHING)
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
        _collect(reader, outcomes, results)
        for index, names in rank_only_names(reader).items():
            if index in outcomes.good:
                results[(call.path, index)].loose = names
    for (path, index), result in results.items():
        other_rank = result.bad is not None and result.bad.reason == "rank"
        if result.good and other_rank and _is_of_any_instance(modules[path], index):
            result.good, result.bad, result.unknown = False, None, SOME_INSTANCES
    return dict(results)


def _is_of_any_instance(module: Module, index: int) -> bool:
    """Whether a claim is what a class's docstring says of a field: it may have one kind of its instances in mind.

    Others are made for a part of a pytree, or hold a stack of what the text describes.
    """
    claim = module.claims[index]
    return claim.notation == "docstring" and module.sites[claim.sites[0]].kind == "field"


class Consequences:
    """What follows, in one evaluation, from arguments that do not fit a function's annotations: one cause, one finding.

    The names of such an annotation mean nothing in that call, and what the function hands on is as wrong there.
    """

    def __init__(self) -> None:
        self._wrongly_called: set[tuple[str, str]] = set()  # functions, by path and qualified name

    def without(self, reader: CallReader, outcomes: ClaimOutcomes) -> ClaimOutcomes:
        """The outcomes of a call, of which mere consequences say nothing. Calls come in their order."""
        misfits = {i for i, m in _misfits(reader, outcomes).items() if m.reason in ("rank", "dim")}
        if not misfits:
            return outcomes
        claims = reader.module.claims
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
    """The annotated parameters that a call's arguments do not fit: of an example's own all that it shows."""
    claims, sites = reader.module.claims, reader.module.sites
    return {
        index: mismatch
        for index, mismatch in outcomes.bad.items()
        if claims[index].notation == "annotation" and sites[claims[index].sites[0]].kind == "param"
    }


def _holds_nothing(mismatch: Mismatch, evaluation: Evaluation) -> bool:
    """Whether the array that does not fit is empty, in a call that was made up: it has no size that was made.

    `self.psd = jnp.array([])` in a constructor says what there is before there are data.
    """
    value = mismatch.value
    return is_invented_call(evaluation) and isinstance(value, ArrayValue) and "0" in value.shape


def _is_chance(mismatch: Mismatch, reader: CallReader, evaluation: Evaluation) -> bool:
    """Whether the axis that does not fit owes its size to an instance that was made up.

    Unless an annotation of this call admits that size, under its own name: whoever gives the instance may give another.
    """
    value, axis = mismatch.value, mismatch.axis
    if mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue) or axis >= len(value.shape):
        return False
    size = value.shape[axis]
    invented = [a for a in evaluation.assumptions if a.kind == "size" and a.provenance == "invented"]
    numbers = [int(a.value) for a in invented if a.value.isdigit()]
    admitted = {size[0] for size in reader.memo.single.values() if len(set(size)) == 1}
    if not size.isdigit() or int(size) in admitted:
        return False
    return any(_is_owed(int(size), number) for number in numbers if number >= _SMALLEST_OWED)


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
    alone = (indices[0] for indices in by_site.values() if len(indices) == 1)
    return {index for index in alone if module.claims[index].notation != "annotation"}


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


def is_invented_call(evaluation: Evaluation) -> bool:
    """Whether its first call got arguments that we made, as annotations, comments or names have them."""
    return evaluation.origin in ("function", "model")


def _is_owed(size: int, number: int) -> bool:
    return any(size == factor * number or factor * size == number for factor in _FACTORS)


def _outer(readers: Mapping[int, CallReader], call: Call) -> CallReader | None:
    return readers.get(call.parent) if call.parent is not None else None


def _collect(reader: CallReader, outcomes: ClaimOutcomes, results: dict[ClaimKey, Result]) -> None:
    call = reader.call
    for index in outcomes.good:
        result = results[(call.path, index)]
        result.good, result.reader = True, result.reader or reader
        result.paths.update(call.paths)
    for index, mismatch in outcomes.bad.items():
        result = results[(call.path, index)]
        result.bad = result.bad or mismatch
    for index, reason in outcomes.unknown.items():
        results[(call.path, index)].unknown = reason


def _comes_out_uneven(claim: Claim, mismatch: Mismatch) -> bool:
    """Whether the axis that does not fit is claimed by a division that does not come out even: rounded, it fits."""
    spec, value, axis = parse_spec(claim.spec), mismatch.value, mismatch.axis
    if mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue) or spec.rank() is None:
        return False
    dim = Spec((spec.dims[axis],)) if axis < len(spec.dims) else spec
    sizes = {bound.name: int(bound.size) for bound in mismatch.bound if bound.size.isdigit()}
    known = [sizes[name] for name in dim.names() if name in sizes]
    if not any(size % divisor for divisor in dim.divisors() for size in known):
        return False
    bindings = Bindings({name: (size,) for name, size in sizes.items()})
    observed = int(value.shape[axis]) if value.shape[axis].isdigit() else -1
    rounded = (match(dim, ((observed - up,),), bindings, defer=True) for up in (0, 1))
    return any(each.ok or each.reason == "unbound" for each in rounded)


def _divisors(claim: Claim) -> set[int]:
    return {divisor for divisor in parse_spec(claim.spec).divisors() if divisor < _LARGEST_DIVISOR}
