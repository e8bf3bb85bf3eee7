"""What a docstring's words say of the results, one behind the other, is claimed of each of them."""

from __future__ import annotations

import pytest

SOURCE = 'def f(x, logits, n_rbf):\n    """{}"""\n    return {}\n'
ONE, TWO, THREE = "g(x)", "g(x), h(x)", "g(x), h(x), k(x)"

PHRASES = {
    "the sentence begins with it": ("(N, T, 3), normalised over time", ONE, ["[N T 3]"]),
    "and goes on": ("(2T-1, D) relative position table.", ONE, ["[2*T-1 D]"]),
    "beside an interval": ("(N, M) density on [-2, 2]^2", ONE, ["[N M]"]),
    "it is the last sentence": ("triangular filters. [n_fft//2 + 1, n_mels]", ONE, ["[n_fft//2+1 n_mels]"]),
    "it is called a shape at the end": ("Stratified depths, shape (n_rays, n_samples).", ONE, ["[n_rays n_samples]"]),
    "or equals it": ("first nontrivial vectors, shape = [N, T]", ONE, ["[N T]"]),
    "in the middle": ("best path. returns ids [B, T] where removed positions are -1", ONE, ["[B T]"]),
    "behind a comma": ("sines in two dims, returns (H*W, D)", ONE, ["[H*W D]"]),
    "on a line of its own": ("density of all\n\n    returns (B, N)\n    ", ONE, ["[B N]"]),
    "several, and what becomes of them": (
        "Route them.\n\n    returns: gates (N, T) summing to one, idx (N, T), aux loss ()\n    ",
        THREE,
        ["[N T] .0", "[N T] .1", "[] .2"],
    ),
    "in words": (
        "Returns dispatch (B, N, T) in {0,1} and combine (B, N, T) weights.",
        TWO,
        ["[B N T] .0", "[B N T] .1"],
    ),
    "a field of Sphinx": (
        "Filter.\n\n    :return: filtered means (T, D), log evidence (), ess trace (T,)\n    ",
        THREE,
        ["[T D] .0", "[] .1", "[T] .2"],
    ),
    "called shapes, one by one": (
        "Flow.\n\n    :returns: transformed points of shape (B, D) and log-determinants of shape (B,)\n    ",
        TWO,
        ["[B D] .0", "[B] .1"],
    ),
    "one of several in a tuple": ("Step.\n\n    Returns (state, obs (B, D), reward)\n    ", THREE, ["[B D] .1"]),
    "by what is returned": ("Do it.\n\n    Returns b (N, T), a (T,)\n    ", "a, b", ["[N T] .1", "[T] .0"]),
    "by what is returned, if it is wanted": (
        "Do it.\n\n    Returns:\n        a: what is left (N, T)\n        b: perhaps its ends (T,)\n    ",
        "(a, b) if n_rbf else (a, None)",
        ["[N T] .0", "[T] .1"],
    ),
    "functions with a shape": (
        "Do it.\n\n    Returns:\n        Matching functions with shape (N, T).\n    ",
        ONE,
        ["[N T]"],
    ),
    "functions of x": ("Do it.\n\n    Returns:\n        Function of arrays of shape (N, T).\n    ", ONE, []),
    "basis functions": ("Do it.\n\n    Returns:\n        Basis functions of x, shape (N, T).\n    ", ONE, ["[N T]"]),
    "behind their types": (
        "Do it.\n\n    Returns:\n        Tuple[jax.Array, jax.Array]: (N), (N, T)\n    ",
        TWO,
        ["[N] .0", "[N T] .1"],
    ),
    "both of them": (
        "Do it.\n\n    Returns:\n        Tuple of ids and gains. Both have shape (N, T).\n    ",
        TWO,
        ["[N T] .leaves each"],
    ),
    "each of a tuple": ("Do it.\n\n    Returns:\n        ``(ids, gains)``, each ``(N, T)``\n    ", TWO, ["[N T]"]),
    "below the entry of a list": (
        "Do it.\n\n    Returns:\n        - ids: (:obj:`jnp.ndarray`): of all.\n        Shape is (N, T).\n    ",
        ONE,
        ["[N T]"],
    ),
    "below one of several entries": (
        "Do it.\n\n    Returns:\n        - ids: of all.\n        - gains: theirs.\n        Shape is (N, T).\n    ",
        ONE,
        [],
    ),
    "each of them": (
        "Do it.\n\n    Returns:\n        tuple: Arrays :math:`(a, b)`, each of shape ``[N]``.\n    ",
        TWO,
        ["[N] .leaves each"],
    ),
    "each, without a word between": (
        "Do it.\n\n    Returns:\n        Tuple of (a, b), each shape (N, T)\n    ",
        TWO,
        ["[N T] .leaves each"],
    ),
    "or a number": ("Do it.\n\n    Returns:\n        Predictions, shape (N, T) or scalar.\n    ", ONE, ["[N T]"]),
    "at a stage": ("Do it.\n\n    Returns:\n        Scores after softmax, shape (N, T).\n    ", ONE, ["[N T]"]),
    "of what was done": (
        "Do it.\n\n    Returns:\n        Points transformed to the frame of x, shape (N, T).\n    ",
        ONE,
        ["[N T]"],
    ),
    "or other numbers": (
        "Do it.\n\n    Returns:\n        Predictions, shape (N, T) or shape (N,).\n    ",
        ONE,
        ["[N T]", "[N]"],
    ),
    "entries by their quoted names": (
        "Do it.\n\n    Returns\n    -------\n    dict\n        ``s`` (N, T) means; ``S`` (N, T, T) **scale-free**\n"
        "        covariances; ``clip`` the largest.\n    ",
        '{"s": x, "S": y, "clip": z}',
        ["[N T]", "[N T T]"],
    ),
    "behind several under one heading": (
        "Do it.\n\n    Returns\n    -------\n    a, b : both\n    c : (N, T)\n        last\n    ",
        THREE,
        ["[N T] .2"],
    ),
    # what is none, or none of the result
    "several, of which one is returned": ("Returns means (N, T), covs (N, T, T).", ONE, []),
    "a tuple of results": ("Returns (mean, var).", TWO, []),
    "another for other arguments": ("Gather.\n\n    returns (B, N, D) resp. (B, D)\n    ", ONE, []),
    "or it is": ("Gather. Returns (B, N, D) or (B, D).", ONE, []),
    "a part": ("Do it. Returns what comes before axis (B, T).", ONE, []),
    "a unit": ("Do it.\n\n    Returns:\n        Stress [Pa]\n    ", ONE, []),
    "an enumeration": ("Do it.\n\n    Returns:\n        Amplitudes [a_1, a_3, ...]\n    ", ONE, []),
    "an interval": ("Roots strictly inside (B, T), sorted.", ONE, []),
    "a rest": ("Do it.\n\n    Returns:\n        Of shape: `x.shape + (B, T)`\n    ", ONE, []),
    "a mapping": ("Do it.\n\n    Returns:\n        Dictionary mapping names to arrays (B, T)\n    ", ONE, []),
    "what is not": ("Returns it directly, not the (N, 2) form.", ONE, []),
    "the shape of something": ("Size (B, T) of the coefficients.", ONE, []),
    "code": ("g(x, y=True) -> (B, 2)", ONE, []),
}


