"""The judge of a mutant, which is not the checker: the package's own tests, really run.

A mutant counts if a test that passes on the clean copy now ends with a shape error, raised by JAX (or by a library on
top of it) from a line of the package, or if the runtime checks contradict a claim that no test of the clean copy
contradicts. What nothing shows is equivalent or untested, and is dropped.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.mutants import Mutant
from mutation.proof import evidence

HERE = Path(__file__).parent
CHECKS = ("-p", "shapecheck", "--shapecheck-run", "--shapecheck-on-failure", "warn")
JAX = {
    "JAX_PLATFORMS": "cpu",
    "JAX_TRACEBACK_FILTERING": "off",  # the frames say whether JAX raised, or the package itself
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"  # what is made runs once
    " --xla_llvm_disable_expensive_passes=true",
}


@dataclass(frozen=True, kw_only=True)
class Project:
    """A package in its checkout: `folder` is the whole, `package` what is mutated, `tests` what pytest is given."""

    name: str
    folder: Path
    package: str
    tests: tuple[str, ...]
    python: str
    checker: str  # the folder that shapecheck is imported from, "" if it is installed
    options: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """That of every process that runs its code."""
        own = [str(self.folder / each) for each in (Path(self.package).parent, ".")]
        paths = [*dict.fromkeys(own), str(HERE.parent), *([self.checker] if self.checker else [])]
        cache = {"JAX_COMPILATION_CACHE_DIR": str(self.folder.parent / "jax-cache")}
        return {**os.environ, **JAX, **cache, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass(frozen=True, kw_only=True)
class CleanTests:
    """What the tests show of the clean copy: seconds by test that passes, the lines each ran, contradicted claims."""

    seconds: Mapping[str, float]
    ran: Mapping[str, Mapping[int, Sequence[str]]] = field(repr=False)
    contradicted: frozenset[tuple[str, int, str]]

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> CleanTests:
        """From the plugin's records of a run with MUTATION_LINES."""
        seconds: dict[str, float] = {}
        ran: dict[str, dict[int, list[str]]] = {}
        contradicted = set()
        for record in records:
            contradicted.update((c["path"], c["line"], c["code"]) for c in record["contradictions"])
            if record["outcome"] == "passed":
                seconds[record["test"]] = record["seconds"]
                for file, lines in record.get("lines", {}).items():
                    for line in lines:
                        ran.setdefault(file, {}).setdefault(line, []).append(record["test"])
        return cls(seconds=seconds, ran=ran, contradicted=frozenset(contradicted))

    def covering(self, path: str, lines: Collection[int], most: int) -> list[str]:
        """Tests that run these lines between them, quick ones first: none that adds no line to those before it."""
        ran = self.ran.get(path, {})
        by_test: dict[str, set[int]] = {}
        for line in lines:
            for test in ran.get(line, ()):
                by_test.setdefault(test, set()).add(line)
        chosen: list[str] = []
        seen: set[int] = set()
        for test in sorted(by_test, key=lambda t: (self.seconds[t], t)):
            if len(chosen) < most and not by_test[test] <= seen:
                chosen.append(test)
                seen |= by_test[test]
        return chosen

    def choose(self, path: str, lines: range, most: int, patience: float) -> list[str]:
        """Tests that run one of these lines, short ones first, each function once before its parameters."""
        tests = {test for line in lines for test in self.ran.get(path, {}).get(line, ())}
        by_function: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda t: (self.seconds[t], t)):
            by_function.setdefault(test.partition("[")[0], []).append(test)
        rounds = [
            t for _, t in sorted((n, t) for group in by_function.values() for n, t in _ranked(group, self.seconds))
        ]
        chosen: list[str] = []
        for test in rounds:
            if len(chosen) == most or (chosen and sum(self.seconds[t] for t in [*chosen, test]) > patience):
                break
            chosen.append(test)
        return chosen


def _ranked(group: list[str], seconds: Mapping[str, float]) -> list[tuple[tuple[int, float], str]]:
    return [((n, seconds[test]), test) for n, test in enumerate(group)]


def run_tests(
    project: Project,
    tests: Sequence[str],
    records: Path,
    *,
    lines: bool,
    seconds: float,
    until: frozenset[tuple[str, int, str]] | None = None,
) -> list[dict[str, Any]]:
    """What pytest shows of these tests under runtime checks; those not reached in time have no record.

    With `until`, the claims that tests of the clean copy contradict, it stops at the first proof of a mutant.
    """
    records.unlink(missing_ok=True)
    command = [project.python, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += ["-p", "mutation.pytest_evidence", *CHECKS, "-W", "ignore", *project.options, *tests]
    environment = {**project.environment, "MUTATION_EVIDENCE": str(records), "MUTATION_PACKAGE": project.package}
    if lines:
        environment["MUTATION_LINES"] = "1"
    if until is not None:
        environment["MUTATION_UNTIL"] = json.dumps(sorted(until))
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            command, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        said = (done.stdout + done.stderr)[-2000:]
    except subprocess.TimeoutExpired:
        said = f"not at its end after {seconds:.0f} s"
    if not records.exists():
        return [{"test": "", "outcome": "broken", "contradictions": [], "error": None, "said": said}]
    return [json.loads(line) for line in records.read_text("utf-8").splitlines()]


def judge(
    project: Project, clean: CleanTests, mutant: Mutant, body: range, *, most: int, patience: float, limit: float
) -> dict[str, Any]:
    """Run the tests that run the mutated statement; of a stale claim, those that run the function's `body`."""
    stale = mutant.operator.startswith("stale")
    lines = body if stale else range(mutant.first_line, mutant.last_line + 1)
    tests = clean.choose(mutant.path, lines, most, patience)
    if not tests:
        return {"tests": [], "evidence": [], "outcomes": []}
    file = project.folder / mutant.path
    source = file.read_bytes().decode("utf-8")
    for old in (file.parent / "__pycache__").glob(f"{file.stem}.*"):  # an edit within one second keeps the time
        old.unlink()
    file.write_bytes(mutant.applied(source).encode("utf-8"))
    records = project.folder.parent / "judged.tmp"
    try:
        shown = run_tests(project, tests, records, lines=False, seconds=limit, until=clean.contradicted)
    finally:
        file.write_bytes(source.encode("utf-8"))
    return {
        "tests": tests,
        "evidence": evidence(shown, project.package, clean.contradicted),
        "outcomes": [_short(record) for record in shown],
    }


def _short(record: Mapping[str, Any]) -> str:
    error = record["error"]
    text = record.get("said", "") if error is None else f"{error['type']}: {error['text']}"
    return f"{record['outcome']} {text[:200]}".strip()
