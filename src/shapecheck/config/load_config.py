"""`[tool.shapecheck]` of the nearest pyproject.toml, with the command line's flags on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shapecheck.config.config_table import ConfigReader, named_type
from shapecheck.config.settings import LARGEST, NO_LIMIT, Config, ConfigError, key_of, options, read_code


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
    values = ConfigReader(file, table).values() if file is not None else {}
    values.update({name: value for name, value in (flags or {}).items() if value is not None})
    root = file.absolute().parent if file is not None else Path.cwd()
    for name, declared in options().items():
        if declared.kind == "codes":
            where = f"--{key_of(name)}" if flags and flags.get(name) is not None else f"{file}: {key_of(name)}"
            values[name] = tuple(read_code(code, where) for code in values.get(name, ()))
        elif declared.kind == "amount" and not 0 < values.get(name, 1) <= LARGEST:
            raise ConfigError(f"--{key_of(name)}: {NO_LIMIT.format(values[name])}")
    return Config(root=root, file=file.absolute() if file else None, **values)


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
        raise ConfigError(f"{file}: tool.shapecheck: expected a table, got {named_type(table)}")
    return table
