"""What earlier runs showed, entry by entry, and whether it still holds.

A result holds as long as the code of the files is the same whose functions ran for it (the probes tell), the test file
or module that it belongs to, all names of the project that the code of these files may reach, and what all of a
project's results depend on: the environment, the settings, and what modules do on import besides binding names. Files
whose functions run on import count with all of their code. Where nothing lasts from one call to the next, the bodies
of functions that did not run, and were not read, do not count. Where code only stands elsewhere now, so does what it
showed.

Where machines share the results, each is kept under a name that says all of this: what one branch or environment writes
does not displace what another one has, and no copy is older than what it is a copy of.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from shapecheck.model import SNIPPET, Evaluation, FunctionKey, Snippet
from shapecheck.worker.cache_keys import CacheKeys, FileHashes, Files, Kind, digest
from shapecheck.worker.code_units import MovedFile, Mover, find_move, kept_units
from shapecheck.worker.messages.entry_messages import ImportEffects, SourceRead
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan, SettingValue
from shapecheck.worker.messages.suite_messages import TestPlan, TestResult
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.run_result import Trouble

__all__ = ["CachedCollection", "EntryRecord", "FileHashes", "Files", "ResultCache"]

_DURATIONS = "durations"
_FILES = "files"  # those that each result depends on, by its slot
TABLES = (_DURATIONS, _FILES)
"""Slots to which each run adds what it has learnt."""

EntryRecord = tuple[tuple[Evaluation, ...], tuple[FunctionKey, ...], str]
"""What an entry showed, the functions that ran for it, and what ended its worker or took too long, if anything did."""


class TextStore(Protocol):
    """Where texts are kept between runs, or were not."""

    @property
    def is_shared(self) -> bool:
        """Whether other machines keep theirs there too."""

    def get(self, slot: str, *, newest: bool = False) -> str | None:
        """The text under a name; where copies may differ, perhaps the newest."""

    def fetch(self, slots: Sequence[str]) -> None:
        """Bring near what is going to be asked for."""

    def put(self, slot: str, text: str) -> None:
        """Keep a text under a name."""

    def put_first(self, slot: str, text: str) -> str:
        """Keep a text under a name that has none, and return the one that it has: of several writers, the first's."""


@dataclass(frozen=True)
class CachedCollection:
    """The tests that pytest found, what it could not collect, and JAX's settings as importing all of them leaves."""

    tests: tuple[TestPlan, ...] = ()
    problems: tuple[str, ...] = ()
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    whole: bool = True  # false if there was no time for some files


@dataclass(frozen=True)
class _ImportRecord:
    """The functions that ran on import, what that set, and whether there was time for the `whole` of it."""

    ran: tuple[tuple[str, ...], ...]
    settings: Mapping[str, SettingValue]
    whole: bool

    def may_be_part_of(self, other: _ImportRecord) -> bool:
        """Whether one of them may be what the other is with more time, or with less."""
        mine, others = set(self.ran), set(other.ran)
        return dict(self.settings) == dict(other.settings) and (mine <= others or others <= mine)


@dataclass(frozen=True)
class _FreshResults:
    """A result of this run, the files that it depends on, and what else must be the same."""

    kind: Kind
    files: tuple[str, ...]
    also: str
    result: object
    functions: frozenset[FunctionKey] | None = None  # on which alone it depends, if that is known
    reads: tuple[SourceRead, ...] = ()


