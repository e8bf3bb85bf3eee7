"""Requests of a check, and their answers: what importing files did, which entries are in them, and what these show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shapecheck.model import Evaluation, FunctionKey
from shapecheck.worker.messages.plans import EntryPlan, SettingValue
from shapecheck.worker.messages.protocol import RequestFor


@dataclass(frozen=True, kw_only=True)
class AbsentImport:
    """What an import statement did not find, as the statement has it, on which line, and why.

    What only has another name today is taken by that `instead`.
    """

    line: int
    name: str
    why: str
    instead: str = ""


@dataclass(frozen=True, kw_only=True)
class ImportedModule:
    """What a module's body showed (claims at module level), if anything; or the error that it raised, and where.

    It may have been imported without what is `absent`.
    """

    evaluation: Evaluation | None = None
    error: str = ""
    line: int = 1
    absent: tuple[AbsentImport, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EntryList:
    """All that can be evaluated in what was imported."""

    entries: tuple[EntryPlan, ...]


@dataclass(frozen=True, kw_only=True)
class ImportEffects:
    """The functions that ran on import, by path and name, and the settings of JAX that this has changed."""

    ran: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, SettingValue] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ImportedFiles:
    """The project's files that were imported, those whose functions ran meanwhile, and where packages lie.

    The `state` of a process is another one after each import there.
    """

    loaded: tuple[str, ...]
    ran: tuple[str, ...]
    sites: tuple[str, ...]
    state: int


SourceRead = tuple[str, int]
"""What was read of a file, by its path: the function that begins on this line, or one of the two below."""
WHOLE_FILE, OUTSIDE_FUNCTIONS = 0, -1
"""In place of a line: all of the file; and what is in no function, such as the fields of classes."""


@dataclass(frozen=True, kw_only=True)
class EntryResults:
    """The evaluations of one entry, which functions ran in any of them, and whose source was looked at for them.

    An entry that another worker listed may not be `listed` by this one, which could not import all that it needs.
    """

    runs: tuple[Evaluation, ...]
    touched: tuple[FunctionKey, ...]
    reads: tuple[SourceRead, ...] = ()
    listed: bool = True


@dataclass(frozen=True, kw_only=True)
class ImportModule(RequestFor[ImportedModule]):
    """Import one planned file."""

    path: str


@dataclass(frozen=True, kw_only=True)
class ImportAhead(RequestFor[ImportedModule]):
    """Import modules that the body of a planned file begins by importing: `names` as in `pkg` and `pkg:part`."""

    path: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ListEntries(RequestFor[EntryList]):
    """List the entries of what was imported: examples, then models (wholes before parts), then functions."""


@dataclass(frozen=True, kw_only=True)
class AskImportEffects(RequestFor[ImportEffects]):
    """Say what importing modules did besides."""


@dataclass(frozen=True, kw_only=True)
class ListFiles(RequestFor[ImportedFiles]):
    """Say which files were imported; where the state of the process is the `known` one, nothing but that."""

    known: int = 0


@dataclass(frozen=True, kw_only=True)
class EvaluateEntry(RequestFor[EntryResults]):
    """Run one entry, in not many more than `seconds`."""

    key: str
    seconds: float