@pytest.mark.parametrize(("text", "returned", "expected"), PHRASES.values(), ids=PHRASES.keys())
def test_results_in_words(text: str, returned: str, expected: list[str], described) -> None:
    found = [each for each in described(SOURCE.format(text, returned)) if "return" in each]
    assert [each.removesuffix(": return") for each in found] == expected


def test_what_returns_nothing_has_no_result(described) -> None:
    assert (
        described('def test_f():\n    """f returns (B, T) grids."""\n    assert f(3).shape == n\n', "docstring") == []
    )


SIGNATURES = {
    "behind words": ("ancestral sampling: logits (B, N) -> x (B, N, 3), types (B, N)", TWO),
    "behind a sentence": ("Resampling, logits: [B, N] -> x [B, N, 3], types [B, N].", TWO),
    "with a dtype": ("logits int (B, N) -> x (B, N, 3), types (B, N)", TWO),
}


@pytest.mark.parametrize(("text", "returned"), SIGNATURES.values(), ids=SIGNATURES.keys())
def test_a_signature_in_words(text: str, returned: str, described) -> None:
    found = described(SOURCE.format(text, returned))
    assert found == ["[B N]: param logits", "[B N 3] .0: return", "[B N] .1: return"]


def test_a_method_takes_what_it_must_be_given(described) -> None:
    source = 'class A:\n    def f(self, x, mask=None):\n        """(B, T) -> (B, N)"""\n        return g(x)\n'
    assert described(source) == ["[B T]: param x", "[B N]: return"]


