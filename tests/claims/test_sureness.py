"""Which comments may be reported, which may only be verified, and which are malformed."""

from __future__ import annotations

import pytest


def _certainty(module):
    claim = module.claims[-1]
    return "sure" if claim.sure else "loose" if claim.loose else "tentative"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # nothing speaks for it
        ("y = f(x)  # (b, t)", "tentative"),
        ("y = f(x)  # (3, 4)", "loose"),
        ("y = f(x)  # True means y has shape (1,)", "loose"),
        ("y = f(x)  # shape (b,) uniform or one for each object", "loose"),
        ("# Couplings: shape (1,) uniform or per-object arrays --\n#   y (b, t).\ny = f(x)", "loose"),
        (
            'def g(x):\n    """x: shape (rows, 3)"""\n    y = f(x)  # the normal vectors of all faces, (rows, 2)',
            "loose",
        ),
        # the comment says it
        ("y = f(x)  # shape: (b, t)", "sure"),
        ("y = f(x)  # y.shape = (b, t)", "sure"),
        ("y = f(x)  # shape (3, 4)", "sure"),
        ("y = f(x)  # scores of shape (b, t)", "sure"),
        ("y = f(x)  # f32[b, t]", "sure"),
        ("y = f(x)  # (b, t) -> (t,)", "sure"),
        ("# shape: (b, t)\ny = f(x)", "sure"),
        ("# Some models accept a transposed\n# y (shape (b, t)), too\ny = f(x)", "loose"),
        ("# The point axis meets the amplitudes a[k] of\n# shape (b, t).\ny = f(x)", "loose"),
        ("# Some models are slow, but this one has a\n# y (shape (b, t))\ny = f(x)", "sure"),
        ("# [b, t] -> [t, b]\ny = f(x)", "sure"),
        # the file knows a name
        ("b, n = x.shape\ny = f(x)  # (b, t)", "sure"),
        ("b = x.shape[0]\ny = f(x)  # (b, t)", "sure"),
        ("b = len(x)\ny = f(x)  # (b, t)", "sure"),
        ("b = 32\ny = f(x)  # (b, t)", "sure"),
        ("x = jnp.linspace(0.0, 1.0, b)\ny = f(x)  # (b, t)", "sure"),
        ("x = jax.nn.one_hot(z, num_classes=b)\ny = f(x)  # (b, t)", "sure"),
        ("x = jnp.arange(b)\ny = f(x)  # (b, t)", "sure"),
        ("x = jnp.arange(2, b)\ny = f(x)  # (b, t)", "tentative"),
        ("def f(x, b: int):\n    y = g(x)  # (b, t)", "sure"),
        ("def f(x, b=16):\n    y = g(x)  # (b, t)", "sure"),
        ("def f(x, *, b=16):\n    y = g(x)  # (b, t)", "sure"),
        ("class A:\n    b: int\ny = f(x)  # (b, t)", "sure"),
        ("class A:\n    def f(self):\n        self.b = 8\ny = f(x)  # (b, t)", "sure"),
        ('from jaxtyping import Float\nz: Float[Array, "b c"] = g(x)\ny = f(x)  # (b, t)', "sure"),
        ("z = g(x)  # shape: (b,)\ny = f(x)  # (b, t)", "sure"),
        ("b = 32\ny = f(x)  # optional [b, t] not None if it is causal", "sure"),
        # what a statement returns is not what a comment above it says of one of them
        ("h, c = f(x)\n# c: (b, t)\nreturn h, c", "tentative"),
        # what a docstring goes on with
        ('def f(x):\n    """x: array of shape (b, t)\n        Or with a batch in front."""', "loose"),
        ('def f(x):\n    """x: array of shape (b, t) (or with a batch in front)"""', "loose"),
        ('def f(x):\n    """x: array of shape (b, t), ordered"""', "sure"),
        ('def f(x):\n    """x: array of shape (b, t) for 1d inputs"""', "loose"),
        # counters and switches are no sizes
        ("b = 0\ny = f(x)  # (b, t)", "tentative"),
        ("b = True\ny = f(x)  # (b, t)", "tentative"),
        # the comment hedges, or speaks of something that has no such name here
        ("y = f(x)  # shape (b, t) if causal", "loose"),
        ("b, t = x.shape\ny = f(x)  # (b, t) when training", "loose"),
        ("b, t = x.shape\ny = f(x)  # (b, t), dropping dimensions of size 1", "loose"),
        ("b, t = x.shape\ny = f(x)  # (b, t), without the batch axis", "loose"),
        ("b, t = x.shape\ny = f(x)  # (b, t), without the padded tokens", "sure"),
        ("b, t = x.shape\n# project x -> (b, t, t) split along the last axis\ny = f(x)", "loose"),
        ("b, t = x.shape\n# project x -> (b, t, t), split later\ny = f(x)", "sure"),
        ("b, t = x.shape\ny = f(x)  # window weights (b, t)", "loose"),
        ("b, t = x.shape\n# output: (b, t)\ny = f(x)", "loose"),
        ("# We turn it into an array of shape (b, t)\ny = f(x)", "loose"),
        ("b, t = x.shape\n# the scores are an array of shape (b, t)\ny = f(x)", "loose"),
        ("b, t = x.shape\n\n# (b, t)\n\ny = f(x)", "loose"),
        ("b, t = x.shape\nz = g(x)\n# (b, t)\n\ny = f(x)", "sure"),
        ("b, t = x.shape\npair = [f(x), g(x)]  # (b, t)", "sure"),
        ("b, t = x.shape\n# (b, t)\nif a:\n    z = g(x)\nelse:\n    z = x", "sure"),
        ("def f(x):  # shape: (b, t)\n    pass", "loose"),
        ("b, t = x.shape\n# (b, t)\nif a:\n    x = g(x)", "loose"),  # of `x`, or of `a`
        ("b, t = x.shape\ny = f(x)\n# (b, t)\nif a:\n    y = g(x)\nelse:\n    z = g(x)", "loose"),
        ("b, t = x.shape\ny = f(x)\n# (b, t)\nwith a:\n    z = g(x)", "loose"),
        ("b, t = x.shape\n# (b, t)\n# (t, b)\ny = f(x)", "loose"),
        # a step inside of the statement, or of what it comes from
        ("b, t = x.shape\n# reshape to (b, t) because f expects (b, t)\ny = f(x.reshape(b, t))", "loose"),
        ("b, t = x.shape\n# theirs: left_side @ right_side -> (b, t)\ny = f(x)", "loose"),
        ("b, t = x.shape\nleft_side = g(x)\n# left_side @ x -> (b, t)\ny = f(left_side, x)", "sure"),
        ("b, t = x.shape\n# reshape to (b, t)\ny = x.reshape(b, t)", "sure"),
        ("b, t = x.shape\n# x: [b] -> [b, t]\ny = f(x)", "sure"),
        ("b, t = x.shape\n# y: [b] -> [b, t]\n# shapes are static\ny = f(x)", "sure"),
        ("b, t = x.shape\n# x: [b] -> [b, t]\n# keys are static\ny = f(x)", "loose"),
        ("b, t = x.shape\n# Decode it -> (t, b)\ny = f(x)", "sure"),
        ("b, t = x.shape\n# Decode it -> (t, b)\ny = f(x)  # the codes", "sure"),
        # what is said of a part that the statement changes, and then takes beside others
        ("b, t = x.shape\n# expand x from (b, t) to (b, t, 1)\ny = concatenate([z, x[..., None]])", "loose"),
        ("b, t = x.shape\n# expand x from (b, t) to (b, t, 1)\ny = z + x[..., None]", "loose"),
        ("b, t = x.shape\n# expand x from (b, t) to (b, t, 1)\ny = x[..., None]", "sure"),
        ("b, t = x.shape\n# expand y from (b, t) to (b, t, 1)\ny = concatenate([z, x[..., None]])", "sure"),
        ("b, t = x.shape\n# stack x from (b, t) to (b, t, 2)\ny = stack([z, x], -1)", "sure"),
        ("rows = (1, 2)\nb, t = x.shape\nsize = (rows, x)  # (b, t)", "loose"),
    ],
)
def test_certainty(read, source, expected):
    assert _certainty(read(source)) == expected


