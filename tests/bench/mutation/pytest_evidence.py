"""A pytest plugin, loaded by `-p mutation.pytest_evidence` in the package's own interpreter: what each test shows.

One JSON line a test goes to the file that MUTATION_EVIDENCE names: its outcome, its seconds, the claims that
shapecheck's runtime checks contradicted in it (they run with `--shapecheck-on-failure warn`, so that a test goes on),
the error that ended it with the frames of the project, and, with MUTATION_LINES, the lines of the package that it ran.
It stops at the first proof of a mutant if MUTATION_UNTIL says which contradictions prove nothing.
Only the standard library and pytest: shapecheck need not be importable for it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Generator
from types import CodeType
from typing import Any

import pytest

from mutation.proof import evidence

PROJECT = os.path.join(os.path.realpath(os.getcwd()), "")
WITHIN = os.environ.get("MUTATION_PACKAGE", ".")
PACKAGE = os.path.join(os.path.realpath(WITHIN), "")
_HEADLINE = re.compile(r"(?P<path>[^\n]+?):(?P<line>\d+):\d+: (?P<code>SC\d+) (?P<message>[^\n]*)")


class Contradictions(logging.Handler):
    """Collects what runtime checks log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that names a claim."""
        headline = _HEADLINE.match(record.getMessage())
        if headline:
            self.records.append({**headline.groupdict(), "line": int(headline["line"])})


class Lines:
    """The lines of the package that run, by `sys.monitoring`: nothing but the package's own code is slowed down."""

    def __init__(self) -> None:
        self.ran: set[tuple[str, int]] = set()
        monitoring = sys.monitoring
        self._tool = next(n for n in (monitoring.PROFILER_ID, 3, 4) if monitoring.get_tool(n) is None)
        monitoring.use_tool_id(self._tool, "mutation")
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self._begin)
        monitoring.register_callback(self._tool, monitoring.events.LINE, self._line)
        monitoring.set_events(self._tool, monitoring.events.PY_START)

    def restart(self) -> None:
        """Forget what ran, and watch again."""
        self.ran.clear()
        sys.monitoring.restart_events()

    def _begin(self, code: CodeType, offset: int) -> Any:
        if PACKAGE and code.co_filename.startswith(PACKAGE):  # at the interpreter's end there is none
            sys.monitoring.set_local_events(self._tool, code, sys.monitoring.events.LINE)
        return sys.monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> Any:
        self.ran.add((os.path.relpath(code.co_filename, PROJECT), line))
        return sys.monitoring.DISABLE


class Evidence:
    """Writes the record of each test."""

    def __init__(self, path: str, lines: Lines | None, until: frozenset[tuple[str, int, str]] | None) -> None:
        self._path, self._lines, self._until = path, lines, until
        self._contradictions = Contradictions()
        logging.getLogger("shapecheck").addHandler(self._contradictions)
        self._error: dict[str, Any] | None = None
        self._outcome = "passed"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        """One test from its beginning to its end."""
        self._contradictions.records.clear()
        self._error, self._outcome = None, "passed"
        if self._lines:
            self._lines.restart()
        begin = time.perf_counter()
        yield
        record = {
            "test": item.nodeid,
            "outcome": self._outcome,
            "seconds": round(time.perf_counter() - begin, 3),
            "contradictions": list(self._contradictions.records),
            "error": self._error,
        }
        if self._lines:
            record["lines"] = _ranges(self._lines.ran)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        if self._until is not None and evidence([record], WITHIN, self._until):
            item.session.shouldstop = "it is proved"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Keep the first error, and the worst outcome."""
        outcome = yield
        report = outcome.get_result()
        if report.failed and self._outcome != "failed":
            self._outcome = "failed"
            self._error = _described(call.excinfo.value) if call.excinfo else None
        elif report.skipped and self._outcome == "passed":
            self._outcome = "skipped"


def _described(error: BaseException) -> dict[str, Any]:
    """An error's type and text, its frames in the project (outermost first), and where it was raised."""
    frames, innermost, trace = [], "", error.__traceback__
    while trace is not None:
        innermost = trace.tb_frame.f_code.co_filename
        real = os.path.realpath(innermost)
        if real.startswith(PROJECT) and "site-packages" not in real:
            frames.append([os.path.relpath(real, PROJECT), trace.tb_lineno])
        trace = trace.tb_next
    return {
        "type": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "text": str(error)[:600],
        "frames": frames[-30:],
        "own": os.path.realpath(innermost).startswith(PROJECT) and "site-packages" not in innermost,
        "library": next((m for m in ("jax", "einops", "chex", "numpy") if f"/{m}/" in innermost), ""),
    }


def _ranges(ran: set[tuple[str, int]]) -> dict[str, list[int]]:
    by_file: dict[str, list[int]] = {}
    for file, line in sorted(ran):
        by_file.setdefault(file, []).append(line)
    return by_file


def pytest_configure(config: pytest.Config) -> None:
    """Begin, if a file is named."""
    path = os.environ.get("MUTATION_EVIDENCE")
    if path:
        lines = Lines() if os.environ.get("MUTATION_LINES") else None
        until = os.environ.get("MUTATION_UNTIL")
        known = frozenset((path, line, code) for path, line, code in json.loads(until)) if until else None
        config.pluginmanager.register(Evidence(path, lines, known), "mutation-evidence")
