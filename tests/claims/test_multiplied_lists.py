"""Shapes with signs of multiplication and no bracket: `B x D` may be a product, but not where a file has several."""

from __future__ import annotations

import pytest

MOCO = '''
def contrast(q, k, queue):
    """Contrast each query with its key.

    Args:
        q: queries, B x D
        k: B x D
        queue: negatives, Q x D
        labels: B
    """
    pos = jnp.sum(q * k, axis=-1, keepdims=True)  # B x 1
    neg = q @ queue.T  # B x Q
    logits = jnp.concatenate([pos, neg], axis=1)  # B x (1 + Q)
    top, place = jax.lax.top_k(neg, 3)  # both B x 3
    loss = entropy(logits)  # B
    return loss.mean()
'''


def test_letters_that_several_texts_multiply_are_dims(read) -> None:
    found = [(claim.target, claim.spec) for claim in read(MOCO).claims]
    assert found == [
        ("q", "B D"),
        ("k", "B D"),
        ("queue", "Q D"),
        ("pos", "B 1"),
        ("neg", "B Q"),
        ("logits", "B 1+Q"),
        ("top, place", "B 3"),
        ("loss", "B"),
    ]


def test_so_many_numbers_as_names_have_one_axis_at_most(read) -> None:
    source = "lim = (0.0, -1.0)  # [lo, hi]\nx = jnp.ones((2, 3))  # [lo, hi]\ntable = [[0, 1], [1, 2]]  # [lo, hi]\n"
    assert [claim.target for claim in read(source).claims] == ["x", "table"]


@pytest.mark.parametrize(
    "source",
    [
        "y = n * m  # N x M\n",
        "a = f(x)  # N\nb = g(x)  # B\n",
        "area = w * h  # W x H\nvolume = area * d  # area x D\n",
    ],
)
def test_one_product_alone_is_none(read, source) -> None:
    assert not read(source).claims


def test_there_may_be_so_many_indices_as_capital_letters_say(read) -> None:
    source = "idx = f(x)  # (N, M) indices\npair = g(x)  # (i, j) indices\n"
    marked = read("idx = f(x)  # shape (N, M) indices\n")
    assert [claim.loose for claim in marked.claims] == [False]
    # They may as well be as many pairs, and a letter may name the value or what it counts.
    assert [(claim.spec, claim.loose) for claim in read(source).claims] == [("N M", True)]
    assert [claim.target for claim in read(MOCO).claims if claim.notation == "comment" and claim.loose] == ["loss"]
    assert "top, place" in [claim.target for claim in read(MOCO).claims]  # "both", which says it plainly


def test_one_letter_behind_a_marker_is_a_dim_that_others_have(read) -> None:
    head = "from jaxtyping import Array, Float\n"
    source = head + "def f(x: Float[Array, 'R S']):\n    t = x.sum(1)  # shape: {}\n    return t\n"
    assert [claim.spec for claim in read(source.format("R")).claims] == ["R S", "R"]
    assert [claim.spec for claim in read(source.format("Q")).claims] == ["R S"]
