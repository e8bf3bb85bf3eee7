"""Claims x evaluations -> how each claim ended."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.check.calls import CallReader
from shapecheck.check.comments import read_call
from shapecheck.check.loose import loose_names
from shapecheck.check.outcomes import Mismatch, Outcomes
from shapecheck.check.sampling import Samples
from shapecheck.facts import ArrayValue, Call, Claim, Evaluation, Module, Value
from shapecheck.shapes import parse_spec

ClaimKey = tuple[str, int]
MISFIT = "the example's own arguments do not fit the parameters"
UNEVEN = "it was seen only with sizes for which its division does not come out even"
MADE_UP = "it fails, but only for made-up arguments, which prove nothing"


@dataclass(frozen=True)
class False_:  # noqa: N801 - `False` is taken
    """A claim that evaluation contradicts: the most telling case, and what was chosen for it."""

    mismatch: Mismatch
    evaluation: Evaluation


@dataclass
class Verdicts:
    """How the claims ended, by (path, index). A claim in none of these was not observed at all."""

    good: set[ClaimKey] = field(default_factory=set)
    for_all_sizes: set[ClaimKey] = field(default_factory=set)
    firm: set[ClaimKey] = field(default_factory=set)  # good, and every name was bound by something else
    loose: dict[ClaimKey, tuple[str, ...]] = field(default_factory=dict)  # good, but for these names
    bad: dict[ClaimKey, False_] = field(default_factory=dict)
    unknown: dict[ClaimKey, str] = field(default_factory=dict)


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
    for key in verdicts.firm | verdicts.bad.keys():
        verdicts.loose.pop(key, None)
    return verdicts


def _entry(modules: Mapping[str, Module], evaluations: Sequence[Evaluation], verdicts: Verdicts) -> None:
    good: dict[ClaimKey, bool] = {}
    bad: dict[ClaimKey, False_] = {}
    for evaluation in evaluations:
        outcomes = evaluate(modules, evaluation)
        # A free name that had to be tied to a number was seen with one size only.
        numbers = any(size.isdigit() for _, size in evaluation.sizes)
        everywhere = evaluation.mode == "symbolic" and evaluation.status == "ok" and not (numbers or evaluation.guessed)
        for key, result in outcomes.items():
            verdicts.unknown.update({key: result.unknown} if result.unknown else {})
            if result.bad is not None and trusted(evaluation, result.bad):
                bad.setdefault(key, False_(result.bad, evaluation))
            elif result.bad is not None and evaluation.proves:
                verdicts.unknown.setdefault(key, MADE_UP)
            elif result.good:
                good[key] = good.get(key, False) or (everywhere and not result.loose)
                if result.loose:
                    verdicts.loose.setdefault(key, result.loose)
                else:
                    verdicts.firm.add(key)
    for key, everywhere in good.items():
        verdicts.good.add(key)
        if everywhere and key not in bad:
            verdicts.for_all_sizes.add(key)
    for key, false in bad.items():
        if key not in good:
            verdicts.bad.setdefault(key, false)


def trusted(evaluation: Evaluation, mismatch: Mismatch) -> bool:
    """Whether a contradiction that this evaluation shows is one. Sizes which do not even evaluate prove nothing."""
    if not evaluation.proves or evaluation.guessed or (mismatch.reason == "dtype" and evaluation.guessed_dtype):
        return False
    if evaluation.status == "ok":
        return True
    # A failure of kind "shape" is one that is reported itself.
    return evaluation.failure is not None and (evaluation.failure.kind in ("value", "shape") or evaluation.tied)


@dataclass
class Result:
    """What one evaluation says of one claim."""

    good: bool = False
    bad: Mismatch | None = None
    unknown: str = ""
    loose: tuple[str, ...] = ()


def evaluate(modules: Mapping[str, Module], evaluation: Evaluation) -> dict[ClaimKey, Result]:
    """What one evaluation says of each claim that it saw.

    Claims with divisions presuppose that these come out even: where such a claim fails for free symbols, the
    evaluation is read again with sizes divisible by the divisors.
    """
    results = _read(modules, evaluation, Samples(evaluation))
    for (path, index), result in results.items():
        if result.bad is not None and _comes_out_uneven(modules[path].claims[index], result.bad):
            result.bad, result.unknown = None, UNEVEN
    failing = {k for k, r in results.items() if r.bad is not None}
    multiple = math.lcm(*(d for k in failing for d in _divisors(modules[k[0]])), 1) if failing else 1
    if multiple > 1:
        samples = Samples(evaluation, multiple)
        if samples.symbolic:
            again = _read(modules, evaluation, samples)
            results.update({k: again[k] for k in failing if again[k].bad is None})
    return results


def _read(modules: Mapping[str, Module], evaluation: Evaluation, samples: Samples) -> dict[ClaimKey, Result]:
    readers: dict[int, CallReader] = {}
    results: dict[ClaimKey, Result] = defaultdict(Result)
    misfits: dict[int, Mismatch] = {}
    unfit = False
    for call in evaluation.calls:
        reader = CallReader(modules[call.path], call, samples, _outer(readers, call))
        readers[call.number] = reader
        outcomes = read_call(reader)
        for index in [i for i, m in outcomes.bad.items() if _is_chance(m.value, reader, evaluation.made_up)]:
            del outcomes.bad[index]
            outcomes.unknown.setdefault(index, MADE_UP)
        if evaluation.origin in ("example", "config") and call.caller is None and not unfit:
            misfits = _misfits(reader, outcomes)
            unfit = bool(misfits)
        if unfit:  # what follows from it is no news
            others = (outcomes.good | outcomes.bad.keys()) - misfits.keys()
            outcomes = Outcomes(bad=misfits, unknown=dict.fromkeys(others, MISFIT))
            misfits = {}
        _collect(call.path, outcomes, results)
        for index, names in loose_names(reader).items():
            if index in outcomes.good:
                results[(call.path, index)].loose = names
    return dict(results)


def _misfits(reader: CallReader, outcomes: Outcomes) -> dict[int, Mismatch]:
    """The annotated parameters that an example's own arguments do not fit: all that such an example shows."""
    claims, sites = reader.module.claims, reader.module.sites
    return {
        index: mismatch
        for index, mismatch in outcomes.bad.items()
        if claims[index].notation == "annotation" and sites[claims[index].sites[0]].kind == "param"
    }


