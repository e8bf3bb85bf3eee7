"""The snippets of a project as entries: those that may call functions with claims, and what each of them shows."""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from shapecheck.evaluate.inputs.project import entries
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.tolerate_concrete import Steps
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.evaluate.suites.run_snippet import MODULE_SCOPE, SnippetRunner
from shapecheck.model import SNIPPET, Evaluation, FunctionKey, Snippet
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan

_IN_MODULES = ("docstring", "main")  # kinds that run with the variables of a module


class SnippetEntries:
    """Lists and evaluates snippets."""

    def __init__(
        self,
        snippets: Sequence[Snippet],
        importer: PlanImporter,
        generaliser: Generaliser,
        steps: Steps,
        limit: float,
    ) -> None:
        self._snippets = {each.key: each for each in snippets}
        self._importer, self._generaliser = importer, generaliser
        implied = implied_names(snippets, {plan.name.partition(".")[0] for plan in importer.plans.values()})
        self._runner = SnippetRunner(importer, generaliser, steps, limit, implied)

    def entries(self, plans: Mapping[str, ModulePlan]) -> list[EntryPlan]:
        """Those that may call a function with claims: the shortest ways to one first."""
        if not self._snippets:
            return []
        reach = NameReach(plans, self._importer.loaded)
        found: list[EntryPlan] = []
        for key, snippet in self._snippets.items():
            in_module = snippet.kind in _IN_MODULES
            if in_module and os.path.realpath(snippet.file) not in self._importer.loaded:
                continue
            reaches = reach.reaches(snippet)
            own = plans.get(snippet.path)
            if snippet.kind == "main" and own is not None and MODULE_SCOPE in own.claimed:
                reaches = tuple(sorted({*reaches, (snippet.path, MODULE_SCOPE)}))
            if reaches:
                found.append(
                    EntryPlan(
                        key=key,
                        target=f"{snippet.path}:{snippet.line}",
                        origin=SNIPPET,
                        path=snippet.path,
                        line=snippet.line,
                        scope=None,
                        reaches=reaches,
                        files=reach.files(snippet),
                    )
                )
        return found

    def evaluate(self, entry: EntryPlan) -> tuple[Evaluation, ...]:
        """Run one, then what it called with free sizes."""
        self._importer.activate(self._root_of(entry))
        self._generaliser.renew()
        self._generaliser.begin()
        try:
            ran = self._runner.run(entry, self._snippets[entry.key])
        finally:
            self._generaliser.end()
        return (ran, *(again for _, runs in self._generaliser.evaluate() for again in runs))

    def _root_of(self, entry: EntryPlan) -> str:
        """The import root of what it calls."""
        roots = {plan.path: plan.root for plan in self._importer.plans.values()}
        return roots.get(entry.path) or next(roots[path] for path, _ in entry.reaches)


_DEPTH = 2  # calls between a snippet and what it is to reach: names lead everywhere in the end


@dataclass(frozen=True)
class _Function:
    """A function, the names in its code, and the scopes with claims in it and inside of it."""

    names: frozenset[str]
    claimed: tuple[FunctionKey, ...]


class NameReach:
    """What names lead to in the modules that were imported."""

    def __init__(self, plans: Mapping[str, ModulePlan], loaded: Mapping[str, ModuleType]) -> None:
        self._loaded = loaded
        self._by_name: dict[str, list[_Function]] = {}
        for plan in plans.values():
            module = loaded.get(plan.file)
            if module is not None:
                self._add(plan, module)

    def _add(self, plan: ModulePlan, module: ModuleType) -> None:
        claimed: dict[int, list[FunctionKey]] = {}
        for index in plan.claimed:
            outermost = entries.outermost_function(plan.scopes, index)
            claimed.setdefault(index if outermost is None else outermost, []).append((plan.path, index))
        for scope in plan.scopes:
            is_class = scope.kind == "class" and scope.index in claimed
            if not is_class and entries.outermost_function(plan.scopes, scope.index) != scope.index:
                continue
            code = None if is_class else entries.code_of(entries.resolve(module, plan.scopes, scope))
            names = frozenset(entries.code_names(code)) if code is not None else frozenset[str]()
            found = _Function(names, tuple(claimed.get(scope.index, ())))
            *_, name = ["", *scope.qualname.split(".")]
            self._by_name.setdefault(name, []).append(found)
            if scope.parent is not None and plan.scopes[scope.parent].kind == "class" and _is_implied(name):
                owner = entries.resolve(module, plan.scopes, plan.scopes[scope.parent])
                for each in {plan.scopes[scope.parent].qualname.rpartition(".")[2], *_subclass_names(owner)}:
                    self._by_name.setdefault(each, []).append(found)

    def reaches(self, snippet: Snippet) -> tuple[FunctionKey, ...]:
        """The functions with claims that it may call, those of its own file where it is a script."""
        names = set(_names_in(snippet))
        known: set[str] = set()
        found: set[FunctionKey] = set()
        for _ in range(_DEPTH):
            new, names = names - known, set()
            known |= new
            for function in (function for name in new for function in self._by_name.get(name, ())):
                found.update(function.claimed)
                names |= function.names
        return tuple(sorted(found))

    def files(self, snippet: Snippet) -> tuple[str, ...]:
        """The files of the project that it takes names from, as far as they were imported."""
        found: set[str] = set()
        for name in _names_of_imports(snippet):
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and os.path.realpath(file) in self._loaded:
                found.add(os.path.realpath(file))
        return tuple(sorted(found))


def implied_names(snippets: Iterable[Snippet], tops: Collection[str]) -> dict[str, str]:
    """What the modules of the packages `tops` go by in snippets that import them, and JAX's: names to dotted names."""
    found = {top: top for top in tops}
    for snippet in snippets:
        for node in _nodes(snippet):
            for alias in node.names if isinstance(node, ast.Import) else ():
                if alias.asname is not None and alias.name.partition(".")[0] in tops:
                    found.setdefault(alias.asname, alias.name)
    return {**found, "jax": "jax", "jnp": "jax.numpy", "np": "numpy"}


def _is_implied(name: str) -> bool:
    """Whether a method runs where only its class is named."""
    return name in ("setup", "forward") or (name.startswith("__") and name.endswith("__"))


def _subclass_names(owner: object) -> Iterator[str]:
    if isinstance(owner, type):
        try:
            inheriting: Sequence[type] = type.__subclasses__(owner)
        except TypeError:
            return
        for each in inheriting:
            yield each.__name__
            yield from _subclass_names(each)


def _names_in(snippet: Snippet) -> Iterator[str]:
    for node in _nodes(snippet):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]


def _names_of_imports(snippet: Snippet) -> Iterator[str]:
    for node in _nodes(snippet):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _nodes(snippet: Snippet) -> Iterable[ast.AST]:
    for block in snippet.blocks:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):  # Python of a newer version
            yield from ast.walk(parse_python(block.text))
