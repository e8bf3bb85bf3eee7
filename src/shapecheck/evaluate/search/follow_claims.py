"""Arrays that nobody describes, made as the claims about what is computed of them say.

Of `h = x @ w  # (batch, hidden)` the code runs with a `w` of one axis as well. The claim says that it has two, and
what their sizes are called. So values are held against claims in the order of the code, and where the first claim does
not hold, another number of axes is chosen, or an axis gets the size of the name that it has there. An axis that claims
call by two names keeps the first: then one of them is false. What no choice mends is left as it is.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.evaluate.inputs.facts.body_shapes import axis_of
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import axes_text, is_likeness_key, is_rank_key, usual_axes
from shapecheck.evaluate.inputs.trials.size_assignment import Substitution, UnknownSizeError, closes_circle
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Tie
from shapecheck.evaluate.inputs.trials.trial import Trial, TrialOutcome
from shapecheck.evaluate.probes.recorder import ClaimedShapes
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.called_claims import aligned_axes
from shapecheck.model import ArrayValue, FunctionKey, OtherValue, TreeValue, Value
from shapecheck.model.observation import NUMBERS
from shapecheck.shapes import Dim, EvaluationError, FixedDim, NamedDim, Spec, SymbolicDim, evaluate, parse_spec
from shapecheck.worker.messages.plans import ClaimedShape

_NUMBER = re.compile(r"(?<![\w.])(?!1\b)[1-9]\d*")
_ATTEMPTS = 150
_SECONDS = 4.0
_MOST_STEPS = 24
_LARGEST_STEP = 2  # by which what is left of an axis is shorter

Place = tuple[str, int]
Score = tuple[int, int, tuple[bool, int, tuple[tuple[int, int], ...]]]


@dataclass(frozen=True)
class _Conflict:
    """A claim that does not hold in a run: of another number of axes, or for axes that are to have other sizes."""

    place: Place
    words: Collection[str]
    axes: tuple[tuple[str, str], ...] = ()  # the size that each has, and the one that it should have


@dataclass(frozen=True)
class _View:
    """A run, which claims hold in it, and which do not, in order."""

    outcome: TrialOutcome
    holding: frozenset[Place]
    conflicts: tuple[_Conflict, ...]

    def places(self) -> set[Place]:
        """The claims that it came to."""
        return {*self.holding, *(conflict.place for conflict in self.conflicts)}


@dataclass(frozen=True)
class FollowedRun:
    """A run that is as claims say: the `ties` that they gave, and the `choices` of numbers of axes that none denies."""

    outcome: TrialOutcome
    ties: frozenset[Tie] = frozenset()
    choices: frozenset[str] = field(default_factory=frozenset)


class ClaimFollower:
    """Follows the claims of one entry, whose own function is `scope`; `mend` ties sizes that JAX finds not to fit.

    What functions that it calls say of their `parameters` counts for the numbers of axes of what they are given.
    """

    def __init__(
        self,
        claimed: ClaimedShapes,
        parameters: ClaimedShapes,
        signature: CallSignature,
        scope: FunctionKey | None,
        attempts: Attempts,
        mend: Callable[[TrialOutcome], TrialOutcome],
    ) -> None:
        self._claimed, self._signature, self._scope = claimed, signature, scope
        self._parameters = parameters
        self._attempts, self._mend = attempts, mend
        self._ties: set[Tie] = set()
        self._given_up: set[Place] = set()
        self._places: set[Place] = set()  # of claims to which some run came

    def follow(self, start: TrialOutcome) -> FollowedRun | None:
        """The run that is nearest to what claims say; None if no other than the first one is."""
        has_choices = any(is_rank_key(key) or is_likeness_key(key) for key in start.options())
        if not has_choices and not self._signature.commented:
            return None
        with self._attempts.apart(_ATTEMPTS, _SECONDS):
            first = best = self._look(start)
            for _ in range(_MOST_STEPS):
                nearer = self._nearer(best)
                if nearer is None:
                    break
                best = nearer
            kept = self._with_ranks_kept(best) if best.outcome.ok and best.holding and not best.conflicts else None
        if kept is None and self._score(best) <= self._score(first):
            return None
        best = kept or best
        chosen = dict(start.trial.choices)
        # Numbers of axes with which some claim has another one all the same are no more than a guess.
        is_said = all(conflict.axes for conflict in best.conflicts)
        choices = frozenset(key for key, _ in best.outcome.trial.choices if is_said and key not in chosen)
        return FollowedRun(best.outcome, frozenset(self._ties & set(best.outcome.trial.substitution.ties)), choices)

    def meets_numbers(self, outcome: TrialOutcome) -> bool:
        """Whether a claim about what a run showed has a number in it: `(n, 64)`, `4*d`."""
        places = {(call.path, each.site) for call in outcome.calls for each in call.observations}
        return any(_NUMBER.search(self._claimed[place].spec) for place in places if place in self._claimed)

    def distance(self, outcome: TrialOutcome) -> int:
        """By how many axes values differ from what claims say, in all."""
        found: dict[Place, int] = {}
        for call in outcome.calls:
            for each in call.observations:
                place = (call.path, each.site)
                if place in self._claimed and (number := parse_spec(self._claimed[place].spec).rank()) is not None:
                    found[place] = max(found.get(place, 0), _difference(each.value, number))
        return sum(found.values())

    def _with_ranks_kept(self, view: _View) -> _View | None:
        """The same with all numbers of axes chosen as they are: all claims hold with them, so they are no guess."""
        options = view.outcome.bound_call.options.others if view.outcome.bound_call is not None else {}
        usual = ((key, usual_axes(options[key])) for key in options if is_rank_key(key))
        kept = tuple((key, axes_text(axes)) for key, axes in usual if axes >= 0)
        kept = tuple(each for each in kept if each[0] not in dict(view.outcome.trial.choices))
        if not kept:
            return None
        outcome = self._run(dataclasses.replace(view.outcome.trial, choices=(*view.outcome.trial.choices, *kept)))
        found = self._look(outcome) if outcome is not None else None
        return found if found is not None and self._score(found) >= self._score(view) else None

    def _nearer(self, view: _View) -> _View | None:
        """A run with one more choice or tie that comes nearer; conflicts that none mends are given up."""
        for conflict in view.conflicts:
            if conflict.place in self._given_up:
                continue
            found = self._first_nearer(view, self._mending_trials(view.outcome, conflict))
            if found is not None or self._attempts.is_exhausted():
                return found
            self._given_up.add(conflict.place)
        failure = view.outcome.failure
        if failure is None or failure.kind != "shape":
            return None
        names = {name for name, _ in failure.arrays}
        return self._first_nearer(view, _other_ranks(view.outcome, names))

    def _first_nearer(self, view: _View, trials: Iterator[Trial]) -> _View | None:
        for trial in trials:
            if self._attempts.is_exhausted():
                return None
            outcome = self._run(trial)
            found = self._look(outcome) if outcome is not None else None
            if found is not None and self._score(found) > self._score(view):
                return found
        return None

    def _run(self, trial: Trial) -> TrialOutcome | None:
        try:
            outcome = self._attempts.run(trial)
            is_of_shapes = outcome.failure is not None and outcome.failure.kind == "shape"
            return self._mend(outcome) if is_of_shapes else outcome
        except (CannotSynthesiseError, UnknownSizeError):
            return None

    def _mending_trials(self, outcome: TrialOutcome, conflict: _Conflict) -> Iterator[Trial]:
        """Trials that may mend a conflict."""
        if not conflict.axes:
            yield from _other_ranks(outcome, conflict.words)
            return
        names = _names_by_size(outcome)
        ties = outcome.trial.substitution.ties
        for tie in itertools.chain.from_iterable(_ties(size, wanted, names) for size, wanted in conflict.axes):
            is_open = self._signature.is_nobodys(tie[0]) or self._may_be_integer(tie, outcome)
            if is_open and tie[0] not in dict(ties) and not closes_circle(tie, dict(ties)):
                self._ties.add(tie)
                yield dataclasses.replace(outcome.trial, substitution=Substitution((*ties, tie)))

    def _may_be_integer(self, tie: Tie, outcome: TrialOutcome) -> bool:
        """Whether a name that comments alone give to an axis is to have the size of an integer of the model."""
        integers = outcome.bound_call.integers.values() if outcome.bound_call is not None else ()
        return tie[0] in self._signature.commented and tie[1] in map(str, integers)

    def _look(self, outcome: TrialOutcome) -> _View:
        holding: set[Place] = set()
        conflicts: dict[Place, _Conflict] = {}
        known: dict[str, str] = {}
        if outcome.bound_call is not None:
            chosen = dict(outcome.bound_call.chosen)
            sizes_of_tied = ((name, chosen.get(text, text)) for name, text in outcome.trial.substitution.ties)
            known.update(each for each in (*chosen.items(), *sizes_of_tied) if not self._signature.is_nobodys(each[0]))
            known.update((name, str(size)) for name, size in outcome.bound_call.integers.items())
        for call in outcome.calls:
            sizes = dict(known) if (call.path, call.scope) == self._scope else {}
            for each in call.observations:
                place = (call.path, each.site)
                claimed = self._claimed.get(place)
                if claimed is None or parse_spec(claimed.spec).rank() is None:
                    is_other = (call.path, call.scope) != self._scope
                    refused = self._parameters.get(place) if is_other else None
                    if refused is not None and (found := _refusal(place, refused, each.value)) is not None:
                        conflicts.setdefault(place, found)
                    continue
                spec = parse_spec(claimed.spec)
                if _difference(each.value, len(spec.dims)):
                    conflicts.setdefault(place, _Conflict(place, claimed.words))
                elif isinstance(each.value, ArrayValue) and len(each.value.shape) == len(spec.dims):
                    axes = tuple(_conflicting_axes(spec.dims, each.value.shape, sizes))
                    axes = axes or _equal_axes(spec.dims, each.value.shape)
                    if axes:
                        conflicts.setdefault(place, _Conflict(place, claimed.words, axes))
                    else:
                        holding.add(place)
                else:
                    holding.add(place)
        self._places |= holding | conflicts.keys()
        return _View(outcome, frozenset(holding - conflicts.keys()), tuple(conflicts.values()))

    def _score(self, view: _View) -> Score:
        """The larger, the nearer a run is to what claims say; of runs that are equally near, how far they come counts.

        What a run stops before may not hold either.
        """
        outcome, missed = view.outcome, self._places - view.places()
        return len(view.holding), -len(view.conflicts) - len(missed), (outcome.ok, outcome.depth, outcome.trace)


def _refusal(place: Place, refused: ClaimedShape, value: Value) -> _Conflict | None:
    """What a called function says of an argument, where that has another number of axes, or others than the written.

    Where nothing stands for `...` the axes that are there may be too few: `(n, 3)` for `(..., 2, 3)`.
    """
    dims, rank = parse_spec(refused.spec).dims, parse_spec(refused.spec).rank()
    if rank is not None:
        return _Conflict(place, refused.words) if _difference(value, rank) else None
    if not isinstance(value, ArrayValue):
        return None
    pairs = aligned_axes(dims, value.shape)
    unlike = tuple((size, str(dim.size)) for dim, size in pairs if isinstance(dim, FixedDim) and str(dim.size) != size)
    if not unlike:
        return None
    return _Conflict(place, refused.words, unlike if len(value.shape) > len(pairs) else ())


def _ties(size: str, wanted: str, names: Mapping[str, str]) -> Iterator[Tie]:
    """What gives an axis of one size another one: it is an axis itself, or has so many less, or is a part of one."""
    text = names.get(wanted, wanted)
    if size in names:
        yield names[size], text
    for other, name in names.items() if size.isdigit() else ():
        step = int(other) - int(size) if other.isdigit() else 0
        if 0 < abs(step) <= _LARGEST_STEP:
            yield name, str(int(text) + step) if text.isdigit() else f"{text}{step:+d}"


def _names_by_size(outcome: TrialOutcome) -> dict[str, str]:
    """What each size is called; of names that have one size, the one that the others are tied to."""
    chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
    tied = dict(outcome.trial.substitution.ties)
    return {size: name for name, size in chosen if name not in tied}


def _other_ranks(outcome: TrialOutcome, words: Collection[str]) -> Iterator[Trial]:
    """The same with another number of axes for one array, first for those that a line names."""
    options = outcome.bound_call.options.others if outcome.bound_call is not None else {}
    chosen = dict(outcome.trial.choices)
    keys = [key for key in options if (is_rank_key(key) or is_likeness_key(key)) and key not in chosen]
    for key in sorted(keys, key=lambda key: not _is_named(key, words)):
        axes = axis_of(_argument(key))
        kept = (tie for tie in outcome.trial.substitution.ties if not any(map(axes.search, tie)))
        trial = dataclasses.replace(outcome.trial, substitution=Substitution(tuple(kept)))
        for option in options[key]:
            yield dataclasses.replace(trial, choices=(*trial.choices, (key, option)))


def _argument(key: str) -> str:
    return key.rpartition(" ")[0].rpartition(".")[2]


def _is_named(key: str, words: Collection[str]) -> bool:
    name, *parts = _argument(key).split('["')
    return name in words and all(part.strip('"]') in words for part in parts)


def _conflicting_axes(dims: Sequence[Dim], shape: Sequence[str], sizes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The axes that have another size than their dims, as far as that is known; new names get those that they have.

    What has a name already is not to have another one: then it stands for no axis.
    """
    new: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    named = set(sizes.values())
    for dim, size in zip(dims, shape, strict=True):
        wanted = _size_of(dim, {**new, **sizes})
        if wanted is None and isinstance(dim, NamedDim):
            new[dim.name] = size
        elif wanted is not None and wanted != size:
            found.append(("" if size in named else size, wanted))
            found += _size_of_factor(dim, size, wanted, {**new, **sizes})
    if not found:
        sizes.update(new)
    yield from found


