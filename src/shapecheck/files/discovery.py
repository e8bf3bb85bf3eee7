"""Which files to read, and what each is called when it is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shapecheck.files.notebook_source import SUFFIX

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SKIPPED = frozenset({"__pycache__", "venv", "node_modules", "build", "dist", "site-packages"})
"""Folders inside a walked folder that hold nobody's own source; hidden folders are skipped as well."""

_TEMPLATE = "{{"  # cookiecutter's and copier's: it holds no Python before a name is put there
_APPLE_DOUBLE = b"\x00\x05\x16\x07"  # how such a file begins, by RFC 1740
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py", ".git")
_TEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini")
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class ModuleName(NamedTuple):
    """`root` is the folder to import from, `dotted` the name to import."""

    root: Path
    dotted: str


UnreadPaths = dict[str, str]
"""Files and folders that cannot be read, as reports show them, and why."""


def discover(
    paths: Sequence[Path],
    exclude: Sequence[str] = (),
    root: Path | None = None,
    *,
    named_too: bool = False,
    notebooks: bool = False,
    suffixes: tuple[str, ...] = (".py",),
    unread: UnreadPaths | None = None,
) -> list[Path]:
    """The Python files under `paths`, sorted, each once.

    A folder is walked for `*.py`, leaving out hidden folders, those in `SKIPPED`, environments, macOS's `._run.py`,
    what is to be made of a template (`{{ name }}/run.py`), what a .gitignore leaves out, and what matches `exclude`
    (patterns as in a .gitignore, relative to `root`, the configuration's folder, or to the folder that is walked). A
    file that is named is always taken, unless `exclude` shall hold for `named_too`.

    With `notebooks`, those are found too; with other `suffixes`, files whose names end so. What cannot be looked at is
    passed over, and noted in `unread`.
    """
    excluded = _patterns(exclude) if exclude else None  # importing pathspec takes a tenth of a run without changes
    found: dict[str, Path] = {}
    for path in paths:
        endings = (*suffixes, SUFFIX) if notebooks else suffixes
        walk = _Walk(path, excluded, root or Path.cwd(), endings, {} if unread is None else unread)
        files = walk.files() if path.is_dir() else (path,)
        for file in files:
            shown = os.path.relpath(file, root or Path.cwd()).replace(os.sep, "/")
            if named_too and excluded is not None and excluded.match_file(shown):
                continue
            real = os.path.realpath(file)
            if real not in found or os.path.islink(found[real]):  # its own name, rather than that of a link to it
                found[real] = file
    return sorted(found.values())


def read_failure(error: OSError) -> str:
    """Why something cannot be read, in words."""
    return f"cannot be read: {error.strerror or error}"


def shown_path(file: Path) -> str:
    """The path as reports show it: relative to the working directory where it lies inside, else absolute."""
    absolute = Path(os.path.normpath(file.absolute()))
    return absolute.relative_to(Path.cwd()).as_posix() if absolute.is_relative_to(Path.cwd()) else absolute.as_posix()


def _patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  # --help, --version and `explain` read no files

    return GitIgnoreSpec.from_lines(lines)


class _IgnorePatterns(NamedTuple):
    """The patterns of one .gitignore and the folder that they are relative to."""

    base: str
    patterns: GitIgnoreSpec


class _Walk:
    """One walk of one folder."""

    def __init__(
        self, top: Path, excluded: GitIgnoreSpec | None, root: Path, suffixes: tuple[str, ...], unread: UnreadPaths
    ) -> None:
        self.top = top
        self.suffixes = suffixes
        self.unread = unread
        self.root = root
        self.excluded = excluded
        self.absolute = os.path.abspath(top)  # without following symbolic links
        self.seen: set[str] = set()

    def files(self) -> Iterator[Path]:
        """Every file that is to be read."""
        above = _gitignores_above(Path(self.absolute))
        if _is_ignored(above, self.absolute, folder=True):
            above = []  # the user named an ignored folder, so the rules around it do not count
        yield from self._walk(self.top, self.absolute, above)

    def _walk(self, folder: Path, absolute: str, ignored: list[_IgnorePatterns]) -> Iterator[Path]:
        real = os.path.realpath(absolute)
        if real in self.seen:  # a symbolic link that leads back
            return
        self.seen.add(real)
        ignored = [*ignored, *_gitignore(absolute)]
        try:
            entries = sorted(os.scandir(absolute), key=lambda entry: entry.name)
        except OSError as error:  # a folder that may not be read, or that went away
            self._note(absolute, error)
            return
        for entry in entries:
            try:
                is_folder = entry.is_dir()
                is_file = not is_folder and entry.is_file()
            except OSError as error:  # a symbolic link that leads to itself
                if entry.name.endswith(self.suffixes):
                    self._note(entry.path, error)
                continue
            if is_folder and (entry.name in SKIPPED or entry.name.startswith(".") or _is_environment(entry.path)):
                continue
            if _TEMPLATE in entry.name:
                continue
            if not is_folder and not (entry.name.endswith(self.suffixes) and is_file):
                continue
            if entry.name.startswith("._") and _is_of_macos(entry.path):
                continue
            if _is_ignored(ignored, entry.path, folder=is_folder) or self._is_excluded(entry.path, folder=is_folder):
                continue
            if is_folder:
                yield from self._walk(folder / entry.name, entry.path, ignored)
            else:
                yield folder / entry.name

    def _note(self, path: str, error: OSError) -> None:
        self.unread[shown_path(Path(path))] = read_failure(error)

    def _is_excluded(self, path: str, *, folder: bool) -> bool:
        if self.excluded is None:
            return False
        end = "/" if folder else ""
        names = (os.path.relpath(path, self.absolute), os.path.relpath(path, self.root))
        return any(self.excluded.match_file(name.replace(os.sep, "/") + end) for name in names)


