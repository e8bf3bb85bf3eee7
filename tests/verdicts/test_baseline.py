from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapecheck.model import Finding, Severity, Span
from shapecheck.verdicts import baseline
from shapecheck.verdicts.baseline import BaselineError

LINES = ("import jax", "y = x @ w  # (a, b)", "z = x @ w  # (a, b)", "y = x @ w  # (a, b)")


def finding(
    line: int = 2, code: str = "SC201", path: str = "a.py", claimed: str = "a b", severity: Severity = "error"
) -> Finding:
    return Finding(code=code, severity=severity, path=path, span=Span(line, 1, line, 2), message="m", claimed=claimed)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "baseline.json"


def test_what_was_written_is_filtered_out(file: Path) -> None:
    findings = [finding(), finding(3), finding(2, "SC203")]
    assert baseline.write(findings, {"a.py": LINES}, file) == 3
    assert baseline.filter(findings, {"a.py": LINES}, file) == ((), 3)


@pytest.mark.parametrize(
    "fresh",
    [finding(3), finding(2, "SC203"), finding(2, path="b.py"), finding(2, claimed="b a")],
    ids=["other line", "other rule", "other file", "other claim"],
)
def test_a_new_finding_is_kept(fresh: Finding, file: Path) -> None:
    sources = {"a.py": LINES, "b.py": LINES}
    baseline.write([finding()], sources, file)
    assert baseline.filter([finding(), fresh], sources, file) == ((fresh,), 1)


def test_moved_and_reindented_lines_are_known(file: Path) -> None:
    baseline.write([finding()], {"a.py": LINES}, file)
    moved = ("", "", "if x:", "    y  =  x @ w  # (a, b)")
    assert baseline.filter([finding(4)], {"a.py": moved}, file) == ((), 1)


def test_an_entry_covers_as_many_as_there_were(file: Path) -> None:
    baseline.write([finding(2)], {"a.py": LINES}, file)
    fresh, count = baseline.filter([finding(2), finding(4)], {"a.py": LINES}, file)
    assert (fresh, count) == ((finding(4),), 1)
    baseline.write([finding(2), finding(4)], {"a.py": LINES}, file)
    assert baseline.filter([finding(2), finding(4)], {"a.py": LINES}, file) == ((), 2)


def test_paths_are_relative_to_the_baseline(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    baseline.write([finding(path="pkg/a.py")], {"pkg/a.py": LINES}, file)
    assert json.loads(file.read_text())["findings"][0]["path"] == "pkg/a.py"
    monkeypatch.chdir(tmp_path / "pkg")
    assert baseline.filter([finding()], {"a.py": LINES}, file) == ((), 1)


def test_notes_are_neither_written_nor_filtered(file: Path) -> None:
    note = finding(code="SC303", severity="note")
    assert baseline.write([note], {"a.py": LINES}, file) == 0
    assert baseline.filter([note], {"a.py": LINES}, file) == ((note,), 0)


def test_the_file_is_sorted_and_stable(file: Path) -> None:
    findings = [finding(3), finding(2), finding(2, path="A.py")]
    baseline.write(findings, {"a.py": LINES}, file)
    first = file.read_bytes()
    baseline.write(findings[::-1], {"a.py": LINES}, file)
    assert file.read_bytes() == first
    assert [entry["path"] for entry in json.loads(first)["findings"]] == ["A.py", "a.py", "a.py"]


def test_a_missing_file_names_the_way_out(file: Path) -> None:
    with pytest.raises(BaselineError, match="--update-baseline"):
        baseline.filter([], {}, file)


ENTRY = {"path": "a.py", "code": "SC201", "fingerprint": "0", "count": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"version": 1}',
        '{"version": 1, "findings": {}}',
        json.dumps({"version": 2, "findings": []}),
        json.dumps({"version": 1, "findings": [1]}),
        json.dumps({"version": 1, "findings": [{**ENTRY, "count": 0}]}),
        json.dumps({"version": 1, "findings": [{**ENTRY, "count": "1"}]}),
        json.dumps({"version": 1, "findings": [{**ENTRY, "path": None}]}),
        json.dumps({"version": 1, "findings": [{key: ENTRY[key] for key in ("path", "code", "count")}]}),
        b"\xff\xfe",
    ],
)
def test_a_bad_file_is_an_error_that_names_it(text: str | bytes, file: Path) -> None:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BaselineError, match=r"baseline\.json"):
        baseline.filter([finding()], {"a.py": LINES}, file)


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be read"):
        baseline.filter([], {}, tmp_path)


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(file: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be written"):
        baseline.write([], {}, file.parent / "missing" / "b.json")
    assert list(file.parent.iterdir()) == []


def test_writing_replaces_the_file_at_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("old")

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(BaselineError, match="No space left"):
        baseline.write([finding()], {"a.py": LINES}, file)
    assert file.read_text() == "old"
    assert list(file.parent.iterdir()) == [file]


def test_a_link_stays_a_link_and_permissions_stay(file: Path) -> None:
    real = file.parent / "real.json"
    real.write_text("old")
    real.chmod(0o640)
    file.symlink_to(real)
    baseline.write([finding()], {"a.py": LINES}, file)
    assert file.is_symlink()
    assert json.loads(real.read_text())["version"] == 1
    assert real.stat().st_mode & 0o777 == 0o640
