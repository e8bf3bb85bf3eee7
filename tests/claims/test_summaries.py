"""What the first sentence of a docstring ends with, or says of the result, is the shape of what is returned."""

from __future__ import annotations

import pytest

SOURCE = 'def f(x, mask, n_node):\n    """{}"""\n    return g(x)\n'


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("In and out degree of every node, [n_node, 2].", ["the returned value: n_node 2"]),
        ("Scores of `x`, an (n, k) array.", ["the returned value: n k"]),
        ("d output / d input for every point: (batch, out_dim, in_dim).", ["the returned value: batch out_dim in_dim"]),
        ("Continue it by n steps; the result is [B, n_steps].", ["the returned value: B n_steps"]),
        ("Two views of it. The output has shape (B, H, W).", ["the returned value: B H W"]),
        ("Evaluate all.\n\n    mask is (P, S); the result is (P, E).\n    ", ["mask: P S", "the returned value: P E"]),
        ("Rearrange x (n, c, h, w) into a grid in one x (c, n * h, w).", ["x: n c h w"]),
        ("Draw points of the surface, shape (n_points, 3), float32.", ["the returned value: n_points 3"]),
        ("Packs x -> (N, 3) and returns it.", ["the returned value: N 3"]),
        ("Build the design matrix of shape (n_node, 4).", ["the returned value: n_node 4"]),
        # what is taken, or listed, or only cited
        ("Compute the norms of rows of shape (n_node, 4).", []),
        ("Normalize an array of shape (n_node, 4).", []),
        ("Packs x -> (N, 3) and delegates to the core.", []),
        ("Join all of it. The output is the flat (k, p, b) layout: first over k.", []),
        ("The norms of the rows of x, (n, d).", []),
        ("Move it by the vector, (dx, dy).", []),
        ("Sum over all pairs, (i, j).", []),
        ("Log of the ratio, see Eq. (n, m).", []),
        ("Usually the means, (n, d).", []),
        ("The (n_node, k) shape, as a plain tuple.", []),
        ("Draw the (images, labels).", []),
        ("The result is used in (a, b).", []),
        ("Two views of it. Each output has shape (B, H, W), and they are stacked.", []),
        ("Sum it. With keepdims the result is (n, 1).", []),
    ],
)
def test_a_summary_may_end_with_the_shape_of_the_result(read, summary, expected) -> None:
    assert [f"{claim.target}: {claim.spec}" for claim in read(SOURCE.format(summary)).claims] == expected


def test_a_function_of_sizes_gives_what_its_summary_calls_so(read) -> None:
    source = 'def f(n_step, k):\n    """Real Fourier columns of shape (n_step, k)."""\n    return g(n_step, k)\n'
    assert [f"{claim.target}: {claim.spec}" for claim in read(source).claims] == ["the returned value: n_step k"]
    assert not read(source.replace("def f(", "def f(x, ")).claims


def test_where_a_section_says_it_the_summary_does_not(read) -> None:
    text = "Means over time, (batch, time).\n\n    Returns:\n        (batch, d)\n    "
    assert [claim.spec for claim in read(SOURCE.format(text)).claims] == ["batch d"]


def test_equations_of_a_file_are_kept_where_their_names_are_dims(read) -> None:
    text = '"""M = H * D model size; loss = a + b."""\n\ndef f(x):\n    # x: (B, T, M), T=F*hop\n    return x\n'
    assert read(text).equations == (("T", "F*hop"), ("M", "H * D"))
