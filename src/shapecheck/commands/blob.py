"""What a shard leaves for `shapecheck merge`: a JSON object for each package, with all that the joined report needs.

A blob can be read where neither the sources nor JAX are. What the files claim is divided among the shards, as what they
do is: all blobs together have it once.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shapecheck.commands.lock.lock_check import LockCheck
from shapecheck.config import Config, options
from shapecheck.files.notebook_source import Notebook, NotebookCell
from shapecheck.model import Edit, EntryResult, Finding, LockCounts, Module, Span
from shapecheck.model.plain_facts import Plain, PlainFacts
from shapecheck.report import FORMATS
from shapecheck.worker.messages.plans import ModulePlan
from shapecheck.worker.messages.wire import from_plain, to_plain
from shapecheck.worker.run_result import Trouble
from shapecheck.worker.shard_outcome import ShardOutcome
from shapecheck.worker.shard_split import Shard

_FORMAT = 3
_FINDINGS = PlainFacts(Edit, EntryResult, Finding, LockCounts, Span)
_JUDGING = ("select", "ignore", "strict_comments", "fail_on_unreached", "report_unused_ignores", "output_format")


class BlobError(Exception):
    """What stands in a file is no blob of this version."""

    @classmethod
    def of_damage(cls) -> BlobError:
        """It is what is left of one."""
        return cls("it is damaged, or was not written to its end: run this shard again, or fetch its blob again")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What all shards of one run have in common: where they differ, their results do not belong together.

    `configuration` and `versions` are by name, `files` are hashes of what was checked, by path.
    """

    version: str
    commit: str
    paths: tuple[str, ...]
    configuration: Mapping[str, str]
    versions: Mapping[str, str]
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Blob:
    """The results of one shard. `modules` and `plans` are its part of those, by path; one of all has the `lock`.

    A run of several packages has a blob for each, of which this is the `package`-th of `packages`, counted from 1.
    `cache` is what a shared cache has of all this by now, as far as the shard knows, for one elsewhere.
    """

    shard: Shard
    origin: Origin
    config: Config
    modules: Mapping[str, Module]
    plans: Mapping[str, ModulePlan]
    outcome: ShardOutcome
    notebooks: Mapping[str, Notebook] = field(default_factory=dict)
    unread: tuple[tuple[str, str], ...] = ()
    lock: LockCheck | None = None
    cache: Mapping[str, str] = field(default_factory=dict)
    package: int = 1
    packages: int = 1


