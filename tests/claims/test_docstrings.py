"""Docstrings in four styles: what is plainly said of a parameter, field or return is a claim, and nothing else."""

from __future__ import annotations

import pytest

STYLES = {
    "underlined sections of the other style, and what may be None": (
        '''
        def f(x, a, y):
            """Weighted.

            Args:
            ----
                x: array of shape (batch, time)
                a (batch, time, 3): the actions.
                y : ndarray or None
                    Reference, with shape (batch, time)
            """
        ''',
        ["[batch time]: param x", "[batch time 3]: param a", "[batch time]: param y"],
    ),
    "parts of the tuples in a list": (
        '''
        def f(atoms, pairs, z):
            """F.

            Args:
                atoms: List of (element, position) tuples. Element is str,
                    position is a NumPy array of shape (3,) in Bohr.
                pairs: Tuple (x, y) where x is an array of shape (n,) and y has shape (m,).
            """
        ''',
        ["[3] .* .1: param atoms", "[n] .0: param pairs", "[m] .1: param pairs"],
    ),
    "what it is when it is given, or of another rank": (
        '''
        def f(weights, tokens, mask):
            """F.

            Args:
                weights: None or array of shape [batch, time].
                tokens: Flattened tokens of shape [batch, time].
                mask: flattened to shape [batch, time] inside.

            Returns:
                If `time` is given, (batch, time).
                Else: means of shape (batch,).
            """
            return g(weights)
        ''',
        ["[batch time]: param weights", "[batch time]: param tokens"],
    ),
    "shapes marked as code": (
        '''
        def f(x, video, ids, v):
            """F.

            Args:
                x: Features ``(B, H, W, C)`` channels-last.
                video: Raw video ``(B, T, H, W, 3)`` in ``[-1, 1]``.
                ids: Token IDs ``(B, L)`` of int32.
                v: Value tensor (B, L, D).
                p: The point ``(x, y)`` of a pair.
            """
        ''',
        ["[B H W C]: param x", "[B T H W 3]: param video", "[B L]: param ids", "[B L D]: param v"],
    ),
    "sentences in a list of inputs": (
        '''
        def f(x, w, v, u):
            """Weighted.

            Inputs:
                x is (batch, time)
                w, v are of shape [batch]
                u is (nearly) diagonal
            Output: of shape (time, batch)
            """
            return x * w
        ''',
        ["[batch time]: param x", "[batch]: param w", "[batch]: param v", "[time batch]: return"],
    ),
    "what may be given as an array": (
        '''
        def f(x, w, v):
            """Weighted.

            Parameters
            ----------
            x : array-like of shape (batch, time)
            w : array-like (batch,)
            v : as an array like (batch, time)

            Returns
            -------
            array-like, shape (time, batch)
            """
            return x * w
        ''',
        ["[batch time]: param x", "[batch]: param w", "[time batch]: return"],
    ),
    "a result behind an arrow": (
        '''
        def f(x, y):
            """x: (batch, time) int32, y: [time] -> logits (batch, n)."""
            return g(x, y)
        ''',
        ["Int32[batch time]: param x", "[time]: param y", "[batch n]: return"],
    ),
    "a result behind what is taken": (
        '''
        def f(x, y):
            """Do it.

            x, y: (batch, time). Returns the means (batch,).
            """
            return x.mean(1)
        ''',
        ["[batch time]: param x", "[batch time]: param y", "[batch]: return"],
    ),
    "an arrow of a function that is called": (
        '''
        def f(fun, x):
            """fun: (batch,) -> (batch, 3)."""
            return fun(x)
        ''',
        [],
    ),
    "an arrow to all of several results": (
        '''
        def f(x, y):
            """x: (batch, time), y: (batch,) -> (batch,), (time,)"""
            return x.sum(1), x.sum(0)
        ''',
        ["[batch time]: param x", "[batch]: param y", "[batch] .0: return", "[time] .1: return"],
    ),
    "an arrow to several results with names": (
        '''
        def f(x):
            """x: (batch, time) -> y: (batch, time), means: (batch,)"""
            return g(x), x.mean(1)
        ''',
        ["[batch time]: param x", "[batch time] .0: return", "[batch] .1: return"],
    ),
    "an arrow from arguments without names": (
        '''
        def f(mask, key):
            """(batch, time) -> (batch, time, time), zero on the diagonal"""
            return g(mask)
        ''',
        ["[batch time]: param mask", "[batch time time]: return"],
    ),
    "an arrow from an argument in words to several results": (
        '''
        def f(w, mask):
            """Filter all of them: mask (batch, time) -> means (batch,) and covs (batch, time, time)."""
            return m, c
        ''',
        ["[batch time]: param mask", "[batch] .0: return", "[batch time time] .1: return"],
    ),
    "an arrow from an argument that is called so with its axes": (
        '''
        def f(prompt_BT, n):
            """prompt (B, T) -> (B, n) new tokens"""
            return g(prompt_BT)
        ''',
        ["[B T]: param prompt_BT", "[B n]: return"],
    ),
    "arrows that lead elsewhere": (
        '''
        def f(fun, x):
            """fun (batch,) -> (batch, time)"""
            return fun(x)

        def g(x, y):
            """(batch, time) -> (batch,)"""
            return x

        def h(x):
            """(x, y) -> (r, theta)"""
            return x
        ''',
        [],
    ),
    "two names of one shape in a row": (
        '''
        def f(x, k, v):
            """x: (batch, time); k and v: (batch, size, time); all of them padded."""
            return x
        ''',
        ["[batch time]: param x", "[batch size time]: param k", "[batch size time]: param v"],
    ),
    "a result below a list of parameters": (
        '''
        def f(x, y):
            """Add.

            x: (batch, time)
            y: (batch, time)
            returns: (batch,)
            """
            return (x + y).sum(1)
        ''',
        ["[batch time]: param x", "[batch time]: param y", "[batch]: return"],
    ),
    "an arrow to one of several results": (
        '''
        def f(x):
            """x: (batch, time) -> (batch,)."""
            return x.mean(1), x
        ''',
        ["[batch time]: param x"],
    ),
    "google": (
        '''
        def f(x, mask, scale=1.0):
            """Do it.

            Args:
                x: The tokens, an array of shape (batch, time).
                mask (Array): Which of them count. It has
                    shape [batch, time].
                scale: A number.

            Returns:
                The result, of shape (batch,).

            Raises:
                ValueError: if the shape (batch, time) is wrong.
            """
        ''',
        ["[batch time]: param x", "[batch time]: param mask", "[batch]: return"],
    ),
    "google, inputs and outputs": (
        '''
        def f(x):
            """Do it.

            Inputs:
                x: The tokens. Shape (batch, time).
            Outputs:
                The result. Shape (batch,).
            """
        ''',
        ["[batch time]: param x", "[batch]: return"],
    ),
    "google, returned on one line": (
        '''
        def f(x):
            """Do it.

            Returns: an array of shape (batch,).
            """
        ''',
        ["[batch]: return"],
    ),
    "numpy": (
        '''
        def f(x, y):
            """Do it.

            Parameters
            ----------
            x : ndarray, shape (n, m)
                The points.
            y : array
                Values of shape ``(n,)``.

            Returns
            -------
            mean : array of shape (m,)
            var : array
                Of shape (m, m).

            Notes
            -----
            x : no shape (k,)
            """
        ''',
        ["[n m]: param x", "[n]: param y", "[m] .0: return", "[m m] .1: return"],
    ),
    "numpy, with colons": (
        '''
        def f(x):
            """Do it.

            Parameters:
            -----------
            x : ndarray, shape (n, m)
                The points.

            Returns:
            --------
            array, shape (n,)
                The distances.
            """
        ''',
        ["[n m]: param x", "[n]: return"],
    ),
    "numpy, returned without a name": (
        '''
        def f(x):
            """Do it.

            Returns
            -------
            array, shape (n, m)
                The distances.
            """
        ''',
        ["[n m]: return"],
    ),
    "markdown": (
        '''
        def f(self, x, *, key=None):
            """Do it, as in shape `(q,)`.

            **Arguments:**

            - `x`: The input. Should be an array of shape
                `(in_size, dim_1, ..., dim_N)`.
            - `key`: Ignored.

            **Returns:**

            An array of shape `(out_size,)`.

            !!! example

                x = ones()  # of shape (a, b)
            """
        ''',
        ["[in_size ...]: param x", "[out_size]: return"],
    ),
    "sphinx": (
        '''
        def f(x, y):
            """Do it.

            :param x: array of shape (n, m)
            :param Array y: array of
                shape (m,)
            :returns: array of shape (n,)
            """
        ''',
        ["[n m]: param x", "[m]: param y", "[n]: return"],
    ),
    "the shape of something else beside what is returned": (
        '''
        def f(x):
            """Do it.

            Returns:
                The values and their scale. For the kernel's `rhs` (shape (n, 1, m)) the caller inserts an axis.
            """
            return values, scale

        def g(x):
            """Do it.

            Returns:
                The values, and in the second place their `scale` (shape (n, m)).
            """
            return values, scale

        def h(x):
            """Do it.

            Returns:
                first: Array (uint8) shape (n, k)
                second: Array (uint8) shape (n, m)
            """
            return values, scale
        ''',
        ["[n m] .1: return", "[n k] .0: return", "[n m] .1: return"],
    ),
    "a size that controls the shape of something else": (
        '''
        def f(num_classes: int = 10, t: Array = None):
            """Do it.

            Args:
                num_classes: Number of classes. Also controls the final output of shape (num_classes,).
                t: The times, an array of shape (t,).
            """
        ''',
        ["[t]: param t"],
    ),
    "several results in one parenthesis, each behind its name": (
        '''
        def f(x):
            """Do it.

            Returns:
                tuple: (output [b, d, 1], updated_state [b, d, k])
            """
            return output[:, :, None], state

        def g(x):
            """Do it.

            Returns:
                The states (hidden (b, d), cell (b, d)).
            """
            return step(x)

        def three(x):
            """Do it.

            Returns:
                (output [b, d, 1], updated_state [b, d, k])
            """
            return output, state, aux
        ''',
        ["[b d 1] .0: return", "[b d k] .1: return", "[b d] .0: return", "[b d] .1: return"],
    ),
    "a class describes its constructor and its fields": (
        '''
        class A:
            """A thing.

            Args:
                w: weights of shape (d, k)

            Attributes:
                b: bias of shape (k,)
            """

            b: Array

            def __init__(self, w): ...
        ''',
        ["[d k]: param w", "[k]: field b"],
    ),
    "what a constructor sets is a field too": (
        '''
        class A:
            """A thing.

            Attributes:
                b (jax.Array): bias, of shape (k,)
                cached: what a call leaves, of shape (k,)
            """

            def __init__(self, w):
                self.b = w.sum(0)

            def call(self, x):
                self.cached = x
        ''',
        ["[k]: field b"],
    ),
    "what is said of one of several parameters is of no other": (
        '''
        def f(b, c, d):
            """
            Parameters
            ----------
            b, c, d : jnp.ndarray
                Coefficients:
                - b: (n, k)
                - c, d: (n-1, k)
            """
        ''',
        ["[n k]: param b"],
    ),
    "a section of shapes": (
        '''
        class A:
            """A thing.

            Shapes:
                b: (n,) what it is
                c: (n, k)
            """

            b: Array
            c: Array
        ''',
        ["[n]: field b", "[n k]: field c"],
    ),
    "a string below a field describes it": (
        '''
        class A:
            b: Array
            """``(d,)`` exponents, sorted."""

            c: Array | None = None
            r"""Series of shape (n_saves, d), or ``None`` unless they
            were saved."""

            """Of shape (k,), whatever it is."""
        ''',
        ["[d]: field b", "[n_saves d]: field c"],
    ),
    "a dataclass describes its fields": (
        '''
        class A:
            """A thing.

            Args:
                b: bias of shape (k,)
            """

            b: Array
        ''',
        ["[k]: field b"],
    ),
}

