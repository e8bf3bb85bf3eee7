"""Forms of comments that look alike: one tells a shape, its neighbour tells something else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Describe = Callable[..., list[str]]

BEHIND = {
    "x = f(y)  # (*shape, 2)": ["[*shape 2]: value f(y)"],
    "x = f(y)  # (*args, 2)": [],
    "x = f(y)  # (..., features[-1])": ["[... _]: value f(y)"],
    "x = f(y)  # (times[0], times[-1])": [],
    "x = f(y)  # n-by-2": ["[n 2]: value f(y)"],
    "x = f(y)  # an n-by-2 array": ["[n 2]: value f(y)"],
    "x = f(y)  # step-by-step": [],
    "x = f(y)  # N x D matrix": ["[N D]: value f(y)"],
    "x = f(y)  # batch x height x width": ["[batch height width]: value f(y)"],
    "x = f(y)  # a x b": [],
    "n_tokens, d = f(y)\nx = g(n_tokens)  # n_tokens, d": [],
    "x = f(y)  # batch x chunk size x n_tokens x dim": ["[batch chunk_size n_tokens dim]: value f(y)"],
    "x = f(y)  # B x T // n x D": ["[B T//n D]: value f(y)"],
    "x = f(y)  # B x (T - 1) // n x D": ["[B (T-1)//n D]: value f(y)"],
    "x = f(y)  # of B x (T**2 - 1) // n x D": [],
    "x = [\n    # (row, column, n_tokens)\n    (f(a), f(b), f(c)),\n]": [],
    "x = [\n    # (row, column, n_tokens)\n    f(a),\n]": ["[row column n_tokens]: value f(a)"],
    "x = f(jnp.zeros((n_tokens, d, *y.shape)))  # (n_tokens, d)": [
        "[n_tokens d]: value f(jnp.zeros((n_tokens, d, *y.shape)))"
    ],
    "x = f(y)  # BxTxD": ["[B T D]: value f(y)"],
    "x = f(y)  # [Nx3]": ["[N 3]: value f(y)"],
    "x = f(y)  # (B, HxW)": ["[B H*W]: value f(y)"],
    "x = f(y)  # BxTxD => BxDxT": ["[B D T]: value f(y)"],
    "x = f(y)  # (BxT, 1xB)": [],
    "x = f(y)  # 3x3, RxJS or Exp": [],
    "x = f(y)  # resized to HxW": [],
    "x = f(y)  # 2 x faster": [],
    "x = f(y)  # number of tokens [n_tokens]": ["[n_tokens]: value f(y)"],
    "x = f(y)  # atomic mass [u]": [],
    "x = f(y)  # into [num_samples, n_dims] shape": ["[num_samples n_dims]: value f(y)"],
    "x = f(y)  # in its new shape (n = 1)": [],
    "x = f(y)  # (n, m) or None": ["[n m]: value f(y)"],
    "x = f(y)  # slice of weights: (n, m)": [],
    "Mesh = Tuple[int, int]  # (n, m)": [],
    "x = f(a.shape[1:],  # (n, m)\n      b)": [],
    "a, b = f(y)  # both (n_tokens, d)": ["[n_tokens d]: value f(y)"],
    "a, b = f(y)  # 2x (n_tokens, d)": ["[n_tokens d]: value f(y)"],
    "x = f(y)  # [n_tokens, 1] ++ [n_tokens, d]": [],
    "x = f(y[:, None], w)  # y -> (n_tokens, 1)": ["[n_tokens 1]: value y[:, None] | value f(y[:, None], w)"],
    "x = f(y)  # y -> (n_tokens, 1)": ["[n_tokens 1]: value f(y)"],
    "x = jnp.full((2,), 1)  # (block_seq_idx, block_dim_idx)": [],
}
ABOVE = {
    "# fold them into the samples axis\n# [n_tokens, d]": ["[n_tokens d]: value f(y)"],
    "# map them to the range\n# [n_tokens, d]": [],
    "# Reshape to (n_tokens, 1, d) for the head": ["[n_tokens 1 d]: value f(y)"],
    "# Concatenate both to form (n_tokens, d)": ["[n_tokens d]: value f(y)"],
    "# One for each sample; [n_tokens, d].": ["[n_tokens d]: value f(y)"],
    "# Every other chunk: each [n_tokens, d]": ["[n_tokens d]: value f(y)"],
    "# Reshape y: (n_tokens, d)": ["[n_tokens d]: value f(y)"],
    "# Merge the last dimensions (n_tokens, d)": [],
    "# The sum over devices\n# will map an array of shape [n_devices, b] -> [b]": [],
    "# (1, 1, n) represent (head, query, key)": [],
    "# [n_tokens - 1, d],": [],
    "# x: [n, d]": ["[n d]: value f(y)"],
    "# Reshape last axis into (n_groups, d // n_groups)": [],
    "# Split the channel dimension to (n_groups, d)": [],
    "# heads - n x d x k": [],
}


@pytest.mark.parametrize(("source", "expected"), BEHIND.items())
def test_behind_code(source: str, expected: list[str], described: Describe) -> None:
    assert [claim.replace(" each", "") for claim in described(source + "\n")] == expected


@pytest.mark.parametrize(("comment", "expected"), ABOVE.items())
def test_above_code(comment: str, expected: list[str], described: Describe) -> None:
    assert [claim.replace(" each", "") for claim in described(f"{comment}\nx = f(y)\n")] == expected


def test_an_arrow_leads_to_several_results_with_names(described: Describe) -> None:
    source = "def f(x, key):\n    # x: (n, d) -> mean (d,), cov (d, d)\n    return x.mean(0), x.T @ x\n"
    expected = ["[n d]: param x", "[d] .0: return", "[d d] .1: return"]
    assert described(source) == expected
    assert described("def f(x, key):  # (n, d) -> (d,), (d, d)\n    return x.mean(0), x.T @ x\n") == expected


def test_names_at_the_end_of_a_line_have_the_shape_on_the_next(described: Describe) -> None:
    source = "def f(a, b):\n    # both a/b are\n    # [n, d]\n    c = a + b\n    return c\n"
    assert described(source.replace("both ", "")) == ["[n d]: param a", "[n d]: param b"]
    assert described(source) == ["[n d]: value a + b"]


def test_below_a_loop_and_above_another_shape_it_is_of_what_the_loop_has_left(described: Describe) -> None:
    source = "x = f(y)\nfor w in ws:\n    x = x @ w\n# (n, d)\nx = g(x)  # (n, 1)\n"
    assert described(source) == ["[n d]: x before 5", "[n 1]: value g(x)"]
    assert described(source.replace("  # (n, 1)", "")) == ["[n d]: value g(x)"]


def test_a_label_says_that_a_literal_is_a_shape(described: Describe) -> None:
    assert described("# q: [n, d]\nq = draw(key, (n, d))\n") == ["[n d]: value draw(key, (n, d))"]
    assert described("q = draw(key, (n, d))  # (n, d)\n") == []


def test_one_of_a_list_says_what_the_others_are(described: Describe) -> None:
    source = "def f(image, t):\n    # image: (n, 3), t: (nat, 3)\n    return image\n"
    assert described(source) == ["[n 3]: param image", "[nat 3]: param t"]
    assert described(source.replace("image: (n, 3)", "see (the, docs)")) == []


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# image: (784,), t: ()", ["[784]: param image", "[]: param t"]),
        ("# image: (784,), of digits", ["[784]: param image"]),
        ("# image: (784) digits", []),
        ("# image: [784], t: []", ["[784]: param image"]),
        (
            "# image: (n, d) pixels, t: (d,) int steps; returns: (n,)",
            [
                "[n d]: param image",
                "[d]: param t",
                "[n]: param returns",
            ],
        ),
        ("# image: (0, 1)", []),
        ("# pool_size: (2, 2)", []),  # its values
        ("# scale: (2,)", []),  # these too: it has a number by default
        ("# total: (3,)", []),  # no parameter
        ("# returns: (n,)", ["[n]: param returns"]),
    ],
)
def test_at_the_beginning_of_a_function_labels_name_parameters(
    comment: str, expected: list[str], described: Describe
) -> None:
    source = f"def f(image, t, pool_size, returns, scale=2):\n    {comment}\n    total = g(image)\n    return total\n"
    assert described(source) == expected
    behind_others = source.replace(f"    {comment}\n", "").replace("    return", f"    {comment}\n    return")
    assert not any("param" in claim for claim in described(behind_others))


@pytest.mark.parametrize(
    ("above", "is_parameter"),
    [
        ("assert x.ndim == 2", True),
        ("scale = x.shape[-1] ** -0.5", True),
        ("if x.ndim != 2:\n        raise ValueError", True),
        ("x = x[None]", False),
        ("if x.ndim == 1:\n        x = x[None]", False),
        ("if flat:\n        return x", False),
        ("yield x", False),
        ("for _ in range(2):\n        x += 1", False),
    ],
)
def test_further_down_labels_name_a_parameter_that_is_still_what_was_passed(
    above: str, is_parameter: bool, described: Describe
) -> None:
    source = f"def f(x, flat):\n    {above}\n    # x: (n, d)\n    return g(x)\n"
    assert ("[n d]: param x" in described(source)) == is_parameter


@pytest.mark.parametrize(
    ("comment", "code", "is_parameter"),
    [
        ("x: (n, d)", "y = g(x)", True),
        ("x: (n, d).", "y = jnp.exp(x)", True),
        ("x: (n, d), averaged over the batch", "y = g(x)", False),
        ("x: (n, d)", "y = x.mean(0)", False),
        ("x: (n, d)", "y = jnp.swapaxes(x, 0, 1)", False),
        ("x: (n, d)", "y = x[0]", False),
    ],
)
def test_further_down_a_comment_may_tell_of_what_is_made_of_a_parameter(
    comment: str, code: str, is_parameter: bool, described: Describe
) -> None:
    source = f"def f(x):\n    assert x.ndim == 2\n    # {comment}\n    {code}\n    return y\n"
    assert ("[n d]: param x" in described(source)) == is_parameter


def test_a_parameter_that_an_inner_function_binds_is_not_what_was_passed(described: Describe) -> None:
    turn = "    def turn():\n        nonlocal x\n        x = x.T\n    turn()\n"
    source = f"def f(x):\n{turn}    # x: (n, d)\n    return g(x)\n"
    assert "[n d]: param x" not in described(source)


def test_in_a_branch_a_label_names_what_comes_there(described: Describe) -> None:
    source = "def f(x, flat):\n    if flat:\n        # x: (n, d)\n        y = g(x)\n    return y\n"
    assert not any("param" in claim for claim in described(source))


def test_what_is_no_array_by_its_type_is_described_by_values(described: Describe) -> None:
    source = """
        def f(
            sizes: Sequence[int],  # (batch, seq)
            x: Array,  # (batch, seq)
        ): ...
    """
    assert described(source) == ["[batch seq]: param x"]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# x = (B, H, W, C) image, t = (B,) timesteps", ["[B H W C]: param x", "[B]: param t"]),
        ("# (x = (B, C), t = (B,))", ["[B C]: param x", "[B]: param t"]),
        ("# x = [batch size, hidden size]", ["[batch_size hidden_size]: param x"]),
        ("# x = [n, d], points", ["[n d]: param x"]),
        # code that somebody switched off, and values
        ("# x = (carry, t)", []),
        ("# x, t = (B, T)", []),
        ("# x = [n, d] * 2", []),
        ("# x = (B, C)[0]", []),
        ("# t = (3, 4)", []),
        ("# x = f(a, b)", []),
        ("# x = (n, d)\n    # t = g(x)", []),
        ("# other = (B, C)", []),
    ],
)
def test_an_equals_sign_tells_a_shape_of_what_are_no_variables(
    comment: str, expected: list[str], described: Describe
) -> None:
    source = f"def f(x, t):\n    {comment}\n    carry = g(x)\n    return carry\n"
    assert described(source) == expected


def test_sizes_may_be_variables_behind_an_equals_sign(described: Describe) -> None:
    source = "def f(x):\n    B, T = x.shape\n    y = g(x)  # y = (B, T)\n    z = h(y)  # z = (y, x)\n    return z\n"
    assert described(source) == ["[B T]: value g(x)"]


def test_a_name_for_the_own_size_of_each(described: Describe) -> None:
    source = "q = f(x)  # (B, L1, C)\nk = f(y)  # (B, L2, C)\n# q/k: (B, L, C)\nz = g(q, k)\n"
    shared = ["[B _ C]: q before 4", "[B _ C]: k before 4"]
    assert described(source)[2:] == shared
    assert described(source.replace("L2", "L"))[2:] == [each.replace("_", "L") for each in shared]


def test_a_result_behind_the_parameters_is_that_of_the_function(described: Describe) -> None:
    source = """
