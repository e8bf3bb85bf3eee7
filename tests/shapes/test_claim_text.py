"""Claims with other dims, in the notation that they were written in."""

from __future__ import annotations

import pytest

from shapecheck.shapes.claim_text import split_annotation, split_comment


@pytest.mark.parametrize(
    ("text", "count", "dims", "expected"),
    [
        ("(b, t)", 2, ("t", "b"), "(t, b)"),
        ("[B,T]", 2, ("T", "B", "1"), "[T,B,1]"),
        ("(b, t)", 2, ("b",), "(b,)"),
        ("[B, T]", 2, ("B",), "[B]"),
        ("(b)", 1, ("t",), "(t)"),
        ("(b,)", 1, (), "()"),
        ("f32[b, 3]", 2, ("3", "b"), "f32[3, b]"),
        ("(B, T, H * V)", 3, ("B", "H * V", "T+1"), "(B, H * V, T + 1)"),
        ("(b, max(t, 1))", 2, ("max(t, 1)", "b"), "(max(t, 1), b)"),
        ("[B x T x C]", 3, ("B", "C", "T"), "[B x C x T]"),
        ("[BxTx3]", 3, ("B", "3", "T"), "[Bx3xT]"),
        ("(BxT)", 2, ("B", "2*T"), "(B x 2*T)"),
    ],
)
def test_comments_keep_their_notation(text: str, count: int, dims: tuple[str, ...], expected: str) -> None:
    parts = split_comment(text, count)
    assert parts is not None
    assert parts.with_dims(dims) == expected
    assert parts.spec_of(dims) is not None


@pytest.mark.parametrize("text", ["(b), (c)", "(b, t) -> (t)", "(b, t", "b t"])
def test_what_is_no_one_list_is_left(text: str) -> None:
    assert split_comment(text, 2) is None


def test_annotations_keep_class_and_quotes() -> None:
    parts = split_annotation("Float[Array, 'b  t']")
    assert parts is not None
    assert parts.with_dims(["t", "2 * b"]) == "Float[Array, 't 2*b']"
    assert split_annotation('Float[Array, "b " "t"]') is None
    assert split_annotation('tuple[Float[Array, "b"], Float[Array, "t"]]') is None
