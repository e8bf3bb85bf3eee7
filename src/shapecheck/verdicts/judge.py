"""Claims x evaluations -> how each claim ended."""

from __future__ import annotations

import re
import traceback
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shapecheck.model import (
    ArrayValue,
    Assumption,
    Claim,
    Evaluation,
    Module,
    Point,
    proves,
    weakest,
)
from shapecheck.model.assumption import DRAWS_VECTORS, NO_AXES, OF_A_MOCK, ON_PATH, is_of_stacks, without_varied
from shapecheck.shapes import AnyDims, parse_spec
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.called_apart import CalledApart
from shapecheck.verdicts.claim_outcome import Mismatch, size_at_fault
from shapecheck.verdicts.evaluation_results import MADE_UP, ClaimKey, Result, evaluate
from shapecheck.verdicts.evidence import (
    EvaluationView,
    counts,
    is_made_itself,
    only_if,
    select_counting,
    without_harmless,
)
from shapecheck.verdicts.shown_failures import (
    are_alike,
    doubt,
    has_another_name,
    is_of_own_variables,
    is_outside_of_functions,
    is_written_size,
    makes_function,
)

SOME_PATHS = "seen on {seen}: {missing} never ran"
SOME_SIZES = "it holds for some sizes and fails for others: for {holds}, but not for {fails}"
SOME_VALUES = "it holds on one path, and fails on {fails}, which nothing says is taken"
NEARER_HOLDS = "the comment behind the statement holds for its value, so this one may speak of something else"
OF_MOCKS = "it fails, but only in tests that put mocks in place of what gives it its shape"
BUG = "judging it met a bug in shapecheck, which is shown at the end"
SOME_INTEGERS = "it holds for some integers of its constructor, and fails for others"
UP_TO = "it holds for {name} up to the length of an array that was made up, and nothing says that there may be more"
AXES_UNSEEN = "the code runs only where `...` has no axes, with one or two it raises a shape error"
OTHER_RANK = "it has another number of axes than was chosen for `...`, and holds for that one"
_UNTOLD = ("dtype", "follows", "part", "callee")  # no news to who reads that a claim is verified
_LESSER = re.compile(r"min\((?P<one>[^(),]+), (?P<other>[^(),]+)\)")


@dataclass(frozen=True)
class Contradiction:
    """A claim that evaluation contradicts: the most telling case, and what was chosen for it.

    The value is `constant` if it has the same shape for whatever sizes the function is given.
    """

    mismatch: Mismatch
    evaluation: Evaluation
    constant: bool = False


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
    bugs: list[str] = field(default_factory=list)  # tracebacks of ours, where the others were judged all the same


def judge(modules: Mapping[str, Module], runs: Iterable[Sequence[Evaluation]]) -> Verdicts:
    """The verdicts over all entries; `runs` are the evaluations of one entry each.

    Within an entry a claim is false only if it fails in every evaluation that saw it: other sizes, or numbers in
    place of symbols, may show that it holds after all. Over entries one failure is enough.
    """
    verdicts, runs = Verdicts(), list(runs)
    apart = CalledApart(modules, runs)
    for evaluations in runs:
        counting = apart.without_lone_errors(evaluations)
        verdicts.explained += () if counting else evaluations
        try:
            _entry(modules, counting, verdicts)
        except Exception:  # a bug of ours: it is shown with its traceback, and takes nothing from other entries
            verdicts.bugs.append(traceback.format_exc())
            verdicts.unknown.update((key, BUG) for key in _claims_of(modules, evaluations) - verdicts.good)
    for key in verdicts.bad:
        verdicts.good.discard(key)
        verdicts.for_all_sizes.discard(key)
    for key in list(verdicts.good):
        _require_all_paths(key, modules[key[0]], verdicts)
    for key in verdicts.firm | verdicts.bad.keys():
        verdicts.loose.pop(key, None)
    return verdicts


