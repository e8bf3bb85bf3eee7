"""Cache keys: what the results of a run depend on in common, and what single files add to that."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from shapecheck.worker.code_units import CodeUnits
from shapecheck.worker.messages.plans import ModulePlan

Kind = Literal["tests", "entries"]


@dataclass
class Files:
    """The project's files as the worker saw them: those it loaded, those that ran on import, where packages are."""

    loaded: set[str] = field(default_factory=set)
    ran: set[str] = field(default_factory=set)
    sites: tuple[str, ...] = ()


class ModuleView(Protocol):
    """What modules have in common for those who import some of them, and what single files depend on."""

    @property
    def base(self) -> str:
        """A hash of what importing them does besides binding names."""

    def code_key(self, files: Iterable[str]) -> str:
        """A hash of all names that the code of these files may reach, and of what they stand for."""

    def keeps_nothing(self, files: Iterable[str]) -> bool:
        """Whether the code of these files reaches nothing that one call may leave for another."""

    def import_key(self, roots: Sequence[str]) -> str:
        """A hash of what importing these files depends on."""


@dataclass(frozen=True)
class KnownFile:
    """A file, and the names that it may be imported by; of `outside` ones it matters only what they use.

    `comment_names` are the names that its comments use: a global of that name would say what they mean. Code of a file
    that is `idle` does not run for entries.
    """

    file: str
    names: tuple[tuple[str, ...], ...] = ()
    test: bool = False
    outside: bool = False
    comment_names: tuple[tuple[str, ...], ...] = ()
    idle: bool = False


class FileHashes(Protocol):
    """Content hashes of files, and the key of the environment; "" is the hash of what cannot be read."""

    def content(self, file: str) -> str:
        """A hash of a file."""

    def outline(self, file: KnownFile) -> str:
        """A hash of what running a file depends on, unless it calls its functions."""

    def mentions(self, files: Sequence[KnownFile], names: frozenset[str]) -> str:
        """A hash of which of these names the functions and classes of the files mention."""

    def view(self, files: Sequence[KnownFile], roots: Sequence[str], always: Iterable[str]) -> ModuleView:
        """The files as they are seen where `roots` are imported one after the other, and `always` may always run."""

    def code_units(self, plan: ModulePlan) -> CodeUnits | None:
        """A planned file as the functions that it consists of, where that can be said."""

    def portable(self, text: str) -> str:
        """A text with names of files, as it is on all machines that share the results."""

    def environment(self, python: str, sites: Sequence[str]) -> Mapping[str, str]:
        """The interpreter and what is installed."""

    def were_written(self, files: Iterable[str]) -> bool:
        """Whether any of these files was written since the run began."""


