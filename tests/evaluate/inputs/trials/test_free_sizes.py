"""Claims hold for every size or not at all: symbols where JAX goes on with them, several numbers where it does not."""

from __future__ import annotations

import pytest

HEAD = """
import math
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray
"""

CASES = {
    # what comes before the line that needs a value may still be false; it is verified by nothing that stops half-way
    # Python decides on values there: they are made up, of two kinds
    "value_dependent.py": """
def rectify(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    y = x * 2  # (n, d)
    z = x.T  # (n, d)  ~SC201
    if x.sum() > 0:
        return y
    w = y - z.T  # (n, d)
    return w
""",
    "value_dependent_loop.py": """
def iterate(x: Float[Array, "n"], tol: float = 1e-3) -> Float[Array, "n"]:
    y = x / 2  # (n,)
    while jnp.abs(y).max() > tol:
        y = y / 2  # (n,)
    return y
""",
    "item.py": """
def count(x: Float[Array, "n d"]):
    y = x.sum(axis=0)  # (d,)
    k = int(y[0])
    return jnp.zeros(k)  # (k,)
""",
    "boolean_mask.py": """
def keep(x: Float[Array, "n d"]) -> Float[Array, "k d"]:
    norm = jnp.abs(x).sum(axis=1)  # (n,)
    return x[norm > 1]
""",
    "compare_shape.py": """
def pad(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    if x.shape[0] > 3:
        y = x + 1  # (n, d)
    else:
        y = x
    if x.shape[0] % 2 == 0:
        y = y * 2  # (d, n)  ~SC201
    return y
""",
    "range_of_shape.py": """
def rows(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    out = []
    for i in range(x.shape[0]):
        row = x[i]  # (d,)
        out.append(row)
    y = jnp.stack(out)  # (d, n)  ~SC201
    return y
""",
    "sqrt.py": """
def attend(q: Float[Array, "s d"], k: Float[Array, "t d"], v: Float[Array, "t e"]) -> Float[Array, "s e"]:
    scores = q @ k.T / math.sqrt(q.shape[-1])  # (s, t)
    w = jax.nn.softmax(scores, axis=-1)  # (t, s)  ~SC201
    return w @ v
""",
    "associative_scan.py": """
def ssm(a: Float[Array, "t n"], b: Float[Array, "t n"]) -> Float[Array, "t n"]:
    def combine(l, r):
        return l[0] * r[0], r[0] * l[1] + r[1]
    _, h = jax.lax.associative_scan(combine, (a, b))
    y = h * 2  # (t, n)
    z = h * 2  # (n, t)  ~SC201
    return y + z
""",
    "iteration.py": """
def unroll(xs: Float[Array, "t d"]) -> Float[Array, "t d"]:
    h = jnp.zeros(xs.shape[1])
    hs = []
    for x in xs:
        h = h + x  # (d,)
        hs.append(h)
    y = jnp.array(hs)  # (d, t)  ~SC201
    return y
""",
    "python_power.py": """
def fft(x: Float[Array, "n"]) -> Float[Array, "m"]:
    m = 2 ** math.ceil(math.log2(x.shape[0]))
    y = jnp.zeros(m).at[: x.shape[0]].set(x)  # (m,)
    z = jnp.zeros(m)  # (n,)  ~SC201
    return y + z
""",
    # `jax.export` lets this reshape pass for symbols, though n*d elements never fill n*n
    "reshape_error.py": """
def square(x: Float[Array, "n d"]) -> Float[Array, "n n"]: ~unreached
    y = x.reshape(x.shape[0], x.shape[0]) ~SC305
    return y
""",
    "reshape_claim.py": """
def split(x: Float[Array, "b s d"], h: int = 4) -> Float[Array, "b h s d//h"]:
    b, s, _ = x.shape
    y = x.reshape(b, s, h, -1)  # (b, s, h, k)
    z = y.transpose(0, 2, 1, 3)  # (b, s, h, k)  ~SC201
    return z
""",
    "halves.py": """
def halve(x: Float[Array, "n h"]) -> Float[Array, "n h//2"]:
    a, b = x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]
    y = a * 2  # (n, h//2)
    z = b * 1  # (n, h/2)
    w = a * 1  # (n, h//4)  ~SC201
    v = jnp.concatenate([a, b], axis=1)  # (n, h)
    return a
""",
    "stride.py": """
FORM = ("NHWC", "HWIO", "NHWC")

def down(x: Float[Array, "b h w c"], k: Float[Array, "3 3 c o"]) -> Float[Array, "b h//2 w//2 o"]:
    y = jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=FORM)  # (b, h//2, w//2, o)
    z = jax.lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=FORM)  # (b, h, w, o)  ~SC201
    u = jax.lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=FORM)  # (b, h-2, w-2, o)
    return y
""",
    # two dims that one run would give the same size
    "equal_by_chance.py": """
def cross(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    s = x @ y.T  # (n, m)
    t = x @ y.T  # (n, n)  ~SC201
    return s + t

def gram(x: Float[Array, "n d"]) -> Float[Array, "d d"]: ~SC203
    return x @ x.T
""",
    "rope.py": """
def apply_rope(x: Float[Array, "s d"], cos: Float[Array, "s half"], sin: Float[Array, "s half"]) -> Float[Array, "s d"]:
    a, b = jnp.split(x, 2, axis=-1)  # (s, half)
    y = jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)  # (s, d)
    return y
""",
    "rope_wrong.py": """
def apply_rope(x: Float[Array, "s d"], cos: Float[Array, "s half"]) -> Float[Array, "s d"]:
    a, b = jnp.split(x, 2, axis=-1)  # (s, half)
    y = jnp.concatenate([a * cos, b * cos], axis=-1)  # (s, half)  ~SC201
    return y
""",
    "one_more.py": """
def differences(edges: Float[Array, "k"], values: Float[Array, "m"]) -> Float[Array, "m"]:
    widths = edges[1:] - edges[:-1]  # (m,)
    total = values * widths  # (k,)  ~SC201
    return total
""",
    "broadcast.py": """
def standardise(x: Float[Array, "n d"]) -> Float[Array, "n d"]: ~unreached
    mean = x.mean(axis=1)  # (n,) ~unreached
    y = x - mean ~SC305
    return y
""",
    "hidden.py": """
class Mlp(eqx.Module):
    w1: Float[Array, "d_model hidden"]
    w2: Float[Array, "hidden d_model"] ~SC205
    def __init__(self, d_model: int = 64, hidden: int = 64, *, key: PRNGKeyArray):
        self.w1 = jax.random.normal(key, (d_model, hidden))
        self.w2 = jax.random.normal(key, (d_model, hidden))
    def __call__(self, x: Float[Array, "s d_model"]) -> Float[Array, "s d_model"]:
        h = x @ self.w1  # (s, hidden)
        g = jax.nn.gelu(h)  # (s, d_model)  ~SC201
        return g @ self.w1.T  # (s, d_model)
""",
    "positions.py": """
class Embed(eqx.Module):
    tokens: Float[Array, "vocab d"]
    positions: Float[Array, "max_len d"]
    max_len: int = eqx.field(static=True)
    def __init__(self, vocab: int, d: int, max_len: int = 128, *, key: PRNGKeyArray):
        self.tokens = jax.random.normal(key, (vocab, d))
        self.positions = jax.random.normal(key, (max_len, d))
        self.max_len = max_len
    def __call__(self, ids: Int[Array, "s"]) -> Float[Array, "s d"]:
        t = self.tokens[ids]  # (s, d)
        p = self.positions[: ids.shape[0]]  # (max_len, d)  ~SC201
        return t + p
""",
    "arange_and_linspace.py": """
def grid(x: Float[Array, "n d"], steps: int = 10) -> Float[Array, "n d"]:
    i = jnp.arange(x.shape[0])  # (n,)
    l = jnp.linspace(0.0, 1.0, steps)  # (steps,)
    m = jnp.eye(x.shape[1])  # (n, n)  ~SC201
    o = jax.nn.one_hot(i, steps)  # (n, steps)
    t = jnp.tile(x, (2, 3))  # (2*n, 3*d)
    r = jnp.repeat(x, 2, axis=0)  # (n, 2*d)  ~SC201
    p = jnp.pad(x, ((1, 1), (0, 0)))  # (n+2, d)
    return x
""",
    "variadic.py": """
def norm(x: Float[Array, "*batch d"], scale: Float[Array, "d"]) -> Float[Array, "*batch d"]:
    mean = x.mean(axis=-1, keepdims=True)  # (..., 1)
    y = (x - mean) * scale  # (..., d)
    return y

def last(x: Float[Array, "*batch s d"]) -> Float[Array, "*batch d"]: ~SC203
    return x[..., 0]
""",
    "only_pairs.py": """
def merge(x: Float[Array, "b s d"]) -> Float[Array, "b s*d"]:
    y = x.reshape(x.shape[0], -1)  # (b, s*d)
    z = x.reshape(-1, x.shape[-1])  # (b*s, d)
    w = x.reshape(-1, x.shape[-1])  # (b*d, s)  ~SC201
    return y
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_are_verified_and_wrong_ones_found(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_nothing_is_merely_tentative(folder) -> None:
    assert folder.report.summary.tentative == 0


def test_verified_for_all_sizes_is_told_from_verified_for_some(check_folder) -> None:
    symbolic = 'def f(x: Float[Array, "n d"]):\n    return x * 2  # (n, d)\n'
    sized = 'def f(x: Float[Array, "n d"]):\n    return x / math.sqrt(x.shape[0])  # (n, d)\n'
    report = check_folder({"a.py": HEAD + symbolic}).report
    assert (report.summary.verified, report.summary.verified_for_all_sizes) == (2, 2)
    report = check_folder({"a.py": HEAD + sized}).report
    assert (report.summary.verified, report.summary.verified_for_all_sizes) == (2, 0)


def test_what_a_test_without_arguments_calls_was_seen_for_its_sizes(check_folder) -> None:
    text = """
def apply(u, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(u)(x)

def test_apply():
    w = jnp.ones((6, 6))
    y = apply(lambda each: w @ each, jnp.ones((10, 6)))  # (10, 6)
"""
    report = check_folder({"test_a.py": HEAD + text}).report
    how = {each.claim: each.how for each in report.verified}
    assert how.pop('Float[Array, "n d"]') == "seen sizes"
    assert how == {"(10, 6)": "all sizes"}  # they are the same whenever it runs


def test_sides_that_a_symbolic_run_had_to_make_equal_are_told_apart_by_numbers(check_folder) -> None:
    # Symbols fail at `x + doubled`, for JAX cannot tell that `2*(h//2)` is `h`; only numbers in place of both go on.
    text = HEAD + (
        "def rows(x):\n"
        "    h, w = x.shape[1:]\n"
        "    return x  # (width, h, w)\n"
        "class Halve(eqx.Module):\n"
        "    width: int\n"
        "    def __init__(self, width: int):\n"
        "        self.width = width\n"
        '    def __call__(self, x: Float[Array, "width h w"]) -> Float[Array, "width {0}"]:\n'
        "        small = rows(x[:, ::2, ::2])\n"
        "        doubled = jnp.repeat(jnp.repeat(small, 2, axis=1), 2, axis=2)\n"
        "        return x + doubled\n"
    )
    report = check_folder({"a.py": text.replace("{0}", "w h")}).report
    assert [f.code for f in report.findings] == ["SC203"]
    report = check_folder({"a.py": text.replace("{0}", "h w")}).report
    assert report.findings == ()
    assert (report.summary.verified, report.summary.verified_for_all_sizes) == (3, 0)


def test_a_free_name_is_not_made_equal_to_a_constructors_size_beside_it(check_folder) -> None:
    text = HEAD + (
        "class Project(eqx.Module):\n"
        "    linear: eqx.nn.Linear\n"
        "    def __init__(self, d_model: int, key: PRNGKeyArray):\n"
        "        self.linear = eqx.nn.Linear(d_model, d_model, key=key)\n"
        '    def __call__(self, x: Float[Array, "{0}"]) -> Float[Array, "seq d_model"]:\n'
        "        return jax.vmap(self.linear)(x)\n"
    )
    assert check_folder({"a.py": text.replace("{0}", "seq d_model")}).report.findings == ()
    swapped = check_folder({"a.py": text.replace("{0}", "d_model seq")}).report
    assert [(f.code, f.severity) for f in swapped.findings] == [("SC305", "error")]
    assert "only where seq = d_model" in swapped.findings[0].message


def test_what_evaluates_only_where_two_names_of_one_comment_are_equal_is_a_finding(check_folder) -> None:
    text = HEAD + (
        "def total(\n"
        "    x,  # ({0})\n"
        "    gain,  # (t, b)\n"
        "):\n"
        "    scaled = x * gain  # (t, b)\n"
        "    return scaled.sum(axis=1)  # (t,)\n"
    )
    assert check_folder({"a.py": text.replace("{0}", "t, b")}).report.summary.verified == 4
    swapped = check_folder({"a.py": text.replace("{0}", "b, t")}).report
    assert [f.code for f in swapped.findings] == ["SC305"]
    assert "only where t = b" in swapped.findings[0].message
    assert swapped.summary.verified == 0


def test_each_verified_claim_is_told_with_what_it_was_verified_for(check_folder) -> None:
    text = (
        HEAD
        + """
def f(x: Float[Array, "n d"], y: Float[Array, "m"]) -> Float[Array, "n d"]:
    z = x + 1  # (n, k)
    return z * float(y.shape[0])
"""
    )
    report = check_folder({"m.py": text}).report
    line = HEAD.count("\n")
    told = [(each.line - line, each.column, each.claim, each.notation, each.how) for each in report.verified]
    assert told == [
        (1, 10, 'Float[Array, "n d"]', "annotation", "seen sizes"),
        (1, 34, 'Float[Array, "m"]', "annotation", "seen sizes"),
        (1, 56, 'Float[Array, "n d"]', "annotation", "seen sizes"),
        (2, 18, "(n, k)", "comment", "rank alone"),
    ]
    assert len(report.verified) == report.summary.verified