def test_a_signature_leaves_out_what_is_no_array(described) -> None:
    source = 'def f(params, x, n_rbf, *, key):\n    """Basis: (B, N) -> (B, N, n_rbf)"""\n    return g(x)\n'
    assert described(source) == ["[B N]: param x", "[B N n_rbf]: return"]


def test_entries_may_be_called_as_only_some_results_are(described) -> None:
    source = '''
        def f(x):
            """Sample.

            Returns:
                out: (B, T, 3)
                pooled: (B, T, c)
            """
            return out, h.max(axis=2)
    '''
    assert described(source) == ["[B T 3] .0: return", "[B T c] .1: return"]


def test_variables_of_sphinx_are_fields(described) -> None:
    source = '''
        class Model:
            """A model.

            :ivar C: emission matrix, (B, T)
            """

            def __init__(self, C):
                self.C = C
    '''
    assert described(source) == ["[B T]: field C"]


def test_several_names_in_front_of_one_shape(described) -> None:
    source = 'def f(u, B, C):\n    """u: (T, D); B, C: (T, N)"""\n    return g(u)\n'
    assert described(source) == ["[T D]: param u", "[T N]: param B", "[T N]: param C"]


BESIDE = {
    "all but one": ("return xs, jnp.stack(h)  # ..., (B, T)", ["[B T] .1/2: value xs, jnp.stack(h)"]),
    "all but one variable": ("a, b = f(x)  # _, (B, T)\n", ["[B T]: b after 1"]),
    "the first": ("a, b = f(x)  # (B, T), ...\n", ["[B T]: a after 1"]),
    "capitals between blanks": (
        "y = f(x)  # B T\nz = g(y)  # B T 3\nw = h(z)  # relative: B T\n",
        ["[B T]: value f(x)", "[B T 3]: value g(y)", "[B T]: value h(z)"],
    ),
    "of a product, whose sizes stand beside": (
        "return u, v, s  # (B, D, n_most), (n_most, D, B), (n_most,)",
        ["[B D n_most] .0/3: value u, v, s", "[n_most D B] .1/3: value u, v, s", "[n_most] .2/3: value u, v, s"],
    ),
    "below what it tells of": (
        "def f(x):\n    a, b = g(x)\n    # --> (B, 3) and (B, T)\n    c = k(a)  # (B,)\n",
        ["[B 3]: a after 2", "[B T]: b after 2", "[B]: value k(a)"],
    ),
    "what stands above, by a sign": (
        "def f(x):\n    y = g(x)\n    # ^ (B, T)\n    return y.T\n",
        ["[B T]: value g(x)"],
    ),
    "a variable called by a word for it": (
        "def f(x):\n    final, rest = g(x)\n    # final: (B, T)\n    return rest\n",
        ["[B T]: final before 4"],
    ),
    "several of A": ("def f(As):\n    # As: (N, B, T)\n    n, b = As.shape[:2]\n", ["[N B T]: param As"]),
}


