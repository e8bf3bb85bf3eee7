"""Which modules imports lead to, and in which order they run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from shapecheck.incremental.module_summary import ModuleStep, ModuleSummary
from shapecheck.incremental.name_references import Chain, Import
from shapecheck.incremental.side_effects import pure_packages

_ImportInProgress = tuple[
    str, Iterator[ModuleStep], Iterator[str]
]  # a file, the steps that are left, and what the last one imports


class ImportedModules:
    """Finds the files that imports lead to. `named` are the dotted names that each can be imported by."""

    def __init__(self, named: Mapping[str, Sequence[Chain]]) -> None:
        self._files = frozenset(named)
        self._names: dict[Chain, list[str]] = {}
        for file, names in named.items():
            for name in names:
                self._names.setdefault(name, []).append(file)
        self.tops = frozenset(name[0] for name in self._names)

    def find(self, file: str, level: int, parts: Chain) -> list[tuple[str, Chain]]:
        """The modules that the beginning of a dotted name stands for, as much of it as does, and the rest of it."""
        for count in range(len(parts), -1 if level else 0, -1):
            found = self._above(file, level, parts[:count]) if level else self._names.get(parts[:count], [])
            if found:
                inner = [(module, parts[count:]) for module in found]
                # A package may have something else under the name of its module.
                outer = self.find(file, level, parts[: count - 1]) if count > (0 if level else 1) else []
                return [*inner, *((module, parts[count - 1 :]) for module, rest in outer if not rest)]
        return []

    def loaded_by(self, file: str, target: Import) -> Iterator[str]:
        """The modules that an import runs, packages before what is in them."""
        parts = (*target.module, *([target.name] if target.name not in ("", "*") else []))
        for count in range(0 if target.level else 1, len(parts) + 1):
            yield from (
                self._above(file, target.level, parts[:count]) if target.level else self._names.get(parts[:count], [])
            )

    def _above(self, file: str, level: int, parts: Chain) -> list[str]:
        folder = os.path.dirname(file)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        base = os.path.join(folder, *parts)
        return [name for name in (f"{base}.py", os.path.join(base, "__init__.py")) if name in self._files]


def steps_in_order(
    surfaces: Mapping[str, ModuleSummary], modules: ImportedModules, roots: Sequence[str]
) -> Iterator[tuple[str, ModuleStep]]:
    """All steps in the order in which they run, if the roots are imported one after the other."""
    done: set[str] = set()
    for root in roots:
        if root in done or root not in surfaces:
            continue
        done.add(root)
        stack: list[_ImportInProgress] = [(root, iter(surfaces[root].steps), iter(()))]
        while stack:
            file, steps, imported = stack[-1]
            module = next((each for each in imported if each not in done), None)
            if module is not None:
                done.add(module)
                stack.append((module, iter(surfaces[module].steps), iter(())))
                continue
            step = next(steps, None)
            if step is None:
                stack.pop()
                continue
            yield file, step
            stack[-1] = (file, steps, _loaded_files(modules, file, step))


def _loaded_files(modules: ImportedModules, file: str, step: ModuleStep) -> Iterator[str]:
    for target in step.imports:
        yield from modules.loaded_by(file, target)


def packages(step: ModuleStep, tops: frozenset[str]) -> Iterator[str]:
    """Packages from elsewhere that a step imports, of which nobody knows what this does."""
    for target in step.imports:
        top = target.module[0] if target.module else ""
        if not target.level and top not in tops and top not in pure_packages() and top not in sys.stdlib_module_names:
            yield top
