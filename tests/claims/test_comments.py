"""What the text of a comment states, dialect by dialect, and how surely."""

from __future__ import annotations

import pytest

from shapecheck.claims.comment_lines import looks_like_code, split_comment
from shapecheck.claims.comment_text import read_comment

SHAPES = {
    # brackets alone
    "(batch, time, width)": ["batch time width"],
    "[rows, cols]": ["rows cols"],
    "(n_rows,)": ["n_rows"],
    "[bs]": ["bs"],
    "(K)": ["K"],
    "(512,)": ["512"],
    "()": [""],
    "(2, n, 7)": ["2 n 7"],
    "(..., n, m)": ["... n m"],
    "[*batch, dim]": ["*batch dim"],
    "(batch, 3*heads, len(xs), self.n_basis)": ["batch 3*heads len(xs) self.n_basis"],
    "[B, T', 2C, H//2 + 1]": ["B T' 2*C H//2+1"],
    "(b, k=3, d=D/2)": ["b k=3 d=D/2"],
    "[T B]": ["T B"],
    "(time steps, num units)": ["time_steps num_units"],
    "(b, h, w).": ["b h w"],
    "(in_channels, size_1, ..., size_N)": ["in_channels ..."],
    "`(b, s)`": ["b s"],
    "[n, c, dk/dk/dv]": [],  # of three arrays, one by one
    "[n, c, dk/h]": ["n c dk/h"],
    # no bracket
    "b, t, c": ["b t c"],
    "shape: B x T x C": ["B T C"],
    # markers
    "shape: (b, t)": ["b t"],
    "Shape [b, t]": ["b t"],
    "shape=(b, t)": ["b t"],
    "new shape is (b, t)": ["b t"],
    "x.shape = (b, t)": ["b t"],
    "x.shape == (b, t)": ["b t"],
    "x's shape is now (b, t)": ["b t"],
    "the shape of x is (b, t)": ["b t"],
    "weights of shape (heads, d)": ["heads d"],
    "an array with shape [weird, thing]": ["weird thing"],
    "a [b, t]-shaped mask": ["b t"],
    "(b,) shaped counts": ["b"],
    # labels
    "x: (b, t)": ["b t"],
    "logits (b, vocab)": ["b vocab"],
    "2. Attention: [b, heads, q, k]": ["b heads q k"],
    "mean and stddev: (b, latent_dim)": ["b latent_dim"],
    # a formula
    "W^T W shape: (m, m)": ["m m"],
    "q @ k.T: (batch, t, s)": ["batch t s"],
    # arrows
    "(b, t) -> (t, b)": ["t b"],
    "[b, t] --> [b, t, d] => [b, d]": ["b d"],
    "→ [b, t]": ["b t"],
    "-> (b,), (b, t)": ["b", "b t"],
    "Flatten the image [b, h, w] -> [b, h*w]": ["b h*w"],
    "from (b, t) to (t, b)": ["t b"],
    "Transpose to [b, t] and apply the mask": ["b t"],
    "Reshape to [b, t, h], then transpose to [b, h, t]": ["b h t"],
    "split into (b, t, h) and then flatten into (b*t, h)": ["b*t h"],
    "(n, k) x (k, m) -> (n, m)": ["n m"],
    "[n, k] @ [k, m] = [n, m]": ["n m"],
    # several
    "(b, t), (b, s)": ["b t", "b s"],
    "(b, t) and (b, s)": ["b t", "b s"],
    "(b, t) or (t,)": ["b t", "t"],
    "(c, q) flattened": ["c q"],
    "of shape (b, t) dense or (t,) sparse": ["b t", "t"],
    "q (b, t), k (b, s)": ["b t", "b s"],
    "q: (b, t); k: (b, s)": ["b t", "b s"],
    # prose around it
    "(b, t) of the padded batch": ["b t"],
    "(b, t), float32": ["b t"],
    "[b, t, 2]: start and end": ["b t 2"],
    "attention scores [b, heads, t, t]": ["b heads t t"],
    "distance to the sun (vector, au) shape (b,)": ["b"],
    "attention scores (batch, time) or None": ["batch time"],
    # dtypes
    "f32[b, t]": ["b t"],
    "int32[b] token counts": ["b"],
    'Float[Array, "b t"]': ["b t"],
    'PyTree[Float[Array, "n ..."]]': ["n ..."],
    # beside what is no shape
    "[b, h, q] (b=batch, h=heads)": ["b h q"],
    "10000 ** (2i / dim), [dim/2]": ["dim/2"],
    "logits - (b, vocab)": ["b vocab"],
    "(b, t) (usually)": ["b t"],
    "(b=4, t=8)": ["b=4 t=8"],
    "(nm, k)": ["nm k"],
    "s32[b, t]": ["b t"],
}