DESCRIPTIONS = {
    "array of shape (b, t)": ["[b t]"],
    "array (shape: [b, t])": ["[b t]"],
    "array (shape [b, t])": ["[b t]"],
    "a [b, t]-shaped array": ["[b t]"],
    "f32[b, t], the logits": ["Float32[b t]"],
    "array of shape (b, t), float32": ["Float32[b t]"],
    "array of shape (b, t) or (t,)": ["[b t]", "[t]"],
    "the RF or IQ data of shape (b, t)": ["[b t]"],
    "array of shape `(n,)`. (Or shape `()` if `n` is None.)": ["[n]", "[]"],
    "Optional array of shape (b,)": ["[b]"],
    "a list of arrays of shape (b,)": ["[b] .leaves each"],
    "namedtuple of arrays with shape (b, )": ["[b] .leaves each"],
    "sequence of arrays of shape (b,)": ["[b] .leaves each"],
    "input sequence of shape (b, t)": ["[b t]"],
    "sequence of hidden states (b, t)": ["[b t]"],
    "set of query points of shape (n, 3)": ["[n 3]"],
    "a sequence of tokens. Each one is an array of shape (b, t)": ["[b t] .leaves each"],
    "array of shape (b, ...)": ["[b ...]"],
    "weights of shape [n, k] (bf16/f32)": ["[n k]"],
    "array of shape (b, t) where b is the batch": ["[b t]"],
    "a (b, t) array": ["[b t]"],
    # what it is called elsewhere, of many of them
    "positions of shape (n, 2), where 2 is (x, y). Callers batch it as (b, n, 2).": ["[n 2]", "[b n 2]"],
    "positions of shape (n, 2). Callers transpose it, to (b, 2, n).": ["[n 2]"],
    # under a condition it is another
    "labels of shape [b, m]. If `one_hot`, then it is [b, m, c].": ["[b m]", "[b m c]"],
    "labels of shape [b, m]. If `one_hot`, the classes are in [b, m, c].": ["[b m]"],
    "labels of shape [b, m]. If one_hot then [b, m, c].": ["[b m]", "[b m c]"],
    "nodes of shape (n,) for the closed ends, (m,) for the open ones": ["[n]", "[m]"],
    "nodes of shape (n,) for each of the ends, then their weights (m,)": ["[n]"],
    # what the entries of an axis are, one bracket that closes too much, and the name of something
    "atoms [b, n, 4, 3] (n, ca, c, cb).": ["[b n 4 3]"],
    "atoms [b, n, 3] (x, y, z).": ["[b n 3]"],
    "atoms [b, n, 4, 3] (n, ca, c, o/cb).": ["[b n 4 3]"],
    "atoms [b, n, 3] (x, y).": [],
    "array of shape (n * a * b), c, h // a, w // b).": [],
    "pixels (an array of shape (b, t), in metres).": ["[b t]"],
    "The name of the stream to use, of shape [b, t].": [],
    # what a function takes, or what is taken from one
    "A function that moves `r` by `dr`. Both should be arrays of shape `[n, d]`.": [],
    "Optional callable, of arrays of shape `[n, d]`.": [],
    # a type, and not a shape
    "a key. shape (tuple, optional): how many": [],
    "a key. shape (options, n): how many": ["[options n]"],
    # nothing is plainly said of the value
    "array of shape (b, t) if causal, else None": [],
    "array of shape (b, t) or a scalar": ["[b t]"],
    "array broadcastable to shape (b, t)": [],
    "array, for example of shape (b, t)": [],
    "function that takes an array of shape (b, t)": [],
    "index into an array of shape (b, t)": [],
    "array of shape (b,) + rest": [],
    "array of the same shape as y": [],
    "the shape (of x)": [],
    "starts with shape (b, t) and ends with shape (t,)": [],
    "array of shape (b, t) -> (t,)": [],
}


