"""The formats for people: carets stand under the span, and no text can play tricks on the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecheck.model import Finding, Report, Span, Summary
from shapecheck.report import concise, full
from shapecheck.report.terminal_text import cells

Make = Callable[..., Finding]


def report(finding: Finding, *lines: str) -> Report:
    return Report(findings=(finding,), summary=Summary(), unreached=(), entries=(), sources=((finding.path, lines),))


def excerpt(finding: Finding, line: str) -> tuple[str, str]:
    source, carets = full.render(report(finding, line)).splitlines()[1:3]
    return source, carets


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("    y = x + 1", "x + 1"),
        ("\ty = x", "x"),
        ("größe = x  # ü", "x"),
        ("日本 = x", "x"),
        ("a = 日本", "日本"),
        ("e\u0301 = x", "x"),
        ("a" * 300 + " = x", "x"),
        ("x = " + "b" * 300, "x"),
        ("日" * 300 + " = x + " + "b" * 300, "x"),
    ],
)
def test_carets_stand_under_the_span(line: str, marked: str, finding: Make) -> None:
    start = line.index(marked)
    span = Span(1, start + 1, 1, start + 1 + len(marked))
    source, carets = excerpt(finding(span=span, details=()), line)
    left = cells(carets) - cells(carets.lstrip(" |"))
    assert cells(source[: source.rindex(marked) if line.endswith(marked) else source.index(marked)]) == left
    assert carets.count("^") == cells(marked)
    assert cells(source) < 2 * 160 + 12


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first(finding: Make) -> None:
    _, carets = excerpt(finding(span=Span(1, 5, 3, 2), details=()), "y = f(")
    assert carets == "      |     ^^"


@pytest.mark.parametrize("span", [Span(1, 7, 1, 7), Span(1, 99, 1, 120), Span(1, 7, 1, 3)])
def test_a_span_outside_of_its_line_still_has_a_caret(span: Span, finding: Make) -> None:
    assert "^" in excerpt(finding(span=span, details=()), "y = f")[1]


@pytest.mark.parametrize("line", [0, 2, 99])
def test_a_line_that_is_not_there_gives_no_excerpt(line: int, finding: Make) -> None:
    text = full.render(report(finding(span=Span(line, 1, line, 2), details=()), "y = f"))
    assert text.count("\n") == 1


def test_colour_changes_nothing_but_the_colour(finding: Make) -> None:
    sample = report(finding(span=Span(1, 1, 1, 2)), "y = f")
    for render in (full.render, concise.render):
        painted = render(sample, color=True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render(sample)


@given(message=st.text(), detail=st.text(), path=st.text(min_size=1), line=st.text())
def test_no_text_breaks_the_lines_or_reaches_the_terminal_raw(message: str, detail: str, path: str, line: str) -> None:
    finding = Finding(
        code="SC201", severity="error", path=path, span=Span(1, 1, 1, 2), message=message, details=(detail,)
    )
    short, long = concise.render(report(finding, line)), full.render(report(finding, line))
    assert short.endswith("\n")
    assert short[:-1].splitlines() in ([short[:-1]], [])
    assert len(long.splitlines()) == 4
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", short + long)
