"""What the editor offers to do about a finding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shapecheck.claims import read_module
from shapecheck.editor.code_actions import edits_of, ignore_comment
from shapecheck.model import Edit, Finding, Module, Span


def finding(text: str, claimed: str, observed: str, code: str = "SC201") -> tuple[Finding, Module]:
    """A finding about `claimed`, which stands in the one line of the text."""
    start = text.index(claimed) + 1
    span = Span(1, start, 1, start + len(claimed))
    about = Finding(code=code, severity="error", path="m.py", span=span, message="", claimed=claimed, observed=observed)
    return about, read_module("m.py", text.encode())


@pytest.mark.parametrize(("code", "title"), [("SC201", "Write the true shape: (b, a)"), ("SC401", "Fix SC401")])
def test_the_fix_of_a_finding_is_offered_by_what_it_writes(code: str, title: str) -> None:
    about, module = finding("x = f(y)  # (a, b)", "(a, b)", "(b, a)", code)
    assert list(edits_of(about, module)) == []  # its author has to decide
    fix = (Edit(about.span, "(b, a)"),)
    assert list(edits_of(replace(about, fix=fix), module)) == [(title, fix)]


def test_an_ignore_comment_is_completed() -> None:
    about, module = finding("x = f(y)  # (a, b)  # shapecheck: ignore[SC206]", "(a, b)", "(b, a)")
    edit = ignore_comment(about, module)
    assert (edit.span.column, edit.replacement) == (21, "# shapecheck: ignore[SC206, SC201]")
