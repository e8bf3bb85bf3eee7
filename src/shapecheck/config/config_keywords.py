"""Options as Python's keywords: their names are those of `Config`'s fields, their values are checked as the table's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from shapecheck.config.config_table import ConfigReader
from shapecheck.config.settings import ConfigError, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    PathText = str | os.PathLike[str]


class CheckOptions(TypedDict, total=False):
    """The keywords of `shapecheck.check`: those of `[tool.shapecheck]`, with underscores.

    But for those that only tell the command how to print, and with which code to exit.
    """

    select: Sequence[str]
    ignore: Sequence[str]
    per_file_ignores: Mapping[str, Sequence[str]]
    exclude: Sequence[str]
    force_exclude: bool
    strict_comments: bool
    report_unused_ignores: bool
    baseline: PathText
    python: PathText
    src: Sequence[PathText]
    timeout: float
    tests: Sequence[PathText] | bool
    snippets: bool
    test_timeout: float
    budget: float
    lock: bool
    cache: bool
    cache_dir: PathText
    jobs: int
    executor: str
    memory: float
    sizes: Mapping[str, int]
    examples: Sequence[Mapping[str, object]]


def table_values(given: Mapping[str, object]) -> dict[str, object]:
    """The values of `Config`'s fields that keywords give; raises ConfigError for what does not fit.

    Paths are relative to the working directory. `tests` may also be False for none.
    """
    table: dict[str, object] = {}
    for name, value in given.items():
        if name not in CheckOptions.__annotations__:
            import difflib  # noqa: PLC0415  # most names are right

            (close,) = difflib.get_close_matches(name, CheckOptions.__annotations__, n=1, cutoff=0.0)
            raise ConfigError(f"check() has no option {name!r}; did you mean {close!r}?")
        if name == "tests" and isinstance(value, bool):
            table.update({} if value else {"tests": []})
        elif value is not None:
            table[key_of(name)] = _as_toml(value)
    return ConfigReader(Path.cwd() / "check()", table, "check()").values()


def _as_toml(value: object) -> object:
    """The value as TOML has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _as_toml(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_toml(each) for each in value]
    return value