@pytest.mark.parametrize(
    "source",
    [
        "y = jnp.array([h, w])  # (h, w)",
        "h, w = g(x)  # (h, w)",
        "y = f((h, w))  # (h, w)",
        "# (h, w)\ny = [h, w]",
        # code that is switched off, also line by line
        "# y = f(x)\n# (b, t)\nz = g(x)",
        "# y = f(\n#     (b, t),\n# )\nz = g(x)",
        "# def f(\n#     x: (b, t),\n# ):\nz = g(x)",
        # one sentence over two lines
        "# We map the values to the interval\n# (b, t)\nz = g(x)".replace("interval", "range"),
        # what goes in
        "# input: (b, t)\nz = g(x)",
        # strings are no comments
        'y = f("# (b, t)")',
        "y = '''\n# (b, t)\n'''",
    ],
)
def test_no_claim(read, source):
    assert read(source).claims == ()


@pytest.mark.parametrize(
    "source",
    [
        "y = jnp.zeros((h, w))  # (h, w)",
        "y = jax.random.normal(key, shape=(h, w))  # (h, w)",
        "y = x.reshape((h, w))  # (h, w)",
        "y = x[h, w]  # (h, w)",
        "y = jnp.array([h, w])  # shape: (h, w)",
    ],
)
def test_a_repeated_shape_is_still_a_claim(read, source):
    assert len(read(source).claims) == 1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("y = f(x)  # shape: (b, s", "(b, s"),
        ("y = f(x)  # shape (b,, s)", "(b,, s)"),
        ("y = f(x)  # x.shape = (b, s]", "(b, s]"),
        ("# shape: [b, 2*d\ny = f(x)", "[b, 2*d"),
        ("y = f(x)  # y.shape = (b, t - , d)", "(b, t - , d)"),
    ],
)
def test_malformed_marked_comments(read, source, text):
    module = read(source)
    (problem,) = module.problems
    line = module.lines[problem.span.line - 1]
    assert problem.code == "SC102"
    assert line[problem.span.column - 1 : problem.span.end_column - 1] == text
    assert text in problem.message
    assert module.claims == ()