@pytest.mark.parametrize(("source", "expected"), BESIDE.values(), ids=BESIDE.keys())
def test_comments_of_some_of_several_values(source: str, expected: list[str], described) -> None:
    if "return" in source and not source.startswith("def"):
        source = "def f(x):\n    " + source
    assert described(source) == expected


def test_words_for_each_of_the_values_behind_a_return(read) -> None:
    source = 'def f(x, w):\n    """x: (n, d); w: (m, n)"""\n    return x, w  # carry (n, d), out (n, m)\n'
    found = [claim for claim in read(source).claims if claim.notation == "comment"]
    assert [(claim.text, claim.select, claim.loose) for claim in found] == [
        ("(n, d)", ("0/2",), False),
        ("(n, m)", ("1/2",), False),  # of as many names as there are values, which are not these
    ]


def test_shapes_between_blanks_are_those_of_as_many_variables(described) -> None:
    source = "def f(x):\n    a, b = x  # (B, T)  (T, 3)\n    c = a * b  # (1, T)    (B, T)\n    return c\n"
    assert described(source) == ["[B T]: a after 2", "[T 3]: b after 2"]


JAXTYPING = "from jaxtyping import Array, Float\n"
WORDS = {
    "that are known": (
        JAXTYPING + "def f(x: Float[Array, 'batch time d']):\n    y = g(x)  # batch time\n",
        ["[batch time]"],
    ),
    "of which one is none": (JAXTYPING + "def f(x: Float[Array, 'batch time d']):\n    y = g(x)  # batch size\n", []),
    "scalar": ("y = f(x)  # scalar\n", ["[]"]),
    "scalar, of a number": ("y = 0.5  # scalar\n", []),
    "scalar and more": ("y = f(x)  # scalar multiplication\n", []),
}


@pytest.mark.parametrize(("source", "expected"), WORDS.values(), ids=WORDS.keys())
def test_words_alone(source: str, expected: list[str], read) -> None:
    assert [f"[{claim.spec}]" for claim in read(source).claims if claim.notation == "comment"] == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("Loss. Returns a scalar.", ["[]: return"]), ("Returns a scalar function.", [])]
)
def test_a_scalar_is_returned(text: str, expected: list[str], described) -> None:
    assert described(SOURCE.format(text, ONE)) == expected


FURTHER = {
    "a pair": ("Pair of means (N, T) and the mask (N,)", TWO, ["[N T] .0", "[N] .1"]),
    "names first": ("(tokens, probs): (B, T) ints and (B, T, D) floats", TWO, ["[B T] .0", "[B T D] .1"]),
    "some called shapes": (
        "q: codes of shape (N, D).\n        scale: (N // 2, D) scales.",
        TWO,
        ["[N D] .0", "[N//2 D] .1"],
    ),
    "behind another parenthesis": (
        "r: [B, 2] rest\n        J: by parameters (rvec, t), [B, 2, 7].",
        TWO,
        ["[B 2] .0", "[B 2 7] .1"],
    ),
    "types behind the names of what is returned": (
        "z (Array): codes of shape (B, T).\n        kl (jax.Array): terms of shape (B, N).",
        "z, kl",
        ["[B T] .0", "[B N] .1"],
    ),
    "behind dashes": ("z - [B, T]\n        kl - [B, N]", TWO, ["[B T] .0", "[B N] .1"]),
    "the last with its shape": ("the state [3, N, T] and heights, with shape (T, N)", TWO, ["[3 N T] .0", "[T N] .1"]),
}


@pytest.mark.parametrize(("text", "returned", "expected"), FURTHER.values(), ids=FURTHER.keys())
def test_results_in_a_section(text: str, returned: str, expected: list[str], described) -> None:
    found = described(SOURCE.format(f"Do it.\n\n    Returns:\n        {text}\n    ", returned))
    assert [each.removesuffix(": return") for each in found] == expected


