"""Modules that lie beside the file which imports them and not on `sys.path`: `from gpt import GPT` in a package.

Run as a script, a file finds what lies in its own folder, although an `__init__.py` there makes it a module of a
package. A folder that is found so is looked into for the files in it alone: what another folder's files import under
the same name is another module. Where a `try` is around the import, its author provides for a package that is absent.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FrameType, ModuleType

from shapecheck.evaluate.parse_python import parse_python
from shapecheck.worker.messages.plans import ModulePlan

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class SiblingModules:
    """Finds such modules for the user's `plans` (by file), and for what `is_own` says stands beside them."""

    def __init__(self, plans: Callable[[], Mapping[str, ModulePlan]], is_own: Callable[[str], bool]) -> None:
        self._plans, self._is_own = plans, is_own
        self._folders: dict[str, str] = {}  # of the first parts of names that were found, where they were
        self._dotted: dict[str, str] = {}  # and their whole names, where packages are around them
        self._aside: dict[str, dict[str, ModuleType]] = {}  # by the folder: modules that gave way to those of another

    def find(self, name: str) -> importlib.machinery.ModuleSpec | None:
        """What the file that imports a module at this moment has beside it, or in a folder around, up to its root."""
        importing, line = self._importing_line()
        if not importing or line in _guarded_lines(importing):
            return None
        plan = self._plans().get(importing)
        folder, parts = os.path.dirname(importing), (plan.name.split(".") if plan is not None else [])
        package = parts if os.path.basename(importing) == "__init__.py" else parts[:-1]
        while True:
            spec = importlib.machinery.PathFinder.find_spec(name, [folder])
            if spec is not None and not _means_another(spec, name, importing):
                self._folders[name] = folder
                if package:
                    self._dotted[name] = ".".join([*package, name])
                return self.known_as(name, spec)
            if not package:
                return None
            folder, package = os.path.dirname(folder), package[:-1]

    def known_as(self, name: str, spec: importlib.machinery.ModuleSpec | None) -> importlib.machinery.ModuleSpec | None:
        """The same module by the name that it has in its package, if it was found by a shorter one."""
        top, dot, rest = name.partition(".")
        if spec is None or top not in self._dotted:
            return spec
        whole = f"{self._dotted[top]}{dot}{rest}"
        return importlib.machinery.ModuleSpec(name, _OtherName(whole), origin=spec.origin)

    def serve(self, file: str) -> None:
        """Before the import of a file: have what lies beside files elsewhere give way."""
        for name, folder in list(self._folders.items()):
            if not file.startswith(folder + os.sep):
                del self._folders[name]
                self._dotted.pop(name, None)
                modules = [each for each in sys.modules if each == name or each.startswith(f"{name}.")]
                self._aside.setdefault(folder, {}).update({each: sys.modules.pop(each) for each in modules})
        for folder in [each for each in self._aside if file.startswith(each + os.sep)]:
            for name, module in self._aside.pop(folder).items():
                sys.modules.setdefault(name, module)
                if "." not in name:
                    self._folders[name] = folder
                if "." not in name and module.__name__ != name:
                    self._dotted[name] = module.__name__

    def _importing_line(self) -> tuple[str, int]:
        """The file (resolved) and the line whose code asks for a module, if it is one of the user's; else "" and 0."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            file = frame.f_code.co_filename
            is_ours = file.startswith((_PACKAGE + os.sep, "<frozen ", importlib.__file__ or "<"))
            if not is_ours:
                file = os.path.realpath(file)
                return (file, frame.f_lineno) if self._is_own(file) else ("", 0)
            frame = frame.f_back
        return "", 0


class _OtherName(importlib.abc.Loader):
    """Gives the module of one name under another, instead of running its file twice."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module itself."""
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been run: only what Python has written over is put back."""
        module.__spec__ = self._spec


def _guarded_lines(file: str) -> frozenset[int]:
    """The lines in the bodies of a file's `try` statements that catch something."""
    try:
        with open(file, "rb") as source:
            return _guarded_lines_of(source.read())
    except (OSError, SyntaxError, ValueError):
        return frozenset()


@lru_cache(maxsize=8)
def _guarded_lines_of(text: bytes) -> frozenset[int]:
    """The same of a text: a file may ask for a hundred modules that are not there, one after the other."""
    tree = parse_python(text)
    guards = (node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers)
    return frozenset(
        line for node in guards for each in node.body for line in range(each.lineno, (each.end_lineno or 0) + 1)
    )


def _means_another(spec: importlib.machinery.ModuleSpec, name: str, importing: str) -> bool:
    """Whether what lies there cannot be meant: it is what imports, or is around it, or imports that name itself.

    A package's part for `torch` may well be called `torch.py`, or be a folder, and imports the other one.
    """
    folders = list(spec.submodule_search_locations or ())
    if any(importing.startswith(os.path.realpath(each) + os.sep) for each in folders):
        return True
    files = [spec.origin] if spec.origin is not None and spec.origin.endswith(".py") else []
    files += [os.path.join(each, inner) for each in folders for inner in os.listdir(each) if inner.endswith(".py")]
    if not (files or folders):
        return True
    return any(each == importing or _imports(each, name) for each in map(os.path.realpath, files))


def _imports(file: str, name: str) -> bool:
    try:
        with open(file, "rb") as source:
            return re.search(rb"(?m)^\s*(?:import|from)\s+%s\b" % name.encode(), source.read()) is not None
    except OSError:
        return True
