"""The search for sizes under which an entry evaluates: symbols first, then numbers, the most general first."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from shapecheck.facts import Call, Evaluation, Failure, Mode
from shapecheck.stage.failures import explain, is_own
from shapecheck.stage.protocol import EntryPlan
from shapecheck.stage.recorder import Recorder
from shapecheck.stage.sizes import Substitution, substitutions
from shapecheck.stage.synthesis import CannotSynthesiseError

_INDEPENDENT = Substitution()
_MOST_ATTEMPTS = 60
_SECONDS = 20.0


@dataclass(frozen=True)
class Trial:
    """One way to run an entry."""

    mode: Mode
    substitution: Substitution = _INDEPENDENT
    variant: int = 0
    construction: int = 0


@dataclass(frozen=True)
class Recipe:
    """How an entry is run under a trial, and what the search may vary.

    `run` returns the names with what was chosen for them. After it ran once, `free` gives the names that may be tied
    to each other (`relations`) or to one of `sizes`; `tied` says that the user or the names fixed all dims.
    """

    run: Callable[[Trial], tuple[tuple[str, str], ...]]
    free: Callable[[], tuple[str, ...]] = tuple
    sizes: Callable[[], tuple[int, ...]] = tuple
    relations: bool = False
    tied: bool = True
    symbolic: bool = True
    constructions: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class _Outcome:
    trial: Trial
    calls: tuple[Call, ...]
    chosen: tuple[tuple[str, str], ...]
    failure: Failure | None
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.failure is None

    @property
    def depth(self) -> int:
        return sum(len(c.observations) for c in self.calls)


class Search:
    """Runs one entry until its evaluations are known."""

    def __init__(self, entry: EntryPlan, recipe: Recipe, recorder: Recorder) -> None:
        self.entry, self.recipe, self.recorder = entry, recipe, recorder
        self.tried = 0
        self.construction = 0
        self.complete = True
        self.deadline = time.monotonic() + _SECONDS
        self.failures: list[_Outcome] = []

    def evaluate(self) -> tuple[Evaluation, ...]:
        """All evaluations that say something of the entry: symbolic and sized where both go, else what stopped them.

        Raises CannotSynthesiseError if the model cannot be constructed in any way.
        """
        problem: CannotSynthesiseError | None = None
        for construction in self.recipe.constructions:
            self.construction = construction
            try:
                found = self._constructed()
            except CannotSynthesiseError as error:
                problem = problem or error
                continue
            if found:
                return found
        if problem is not None and not self.failures:
            raise problem
        return self._stopped()

    def _constructed(self) -> tuple[Evaluation, ...]:
        symbolic = self._first("symbolic", (0,)) if self.recipe.symbolic else None
        start = symbolic.trial.substitution if symbolic is not None else _INDEPENDENT
        sized = self._sized(start)
        if symbolic is not None and (sized or not self._contradicted()):
            return tuple(self._result(o) for o in (symbolic, *sized))
        return tuple(self._result(o) for o in sized)

    def _sized(self, start: Substitution) -> list[_Outcome]:
        found = self._first("sized", (0, 2), start)
        if found is None:
            return []
        if not self.recipe.free() and not found.chosen:
            return [found]
        other = self._attempt(dataclasses.replace(found.trial, variant=1))
        return [found, other] if other.ok else [found]

    def _first(self, mode: Mode, variants: Sequence[int], start: Substitution = _INDEPENDENT) -> _Outcome | None:
        """The first trial that evaluates. A value that only a run has ends the search: other sizes do not help."""
        recipe = self.recipe
        candidates = [start]
        if not start.ties:
            candidates += list(substitutions(recipe.free(), recipe.sizes(), relations=recipe.relations))
        for index, substitution in enumerate(candidates):
            for variant in variants:
                if self.tried >= 2 * _MOST_ATTEMPTS or index > _MOST_ATTEMPTS or time.monotonic() > self.deadline:
                    self.complete = False
                    return None
                outcome = self._attempt(Trial(mode, substitution, variant, self.construction))
                if outcome.ok:
                    return outcome
                if outcome.failure is not None and outcome.failure.kind == "value":
                    return None
        return None

    def _attempt(self, trial: Trial) -> _Outcome:
        """Run once. JAX's caches are cleared first: a function traced before would not be seen again."""
        self.tried += 1
        jax.clear_caches()
        self.recorder.begin()
        try:
            chosen = self.recipe.run(trial)
        except CannotSynthesiseError:
            raise
        except (Exception, SystemExit) as error:  # the user's code may raise anything
            if is_own(error):
                raise
            failure = explain(error, self.recorder)
            outcome = _Outcome(trial, self.recorder.finish(), (), failure, failure.message)
            self.failures.append(outcome)
            return outcome
        return _Outcome(trial, self.recorder.finish(), chosen, None)

    def _contradicted(self) -> bool:
        """Whether numbers raised shape errors where symbols did not: JAX does not check every symbolic shape."""
        return any(o.trial.mode == "sized" and o.failure and o.failure.kind == "shape" for o in self.failures)

    def _stopped(self) -> tuple[Evaluation, ...]:
        first: Mapping[Any, _Outcome] = {}
        chosen: list[_Outcome] = []
        values = [o for o in self.failures if o.failure and o.failure.kind == "value"]
        if values:
            first = {o.trial.mode: o for o in reversed(values)}
            chosen = list(first.values())
        else:
            chosen = [max(self.failures, key=lambda o: (o.trial.mode == "sized", o.depth))] if self.failures else []
        return tuple(self._result(o) for o in chosen)

    def _result(self, outcome: _Outcome) -> Evaluation:
        failure, entry = outcome.failure, self.entry
        if failure is not None and failure.kind == "shape" and not self.complete:
            failure = dataclasses.replace(failure, kind="other")
        return Evaluation(
            entry.target,
            entry.origin,
            entry.path,
            entry.line,
            outcome.trial.mode,
            "ok" if failure is None else "stopped",
            outcome.reason,
            outcome.calls,
            failure,
            outcome.chosen,
            self.tried,
            self.recipe.tied,
        )
