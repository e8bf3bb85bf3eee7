"""Aliases of types that stand in other files of the project: followed from import to import, by reading alone.

User code is never imported here. What comes from an installed package is not followed: it is none of the project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shapecheck.claims.annotation_names import Alias, Names, read_names
from shapecheck.syntax.scopes import survey
from shapecheck.syntax.source_text import read_source

_FARTHEST = 50  # imports on the way to an alias

_DEFINITION = re.compile(rb"^[ \t]*(?:class|(?:async[ \t]+)?def)[ \t]+([^\W\d]\w*)\b", re.MULTILINE)
_DERIVED = re.compile(rb"^[ \t]*class[ \t]+([^\W\d]\w*)\(([^)\n]*)\)", re.MULTILINE)
_NAME = re.compile(rb"[^\W\d]\w*")

ReadFile = Callable[[str], bytes | None]


@dataclass
class Project:
    """The files that may be followed.

    `read` gives the bytes of a file, `roots` the folders where imports start for the files of a folder.
    """

    read: ReadFile
    roots: Callable[[str], Sequence[str]]
    _known: dict[str, _File | None] = field(default_factory=dict)

    def beside(self, file: str) -> Neighbours:
        """What the imports of a file lead to."""
        return Neighbours(self, file)

    def file(self, path: str) -> _File | None:
        """A file that is read at most once."""
        if path not in self._known:
            data = self.read(path)
            self._known[path] = None if data is None else _File(path, data)
        return self._known[path]


@dataclass
class Neighbours:
    """The aliases that one file imports.

    `used` collects the files that were looked at on the way, `asked` all that were looked for, and `roots` the folders
    where imports of a folder's files start: while these are the same, so is the answer.
    """

    project: Project
    path: str
    used: set[str] = field(default_factory=set)
    requested: set[str] = field(default_factory=set)
    roots: dict[str, Sequence[str]] = field(default_factory=dict)
    _resolved: dict[tuple[str, ...], Alias | None] = field(default_factory=dict)
    # What each file was asked for on behalf of one name. Packages that import all of their modules by `*`, which import
    # the package, would ask each other in ever new orders.
    _asked: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)

    def __call__(self, module: str, parts: Sequence[str]) -> Alias | None:
        """What `parts` of a module stand for, such as `Act`, or `types_.Act` of a package."""
        key = (module, *parts)
        if key not in self._resolved:  # an annotation's name stands in a file many times
            self._asked.clear()
            self._resolved[key] = self._find(self.path, module, parts, 0)
        return self._resolved[key]

    def _find(self, path: str, module: str, parts: Sequence[str], depth: int) -> Alias | None:
        if depth > _FARTHEST or not parts:
            return None
        target = self._module(path, module)
        if target is not None and target.may_bind(parts[0]):
            self.used.add(target.path)
            found = self._in_file(target, parts, depth)
            if found is not None or target.defines(parts[0]):
                return found
        joined = module + parts[0] if module.endswith(".") else f"{module}.{parts[0]}"
        return self._find(path, joined, parts[1:], depth + 1)

    def _in_file(self, file: _File, parts: Sequence[str], depth: int) -> Alias | None:
        question = (file.path, tuple(parts))
        if question in self._asked:
            return None
        self._asked.add(question)
        names = file.names
        first, rest = parts[0], parts[1:]
        if not rest and (own := names.own_alias(first)) is not None:
            there = replace(
                own.names, follow=Neighbours(self.project, file.path, self.used, self.requested, self.roots)
            )
            return replace(own, names=there, origin=os.path.basename(file.path))
        if first in names.imported:
            module, name = names.imported[first]
            return self._find(file.path, module, (*([name] if name else []), *rest), depth + 1)
        for module in sorted(names.starred):
            found = self._find(file.path, module, parts, depth + 1)
            if found is not None:
                return found
        return None

    def _module(self, path: str, module: str) -> _File | None:
        """The file of a module, as the file at `path` would import it."""
        name = module.lstrip(".")
        level = len(module) - len(name)
        home = os.path.dirname(path)
        if not level:
            self.roots[home] = self.project.roots(home)
        for folder in [home] if level else self.roots[home]:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)  # noqa: PLW2901
            base = os.path.join(folder, *name.split(".")) if name else folder
            for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
                self.requested.add(candidate)
                found = self.project.file(candidate) if candidate != path else None
                if found is not None:
                    return found
        return None


@dataclass
class _File:
    path: str
    data: bytes

    def may_bind(self, name: str) -> bool:
        """Whether a name can stand for an alias there: most names that annotations import are those of classes."""
        if name.encode() in self.data:
            return not self.defines(name)
        return b"import *" in self.data

    def defines(self, name: str) -> bool:
        """Whether the name is that of a function, or of a class that stands for no type which an alias could be."""
        return name.encode() in self._defined_names

    @cached_property
    def _defined_names(self) -> frozenset[bytes]:
        types: set[bytes] = set()
        dicts = {b"TypedDict"}
        for name, written in _DERIVED.findall(self.data):
            bases = set(_NAME.findall(written))
            if bases & dicts:
                dicts.add(name)
            if bases & {b"Protocol", *dicts}:
                types.add(name)
        return frozenset(_DEFINITION.findall(self.data)) - types

    @cached_property
    def names(self) -> Names:
        """What its module-level names mean; nothing if Python cannot parse it."""
        tree = read_source(self.path, self.data, newer=True).tree
        return Names() if tree is None else read_names(survey(tree).statements, frozenset())
