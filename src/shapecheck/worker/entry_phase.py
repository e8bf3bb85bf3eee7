"""The phase of a run in which modules are imported, and their examples, models and functions evaluated."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Container, Iterable, Mapping, Sequence

from shapecheck.model import (
    PRINTING,
    SNIPPET,
    ArrayValue,
    Call,
    Evaluation,
    FunctionKey,
    Point,
    is_left_out,
    is_program,
    is_test_file,
    weakest,
)
from shapecheck.model.assumption import AS_CLAIMED
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.entry_messages import (
    AbsentImport,
    AskImportEffects,
    EvaluateEntry,
    ImportModule,
    ListEntries,
    ListFiles,
)
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan
from shapecheck.worker.result_cache import EntryRecord
from shapecheck.worker.run_result import Trouble
from shapecheck.worker.run_state import RunState
from shapecheck.worker.shard_split import Shard, split_keys
from shapecheck.worker.worker_client import RequestTimeoutError, WorkerEndedError, WorkerHandle

_USERS = ("example", "config", "script")  # what the user asked for is never cut
_SQUEEZED = 0.5  # the part of its time after which an entry may have left out something for want of more
_LEAST = 2.0  # seconds that an entry, or an import, gets which is begun at all
_OF_PROGRAMS, _OF_PROGRAM = 0.3, 0.1  # of the time that libraries leave, at most: to import all programs, and one
_LEAST_OF_PROGRAMS = 0.05  # of it, if next to nothing is claimed in them
_TO_JUDGE, _MOST_TO_JUDGE = 0.001, 0.4  # seconds for a call, and of the time for entries at most
_LEAST_RANKS = 2  # of an argument whose claim leaves open how many axes it has
_WRITTEN = ("given", "written")  # what the user says, of assumptions
_OF_ENTRY = 0.25  # of the time that is left, where many entries wait
CUT = "the time for the whole run was over (--budget)"
_CUT_IMPORT = "importing it took more than its share of the time for the whole run (--budget)"
CUTS = (CUT, _CUT_IMPORT)
"""What is said of what there was no time for."""
"""Why something was not evaluated."""
_NOT_IMPORTED_AGAIN = "a second process, which was to evaluate it, could not import all that the first one had imported"
Scopes = set[FunctionKey]
TouchedFunctions = tuple[FunctionKey, ...]


class EntryPhase:
    """All entries, in order of trust. What a more trusted one reached is not evaluated again by a lesser one.

    Entries are taken in order and their results accepted in order, so that which are left out does not depend on
    how many workers there are: a result that an earlier one makes needless is thrown away.
    """

    def __init__(
        self,
        conduct: RunState,
        deadline: float,
        covered: Scopes,
        tested: Scopes,
        shown: Iterable[Sequence[Evaluation]] = (),
        shard: Shard | None = None,
    ) -> None:
        self.conduct, self.deadline, self.shard = conduct, deadline, shard
        self._seconds = deadline - time.monotonic()
        self._calls = 0  # that were seen, in each of which claims are judged at the end
        self.unseen = unseen_paths(conduct.plans)
        self._open_ranks = _open_ranks(conduct.plans)
        self.completed: Scopes = set()  # evaluated to their ends, with arguments that may prove something
        for run in shown:
            self._see(run)
            self._calls += sum(len(each.calls) for each in run)
        self.covered = set(covered)  # evaluated in general
        self.tested = tested  # seen in tests, with the sizes of these
        self.modules: dict[str, tuple[Evaluation, ...]] = {}
        self.loaded: set[str] = set()
        self.entries: tuple[EntryPlan, ...] | None = None
        self._importing = 0.0  # seconds that it took to make the first worker ready
        self._failed: set[str] = set()  # modules that cannot be imported
        self.next = self.accepted = 0
        self.results: dict[int, tuple[Evaluation, ...]] = {}
        self.runs: list[tuple[Evaluation, ...]] = []
        self.recalled: list[str] = []
        self.records: dict[str, EntryRecord] = {}  # by key, what each entry showed, whether or not that counts
        self.left: frozenset[str] = frozenset()  # the keys of those that other shards take
        self._touched: dict[int, TouchedFunctions] = {}
        self._recollections: dict[str, EntryRecord | None] = {}

    def settle(self) -> bool:
        """Take what is remembered, in order; whether that is all, so that no worker is needed."""
        memory = self.conduct.memory
        if memory is None or memory.entries is None:
            return False
        self._list(memory.entries)
        if self._skip():
            return False
        self.modules = dict(memory.modules)
        self.conduct.result.troubles += memory.troubles
        return True

    def replay(
        self,
        entries: Sequence[EntryPlan],
        modules: Mapping[str, tuple[Evaluation, ...]],
        records: Mapping[str, EntryRecord],
        left: Container[str],
    ) -> None:
        """Take what shards have shown, in order; `left` are slots of what no shard of these has taken."""
        self.entries = tuple(entries)
        self.modules = dict(modules)
        self.left = frozenset(entry.key for entry in entries if f"entry:{entry.key}" in left)
        self._recollections = {entry.key: records.get(entry.key) for entry in entries}
        while self._skip():  # its shard had no worker any more
            self._leave_out(self.next)
            self.next += 1

    def after(self, runs: Sequence[tuple[Evaluation, ...]]) -> list[tuple[Evaluation, ...]]:
        """The evaluations of a whole run: those of modules, then those of tests, which are given, then of entries."""
        modules = [self.modules[p.path] for p in self.conduct.plans if p.path in self.modules]
        return [*modules, *runs, *self.runs]

    def _list(self, entries: Sequence[EntryPlan]) -> None:
        """Learn what there is to evaluate, and which part of that others do."""
        self.entries = tuple(entries)
        if self.shard is not None:
            keys = [f"entry:{entry.key}" for entry in entries]
            own = split_keys(keys, self.conduct.known_durations, self.shard.total)[self.shard.number - 1]
            self.left = frozenset(entry.key for entry in entries if f"entry:{entry.key}" not in own)
        if self.conduct.memory is not None:
            self.conduct.memory.fetch(entry for entry in entries if entry.key not in self.left)

    def prepare(self, worker: WorkerHandle) -> bool:
        """Import all modules, and list what can be evaluated."""
        conduct, began = self.conduct, time.monotonic()
        to_import = [p for p in conduct.plans if p.path in conduct.to_import and self._has_use(p)]
        # Programs last, of these the tests, which were evaluated before: some compute for long when they are imported.
        ordered = sorted(to_import, key=lambda each: (is_program(each.path), is_test_file(each.path)))
        programs = [plan for plan in ordered if is_program(plan.path)]
        until, longest = self.deadline, math.inf
        for plan in ordered:
            if programs and plan is programs[0] and len(programs) < len(ordered):
                now = time.monotonic()  # what the libraries hold is to be evaluated in most of what is left
                share = max(_count_sites(programs) / max(_count_sites(ordered), 1), _LEAST_OF_PROGRAMS)
                longest = (self.deadline - now) * min(share, _OF_PROGRAM)
                until = now + (self.deadline - now) * min(share, _OF_PROGRAMS)
            if plan.file in conduct.culprits:
                continue
            if not self._import(worker, plan, min(until, time.monotonic() + longest)):
                return False
        try:
            entries = worker.ask(ListEntries(), conduct.timeout).entries
        except (WorkerEndedError, RequestTimeoutError) as error:
            if not self._blame(error):
                raise
            return False
        imported = worker.ask(AskImportEffects(), conduct.timeout)
        files = worker.ask(ListFiles(), conduct.timeout)
        with conduct.lock:
            conduct.saw(files)
            if self.entries is None:
                late = {trouble.path for trouble in conduct.result.troubles if trouble.reason in CUTS}
                if conduct.memory is not None:
                    conduct.memory.note_imports("entries", imported, whole=not late)
                    listed = {entry.key for entry in entries}
                    known = (entry for entry in conduct.memory.known_entries if entry.key not in listed)
                    entries = (*entries, *(e for e in known if e.path in late and self._recall(e) is not None))
                self._list(entries)
                self._importing = time.monotonic() - began
                conduct.total = max(conduct.total, conduct.steps + len(entries) - len(self.left))
        return True

    def _has_use(self, plan: ModulePlan) -> bool:
        """Whether a worker has to import a module: the next one need not try again what failed, or ran to its end."""
        if self.entries is None or plan.path not in self.loaded:
            return True
        waiting = {entry.path for entry in self.entries[self.next :]}
        return plan.path not in self._failed and (plan.path in waiting or not is_program(plan.path))

    def is_worth_another(self) -> bool:
        """Whether there is time to import all modules once more, for what is left."""
        if self.entries is None or time.monotonic() + self._importing < self.deadline:
            return True
        waiting = self.entries[self.next :]
        return any(entry.origin in _USERS and entry.key not in self.left for entry in waiting)

    def leave_out_rest(self) -> None:
        """Leave out what no worker has taken, since none was worth its start."""
        for index in range(self.next, len(self.entries or ())):
            if index not in self.results:
                self._leave_out(index)

    def _blame(self, error: WorkerEndedError | RequestTimeoutError) -> bool:
        """Leave out the module that ended the worker, or took too long, if it was not left out before."""
        with self.conduct.lock:
            before = len(self.conduct.culprits)
            self.conduct.blame(error.executing, None, error.reason)
            return len(self.conduct.culprits) > before

    def give_up(self, reason: str) -> None:
        """Nothing else can be evaluated: what is left was not, for this reason."""
        for plan in self.conduct.plans:
            if plan.path in self.conduct.to_import and plan.path not in self.loaded:
                self._note_unloaded(plan, "", reason)
        for index, entry in enumerate(self.entries or ()):
            if index >= self.accepted and index not in self.results:
                self.conduct.result.cut += 1
                self._accept(index, (entry.not_evaluated(reason),))

    def _import(self, worker: WorkerHandle, plan: ModulePlan, until: float) -> bool:
        """Import a module, if there is time for it `until` then; false if that ended the worker."""
        conduct, limit = self.conduct, self.conduct.timeout
        if anew := plan.path not in self.loaded:
            left = until - time.monotonic()
            with conduct.lock:
                conduct.step(f"importing {plan.name}")
                if left <= 0:
                    self._note_unloaded(plan, "", self._why_cut())
                    return True
            limit = min(limit, max(left, _LEAST))
        try:
            answer = worker.ask(ImportModule(path=plan.path), limit)
        except RequestTimeoutError as error:
            with conduct.lock:
                cut = limit < conduct.timeout
                self._note_unloaded(plan, *(("", self._why_cut()) if cut else ("SC304", error.reason)))
            return True
        except WorkerEndedError as error:
            with conduct.lock:
                late = anew and limit < conduct.timeout and time.monotonic() > until
                conduct.blame(error.executing or plan.path, plan, self._why_cut() if late else error.reason)
            return False
        with conduct.lock:
            if answer.error:
                if plan.path not in self.loaded and answer.evaluation is not None:
                    self.modules[plan.path] = (answer.evaluation,)
                self._note_unloaded(plan, "SC303", answer.error, answer.line)
            else:
                self._note_absent(plan, answer.absent)
                self._note_loaded(plan, answer.evaluation)
        return True

    def _why_cut(self) -> str:
        """Why an import came to no end: others may have time left that is not for it."""
        return CUT if time.monotonic() >= self.deadline else _CUT_IMPORT

    def count_remaining(self) -> int:
        """How many entries may have to be evaluated."""
        rest = (self.entries or ())[self.next :]
        own = (entry for entry in rest if entry.key not in self.left and not self._is_needless(entry))
        return sum(self._recall(entry) is None for entry in own)

    def take(self) -> int | None:
        """The number of the next entry that has to be evaluated, if there is time for it."""
        if not self._skip():
            return None
        index = self.next
        self.next += 1
        self.conduct.step(f"evaluating {(self.entries or ())[index].target}")
        return index

    def _skip(self) -> bool:
        """Pass over entries that are covered or remembered, or for which there is no time; whether one is left."""
        entries = self.entries or ()
        while self.next < len(entries):
            entry = entries[self.next]
            if entry.key in self.left or self._is_needless(entry):
                self._accept(self.next, ())
            elif (shown := self._recall(entry)) is not None:
                self.recalled.append(f"entry:{entry.key}")
                self.records[entry.key] = shown
                if shown[2] and entry.origin != SNIPPET:
                    self._trouble(entry, shown[2])
                self._accept(self.next, shown[0], shown[1])
            elif time.monotonic() > self._last_begin and entry.origin not in _USERS:
                self._leave_out(self.next)
            else:
                return True
            self.next += 1
        return False

    @property
    def _last_begin(self) -> float:
        """The time after which no entry begins: what was seen has to be judged before the deadline."""
        return self.deadline - min(_TO_JUDGE * self._calls, _MOST_TO_JUDGE * self._seconds)

    def _leave_out(self, index: int) -> None:
        """Leave out an entry for which there is no time, or not enough."""
        self.conduct.result.cut += 1
        self._accept(index, ((self.entries or ())[index].not_evaluated(CUT),))

    def _recall(self, entry: EntryPlan) -> EntryRecord | None:
        if entry.key not in self._recollections:
            memory = self.conduct.memory
            self._recollections[entry.key] = memory.entry(entry) if memory is not None else None
        return self._recollections[entry.key]

    def perform(self, worker: WorkerHandle, task: int) -> None:
        """Evaluate one entry."""
        entry = (self.entries or ())[task]
        left = self.conduct.timeout if entry.origin in _USERS else max(self._time_for_one(), _LEAST)
        limit = min(self.conduct.timeout, left)
        try:
            answer = worker.ask(EvaluateEntry(key=entry.key, seconds=left), limit)
        except RequestTimeoutError as error:
            with self.conduct.lock:
                if limit < self.conduct.timeout:
                    self._leave_out(task)
                else:
                    self._note_stopped(task, error.reason, repeats=True, touched=error.touched)
            return
        with self.conduct.lock:
            if not answer.listed:
                self._accept(task, (entry.not_evaluated(_NOT_IMPORTED_AGAIN),))
                return
            self.records[entry.key] = (answer.runs, answer.touched, "")
            self.conduct.durations[f"entry:{entry.key}"] = worker.seconds
            if self.conduct.memory is not None:
                if limit < self.conduct.timeout and worker.seconds > _SQUEEZED * limit:
                    self.conduct.memory.lasting = False  # with more time it may show more
                else:
                    self.conduct.memory.store_entry(entry, (answer.runs, answer.touched, ""), reads=answer.reads)
            self._accept(task, answer.runs, answer.touched)

    def _time_for_one(self) -> float:
        """How long the next entry may take, so that one which takes long leaves something to those behind it."""
        left = self._last_begin - time.monotonic()
        return max(left * _OF_ENTRY, left - _LEAST * (len(self.entries or ()) - self.next))

    def on_worker_end(self, task: int, error: WorkerEndedError) -> None:
        """An entry ended the worker."""
        entry = (self.entries or ())[task]
        if entry.origin not in _USERS and time.monotonic() > self.deadline:  # it had no time to end by itself
            self._leave_out(task)
        else:
            self._note_stopped(task, error.reason, repeats=error.repeats)

    def finish(self, worker: WorkerHandle) -> None:
        """Ask what it had loaded."""
        with contextlib.suppress(WorkerEndedError, RequestTimeoutError):
            files = worker.ask(ListFiles(), self.conduct.timeout)
            with self.conduct.lock:
                self.conduct.saw(files)

    def _note_loaded(self, plan: ModulePlan, evaluation: Evaluation | None) -> None:
        if plan.path not in self.loaded and evaluation is not None:
            self.modules[plan.path] = (evaluation,)
        self.loaded.add(plan.path)

    def _note_absent(self, plan: ModulePlan, absent: Sequence[AbsentImport]) -> None:
        if plan.path not in self.loaded:
            for name, each in {each.name: each for each in reversed(absent)}.items():
                end = f"{each.instead} was taken in its place" if each.instead else "what needs it was not evaluated"
                reason = f"it {each.why}; {end}"
                self.conduct.result.troubles.append(Trouble("SC303", plan.path, each.line, name, reason, partial=True))

    def _note_unloaded(self, plan: ModulePlan, code: str, reason: str, line: int = 1) -> None:
        self._failed.add(plan.path)
        if plan.path not in self.loaded:
            self.conduct.result.troubles.append(Trouble(code, plan.path, line, plan.name, reason))
        self.loaded.add(plan.path)

    def _is_needless(self, entry: EntryPlan) -> bool:
        """Whether a more trusted entry has shown all: with free sizes, along each path.

        A shard cannot say so: which results of its own count depends on those of others.
        """
        if self.shard is not None:
            return False
        if entry.origin == SNIPPET:
            return self.completed.issuperset(entry.reaches)
        if entry.origin not in ("model", "function") or entry.body is None:
            return False
        return entry.body in self.covered and not self.unseen.get(entry.body) and not self._has_one_rank(entry)

    def _has_one_rank(self, entry: EntryPlan) -> bool:
        """Whether `*batch` or `...` was seen with one number of axes alone, which says nothing of others."""
        ranks = self._open_ranks.get(entry.body, {}) if entry.body is not None else {}
        return bool(ranks) and all(len(each) < _LEAST_RANKS for each in ranks.values())

    def _is_of_ranks(self, evaluation: Evaluation, entry: EntryPlan) -> bool:
        """Whether it shows of such a function that it runs for one number of axes alone, and nothing was made up."""
        failure = evaluation.failure
        is_narrow = failure is not None and failure.requires.startswith(("*", "...")) and failure.kind == "shape"
        return is_narrow and self._has_one_rank(entry) and weakest(evaluation.assumptions) in _WRITTEN

    def _see(self, run: Sequence[Evaluation]) -> None:
        for call in (call for evaluation in run for call in evaluation.calls if call.complete):
            self.unseen.get(_key_of(call), set()).difference_update(_shown_by(call))
            ranks = self._open_ranks.get(_key_of(call), {})
            for each in call.observations if ranks else ():
                if each.site in ranks and isinstance(each.value, ArrayValue) and _has_distinct_axes(each.value):
                    ranks[each.site].add(len(each.value.shape))
        sound = (each for each in run if _is_sound(each) and not _is_inferred(each))
        self.completed |= {(c.path, c.scope) for evaluation in sound for c in evaluation.calls if c.complete}

    def _accept(self, index: int, result: tuple[Evaluation, ...], touched: TouchedFunctions = ()) -> None:
        self.results[index], self._touched[index] = result, touched
        while self.accepted in self.results:
            entry = (self.entries or ())[self.accepted]
            found, touched = self.results[self.accepted], self._touched[self.accepted]
            self.accepted += 1
            if self._is_needless(entry):
                continue
            self.conduct.result.touched.update(touched)
            if entry.origin not in _USERS and entry.body in self.tested:
                # The tests call it, so that what does not fit are arguments that were made up.
                found = tuple(e for e in found if e.status == "ok" or e.origin == "seen" or self._is_of_ranks(e, entry))
            if entry.origin in ("model", "function") and entry.body in self.covered:
                found = tuple(e for e in found if self._shows_more(e) or self._is_of_ranks(e, entry))
            if entry.origin != PRINTING:
                self._see(found)
            # Scripts and models come with functions that they called, evaluated again.
            self.runs += [tuple(same) for _, same in itertools.groupby(found, key=lambda each: each.target)]
            for evaluation in found:
                self._calls += len(evaluation.calls)
                calls = tuple(call for call in evaluation.calls if call.complete or evaluation.status != "ok")
                # Of what did not come to its end, the entry alone has been tried with all that it may be called with.
                scopes = {_key_of(call) for call in calls if call.complete or _key_of(call) == entry.body}
                if evaluation.origin in ("script", SNIPPET):  # which has sizes of its own, as a test has
                    self.tested |= set(map(_key_of, calls))
                elif evaluation.status != "failed" and evaluation.origin != PRINTING and _is_sound(evaluation):
                    self.covered |= scopes if _is_evidence(evaluation) else scopes & {entry.body}

    def _shows_more(self, evaluation: Evaluation) -> bool:
        """Whether it takes a path, or an argument, that nothing more trusted took; that is all that it is asked for."""
        calls = (call for call in evaluation.calls if call.complete and evaluation.status == "ok")
        return any(self.unseen.get((call.path, call.scope), set()) & _shown_by(call) for call in calls)

    def _note_stopped(self, index: int, reason: str, *, repeats: bool, touched: TouchedFunctions | None = None) -> None:
        entry = (self.entries or ())[index]
        runs = (entry.not_evaluated(f"it {reason}"),)
        if entry.origin != SNIPPET:
            self._trouble(entry, reason)
        self.records[entry.key] = (runs, touched or (), reason)
        if self.conduct.memory is not None and repeats:
            self.conduct.memory.store_entry(entry, (runs, touched or (), reason), known=touched is not None)
        elif self.conduct.memory is not None:
            self.conduct.memory.lasting = False
        self._accept(index, runs, touched or ())

    def _trouble(self, entry: EntryPlan, reason: str) -> None:
        self.conduct.result.troubles.append(Trouble("SC304", entry.path, entry.line, entry.target, reason))


def _is_sound(evaluation: Evaluation) -> bool:
    """Whether it rests on nothing invented: what contradicts a claim in it is a contradiction."""
    return weakest(evaluation.assumptions) != "invented"


def _is_inferred(evaluation: Evaluation) -> bool:
    """Whether arguments are as the claims need them that are to be checked: the user's own may be others.

    So may an integer be that a function takes, which was made equal to the size of an axis.
    """
    if evaluation.origin == "function" and weakest(evaluation.assumptions) == "alias":
        return True
    return any(each.value.endswith(AS_CLAIMED) for each in evaluation.assumptions)


def _is_evidence(evaluation: Evaluation) -> bool:
    """Whether it went to its end, or to an error of the code's own: with other sizes it may be the sizes' fault.

    A function that it called on the way may then be shown by a call of its own.
    """
    return evaluation.status == "ok" or evaluation.failure is None or evaluation.failure.kind in ("value", "shape")


def _count_sites(plans: Iterable[ModulePlan]) -> int:
    return sum(len(plan.sites) for plan in plans)


def unseen_paths(plans: Iterable[ModulePlan]) -> dict[FunctionKey, set[Point | int]]:
    """The paths that claimed values of each function may come by, and its claimed parameters, by their sites."""
    found: dict[FunctionKey, set[Point | int]] = {}
    for plan in plans:
        for site in plan.sites:
            if site.paths:
                found.setdefault((plan.path, site.scope), set()).update(site.paths)
            elif site.kind == "param":
                found.setdefault((plan.path, site.scope), set()).add(site.index)
    return found


def _open_ranks(plans: Iterable[ModulePlan]) -> dict[FunctionKey, dict[int, set[int]]]:
    """The claimed parameters of each function that may have any number of axes, by their sites, with those seen."""
    found: dict[FunctionKey, dict[int, set[int]]] = {}
    for plan in plans:
        scopes = {site.index: site.scope for site in plan.sites}
        for each in plan.parameters:
            if parse_spec(each.spec).rank() is None:
                found.setdefault((plan.path, scopes[each.site]), {})[each.site] = set()
    return found


def _has_distinct_axes(value: ArrayValue) -> bool:
    """Whether no two axes have one size, and none has 1: what broadcasts then may not with other sizes."""
    return len({*value.shape, "1"}) == len(value.shape) + 1


def _key_of(call: Call) -> FunctionKey:
    return call.path, call.scope


def _shown_by(call: Call) -> set[Point | int]:
    """The paths that a call came by, and the sites of which it shows more than a default that stands for an array."""
    return {*call.paths, *(each.site for each in call.observations if not is_left_out(each.value))}
