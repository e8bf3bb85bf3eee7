"""The part of a check that this machine is to do: by --shard, or by what Bazel sets for sharded tests."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shapecheck.worker.shard_split import Shard

BLOB = "blob"
"""The format of what a shard hands on to `shapecheck merge`."""


def chosen_shard(text: str | None, variables: Mapping[str, str] = os.environ) -> Shard | None:
    """The shard that an option says, else the one that Bazel asks for, if any does.

    Bazel counts from 0, and takes a test that does not touch its file for one that cannot be sharded.
    """
    if text is not None:
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise click.UsageError(f"--shard: expected one of all parts, such as 1/4 up to 4/4, got {text!r}")
        return _shard(int(found[1]), int(found[2]))
    index, total = variables.get("TEST_SHARD_INDEX"), variables.get("TEST_TOTAL_SHARDS")
    if index is None or total is None or total == "0":
        return None
    if not (index.isdecimal() and total.isdecimal() and int(index) < int(total)):
        raise click.UsageError(
            f"TEST_SHARD_INDEX={index} and TEST_TOTAL_SHARDS={total} of the environment name no shard: the index "
            "counts from 0 and stays below the total"
        )
    status = variables.get("TEST_SHARD_STATUS_FILE")
    if status:
        Path(status).touch()
    return _shard(int(index) + 1, int(total))


def sole_shard() -> Shard:
    """The only shard of a run that is not split."""
    return _shard(1, 1)


def _shard(number: int, total: int) -> Shard:
    from shapecheck.worker.shard_split import Shard  # noqa: PLC0415  # most runs are whole

    return Shard(number, total)
