"""The snippets of a project as entries: which there are, and what each shows, and its calls with free sizes again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.tolerate_concrete import Steps
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.evaluate.suites.run_snippet import SnippetRunner
from shapecheck.evaluate.suites.snippet_reach import NameReach, implied_names
from shapecheck.model import SNIPPET, Evaluation, Snippet
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
