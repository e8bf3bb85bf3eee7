"""Shapes in docstrings that nothing calls so: read where authors put them, tentative unless the file has such a dim."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.model import Module

Describe = Callable[..., list[str]]

PARAMETERS = {
    "x: (B, T, D) tokens": "[B T D]: param x",
    "x: More tokens, if there are any. [B, T, D]": "[B T D]: param x",
    "x: [B, T]": "[B T]: param x",
    "x: `(B, T)` tokens": "[B T]: param x",
    "x: ``(T, D)`` tokens": "[T D]: param x",
    "x: rotations :math:`(..., 3)`": "[... 3]: param x",
    "x: with shape :math:`(\\text{num\\_states}, \\text{dim})`": "[num_states dim]: param x",
    "x: array of :math:`(N \\times 3)` points": "[N 3]: param x",
    "x: [num_points, num_frames], bool, what is seen": "Bool[num_points num_frames]: param x",
    "x: [B, 4] or None": "[B 4]: param x",
    "x (B, N, D): queries or keys": "[B N D]: param x",
    "x: The stack of matrices (k, m) [g, k, m].": "[g k m]: param x",
    "x: Optional (batch, seq)": "[batch seq]: param x",
    "x (state_dim,): the mean": "[state_dim]: param x",
    "x (jax.Array): [B, T] tokens": "[B T]: param x",
    "x (array, (num_steps, obs_dim)): the data": "[num_steps obs_dim]: param x",
    "x (complex64): diagonal of the state      (P,)": "[P]: param x",
    "x: weight matrix (n, m)": "[n m]: param x",
    "x: cost of each edge [n_rows x n_cols]": "[n_rows n_cols]: param x",
    "x: the (N, D) array of points": "[N D]: param x",
    "x: A [q, k] dimensional array": "[q k]: param x",
    "x: N x D matrix": "[N D]: param x",
    "x: n-by-2 array of points": "[n 2]: param x",
    "x: N x 2 X B x B array of areas": "[N 2 B B]: param x",
    "x: (B, C) one-hot or multi-hot array": "[B C]: param x",
    "x: (B, C) real or complex array": "[B C]: param x",
    "x: distribution function (9, n_x, n_y)": "[9 n_x n_y]: param x",
    "x: mapping from rows to keys, shape (n,).": "[n]: param x",
    "x: (n, d) prior weights (Bayes-like).": "[n d]: param x",
    "x: batch x num_tokens x hidden_dim": "[batch num_tokens hidden_dim]: param x",
    "x: array in shape B x 4": "[B 4]: param x",
    "x: (4, 4) the transform as a matrix": "[4 4]: param x",
    "x: target values [num_samples, y_dim]": "[num_samples y_dim]: param x",
    "x: float tensor, usually of shape [N, M]": "[N M]: param x",
    "x: feature vectors [B, D]": "[B D]: param x",
    "x: (T, N, 3) array or None": "[T N 3]: param x",
    "x: (n_tips - 1,) index of the left child": "[n_tips-1]: param x",
    "x: (n,) indices into the table": "[n]: param x",
    "x `[..., 3]`: coordinates": "[... 3]: param x",
    "x `float` `[n_rays, 3]`: where they begin": "[n_rays 3]: param x",
    "x: positions in the frame (nstep, norbit, xyz)": "[nstep norbit 3]: param x",
    "x [n_nodes, hidden]-ndarray: of each node": "[n_nodes hidden]: param x",
}
NO_SHAPES = [
    "x: rewards at times [1, ..., T].",
    "x: values [n, d]",
    "x: a 6D velocity vector [v, ω].",
    "x: the default values [num_samples, y_dim]",
    "x: values from time [0, ..., T-1] on",
    "x: rate in [0, 1]",
    "x: radius of the grid [AU].",
    "x: distances [kpc]",
    "x: Energy density array [geometric units].",
    "x: the score function (x, t)",
    "x: in the interval (a, b)",
    "x: of which the last axis has the lower and upper bounds [L, U].",
    "x: one of (min, max)",
    "x: pressure in [bar]",
    "x: length [m]",
    "x: width [cm-1]",
    "x: (x, y) position",
    "x: Target position (row, col)",
    "x: (i, j) indices of the pair",
    "x: (i,) index",
    "x: pair (b, t)",
    "x: NamedTuple (T, Z)",
    "x: the namedtuple (T, Z)",
    "x: size as a tuple (height, width)",
    "x: (T, N, 3) array or list",
    "x: (T, N, 3) points or x0.shape",
    "x [str]: what to make",
    "x [default 3]: how many",
    "x (int): (n, m) grid",
    "x (Callable): (n, d) to (n,)",
    "x: function from (n, d) arrays to numbers",
    "x: (optional)",
    "x: the value. Defaults to (1, 1)",
    "x: (source, target) names",
    "x: whether (b, t) if it is causal",
    "image_size: (height, width) of the image",
    "strides: (h, w)",
]


@pytest.mark.parametrize(("line", "expected"), PARAMETERS.items())
def test_a_bracket_where_shapes_stand_is_one(line: str, expected: str, described: Describe) -> None:
    source = f'def f(x, image_size, strides):\n    r"""Do it.\n\n    Args:\n        {line}\n    """\n'
    assert described(source) == [expected]


@pytest.mark.parametrize("line", NO_SHAPES)
def test_other_brackets_are_none(line: str, described: Describe) -> None:
    source = f'def f(x, image_size, strides):\n    r"""Do it.\n\n    Args:\n        {line}\n    """\n'
    assert described(source) == []


def test_either_of_two_shapes_may_have_a_word_behind_it(described: Describe) -> None:
    source = 'def f(x):\n    """Do it.\n\n    Args:\n        x: (T, N, 3) points or (N, 3) alone\n    """\n'
    assert described(source) == ["[T N 3]: param x", "[N 3]: param x"]


def test_what_has_another_type_is_no_array(described: Describe) -> None:
    source = '''
        def f(x: tuple[int, int], y: jax.Array):
            """Do it.

            Args:
                x: (height, width) of it
                y: (height, width) of it
            """
    '''
    assert described(source) == ["[height width]: param y"]


def test_one_is_sure_where_the_file_has_such_a_dim(read: Callable[[str], Module]) -> None:
    source = '''
        def f(x, y):
            """Do it.

            Args:
                x: [B, T] tokens
                y: [N, M] weights
            """
            B, T = x.shape
    '''
    assert {claim.target: claim.sure for claim in read(source).claims} == {"x": True, "y": False}


RESULTS = {
    "alone": ("(M, N) float32 scores.", "return a", ["[M N]: return"]),
    "named": ("scores: (M, N) the scores", "return a", ["[M N]: return"]),
    "several, in their order": (
        "loss: a number\n        logits: [B, N, C] logits\n        boxes: [B, N, 4] boxes",
        "return a, b, c",
        ["[B N C] .1: return", "[B N 4] .2: return"],
    ),
    "several, by the names that are returned": (
        "b: [B, N] logits\n        a: [B] sums",
        "return a, b",
        ["[B N] .1: return", "[B] .0: return"],
    ),
    "in a column of their own": (
        "the matrices A (complex64), B (complex64)      (P,), (P, H)",
        "return a, b",
        ["[P] .0: return", "[P H] .1: return"],
    ),
    "not in a column": (
        "the matrices A (complex64), B (complex64) (P,), (P, H)",
        "return a, b",
        [],
    ),
    "respectively": (
        "The sums, the means and the rest, of\n        `([B, A], [B], [B, ...])`, respectively.",
        "return a, b, c",
        ["[B A] .0: return", "[B] .1: return", "[B ...] .2: return"],
    ),
    "in a row": (
        "the images (size, 8, 8, 3) and labels (size,)",
        "return a, b",
        ["[size 8 8 3] .0: return", "[size] .1: return"],
    ),
    "in a row, each with its verb": (
        "(mean, cov): mean is (B, N) and cov is (B, N, N).",
        "return a, b",
        ["[B N] .0: return", "[B N N] .1: return"],
    ),
    "in a row, by the names that are returned": (
        "b (B, N), and a (B, 3)",
        "return a, b",
        ["[B N] .1: return", "[B 3] .0: return"],
    ),
    "in a row, more than are returned": ("the images (B, 8, 8, 3) and labels (B, 2)", "return a", []),
    "in a row, at times": ("the images (B, 8, 8, 3) or labels (B, 2)", "return a, b", []),
    "in front of their colons": (
        "sums `[B]`: of all\n        total `float` `[]`: of these\n        parts [B, N]-array: each",
        "return a, b, c",
        ["[B] .0: return", "[B N] .2: return"],
    ),
    "below the word tuple": (
        "tuple:\n            - values (Array): of shape (n,).\n            - info (dict): more",
        "return a, b",
        ["[n] .0: return"],
    ),
    "at the end of the next line": ("xs (float32): the states\n            (L, P)", "return a", ["[L P]: return"]),
    "names of results": ("(loss, aux)", "return a, b", []),
    "names of results in a sentence": ("A tuple (params, state) of them.", "return a, b", []),
}


@pytest.mark.parametrize(("text", "code", "expected"), RESULTS.values(), ids=RESULTS.keys())
def test_results(text: str, code: str, expected: list[str], described: Describe) -> None:
    assert described(f'def f():\n    """Do it.\n\n    Returns:\n        {text}\n    """\n    {code}\n') == expected


def test_a_class_lists_its_fields_without_a_heading(described: Describe) -> None:
    source = '''
        class Board(NamedTuple):
            """The board. ``goal`` is an array of shape (2,).

            - cells: jax array (int32) of shape (n, m): what is
                on each of them.
            - name: `[B, N]` the text
            - other: array of shape (n,), which is no field
            Note: it has shape (n, n)
            """
            cells: jax.Array
            name: jax.Array
            goal: jax.Array
    '''
    assert described(source) == ["[2]: field goal", "[n m]: field cells", "[B N]: field name"]


PASSING = {
    "a parameter": ("Sort, where x is a matrix of shape (n, d).", "", ["[n d]: param x"]),
    "several of them": ("x is an array of shape (n,), y has shape (m,).", "", ["[n]: param x", "[m]: param y"]),
    "no parameter": ("Sort, where z is a matrix of shape (n, d).", "", []),
    "the result": ("Returns the [n, d] array of them.", "", ["[n d]: return"]),
    "several results": ("Returns the rows (n, d) and their sums (n,).", "", []),
    "a property": ("The mean, of shape ``(d,)``.", "@property", ["[d]: return"]),
    "a property that is the tuple itself": ("The (b, d) shape, as a plain tuple.", "@property", []),
    "no property": ("The mean, of shape ``(d,)``.", "@jit", []),
}


@pytest.mark.parametrize(("text", "decorator", "expected"), PASSING.values(), ids=PASSING.keys())
def test_what_a_text_says_in_passing(text: str, decorator: str, expected: list[str], described: Describe) -> None:
    assert described(f'{decorator}\ndef f(x, y):\n    """{text}"""\n    return g(x)\n') == expected


def test_what_stands_below_the_shape_of_a_parameter_says_when_it_is_used(described: Describe) -> None:
    text = "x : (n, 6)\n        Slopes; only read when level >= 1.\n    y : (n, 6)\n        or (n,) if level is 0.\n"
    source = f'def f(x, y):\n    """Do it.\n\n    Parameters\n    ----------\n    {text}    """\n'
    assert described(source) == ["[n 6]: param x", "[n 6]: param y", "[n]: param y"]


def test_a_claim_stands_where_its_text_was_written(read: Callable[[str], Module]) -> None:
    source = 'def f(x):\n    r"""Do it.\n\n    Args:\n        x: of shape :math:`(\\text{n\\_a}, 2)` here\n    """\n'
    (claim,) = read(source).claims
    line = source.splitlines()[claim.span.line - 1]
    assert line[claim.span.column - 1 : claim.span.end_column - 1] == r"(\text{n\_a}, 2)"
