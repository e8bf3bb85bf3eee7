"""What earlier runs showed, entry by entry, and whether it still holds.

A result holds as long as the files are the same whose functions ran for it (the probes tell), the test file or module
that it belongs to, and what all of a project's results lean on: the environment, the settings, and each file's
skeleton, which is what importing it depends on. Files whose functions run on import count with their whole content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shapecheck.facts import Evaluation
from shapecheck.stage.process.outcome import Trouble
from shapecheck.stage.protocol import EntryPlan, ModulePlan, TestPlan, TestResult, dump, load

Shown = tuple[tuple[Evaluation, ...], tuple[tuple[str, int], ...], str]
"""What an entry showed, the functions that ran for it, and what ended its worker or took too long, if anything did."""


class Texts(Protocol):
    """Where texts are kept between runs, or were not."""

    def get(self, slot: str) -> str | None:
        """The text under a name."""

    def put(self, slot: str, text: str) -> None:
        """Keep a text under a name."""


@dataclass
class Files:
    """The project's files as the worker saw them: those it loaded, those that ran on import, where packages are."""

    loaded: set[str] = field(default_factory=set)
    ran: set[str] = field(default_factory=set)
    sites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collected:
    """The tests that pytest found, what it could not collect, and JAX's settings as importing all of them leaves."""

    tests: tuple[TestPlan, ...] = ()
    problems: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Hashing:
    """How files and surroundings are told apart; "" is the hash of what cannot be read."""

    content: Callable[[str], str]
    skeleton: Callable[[str], str]
    environment: Callable[[str, Sequence[str]], Mapping[str, str]]
    written: Callable[[Iterable[str]], bool]  # whether any of these files was written since the run began