@pytest.mark.parametrize(("source", "expected"), STYLES.values(), ids=STYLES)
def test_styles(described, source, expected):
    assert described(source) == expected


@pytest.mark.parametrize(("description", "expected"), DESCRIPTIONS.items())
def test_descriptions_of_a_parameter(described, description, expected):
    source = f'def f(x):\n    """Do it.\n\n    Args:\n        x: {description}\n    """\n'
    assert described(source) == [f"{each}: param x" for each in expected]


@pytest.mark.parametrize(("name", "claims"), [("full_shape", 0), ("shape", 0), ("shapely", 1), ("reshaped", 1)])
def test_what_is_said_of_a_shape_is_no_shape_of_an_array(read, name, claims) -> None:
    text = f'def f({name}):\n    """F.\n\n    Args:\n        {name}: image shape (n, h, w, c).\n    """\n'
    assert len(read(text).claims) == claims


def test_alternatives_share_a_group(read):
    claims = read('def f(x):\n    """F.\n\n    Args:\n        x: of shape (b, t) or (t,)\n    """\n').claims
    assert claims[0].group == claims[1].group is not None


@pytest.mark.parametrize(
    "description",
    ["a tuple of an array of shape (b,) and a count", "the state, a dict with shape (b,)"],
)
def test_what_is_returned_in_a_container_is_not_guessed(described, description):
    assert described(f'def f():\n    """F.\n\n    Returns:\n        {description}\n    """\n') == []


