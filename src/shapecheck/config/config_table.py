"""The table `[tool.shapecheck]`: its values as those of `Config`'s fields, with an error for whatever does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from shapecheck.config.option import Kind
from shapecheck.config.settings import (
    LARGEST,
    NO_LIMIT,
    ConfigError,
    Example,
    executor_address,
    folder_or_url,
    interpreter,
    key_of,
    options,
    read_code,
)
from shapecheck.report import FORMATS

_T = TypeVar("_T")


class ConfigReader:
    """Turns the table into the values of `Config`'s fields, with an error for whatever does not fit.

    Paths are relative to the folder of `file`. Errors name `where` the table stands, if that is not the file.
    """

    def __init__(self, file: Path, table: Mapping[str, object], where: str = "") -> None:
        self.file = file
        self.table = table
        self._where = where

    def values(self) -> dict[str, Any]:
        """Return field name -> value for every key that the table has."""
        names = {key_of(name): name for name in options()}
        self._check_keys(self.table, list(names), "")
        return {names[key]: self._value(key, options()[names[key]].kind, value) for key, value in self.table.items()}

    def _value(self, key: str, kind: Kind, value: object) -> object:
        match kind:
            case "switch":
                return self._check_type(key, value, bool)
            case "codes":
                return self._codes(key, value)
            case "strings":
                return self._strings(key, value)
            case "folders":
                return tuple(self._path(text) for text in self._strings(key, value))
            case "file":
                return self._path(self._check_type(key, value, str))
            case "address":
                return executor_address(self._check_type(key, value, str), f"{self._where or self.file}: {key}")
            case "folder or URL":
                return folder_or_url(self._check_type(key, value, str), self.file.absolute().parent)
            case "interpreter":
                return interpreter(
                    self._check_type(key, value, str), self.file.absolute().parent, f"{self._where or self.file}: {key}"
                )
            case "existing paths":
                return tuple(self._existing_path(key, text) for text in self._strings(key, value))
            case "amount":
                return self._positive(key, value)
            case "workers":
                return self._jobs(key, value)
            case "format":
                return self._format(key, value)
            case "codes by glob":
                table = self._check_type(key, value, dict)
                return tuple((glob, self._codes(f"{key}.{glob!r}", codes)) for glob, codes in table.items())
            case "sizes":
                return {name: self._size(name, size) for name, size in self._check_type(key, value, dict).items()}
            case "examples":
                entries = self._check_type(key, value, list)
                return tuple(self._example(f"{key}[{index}]", entry) for index, entry in enumerate(entries))

    def _example(self, key: str, value: object) -> Example:
        table = self._check_type(key, value, dict)
        self._check_keys(table, [each.name for each in fields(Example)], f"{key}.")
        if "script" in table:
            return self._script(key, table)
        if "argv" in table:
            raise self._error(f'{key}.argv: is for a script: `script = "train.py"`')
        if "call" not in table:
            raise self._error(f'{key}: needs `call = "package.module:name"`, or `script = "train.py"`')
        call = self._check_type(f"{key}.call", table["call"], str)
        module, _, name = call.partition(":")
        if not (module.strip() and name.strip()):
            raise self._error(f"{key}.call: expected package.module:name, got {call!r}")
        return Example(
            call=call,
            init=self._plain(f"{key}.init", self._check_type(f"{key}.init", table["init"], dict))
            if "init" in table
            else None,
            args=tuple(self._plain(f"{key}.args", self._check_type(f"{key}.args", table.get("args", []), list))),
            kwargs=self._plain(f"{key}.kwargs", self._check_type(f"{key}.kwargs", table.get("kwargs", {}), dict)),
            method=self._check_type(f"{key}.method", table.get("method", ""), str),
        )

    def _script(self, key: str, table: Mapping[str, object]) -> Example:
        for other in table:
            if other not in ("script", "argv"):
                raise self._error(f"{key}.{other}: is for `call`, and a script has only `argv`")
        script = self._path(self._check_type(f"{key}.script", table["script"], str))
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
        raise self._error(f"{key}: expected a string, number, boolean, list or table, got {named_type(value)}")

    def _existing_path(self, key: str, text: str) -> Path:
        path = self._path(text)
        if not path.exists():
            raise self._error(f"{key}: there is no file or folder {text!r}")
        return path

    def _jobs(self, key: str, value: object) -> int:
        jobs = self._check_type(key, value, int)
        if jobs < 0:
            raise self._error(f"{key}: expected a number of workers, or 0 for one a core, got {jobs}")
        return jobs

    def _size(self, name: str, value: object) -> int:
        size = self._check_type(f"sizes.{name}", value, int)
        if not name.isidentifier():
            raise self._error(f"sizes.{name}: {name!r} is no name of a dim")
        if size < 1:
            raise self._error(f"sizes.{name}: expected a size of 1 or more, got {size}")
        return size

    def _positive(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._error(f"{key}: expected a number, got {named_type(value)}")
        number = float(value)
        if not 0 < number <= LARGEST:
            raise self._error(f"{key}: {NO_LIMIT.format(number)}")
        return number

    def _format(self, key: str, value: object) -> str:
        text = self._check_type(key, value, str)
        if text not in FORMATS:
            raise self._error(f"{key}: expected one of {', '.join(FORMATS)}, got {text!r}")
        return text

    def _codes(self, key: str, value: object) -> tuple[str, ...]:
        return tuple(read_code(code, f"{self._where or self.file}: {key}") for code in self._strings(key, value))

    def _strings(self, key: str, value: object) -> tuple[str, ...]:
        items = self._check_type(key, value, list)
        return tuple(self._check_type(f"{key}[{index}]", item, str) for index, item in enumerate(items))

    def _path(self, text: str) -> Path:
        return self.file.absolute().parent / Path(text).expanduser()

    def _check_type(self, key: str, value: object, expected_type: type[_T]) -> _T:
        # bool is an int for Python, not for people
        if not isinstance(value, expected_type) or (expected_type is not bool and isinstance(value, bool)):
            raise self._error(f"{key}: expected {_NAMES[expected_type]}, got {named_type(value)}")
        return value

    def _check_keys(self, table: Mapping[str, object], keys: Sequence[str], prefix: str) -> None:
        for key in table:
            if key not in keys:
                import difflib  # noqa: PLC0415  # most keys are right

                close = difflib.get_close_matches(key.replace("_", "-"), keys, n=1, cutoff=0.0)
                raise self._error(f"unknown key {prefix + key!r}; did you mean {prefix + close[0]!r}?")

    def _error(self, text: str) -> ConfigError:
        return ConfigError(f"{self._where or f'{self.file}: tool.shapecheck'}: {text}")


_NAMES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


def named_type(value: object) -> str:
    """What TOML calls the type of a value."""
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            return f"{name} ({value!r})" if kind in (bool, int, float, str) else name
    return type(value).__name__
