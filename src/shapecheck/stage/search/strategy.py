"""One entry, run until it is known what it shows: with symbols, with numbers, with other constructions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from shapecheck.facts import Evaluation
from shapecheck.stage.observe.recorder import Recorder
from shapecheck.stage.protocol import EntryPlan
from shapecheck.stage.search import untying
from shapecheck.stage.search.attempts import Attempts
from shapecheck.stage.search.integers import ALL_EQUAL
from shapecheck.stage.search.repair import proposals
from shapecheck.stage.search.sizes import Substitution, substitutions
from shapecheck.stage.search.trials import INDEPENDENT, Outcome, Recipe, Trial
from shapecheck.stage.search.values import CannotSynthesiseError

_MOST_TIES = 6


class Search:
    """Runs one entry until its evaluations are known."""

    def __init__(
        self,
        entry: EntryPlan,
        recipe: Recipe,
        recorder: Recorder,
        seconds: float = math.inf,
        renewed: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self.entry, self.recipe = entry, recipe
        self.attempts = Attempts(recipe, recorder, seconds, renewed)
        self.failures = self.attempts.failures
        self.shown: Outcome | None = None  # the latest that was told
        self.contrary = False  # some sizes evaluate, but make equal what a comment tells apart

    def evaluate(self) -> tuple[Evaluation, ...]:
        """All evaluations that say something of the entry: symbolic and sized where both go, else what stopped them.

        Raises CannotSynthesiseError if the model cannot be constructed in any way.
        """
        problem: CannotSynthesiseError | None = None
        for construction in self.recipe.constructions:
            try:
                found = self._constructed(construction)
            except CannotSynthesiseError as error:
                problem = error  # the last construction came the furthest
                continue
            if found and construction == ALL_EQUAL and self.entry.whole and self._shape_error() is not None:
                break  # that equal sizes happen to fit does not excuse a mix-up of different ones
            if found:
                return tuple(self._result(o) for o in found)
        if problem is not None and not self.failures:
            raise problem
        return self._stopped()

    def numbers(self) -> Trial | None:
        """The first trial with numbers that evaluates, or that comes to where it needs values; None if none does.

        Raises CannotSynthesiseError as `evaluate` does.
        """
        problem: CannotSynthesiseError | None = None
        for construction in self.recipe.constructions:
            try:
                found = self._search(Trial("sized", construction=construction))
            except CannotSynthesiseError as error:
                problem = error
                continue
            if found is not None:
                return found.trial
            if self.failures and _needs_values(self.failures[-1]):
                return self.failures[-1].trial
        if problem is not None and not self.failures:
            raise problem
        return None

    def _constructed(self, construction: int) -> tuple[Outcome, ...]:
        symbolic: Outcome | None = None
        start = INDEPENDENT
        if self.recipe.symbolic:
            symbolic = self._search(Trial("symbolic", construction=construction))
            last = self.failures[-1] if self.failures and symbolic is None else symbolic
            if last is not None and (last.ok or _needs_values(last)):
                start = last.trial.substitution
        rank = symbolic.trial.rank if symbolic is not None else 1
        if symbolic is not None and any(text.isdigit() for _, text in symbolic.trial.substitution.ties):
            untied = self._untied(Trial("sized", construction=construction, rank=rank))
            if untied:
                return (*untied, *self._told_elsewhere(untied))
            symbolic = self._apart(symbolic)
        if symbolic is not None and self.attempts.exhausted():  # a large model: one look has to do
            return (symbolic,)
        sized = self._sized(Trial("sized", start, construction=construction, rank=rank))
        if symbolic is not None and (sized or not self._contradicted()):
            sized = (symbolic, *sized)
        return (*sized, *self._told_elsewhere(sized)) if sized else ()

    def _untied(self, trial: Trial) -> tuple[Outcome, ...]:
        """Numbers may not need the ties that symbols do: JAX cannot compare all symbolic sizes, `2*(h//2)` and `h`."""
        failed = len(self.failures)
        found = []
        for variant in (2, 0, 1):  # those which divide best first
            outcome = self.attempts.run(dataclasses.replace(trial, variant=variant))
            if outcome.ok:
                found.append(outcome)
            elif not found:
                break
        del self.failures[failed:]
        return tuple(found) if len(found) > 1 else ()

    def _apart(self, found: Outcome) -> Outcome:
        """The same without ties to the model's own sizes that are not needed."""
        failed = len(self.failures)
        other = untying.untied(found, self.attempts.run)
        del self.failures[failed:]
        return other

    def _told_elsewhere(self, seen: Sequence[Outcome]) -> tuple[Outcome, ...]:
        """Free names that the class or the code gives a size after all: what holds with that size is not false.

        Dims may have one size for a whole class, of the constructor's arrays too; and a local integer may have the
        name of a dim (`P = self.num_outputs`). Integers that follow the free sizes, `h // 2` in a callee, are none.
        """
        found = seen[-1]
        ties = dict(found.trial.substitution.ties)
        constant = set.intersection(*(set(_local_integers(outcome)) for outcome in seen))
        told = (*(found.prepared.shared if found.prepared else ()), *sorted(constant))
        shared = tuple((name, size) for name, size in dict(told).items() if name not in ties)
        if not shared:
            return ()
        substitution = Substitution((*found.trial.substitution.ties, *shared))
        outcome = self.attempts.run(dataclasses.replace(found.trial, mode="sized", substitution=substitution))
        return (outcome,) if outcome.ok else ()

    def _sized(self, start: Trial) -> tuple[Outcome, ...]:
        found = self._search(start)
        if found is None and start.substitution.ties:
            found = self._search(dataclasses.replace(start, substitution=INDEPENDENT))
        if found is None:
            return ()
        found = self._apart(found)
        if found.prepared is None or not found.prepared.chosen:
            return (found,)
        for variant in sorted({0, 1, 2} - {found.trial.variant}):
            other = self.attempts.run(dataclasses.replace(found.trial, variant=variant))
            if other.ok:
                return found, other
        # Sizes that evaluate once and never again fit by chance: what they show proves nothing.
        return (dataclasses.replace(found, prepared=dataclasses.replace(found.prepared, guessed=True)),)

    def _search(self, start: Trial) -> Outcome | None:
        """The first trial that evaluates, the most general first.

        A value that only a run has ends the search: other sizes do not help.
        """
        first: Outcome | None = None
        for rank in self.recipe.ranks:
            if first is not None and self.attempts.exhausted():
                break
            for variant in (0,) if start.mode == "symbolic" else (0, 2):
                outcome = self.attempts.run(dataclasses.replace(start, rank=rank, variant=variant))
                if outcome.ok or _needs_values(outcome):
                    return outcome if outcome.ok else None
                if first is None or outcome.depth > first.depth:
                    first = outcome
        if first is None or first.prepared is None or not (first.prepared.chosen or first.trial.substitution.ties):
            return None
        repaired = self._repaired(first)
        if repaired is not None:
            return repaired if repaired.ok else None
        return self._blind(first)

    def _repaired(self, outcome: Outcome) -> Outcome | None:
        """Tie what JAX says does not fit, one pair of sizes after the other, as long as that leads further."""
        for _ in range(_MOST_TIES):
            for tie in proposals(outcome):
                tied = Substitution((*outcome.trial.substitution.ties, tie))
                if not self.recipe.allows(tied, outcome.prepared.told if outcome.prepared else ()):
                    continue
                found = self.attempts.run(dataclasses.replace(outcome.trial, substitution=tied))
                if found.ok and self._is_contrary(found):
                    continue
                if found.ok or _needs_values(found):
                    return found
                if self.attempts.exhausted():
                    return None
                if found.depth > outcome.depth or (found.depth == outcome.depth and _place(found) > _place(outcome)):
                    outcome = found
                    break
            else:
                return None
        return None

    def _blind(self, first: Outcome) -> Outcome | None:
        if first.prepared is None:
            return None
        names = tuple(name for name, _ in first.prepared.chosen)
        for substitution in substitutions(names, first.prepared.known, relations=self.recipe.relations):
            if self.attempts.exhausted():
                return None
            if not self.recipe.allows(substitution, first.prepared.told):
                continue
            outcome = self.attempts.run(dataclasses.replace(first.trial, substitution=substitution))
            if outcome.ok and self._is_contrary(outcome):
                continue
            if outcome.ok or _needs_values(outcome):
                return outcome if outcome.ok else None
        return None

    def _is_contrary(self, found: Outcome) -> bool:
        """Whether it ran only with sizes that a comment contradicts."""
        told = found.prepared.told if found.prepared else ()
        contrary = not self.recipe.fits_descriptions(found.trial.substitution, told)
        self.contrary |= contrary
        return contrary

    def _contradicted(self) -> bool:
        """Whether numbers raised shape errors where symbols did not: JAX does not check every symbolic shape."""
        return any(o.trial.mode == "sized" and o.failure and o.failure.kind == "shape" for o in self.failures)

    def _shape_error(self) -> Outcome | None:
        """The attempt to show for a shape error of the code itself: every attempt raised one, on the same line."""
        if not self.failures or not self.attempts.complete or self.contrary or not self.recipe.certain:
            return None
        first = self.failures[0]
        if any(o.failure is None or o.failure.kind != "shape" for o in self.failures):
            return None
        if any(o.prepared is not None and (o.prepared.guessed or o.prepared.made_up) for o in self.failures):
            return None
        places = {(o.failure.frame.path, o.failure.frame.line) for o in self.failures if o.failure and o.failure.frame}
        return first if len(places) == 1 else None

    def _stopped(self) -> tuple[Evaluation, ...]:
        shape = self._shape_error()
        if shape is not None and self.entry.whole:
            return (self._result(shape),)
        values = [o for o in self.failures if _needs_values(o)]
        if values:
            by_mode = {o.trial.mode: o for o in reversed(values)}
            return tuple(self._result(o) for o in by_mode.values())
        if not self.failures:
            return ()
        deepest = max(self.failures, key=lambda o: o.depth)
        failure = deepest.failure
        guessed = deepest.prepared is not None and (deepest.prepared.guessed or bool(deepest.prepared.made_up))
        if failure is not None and failure.kind == "shape" and (guessed or not self.recipe.tied):
            deepest = dataclasses.replace(deepest, failure=dataclasses.replace(failure, kind="other"))
        return (self._result(deepest),)

    def _result(self, outcome: Outcome) -> Evaluation:
        failure, entry = outcome.failure, self.entry
        self.shown = outcome
        return Evaluation(
            entry.target,
            entry.origin,
            entry.path,
            entry.line,
            # Sizes of the constructor that are all equal are one case, whatever the other dims are.
            "sized" if outcome.trial.construction == ALL_EQUAL else outcome.trial.mode,
            "ok" if failure is None else "stopped",
            failure.message if failure is not None else "",
            outcome.calls,
            failure,
            outcome.prepared.chosen if outcome.prepared else (),
            self.attempts.tried,
            self.recipe.tied,
            outcome.prepared is not None and outcome.prepared.guessed,
            outcome.prepared is not None and outcome.prepared.guessed_dtype,
            outcome.prepared.made_up if outcome.prepared else (),
            self.recipe.proves,
            outcome.stages,
        )


def _local_integers(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """The free names of an outcome that local integers have too, with their sizes: none of those made up here."""
    free = dict(outcome.prepared.chosen) if outcome.prepared else {}
    visible = (n for call in outcome.calls for o in call.observations for n in o.names)
    made_up = set(free.values())
    return tuple((n.name, n.size) for n in visible if n.name in free and n.size.isdigit() and n.size not in made_up)


def _needs_values(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.kind == "value"


def _place(outcome: Outcome) -> int:
    frame = outcome.failure.frame if outcome.failure else None
    return frame.line if frame is not None else 0