def _is_of_macos(file: str) -> bool:
    """Whether a file `._name.py` is what macOS puts beside `name.py` on foreign disks and in archives: no source."""
    try:
        with open(file, "rb") as stream:
            return stream.read(len(_APPLE_DOUBLE)) == _APPLE_DOUBLE
    except OSError:
        return False


def _is_environment(folder: str) -> bool:
    """Whether a folder is a virtual environment, or one of conda's, whatever it is called."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _ENVIRONMENTS)


def _gitignore(folder: str) -> list[_IgnorePatterns]:
    try:
        lines = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [_IgnorePatterns(folder, _patterns(lines))]


def _gitignores_above(folder: Path) -> list[_IgnorePatterns]:
    """The .gitignore files between a repository's root and `folder`, outermost first; none outside of one."""
    found: list[_IgnorePatterns] = []
    for parent in folder.parents:
        if (parent / "..").resolve() == parent.resolve():
            break
        found[:0] = _gitignore(str(parent))
        if (parent / ".git").exists():
            return found
        if (folder / ".git").exists():
            return []
    return []


def _is_ignored(rules: Sequence[_IgnorePatterns], path: str, *, folder: bool) -> bool:
    """The innermost .gitignore that has a word to say decides."""
    for rule in reversed(rules):
        name = os.path.relpath(path, rule.base).replace(os.sep, "/") + ("/" if folder else "")
        verdict = rule.patterns.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def module_name(path: Path) -> ModuleName:
    """The import root and the dotted name of a file.

    Packages are climbed as long as there is an `__init__.py`. Above that, a folder still belongs to the name where it
    lies directly under `site-packages` or a project's `src`, or where the code says so: by a relative import, or by
    importing one of its neighbours under that name. In any other case the file's own folder is the root.
    """
    path = Path(os.path.abspath(path))
    folder = path.parent
    parts = [] if path.name == "__init__.py" else [path.stem]
    while (folder / "__init__.py").is_file() and folder.name.isidentifier() and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    if not parts:  # an `__init__.py` in a folder whose name cannot be imported
        return ModuleName(folder, path.stem)
    above = _namespace(folder, str(path.parent), len(path.parent.parts) - len(folder.parts))
    return ModuleName(folder.parents[len(above) - 1] if above else folder, ".".join([*above, *parts]))


def _namespace(folder: Path, home: str, depth: int) -> tuple[str, ...]:
    """The folders without `__init__.py` at the end of `folder` that are part of the name (PEP 420)."""
    names: list[str] = []
    for parent in (folder, *folder.parents):
        if parent.name in _INSTALLED or (parent.name == "src" and _is_project(parent.parent)):
            return tuple(names)
        if _is_project(parent):
            return tuple(names) if names and _imports_as(home, names[0]) else _relative(folder, home, depth)
        if not parent.name.isidentifier():
            break
        names.insert(0, parent.name)
    return _relative(folder, home, depth)


def _relative(folder: Path, home: str, depth: int) -> tuple[str, ...]:
    """As many folders as the relative imports of the modules in `home`, `depth` packages deep, reach further up."""
    missing = _Imports.of(home).level - depth
    names = [parent.name for parent in (folder, *folder.parents)[: max(missing, 0)]]
    return tuple(reversed(names)) if all(name.isidentifier() for name in names) else ()


def project_root(folder: Path) -> Path | None:
    """The nearest folder, from `folder` upwards, that has the files of a project; None inside of an installation."""
    for parent in (folder, *folder.parents):
        if parent.name in _INSTALLED:
            return None
        if _is_project(parent) or any((parent / name).is_file() for name in _TEST_FILES):
            return parent
    return None


@lru_cache(maxsize=4096)
def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in _PROJECT_FILES)


def _imports_as(home: str, top: str) -> bool:
    return top in _Imports.of(home).tops


class _Imports(NamedTuple):
    """What the modules directly in one folder import: the first names, and the most dots of a relative import."""

    tops: frozenset[str]
    level: int

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(folder: str) -> _Imports:
        tops: set[str] = set()
        level = 0
        for file in sorted(Path(folder).glob("*.py"))[:_LOOKED_AT]:
            try:
                text = file.read_bytes()
            except OSError:
                continue
            for dots, name in _IMPORT.findall(text):
                level = max(level, len(dots))
                if not dots:
                    tops.add(name.decode("ascii", "replace"))
        return _Imports(frozenset(tops), level)


_LOOKED_AT = 64  # files of a folder: one tells as much as a thousand
_IMPORT = re.compile(rb"^[ \t]*+(?:from|import)[ \t]++(\.*+)[ \t]*+(\w*+)", re.MULTILINE)
