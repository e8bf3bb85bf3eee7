"""Imports of the user's modules, with probes put in on the way; the source stays as it is."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, cast

from shapecheck.evaluate.framework_protocol import module_names
from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.probes.ast_probes import instrument
from shapecheck.evaluate.probes.constructor_arguments import PassingConstructions
from shapecheck.evaluate.probes.probed_loader import ProbedLoader
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.runtime import watched_names
from shapecheck.runtime.call_checks import CallChecker
from shapecheck.runtime.cell_source import Cell, with_handle
from shapecheck.runtime.judge_client import JudgeClient
from shapecheck.runtime.lazy_probe import LazyProbe, ValueHandle
from shapecheck.worker.messages.judge_messages import ObservationPlan
from shapecheck.worker.messages.plans import ModulePlan, as_shown

Watch = Callable[[str, int, object], object]
Return = Callable[[int, object], object]

_PYTEST = "_pytest.assertion.rewrite"
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_STANDARD = os.path.join(os.path.realpath(os.path.dirname(os.__file__)), "")
_OURS = os.path.join(os.path.realpath(os.path.dirname(os.path.dirname(__file__))), "")


class ProbeInserter:
    """Puts probes into the user's files: those under `root`, if there is one, and in the packages `include`."""

    def __init__(self, root: str, include: Sequence[str], client: JudgeClient, checking: CallChecker) -> None:
        self._client, self._checking = client, checking
        self.recorder = Recorder({}, listener=checking)
        self.recorder.constructions = PassingConstructions()
        self._plans: dict[str, list[tuple[bytes, ModulePlan | None]]] = {}  # of each text that a file had
        self._plans_of_cells: dict[str, ModulePlan | None] = {}
        self._cells: dict[str, str] = {}  # their names, by what Python calls their code
        self._single_returns: dict[str, dict[int, int]] = {}  # by file
        self.operands: dict[str, watched_names.Operands] = {}  # by path
        self.look_for(root, include)

    def look_for(
        self,
        root: str,
        include: Sequence[str],
        globs: Sequence[str] = (),
        watch: Watch | None = None,
        returned: Return | None = None,
    ) -> None:
        """From now on, these files are the user's.

        Variables that match `globs` are given to `watch`, and to `returned` what functions return, with the line.
        """
        self._root, self._include = os.path.realpath(root) if root else "", tuple(include)
        self._globs, self._watch, self._returned = tuple(globs), watch, returned
        self._own: dict[tuple[str, str], bool] = {}

    def is_own(self, file: str, module: str = "") -> bool:
        """Whether a file is the user's own, or was asked for."""
        key = file, module
        if key not in self._own:
            self._own[key] = self._is_own(file, module)
        return self._own[key]

    def _is_own(self, file: str, module: str) -> bool:
        if file in self._cells:
            return True
        if any(module == name or module.startswith(f"{name}.") for name in self._include):
            return True
        real = os.path.realpath(file)
        if not self._root or not real.startswith(os.path.join(self._root, "")) or not os.path.isfile(real):
            return False
        if real.startswith((_STANDARD, _OURS)):
            return False
        folders = os.path.relpath(os.path.dirname(real), self._root).split(os.sep)
        return not any(part in _INSTALLED or (part.startswith(".") and part != ".") for part in folders)

    def tree(self, source: bytes, file: str, names: dict[str, object]) -> ast.Module | None:
        """The probed syntax tree of a file, for a module with these names; None if there is nothing to look at.

        A file that has changed since it was loaded has a handle of its own, for the functions of before keep theirs.
        """
        plan, version = self._plan(file, source)
        handle = f"__shapecheck_version_{version}__" if version else HANDLE
        names[handle] = LazyProbe(self.recorder, *((plan.path, plan.scopes, plan.sites) if plan else (file, (), ())))
        if plan is None and self._watch is None and self._returned is None:
            return None
        tree = self._tree_with_probes(source, file, plan, names)
        return with_handle(tree, handle) if version else tree

    def _tree_with_probes(
        self, source: bytes, file: str, plan: ModulePlan | None, names: dict[str, object]
    ) -> ast.Module:
        # What the program prints, it prints; what it calls, and asks for items, is its own and no copy.
        others = ("shown", "called", "yielded")
        sites = [site for site in plan.sites if site.kind not in others] if plan is not None else []
        if plan is not None:
            self.operands[plan.path] = watched_names.operands(source, sites)
        tree = instrument(source, file, plan.scopes if plan else (), sites, leaving=True)
        if self._watch is not None:
            names[watched_names.HANDLE] = ValueHandle(self._watch)
            tree = watched_names.wrap_assignments(tree, self._globs)
        if self._returned is not None:
            names[watched_names.RETURNED] = ValueHandle(self._returned)
            self._single_returns[file] = watched_names.single_returns(source)
            tree = watched_names.wrap_returns(tree)
        return tree

    def cell(self, cell: Cell, names: dict[str, object]) -> ast.Module | None:
        """The same of a notebook's cell, which is the user's own."""
        if cell.file:
            self._cells[cell.file] = as_shown(cell.name)
            self._own.pop((cell.file, ""), None)
            self.recorder.paths[cell.file] = as_shown(cell.name)
        if cell.name not in self._plans_of_cells:
            found = self._client.read_cell(cell.name, cell.text, cell.before)
            self._plans_of_cells[cell.name] = self._note_prompt(found)
        plan = self._plans_of_cells[cell.name]
        if plan is None and self._watch is None and self._returned is None:
            return None
        scopes, sites = (plan.scopes, plan.sites) if plan is not None else ((), ())
        names[cell.handle] = LazyProbe(self.recorder, cell.name, scopes, sites, cell.mentioned)
        tree = self._tree_with_probes(cell.text.encode(), cell.file, plan, names)
        return cell.fit_tree(tree)

    def shown_path(self, file: str) -> str:
        """A file of the user's in messages; of a notebook's cell its name."""
        return self._cells.get(file) or os.path.relpath(file)

    def single_return(self, path: str, line: int) -> int:
        """The line of the only `return` of a function of the file shown as `path`, whose first `line` this is; or 0."""
        files = (file for file, lines in self._single_returns.items() if line in lines)
        return next((self._single_returns[file][line] for file in files if self.shown_path(file) == path), 0)

    def shares_variables(self, file: str, function: str) -> bool:
        """Whether the variables of a frame are those of a whole notebook."""
        return file in self._cells and function == "<module>"

    def modules(self) -> Iterator[tuple[ModuleType, str]]:
        """The user's own modules that are loaded, with their files."""
        for name, module in list(sys.modules.items()):
            # What a test puts in the place of a module may raise whatever is asked of it.
            file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
            if not isinstance(module, ModuleType) or not isinstance(file, str):
                continue
            if file.endswith(".py") and self.is_own(file, name):
                yield module, file

    def latest(self, file: str) -> bytes:
        """The text of a file that was read last."""
        versions = self._plans.get(os.path.realpath(file))
        return versions[-1][0] if versions else b""

    def _plan(self, file: str, source: bytes) -> tuple[ModulePlan | None, int]:
        """What there is to observe in a file, and how often it had changed before."""
        real = os.path.realpath(file)
        versions = self._plans.setdefault(real, [])
        for version, (text, plan) in enumerate(versions):
            if text == source:
                return plan, version
        plan = self._note_prompt(self._client.read_file(real, source, len(versions)))
        versions.append((source, plan))
        if plan is not None:
            self.recorder.paths[file] = self.recorder.paths[real] = as_shown(plan.path)
        return plan, len(versions) - 1

    def _note_prompt(self, found: ObservationPlan) -> ModulePlan | None:
        if found.plan is not None:
            self._checking.prompt[found.plan.path] = frozenset(found.prompt)
        return found.plan


