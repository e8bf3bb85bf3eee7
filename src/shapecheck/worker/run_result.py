"""What came out of a run: the evaluations, and the troubles on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from shapecheck.model import Evaluation, FunctionKey, TestCounts


@dataclass(frozen=True)
class Trouble:
    """A module that could not be imported (SC303), that ended the worker (SC304), or that was cut ("").

    If it is `partial`, the module was imported without what is its `subject`.
    """

    code: str
    path: str
    line: int
    subject: str
    reason: str
    partial: bool = False

    @property
    def is_whole_module(self) -> bool:
        """Whether nothing of a module was evaluated."""
        return not self.partial and ":" not in self.subject


@dataclass(kw_only=True)
class RunResult:
    """All that a run showed: the evaluations of each entry together, and the troubles on the way."""

    runs: list[tuple[Evaluation, ...]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    python: str = ""
    tests: TestCounts | None = None
    touched: set[FunctionKey] = field(default_factory=set)  # (path, scope) of all functions that ran
    cut: int = 0  # entries that the budget left out
    bugs: list[str] = field(default_factory=list)  # tracebacks of ours, each once
    failures: list[str] = field(default_factory=list)  # why there was no worker any more