LEFT_SIDES = {
    "a method": ("y = x.swapaxes(0, 1)  # (b, t) -> (t, b)", ["[b t]: x before 3", "[t b]: value x.swapaxes(0, 1)"]),
    "a function": ("y = jnp.flip(x, 0)  # (b, t) -> (b, t)", ["[b t]: x before 3", "[b t]: value jnp.flip(x, 0)"]),
    "several steps": ("y = g(x).T  # (b, t) -> (t, b)", ["[b t]: x before 3 | value g(x)", "[t b]: value g(x).T"]),
    "an argument as it came": ("y = a.T  # (b, t) -> (t, b)", ["[b t]: param a | a before 3", "[t b]: value a.T"]),
    "two arrays": ("y = x @ a  # (b, t) -> (b, d)", ["[b d]: value x @ a"]),
    "a list of them": ("y = jnp.concatenate([x, a])  # (b, t) -> (b, d)", ["[b d]: value jnp.concatenate([x, a])"]),
}


@pytest.mark.parametrize(("code", "expected"), LEFT_SIDES.values(), ids=LEFT_SIDES.keys())
def test_an_arrow_behind_a_statement_tells_what_it_changes(code: str, expected: list[str], described) -> None:
    assert described(f"def f(a):\n    x = h(a)\n    {code}\n") == expected


def test_the_word_for_an_array_directly_in_front_of_its_axes(described) -> None:
    source = '''
        def f(mean, var):
            """Predict.

            Args:
                mean (ndarray(n_state)): Mean.
                var (ndarray(n_state, n_state)): Variance.

            Returns:
                (tuple):
                - **mean_pred** (ndarray(n_state)): Predicted mean.
                - **var_pred** (ndarray(n_state, n_state)): Predicted variance.
            """
            return g(mean), h(var)
    '''
    vector, matrix = "[n_state]", "[n_state n_state]"
    assert described(source) == [
        f"{vector}: param mean",
        f"{matrix}: param var",
        f"{vector} .0: return",
        f"{matrix} .1: return",
    ]


def test_a_dtype_behind_the_word_for_an_array_is_no_axis(described) -> None:
    source = '''
        def f(origins, matrix):
            """Convert.

            Args:
                origins: ndarray(float32), [..., 3], where rays begin.
                matrix: ndarray(float32), [3, 3], inverse.

            Returns:
                ends: jnp.ndarray(float32), [..., 3].
            """
            return g(origins, matrix)
    '''
    assert described(source) == ["[... 3]: param origins", "[3 3]: param matrix", "[... 3]: return"]


def test_items_of_a_dict_or_a_tuple_on_lines_of_their_own(described) -> None:
    source = '''
        def f(params, masks, margins):
            """Convert.

            Params:
            -------
            params: a dictionary of the natural parameters, containing
                - J: a shape (T, D, D) array
                - h: a shape (T, D) array, the linear part
            masks: Dictionary of masks:
                * 'attention': single mask, shape [T, D].
                * 'output': output mask, shape [T].
            margins: a tuple, containing
                - rest: a number
                - means: a shape (T, D) array
            """
            return g(params, masks, margins)
    '''
    assert described(source) == [
        "[T D D] .entry J: param params",
        "[T D] .entry h: param params",
        "[T D] .entry attention: param masks",
        "[T] .entry output: param masks",
        "[T D] .1: param margins",
    ]


def test_named_rows_are_of_the_variables_that_are_returned(described) -> None:
    source = '''
        def f(C, d):
            """Find the map.

            Returns:
            --------
            A mapping P x + offset
            offset: (N, 1) the additive part
            P: (N, D) the linear part
            """
            return P, offset
    '''
    assert described(source) == ["[N 1] .1: return", "[N D] .0: return"]