def test_generators_return_nothing_that_can_be_seen(described):
    assert described('def f():\n    """F.\n\n    Returns:\n        of shape (b,)\n    """\n    yield 1\n') == []


def test_dots_alone_say_nothing_of_a_result(described):
    assert (
        described('def f(x):\n    """F.\n\n    Returns:\n        array of shape [...], as the input\n    """\n') == []
    )


def test_spans_and_certainty(read):
    module = read('def f(x):\n    r"""É.\n\n    Args:\n        x: é, of shape (b,\n            t).\n    """\n')
    (claim,) = module.claims
    assert (claim.span.line, claim.span.column, claim.span.end_line, claim.span.end_column) == (5, 24, 6, 15)
    assert claim.text == "(b, t)"
    assert (claim.notation, claim.sure, claim.marked) == ("docstring", True, True)


def test_a_shape_far_into_a_sentence_is_not_sure(read):
    words = "which was made with great care by people who know what they are doing of"
    (claim,) = read(f'def f(x):\n    """F.\n\n    Args:\n        x: {words} shape (b, t)\n    """\n').claims
    assert not claim.sure


@pytest.mark.parametrize("formula", [":math:`h_0 = c_0 = 0 + 0`", "``self.hidden(x) + self.cell (y)``"])
def test_a_formula_in_a_sentence_is_one_word_of_it(read, formula):
    lead = f"The initial hidden and cell states {formula}, each with"
    (claim,) = read(f'def f(x):\n    r"""F.\n\n    Args:\n        x: {lead} shape :math:`(b, t)`.\n    """\n').claims
    assert claim.sure


