"""The dependency graph: on which names of a project's files something depends, and whether any of them has changed.

What is bound to a name can be reached in few ways: by that name in its own file, by importing it, as a part of a
module that was imported, by way of a string, or through another value that is made from it. All of these stand in the
text of what reaches it, so that following them finds whatever a piece of code can depend on, and more. Code that hands
a module on depends on all its names, code that looks for modules by other means (`importlib`, `sys.modules`) on
everything. A base class leads to its subclasses, which can be asked for.

The statements that do more than bind names are the acts. They are taken in the order in which they run.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.incremental.content_hash import content
from shapecheck.incremental.kept_state import stateful_names
from shapecheck.incremental.module_summary import ModuleStep, ModuleSummary
from shapecheck.incremental.name_references import Chain, Import, References
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


_Place = tuple[str, str]  # a file and a name in it
_EXISTS, _ALL, _TREE = "", "*", "**"  # in place of a name: the file itself, all its names, and those of what it imports


@dataclass(frozen=True)
class GraphFile:
    """A file, the names that it may be imported by, and its surface. Of `outside` ones it matters what they use.

    `comment_names` are the names that its comments use. Code of a file that is `idle` does not run for entries.
    """

    file: str
    names: tuple[Chain, ...]
    surface: ModuleSummary
    outside: bool = False
    idle: bool = False
    comment_names: tuple[Chain, ...] = ()


class DependencyGraph:
    """What depends on what, among all names of some files."""

    def __init__(self, sources: Sequence[GraphFile]) -> None:
        self.surfaces = {source.file: source.surface for source in sources}
        self.modules = ImportedModules({each.file: each.names for each in sources if not each.outside})
        self.numbers: dict[_Place, int] = {}
        self._by_last_name: dict[str, int] = {}
        self.texts: list[str] = []
        self._steps: dict[_Place, list[ModuleStep]] = {}
        for source in sources:
            if not source.outside:
                self._enter(source)
        self.everything = (1 << len(self.texts)) - 1
        self.places = list(self.numbers)
        self._reach = self._closure(self._direct())
        self._comments = {source.file: References(chains=set(source.comment_names)) for source in sources}
        self._files: dict[str, int] = {}
        acting = {each.file: each.surface.state for each in sources if not (each.outside or each.idle)}
        held = {self._bit(*place) for place in stateful_names(acting)}
        hidden = any(state.hidden for state in acting.values())
        self.stateful = self.everything if hidden else functools.reduce(operator.or_, held, 0)

    def of_file(self, file: str) -> int:
        """All that the code of a file depends on, and its comments, as a set of numbers."""
        if file not in self._files:
            kinds = (self.surfaces[file].refers, self._comments[file]) if file in self.surfaces else ()
            self._files[file] = functools.reduce(operator.or_, (self.of(file, each) for each in kinds), 0)
        return self._files[file]

    def of(self, file: str, refers: References) -> int:
        """All that some code in a file depends on."""
        direct = self._refer(file, refers)
        return direct if direct == self.everything else self._reachable(direct)

    def of_step(self, file: str, step: ModuleStep) -> int:
        """All that running a step looks at."""
        direct = self._looks_at(file, step)
        return direct if direct == self.everything else self._reachable(direct)

    def is_act(self, file: str, step: ModuleStep) -> bool:
        """Whether a step acts, by itself or by what the bases of a class do."""
        return step.acts or not all(self._is_tame(file, base, ()) for base in step.bases)

    def _enter(self, source: GraphFile) -> None:
        for name in (_EXISTS, _ALL, _TREE):
            self._number((source.file, name), "")
        for chain in source.names:
            self._by_last_name[chain[-1]] = self._by_last_name.get(chain[-1], 0) | self._bit(source.file, _EXISTS)
        for step in source.surface.steps:
            for name in step.names if not step.acts else ():
                place = (source.file, name)
                known = place in self.numbers
                number = self._number(place, step.text)
                self._steps.setdefault(place, []).append(step)
                if known:
                    self.texts[number] += f" {step.text}"
                self._by_last_name[name] = self._by_last_name.get(name, 0) | 1 << number

    def _number(self, place: _Place, text: str) -> int:
        if place not in self.numbers:
            self.numbers[place] = len(self.texts)
            self.texts.append(text)
        return self.numbers[place]

    def _bit(self, file: str, name: str) -> int:
        number = self.numbers.get((file, name))
        return 0 if number is None else 1 << number

    def _direct(self) -> list[int]:
        direct = [0] * len(self.texts)
        for (file, name), number in self.numbers.items():
            if name == _ALL:
                own = self._bit(file, _EXISTS)
                stars = self.surfaces[file].stars
                direct[number] = own | self._modules_of(file, stars, _ALL)
            elif name == _TREE:
                ran = [target for step in self.surfaces[file].steps for target in step.imports]
                direct[number] = self._bit(file, _ALL) | self._modules_of(file, ran, _TREE)
            elif name:
                direct[self.numbers[(file, _ALL)]] |= 1 << number
        for (file, _), steps in self._steps.items():
            for step in steps:
                self._connect(file, step, direct)
        return direct

    def _connect(self, file: str, step: ModuleStep, direct: list[int]) -> None:
        dependencies = self._looks_at(file, step)
        own = [self.numbers[(file, name)] for name in step.names]
        for number in own:
            direct[number] |= dependencies
        bases = 0
        for base in step.bases:
            bases |= self._chain(file, base)
        for number in bits(bases):
            if self.places[number][1] not in (_EXISTS, _ALL, _TREE):  # a class knows those which are derived from it
                for derived in own:
                    direct[number] |= 1 << derived

    def _looks_at(self, file: str, step: ModuleStep) -> int:
        dependencies = self._refer(file, step.refers)
        if not (step.refers.chains or step.refers.late):  # an import by itself
            for target in step.imports:
                dependencies |= self._import(file, target)
        return dependencies

    @staticmethod
    def _closure(direct: list[int]) -> list[int]:
        """What can be reached, in any number of steps."""
        reach = [dependencies | 1 << number for number, dependencies in enumerate(direct)]
        nexts = [list(bits(dependencies)) for dependencies in direct]
        changed = True
        while changed:
            changed = False
            for number in range(len(reach) - 1, -1, -1):
                before = after = reach[number]
                for other in nexts[number]:
                    after |= reach[other]
                if after != before:
                    reach[number] = after
                    changed = True
        return reach

    def _reachable(self, direct: int) -> int:
        found = direct
        for number in bits(direct):
            found |= self._reach[number]
        return found

    def _refer(self, file: str, refers: References) -> int:
        if refers.blind:
            return self.everything
        found = self._bit(file, _ALL) if refers.own else 0
        for chain in refers.chains:
            found |= self._chain(file, chain)
        for word in refers.words:
            found |= self._chain(file, (word,))
        for text in refers.quoted:
            parts = tuple(text.split("."))
            found |= self._by_last_name.get(parts[-1], 0)
            if len(parts) > 1:
                found |= self._resolve(self.modules.find(file, 0, parts), parts, escapes=True)
        for target in refers.late:
            found |= self._modules_of(file, [target], _TREE) | self._import(file, target)
        return found

    def _chain(self, file: str, chain: Chain) -> int:
        """What a name leads to, with the attributes that are looked up on it."""
        surface = self.surfaces[file]
        found = self._lookup(file, chain[0], ())
        targets = surface.imports.get(chain[0], ())
        for target in targets:
            parts = (*target.module, *([target.name] if target.name else []), *chain[1:])
            found |= self._resolve(self.modules.find(file, target.level, parts), parts, escapes=True)
        if not targets and surface.stars:
            for name in chain[1:]:  # of a module, perhaps, that came with all the names of another
                found |= self._by_last_name.get(name, 0)
        return found

    def _resolve(self, modules: Sequence[tuple[str, Chain]], parts: Chain, *, escapes: bool) -> int:
        found = 0
        for module, rest in modules:
            found |= self._bit(module, _EXISTS)
            if not rest and escapes:
                found |= self._bit(module, _ALL)  # whoever has a module may look at any name in it
            elif rest:
                found |= self._lookup(module, rest[0], ())
            for name in rest[1:]:
                found |= self._by_last_name.get(name, 0)
        if not modules and parts and parts[0] in self.modules.tops:
            for name in parts[1:]:
                found |= self._by_last_name.get(name, 0)
        return found

    def _import(self, file: str, target: Import) -> int:
        parts = (*target.module, *([target.name] if target.name not in ("", "*") else []))
        return self._resolve(self.modules.find(file, target.level, parts), parts, escapes=target.name == "*")

    def _lookup(self, file: str, name: str, seen: tuple[str, ...]) -> int:
        """What a module has under a name: of its own, or from where it takes all names."""
        found = self._bit(file, name) if name not in (_ALL, _TREE) else 0
        for target in self.surfaces[file].stars if file not in seen else ():
            for module, rest in self.modules.find(file, target.level, target.module):
                if not rest:
                    found |= self._lookup(module, name, (*seen, file))
        return found

    def _modules_of(self, file: str, targets: Iterable[Import], kind: str) -> int:
        found = 0
        for target in targets:
            for module in self.modules.loaded_by(file, target):
                found |= self._bit(module, kind)
        return found

    def _is_tame(self, file: str, chain: Chain, seen: tuple[_Place, ...]) -> bool:
        """Whether a class of the project, and all that it is derived from, leave alone what is derived from them."""
        place = (file, chain[0])
        if place in seen:
            return False
        steps = self._steps.get(place, [])
        if steps and len(chain) == 1 and all(step.tame for step in steps):
            return all(self._is_tame(file, base, (*seen, place)) for step in steps for base in step.bases)
        targets = self.surfaces[file].imports.get(chain[0], ())
        if len(targets) != 1 or any(step.refers.chains or step.refers.late for step in steps):
            return False
        parts = (*targets[0].module, *([targets[0].name] if targets[0].name else []), *chain[1:])
        found = [
            (module, rest)
            for module, rest in self.modules.find(file, targets[0].level, parts)
            if len(rest) == 1 or (module, *rest[:1]) in self.numbers
        ]
        return bool(found) and all(
            len(rest) == 1 and self._is_tame(module, rest, (*seen, place)) for module, rest in found
        )


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class GraphView:
    """A graph as one kind of result sees it: what runs in which order, and what all results depend on."""

    def __init__(self, graph: DependencyGraph, roots: Sequence[str], always: Iterable[str]) -> None:
        self._graph = graph
        self._known: dict[int, str] = {}
        acts: list[list[str]] = []
        others: set[str] = set()
        dependencies = 0
        self._positions: dict[int, int] = {}
        for file, step in steps_in_order(graph.surfaces, graph.modules, roots):
            if graph.is_act(file, step):
                acts.append([file, step.text])
                dependencies |= graph.of(file, step.refers)
            elif step.timed:
                for name in step.names:
                    self._positions[graph.numbers[(file, name)]] = len(acts)
            others.update(packages(step, graph.modules.tops))
        for file in always:
            dependencies |= graph.of_file(file)
        self.base = content(repr([acts, sorted(others), self._state_key(dependencies)]).encode())

    def code_key(self, files: Iterable[str]) -> str:
        """A hash of all that the code of these files depends on."""
        dependencies = 0
        for file in files:
            dependencies |= self._graph.of_file(file)
        return self._state_key(dependencies)

    def keeps_nothing(self, files: Iterable[str]) -> bool:
        """Whether the code of these files reaches nothing that one call may leave for another."""
        return not any(self._graph.of_file(file) & self._graph.stateful for file in files)

    def import_key(self, roots: Sequence[str]) -> str:
        """A hash of all that the import of these files depends on.

        What cannot fail, and what nothing looks at that runs meanwhile, is left out: a new helper.
        """
        graph = self._graph
        running_steps = list(steps_in_order(graph.surfaces, graph.modules, roots))
        seen = 0
        for file, step in running_steps:
            seen |= graph.of_step(file, step)
        parts = []
        for file, step in running_steps:
            own = sum(1 << number for name in step.names if (number := graph.numbers.get((file, name))) is not None)
            if not step.certain or own & seen:
                parts.append([file, step.names, step.text])
        return content(repr([parts, self._state_key(seen)]).encode())

    def _state_key(self, dependencies: int) -> str:
        if dependencies not in self._known:
            graph = self._graph
            parts = [[*graph.places[n], graph.texts[n], self._positions.get(n, 0)] for n in bits(dependencies)]
            self._known[dependencies] = content(repr(sorted(parts)).encode())
        return self._known[dependencies]
