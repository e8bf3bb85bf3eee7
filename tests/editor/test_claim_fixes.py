"""What the editor offers to write in place of a false claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shapecheck.claims import read_module
from shapecheck.editor.claim_fixes import edits_of, ignore_comment, true_shape
from shapecheck.model import Finding, Module, Span


def finding(text: str, claimed: str, observed: str, code: str = "SC201") -> tuple[Finding, Module]:
    """A finding about `claimed`, which stands in the one line of the text."""
    start = text.index(claimed) + 1
    span = Span(1, start, 1, start + len(claimed))
    about = Finding(code=code, severity="error", path="m.py", span=span, message="", claimed=claimed, observed=observed)
    return about, read_module("m.py", text.encode())


@pytest.mark.parametrize(
    ("claimed", "observed", "fixed"),
    [
        ("(b, t)", "(t, b)", "(t, b)"),
        ("(h, s)", "(s, heads=4)", "(s, heads)"),
        ("(d,)", "(b, d)", "(b, d)"),
        ("(b, d)", "(b,)", "(b,)"),
        ("[B, T]", "(B, T, 3*C=96)", "[B, T, 3*C]"),
        ("[B]", "(B, 7)", "[B, 7]"),
        ("f32[b, s]", "(s, b)", "f32[s, b]"),
        ('Float[Array, "b d"]', "(b, 2*d)", 'Float[Array, "b 2*d"]'),
        ("Float[Array, 'b']", "(b, s - 1)", "Float[Array, 'b s-1']"),
        ("shape: (a, b)", "(b, a)", "shape: (b, a)"),
    ],
)
def test_the_true_shape_is_written_as_the_claim_is(claimed: str, observed: str, fixed: str) -> None:
    edit = true_shape(*finding(f"x = f(y)  # {claimed}", claimed, observed))
    assert edit is not None
    assert edit.replacement == fixed


@pytest.mark.parametrize(
    ("claimed", "observed", "code"),
    [
        ("(b, t)", "float32", "SC206"),  # of a dtype
        ("(a, b) -> (b, a)", "(a, b)", "SC201"),  # which of the two is wrong nobody knows
        ("B x T x C", "(B, C)", "SC201"),
        ("(b, t)", "tuple(float32[b], float32[t])", "SC209"),
        ("(b, t)", "(b, floordiv(t, 2))", "SC201"),  # nobody writes that in a claim
        ('Float[Array, "b t"]', "(b, max(t, 2))", "SC202"),
    ],
)
def test_what_is_not_plain_is_left_to_people(claimed: str, observed: str, code: str) -> None:
    assert true_shape(*finding(f"x = f(y)  # {claimed}", claimed, observed, code)) is None


def test_a_fix_of_the_rule_comes_in_place_of_ours() -> None:
    about, module = finding("x = f(y)  # (a, b)", "(a, b)", "(b, a)")
    own = true_shape(about, module)
    assert own is not None
    fixed = replace(about, fix=(replace(own, replacement="(the rule's)"),))
    assert [title for title, _ in edits_of(fixed, module)] == ["Write the true shape: (the rule's)"]


def test_an_ignore_comment_is_completed() -> None:
    about, module = finding("x = f(y)  # (a, b)  # shapecheck: ignore[SC206]", "(a, b)", "(b, a)")
    edit = ignore_comment(about, module)
    assert (edit.span.column, edit.replacement) == (21, "# shapecheck: ignore[SC206, SC201]")
