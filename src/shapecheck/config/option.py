"""How one field of `Config` can be given: declared once, for the table in pyproject.toml and for the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "switch",
    "codes",
    "codes by glob",
    "strings",
    "folders",
    "address",
    "file",
    "folder or URL",
    "interpreter",
    "existing paths",
    "amount",
    "workers",
    "format",
    "sizes",
    "examples",
]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option. `kind` says what the table and the command line take, and how it is checked.

    The `help` is that of the command line, which does not offer an option without one; with `only_off` it offers
    `--no-NAME` alone. `key` is the table's word, if that is not the field's name; `unit` is that of an amount, with
    which messages name it. An option that is `presentation_only` shows only in how a report is printed, where it is
    kept, or how fast it comes: the results of earlier runs hold under another value of it, too.
    """

    kind: Kind
    help: str = ""
    metavar: str | None = None
    key: str = ""
    unit: str = ""
    only_off: bool = False
    presentation_only: bool = False


def option(default: object, declared: Option) -> Any:
    """A field of `Config` with its default; what makes a default anew for each object is given as its type."""
    if isinstance(default, type):
        return field(default_factory=default, metadata={"option": declared})
    return field(default=default, metadata={"option": declared})