RESULTS = '''
def f(x):
    """Do it.

    Returns:
        {}
    """
    {}
'''


@pytest.mark.parametrize(
    ("description", "code", "expected"),
    [
        (
            "The rows, of shape (n, d), and\n        the means, with shape (d,).",
            "return x - m, m",
            [".0 [n d]", ".1 [d]"],
        ),
        ("a of shape (n,), b of shape (m,) and c of shape (k,).", "return a, g(b), c", [".0 [n]", ".1 [m]", ".2 [k]"]),
        ("Pair of factors, shapes (n, d, r) and (n, r, f).", "return a, b", [".0 [n d r]", ".1 [n r f]"]),
        ("Pair of factors, shapes (n, d, r) or (n, r, f).", "return a, b", []),
        ("Pair of factors, shapes (n, d, r) and (n, r, f).", "return a, b, c", []),
        # not as many results, no results at all, alternatives, conditions, another sentence
        ("The rows, of shape (n, d), and the means, with shape (d,).", "return x, m, 1", []),
        ("The rows, of shape (n, d), and the means, with shape (d,).", "return g(x)", []),
        ("The rows, of shape (n, d), and the means, with shape (d,).", "if x: return x\n    return x, m", []),
        ("The rows, of shape (n, d), with means of shape (d,).", "return x, m", []),
        ("The rows, of shape (n, d), and, if asked, the means of shape (d,).", "return x, m", []),
        ("The rows, of shape (n, d). The second and last are means of shape (d,).", "return x, m", []),
    ],
)
def test_several_results_in_one_sentence_are_described_in_their_order(read, description, code, expected) -> None:
    claims = read(RESULTS.format(description, code)).claims
    assert [f".{'.'.join(map(str, c.select))} [{c.spec}]" for c in claims] == expected


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ('dict with "pos" (n, 3) and "mass" (n,)', ["x['pos']: n 3", "x['mass']: n"]),
        ("a dict of `w`: (n_in, n_out) and `b` float array of shape (n_out,)", ["x['w']: n_in n_out", "x['b']: n_out"]),
        (
            "dict\n            - w (n_in, n_out): weights\n            - b (n_out,): bias",
            ["x['w']: n_in n_out", "x['b']: n_out"],
        ),
        ("dict\n            ``w`` (n_in, n_out) and ``b`` (n_out,)", ["x['w']: n_in n_out", "x['b']: n_out"]),
        ("{'pos': (n, 3), 'mass': (n,)}", ["x['pos']: n 3", "x['mass']: n"]),
        # a key with several shapes, units, a choice of texts; without a dict nothing is an entry
        ('dict with "pos" (n, 3) or "pos" (3,)', []),
        ('dict with "pos" (m) and "mass" (kg)', []),
        ('array of shape (n, d) if kind is "full", or "diag" (n,)', []),
        ("{array, matrix} of shape (n,) or (n, d)", ["x: n", "x: n d"]),
        ("points `pos` (n, 3)", ["x: n 3"]),
    ],
)
def test_what_is_said_of_entries(read, description, expected) -> None:
    source = f"def f(x):\n    '''Do it.\n\n    Args:\n        x: {description}\n    '''\n"
    assert [f"{c.target}: {c.spec}" for c in read(source).claims] == expected