READINGS = {
    "(n, 1, ..., 1)": ["n 1 1", "n 1:", "n"],
    # axes that may be left out
    "[(batch,) mul]": ["batch mul", "mul"],
    "([b], t, [q], c)": ["b t q c", "b t c", "t q c", "t c"],
    "(batch?, seq, dim)": ["batch seq dim", "seq dim"],
    "((timesteps), features)": ["timesteps features", "features"],
    "([b,] t, c)": ["b t c", "t c"],
    "(n[, d])": ["n d", "n"],
    "(b, t)": ["b t"],
    # a product, or an axis each
    "[s x k]": ["s k", "s*k"],
    "[s x k, d]": ["s*k d"],
    # axes of one size
    "(d, ..., d, out)": ["d d out", "d: out"],
    "(c, d, d, ..., d)": ["c d d d", "c d:"],
    "(d, ..., out)": ["d ... out"],
    # pairs of axes, and what goes on so
    "(b, h, h, w, w, ...)": ["b h h w w", "b h h w w ..."],
    "(h, w, ...)": ["h w ..."],
    # as many ones as it takes to broadcast
    "(n, 1, 1, ...)": ["n 1:", "n"],
    "(n, 1, ...)": ["n 1 ..."],
    # words that are one axis or several
    "of shape [batch steps]": ["batch_steps", "batch steps"],
    "shape (batch size)": ["batch_size", "batch size"],
    "of shape [batch seq_len dim]": ["batch seq_len dim", "batch_seq_len_dim"],
    # the keys of attention
    "(s, h, d) keys": ["s h d"],
    # what `vmap` takes away
    "shape (n_points, _batch_)": ["n_points _batch_", "n_points"],
    "shape (n_points, _batch)": ["n_points _batch"],
    "[c, (dim)^(order-1), out]": ["c dim**(order-1) out", "c dim:order-1 out"],
    "[c, dim^(order-1), out]": ["c dim**(order-1) out"],
    "[c, (x.dim)^(order-1), out]": ["c x.dim**(order-1) out", "c x.dim:order-1 out"],
    "[c, x.dim^(order-1), out]": ["c x.dim**(order-1) out"],
}

NOTHING = [
    "(B), T, D ==> (B,) D",
    "(B,) T, D",
    "where pred[k] uses what came before",
    "(optional)",
    "mask: (optional)",
    "the mask (see below)",
    "(e.g. for images)",
    "TODO(alice): tidy (and test)",
    "as in Doe et al. (2017)",
    "[3]",
    "[Doe and Roe, 1999]",
    "[0, 1]",
    "in [-1, 1]",
    "[-1, 1] -> [0, 1]",
    "(0.5, 0.5)",
    "[0, 1, ..., n - 1]",
    "x[b, t]",
    "f(x, y)",
    "x[0, :, None]",
    "N(mu, sigma)",
    "p(y | x)",
    r"$(x_0, \ldots, x_n)$",
    "(a^T b)^2 / (c + d)",
    "shift by (n, m)",
    "mean over (batch, time)",
    "a tuple (carry, outputs)",
    "(i, j) pairs",
    "the (image, label) keys",
    "(loss, grads)",
    "sorted (row, value) triples",
    "values between [lo, hi]",
    "(b, t) + offsets.shape",
    "(n, k) @ (k, m)",
    "(q, n) < (q, r)",
    "(b, t) -> flattened",
    "B x T",
    "hello, world",
    "n x m, C-order",
    "first, we do this",
    "",
    "#",
    "hgqk, kh1d -> qhgd (h=h_v, g=n_rep)",
    "[l, l-1, ..., 1]",
    "[k, 2*k, ..., n*k]",
    "10000 ** (2i / dim)",
    "1 / (2 * d)",
    "(nA / um^2)",
    "(mV)",
    "(m/s)",
    "area [m^2]",
    "stiffness [Nm^2]",
    "(-pi, pi)",
    "{(a, b) -> (c, d)}",
    "{[b, t], [b, d]}",
    "[b] + [t]",
    "(b, t, f(x), [c])",
    "(..., {1}, ..., [n])",
    "[c] + [d]*order",
    "[e, k]*[e, 1]",
    "[in steps]",
    "[see batch size]",
    "of shape batch_shape + (n, n)",
]

HEDGED = [
    "usually of shape (b, t)",
    "typically (batch, t)",
    "e.g. of shape (b, t)",
    "for example of shape (b, t)",
    "shape (b, t), typically",
    "(b, t) in most cases",
    "this handles the case: x.shape = (b, t)",
    "this handles the case: y.shape = (b,), x.shape = (b, t)",
    "we'll map over it and make x.shape = (b, t)",
    "in the batched case of shape (b, t)",
    "(b, t) (usually)",
    "([b], n)",
    "Transpose to (b, t) before ravel",
    "(t,) at most",
    "Transpose to [b, t] and convert to rows",
]

