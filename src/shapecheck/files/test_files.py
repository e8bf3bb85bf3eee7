"""Where the user's tests lie: where pytest's configuration says, else in the usual places."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from shapecheck.files.discovery import project_root

_FOLDERS = ("tests", "test")
_TOML = ("pytest.toml", ".pytest.toml")
_INI = (("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))


def find_tests(files: Sequence[Path]) -> list[Path]:
    """The folders and files of tests that belong to `files`, sorted, each once.

    Of each file's project: the `testpaths` of pytest's configuration, else the folders `tests` and `test`; and, beside
    the code, `*_test.py` and `test_*.py`. Nothing is imported.
    """
    found: set[Path] = set()
    folders = {file.absolute().parent for file in files}
    for root in sorted({project_root(folder) for folder in folders} - {None}, key=str):
        if root is not None:
            found.update(_of_project(root))
    for folder in sorted(folders):
        beside = [*folder.glob("*_test.py"), *folder.glob("test_*.py")]
        found |= {file for file in beside if not _is_within(file, found)}
    return sorted(path for path in found if not _is_within(path, found))


def _of_project(root: Path) -> Iterable[Path]:
    named = _testpaths(root)
    if named:
        found = [Path(os.path.normpath(path)) for text in named for path in sorted(_glob(root, text))]
        return [path for path in found if path.is_dir() or _is_python(path)]
    return [root / name for name in _FOLDERS if any((root / name).rglob("*.py"))]


def _glob(root: Path, pattern: str) -> list[str]:
    """As pytest does it: `.` and absolute paths will do."""
    return glob.glob(os.path.join(glob.escape(str(root)), pattern), recursive=True)


def _testpaths(root: Path) -> list[str]:
    """As pytest reads it: the first file that configures pytest decides."""
    for name in _TOML:
        if (root / name).is_file():
            return _strings(_table(_toml(root / name), "pytest").get("testpaths"))
    for name, section in _INI[:2]:
        if (root / name).is_file():
            return _from_ini(root / name, section)
    options = _table(_table(_toml(root / "pyproject.toml"), "tool"), "pytest")
    if options := _table(options, "ini_options") or options:
        return _strings(options.get("testpaths"))
    for name, section in _INI[2:]:
        if (root / name).is_file() and (paths := _from_ini(root / name, section)):
            return paths
    return []


def _toml(file: Path) -> Mapping[str, object]:
    import tomllib  # noqa: PLC0415  # many projects configure nothing

    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _from_ini(file: Path, section: str) -> list[str]:
    import configparser  # noqa: PLC0415  # likewise

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(file, encoding="utf-8")
        return parser.get(section, "testpaths", fallback="").split()
    except (configparser.Error, UnicodeDecodeError, OSError):
        return []


def _is_python(path: Path) -> bool:
    return path.is_file() and path.suffix == ".py"


def _is_within(path: Path, folders: Collection[Path]) -> bool:
    return any(parent in folders for parent in path.parents)
