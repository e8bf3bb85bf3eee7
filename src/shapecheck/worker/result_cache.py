"""What earlier runs showed, entry by entry, and whether it still holds.

A result holds as long as the files are the same whose functions ran for it (the probes tell), the test file or module
that it belongs to, all names of the project that the code of these files may reach, and what all of a project's
results depend on: the environment, the settings, and what modules do on import besides binding names. Files whose
functions run on import count with their whole content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from shapecheck.model import Evaluation, FunctionKey
from shapecheck.worker.cache_keys import CacheKeys, FileHashes, Files, Kind, digest
from shapecheck.worker.rpc import EntryPlan, ImportEffects, ModulePlan, SettingValue, TestPlan, TestResult, dump, load
from shapecheck.worker.run_state import Trouble

__all__ = ["CachedCollection", "EntryRecord", "FileHashes", "Files", "ResultCache"]

EntryRecord = tuple[tuple[Evaluation, ...], tuple[FunctionKey, ...], str]
"""What an entry showed, the functions that ran for it, and what ended its worker or took too long, if anything did."""


class TextStore(Protocol):
    """Where texts are kept between runs, or were not."""

    def get(self, slot: str) -> str | None:
        """The text under a name."""

    def put(self, slot: str, text: str) -> None:
        """Keep a text under a name."""


@dataclass(frozen=True)
class CachedCollection:
    """The tests that pytest found, what it could not collect, and JAX's settings as importing all of them leaves."""

    tests: tuple[TestPlan, ...] = ()
    problems: tuple[str, ...] = ()
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    whole: bool = True  # false if there was no time for some files


@dataclass(frozen=True)
class _FreshResults:
    """A result of this run, the files that it depends on, and what else must be the same."""

    kind: Kind
    files: tuple[str, ...]
    also: str
    result: object