def dump(blob: Blob) -> str:
    """The blob as a line of JSON."""
    outcome, lock = blob.outcome, blob.lock
    document = {
        "shapecheck-blob": _FORMAT,
        "shard": [blob.shard.number, blob.shard.total],
        "package": [blob.package, blob.packages],
        "origin": dataclasses.asdict(blob.origin),
        "config": _plain_config(blob.config),
        "modules": {path: to_plain(module) for path, module in blob.modules.items()},
        # Scopes and sites stand in the module.
        "plans": {
            path: to_plain(dataclasses.replace(plan, scopes=(), sites=(), source=""))
            for path, plan in blob.plans.items()
        },
        "outcome": {
            "tests": to_plain(outcome.tests),
            "problems": outcome.problems,
            "results": {key: to_plain(result) for key, result in outcome.results.items()},
            "entries": to_plain(outcome.entries),
            "modules": {path: to_plain(runs) for path, runs in outcome.modules.items()},
            "records": {key: to_plain(record) for key, record in outcome.records.items()},
            "left": sorted(outcome.left),
            "troubles": [dataclasses.astuple(each) for each in outcome.troubles],
            "python": outcome.python,
            "sites": outcome.sites,
            "bugs": outcome.bugs,
            "failures": outcome.failures,
        },
        "notebooks": {path: _plain_notebook(each) for path, each in blob.notebooks.items()},
        "unread": blob.unread,
        "lock": None if lock is None else _plain_lock(lock),
        "cache": dict(blob.cache),
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def load_all(text: str) -> list[Blob]:
    """The blobs of a file, one for each package. Raises BlobError."""
    found = [load(line) for line in text.split("\n") if line.strip()] or [load(text)]
    if [(each.package, each.packages) for each in found] != [(n + 1, len(found)) for n in range(len(found))]:
        raise BlobError.of_damage()
    return found


def load(text: str) -> Blob:
    """The blob of a line. Raises BlobError."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or "shapecheck-blob" not in document:
            raise BlobError("it is no blob: shapecheck check --shard 1/4 --output-format blob writes one")
        if document["shapecheck-blob"] != _FORMAT:
            raise BlobError(
                "it has the format of another version of shapecheck: merge with the version that the shards have"
            )
        return _blob(document)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise BlobError.of_damage() from error


def _blob(document: Mapping[str, Any]) -> Blob:
    modules = {path: from_plain(each) for path, each in document["modules"].items()}
    if not all(isinstance(each, Module) for each in modules.values()):
        raise ValueError("these are no modules")
    plans = {path: from_plain(each) for path, each in document["plans"].items()}
    outcome = document["outcome"]
    origin = document["origin"]
    return Blob(
        shard=Shard(*document["shard"]),
        package=document["package"][0],
        packages=document["package"][1],
        origin=Origin(**{**origin, "paths": tuple(origin["paths"])}),
        config=_config(document["config"]),
        modules=modules,
        plans={
            path: dataclasses.replace(plan, scopes=modules[path].scopes, sites=modules[path].sites)
            for path, plan in plans.items()
        },
        outcome=ShardOutcome(
            tests=from_plain(outcome["tests"]),
            problems=tuple(outcome["problems"]),
            results={key: from_plain(each) for key, each in outcome["results"].items()},
            entries=from_plain(outcome["entries"]),
            modules={path: from_plain(each) for path, each in outcome["modules"].items()},
            records={key: from_plain(each) for key, each in outcome["records"].items()},
            left=frozenset(outcome["left"]),
            troubles=tuple(Trouble(*each) for each in outcome["troubles"]),
            python=outcome["python"],
            sites=tuple(outcome["sites"]),
            bugs=tuple(outcome["bugs"]),
            failures=tuple(outcome["failures"]),
        ),
        notebooks={
            path: Notebook(tuple(NotebookCell(*cell) for cell in each["cells"]), each["module"])
            for path, each in document["notebooks"].items()
        },
        unread=tuple((path, reason) for path, reason in document["unread"]),
        lock=None if document["lock"] is None else _lock(document["lock"]),
        cache={str(slot): str(text) for slot, text in document["cache"].items()},
    )


def shared_path(path: Path) -> str:
    """A path as all machines know it: from the working directory."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def configuration(config: Config) -> dict[str, str]:
    """The settings that results depend on, in words that are the same on all machines."""
    here = os.getcwd()
    names = [name for name, declared in options().items() if not declared.presentation_only and name != "python"]
    return {name: repr(getattr(config, name)).replace(here, ".") for name in names}


def _plain_config(config: Config) -> dict[str, Plain]:
    """The settings by which results are judged and shown."""
    plain: dict[str, Plain] = {name: getattr(config, name) for name in _JUDGING}
    plain["output_format"] = config.output_format if config.output_format in FORMATS else "full"
    plain["root"] = shared_path(config.root)
    plain["baseline"] = None if config.baseline is None else shared_path(config.baseline)
    plain["per_file_ignores"] = [[glob, list(codes)] for glob, codes in config.per_file_ignores]
    return plain


def _config(plain: Mapping[str, Any]) -> Config:
    judging = {name: plain[name] for name in _JUDGING}
    judging.update(select=tuple(plain["select"]), ignore=tuple(plain["ignore"]))
    return Config(
        root=Path(os.path.abspath(plain["root"])),
        baseline=None if plain["baseline"] is None else Path(os.path.abspath(plain["baseline"])),
        per_file_ignores=tuple((glob, tuple(codes)) for glob, codes in plain["per_file_ignores"]),
        **judging,
    )


def _plain_notebook(notebook: Notebook) -> dict[str, Plain]:
    return {"cells": [[cell.text, cell.begin] for cell in notebook.cells], "module": notebook.module}


def _plain_lock(lock: LockCheck) -> dict[str, Plain]:
    return {
        "counts": _FINDINGS.to_plain(lock.counts),
        "findings": _FINDINGS.to_plain(lock.findings),
        "broken": list(lock.broken),
        "entries": _FINDINGS.to_plain(lock.entries),
        "lines": {path: list(lines) for path, lines in lock.lines.items()},
    }


def _lock(plain: Mapping[str, Any]) -> LockCheck:
    return LockCheck(
        counts=_FINDINGS.from_plain(plain["counts"]),
        findings=list(_FINDINGS.from_plain(plain["findings"])),
        broken=list(plain["broken"]),
        entries=list(_FINDINGS.from_plain(plain["entries"])),
        lines={path: tuple(lines) for path, lines in plain["lines"].items()},
    )
