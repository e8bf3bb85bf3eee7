"""What a name in a comment means: the nearest binding wins. Each case has a good use and a bad one beside it."""

from __future__ import annotations

import pytest

HEAD = """
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    "what_it_was_before_it_was_counted_down": """
def shifted(x: Float[Array, "b t"]):
    width = 2 * x.shape[1]
    y = jnp.concatenate([x, x], 1)  # (b, width)
    width -= 1
    # (b, width - 1)
    y = y[:, :width]
    z = y[:, 1:]  # (b, width - 1)
    return y + 1, z

def wrong(x: Float[Array, "b t"]):
    width = 2 * x.shape[1]
    y = jnp.concatenate([x, x], 1)  # (b, width)
    width -= 1
    z = y[:, :width] + 0  # (b, width - 2)  ~SC201
    return y[:, :width] + 1, z  # (b, t), (b, t)  ~SC201
""",
    "a_method_of_its_class_before_the_constructor": """
class Heads(eqx.Module):
    proj: eqx.nn.Linear
    rope: Array
    num_heads: int = eqx.field(static=True)

    def __init__(self, dim: int, num_heads: int, grid: tuple[int, int] = (64, 32), *, key):
        self.proj = eqx.nn.Linear(dim, dim, key=key)
        H, W = grid
        self.rope = jnp.ones((H, W))  # (H, W)
        self.num_heads = num_heads

    def join(self, x: Array):
        T, H, C = x.shape
        return x.reshape(T, H * C)

    def __call__(self, x: Float[Array, "T D"]):
        q = jax.vmap(self.proj)(x).reshape(x.shape[0], self.num_heads, -1)  # (T, H, C)
        k = self.rope + 1  # (W, H)  ~SC201
        return self.join(q)  # (T, H)  ~SC201
""",
    "own_unpacking_before_the_constructor": """
class Mix(eqx.Module):
    scale: jax.Array

    def __init__(self, dim: int, feat_sizes=(7, 9)):
        H, W = feat_sizes
        self.scale = jnp.ones((dim,))

    def __call__(self, x: Float[Array, "batch time freq dim"]):
        y = x * self.scale  # (B, T, H, C)
        B, T, H, C = x.shape
        z = y + 1  # (B, T, H, C)
        w = y.mean(axis=2)  # (B, T, H)  ~SC201
        return z + w[:, :, None]
""",
    "own_unpacking_before_attributes": """
class Heads(eqx.Module):
    H: int

    def __init__(self, H: int = 5):
        self.H = H

    def __call__(self, x: Float[Array, "batch time freq dim"]):
        B, T, H, C = x.shape
        y = x[:, :, 0].sum(axis=-1, keepdims=True) * jnp.ones(H)  # (B, T, H)
        z = x[:, :, 0].sum(axis=-1, keepdims=True) * jnp.ones(self.H)  # (B, T, H)  ~SC201
        return y, z
""",
    "docstrings_speak_of_attributes": '''
class Narrow(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    features: int

    def __init__(self, channels: int, features: int, *, key):
        self.up = eqx.nn.Linear(channels, 4 * channels, key=key)
        self.down = eqx.nn.Linear(4 * channels, features, key=key)
        self.features = features

    def __call__(self, x: Float[Array, "channels"]):
        """Widen and narrow.

        Returns:
            An array of shape (features,).
        """
        features = 4 * x.shape[0]
        y = self.up(x)  # (features,)
        z = self.down(y)  # (features,)  ~SC201
        return z

    def wide(self, x: Float[Array, "channels"]):
        """Widen alone.

        Returns:
            An array of shape (features,).  ~SC207
        """
        features = 2 * x.shape[0]
        return self.up(x)
''',
    "one_layout_throughout": '''
def doubled(x, factor=2):
    """Double the pixels.

    Args:
        x: images of shape `[N, C, H, W]` or `[N, H, W, C]`.
        factor: how often to repeat each.

    Returns:
        Images of shape `[N, C, H * factor, W * factor]` or `[N, H * factor, W * factor, C]`.
    """
    n, h, w, c = x.shape
    return jnp.repeat(jnp.repeat(x, factor, axis=1), factor, axis=2)

def doubled_elsewhere(x, factor=2):
    """Double the pixels.

    Args:
        x: images of shape `[N, C, H, W]` or `[N, H, W, C]`.
        factor: how often to repeat each.

    Returns:
        Images of shape `[N, C, H * factor, W * factor]` or `[N, H * factor, W * factor, C]`.  ~SC207
    """
    n, h, w, c = x.shape
    return jnp.repeat(jnp.repeat(x, factor, axis=0), factor, axis=1)
''',
    "an_unpacking_says_what_its_names_are": """
