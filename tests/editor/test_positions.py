"""Lines and columns, as people, Python and the protocol count them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from shapecheck.editor.positions import EditorText, MovedLines, column_of_bytes
from shapecheck.model import Span

TEXT = "a = '\U0001f600é'  # (b,)\r\nsecond\rthird\n"


@pytest.mark.parametrize(("encoding", "extra"), [("utf-8", 4), ("utf-16", 1), ("utf-32", 0)])
def test_columns_are_counted_in_the_units_that_were_agreed_on(encoding: str, extra: int) -> None:
    text = EditorText(TEXT, encoding)
    column = text.lines[0].index("b,") + 1
    position = text.position(1, column)
    assert position == types.Position(line=0, character=column - 1 + extra)
    assert text.place(position) == (1, column)


def test_lines_end_as_the_protocol_has_them_and_not_at_a_form_feed() -> None:
    assert EditorText("a\x0cb\r\nc\rd\u2028e\n").lines == ("a\x0cb", "c", "d\u2028e", "")


def test_what_lies_behind_the_end_is_at_the_end() -> None:
    text = EditorText("ab")
    assert text.position(1, 99) == types.Position(line=0, character=2)
    assert text.place(types.Position(line=7, character=3)) == (8, 1)


def test_columns_of_python_are_bytes() -> None:
    assert column_of_bytes("é = 1", 3) == 3
    assert column_of_bytes("e = 1", 2) == 3


LINES = st.lists(st.sampled_from(["a", "b", "", "c = 1"]), max_size=12)


@given(LINES, LINES)
def test_a_line_that_moved_is_the_same_line(old: list[str], new: list[str]) -> None:
    moved = MovedLines(old, new)
    seen = [(line, moved.forward(line)) for line in range(1, len(old) + 1)]
    for line, now in seen:
        if now is not None:
            assert old[line - 1] == new[now - 1]
            assert moved.back(now) == line
    order = [now for _, now in seen if now is not None]
    assert order == sorted(set(order))


@given(LINES, LINES, st.integers(0, 12))
def test_inserted_lines_move_what_is_below(old: list[str], block: list[str], at: int) -> None:
    marked = ["# mark", *old[:at]]
    rest = [f"{line} {number}" for number, line in enumerate(old[at:])]
    moved = MovedLines([*marked, *rest], [*marked, *(f"new {line}" for line in block), *rest])
    for number in range(len(rest)):
        assert moved.forward(len(marked) + number + 1) == len(marked) + len(block) + number + 1


def test_a_span_moves_only_as_a_whole() -> None:
    old = ["def f(", "    x,", "):", "    pass"]
    span = Span(1, 5, 3, 3)
    assert MovedLines(old, ["# above", *old]).span(span) == Span(2, 5, 4, 3)
    assert MovedLines(old, ["def f(", "    y,", "):", "    pass"]).span(span) is None
    assert MovedLines(old, ["def f(", "    x,", "    # between", "):", "    pass"]).span(span) is None