def _claims_of(modules: Mapping[str, Module], evaluations: Sequence[Evaluation]) -> set[ClaimKey]:
    """The claims in the functions that these ran through."""
    called = {(call.path, call.scope) for each in evaluations for call in each.calls}
    return {
        (path, index)
        for path in {path for path, _ in called}
        for index, claim in enumerate(modules[path].claims)
        if (path, claim.scope) in called
    }


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
    views = [EvaluationView(each, _about_refused(modules, each, evaluate(modules, each))) for each in evaluations]
    every, explained = select_counting(modules, views)
    for each in views if not every else ():
        reason = only_if(each.assumptions)
        for key in each.results:
            verdicts.unknown.setdefault(key, reason)
    verdicts.explained += explained
    for each in every:
        verdicts.unknown.update({key: result.unknown for key, result in each.results.items() if result.unknown})
        for key, result in each.results.items():
            shown = result.paths_of_others | (result.paths if result.good and result.bad is None else set())
            verdicts.paths[key] |= shown
            if each.everywhere():
                verdicts.general_paths[key] |= shown
    cases: dict[tuple[int, str], list[EvaluationView]] = {}
    for each in every:
        cases.setdefault((each.evaluation.rank, each.evaluation.case), []).append(each)
    good: dict[ClaimKey, bool] = {}
    bad: dict[ClaimKey, Contradiction] = {}
    doubtful: set[ClaimKey] = set()  # not seen to hold, but to fail, with some number of axes that is said to be any
    excused: set[ClaimKey] = set()  # seen to fail with such a number that may not be meant
    for number, ((rank, _), group) in enumerate(cases.items()):
        is_usual = rank == evaluations[0].rank
        for key in dict.fromkeys(key for each in group for key in each.results):
            if not is_usual and not _is_for_each_rank(modules[key[0]].claims[key[1]]):
                continue
            found = _verdict(modules, key, group, verdicts)
            if isinstance(found, Contradiction):
                if _holds_for_another_rank(modules, key, found, (each for each in every if each not in group)):
                    verdicts.unknown.setdefault(key, OTHER_RANK)
                    excused.add(key)
                elif reach := _reach([m for each in every if key in each.results and (m := each.results[key].bad)]):
                    verdicts.unknown.setdefault(key, reach)
                else:
                    bad.setdefault(key, found)
            elif found is not None and not number:
                good[key] = found
            elif (
                found is None and not is_usual and any(key in each.results and each.results[key].bad for each in group)
            ):
                doubtful.add(key)
    for key in _shown_twice(modules, bad):
        del bad[key]
    for key in _nearer_holds(modules, bad, good):
        del bad[key]
        verdicts.unknown.setdefault(key, NEARER_HOLDS)
    for key, everywhere in good.items():
        if key in doubtful:
            continue
        if _has_axes_unseen(modules[key[0]].claims[key[1]], (each for each in every if key in each.results)):
            verdicts.unknown.setdefault(key, AXES_UNSEEN)
            continue
        verdicts.good.add(key)
        if everywhere and key not in bad and key not in excused:
            verdicts.for_all_sizes.add(key)
    for key, contradiction in bad.items():
        verdicts.bad.setdefault(key, contradiction)


def _shown_twice(modules: Mapping[str, Module], bad: Mapping[ClaimKey, Contradiction]) -> list[ClaimKey]:
    """What is documented of an argument that the code refuses, where the check that does so is found false itself."""

    def param(key: ClaimKey) -> tuple[str, str, int]:
        site = modules[key[0]].sites[modules[key[0]].claims[key[1]].sites[0]]
        return key[0], site.name, site.scope

    checked = {param(key) for key in bad if modules[key[0]].claims[key[1]].notation == "code"}
    return [key for key, found in bad.items() if found.evaluation.refused and param(key) in checked]


def _nearer_holds(
    modules: Mapping[str, Module], bad: Mapping[ClaimKey, Contradiction], good: Container[ClaimKey]
) -> list[ClaimKey]:
    """What a comment above a statement says, of whose value the comment behind it holds: it is about something else.

    "Linear: (d,) -> (h,)" may tell what becomes of each row, where the line itself has `# (n, h)`.
    """
    found: list[ClaimKey] = []
    for path, index in bad:
        module, claim = modules[path], modules[path].claims[index]
        beside = (i for site in claim.sites for i in module.claims_by_site.get(site, ()) if (path, i) in good)
        comments = [module.claims[i] for i in beside if module.claims[i].notation == "comment"]
        place = module.sites[claim.sites[0]].position  # of the most natural reading
        is_above = claim.notation == "comment" and place is not None and claim.span.line < place.line
        if any(module.sites[site].kind == "return" for site in claim.sites):
            continue  # at the head of a function it tells of the result, which is otherwise as well
        if is_above and place is not None and any(each.span.line == place.end_line for each in comments):
            found.append((path, index))
    return found