@pytest.mark.parametrize(
    ("description", "sure"),
    [
        ("Array of shape (n, m). The rows are those of x.", True),
        ("Array of shape (n, m), the products of x and y.", True),
        ("Array of shape (n, m). If there is time, it is symmetric.", True),
        ("Array of shape (n, m) by default. If diag=True, it returns the diagonal.", False),
        ("Array of shape (n, m). When `diag` is set, the result is the diagonal.", False),
        ("Array of shape (n, m), or its diagonal if `diag`.", False),
        ("Array of shape (n, m). With `diag=True` the diagonal is returned instead.", False),
    ],
)
def test_a_result_that_an_argument_turns_into_another_accuses_nobody(read, description, sure) -> None:
    source = RESULTS.format(description, "return x @ y.T").replace("(x)", "(x, y, diag=False)", 1)
    assert [(claim.spec, claim.sure) for claim in read(source).claims] == [("n m", sure)]


@pytest.mark.parametrize(
    ("description", "sure"),
    [
        ("An array of vectors of shape (n, d).", False),
        ("A tensor of rotation matrices with shape (n, d).", False),
        ("An array of shape (n, d).", True),
        ("A batch of images of shape (n, d).", True),
    ],
)
def test_the_shape_of_vectors_may_be_that_of_one_of_them(read, description, sure) -> None:
    source = RESULTS.format(description, "return x @ y.T").replace("(x)", "(x, y, diag=False)", 1)
    assert [(claim.spec, claim.sure) for claim in read(source).claims] == [("n d", sure)]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("tuple: `(row, col)` of the first one.", []),
        ("list: (row, col) of the first one.", []),
        ("array: `(row, col)` of floats.", ["row col"]),
        ("Two arrays of shape (row, col).", ["row col"]),
    ],
)
def test_behind_the_word_tuple_a_bracket_lists_its_elements(read, description, expected) -> None:
    source = 'def g(row: Float[Array, "row col"]):\n    pass\n' + RESULTS.format(description, "return g(x)")
    assert [claim.spec for claim in read(source).claims if claim.notation == "docstring"] == expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("Cut images of shape (b, h, w, 3) into flat patches.", ["images: b h w 3"]),
        ("Cross entropy of `logits` with shape (b, c), and labels of shape (b,).", ["logits: b c", "labels: b"]),
        ("Check that images have shape (b, h, w, 3).", ["images: b h w 3"]),
        ("The mean loss of logits: (b, c).", ["logits: b c"]),
        ("Cross entropy with labels: (b,). Returns (b, c).", ["labels: b", "the returned value: b c"]),
        ("Blur images and mask (b, h, w).", ["images: b h w", "mask: b h w"]),
        ("Distances of images (n, d) to labels (k, d).", ["images: n d", "labels: k d"]),
        # what is made, what has no such parameter, what lists values, what is called
        ("Blur images [m] by (n, d).", []),
        ("Means of the images, both [n, d].", []),
        ("Blur images (logits, labels).", []),
        ("Blur frames (b, h, w).", []),
        ("The loss of pairs: (b, c).", []),
        ("Weighted sum of images [n x d] with labels [n].", ["images: n d", "labels: n"]),
        ("Takes images of shape (n, d) and returns the norms of shape (d,).", ["images: n d", "the returned value: d"]),
        ("Gradient of the loss; logits: [n_x].", ["logits: n_x"]),
        ("The loss of any pytree; logits of shape (b, c).", ["logits: b c"]),
        ("Gradient of the loss; logits: [0, 1].", []),
        ("The range of logits: (low, high).", []),
        ("Sorts them, and. Returns early (if done).", []),
        ("Ensure that images have shape (b, h, w, 3) and values below one.", []),
        ("Makes sure images have shape (b, h, w, 3).", []),
        ("Create a mask of shape (t, t).", []),
        ("Turn images into a mask of shape (h, w).", []),
        ("Draws images of shape (b, h, w, 3).", []),
        ("Draws frames at the times `labels` of shape (b,).", ["labels: b"]),
        ("Sample a mask given the logits of shape (b, k).", ["logits: b k"]),
        ("Converts logits (b, n, k) to joint logits (b, j).", ["logits: b n k"]),
        ("Draws frames for each of the labels of shape (b,).", []),
        ("Work on frames of shape (b, h, w, 3).", []),
    ],
)
def test_a_sentence_may_tell_the_shape_of_what_it_takes(read, summary, expected) -> None:
    claims = read(f'def f(images, logits, labels, mask):\n    """{summary}"""\n    return g(images)\n').claims
    assert [f"{c.target}: {c.spec}" for c in claims] == expected