class ResultCache:
    """The results of one way to call the checker: `name` stands for its paths and settings.

    `state` tells apart what machines that share the results may have: files, and what is installed.
    """

    def __init__(
        self,
        texts: TextStore,
        name: str,
        hashing: FileHashes,
        plans: Sequence[ModulePlan],
        listing: Mapping[str, str],
        surroundings: Mapping[str, str],
        state: str = "",
        snippets: Sequence[Snippet] = (),
    ) -> None:
        self._snippets = [each.key for each in snippets]
        self._shown_in = {each.path: os.path.realpath(each.file) for each in snippets}
        self._texts, self._name, self._hashing, self._state = texts, name, hashing, state
        self._plans = {plan.path: plan for plan in plans}
        self._cache_keys = CacheKeys(hashing, self._plans, listing, surroundings)
        self._listing = dict(listing)
        self._new: dict[str, _FreshResults] = {}
        self.files = Files()
        self.modules: dict[str, tuple[Evaluation, ...]] = {}
        self.troubles: tuple[Trouble, ...] = ()
        self.collected: CachedCollection | None = None
        self.entries: tuple[EntryPlan, ...] | None = None
        self.lasting = True  # whether nothing happened that may not happen again
        self.complete = False  # whether all was written that another run needs
        self._python = ""
        self.known_tests: tuple[TestPlan, ...] = ()  # of the last run, which may have had no time to collect more
        self.known_entries: tuple[EntryPlan, ...] = ()
        self._bases: dict[str, str] = {}
        self._imports: dict[str, _ImportRecord] = {}  # by kind, as the results that are remembered had them
        self._new_imports: dict[str, _ImportRecord] = {}  # as those of this run have them
        self._found_at: dict[str, str] = {}
        self._known_files: Mapping[str, Sequence[str]] = {}
        index = (self._load(f"index:{state}") if texts.is_shared else None) or self._load("index")
        if index is not None:
            self._open(index)
            self._known_files = self._load_files()

    def _open(self, index: Mapping[str, Any]) -> None:
        self.files = files = Files(set(index["loaded"]), set(index["ran"]), tuple(index["sites"]))
        cache_keys = self._cache_keys
        cache_keys.settle(index["python"], files)
        self._python = index["python"]
        self._imports = {kind: _ImportRecord(*each) for kind, each in index["imported"].items()}
        self._new_imports = dict(self._imports)
        kinds: tuple[Kind, ...] = ("tests", "entries")
        self._bases = {kind: cache_keys.base(kind) for kind in kinds if index["bases"][kind] == cache_keys.base(kind)}
        self.known_tests = tuple(index["tests"])
        if (
            index["whole"]
            and (index["collects"], index["listing"]) == (cache_keys.collects, self._listing)
            and self._is_same(index["beside"])
        ):
            self.collected = CachedCollection(index["tests"], tuple(index["problems"]), index["settings"])
        shape = (cache_keys.imports, cache_keys.shape())
        listed = index["listed"] and list(index["snippets"]) == self._snippets
        if index["shape"] == cache_keys.shape():
            self.known_entries = tuple(map(self._with_current_line, index["entries"]))
        if listed and (index["imports"], index["shape"]) == shape and self._is_same(index["lines"]):
            self.entries = tuple(map(self._with_current_line, index["entries"]))
            self.modules = dict(index["modules"])
            self.troubles = tuple(Trouble(*t) for t in index["troubles"])

    @property
    def python(self) -> str:
        """The interpreter that the remembered results come from; "" if there are none that hold."""
        return self._python if self._bases else ""

    def note_imports(self, kind: Kind, effects: ImportEffects, *, whole: bool) -> None:
        """Learn which functions ran on import, and what that set: where this has changed, who knows what else has.

        Where there was no time for all modules, in this run or in the last one, fewer of them ran.
        """
        old = self._imports.get(kind)
        new = _ImportRecord(tuple(sorted({tuple(each) for each in effects.ran})), dict(effects.settings), whole)
        if old is not None and not (old.whole and whole) and old.may_be_part_of(new):
            ran = tuple(sorted({*old.ran, *new.ran}))
            self._new_imports[kind] = replace(new, ran=ran, whole=old.whole or whole)
        else:
            self._imports[kind] = self._new_imports[kind] = new

    def fetch(self, plans: Iterable[TestPlan | EntryPlan]) -> None:
        """Bring near what is known of these."""
        found = []
        for plan in plans:
            kind, slot = _place_of(plan)
            if kind in self._bases and slot in self._known_files:
                found.append(self._address(kind, slot, self._known_files[slot], self._also(plan, self._imports)))
        self._texts.fetch([f"{self._name}:{address}" for address in found])

    def test(self, plan: TestPlan) -> TestResult | None:
        """What a test showed, if that still holds."""
        found = self._valid(plan)
        if found is None or not isinstance(found[0], TestResult):
            return None
        try:
            return found[0] if found[1] is None else found[1].test(found[0])
        except LookupError:
            return None

    def entry(self, plan: EntryPlan) -> EntryRecord | None:
        """What an entry showed, if that still holds."""
        found = self._valid(plan)
        if found is None:
            return None
        (runs, touched, end), mover = found
        if mover is None:
            return runs, touched, end
        try:
            return tuple(map(mover.evaluation, runs)), tuple(map(mover.function, touched)), end
        except LookupError:
            return None

    def store_test(self, plan: TestPlan, result: TestResult, *, ended: bool = False) -> None:
        """Remember a test. Of one that did not come to its own end nobody knows which files it needs: of all."""
        runs = [result.own, *(runs for _, runs in result.again)]
        files = self._files(result.touched, runs, [*plan.files, *(self._cache_keys.all_files() if ended else ())])
        self._new[f"test:{plan.key}"] = _FreshResults("tests", files, self._also(plan, self._new_imports), result)

    def store_entry(
        self, plan: EntryPlan, shown: EntryRecord, *, known: bool = True, reads: tuple[SourceRead, ...] = ()
    ) -> None:
        """Remember an entry, and whose source was read for it. If it is not `known` what ran, it needs all files."""
        own = [*plan.files, *([self._plans[plan.path].file] if plan.path in self._plans else [])]
        own += [self._plans[path].file for path, _ in reads if path in self._plans]
        if plan.origin == SNIPPET:  # what could not run may do so after any edit
            known = known and all(evaluation.status == "ok" for evaluation in shown[0])
        files = self._files(shown[1], [shown[0]], [*own, *(() if known else self._cache_keys.all_files())])
        also = self._also(plan, self._new_imports)
        is_apart = known and plan.origin not in ("script", SNIPPET)  # whose own code is not in functions
        functions = {*shown[1], *((call.path, call.scope) for run in shown[0] for call in run.calls)}
        self._new[f"entry:{plan.key}"] = _FreshResults(
            "entries", files, also, list(shown), frozenset(functions) if is_apart else None, reads
        )

    def agreed_durations(self, total: int) -> Mapping[str, float]:
        """The seconds that tests and entries took, by which `total` shards of the present files are split.

        Shards that share a cache get the same, whatever one of them has learnt before another begins.
        """
        stamps = {plan.path: self._cache_keys.stamp(plan.file) for plan in self._plans.values()}
        state = self._cache_keys.digest([stamps, self._listing, total])
        try:
            agreed = load(self._texts.put_first(f"{self._name}:split:{state}", dump(self._durations())))
            return {str(key): float(seconds) for key, seconds in agreed.items()}
        except (ValueError, KeyError, TypeError, AttributeError):  # another version's
            return {}

    def _durations(self) -> Mapping[str, float]:
        found = self._load(_DURATIONS)
        return found if isinstance(found, dict) else {}

    def close(
        self,
        python: str,
        collected: CachedCollection,
        entries: Sequence[EntryPlan] | None,
        modules: Mapping[str, tuple[Evaluation, ...]],
        troubles: Sequence[Trouble],
        recalled: Iterable[str],
        durations: Mapping[str, float],
    ) -> None:
        """Write what is new; `entries` are None if the run ended before they were known.

        If what all results depend on has changed, those that were `recalled` are written again.
        """
        # An import that ended a worker, or that there was no time for, may do better the next time.
        listed = entries is not None and not any(trouble.code != "SC303" for trouble in troubles)
        plans = self._plans_by_slot(collected.tests, entries or ())
        if not listed:  # the run may not have come to all that it could have taken over
            entries = [*(entries or ()), *self.known_entries]
            entries = list({plan.key: plan for plan in reversed(entries)}.values())[::-1]
            plans = self._plans_by_slot((*self.known_tests, *collected.tests), entries)
            recalled = [*recalled, *(slot for slot, plan in plans.items() if self._is_kept(plan))]
        if self._hashing.were_written(self.files.loaded):
            return  # nobody knows which text was evaluated
        if durations:
            self._write(_DURATIONS, {**self._durations(), **durations})
        cache_keys = self._cache_keys
        cache_keys.settle(python, self.files)
        recalled = [slot for slot in dict.fromkeys(recalled) if slot not in self._new]
        for slot in recalled:
            kind, _ = _place_of(plans[slot])
            base, also = cache_keys.base(kind), self._also(plans[slot], self._new_imports)
            unchanged = base == self._bases.get(kind) and also == self._also(plans[slot], self._imports)
            found = None if unchanged else self._load(self._found_at.get(slot, slot))
            if found is not None:
                self._write(self._address(kind, slot, found["deps"], also), {**found, "base": base, "also": also})
        for slot, new in self._new.items():
            deps = {file: cache_keys.stamp(file) for file in new.files}
            dependencies = cache_keys.code_key(new.kind, new.files)
            value = {"base": cache_keys.base(new.kind), "deps": deps, "dependencies": dependencies, "also": new.also}
            value["code"] = self._kept_code(new)
            self._write(self._address(new.kind, slot, new.files, new.also), {**value, "result": new.result})
        self._write_files()
        self.complete = self.lasting and listed and collected.whole
        beside = {file for plan in collected.tests for file in plan.files} - self._listing.keys()
        lined = {*modules, *(t.path for t in troubles), *(e.path for e in entries or () if e.origin == "example")}
        self._write_index(
            {
                "bases": {"tests": cache_keys.base("tests"), "entries": cache_keys.base("entries")},
                "imports": cache_keys.imports,
                "collects": cache_keys.collects,
                "imported": {kind: [each.ran, each.settings, each.whole] for kind, each in self._new_imports.items()},
                "listed": listed,
                "python": python,
                "loaded": sorted(self.files.loaded),
                "ran": sorted(self.files.ran),
                "sites": list(self.files.sites),
                "listing": self._listing,
                "beside": {file: cache_keys.stamp(file) for file in sorted(beside)},
                "shape": cache_keys.shape(),
                "snippets": self._snippets,
                "tests": list(collected.tests),
                "problems": list(collected.problems),
                "settings": dict(collected.settings),
                "whole": collected.whole,
                "entries": list(entries or ()),
                "modules": dict(modules),
                "lines": {
                    file: cache_keys.stamp(file) for file in (self._plans[p].file for p in lined if p in self._plans)
                },
                "troubles": [[t.code, t.path, t.line, t.subject, t.reason, t.partial] for t in troubles],
            },
        )

    @staticmethod
    def _plans_by_slot(tests: Iterable[TestPlan], entries: Iterable[EntryPlan]) -> dict[str, TestPlan | EntryPlan]:
        """Where the result of each test and entry is kept."""
        plans: list[TestPlan | EntryPlan] = [*tests, *entries]
        return {_place_of(plan)[1]: plan for plan in plans}

    def _is_kept(self, plan: TestPlan | EntryPlan) -> bool:
        """Whether what it showed is remembered, and still holds."""
        return (self.test(plan) if isinstance(plan, TestPlan) else self.entry(plan)) is not None

    def _kept_code(self, new: _FreshResults) -> dict[str, object]:
        """Of each planned file that a result depends on, the parts of its code that matter, and a hash of all of it."""
        found: dict[str, object] = {}
        paths = {plan.file: path for path, plan in self._plans.items()}
        is_open = new.functions is None or not self._cache_keys.keeps_nothing(new.kind, new.files)
        for file in new.files:
            code = self._cache_keys.code_units(file)
            if code is None or self._texts.is_shared:
                continue
            functions = [scope for path, scope in new.functions or () if path == paths[file]]
            reads = [line for path, line in new.reads if path == paths[file]]
            needed = None if is_open else code.names_around(functions, reads)
            names = code.units if needed is None else needed
            found[file] = ("" if needed is not None else code.digest, kept_units(code, names))
        return found

    def _valid(self, plan: TestPlan | EntryPlan) -> tuple[Any, Mover | None] | None:
        """What it showed, and what moves that to where the code is now, if it has moved."""
        kind, slot = _place_of(plan)
        also = self._also(plan, self._imports)
        if kind not in self._bases or (self._texts.is_shared and slot not in self._known_files):
            return None
        address = self._address(kind, slot, self._known_files.get(slot, ()), also)
        found = self._load(address)
        if found is None or found.get("base") != self._bases[kind] or found["also"] != also:
            return None
        if found["dependencies"] != self._cache_keys.code_key(kind, found["deps"]):
            return None
        moves = self._moves(kind, found["deps"], found["code"])
        if moves is None:
            return None
        self._found_at[slot] = address
        return found["result"], Mover(moves) if moves else None

    def _moves(self, kind: Kind, stamps: Mapping[str, str], kept: Mapping[str, Any]) -> Mapping[str, MovedFile] | None:
        """How the code of files has moved, by path; None if some of it that matters has changed."""
        keys = self._cache_keys
        changed = [file for file, stamp in stamps.items() if keys.stamp(file) != stamp]
        paths = {plan.file: path for path, plan in self._plans.items()}
        moves = {}
        for file in changed:
            code = keys.code_units(file)
            if code is None or file not in kept:
                return None
            whole, units = kept[file]
            if whole not in ("", code.digest) or not (whole or keys.keeps_nothing(kind, stamps)):
                return None
            move = find_move(units, code)
            if move is None:
                return None
            if not move.is_still:
                moves[paths[file]] = move
        return moves

    def _address(self, kind: Kind, slot: str, files: Iterable[str], also: str) -> str:
        """Where a result is kept that depends on these files, as they are now."""
        if not self._texts.is_shared:
            return slot
        keys = self._cache_keys
        stamps = {file: keys.stamp(file) for file in files}
        return f"{slot}:{keys.digest([keys.base(kind), stamps, keys.code_key(kind, files), also])}"

    def _load_files(self, *, newest: bool = False) -> dict[str, list[str]]:
        found = self._load(_FILES, newest=newest) if self._texts.is_shared else None
        return found if isinstance(found, dict) else {}

    def _write_files(self) -> None:
        """Add what this run has learnt: others may know results that it knows nothing of."""
        new = {slot: list(result.files) for slot, result in self._new.items()}
        known = self._load_files(newest=True) if new and self._texts.is_shared else {}
        if self._texts.is_shared and {**known, **new} != known:
            self._write(_FILES, {**known, **new})

    def _write_index(self, index: Mapping[str, object]) -> None:
        self._write("index", index)
        if self._texts.is_shared:
            self._write(f"index:{self._state}", index)

    def _is_same(self, stamps: Mapping[str, str]) -> bool:
        return all(self._cache_keys.stamp(file) == stamp for file, stamp in stamps.items())

    @staticmethod
    def _also(plan: TestPlan | EntryPlan, imports: Mapping[str, _ImportRecord]) -> str:
        """What a result depends on besides files."""
        known = imports.get("tests" if isinstance(plan, TestPlan) else "entries")
        parts = [known.ran, dict(known.settings)] if known is not None else []
        if isinstance(plan, TestPlan):
            return digest(parts)
        return digest([parts, plan.target, plan.origin, plan.path, plan.scope, plan.whole, plan.body])

    def _files(
        self, touched: Iterable[FunctionKey], runs: Iterable[Sequence[Evaluation]], own: Iterable[str]
    ) -> tuple[str, ...]:
        """The files that a result depends on: those that it names lines and sites of, too."""
        paths = {path for path, _ in touched}
        for evaluation in (evaluation for run in runs for evaluation in run):
            paths.update(call.path for call in evaluation.calls)
            paths.update(call.caller.path for call in evaluation.calls if call.caller is not None)
            if evaluation.failure is not None and evaluation.failure.frame is not None:
                paths.add(evaluation.failure.frame.path)
        known = {**self._shown_in, **{path: self._plans[path].file for path in paths if path in self._plans}}
        return tuple(sorted({*own, *(known[path] for path in paths if path in known)}))

    def _with_current_line(self, entry: EntryPlan) -> EntryPlan:
        """An entry with the line on which it now stands."""
        scope = self._plans[entry.path].scopes[entry.scope] if entry.scope is not None else None
        return entry if scope is None or scope.position is None else replace(entry, line=scope.position.line)

    def _load(self, slot: str, *, newest: bool = False) -> Any:
        text = self._texts.get(f"{self._name}:{slot}", newest=newest)
        if text is None:
            return None
        try:
            return load(text)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # another version's

    def _write(self, slot: str, value: Mapping[str, object]) -> None:
        self._texts.put(f"{self._name}:{slot}", dump(value))


def _place_of(plan: TestPlan | EntryPlan) -> tuple[Kind, str]:
    """The kind of its result, and the slot."""
    return ("tests", f"test:{plan.key}") if isinstance(plan, TestPlan) else ("entries", f"entry:{plan.key}")