def _is_for_each_rank(claim: Claim) -> bool:
    """Whether a claim is about any number of axes: a comment may speak of the case that its author had in mind."""
    return claim.notation == "annotation" or parse_spec(claim.spec).rank() is None


def _has_axes_unseen(claim: Claim, views: Iterable[EvaluationView]) -> bool:
    """Whether a claim with `...` was seen in runs alone that say nothing of arrays that have axes there."""
    if parse_spec(claim.spec).rank() is not None:
        return False
    return all(any(a.kind == "rank" and a.value == NO_AXES for a in each.assumptions) for each in views)


def _holds_for_another_rank(
    modules: Mapping[str, Module], key: ClaimKey, found: Contradiction, others: Iterable[EvaluationView]
) -> bool:
    """Whether a comment that has too many axes or too few holds for another number of those that nobody says.

    One with `...` as well: `(..., n, d)` is about a batch, and an argument of shape `(..., d)` may be one vector. Three
    dots that end an annotation may say no more than that there are axes: `b ...` of what holds with one, two and three.
    """
    claim = modules[key[0]].claims[key[1]]
    seen = [each for each in others if key in each.results]
    holding = [each.results[key].good and each.results[key].bad is None for each in seen]
    if claim.notation == "annotation":
        dims = parse_spec(claim.spec).dims
        has_none = found.evaluation.rank == 0 and len(dims) > 1 and isinstance(dims[-1], AnyDims)
        return has_none and bool(holding) and all(holding)
    return found.mismatch.reason == "rank" and any(holding)


def _verdict(
    modules: Mapping[str, Module], key: ClaimKey, group: Sequence[EvaluationView], verdicts: Verdicts
) -> Contradiction | bool | None:
    """How a claim ends by the evaluations of one entry: a contradiction; that it holds, everywhere or not; or nothing.

    One evaluation in which it holds is enough. If it fails in another, and both rest on what was invented, it holds by
    one invention alone.
    """
    bad = [each for each in group if key in each.results and each.results[key].bad is not None]
    good = [each for each in group if key in each.results and each.results[key].good and each not in bad]
    if good:  # by the first guess, which another that contradicts it does not take back; other sizes of its own do
        guesses = [each.assumptions for each in good]
        bad = [each for each in bad if not each.evaluation.other_guess or each.assumptions in guesses]
        if all(is_of_stacks(each.assumptions) for each in good):  # the claim speaks of several records, and not of one
            bad = []
    if bad and good and all(weakest(each.assumptions) == "invented" for each in (*bad, *good)):
        verdicts.unknown.setdefault(key, MADE_UP)
        return None
    free = [each for each in group if each.is_free(group)]
    if (fails := [each for each in bad if each in free]) and (holds := [each for each in good if each in free]):
        verdicts.unknown.setdefault(key, _some_sizes(holds, fails))
        return None
    if good:
        needed = [without_varied(each.assumptions, [other.assumptions for other in good]) for each in good]
        best = min(needed, key=_strength)
        kept = verdicts.rests_on.get(key)
        if kept is None or _strength(best) < _strength(kept):
            verdicts.rests_on[key] = tuple(a for a in best if a.kind not in _UNTOLD)
        _note_shown(key, good, verdicts)
        loose = [each.results[key].loose for each in good]
        if all(loose):
            verdicts.loose.setdefault(key, loose[0])
        else:
            verdicts.firm.add(key)
        everywhere = (each.results[key] for each in good if each.everywhere())
        return not bad and any(result.general and result.multiple == 1 and not result.loose for result in everywhere)
    module = modules[key[0]]
    counting = (each for each in bad if counts(modules, key, each) and not makes_function(each, DRAWS_VECTORS))
    shown = [(each, mismatch) for each in counting if (mismatch := each.results[key].bad)]
    stacks = [each for each in shown if is_of_stacks(each[0].assumptions)]
    for _, mismatch in (each for each in shown if each not in stacks):
        # What an invention does not bring about is the same for all of them; a stack has an axis more.
        pairs = [each for each in shown if each in stacks or are_alike(each[1], mismatch)]
        about: Literal["shape", "dim", "dtype"] = "shape"
        is_written = is_written_size(module, pairs) or has_another_name(modules, key, pairs)
        if not any(is_made_itself(module, module.claims[key[1]], each) for each, _ in pairs):
            is_written |= is_of_own_variables(module.claims[key[1]], pairs)
        if mismatch.reason == "dim" and is_written and is_outside_of_functions(mismatch, shown):
            pairs = shown
        if reason := doubt(module, key, mismatch, pairs):
            verdicts.unknown.setdefault(key, reason)
            continue
        about = (
            "dim" if mismatch.reason == "dim" and not is_written else "dtype" if mismatch.reason == "dtype" else about
        )
        if proves(
            [without_harmless(module, module.claims[key[1]], each, m) for each, m in pairs],
            about,
        ):
            surest, shows = min(pairs, key=lambda pair: _strength(pair[0].assumptions))
            return Contradiction(shows, surest.evaluation, constant=_is_constant(pairs))
    if bad and not all(any(a.kind == "follows" for a in each.assumptions) for each in bad):
        of_mocks = all(any(a.subject == OF_A_MOCK for a in each.assumptions) for each in bad)
        verdicts.unknown.setdefault(key, OF_MOCKS if of_mocks else MADE_UP)
    return None


