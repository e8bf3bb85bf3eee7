"""Claims inside what JAX transforms: traced late, traced once, mapped, differentiated."""

from __future__ import annotations

import pytest

HEAD = """
import functools
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
"""

CASES = {
    "vmap_example.py": """
def one(row, w):
    y = row @ w  # (m,)
    return y * 2  # (n, d)  ~SC201

def many(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    return jax.vmap(one, in_axes=(0, None))(x, w)
""",
    "vmap_front.py": """
def pair(x: Float[Array, "b n d"], w: Float[Array, "d m"]) -> Float[Array, "b n m"]:
    def inner(row):
        y = row @ w  # (b, n, m)
        z = row @ w  # (n, b, m)  ~SC201
        return y + z
    return jax.vmap(jax.vmap(inner))(x)
""",
    "vmap_jit.py": """
def jitted(x: Float[Array, "b n d"], w: Float[Array, "d m"]) -> Float[Array, "b n m"]:
    @jax.jit
    def inner(row):
        y = row @ w  # (b, n, m)
        z = row @ w  # (n, b, m)  ~SC201
        return y + z
    return jax.vmap(jax.vmap(inner))(x)

def scanned(x: Float[Array, "b n d"]) -> Float[Array, "b d"]:
    def step(carry, row):
        both = carry + row  # (b, d)
        wrong = carry * row  # (n, d)  ~SC201
        return both + wrong, None
    return jax.vmap(lambda rows: jax.lax.scan(step, rows[0], rows)[0])(x)

def summed(x: Float[Array, "b m"]) -> Float[Array, "b"]:
    @jax.jit
    def inner(row):  # row: (t, m)  ~unreached
        return jnp.sum(row)
    return jax.vmap(inner)(x)
""",
    "vmap_repeated.py": """
class Scale(eqx.Module):
    weight: Array
    def __call__(self, x):
        return x * self.weight  # (n, d)  ~SC201

class Net(eqx.Module):
    scale: Scale
    def __init__(self, d: int):
        self.scale = Scale(jnp.zeros(d))
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "d"]:
        a = jax.vmap(jax.jit(lambda row: self.scale(row)))(x)  # (n, d)
        b = jax.vmap(jax.jit(lambda row: self.scale(row)))(x)
        return self.scale(x[0]) + a[0] + b[0]
""",
    "vmap_axes.py": """
def columns(x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, "d k"]:
    def dot(column):
        total = column @ y  # (k,)
        wrong = column @ y  # (n,)  ~SC201
        return total + wrong
    return jax.vmap(dot, in_axes=1)(x)
""",
    "vmap_lambda.py": """
def outer(x: Float[Array, "n"], y: Float[Array, "m"]) -> Float[Array, "n m"]:
    grid = jax.vmap(lambda a: jax.vmap(lambda b: a * b)(y))(x)  # (n, m)
    turned = jax.vmap(lambda a: a * y, out_axes=1)(x)  # (n, m)  ~SC201
    return grid + turned.T
""",
    "filter_vmap.py": """
@eqx.filter_vmap(in_axes=(None, 0))
def apply(w: Float[Array, "d m"], x: Float[Array, "d"]) -> Float[Array, "m"]:
    y = x @ w  # (m,)
    return y

def batch(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    y = apply(w, x)  # (n, m)
    z = apply(w, x)  # (m, n)  ~SC201
    return y + z
""",
    "decorated_by_vmap.py": """
@jax.vmap
def norm(x: Float[Array, "d"]) -> Float[Array, "d"]:
    y = x / jnp.linalg.norm(x)  # (d,)
    return y

@jax.jit
@functools.partial(jax.vmap, in_axes=(0, None))
def dot(x: Float[Array, "d"], w: Float[Array, "d m"]) -> Float[Array, "d"]: ~SC203
    return x @ w

class Mapped(eqx.Module):
    w: Array
    def __init__(self, d: int, m: int, *, key):
        self.w = jax.random.normal(key, (d, m))
    @eqx.filter_vmap(in_axes=(None, 0))
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        y = x @ self.w  # (m,)
        z = x @ self.w  # (d,)  ~SC201
        return y + z
""",
    # the docstring of a private function may be that of what others call
    "mapped_in_public.py": """
def _scaled(diagonal, rows):
    '''Scale.

    Args:
        diagonal: array of shape (n,)
        rows: array of shape (n, m)

    Returns:
        array of shape (n, m)
    '''
    return diagonal * rows

scaled = jax.vmap(_scaled)

def _turned(diagonal, rows):
    '''Scale and turn.

    Args:
        diagonal: array of shape (n,)
        rows: array of shape (n, m)

    Returns:
        array of shape (m, n)  ~SC207
    '''
    return diagonal * rows

turned = jax.vmap(_turned)
""",
    "collectives.py": """
def synchronised(g: Float[Array, "n d"]) -> Float[Array, "n d"]:
    m = jax.lax.pmean(g, "devices")  # (n, d)
    s = jax.lax.psum(m, axis_name=("devices", "hosts")).T  # (n, d)  ~SC201
    return m + s.T
""",
    "scan.py": """
def cumulate(xs: Float[Array, "t d"], w: Float[Array, "d h"]) -> tuple[Float[Array, "h"], Float[Array, "t h"]]:
    def step(carry, x):
        new = carry + x @ w  # (h,)
        wrong = x @ w  # (t, h)  ~SC201
        return new, wrong
    last, all_ = jax.lax.scan(step, jnp.zeros(w.shape[1]), xs)
    stacked = all_  # (h, t)  ~SC201
    return last, stacked
""",
    "scan_decorated.py": """
@jax.jit
def rnn(xs: Float[Array, "t d"], u: Float[Array, "h h"], w: Float[Array, "h d"]) -> Float[Array, "t h"]:
    @jax.checkpoint
    def cell(state: Float[Array, "h"], x: Float[Array, "d"]) -> tuple[Float[Array, "h"], Float[Array, "d"]]: ~SC203
        state = jnp.tanh(u @ state + w @ x)  # (h,)
        return state, state
    return jax.lax.scan(cell, jnp.zeros(u.shape[0]), xs)[1]
""",
    "scan_reverse.py": """
def returns(rewards: Float[Array, "t b"], gamma: float = 0.9) -> Float[Array, "t b"]:
    def back(g, r):
        g = r + gamma * g  # (b,)
        return g, g  # (t, b), (b,)  ~SC201
    _, out = jax.lax.scan(back, jnp.zeros_like(rewards[0]), rewards, reverse=True)  # (b,), (t, b)
    return out
""",
    "cond.py": """
def choose(flag: Int[Array, ""], x: Float[Array, "n d"], y: Float[Array, "d"]) -> Float[Array, "n d"]:
    def left(a):
        return a + y  # (n, d)
    def right(a):
        b = a * 2  # (d, n)  ~SC201
        return b
    return jax.lax.cond(flag > 0, left, right, x)
""",
    "switch.py": """
def pick(i: Int[Array, ""], x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    def first(a: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return a
    def second(a: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
        return a * 2
    return jax.lax.switch(i, [first, second, lambda a: a], x)
""",
    "while_loop.py": """
def power(m: Float[Array, "n n"], v: Float[Array, "n k"]) -> Float[Array, "n k"]:
    def going(carry):
        i, u = carry
        size = jnp.linalg.norm(u, axis=0)  # (k,)
        return (i < 10) & (size.max() < 1e3)
    def body(carry):
        i, u = carry
        new = m @ u  # (n, k)
        bad = m @ u  # (k, n)  ~SC201
        return i + 1, new + bad
    return jax.lax.while_loop(going, body, (0, v))[1]
""",
    "fori.py": """
def smooth(x: Float[Array, "n d"], steps: int = 5) -> Float[Array, "n d"]:
    def body(i, y):
        mean = y.mean(axis=0)  # (d,)
        wrong = y.mean(axis=0)  # (n,)  ~SC201
        return y - mean - wrong
    return jax.lax.fori_loop(0, steps, body, x)
""",
    "map_and_tree.py": """
def rows(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    def row(r):
        y = r @ w  # (m,)
        return y  # (d,)  ~SC201
    return jax.lax.map(row, x)

def halve(params: dict[str, Float[Array, "n d"]]):
    return jax.tree.map(lambda p: p / 2, params)  # (d, n)  ~SC201
""",
    "jit_twice.py": """
@jax.jit
def shared(x):
    y = x * 2  # (rows, cols)
    return y

def first(x: Float[Array, "rows cols"]) -> Float[Array, "rows cols"]:
    return shared(x)

def second(x: Float[Array, "cols rows"]) -> Float[Array, "rows cols"]: ~SC203
    return shared(x)
""",
    # `inner` is traced by JAX in a first attempt, with independent sizes, that fails behind it
    "jit_after_failure.py": """
@jax.jit
def inner(x):
    y = x.T  # (d, n)
    z = x.T  # (n, d)  ~SC201
    return y + z

def outer(x: Float[Array, "n d"], w: Float[Array, "n m"], b: Float[Array, "k"]) -> Float[Array, "d m"]: ~unreached
    return inner(x) @ w + b  ~SC305
""",
    "jit_nested.py": """
@functools.partial(jax.jit, static_argnames=("axis",))
def centre(x, *, axis):
    m = jnp.mean(x, axis=axis, keepdims=True)
    return x - m  # (n, d)

@eqx.filter_jit
def pipeline(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    y = centre(x, axis=0)
    z = centre(x, axis=1)
    total = (y * z).sum(axis=0)  # (n,)  ~SC201
    return y + total
""",
    "grad.py": """
def loss(w: Float[Array, "d k"], x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, ""]:
    p = x @ w  # (n, k)
    e = p - y  # (k, n)  ~SC201
    return jnp.mean(e**2)

def step(w: Float[Array, "d k"], x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, "d k"]:
    g = jax.grad(loss)(w, x, y)  # (d, k)
    value, h = jax.value_and_grad(loss)(w, x, y)  # (), (k, d)  ~SC201
    return w - g - h
""",
    "filter_grad.py": """
class Affine(eqx.Module):
    weight: Float[Array, "out in_"]
    def __init__(self, out: int, in_: int, *, key):
        self.weight = jax.random.normal(key, (out, in_))
    def __call__(self, x: Float[Array, "in_"]) -> Float[Array, "out"]:
        return self.weight @ x

@eqx.filter_value_and_grad
def loss(model: Affine, x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, ""]:
    p = jax.vmap(model)(x)  # (n, k)
    q = jax.vmap(model)(x)  # (n, d)  ~SC201
    return jnp.mean((p - y) ** 2 + q.sum())

def train(model: Affine, x: Float[Array, "n d"], y: Float[Array, "n k"]):
    value, grads = loss(model, x, y)
    new = model.weight - grads.weight  # (k, d)
    return new
""",
    "jacobian.py": """
def field(x: Float[Array, "n"], a: Float[Array, "m n"]) -> Float[Array, "m"]:
    return jnp.tanh(a @ x)  # (m,)

def sensitivity(x: Float[Array, "n"], a: Float[Array, "m n"]) -> Float[Array, "m n"]:
    forward = jax.jacfwd(field)(x, a)  # (m, n)
    reverse = jax.jacrev(field)(x, a)  # (n, m)  ~SC201
    tangent = jax.jvp(lambda v: field(v, a), (x,), (x,))[1]  # (n,)  ~SC201
    return forward + reverse + tangent[:, None]
""",
    "custom_vjp.py": """
@jax.custom_vjp
def clip(x, y):
    z = x @ y  # (n, m)
    return z

def clip_fwd(x, y):
    return clip(x, y), (x, y)

def clip_bwd(saved, g):
    x, y = saved
    dx = g @ y.T  # (n, d)
    dy = x.T @ g  # (m, d)  ~SC201
    return dx, dy

clip.defvjp(clip_fwd, clip_bwd)

def use(x: Float[Array, "n d"], y: Float[Array, "d m"]) -> Float[Array, "n d"]:
    out = clip(x, y)  # (n, m)
    wrong = clip(x, y)  # (m, n)  ~SC201
    return jax.grad(lambda a: (clip(a, y) + out + wrong).sum())(x)
""",
    "custom_jvp.py": """
@jax.custom_jvp
def soft(x):
    return jnp.log1p(jnp.exp(x))  # (n, d)

@soft.defjvp
def soft_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    sigma = jax.nn.sigmoid(x)  # (n, d)
    slope = sigma * dx  # (n, d)
    wrong = sigma * dx  # (d, n)  ~SC201
    return soft(x), slope + wrong

def use(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.grad(lambda a: soft(a).sum())(x)
""",
    "remat.py": """
@jax.remat
def block(x, w):
    y = jax.nn.relu(x @ w)  # (n, m)
    return y  # (m, n)  ~SC201

def net(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "d m"]:
    return jax.grad(lambda v: block(x, v).sum())(w)

@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def direct(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    y = x * 2  # (n, d)
    return y
""",
    "scan_of_modules.py": """
class Block(eqx.Module):
    w: Array
    def __init__(self, d: int, *, key):
        self.w = jax.random.normal(key, (d, d))
    def __call__(self, x: Float[Array, "s d"]) -> Float[Array, "s d"]:
        y = x @ self.w  # (s, d)
        z = x @ self.w  # (d, s)  ~SC201
        return y + z

class Stack(eqx.Module):
    blocks: Block
    def __init__(self, d: int, depth: int, *, key):
        self.blocks = eqx.filter_vmap(lambda k: Block(d, key=k))(jax.random.split(key, depth))
    def __call__(self, x: Float[Array, "s d"]) -> Float[Array, "s d"]:
        dynamic, static = eqx.partition(self.blocks, eqx.is_array)
        def run(h, layer):
            block = eqx.combine(layer, static)
            h = block(h)  # (s, d)
            return h, None
        return jax.lax.scan(run, x, dynamic)[0]
""",
    "ensemble.py": """
class Member(eqx.Module):
    w: Float[Array, "out in_"]
    def __init__(self, in_: int, out: int, *, key):
        self.w = jax.random.normal(key, (out, in_))
    def __call__(self, x: Float[Array, "in_"]) -> Float[Array, "out"]:
        return self.w @ x

class Ensemble(eqx.Module):
    members: Member
    def __init__(self, in_: int, out: int, n_members: int = 5, *, key):
        self.members = eqx.filter_vmap(lambda k: Member(in_, out, key=k))(jax.random.split(key, n_members))
    def __call__(self, x: Float[Array, "in_"]) -> Float[Array, "out"]:
        each = eqx.filter_vmap(lambda m, v: m(v), in_axes=(eqx.if_array(0), None))(self.members, x)  # (n_members, out)
        mean = each.mean(axis=0)  # (n_members,)  ~SC201
        return mean
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
