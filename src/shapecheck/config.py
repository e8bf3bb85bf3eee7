"""`[tool.shapecheck]` of pyproject.toml, with the command line's flags on top, as one frozen `Config`."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from shapecheck.check.rules import as_code, nearest_code
from shapecheck.report import FORMATS

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain]"
_T = TypeVar("_T")
_LARGEST: Final = 1_000_000  # seconds or GiB: beyond it, clocks and limits overflow
_NO_LIMIT: Final = f"expected a number above 0, at most {_LARGEST}, got {{:g}}"


class ConfigError(Exception):
    """The configuration cannot be used; the message says where and why, and a `remedy` what to do about it."""

    remedy = ""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Config:
    """Everything that a run can be told. Paths are absolute; globs are relative to `root`.

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


def load(paths: Sequence[Path], *, file: Path | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """Read the configuration for a run over `paths`; `file` replaces the search, `flags` (by field name) win over it.

    The search takes the nearest pyproject.toml that has a `[tool.shapecheck]` table, upwards from the first path, else
    upwards from the working directory.
    """
    table: Mapping[str, object] = {}
    if file is not None:
        table = _table(file) or {}
    else:
        for start in (*paths[:1], Path.cwd()):
            file, found = _search(start.absolute())
            if found is not None:
                table = found
                break
    values = _Reader(file, table).values() if file is not None else {}
    values.update({name: value for name, value in (flags or {}).items() if value is not None})
    root = file.absolute().parent if file is not None else Path.cwd()
    for name in ("select", "ignore"):
        where = f"--{name}" if flags and flags.get(name) is not None else f"{file}: {name}"
        values[name] = tuple(read_code(code, where) for code in values.get(name, ()))
    for name in ("timeout", "memory", "budget", "test_timeout"):
        if not 0 < values.get(name, 1) <= _LARGEST:
            raise ConfigError(f"--{name.replace('_', '-')}: {_NO_LIMIT.format(values[name])}")
    return Config(root=root, file=file.absolute() if file else None, **values)


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


def _search(start: Path) -> tuple[Path | None, Mapping[str, object] | None]:
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and (table := _table(file)) is not None:
            return file, table
    return None, None


def _table(file: Path) -> Mapping[str, object] | None:
    """The `[tool.shapecheck]` table of a file, None where it has none."""
    import tomllib  # noqa: PLC0415  # `explain` and --version need no configuration

    try:
        text = file.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8, as TOML has to be (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from error
    tool = document.get("tool", {})
    if not isinstance(tool, dict) or "shapecheck" not in tool:
        return None
    table = tool["shapecheck"]
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: tool.shapecheck: expected a table, got {_type(table)}")
    return table


class _Reader:
    """Turns the table into the values of `Config`'s fields, with an error for whatever does not fit."""

    def __init__(self, file: Path, table: Mapping[str, object]) -> None:
        self.file = file
        self.table = table

    def values(self) -> dict[str, Any]:
        """Return field name -> value for every key that the table has."""
        keys = [_key(each.name) for each in fields(Config) if each.name not in ("root", "file")]
        self._known(self.table, keys, "")
        return {_FIELD.get(key, key.replace("-", "_")): self._value(key, value) for key, value in self.table.items()}

    def _value(self, key: str, value: object) -> object:
        match key:
            case "cache" | "lock" | "force-exclude" | "strict-comments" | "fail-on-unreached" | "report-unused-ignores":
                return self._typed(key, value, bool)
            case "select" | "ignore":
                return self._codes(key, value)
            case "exclude":
                return self._strings(key, value)
            case "src":
                return tuple(self._path(text) for text in self._strings(key, value))
            case "baseline":
                return self._path(self._typed(key, value, str))
            case "python":
                return interpreter(self._typed(key, value, str), self.file.absolute().parent, f"{self.file}: {key}")
            case "tests":
                return tuple(self._existing(key, text) for text in self._strings(key, value))
            case "timeout" | "memory" | "budget" | "test-timeout":
                return self._positive(key, value)
            case "jobs":
                return self._jobs(key, value)
            case "output-format":
                return self._format(key, value)
            case "per-file-ignores":
                table = self._typed(key, value, dict)
                return tuple((glob, self._codes(f"{key}.{glob!r}", codes)) for glob, codes in table.items())
            case "sizes":
                return {name: self._size(name, size) for name, size in self._typed(key, value, dict).items()}
            case _:
                entries = self._typed(key, value, list)
                return tuple(self._example(f"example[{index}]", entry) for index, entry in enumerate(entries))

    def _example(self, key: str, value: object) -> Example:
        table = self._typed(key, value, dict)
        self._known(table, [each.name for each in fields(Example)], f"{key}.")
        if "script" in table:
            return self._script(key, table)
        if "argv" in table:
            raise self._error(f'{key}.argv: is for a script: `script = "train.py"`')
        if "call" not in table:
            raise self._error(f'{key}: needs `call = "package.module:name"`, or `script = "train.py"`')
        call = self._typed(f"{key}.call", table["call"], str)
        module, _, name = call.partition(":")
        if not (module.strip() and name.strip()):
            raise self._error(f"{key}.call: expected package.module:name, got {call!r}")
        return Example(
            call=call,
            init=self._plain(f"{key}.init", self._typed(f"{key}.init", table["init"], dict))
            if "init" in table
            else None,
            args=tuple(self._plain(f"{key}.args", self._typed(f"{key}.args", table.get("args", []), list))),
            kwargs=self._plain(f"{key}.kwargs", self._typed(f"{key}.kwargs", table.get("kwargs", {}), dict)),
            method=self._typed(f"{key}.method", table.get("method", ""), str),
        )

    def _script(self, key: str, table: Mapping[str, object]) -> Example:
        for other in table:
            if other not in ("script", "argv"):
                raise self._error(f"{key}.{other}: is for `call`, and a script has only `argv`")
        script = self._path(self._typed(f"{key}.script", table["script"], str))
        if not script.is_file():
            raise self._error(f"{key}.script: there is no file {table['script']!r}")
        return Example(script=str(script), argv=self._strings(f"{key}.argv", table.get("argv", [])))

    def _plain(self, key: str, value: object) -> Any:
        """Refuse dates and times, which JSON (the way to the worker) does not know."""
        match value:
            case dict():
                return {name: self._plain(f"{key}.{name}", each) for name, each in value.items()}
            case list():
                return [self._plain(f"{key}[{index}]", each) for index, each in enumerate(value)]
            case bool() | int() | float() | str():
                return value
        raise self._error(f"{key}: expected a string, number, boolean, list or table, got {_type(value)}")

    def _existing(self, key: str, text: str) -> Path:
        path = self._path(text)
        if not path.exists():
            raise self._error(f"{key}: there is no file or folder {text!r}")
        return path

    def _jobs(self, key: str, value: object) -> int:
        jobs = self._typed(key, value, int)
        if jobs < 0:
            raise self._error(f"{key}: expected a number of workers, or 0 for one a core, got {jobs}")
        return jobs

    def _size(self, name: str, value: object) -> int:
        size = self._typed(f"sizes.{name}", value, int)
        if not name.isidentifier():
            raise self._error(f"sizes.{name}: {name!r} is no name of a dim")
        if size < 0:
            raise self._error(f"sizes.{name}: expected a size of 0 or more, got {size}")
        return size

    def _positive(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._error(f"{key}: expected a number, got {_type(value)}")
        number = float(value)
        if not 0 < number <= _LARGEST:
            raise self._error(f"{key}: {_NO_LIMIT.format(number)}")
        return number

    def _format(self, key: str, value: object) -> str:
        text = self._typed(key, value, str)
        if text not in FORMATS:
            raise self._error(f"{key}: expected one of {', '.join(FORMATS)}, got {text!r}")
        return text

    def _codes(self, key: str, value: object) -> tuple[str, ...]:
        return tuple(read_code(code, f"{self.file}: {key}") for code in self._strings(key, value))

    def _strings(self, key: str, value: object) -> tuple[str, ...]:
        items = self._typed(key, value, list)
        return tuple(self._typed(f"{key}[{index}]", item, str) for index, item in enumerate(items))

    def _path(self, text: str) -> Path:
        return self.file.absolute().parent / Path(text).expanduser()

    def _typed(self, key: str, value: object, wanted: type[_T]) -> _T:
        # bool is an int for Python, not for people
        if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
            raise self._error(f"{key}: expected {_NAMES[wanted]}, got {_type(value)}")
        return value

    def _known(self, table: Mapping[str, object], keys: Sequence[str], prefix: str) -> None:
        for key in table:
            if key not in keys:
                close = difflib.get_close_matches(key.replace("_", "-"), keys, n=1, cutoff=0.0)
                raise self._error(f"unknown key {prefix + key!r}; did you mean {prefix + close[0]!r}?")

    def _error(self, text: str) -> ConfigError:
        return ConfigError(f"{self.file}: tool.shapecheck: {text}")


_FIELD: Final = {"example": "examples"}
_NAMES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


def _key(name: str) -> str:
    return "example" if name == "examples" else name.replace("_", "-")


def _type(value: object) -> str:
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            return f"{name} ({value!r})" if kind in (bool, int, float, str) else name
    return type(value).__name__
