"""The comparison of `tests/bench/findings.py`, on made-up reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "findings.py"


@pytest.fixture(scope="module")
def findings(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(SCRIPT)


def report(*found: tuple[int, str, str]) -> dict[str, Any]:
    """A report with findings at (line, claim, severity)."""
    return {
        "findings": [
            {
                "code": "SC201",
                "severity": severity,
                "path": "model.py",
                "line": line,
                "message": f"comment says {claim}\nand more",
                "claimed": claim,
            }
            for line, claim, severity in found
        ],
        "claims": {"verified": 3, "total": 5},
        "tests": None,
        "entries": [],
    }


def run(findings: ModuleType, where: Path, *found: tuple[int, str, str]) -> Any:
    return findings.read_report("made_up", report(*found), 1.5, where)


def written(findings: ModuleType, data: Path, runs: list[Any], verdicts: dict[int, str]) -> list[Any]:
    """The rows of some runs, judged by their lines, after a way through the data file."""
    rows = findings.updated([], runs)
    findings.write_data(data, [replace(row, verdict=verdicts[row.line], why="read") for row in rows])
    read: list[Any] = findings.read_data(data)
    return read


def lines(rows: list[Any]) -> list[int]:
    return [row.line for row in rows]


def test_lost_returned_and_unjudged(findings: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("a  # (b)\nc  # (d)\ne  # (f)\ng  # (h)\n")
    where = {"made_up": tmp_path}
    first = run(findings, tmp_path, (1, "(b)", "error"), (2, "(d)", "warning"), (3, "(f)", "note"))
    known = written(findings, tmp_path / "data.tsv", [first], {1: "true", 2: "false"})
    assert lines(known) == [1, 2]  # a note is no finding
    assert known[0].message == "comment says (b)"

    same = findings.compare(known, [first], where)
    assert (same.lost, same.returned, same.unjudged, same.gone) == ([], [], [], [])  # a known false one that stays
    assert [row.verdict for row in same.judged] == ["true", "false"]

    second = run(findings, tmp_path, (4, "(h)", "error"))
    changed = findings.compare(known, [second], where)
    assert (lines(changed.lost), lines(changed.gone), lines(changed.unjudged)) == ([1], [2], [4])
    assert changed.returned == []

    known = findings.updated(known, [second])
    assert [(row.line, row.verdict, row.reported) for row in known] == [
        (1, "true", "yes"),  # still missed in the next run
        (2, "false", "no"),
        (4, "unjudged", "yes"),
    ]
    third = findings.compare(known, [first], where)
    assert (lines(third.returned), third.lost) == ([2], [])
    assert findings.compare(known, [], where).lost == []  # a package that was not run says nothing


def test_moved_lines_and_mended_source(findings: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("x = f(x)  # (b)\nx = f(x)  # (b)\n")
    first = run(findings, tmp_path, (1, "(b)", "error"), (2, "(b)", "error"))
    known = written(findings, tmp_path / "data.tsv", [first], {1: "true", 2: "true"})
    assert len({row.key for row in known}) == 2  # equal lines are told apart

    source.write_text("\n\nx = f(x)    # (b)\nx = f(x)  # (b)\n")
    moved = run(findings, tmp_path, (3, "(b)", "error"), (4, "(b)", "error"))
    result = findings.compare(known, [moved], {"made_up": tmp_path})
    assert (result.lost, result.unjudged) == ([], [])
    assert lines(findings.updated(known, [moved])) == [3, 4]

    source.write_text("x = g(x)  # (c)\n")
    assert findings.compare(known, [run(findings, tmp_path)], {"made_up": tmp_path}).lost == []  # mended over there


def test_table_counts_by_verdict(findings: ModuleType, tmp_path: Path) -> None:
    first = run(findings, tmp_path, (1, "(b)", "error"), (2, "(d)", "error"))
    known = written(findings, tmp_path / "data.tsv", [first], {1: "debatable", 2: "false"})
    judged = findings.compare(known, [first], {"made_up": tmp_path}).judged
    rows = findings.table([], [first], judged).splitlines()
    assert rows[2] == "| made_up |  | 2 | 0 | 1 | 1 | 0 | 3 of 5 | 2 |"
    assert rows[3] == "| all |  | 2 | 0 | 1 | 1 | 0 | 3 of 5 | 2 |"


def test_verdicts_need_a_reason(findings: ModuleType, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    (row,) = findings.updated([], [run(findings, tmp_path, (1, "(b)", "error"))])
    findings.write_data(data, [replace(row, verdict="false")])
    with pytest.raises(SystemExit, match="needs its reason"):
        findings.read_data(data)
    findings.write_data(data, [replace(row, verdict="wrong", why="read")])
    with pytest.raises(SystemExit, match="no verdict"):
        findings.read_data(data)


def test_the_verdicts_that_are_kept_are_whole(findings: ModuleType) -> None:
    rows = findings.read_data(findings.DATA)
    assert {row.package for row in rows} <= {package.name for package in findings.PACKAGES}
    assert len({row.key for row in rows}) == len(rows)
    assert [row for row in rows if row.verdict == "unjudged"] == []