@pytest.mark.parametrize(
    "source",
    [
        "y = f(x)  # (b, s",
        "y = f(x)  # shape: (see the docs of g",
        "y = f(x)  # shape: (same as x)",
        "y = f(x)  # the shape (and dtype) of x",
        "y = f(x)  # shape: (...",
        "# shape: (b,\n#  s)\ny = f(x)",
        "y = f(x)  # shape: [x.shape[0], *f(y)]",
        "# y = g(shape=(b,\ny = f(x)",
        "y = f(x)  # input shape is (B,T,X_1, ..., X_dim,C)",
    ],
)
def test_what_is_not_malformed(read, source):
    assert read(source).problems == ()


@pytest.mark.parametrize(
    ("annotation", "is_sure"),
    [
        ('tuple[Int[Array, "n"], Float[Array, "n d d"]]', False),
        ('tuple[Float[Array, "n d"], Float[Array, "n d"]]', True),
        ("tuple[Array, Array]", True),
        ('Float[Array, "n d"]', True),
    ],
)
def test_what_is_said_of_a_tuple_of_different_shapes_is_of_none_of_them(read, annotation, is_sure):
    docstring = '"""F.\n\n    Args:\n        x: derivative of shape (b, n, d), given as a tuple of its parts.\n    """'
    (claim,) = (c for c in read(f"def f(x: {annotation}):\n    {docstring}\n").claims if c.notation == "docstring")
    assert claim.sure is is_sure
