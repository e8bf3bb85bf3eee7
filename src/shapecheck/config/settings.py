"""All settings of a run, as one frozen `Config`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, TypeAlias

from shapecheck.config.option import Option, option
from shapecheck.rules import as_code, nearest_code

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain]"
LARGEST: Final = 1_000_000  # seconds or GiB: beyond it, clocks and limits overflow
NO_LIMIT: Final = f"expected a number above 0, at most {LARGEST}, got {{:g}}"


class ConfigError(Exception):
    """The configuration cannot be used; the message says where and why, and a `remedy` what to do about it."""

    remedy = ""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One `[[tool.shapecheck.example]]`: `call` names a callable ("pkg.gpt:GPT"), built with `init` if it is a class.

    Without `init`, the constructor's arguments are made up. A string among `args` and `kwargs` of the form
    `i32[batch seq]` is an abstract array. Or a `script` (absolute), run as `__main__` with `argv`.
    """

    call: str = ""
    init: Mapping[str, Plain] | None = None
    args: tuple[Plain, ...] = ()
    kwargs: Mapping[str, Plain] = field(default_factory=dict)
    method: str = ""
    script: str = ""
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a run. Paths are absolute; globs are relative to `root`.

    `tests` are looked for if None. Times are in seconds, `memory` in GiB. `jobs` of 0 means one worker a core. An
    option is declared here and nowhere else: `[tool.shapecheck]`, the command line with its help, and what makes
    earlier results stale follow from it.
    """

    root: Path
    file: Path | None = None
    output_format: str = option("full", Option(kind="format", help="Of the findings.", presentation_only=True))
    select: tuple[str, ...] = option(
        (), Option(kind="codes", metavar="CODES", help="Only these rules: SC201, or SC2 for all that begin so.")
    )
    ignore: tuple[str, ...] = option(
        (), Option(kind="codes", metavar="CODES", help="Not these rules. The longer beginning of a code wins.")
    )
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = option((), Option(kind="codes by glob"))
    exclude: tuple[str, ...] = option((), Option(kind="strings"))
    force_exclude: bool = option(False, Option(kind="switch", help="Leave out excluded files even if named."))
    strict_comments: bool = option(False, Option(kind="switch", help="Report tentative comments too."))
    fail_on_unreached: bool = option(
        False,
        Option(
            kind="switch",
            help="Exit with 1 if a claim is unreached, or a file cannot be read or parsed.",
            presentation_only=True,
        ),
    )
    report_unused_ignores: bool = option(False, Option(kind="switch", help="Report needless ignore comments."))
    baseline: Path | None = option(
        None, Option(kind="file", help="Do not report the findings recorded in this file.", presentation_only=True)
    )
    python: Path | None = option(
        None, Option(kind="interpreter", metavar="PATH", help="The interpreter that your code runs in.")
    )
    src: tuple[Path, ...] = option((), Option(kind="folders"))
    timeout: float = option(60.0, Option(kind="amount", unit="seconds", help="For one import or entry."))
    tests: tuple[Path, ...] | None = option(
        None, Option(kind="existing paths", help="Do not evaluate your tests.", only_off=True)
    )
    snippets: bool = option(
        True,
        Option(
            kind="switch",
            help="Do not evaluate docs' code, examples and __main__ blocks.",
            only_off=True,
        ),
    )
    test_timeout: float = option(10.0, Option(kind="amount", unit="seconds", help="For one test."))
    budget: float = option(
        60.0,
        Option(
            kind="amount",
            unit="seconds",
            help="For the whole run; the summary says what it cuts.",
            presentation_only=True,  # a run that was cut goes on under another one
        ),
    )
    lock: bool = option(
        True, Option(kind="switch", help="Do not evaluate the templates of shapes.lock.", only_off=True)
    )
    cache: bool = option(
        True,
        Option(
            kind="switch",
            help="Neither use nor keep the results of earlier runs.",
            only_off=True,
            presentation_only=True,
        ),
    )
    cache_dir: Path | str | None = option(
        None,
        Option(
            kind="folder or URL",
            metavar="DIR|URL",
            help="Keep results here for all machines: in a folder that they see, or at a URL such as s3://bucket/name.",
            presentation_only=True,
        ),
    )
    jobs: int = option(0, Option(kind="workers", metavar="N", help="Workers side by side.", presentation_only=True))
    executor: str | None = option(
        None,
        Option(
            kind="address",
            metavar="DASK",
            help="Evaluate on a Dask cluster: dask://host:8786, or dask://local:4 for four workers here.",
            presentation_only=True,
        ),
    )
    memory: float = option(8.0, Option(kind="amount", unit="GiB", help="For the worker process."))
    sizes: Mapping[str, int] = option(dict, Option(kind="sizes"))
    examples: tuple[Example, ...] = option((), Option(kind="examples", key="example"))

    @property
    def workers(self) -> int:
        """How many workers may run at once: `jobs`, else as many as the machine lets this process have cores."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return self.jobs or cores or 1


def interpreter(text: str, folder: Path, where: str) -> Path:
    """Find the Python that `text` names: a path, relative to `folder`, or a command such as `python3.12`.

    Symbolic links are kept: behind the one in a virtual environment is the Python outside of it.
    """
    if Path(text).name == text and not (folder / text).is_file():
        found = shutil.which(text)
    else:
        path = folder / Path(text).expanduser()
        found = str(path) if path.is_file() and os.access(path, os.X_OK) else None
    if found is None:
        raise ConfigError(f"{where}: there is no Python interpreter {text!r}")
    return Path(found).absolute()


def executor_address(text: str, where: str) -> str:
    """The address of a cluster; raise `ConfigError` for what is none."""
    if re.fullmatch(r"dask://(local(:[1-9]\d*)?|(?!local\b)[^/\s]+:\d+)", text) is None:
        raise ConfigError(
            f"{where}: expected the scheduler of a Dask cluster, as in dask://host:8786, or dask://local:4 for a "
            f"cluster of four workers on this machine, got {text!r}"
        )
    return text


def folder_or_url(text: str, folder: Path) -> Path | str:
    """What `text` names: a path, relative to `folder`, or a URL that is not that of a file."""
    scheme, separator, rest = text.partition("://")
    if not separator or os.sep in scheme:
        return folder / Path(text).expanduser()
    return folder / Path(rest) if scheme.lower() in ("file", "local") else text


def read_code(text: str, where: str) -> str:
    """Return the rule's code, or the beginning of some, that `text` means; raise `ConfigError` if there is none."""
    code = as_code(text)
    if code is None:
        raise ConfigError(f"{where}: there is no rule {text!r}; did you mean {nearest_code(text)!r}?")
    return code


def options() -> Mapping[str, Option]:
    """The options by the fields of `Config` that they fill."""
    return {each.name: each.metadata["option"] for each in fields(Config) if "option" in each.metadata}


def key_of(name: str) -> str:
    """The word for an option in the table, and, behind two dashes, on the command line."""
    return options()[name].key or name.replace("_", "-")
