"""What a worker is told of the project: its files with their sites, what can be evaluated, and the settings."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from shapecheck.model import DocstringHint, Evaluation, Failure, FunctionKey, InferredParameter, Scope, Site, Snippet

# Calls of a function, in different tests, that are evaluated with free sizes until one comes to an end: the worker
# counts them, and its parent knows by them which tests were the first.
TRIES = 3

# What a parameter is described as of which nobody says anything: an array, unless its annotation says otherwise.
UNSAID = "..."


SettingValue = bool | int | float | str | None
"""A value of a setting of JAX, or of a variable of the environment."""


@dataclass(frozen=True, kw_only=True)
class ParameterSpec:
    """What a comment or docstring says of a parameter: canonical spec text and a jaxtyping dtype name or "".

    It is `vague` if its text can be read in several ways: then a shape error of a call that it describes proves
    nothing. One of several `alternatives`, of which each will do (`(n,)` or `(n, k)`), has the others beside it once
    they are looked up; those are `at_times` which it is under a condition, and what another text says of it is there
    `also`. With `leaves` it is each array of a tuple.
    `prose` is part of a docstring.
    Where a function that is called says it, `foreign` are the names that are only that function's, with the call.
    """

    scope: int
    parameter: str
    spec: str
    dtype: str
    vague: bool = False
    prose: bool = False
    alternative: bool = False
    others: tuple[str, ...] = ()
    at_times: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    leaves: bool = False
    mapped: str = ""
    foreign: tuple[tuple[str, str], ...] = ()

    @property
    def own_spec(self) -> str:
        """The spec as somebody wrote it, with `_` for an axis that is mapped."""
        return f"_ {self.spec.partition(' ')[2]}".strip() if self.mapped else self.spec


@dataclass(frozen=True)
class ShapeOfName:
    """What a claim says of something with a name in `scope`: of a parameter or field, or of a variable there."""

    scope: int
    name: str
    spec: str
    dtype: str
    of_parameter: bool


@dataclass(frozen=True)
class ClaimedShape:
    """What one claim says of a variable, a result or a parameter at a site; `words` are the names on its line."""

    site: int
    spec: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModulePlan:
    """One file to import: `file` absolute and resolved, `path` as messages show it, `root` its import root."""

    file: str
    path: str
    root: str
    name: str
    scopes: tuple[Scope, ...]
    sites: tuple[Site, ...]
    described: tuple[ParameterSpec, ...] = ()
    named: tuple[ShapeOfName, ...] = ()
    shapes: tuple[ClaimedShape, ...] = ()
    parameters: tuple[ClaimedShape, ...] = ()
    fields: tuple[ClaimedShape, ...] = ()
    inferred: tuple[InferredParameter, ...] = ()
    claimed: tuple[int, ...] = ()  # scopes that have claims
    names: tuple[tuple[int, tuple[str, ...]], ...] = ()  # what each claim of a scope tells apart: names, and numbers
    hints: tuple[DocstringHint, ...] = ()
    aliases: str = ""  # a hash of what its annotations mean, where that stands in other files
    source: str = ""  # text in place of the file's own (its bytes as Latin-1), for an editor's unsaved buffer


@dataclass(frozen=True, kw_only=True)
class ConfiguredExample:
    """A `[[tool.shapecheck.example]]` table: something to call, or a `script` (absolute) with its arguments."""

    call: str
    init: Mapping[str, object] | None = None
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = dataclasses.field(default_factory=dict)
    method: str = ""
    script: str = ""
    argv: tuple[str, ...] = ()
    read: bool = False  # the arguments are values already, and their texts mean nothing but themselves
    fill: bool = False  # arguments that are left out are made up
    as_annotated: bool = False  # those that contradict the annotation of their parameter are refused
    borrowed: Mapping[str, object] = dataclasses.field(default_factory=dict)  # arguments of another callable, in order
    borrowed_invented: bool = False  # those were made up, and step back behind what a factory returns with its model
    data: str = ""  # a file of arrays, by the names of arguments


@dataclass(frozen=True, kw_only=True)
class EntryPlan:
    """Something that can be evaluated, as the worker lists it. `key` is stable across worker processes.

    A snippet `reaches` functions with claims, as far as names tell, and takes its names from `files`, absolute.
    """

    key: str
    target: str
    origin: str
    path: str
    line: int
    scope: int | None
    whole: bool = True  # no other class holds it
    body: FunctionKey | None = None  # (path, scope) of the function that runs, so that others may cover it
    reaches: tuple[FunctionKey, ...] = ()
    files: tuple[str, ...] = ()

    def not_evaluated(self, reason: str, failure: Failure | None = None) -> Evaluation:
        """What is known of it where it could not be evaluated."""
        return Evaluation(
            target=self.target,
            origin=self.origin,
            path=self.path,
            line=self.line,
            mode="symbolic",
            status="failed",
            reason=reason,
            calls=(),
            failure=failure,
            tried=0,
        )


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What an evaluation needs of the configuration.

    `memory` is in GiB, 0 without limit; `made` has numbers that an earlier evaluation made up, by what they are for;
    `script_limit` is in seconds. `config_file` is where the examples stand, as messages show it.
    """

    memory: float = 0.0
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    made: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    examples: tuple[ConfiguredExample, ...] = ()
    config_file: str = ""
    script_limit: float = 10.0
    snippets: tuple[Snippet, ...] = ()


def later(path: str, version: int) -> str:
    """What a file that has changed goes by among what was read of it before; the first version goes by its path."""
    return f"{path}\0{version}" if version else path


def as_shown(text: str) -> str:
    """A text with the paths that people know."""
    return _VERSION.sub("", text)


_VERSION = re.compile("\0[0-9]+")
