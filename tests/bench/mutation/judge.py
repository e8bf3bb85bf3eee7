"""The judge of a mutant, which is not the checker: the package's own tests, really run.

A mutant counts if a test that passes on the clean copy now ends with a shape error, raised by JAX (or by a library on
top of it) from a line of the package, or if the runtime checks contradict a claim that no test of the clean copy
contradicts. What nothing shows is equivalent or untested, and is dropped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.mutants import Mutant

HERE = Path(__file__).parent
SHAPES = re.compile(
    r"shape|dimension|\brank\b|broadcast|\bax[ei]s\b|\bsizes?\b|ndim|einsum|subscript|reshape|concatenat|contract"
    r"|vmap|transpos|permutation|indices|equal types|carry|must have at least|iterable",
    re.IGNORECASE,
)
ERRORS = frozenset({"TypeError", "ValueError", "IndexError", "EinopsError"})
CHECKS = ("-p", "shapecheck", "--shapecheck-run", "--shapecheck-on-failure", "warn")
JAX = {
    "JAX_PLATFORMS": "cpu",
    "JAX_TRACEBACK_FILTERING": "off",  # the frames say whether JAX raised, or the package itself
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
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
        paths = [*dict.fromkeys(own), str(HERE), *([self.checker] if self.checker else [])]
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
    project: Project, tests: Sequence[str], records: Path, *, lines: bool, seconds: float
) -> list[dict[str, Any]]:
    """What pytest shows of these tests under runtime checks; those not reached in time have no record."""
    records.unlink(missing_ok=True)
    command = [project.python, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += ["-p", "pytest_evidence", *CHECKS, "-W", "ignore", *project.options, *tests]
    environment = {**project.environment, "MUTATION_EVIDENCE": str(records), "MUTATION_PACKAGE": project.package}
    if lines:
        environment["MUTATION_LINES"] = "1"
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


def evidence(
    records: Sequence[Mapping[str, Any]], package: str, contradicted: frozenset[tuple[str, int, str]]
) -> list[dict[str, Any]]:
    """What speaks against a mutant: `raised` and `contradicted`, with place and words, each place once."""
    shown: dict[tuple[str, str, int], dict[str, Any]] = {}
    for record in records:
        for claim in record["contradictions"]:
            if (claim["path"], claim["line"], claim["code"]) not in contradicted:
                fact = {"kind": "contradicted", **claim, "test": record["test"]}
                shown.setdefault(("contradicted", claim["path"], claim["line"]), fact)
        error = record["error"]
        if error and is_shape_error(error, package):
            path, line = error["frames"][-1]
            fact = {"kind": "raised", "path": path, "line": line, "code": error["type"], "message": error["text"]}
            callers = dict(error["frames"])  # the innermost line of each file
            shown.setdefault(("raised", path, line), {**fact, "test": record["test"], "callers": callers})
    return list(shown.values())


def is_shape_error(error: Mapping[str, Any], package: str) -> bool:
    """Whether JAX, or a library on top of it, complains about shapes, called from a line of the package."""
    if error["own"] or not error["frames"] or ERRORS.isdisjoint(error["bases"]):
        return False
    path = error["frames"][-1][0]
    inside = package in (".", "") or Path(path).is_relative_to(package)
    return inside and not is_test(path) and SHAPES.search(error["text"]) is not None


def is_test(path: str) -> bool:
    """Whether a file is a test's, by the names that pytest collects."""
    parts = Path(path)
    tests = parts.name.startswith("test_") or parts.stem.endswith(("_test", "_tests")) or parts.name == "conftest.py"
    return tests or not {"tests", "test", "testing"}.isdisjoint(parts.parts[:-1])


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
    file.write_bytes(mutant.applied(source).encode("utf-8"))
    try:
        records = run_tests(project, tests, project.folder.parent / "judged.tmp", lines=False, seconds=limit)
    finally:
        file.write_bytes(source.encode("utf-8"))
        shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)  # an edit within one second keeps the time
    return {
        "tests": tests,
        "evidence": evidence(records, project.package, clean.contradicted),
        "outcomes": [_short(record) for record in records],
    }


def _short(record: Mapping[str, Any]) -> str:
    error = record["error"]
    text = record.get("said", "") if error is None else f"{error['type']}: {error['text']}"
    return f"{record['outcome']} {text[:200]}".strip()
