"""Single evaluations of an entry: each is begun afresh, and kept if it fails."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import jax

from shapecheck.evaluate.inputs.synthesis.real_values import TooExpensiveError
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.failure_reasons import explain, refusal_of, trace_of
from shapecheck.evaluate.inputs.trials.later_variables import LaterArgument, make_more
from shapecheck.evaluate.inputs.trials.multiples import Multiples, with_multiples
from shapecheck.evaluate.inputs.trials.size_assignment import SMALLEST, UnknownSizeError
from shapecheck.evaluate.inputs.trials.size_limits import Limits, possible_limits, refused_limits, with_limits
from shapecheck.evaluate.inputs.trials.trial import BoundCall, CallSpec, Trial, TrialOutcome
from shapecheck.evaluate.limits import Stopwatch, TimeLimitError
from shapecheck.evaluate.own_errors import is_own, message_of
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.stand_ins import AbsentPackageError, named_stand_in
from shapecheck.evaluate.probes.user_caches import forget
from shapecheck.evaluate.search.long_loops import LongLoopError, LongLoops
from shapecheck.evaluate.search.unfit_sizes import RESHAPE, opposite_sizes
from shapecheck.model import OWN_CHECK

_MOST_GUESSES = 16
_MOST_ROUNDS = 6  # models and optimizers of one call that ask for their variables
_GUESSING = 1.5  # seconds
_AFTERWARDS, _SLOWER = 3.0, 2.0  # seconds, and times as long as what went to its end, for another attempt
_UNBOUND_AXIS = re.compile(r"unbound axis name:? '?(\w+)")


class Attempts:
    """Runs one entry as trials say, `complete` as long as neither `seconds` nor its number of attempts are over.

    A single run takes as long as it takes, unless it `is_limited`.
    """

    def __init__(
        self,
        call_spec: CallSpec,
        recorder: Recorder,
        seconds: float,
        renewed: Callable[[], AbstractContextManager[None]] | None,
        *,
        is_limited: bool = True,
    ) -> None:
        self.call_spec, self.recorder = call_spec, recorder
        self.renewed = renewed or self._clear_caches
        self.seconds = min(call_spec.seconds, seconds)
        self.tried = 0
        self.complete = True
        self._most = call_spec.attempts
        self._guessing = False
        self._most_guesses, self._guess_seconds = _MOST_GUESSES, _GUESSING
        self._watch = Stopwatch()
        self.axes: list[str] = []
        self._multiples: Multiples = ()
        self._limits: Limits = ()
        self._tried_limits: set[tuple[str, int]] = set()
        self._long_loops = LongLoops(recorder.paths) if is_limited else None
        self._slowest: float | None = None  # seconds of those that went to their ends
        self._later: Mapping[str, LaterArgument] = {}  # as far as they are made
        self._rounds = 0
        self._message = ""  # of the latest error, whole

    def is_exhausted(self) -> bool:
        """Whether no more is to be tried."""
        # A guess is worth little: what it shows can only confirm.
        most, seconds = self._most, self.seconds
        if self._guessing:
            most, seconds = min(most, self._most_guesses), min(seconds, self._guess_seconds)
        if self.tried > most or self._watch.seconds() > seconds:
            self.complete = False
        return not self.complete

    def allow(self, further: int) -> None:
        """Let so many more attempts be made, and no more."""
        self._most = min(self._most, self.tried + further)

    @contextlib.contextmanager
    def apart(self, attempts: int, seconds: float) -> Iterator[None]:
        """Another search, of so many attempts and seconds, which the ones around it are not charged for."""
        before = self._most, self._most_guesses, self.seconds, self._guess_seconds, self.complete, self.tried
        elapsed = self._watch.seconds()
        self._most = self._most_guesses = self.tried + attempts
        self.seconds = self._guess_seconds = elapsed + min(seconds, max(self.seconds - elapsed, 0.0))
        self.complete = True
        try:
            yield
        finally:
            self._most, self._most_guesses, self.seconds, self._guess_seconds, self.complete, tried = before
            self._most, self._most_guesses = self._most + self.tried - tried, self._most_guesses + self.tried - tried
            self._watch.forgive(self._watch.seconds() - elapsed)

    @contextlib.contextmanager
    def _clear_caches(self) -> Iterator[None]:
        forget()
        yield

    def run(self, trial: Trial) -> TrialOutcome:
        """Run once, without what JAX has in its caches: a function traced before would not be seen again."""
        self._later, self._rounds = {}, 0
        while True:
            known = self._long_loops.small if self._long_loops is not None else ()
            small = tuple(each for each in known if each not in trial.choices)
            choices = (*trial.choices, *small)
            trial = dataclasses.replace(trial, choices=choices, multiples=self._multiples, limits=self._limits)
            with self.renewed(), self.recorder.watch.attempt():
                outcome = self._once(trial)
            if outcome is None:
                continue
            if not outcome.ok and trial.substitution.ties:
                self.recorder.vain.add(self.recorder.run)
            if not self._splits(outcome) and not self._is_limited(outcome):
                return self._below_a_limit(outcome) or outcome

    def run_if_possible(self, trial: Trial) -> TrialOutcome | None:
        """Run once, with another invention perhaps, for which there may be no model, or no size of a dim: then None."""
        try:
            return self.run(trial)
        except (CannotSynthesiseError, UnknownSizeError):
            return None

    def _splits(self, outcome: TrialOutcome) -> bool:
        """Whether the attempt failed since some size is not split evenly, which is to be another from now on.

        With sizes that are tied to others, these may be why.
        """
        if outcome.failure is None or outcome.bound_call is None or outcome.trial.substitution.ties:
            return False
        before = self._multiples
        bound_call = outcome.bound_call
        self._multiples = with_multiples(self._message, bound_call.chosen, bound_call.integers.values(), before)
        return self._multiples != before

    def _is_limited(self, outcome: TrialOutcome) -> bool:
        """Whether the attempt failed since a symbol may be larger than a number, which is its limit from now on.

        Or since a check of the user's refused a size that is larger.
        """
        if outcome.failure is None or outcome.bound_call is None:
            return False
        before, chosen = self._limits, outcome.bound_call.chosen
        if outcome.trial.mode == "symbolic":
            self._limits = with_limits(self._message, chosen, SMALLEST, before)
        elif outcome.refused is not None and not outcome.trial.substitution.ties:
            self._limits = refused_limits(outcome.refused, chosen, SMALLEST, before)
        return self._limits != before

    def _below_a_limit(self, outcome: TrialOutcome) -> TrialOutcome | None:
        """The same with a size below another one that it did not fit, which is its limit from now on; None if it fails.

        Symbols tell of a limit themselves, if they come that far.
        """
        failure, bound_call = outcome.failure, outcome.bound_call
        if failure is None or bound_call is None or outcome.trial.mode != "sized" or failure.kind != "shape":
            return None
        ties = dict(outcome.trial.substitution.ties)
        # What is cut into rows of another length may come out even with any size.
        pairs = opposite_sizes(failure.message) if not failure.message.startswith(RESHAPE) else []
        for limit in possible_limits(pairs, bound_call.chosen, SMALLEST):
            if limit in self._tried_limits or limit[0] in ties or self.is_exhausted():
                continue
            self._tried_limits.add(limit)
            limits = tuple(sorted({**dict(self._limits), limit[0]: limit[1]}.items()))
            with self.renewed(), self.recorder.watch.attempt():
                found = self._once(dataclasses.replace(outcome.trial, limits=limits))
            if found is not None and found.ok:
                self._limits = limits
                return found
        return None

    def _once(self, trial: Trial) -> TrialOutcome | None:
        """Run once; None if there is more of its arguments by now, or fewer turns, so that it should run again."""
        self.tried += 1
        self.recorder.begin()
        bound_call: BoundCall | None = None
        try:
            with self._limit():
                bound_call = self.call_spec.prepare(trial)
            self._guessing = bound_call.is_guess()
            for name, each in self._later.items():
                bound_call.later[name].take(each)
            watch = Stopwatch()
            with self._limit(bound_call):
                under(self.axes, bound_call.call)
            self._slowest = max(self._slowest or 0.0, watch.seconds())
            if bound_call.later and self._has_more(bound_call, None):
                return None
        except LongLoopError:
            return None
        except TimeLimitError:
            raise
        except BaseException as raised:  # the user's code may raise anything, and JAX in computing a size
            error = raised
            if (
                is_own(error)
                or self.recorder.is_interrupted(error)
                or (bound_call is None and isinstance(error, UnknownSizeError))
            ):
                raise
            if bound_call is not None and bound_call.later:
                try:
                    if self._has_more(bound_call, error):
                        return None
                except CannotSynthesiseError:
                    raise
                except Exception as other:  # what makes the model's variables fails itself
                    if is_own(other):
                        raise
                    error = other
            axis = _UNBOUND_AXIS.search(message_of(error)) if isinstance(error, NameError) else None
            if axis is not None and axis.group(1) not in self.axes:
                self.axes.append(axis.group(1))
                return self._once(trial)
            if self.recorder.watch.retry():
                return self._once(trial)
            failure = explain(error, self.recorder)
            refused = refusal_of(error, self.recorder, self.call_spec.signature.function)
            if refused is not None and refused.computed:  # by the code's own words it is a shape that does not fit
                failure = dataclasses.replace(failure, kind="shape", operation=OWN_CHECK)
            self._message = message_of(error)
            self.recorder.interrupt(error)
            stages, trace = self.recorder.watch.finish(), trace_of(error, self.recorder)
            lacks = isinstance(error, AbsentPackageError) or bool(named_stand_in(message_of(error)))
            return TrialOutcome(
                trial,
                self.recorder.finish(),
                bound_call,
                failure,
                stages,
                trace,
                lacks_package=lacks,
                takes_long=isinstance(error, TooExpensiveError),
                refused=refused,
            )
        bound_call = bound_call.with_later()
        return TrialOutcome(trial, self.recorder.finish(), bound_call, None, self.recorder.watch.finish())

    def _limit(self, bound_call: BoundCall | None = None) -> AbstractContextManager[None]:
        """As long as the next attempt may take: not much longer than one that went to its end."""
        if self._long_loops is None:
            return contextlib.nullcontext()
        most = self.call_spec.seconds
        longest = most if self._slowest is None else min(most, max(_AFTERWARDS, _SLOWER * self._slowest))
        return self._long_loops.limit(longest, bound_call)

    def _has_more(self, bound_call: BoundCall, error: BaseException | None) -> bool:
        """Whether more of a call's arguments can be made than it had, which ended so."""
        if self._rounds >= _MOST_ROUNDS:
            return False
        with self.recorder.pause():
            found = make_more(bound_call.later, error)
        self._later, self._rounds = bound_call.later, self._rounds + 1
        return found


def under(axes: Sequence[str], call: Callable[[], None]) -> None:
    """Call under named axes, which collectives such as those of batch norm need around them."""
    for axis in axes:
        call = jax.vmap(call, axis_name=axis, axis_size=SMALLEST)
    call()