ALTERNATIVES = """
def nearest(points, query, r, k):
    '''Find.

    Args:
        points: (n, d) points
        query: (d,) or (q, d) points
        r: (float) (k,) or (q, k) radii

    Returns:
        neighbors: (k,) or (q, k) Indices of the k nearest.
        distances: (k,) or (q, k) Distances to them.
    '''
    return neighbors, distances
"""


def test_each_of_several_results_has_alternatives_of_its_own(read) -> None:
    claims = read(ALTERNATIVES).claims
    groups = {claim.group for claim in claims if claim.target == "the returned value"}
    assert [(c.target, c.select, c.spec) for c in claims if c.group in groups] == [
        ("the returned value", (0,), "k"),
        ("the returned value", (0,), "q k"),
        ("the returned value", (1,), "k"),
        ("the returned value", (1,), "q k"),
    ]
    assert len(groups - {None}) == 2
    assert {claim.target for claim in claims if claim.or_number} == {"r"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Symmetric pair coupling array of shape (n, n, 3).", ["n n 3"]),
        ("A pair of arrays of shape (n, n).", ["n n"]),
        ("Barrier function evaluation, shape (n, 7)", ["n 7"]),
        ("A function of an array of shape (n, 7)", []),
        ("Values in [0, 1) or (1, 2], shape (n, m)", ["n m"]),
        ("Shape (n,) for one data set or (b, n) for many.", ["n", "b n"]),
        ("Shape (n,) for one data set or a number for many.", []),
    ],
)
def test_what_stands_before_or_behind_the_shape_of_a_result(read, text, expected) -> None:
    claims = read(f'def f(x):\n    """Make.\n\n    Returns:\n        {text}\n    """\n    return g(x)\n').claims
    assert [claim.spec for claim in claims] == expected


def test_the_words_of_one_result_are_not_about_another(read) -> None:
    source = """
def prepare(grid):
    '''Prepare.

    Returns:
        flat: Flattened batched array, shape (h*w, n)
        width: The size of a row
        is_batched: Whether the input was batched before
    '''
    flat = grid.reshape(h * w, n)
    return flat, w, True
"""
    assert [(c.select, c.spec, c.sure) for c in read(source).claims] == [((0,), "h*w n", True)]


def test_a_line_for_one_value_of_an_argument_is_about_calls_with_it(read) -> None:
    source = """
def solve(kernel, mode="real"):
    '''Solve.

    mode="complex": kernel is (m, m, 2, 2) blocks
    {also}
    '''
    return g(kernel)
"""
    assert read(source.format(also="")).claims == ()
    assert [c.spec for c in read(source.format(also="kernel is (m, m) blocks")).claims] == ["m m"]


ONE_CASE = """
def f(x, vars):
    '''Make.

    {text}
    '''
    return g(x)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When all lists are empty, returns shape (n, 0).", []),
        ("Pads the lists, returns shape (n, m).", ["the returned value: n m"]),
        ("Return the frequencies and counts for `x (n, m)`.", ["x: n m"]),
        ("Returns the counts (n, m) of all.", ["the returned value: n m"]),
    ],
)
def test_a_sentence_tells_of_the_result_in_all_cases(read, text, expected) -> None:
    assert [f"{c.target}: {c.spec}" for c in read(ONE_CASE.format(text=text)).claims] == expected


@pytest.mark.parametrize(("tail", "count"), [("", 1), (", radians", 1), (", if there are any pixels at all", 0)])
def test_a_summary_ends_with_the_shape_of_the_result(read, tail: str, count: int) -> None:
    source = f'def f(x):\n    """Offset of each pixel. Shape (n, 5){tail}."""\n    return g(x)\n'
    assert [claim.spec for claim in read(source).claims] == ["n 5"] * count


def test_what_a_parameter_becomes_is_none_of_its_own_shapes(read) -> None:
    text = "Args:\n        vars: The variances, of length d; the output shape will be (d, d)."
    assert read(ONE_CASE.format(text=text)).claims == ()
    text = "Args:\n        vars: The variances, of shape (d,), or a scalar offset."
    (claim,) = read(ONE_CASE.format(text=text)).claims
    assert (claim.spec, claim.or_number) == ("d", True)


def test_the_annotation_tells_how_many_results_are_passed_on(read) -> None:
    source = """
