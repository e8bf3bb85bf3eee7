"""What user code prints, as `check -v` shows it."""

from __future__ import annotations

import pytest

from shapecheck.worker.printed_lines import PrintedLines


def _shown(lines: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    printed = PrintedLines()
    for line in lines:
        printed.add(line)
    printed.close()
    return capsys.readouterr().err.splitlines()


def test_a_few_lines_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert _shown(["loading", "shape (3, 4)"], capsys) == ["loading", "shape (3, 4)"]


def test_many_lines_do_not_flood_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _shown([f"step {number}" for number in range(1000)], capsys)
    assert shown[:2] == ["step 0", "step 1"]
    assert shown[100:] == ["(your code printed 900 more lines, repeated or beyond the first 100)"]


def test_what_each_evaluation_prints_again_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _shown(["tracing", "tracing"], capsys)
    assert shown == ["tracing", "(your code printed 1 more line, repeated or beyond the first 100)"]


def test_a_long_line_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = _shown(["x" * 10_000], capsys)
    assert len(shown) < 250
    assert shown.endswith("(10000 characters)")
