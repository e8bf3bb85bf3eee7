"""What proves a mutant: a shape error that JAX raises in the package, or a claim that a runtime check contradicts.

The plugin decides by it when to stop, so this needs the standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SHAPES = re.compile(
    r"shape|dimension|\brank\b|broadcast|\bax[ei]s\b|\bsizes?\b|ndim|einsum|subscript|reshape|concatenat|contract"
    r"|vmap|transpos|permutation|indices|equal types|carry|must have at least|iterable",
    re.IGNORECASE,
)
ERRORS = frozenset({"TypeError", "ValueError", "IndexError", "EinopsError"})


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
