"""All settings of a run, as one frozen `Config`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

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

    `tests` are looked for if None. Times are in seconds, `memory` in GiB. `jobs` of 0 means one worker a core.
    """

    root: Path
    file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    strict_comments: bool = False
    fail_on_unreached: bool = False
    report_unused_ignores: bool = False
    python: Path | None = None
    timeout: float = 60.0
    tests: tuple[Path, ...] | None = None
    budget: float = 60.0
    test_timeout: float = 10.0
    jobs: int = 0
    cache: bool = True
    lock: bool = True
    memory: float = 8.0
    sizes: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    baseline: Path | None = None
    output_format: str = "full"
    src: tuple[Path, ...] = ()

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


def read_code(text: str, where: str) -> str:
    """Return the rule's code, or the beginning of some, that `text` means; raise `ConfigError` if there is none."""
    code = as_code(text)
    if code is None:
        raise ConfigError(f"{where}: there is no rule {text!r}; did you mean {nearest_code(text)!r}?")
    return code