def _is_chance(value: Value, reader: CallReader, made_up: Sequence[int]) -> bool:
    """Whether an array owes a size to a module that was made up, and no annotation of this call admits that size."""
    if not made_up or not isinstance(value, ArrayValue):
        return False
    admitted = {size[0] for size in reader.memo.single.values() if len(set(size)) == 1}
    sizes = {int(text) for text in value.shape if text.isdigit() and int(text) > 2} - admitted
    return any(size % loose == 0 or loose % size == 0 for size in sizes for loose in made_up)


def _outer(readers: Mapping[int, CallReader], call: Call) -> CallReader | None:
    return readers.get(call.parent) if call.parent is not None else None


def _collect(path: str, outcomes: Outcomes, results: dict[ClaimKey, Result]) -> None:
    for index in outcomes.good:
        results[(path, index)].good = True
    for index, mismatch in outcomes.bad.items():
        result = results[(path, index)]
        result.bad = result.bad or mismatch
    for index, reason in outcomes.unknown.items():
        results[(path, index)].unknown = reason


def _comes_out_uneven(claim: Claim, mismatch: Mismatch) -> bool:
    """Whether a number that the claim divides is none that it can be divided by: then it claims nothing."""
    divisors = parse_spec(claim.spec).divisors()
    sizes = [int(bound.size) for bound in mismatch.bound if bound.size.isdigit()]
    return mismatch.reason == "dim" and any(size % divisor for divisor in divisors for size in sizes)


def _divisors(module: Module) -> set[int]:
    return {d for claim in module.claims for d in parse_spec(claim.spec).divisors() if d < 1000}