class Memory:
    """The results of one way to call the checker: `name` stands for its paths and settings."""

    def __init__(
        self,
        texts: Texts,
        name: str,
        hashing: Hashing,
        plans: Sequence[ModulePlan],
        listing: Mapping[str, str],
        surroundings: Mapping[str, str],
    ) -> None:
        self._texts, self._name, self._hashing = texts, name, hashing
        self._plans = {plan.path: plan for plan in plans}
        self._listing = dict(listing)  # test files, with the hash of their content
        self._surroundings = dict(surroundings)  # what lies beside them or configures them, likewise
        self._new: dict[str, dict[str, Any]] = {}
        self.files = Files()
        self.modules: dict[str, tuple[Evaluation, ...]] = {}
        self.troubles: tuple[Trouble, ...] = ()
        self.collected: Collected | None = None
        self.entries: tuple[EntryPlan, ...] | None = None
        self.lasting = True  # whether nothing happened that may not happen again
        self.complete = False  # whether all was written that another run needs
        self._python = ""
        self._base = ""
        self._open()

    def _open(self) -> None:
        index = self._read("index")
        if index is None:
            return
        files = Files(set(index["loaded"]), set(index["ran"]), tuple(index["sites"]))
        if self._foundation(index["python"], files) != index["base"]:
            return
        self._base, self._python, self.files = index["base"], index["python"], files
        if index["listing"] == self._listing:
            self.collected = Collected(index["tests"], tuple(index["problems"]), index["settings"])
        if index["claimed"] == self._claimed() and all(
            self._hashing.content(self._plans[path].file) == sha for path, sha in index["module_files"].items()
        ):
            self.entries = index["entries"]
            self.modules = dict(index["modules"])
            self.troubles = tuple(Trouble(*t) for t in index["troubles"])

    @property
    def python(self) -> str:
        """The interpreter that the remembered results come from; "" if there are none that hold."""
        return self._python

    def test(self, plan: TestPlan) -> TestResult | None:
        """What a test showed, if that still holds."""
        found = self._valid(f"test:{plan.key}")
        return found if isinstance(found, TestResult) else None

    def entry(self, plan: EntryPlan) -> Shown | None:
        """What an entry showed, if that still holds."""
        found = self._valid(f"entry:{plan.key}")
        return None if found is None else (found[0], found[1], found[2])

    def keep_test(self, plan: TestPlan, result: TestResult, *, ended: bool = False) -> None:
        """Remember a test. Of one that did not come to its own end nobody knows which files it needs: of all."""
        own = [*plan.files, *(self._everything() if ended else ())]
        self._new[f"test:{plan.key}"] = {"deps": self._deps(result.touched, own), "result": result}

    def keep_entry(self, plan: EntryPlan, shown: Shown) -> None:
        """Remember an entry."""
        own = [self._plans[plan.path].file] if plan.path in self._plans else []
        own += self._everything() if shown[2] else []
        self._new[f"entry:{plan.key}"] = {"deps": self._deps(shown[1], own), "result": list(shown)}

    def close(
        self,
        python: str,
        collected: Collected,
        entries: Sequence[EntryPlan],
        modules: Mapping[str, tuple[Evaluation, ...]],
        troubles: Sequence[Trouble],
        recalled: Iterable[str],
    ) -> None:
        """Write what is new. If all that results lean on has changed, those which were `recalled` are written again."""
        if self._hashing.written(self.files.loaded):
            return  # nobody knows which text was evaluated
        base = self._foundation(python, self.files)
        if base != self._base:
            for slot in recalled:
                found = self._read(slot)
                if found is not None:
                    self._new.setdefault(slot, found)
        for slot, value in self._new.items():
            self._write(slot, {**value, "base": base})
        if any(trouble.code == "SC304" for trouble in troubles):
            return  # an import that ended a worker, or took too long, may do better the next time
        self.complete = self.lasting
        self._write(
            "index",
            {
                "base": base,
                "python": python,
                "loaded": sorted(self.files.loaded),
                "ran": sorted(self.files.ran),
                "sites": list(self.files.sites),
                "listing": self._listing,
                "claimed": self._claimed(),
                "tests": list(collected.tests),
                "problems": list(collected.problems),
                "settings": dict(collected.settings),
                "entries": list(entries),
                "modules": dict(modules),
                "module_files": {path: self._hashing.content(self._plans[path].file) for path in modules},
                "troubles": [[t.code, t.path, t.line, t.subject, t.reason] for t in troubles],
            },
        )

    def _valid(self, slot: str) -> Any:
        if not self._base:
            return None
        found = self._read(slot)
        if found is None or found.get("base") != self._base:
            return None
        if any(self._hashing.content(file) != sha for file, sha in found["deps"].items()):
            return None
        return found["result"]

    def _everything(self) -> list[str]:
        return [plan.file for plan in self._plans.values()]

    def _deps(self, touched: Iterable[tuple[str, int]], own: Iterable[str]) -> dict[str, str]:
        files = {self._plans[path].file for path, _ in touched if path in self._plans} | set(own)
        return {file: self._hashing.content(file) for file in sorted(files)}

    def _foundation(self, python: str, files: Files) -> str:
        """One hash for what all results lean on."""
        parts: dict[str, Any] = {"environment": dict(self._hashing.environment(python, files.sites))}
        parts["surroundings"] = self._surroundings
        ran = {self._plans[path].file if path in self._plans else os.path.realpath(path) for path in files.ran}
        planned = {plan.file for plan in self._plans.values()}
        for file in sorted((planned | files.loaded) - self._listing.keys()):
            whole = file in ran or file not in planned  # without probes nobody knows what ran
            parts[file] = self._hashing.content(file) if whole else self._hashing.skeleton(file)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _claimed(self) -> str:
        shape = [[p.path, p.root, p.name, [[p.scopes[i].qualname, i] for i in p.claimed]] for p in self._plans.values()]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()

    def _read(self, slot: str) -> Any:
        text = self._texts.get(f"{self._name}:{slot}")
        if text is None:
            return None
        try:
            return load(text)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # another version's

    def _write(self, slot: str, value: Mapping[str, Any]) -> None:
        self._texts.put(f"{self._name}:{slot}", dump(value))