def _size_of_factor(dim: Dim, size: str, wanted: str, sizes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What an axis is to have whose multiple a claim says, `2*d`, where the code has another multiple of 2 there."""
    names = Spec((dim,)).names() if isinstance(dim, SymbolicDim) else ()
    own = sizes.get(names[0], "") if len(names) == 1 else ""
    if own.isdigit() and wanted.isdigit() and size.isdigit() and int(own) > 0:
        factor, rest = divmod(int(wanted), int(own))
        if not rest and factor > 1 and int(size) % factor == 0:
            yield own, str(int(size) // factor)


def _size_of(dim: Dim, sizes: Mapping[str, str]) -> str | None:
    if isinstance(dim, FixedDim):
        return str(dim.size)
    if isinstance(dim, NamedDim):
        return sizes.get(dim.name)
    if isinstance(dim, SymbolicDim):
        numbers = {name: (int(size),) for name, size in sizes.items() if size.isdigit()}
        try:
            return str(evaluate(dim.expression, numbers, 1)[0])
        except (EvaluationError, KeyError):
            return None
    return None


def _equal_axes(dims: Sequence[Dim], shape: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The axes that a claim calls by two names, and that have one size: no tie mends that."""
    named = [(dim.name, size) for dim, size in zip(dims, shape, strict=True) if isinstance(dim, NamedDim)]
    return (("", ""),) if any(n != other and size == same for n, size in named for other, same in named) else ()


def _difference(value: Value, rank: int) -> int:
    """By how many axes a value differs; by none what is neither an array nor a number.

    Of several arrays one may be meant, or what they are as one array.
    """
    if isinstance(value, TreeValue) and value.kind in ("tuple", "list"):
        arrays = [each for each in value.children if isinstance(each, ArrayValue)]
        if not arrays or len(arrays) < len(value.children):
            return 0
        return min(_difference(each, rank - more) for each in arrays for more in (0, 1))
    if isinstance(value, ArrayValue):
        outer = len(value.mapped) + len(value.hidden)
        return min(abs(len(value.shape) + more - rank) for more in range(outer + 1))
    return rank if isinstance(value, OtherValue) and value.type in NUMBERS else 0
