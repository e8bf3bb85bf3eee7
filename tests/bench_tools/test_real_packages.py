"""The table of `tests/bench/real_packages.py`, on made-up reports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture(scope="module")
def real_packages(load_script: Callable[[Path], ModuleType]) -> Any:
    sys.path.insert(0, str(BENCH))  # as for a script: it imports what stands beside it
    try:
        yield load_script(BENCH / "real_packages.py")
    finally:
        sys.path.remove(str(BENCH))


def report(verified: int, *reasons: str) -> dict[str, Any]:
    counts = {"verified": verified, "verified_for_all_sizes": 1, "verified_loosely": 0, "unreached_declarations": 0}
    return {
        "claims": {"total": verified + len(reasons), "unreached": len(reasons), **counts},
        "unreached": [{"path": "m.py", "line": 1, "reason": reason} for reason in reasons],
        "findings": [{"severity": "note"}, {"severity": "error"}],
    }


@pytest.mark.parametrize(
    ("reason", "family"),
    [
        ("the import failed: AbsentPackageError: it needs torch.nn, which is not installed", "import"),
        ("Cell cannot be constructed: it needs torch.nn.Module, which is not installed", "import"),
        ("the time for the whole run was over (--budget)", "time"),
        ("`phi` has no annotation, and no comment or docstring describes it", "nothing says"),
        ("`graph: GraphsTuple`: `obstacle: Obstacle` is abstract", "nothing says"),
        ("Backend.__call__ is abstract", "declaration"),
        ("constructing Field with made-up arguments raised ValueError: no", "construction"),
        ("f stopped before this line: NumPy needs values, and was given a traced array, float32[9]", "values"),
        ("nothing that was evaluated calls State", "never called"),
        ("f did not come to its end: too many values to unpack (expected 3)", "stopped"),
        ("the value is None, not an array", "no array"),
        ("the size of N is not known", "size unknown"),
        ("it fails, but only for made-up arguments, which prove nothing", "made up"),
        ("AssertionError", "other"),
    ],
)
def test_reasons_belong_to_families(real_packages: ModuleType, reason: str, family: str) -> None:
    assert real_packages.family(reason) == family


def test_the_shares_are_of_all_claims_and_of_those_whose_modules_can_be_imported(real_packages: ModuleType) -> None:
    late = "the time for the whole run was over (--budget)"
    one = real_packages.read_reach("one", report(3, "the import failed: no", late), 1.4)
    other = real_packages.read_reach("other", report(1), 2.4)
    rows = [line.strip("| ").split(" | ") for line in real_packages.table([one, other]).splitlines()]
    head = rows[0]
    shares = {row[0]: [row[head.index(name)] for name in ("share", "importable", "import", "time")] for row in rows[2:]}
    assert shares["one"] == ["0.60", "0.75", "1", "1"]
    assert shares["all"] == ["0.67", "0.80", "1", "1"]
    assert rows[-1][-2:] == ["2", "4"]