def f(x) -> tuple[Array, Array | None]:
    '''Make.

    Returns:
        y: rows (n, d)
        last: the last row (d,)
    '''
    if x.shape[0] > 3:
        return short(x)
    return x * 2, None
"""
    assert [(c.select, c.spec) for c in read(source).claims] == [((0,), "n d"), ((1,), "d")]
    assert [c.select for c in read(source.replace("return short(x)", "return x")).claims] != [(0,), (1,)]


def test_items_of_a_tuple_have_names_of_several_words(read) -> None:
    source = """
def f(x):
    '''Make.

    Returns:
        Tuple containing:
        - random key: a new one
        - images: array of shape (n, h, w)
        - labels: array of shape (n,)
    '''
    return a, b, c
"""
    assert [(c.select, c.spec) for c in read(source).claims] == [((1,), "n h w"), ((2,), "n")]


def test_a_result_that_is_no_variable_is_not_meant_by_a_text_without_names(read) -> None:
    source = """
def f(q):
    '''Attend.

    Returns:
        The output tensor of shape (n, d)
    '''
    return out, {"k": k}
"""
    assert [(c.select, c.spec) for c in read(source).claims] == [((), "n d")]


def test_a_shape_at_the_end_of_a_line_tells_more_than_the_type_of_its_elements(read) -> None:
    source = """
def f(a, step):
    '''Run.

    Args:
        a (float32): state matrix  (n,)
        step (float): the size of a step  {end}
    '''
    return a * step
"""
    assert [c.target for c in read(source.format(end="(n,)")).claims] == ["a", "step"]
    assert [c.target for c in read(source.format(end="(n)")).claims] == ["a"]


def test_a_transformation_matrix_is_no_change_of_another_result(read) -> None:
    source = """
def f(q):
    '''Move.

    Returns:
        M: mass matrix, shape (n, n)
        T: {text}, shape (4, 4)
    '''
    return q[:, None] * q, g(q)
"""
    assert [c.spec for c in read(source.format(text="transformation matrix of the hand")).claims] == ["n n", "4 4"]
    assert [c.spec for c in read(source.format(text="transformed to another frame")).claims] == ["n n"]


def test_bullets_without_names_are_of_the_results_from_the_first_on(read) -> None:
    source = """
def f(x):
    '''Take apart.

    Returns:
        - rows in an array of shape (n, d)
        - means in an array of shape (d,)
    '''
    return x - m, m
"""
    assert [(c.select, c.spec) for c in read(source).claims] == [((0,), "n d"), ((1,), "d")]


def test_the_last_sentence_of_a_summary_may_tell_of_the_whole_function(read) -> None:
    source = """
def f(ymix, ms):
    '''Mean weight (g/mol) per layer. ymix (nz, ni), ms (ni,) → (nz,).'''
    return ymix @ ms
"""
    assert [(c.target, c.spec) for c in read(source).claims] == [
        ("ymix", "nz ni"),
        ("ms", "ni"),
        ("the returned value", "nz"),
    ]


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        ("a 1-D Tensor of N indices, one per batch element.", ["N"]),
        ("One-dimensional array of length n_bins", ["n_bins"]),
        ("1D array of length n.", ["n"]),
        ("1D array of N samples (M,).", ["M"]),
        ("1D array of x grid.", []),
        ("1-D or 2-D array of N points.", []),
        ("a 1D array of A values or a scalar.", []),
        ("List of 1D arrays of length m.", []),
    ],
)
def test_an_array_with_one_axis_has_as_many_entries_as_its_description_counts(
    read, words: str, spec: list[str]
) -> None:
    source = f"def f(t):\n    '''F.\n\n    :param t: {words}\n    '''\n    return t\n"
    assert [c.spec for c in read(source).claims] == spec


@pytest.mark.parametrize(
    ("heading", "count"), [("three arrays", 3), ("a tuple", 3), ("the following", 3), ("nothing of use", 0)]
)
def test_results_are_listed_below_what_says_that_there_are_several(read, heading: str, count: int) -> None:
    source = f"""
def f(x):
    '''Solve.

    Returns {heading}:
        diagonal  : shape (n, n) -- of the matrix
        upper  : shape (n, d)
        rest : (n,)
    '''
    return a, b, c
"""
    assert [c.spec for c in read(source).claims] == ["n n", "n d", "n"][:count]