def turn(x: Float[Array, "first second"]):
    T, B = x.shape  # (B, T)  ~SC201
    return x.sum()
""",
    "a_constructors_variable_that_changes": """
class Stack(eqx.Module):
    layers: list

    def __init__(self, in_dim: int, hidden: int, widths=(24, 40), *, key):
        self.layers = []
        for out_dim in widths:
            self.layers.append(eqx.nn.Linear(in_dim, out_dim, key=key))
            in_dim = out_dim
        self.layers.append(eqx.nn.Linear(40, hidden, key=key))

    def __call__(self, x: Float[Array, "n d"]):
        y = x + 1  # (n, in_dim)
        for layer in self.layers:
            y = jax.vmap(layer)(y)  # (n, out_dim)
        z = y * 2  # (n, hidden)
        w = z.T  # (n, hidden)  ~SC201
        return w
""",
    "an_optional_argument_of_a_constructor": """
class Wide(eqx.Module):
    up: eqx.nn.Linear

    def __init__(self, dim: int, hidden: int | None = None, *, key):
        if hidden is None:
            hidden = 4 * dim
        self.up = eqx.nn.Linear(dim, hidden, key=key)

    def __call__(self, x: Float[Array, "dim"]):
        y = self.up(x)  # (hidden,)
        z = self.up(x)[:-1]  # (hidden,)  ~SC201
        return y, z
""",
    "a_nested_function_with_a_name_of_its_own": """
def outer(x: Float[Array, "B T"]):
    def inner(y):  # y: (B, D)
        z = y * 2  # (B, D)
        B, D = y.shape
        v = z + 1  # (B, D)
        w = z.T  # (B, D)  ~SC201
        return v, w

    def reader(y):
        v = y.T  # (D, B)
        w = y.T  # (B, D)  ~SC201
        return v, w

    return inner(x[1:, 1:]), reader(x[:, 1:])
""",
    "an_alias_is_of_no_function_around_it": """
Vector = Float[Array, " n"]

def solve(a: Float[Array, "m n"], g: Vector, b: Float[Array, " m"]) -> Float[Array, "n+m"]:
    n = g.shape[0]

    def matvec(z: Vector) -> Vector:
        d = z[:n]  # (n,)
        return jnp.concatenate([d + a.T @ z[n:], a @ d])

    def wrong(z: Vector) -> Vector:  ~SC203
        return z[1:]

    def written(z: Float[Array, " n"]) -> Vector:  ~SC203
        return z[1:]

    return matvec(jnp.concatenate([g, b])) + wrong(g).sum() + written(g).sum()
""",
    # the axes of an alias for any matrix are those of each matrix, and not what a comment calls so
    "an_alias_for_any_matrix_binds_no_comment": """
Matrix = Float[Array, "m n"]
Vector = Float[Array, "n"]
Tokens = Float[Array, "b t"]

class Basis(eqx.Module):
    '''Of a space.

    Attributes:
        rows: of shape (n, r)
        values: of shape (r,)
    '''
    rows: Matrix
    values: Vector

def project(v: Matrix, basis: Basis) -> Matrix:
    rows = basis.rows  # (n, r)
    turned = basis.rows.T  # (n, r)  ~SC201
    return v - rows @ (rows.T @ v)

def solve(x: Array, k: int):
    n, r = x.shape

    def body(carry):
        rest: Matrix = carry * 2  # (n, r)
        gram = carry.T @ rest  # (r, r)
        other = carry.T  # (n, r)  ~SC201
        return rest

    return jax.lax.while_loop(lambda c: c.sum() < 3, body, x)

def halved(v: Vector) -> Vector:
    half = v[1:]  # (n,)  ~SC201
    return v + half.sum()

def turned(x: Tokens) -> Tokens:
    y = x.T  # (b, t)  ~SC201
    return y.T

def test_solve():
    solve(jnp.ones((48, 16)), 3)
""",
    # nor do its fields, where they are made up; and a letter of an alias is no size that somebody told from another
    "fields_and_letters_of_an_alias_are_of_any_size": """
Matrix = Float[Array, "m n"]
Vector = Float[Array, "n"]
Face = Float[Array, "N"]

class Carry(eqx.Module):
    z: Matrix

class Layer(eqx.Module):
    weight: Matrix
    bias: Vector

    def __call__(self, carry: Carry) -> Carry:
        return Carry(self.weight @ carry.z + self.bias[:, None])