class ResultCache:
    """The results of one way to call the checker: `name` stands for its paths and settings."""

    def __init__(
        self,
        texts: TextStore,
        name: str,
        hashing: FileHashes,
        plans: Sequence[ModulePlan],
        listing: Mapping[str, str],
        surroundings: Mapping[str, str],
    ) -> None:
        self._texts, self._name, self._hashing = texts, name, hashing
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
        self._bases: dict[str, str] = {}
        self._imported: dict[str, str] = {}
        index = self._load("index")
        if index is not None:
            self._open(index)

    def _open(self, index: Mapping[str, Any]) -> None:
        self.files = files = Files(set(index["loaded"]), set(index["ran"]), tuple(index["sites"]))
        cache_keys = self._cache_keys
        cache_keys.settle(index["python"], files)
        self._python, self._imported = index["python"], dict(index["imported"])
        kinds: tuple[Kind, ...] = ("tests", "entries")
        self._bases = {kind: cache_keys.base(kind) for kind in kinds if index["bases"][kind] == cache_keys.base(kind)}
        if (
            index["whole"]
            and (index["collects"], index["listing"]) == (cache_keys.collects, self._listing)
            and self._is_same(index["beside"])
        ):
            self.collected = CachedCollection(index["tests"], tuple(index["problems"]), index["settings"])
        shape = (cache_keys.imports, cache_keys.shape())
        if (index["imports"], index["shape"]) == shape and self._is_same(index["lines"]):
            self.entries = tuple(map(self._with_current_line, index["entries"]))
            self.modules = dict(index["modules"])
            self.troubles = tuple(Trouble(*t) for t in index["troubles"])

    @property
    def python(self) -> str:
        """The interpreter that the remembered results come from; "" if there are none that hold."""
        return self._python if self._bases else ""

    def note_imports(self, kind: Kind, effects: ImportEffects) -> None:
        """Learn which functions ran on import, and what that set: where this has changed, who knows what else has."""
        self._imported[kind] = digest([sorted(map(list, effects.ran)), dict(effects.settings)])

    def test(self, plan: TestPlan) -> TestResult | None:
        """What a test showed, if that still holds."""
        found = self._valid("tests", f"test:{plan.key}", self._also(plan))
        return found if isinstance(found, TestResult) else None

    def entry(self, plan: EntryPlan) -> EntryRecord | None:
        """What an entry showed, if that still holds."""
        found = self._valid("entries", f"entry:{plan.key}", self._also(plan))
        return None if found is None else (found[0], found[1], found[2])

    def store_test(self, plan: TestPlan, result: TestResult, *, ended: bool = False) -> None:
        """Remember a test. Of one that did not come to its own end nobody knows which files it needs: of all."""
        runs = [result.own, *(runs for _, runs in result.again)]
        files = self._files(result.touched, runs, [*plan.files, *(self._cache_keys.all_files() if ended else ())])
        self._new[f"test:{plan.key}"] = _FreshResults("tests", files, self._also(plan), result)

    def store_entry(self, plan: EntryPlan, shown: EntryRecord, *, known: bool = True) -> None:
        """Remember an entry. If it is not `known` what ran for it, it needs all files."""
        own = [self._plans[plan.path].file] if plan.path in self._plans else []
        files = self._files(shown[1], [shown[0]], [*own, *(() if known else self._cache_keys.all_files())])
        self._new[f"entry:{plan.key}"] = _FreshResults("entries", files, self._also(plan), list(shown))

    def close(
        self,
        python: str,
        collected: CachedCollection,
        entries: Sequence[EntryPlan],
        modules: Mapping[str, tuple[Evaluation, ...]],
        troubles: Sequence[Trouble],
        recalled: Iterable[str],
    ) -> None:
        """Write what is new. If what all results depend on has changed, those that were `recalled` are too."""
        if self._hashing.were_written(self.files.loaded):
            return  # nobody knows which text was evaluated
        cache_keys = self._cache_keys
        cache_keys.settle(python, self.files)
        for slot in recalled:
            kind: Kind = "tests" if slot.startswith("test:") else "entries"
            if slot not in self._new and cache_keys.base(kind) != self._bases.get(kind):
                found = self._load(slot)
                if found is not None:
                    self._write(slot, {**found, "base": cache_keys.base(kind)})
        for slot, new in self._new.items():
            deps = {file: cache_keys.stamp(file) for file in new.files}
            dependencies = cache_keys.code_key(new.kind, new.files)
            value = {"base": cache_keys.base(new.kind), "deps": deps, "dependencies": dependencies, "also": new.also}
            self._write(slot, {**value, "result": new.result})
        if any(trouble.code != "SC303" for trouble in troubles):
            return  # an import that ended a worker, or that there was no time for, may do better the next time
        self.complete = self.lasting
        beside = {file for plan in collected.tests for file in plan.files} - self._listing.keys()
        lined = {*modules, *(t.path for t in troubles), *(e.path for e in entries if e.origin == "example")}
        self._write(
            "index",
            {
                "bases": {"tests": cache_keys.base("tests"), "entries": cache_keys.base("entries")},
                "imports": cache_keys.imports,
                "collects": cache_keys.collects,
                "imported": self._imported,
                "python": python,
                "loaded": sorted(self.files.loaded),
                "ran": sorted(self.files.ran),
                "sites": list(self.files.sites),
                "listing": self._listing,
                "beside": {file: cache_keys.stamp(file) for file in sorted(beside)},
                "shape": cache_keys.shape(),
                "tests": list(collected.tests),
                "problems": list(collected.problems),
                "settings": dict(collected.settings),
                "whole": collected.whole,
                "entries": list(entries),
                "modules": dict(modules),
                "lines": {
                    file: cache_keys.stamp(file) for file in (self._plans[p].file for p in lined if p in self._plans)
                },
                "troubles": [[t.code, t.path, t.line, t.subject, t.reason] for t in troubles],
            },
        )

    def _valid(self, kind: Kind, slot: str, also: str) -> Any:
        if kind not in self._bases:
            return None
        found = self._load(slot)
        if found is None or found.get("base") != self._bases[kind] or found["also"] != also:
            return None
        if not self._is_same(found["deps"]) or found["dependencies"] != self._cache_keys.code_key(kind, found["deps"]):
            return None
        return found["result"]

    def _is_same(self, stamps: Mapping[str, str]) -> bool:
        return all(self._cache_keys.stamp(file) == stamp for file, stamp in stamps.items())

    def _also(self, plan: TestPlan | EntryPlan) -> str:
        """What a result depends on besides files."""
        if isinstance(plan, TestPlan):
            return self._imported.get("tests", "")
        entry = [plan.target, plan.origin, plan.path, plan.scope, plan.whole, plan.body]
        return digest([self._imported.get("entries", ""), *entry])

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
        return tuple(sorted({*own, *(self._plans[path].file for path in paths if path in self._plans)}))

    def _with_current_line(self, entry: EntryPlan) -> EntryPlan:
        """An entry with the line on which it now stands."""
        scope = self._plans[entry.path].scopes[entry.scope] if entry.scope is not None else None
        return entry if scope is None or scope.position is None else replace(entry, line=scope.position.line)

    def _load(self, slot: str) -> Any:
        text = self._texts.get(f"{self._name}:{slot}")
        if text is None:
            return None
        try:
            return load(text)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # another version's

    def _write(self, slot: str, value: Mapping[str, object]) -> None:
        self._texts.put(f"{self._name}:{slot}", dump(value))
