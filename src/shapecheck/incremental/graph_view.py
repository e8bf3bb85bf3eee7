"""The dependency graph, as one kind of result sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapecheck.incremental.content_hash import content
from shapecheck.incremental.dependency_graph import DependencyGraph, bits
from shapecheck.incremental.import_order import packages, steps_in_order


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