class Other(eqx.Module):
    weight: Float[Array, "m n"]

    def __call__(self, z: Float[Array, "m k"]) -> Array:  ~unreached
        return self.weight @ z  ~SC305

def set_face(field: Float[Array, "Ny Nx"], values: Face) -> Float[Array, "Ny Nx"]:  ~unreached
    return field.at[0].set(values)

def set_row(field: Float[Array, "Ny Nx"], values: Float[Array, "N"]) -> Float[Array, "Ny Nx"]:  ~unreached
    return field.at[0].set(values)  ~SC305
""",
    # what a caller is given to change a setting by may be in force already; what never was such a size is not
    "a_caller_may_have_changed_a_setting": """
class Grid:
    def __init__(self, n, g):
        self.n, self.item = n, jnp.ones((n, g + 1))

    def update(self, g_new):
        self.item = jnp.ones((self.n, g_new + 1))

class Layer:
    def __init__(self, n: int = 2, g: int = 3):
        self.n, self.g = n, g
        self.grid = Grid(n, g)

    def basis(self, x):
        '''x: (b, n)'''
        points = self.grid.item  # (n, g+1)
        wrong = self.grid.item.T  # (n, g+1)  ~SC201
        return x[:, :, None] - points, wrong

    def update_grid(self, x, g_new: int):
        '''x: (b, n)'''
        before = self.basis(x)
        self.grid.update(g_new)
        return before, self.basis(x)

def test_update():
    Layer(4, 6).update_grid(jnp.ones((3, 4)), 9)
""",
    "each_turn_binds_anew": """
def pool(xs, first):
    N, D = first.shape
    total = first.sum()
    for x in xs:
        # (N, D)
        y = x * 2
        # (D, N)  ~SC201
        z = x * 3
        N, D = x.shape
        total = total + y.sum() + z.sum()
    return total

def test_pool():
    pool([jnp.zeros((5, 3)), jnp.zeros((7, 4)), jnp.zeros((11, 6))], jnp.zeros((10, 4)))
""",
    "what_stands_in_an_if_is_of_its_own_turn": """
def mixed(xs):
    total = 0.0
    for i, x in enumerate(xs):
        y = x * 2  # (N, D)
        if i % 2:
            z = y + 1  # (N, D)
            w = y.T  # (N, D)  ~SC201
        total = total + y.sum()
    return total

def test_mixed():
    mixed([jnp.zeros((5, 3)), jnp.zeros((7, 4)), jnp.zeros((11, 6)), jnp.zeros((12, 8))])
""",
    "the_counter_of_a_loop_that_has_ended": """
def chain(x, ws):
    n = x.shape[0]
    y = x * 2  # (n, d)
    w = x.T * 2  # (n, d)  ~SC201
    for n, each in enumerate(ws):
        y = y @ each
    return y  # (n, k)

def test_chain():
    chain(jnp.zeros((5, 3)), [jnp.zeros((3, 4)), jnp.zeros((4, 6))])
""",
    "a_size_that_grows_in_a_loop": """
def grow(x, times):
    c = x.shape[0]
    for _ in range(times):
        x = jnp.concatenate([x, x])  # (2*c, d)
        c = 2 * c
    y = x + 1  # (c, d)
    z = x[: c // 2]  # (c, d)  ~SC201
    return y, z

def test_grow():
    grow(jnp.zeros((5, 3)), 3)
""",
    "the_record_that_an_argument_is": """
@dataclass
class Spec:
    num_timesteps: int = 12
    width: int = 5

class Limits(NamedTuple):
    num_bins: int

def spread(info: Spec, limits: Limits):
    a = jnp.zeros((info.num_timesteps, 3))  # (num_timesteps, 3)
    b = jnp.zeros((info.width, 3))  # (num_timesteps, 3)  ~SC201
    c = jnp.zeros((limits.num_bins,))  # (num_bins,)
    d = jnp.zeros((limits.num_bins - 1,))  # (num_bins,)  ~SC201
    return a, b, c, d

def of_two(low: Limits, high: Limits):
    return jnp.zeros((low.num_bins, high.num_bins))  # (num_bins, k)

def of_a_local(limits: Limits, x):
    num_bins = x.shape[0]
    return x * 2  # (num_bins, 3)

def test_records():
    spread(Spec(), Limits(7))
    of_two(Limits(7), Limits(9))
    of_a_local(Limits(7), jnp.zeros((11, 3)))
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({f"test_{name}.py": HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_binding_wins(folder, name: str) -> None:
    assert folder.cases[f"test_{name}.py"].as_marked()
