"""What files look like to others, kept between runs: to say that of a file takes longer than to look it up."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.incremental.content_hash import content
from shapecheck.incremental.environment_key import our_contents, ourselves
from shapecheck.incremental.kept_state import HeldValue, KeptState
from shapecheck.incremental.module_summary import ModuleStep, ModuleSummary, surface
from shapecheck.incremental.name_references import Import, References
from shapecheck.model.plain_facts import PlainFacts

_FACTS = PlainFacts(ModuleSummary, ModuleStep, References, Import, KeptState, HeldValue)


class KeptSummaries:
    """Summaries of files by what is in them. `project` are the first names of modules that may be the project's own."""

    def __init__(self, store: KeptTexts, project: frozenset[str]) -> None:
        self._store, self._project = store, project
        # Other versions of Python read other trees.
        version = our_contents() if store.is_shared else ourselves()
        self._prefix = f"summary {json.dumps([version, sys.version_info[:2], sorted(project)])}"

    def fetch(self, sources: Iterable[tuple[bytes, bool]]) -> None:
        """Bring near what machines share of these files, each with whether it holds tests."""
        if self._store.is_shared:
            self._store.fetch([self._slot(source, tests) for source, tests in sources])

    def summary(self, source: bytes, *, tests: bool) -> ModuleSummary:
        """The summary of a file."""
        slot = self._slot(source, tests)
        kept = self._load(slot)
        if kept is None:
            kept = surface(source, self._project, tests=tests)
            self._store.put(slot, _FACTS.dump(kept))
        return kept

    def _slot(self, source: bytes, tests: bool) -> str:
        return f"{self._prefix} {tests} {content(source)}"

    def _load(self, slot: str) -> ModuleSummary | None:
        text = self._store.get(slot)
        if text is None:
            return None
        try:
            kept = _FACTS.load(text)
        except (ValueError, KeyError, TypeError, RecursionError):  # damaged
            return None
        return kept if isinstance(kept, ModuleSummary) else None