CODE = [
    "y = f(x, (b, t))",
    "y = x[b, t]",
    "return (b, t)",
    "foo(b, t)",
    "foo(b, t),",
    "x, y = (b, t)",
    "for x in (b, t):",
    "assert x == (b, t)",
    "def f(b, t):",
    "), (b, t)",
    "f(",
    "x += (b, t)",
]


def _specs(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    return [str(shape.spec) for segment in read_comment(text, known) for shape in segment.shapes]


@pytest.mark.parametrize(("text", "specs"), READINGS.items())
def test_a_text_may_mean_several_shapes(text, specs):
    ((shape,),) = (segment.shapes for segment in read_comment(text))
    assert [str(spec) for spec in (shape.spec, *shape.readings)] == specs


@pytest.mark.parametrize("text", HEDGED)
def test_what_need_not_hold_is_hedged(text):
    assert {segment.hedged for segment in read_comment(text)} == {True}
    assert not any(segment.hedged for segment in read_comment("where x has shape (b, t)"))


def test_names_known_as_dims_are_no_units():
    assert _specs("(ms / kg)", frozenset({"ms"})) == ["ms/kg"]


@pytest.mark.parametrize(("text", "specs"), SHAPES.items())
def test_a_comment_states(text, specs):
    assert _specs(text) == specs


@pytest.mark.parametrize("text", NOTHING)
def test_a_comment_states_no_shape(text):
    assert _specs(text) == []


@pytest.mark.parametrize("text", CODE)
def test_code_that_is_switched_off(text):
    assert looks_like_code(text)


@pytest.mark.parametrize("text", ["x.shape = (b, t)", "shape = (b, t)", "x: (b, t)", "(b, t)", "returns (b, t)"])
def test_what_is_not_code(text):
    assert not looks_like_code(text)


def test_known_names_tell_a_shape_from_a_word():
    assert _specs("mask: (padding)") == []
    assert _specs("mask: (padding)", frozenset({"padding"})) == ["padding"]
    assert _specs("(left, right)") == []
    assert _specs("(left, right)", frozenset({"left"})) == ["left right"]


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("f32[b, t]", "Float32"),
        ("(b, t), int32", "Int32"),
        ("(b, t) bool.", "Bool"),
        ("[b], dtype=jnp.bfloat16", "BFloat16"),
    ],
)
def test_dtypes(text, dtype):
    assert [shape.dtype for segment in read_comment(text) for shape in segment.shapes] == [dtype]


def test_a_word_behind_the_bracket_is_no_dtype_if_the_sentence_goes_on():
    assert [shape.dtype for segment in read_comment("(b, t) int positions") for shape in segment.shapes] == [""]


@pytest.mark.parametrize(
    ("comment", "parts"),
    [
        ("# (b, t)  # noqa: E501", ["(b, t)"]),
        ("# noqa  # (b, t)", ["(b, t)"]),
        ("# (b, t)  # shapecheck: ignore[SC201]", ["(b, t)"]),
        ("# type: ignore[attr]  # (b, t)", ["(b, t)"]),
        ("# (b, t)  #  pylint: disable=x", ["(b, t)"]),
        ("#(b, t)", ["(b, t)"]),
        ("#: (b, t)", ["(b, t)"]),
        ("## (b, t)", ["(b, t)"]),
        ("# (#b, t)", ["(#b, t)"]),
        ("# noqa", []),
        ("#", []),
    ],
)
def test_parts_for_tools_are_cut_off(comment, parts):
    found = split_comment(comment)
    assert [part.text.strip() for part in found] == parts
    assert all(comment[part.offset :].startswith(part.text) for part in found)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "([" * 3000,
        "(a, " * 2000,
        "a, " * 10000,
        "x x " * 5000,
        "(a, b), " * 2000,
        "(a) -> " * 3000,
        "shape " * 5000 + "(",
        "f32[" * 3000,
        'Float[Array, "' * 2000,
        "# " * 5000,
        "a." * 10000,
        "a = " * 5000,
        "-" * 20000,
        " " * 20000 + "(a)",
    ],
)
def test_hostile_text_ends_quickly(text):
    # Quadratic work would take minutes here, so that the suite's own time limit is the assertion.
    assert looks_like_code(text) in {True, False}
    for part in split_comment("# " + text):
        read_comment(part.text)
        assert read_comment(part.text[:1900]) is not None


@pytest.mark.parametrize(
    ("comment", "shapes"),
    [
        ("Let b=batch_size, t=seq_len, and d=width.", []),
        ("where b=batch_size, t=seq_len", []),
        ("the output shape(s) and dtype(s)", []),
        ("b=batch_size, t=seq_len", ["b=batch_size, t=seq_len"]),
        ("shape (s)", ["(s)"]),
    ],
)
def test_legends_and_plurals_are_no_shapes(comment: str, shapes: list[str]) -> None:
    assert [bracket.text for segment in read_comment(f" {comment}") for bracket in segment.shapes] == shapes