@dataclass(frozen=True)
class OwnFile:
    """One of the user's files, as the program imports it."""

    probing: ProbeInserter
    file: str
    unsaved_text: bytes = b""

    def tree(self, source: bytes, names: dict[str, object]) -> ast.Module | None:
        """The probed syntax tree."""
        return self.probing.tree(source, self.file, names)

    def recall(self, source: bytes, names: dict[str, object]) -> CodeType | None:
        """None: a program imports each file once."""
        return None

    def keep(self, source: bytes, code: CodeType) -> None:
        """Nothing is kept."""

    def execute(self, module: ModuleType, run: Callable[[ModuleType], None]) -> None:
        """Run the module."""
        __tracebackhide__ = True
        run(module)


class Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find, and puts probes into what they found."""

    def __init__(self, probing: ProbeInserter, loaded: Callable[[str], None], others: Container[str] = ()) -> None:
        """Frameworks and `others` are announced to `loaded`."""
        self.probing, self._loaded, self._others = probing, loaded, others

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that is found without us, with another loader if it is that of one of the user's files."""
        for finder in list(sys.meta_path):
            find = None if isinstance(finder, Finder) else getattr(finder, "find_spec", None)  # one of ours is enough
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                return self._spec_with_probes(spec, fullname)
        return None

    def invalidate_caches(self) -> None:
        """There are none."""

    def _spec_with_probes(self, spec: importlib.machinery.ModuleSpec, fullname: str) -> importlib.machinery.ModuleSpec:
        loader, file = spec.loader, spec.origin
        if isinstance(loader, importlib.machinery.SourceFileLoader) and file is not None:
            if fullname == "jax" or fullname in module_names() or fullname in self._others:
                spec.loader = _AnnouncingLoader(fullname, file, self._loaded)
            elif self.probing.is_own(file, fullname):
                spec.loader = ProbedLoader(fullname, file, OwnFile(self.probing, file), loader)
        elif type(loader).__module__ == _PYTEST and file is not None and self.probing.is_own(file, fullname):
            from shapecheck.runtime.pytest_loader import RewritingLoader  # noqa: PLC0415 - pytest is there

            spec.loader = RewritingLoader(cast("Any", loader), file, self.probing.tree)
        return spec


class _AnnouncingLoader(importlib.machinery.SourceFileLoader):
    """Says when a module has been loaded."""

    def __init__(self, fullname: str, path: str, loaded: Callable[[str], None]) -> None:
        super().__init__(fullname, path)
        self._loaded = loaded

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and say so."""
        super().exec_module(module)
        self._loaded(module.__name__)


class FirstFinder(list[Any]):
    """A `sys.meta_path` whose first finder stays the first: later import hooks are asked by it, and not before it."""

    def insert(self, index: Any, finder: object) -> None:
        """Put a finder in, behind the first."""
        first = bool(self) and isinstance(self[0], Finder) and not isinstance(finder, Finder)
        super().insert(max(int(index), 1) if first and index >= 0 else index, finder)


def install(finder: Finder) -> None:
    """Let `finder` find all modules from now on. The list itself is a monkeypatch: it keeps the finder the first."""
    if isinstance(sys.meta_path, FirstFinder):
        sys.meta_path.insert(0, finder)
    else:
        sys.meta_path = FirstFinder([finder, *sys.meta_path])


def finders() -> list[Finder]:
    """Those that find modules now, the latest first."""
    return [each for each in sys.meta_path if isinstance(each, Finder)]


def uninstall(finder: Finder) -> None:
    """Find modules as before."""
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
