"""The project's files by hashes of their contents, and by what of them a piece of code can reach."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.incremental.code_map import code_units
from shapecheck.incremental.dependency_graph import DependencyGraph, GraphFile, GraphView
from shapecheck.incremental.environment_key import environment, portable_environment
from shapecheck.incremental.kept_summaries import KeptSummaries
from shapecheck.incremental.module_summary import ModuleSummary
from shapecheck.worker.cache_keys import KnownFile
from shapecheck.worker.code_units import CodeUnits
from shapecheck.worker.messages.plans import ModulePlan


class PortableView:
    """A view of files by names that hold on all machines."""

    def __init__(self, view: GraphView, portable: Callable[[str], str]) -> None:
        self._view, self._portable = view, portable

    @property
    def base(self) -> str:
        """What importing all modules does besides binding names."""
        return self._view.base

    def code_key(self, files: Iterable[str]) -> str:
        """A hash of all that the code of these files depends on."""
        return self._view.code_key(map(self._portable, files))

    def keeps_nothing(self, files: Iterable[str]) -> bool:
        """Whether the code of these files reaches nothing that one call may leave for another."""
        return self._view.keeps_nothing(map(self._portable, files))

    def import_key(self, roots: Sequence[str]) -> str:
        """A hash of all that the import of these files depends on."""
        return self._view.import_key(list(map(self._portable, roots)))


class HashedFiles:
    """Content hashes of files, and the key of the environment."""

    def __init__(
        self,
        content: Callable[[str], str],
        read: Callable[[str], bytes],
        were_written: Callable[[Iterable[str]], bool],
        project: frozenset[str],
        store: KeptTexts,
    ) -> None:
        self.content, self.were_written, self.portable = content, were_written, store.portable
        self.environment = portable_environment if store.is_shared else environment
        self._read, self._summaries = read, KeptSummaries(store, project)
        self._surfaces: dict[str, ModuleSummary] = {}
        self._units: dict[str, CodeUnits | None] = {}
        self._graphs: dict[tuple[KnownFile, ...], DependencyGraph] = {}

    def outline(self, file: KnownFile) -> str:
        """A hash of what running a file depends on, unless it calls its functions."""
        return self._surface(file).outline

    def mentions(self, files: Sequence[KnownFile], names: frozenset[str]) -> str:
        """A hash of which of these names the functions and classes of the files mention."""
        found = [[sorted(each & names) for each in self._surface(file).mentions] for file in files]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def view(self, files: Sequence[KnownFile], roots: Sequence[str], always: Iterable[str]) -> PortableView:
        """The files as they are seen where `roots` are imported one after the other, and `always` may always run."""
        key = tuple(files)
        if key not in self._graphs:
            self._summaries.fetch((self._read(each.file), each.test) for each in files)
            sources = [
                GraphFile(
                    self.portable(file.file),
                    file.names,
                    self._surface(file),
                    outside=file.outside,
                    idle=file.idle,
                    comment_names=file.comment_names,
                )
                for file in files
            ]
            self._graphs[key] = DependencyGraph(sources)
        view = GraphView(self._graphs[key], list(map(self.portable, roots)), list(map(self.portable, always)))
        return PortableView(view, self.portable)

    def code_units(self, plan: ModulePlan) -> CodeUnits | None:
        """A planned file as the functions that it consists of, where that can be said."""
        if plan.file not in self._units:
            self._units[plan.file] = code_units(self._read(plan.file), plan)
        return self._units[plan.file]

    def _surface(self, file: KnownFile) -> ModuleSummary:
        if file.file not in self._surfaces:
            self._surfaces[file.file] = self._summaries.summary(self._read(file.file), tests=file.test)
        return self._surfaces[file.file]