def f(x, w):
    # x: (n, d) rows; w: (d, k) columns; result (n, k)
    n, d = x.shape
    k = w.shape[1]
    return (x @ w).T
"""
    assert described(source) == ["[n d]: param x", "[d k]: param w", "[n k]: return"]


def test_shapes_are_of_the_variables_of_nested_tuples(described: Describe) -> None:
    source = "{row} = scan(core, state, xs)  # -> [T, B, D], [T, B, S]\n"
    both = ["[T B D]: logits after 1", "[T B S]: w after 1"]
    assert described(source.format(row="_, (logits, w)")) == both
    assert described(source.format(row="(logits, w), _")) == both
    assert described(source.format(row="state, (logits, w)")) == []  # of which two of three?


def test_input_and_output_at_the_head_of_a_function(described: Describe) -> None:
    source = """
def f(self, x, training=True, key=None):
    # Input: (B, H, W, C)
    # Output: (B, H)

    y = g(x)
    return y
"""
    assert described(source) == ["[B H W C]: param x", "[B H]: return"]
    assert described(source.replace("x,", "x, z,")) == ["[B H]: return"]  # of which of two?


def test_two_axes_behind_the_name_of_a_parameter(described: Describe) -> None:
    source = "def f(logp):\n    # logp: S x B\n    return g(logp)\n"
    assert described(source) == ["[S B]: param logp"]
    assert described(source.replace("S x B", "two x three")) == []


CHAIN = """
def f(x, h):
    b, t, d = x.shape
    y = x.reshape(b, t, h, d // h).astype(g).swapaxes(1, 2)  # (b, t, d) -> (b, t, h, k) -> (b, h, t, k)
    return y
"""


def test_shapes_between_arrows_are_those_of_the_calls_in_a_chain(described: Describe) -> None:
    between = "[b t h k]: value x.reshape(b, t, h, d // h)"
    assert between in described(CHAIN)
    assert "[b h t k]: value x.reshape(b, t, h, d // h).astype(g).swapaxes(1, 2)" in described(CHAIN)
    # of which of two calls, if there is one shape for both?
    assert between not in described(CHAIN.replace("(1, 2)", "(1, 2).squeeze()"))


def test_shapes_between_arrows_are_those_of_statements_that_bind_one_name(described: Describe) -> None:
    source = """
def f(x, w):
    # (n, d) -> (n, k) -> (n,)
    y = x @ w
    y = y.sum(-1)
    return y
"""
    assert "[n k]: value x @ w" in described(source)
    assert "[n k]: value x @ w" not in described(source.replace("y = y.sum", "z = y.sum"))


def test_a_comment_that_says_what_unpacked_sizes_are_is_none_of_a_shape(described: Describe) -> None:
    source = "def f(x):\n    n, dim0, dim1 = x.shape  # {text}\n    return g(x)\n"
    assert described(source.format(text="dim0=height, dim1=width")) == []
    assert described(source.format(text="(n, height, width)")) != []


def test_an_arrow_to_another_name_at_the_head_of_a_function_leads_to_its_result(described: Describe) -> None:
    source = "def f(x):\n    # x: (n, d) -> {name}(n, k)\n    x = g(x)\n    return h(x)\n"
    assert described(source.format(name="logits "))[-1].endswith(" | return")
    assert not described(source.format(name="x "))[-1].endswith(" | return")
    assert not described(source.format(name=""))[-1].endswith(" | return")


def test_one_axis_in_numbers_in_front_of_words_is_a_shape(described: Describe) -> None:
    source = "class Box:\n    corner: Array  # {text}\n"
    assert described(source.format(text="(3,) corner in the frame of the room")) == ["[3]: field corner"]
    assert described(source.format(text="(3, 4) corners in the frame of the room")) == []


def test_what_is_done_with_a_variable_is_no_label(described: Describe) -> None:
    source = """
def f(positions, rows):
    positions = positions[None]
    # {text}: (N, M, 3)
    p = positions[:, rows]
    return p
"""
    (done,) = described(source.format(text="Gather atom positions"))
    assert done.startswith("[N M 3]: value positions[:, rows]")
    assert described(source.format(text="The atom positions")) == ["[N M 3]: positions before 5"]


def test_the_end_of_a_way_from_one_to_another_is_no_label(described: Describe) -> None:
    source = """
def f(rows, columns):  # rows: (N, 3), columns: (M, 3)
    # {text}: (N, M, 3)
    dx = g(rows, columns)
    return dx
"""
    assert described(source.format(text="All the columns"))[-1] == "[N M 3] each: param columns"
    said = described(source.format(text="Displacement from rows to columns"))
    assert not any(each.startswith("[N M 3]") and each.endswith("param columns") for each in said)