def _is_constant(pairs: Sequence[tuple[EvaluationView, Mismatch]]) -> bool:
    """Whether a value has the same numbers of items with symbols for all sizes, and with each of the numbers."""
    shapes = {m.value.shape if isinstance(m.value, ArrayValue) else None for _, m in pairs}
    shape = next(iter(shapes))
    evaluations = [each.evaluation for each, _ in pairs]
    is_general = any(
        each.mode == "symbolic" and each.status == "ok" and not any(a.kind in ("tie", "size") for a in each.assumptions)
        for each in evaluations
    )
    return is_general and len(shapes) == 1 and shape is not None and all(size.isdigit() for size in shape)


def _reach(seen: Sequence[Mismatch]) -> str:
    """Up to which size a claim holds, if it fails only for more than there are rows in a table that we made.

    Of `table[:time]`, which is `min(48, time)` long, the rows were invented where another invention has others. A limit
    that stays what it is stands in the code: `x[:48]`.
    """
    axes = [(size_at_fault(each), {bound.name: bound.size for bound in each.bound}) for each in seen]
    for text, bound in axes:
        found = _LESSER.fullmatch(text)
        for limit, size in (found.group("one", "other"), found.group("other", "one")) if found is not None else ():
            named = [name for name, each in bound.items() if each == size and limit.isdigit()]
            for name in named if limit not in bound.values() else ():  # an integer that the claim names
                limits = {text: sizes.get(name, "") for text, sizes in axes if text.isdigit()}
                longer = all(size.isdigit() and int(size) > int(text) for text, size in limits.items())
                if len(limits) > 1 and limit in limits and longer:
                    return UP_TO.format(name=name)
    return ""


def _note_shown(key: ClaimKey, good: Sequence[EvaluationView], verdicts: Verdicts) -> None:
    """Keep where a claim was seen to hold: with symbols, if it ever was, else with sizes."""
    kept = verdicts.shown_by.get(key)
    if kept is None or kept.evaluation.mode != "symbolic":
        best = next((each for each in good if each.everywhere()), good[0])
        reader = best.results[key].reader
        if reader is not None and (kept is None or best.everywhere()):
            verdicts.shown_by[key] = ClaimInCall(reader, best.evaluation)


def _some_sizes(holds: Sequence[EvaluationView], fails: Sequence[EvaluationView]) -> str:
    one, other = _sizes(holds), _sizes(fails)
    on_path = [each.subject for each in fails[0].assumptions if each.subject.startswith(ON_PATH)]
    if on_path:
        return SOME_VALUES.format(fails=on_path[0])
    return SOME_INTEGERS if one == other else SOME_SIZES.format(holds=one, fails=other)


def _sizes(seen: Sequence[EvaluationView]) -> str:
    return ", ".join(f"{name}={size}" for name, size in seen[0].evaluation.sizes) or "the default sizes"


def _strength(assumptions: Sequence[Assumption]) -> int:
    order = ("given", "written", "namesake", "alias", "invented")
    return order.index(weakest(assumptions))