class CacheKeys:
    """One state of the project. `listing` are files of tests, `surroundings` what lies beside or configures them."""

    def __init__(
        self,
        hashing: FileHashes,
        plans: Mapping[str, ModulePlan],
        listing: Mapping[str, str],
        surroundings: Mapping[str, str],
    ) -> None:
        self._hashing, self.plans, self._listing, self._surroundings = hashing, plans, listing, surroundings
        self._planned = {plan.file: plan for plan in plans.values()}
        self._views: dict[Kind, ModuleView] = {}
        self._bases: dict[Kind, str] = {}
        self.imports = ""  # a hash of what importing all modules depends on
        self.collects = ""  # the same of tests

    def settle(self, python: str, files: Files) -> None:
        """Take the state for which these files were seen by this interpreter."""
        loaded = {file for file in files.loaded if os.path.isfile(file)} - self._planned.keys() - self._listing.keys()
        ran = {self.plans[path].file if path in self.plans else os.path.realpath(path) for path in files.ran}
        ran = {file for file in ran if os.path.isfile(file)} - self._listing.keys()
        always = sorted(loaded | ran | {file for file in self._surroundings if file.endswith(".py")})
        known = self._known_files(always)
        parts: dict[str, object] = {
            "environment": dict(self._hashing.environment(python, files.sites)),
            "surroundings": dict(self._surroundings),
            # Without probes nobody knows what ran; and what ran on import did so for all.
            "whole": {file: self._code_stamp(file) for file in sorted(loaded | ran)},
        }
        claimed = [plan for plan in self.plans.values() if plan.claimed]
        others = [plan for plan in self.plans.values() if plan.file not in self._listing]
        modules = list(dict.fromkeys(plan.file for plan in (*claimed, *others)))
        roots: dict[Kind, list[str]] = {"entries": modules, "tests": [*sorted(self._listing), *modules]}
        for kind, files_of in roots.items():
            self._views[kind] = view = self._hashing.view(known, files_of, always)
            self._bases[kind] = self.digest({**parts, "view": view.base})
        beside = [file for file in always if file in self._surroundings]
        importing = self._views["tests"].import_key([*beside, *sorted(self._listing)])
        self.collects = self.digest([self._bases["tests"], importing])
        self.imports = self.digest([self._bases, self._outlines(known), self._mentions(known)])

    def base(self, kind: Kind) -> str:
        """A hash of what all results of one kind depend on."""
        return self._bases[kind]

    def code_key(self, kind: Kind, files: Iterable[str]) -> str:
        """A hash of what is reached by name from these files."""
        return self._views[kind].code_key(files)

    def stamp(self, file: str) -> str:
        """A hash of a file's content, and of how it is imported."""
        plan = self._planned.get(file)
        content = self._hashing.content(file)
        return content if plan is None else self.digest([content, plan.path, plan.root, plan.name, plan.aliases])

    def code_units(self, file: str) -> CodeUnits | None:
        """A planned file as the functions that it consists of, where that can be said."""
        plan = self._planned.get(file)
        return self._hashing.code_units(plan) if plan is not None else None

    def keeps_nothing(self, kind: Kind, files: Iterable[str]) -> bool:
        """Whether the code of these files reaches nothing that one call may leave for another."""
        return self._views[kind].keeps_nothing(files)

    def _code_stamp(self, file: str) -> str:
        """A hash of what a file does, wherever that stands in it; else of all of it."""
        code = self.code_units(file)
        return self.stamp(file) if code is None else code.digest

    def shape(self) -> str:
        """A hash of what the plans consist of, apart from the text."""
        plans = [
            [p.path, p.root, p.name, p.claimed, [[s.kind, s.qualname, s.parent] for s in p.scopes]]
            for p in self.plans.values()
        ]
        return self.digest(plans)

    def digest(self, value: object) -> str:
        """A hash of plain data with names of files."""
        return hashlib.sha256(self._hashing.portable(json.dumps(value, sort_keys=True)).encode()).hexdigest()

    def all_files(self) -> list[str]:
        """All files that are checked."""
        return list(self._planned)

    def _known_files(self, always: Iterable[str]) -> list[KnownFile]:
        known = []
        for file, plan in self._planned.items():
            test = file in self._listing
            names = (tuple(plan.name.split(".")), *(_tails(file) if test else ()))
            comment_names = {tuple(name.split(".")) for site in plan.sites for name in site.names}
            known.append(
                KnownFile(
                    file,
                    tuple(dict.fromkeys(names)),
                    test,
                    comment_names=tuple(sorted(comment_names)),
                    idle=test and not plan.claimed,
                )
            )
        known += [
            KnownFile(file, _tails(file), test=True, idle=True) for file in self._listing if file not in self._planned
        ]
        return known + [KnownFile(file, outside=True) for file in always if file not in self._planned]

    def _outlines(self, known: Iterable[KnownFile]) -> list[list[str]]:
        return [[file.file, self._hashing.outline(file)] for file in known if not file.outside]

    def _mentions(self, known: Sequence[KnownFile]) -> str:
        """Which classes are mentioned in which functions decides which models are parts of others."""
        classes = {s.qualname.rpartition(".")[2] for p in self.plans.values() for s in p.scopes if s.kind == "class"}
        return self._hashing.mentions([file for file in known if file.file in self._planned], frozenset(classes))


def digest(value: object) -> str:
    """A hash of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _tails(file: str) -> tuple[tuple[str, ...], ...]:
    """The names that a file of tests may be imported by: with as many folders in front as pytest likes."""
    parts = file.removesuffix(".py").split(os.sep)[-4:]
    return tuple(tuple(parts[start:]) for start in range(len(parts)))
