"""The options of `Config` on the command line: their names, kinds and helps are those that `Config` declares.

The part of a check that this machine is to do stands in --shard, or in what Bazel sets for sharded tests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shapecheck.config import Config, Option, executor_address, folder_or_url, interpreter, key_of, options
from shapecheck.report import FORMATS

if TYPE_CHECKING:
    from shapecheck.worker.shard_split import Shard


BLOB = "blob"
"""The format of what a shard hands on to `shapecheck merge`."""


def chosen_shard(text: str | None) -> Shard | None:
    """The shard that an option says, else the one that Bazel asks for, if any does.

    Bazel counts from 0, and takes a test that does not touch its file for one that cannot be sharded.
    """
    if text is not None:
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise click.UsageError(f"--shard: expected one of all parts, such as 1/4 up to 4/4, got {text!r}")
        return _shard(int(found[1]), int(found[2]))
    index, total = os.environ.get("TEST_SHARD_INDEX"), os.environ.get("TEST_TOTAL_SHARDS")
    if index is None or total is None or total == "0":
        return None
    if not (index.isdecimal() and total.isdecimal() and int(index) < int(total)):
        raise click.UsageError(
            f"TEST_SHARD_INDEX={index} and TEST_TOTAL_SHARDS={total} of the environment name no shard: the index "
            "counts from 0 and stays below the total"
        )
    status = os.environ.get("TEST_SHARD_STATUS_FILE")
    if status:
        Path(status).touch()
    return _shard(int(index) + 1, int(total))


def sole_shard() -> Shard:
    """The only shard of a run that is not split."""
    return _shard(1, 1)


def _shard(number: int, total: int) -> Shard:
    from shapecheck.worker.shard_split import Shard  # noqa: PLC0415  # most runs are whole

    return Shard(number, total)


_F = TypeVar("_F", bound=Callable[..., object])


class _Amount(click.FloatRange):
    """A positive number, which messages name by its unit."""

    def __init__(self, unit: str) -> None:
        super().__init__(0, min_open=True)
        self.name = f"number of {unit}"


def config_options(command: _F) -> _F:
    """Give a command an option for each field of `Config` that the command line offers, in their order."""
    defaults = {each.name: each.default for each in fields(Config)}
    for name, declared in reversed(list(options().items())):
        if declared.help:
            command = click.option(*_names(name, declared), **_details(declared, defaults[name]))(command)
    return command


def config_flags(given: Mapping[str, object]) -> dict[str, object]:
    """What the command line says of the fields of `Config`: None for what it leaves open."""
    return {
        name: _flag(declared, given[f"no_{name}" if declared.only_off else name], key_of(name))
        for name, declared in options().items()
        if declared.help
    }


def _names(name: str, declared: Option) -> tuple[str, ...]:
    key = key_of(name)
    if declared.only_off:
        return (f"--no-{key}", f"no_{name}")
    return (f"--{key}/--no-{key}", name) if declared.kind == "switch" else (f"--{key}", name)


def _details(declared: Option, default: object) -> dict[str, Any]:
    text = declared.help
    if declared.only_off:
        return {"is_flag": True, "help": text}
    match declared.kind:
        case "switch":
            return {"default": None, "help": text}
        case "codes":
            return {"multiple": True, "metavar": declared.metavar, "help": text}
        case "format":
            return {"type": click.Choice([*FORMATS, BLOB]), "help": f"{text}  [default: {default}]"}
        case "amount":
            kind, metavar = _Amount(declared.unit), "GIB" if declared.unit == "GiB" else declared.unit.upper()
            return {"type": kind, "metavar": metavar, "help": f"{text}  [default: {default:g}]"}
        case "workers":
            help_text = f"{text}  [default: {default or 'one a core'}]"
            return {"type": click.IntRange(0), "metavar": declared.metavar, "help": help_text}
        case "file":
            return {"type": click.Path(path_type=Path), "metavar": declared.metavar, "help": text}
        case _:
            return {"metavar": declared.metavar, "help": text}


def _flag(declared: Option, value: Any, key: str) -> object:
    if declared.only_off:
        off: object = False if declared.kind == "switch" else ()
        return off if value else None
    match declared.kind:
        case "codes":
            return tuple(code.strip() for text in value for code in text.split(",") if code.strip()) or None
        case "file":
            return value and value.absolute()
        case "address":
            return value and executor_address(value, f"--{key}")
        case "folder or URL":
            return value and folder_or_url(value, Path.cwd())
        case "interpreter":
            return value and interpreter(value, Path.cwd(), f"--{key}")
        case _:
            return value
