"""What functions that are called say of their own arguments is how the sizes of who calls them are related."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

def dynamics(x, u, dt=0.05):
    # x: [2 * n], u: [n]  {mark}
    n = u.shape[0]
    q, dq = x[:n], x[n:]
    return jnp.concatenate([q + dt * dq, dq + dt * (u - 0.1 * dq)])  # [2 * n]
"""

CASES = {
    "linearise.py": """
def linearise(xs, us):
    # xs: [T + 1, n_x], us: [T, n_u]
    A = jax.vmap(jax.jacfwd(dynamics, argnums=0))(xs[:-1], us)  # [T, n_x, n_x]
    B = jax.vmap(jax.jacfwd(dynamics, argnums=1))(xs[:-1], us)  # [T, n_u, n_x]  ~SC201
    return A, B

def rollout(x0, us):
    # x0: [n_x], us: [T, n_u]
    def step(x, u):
        x = dynamics(x, u)  # [n_x]
        return x, x
    _, xs = jax.lax.scan(step, x0, us)
    return jnp.concatenate([x0[None], xs])  # [T, n_x]  ~SC201
""",
    # sizes that run all the same are as the called function says, too; so are those of its integers
    "unlike.py": """
def shifted(x, u):
    # x: (2 * n,), u: (n,)
    n = u.shape[0]
    return jnp.concatenate([x[n:], u])  # (2 * n,)

def moved(x, u):
    # x: (n_x,), u: (n_u,)
    return x + 0.1 * shifted(x, u)  # (n_x,)

def unpack(theta, n_in, n_out):
    # theta: (n_in * n_out + n_out,)
    w = theta[: n_in * n_out].reshape(n_in, n_out)  # (n_in, n_out)
    return w, theta[n_in * n_out :]  # (n_in, n_out), (n_out,)

def predict(theta, x, n_out):
    # theta: (n_params,), x: (N, n_in)
    w, b = unpack(theta, x.shape[1], n_out)
    return (x @ w + b).T  # (N, n_out)  ~SC201

def cross(p, q):
    # p: (3,), q: (3,)
    return jnp.cross(p, q)  # (3,)

def crosses(x, y):
    # x: (n, d), y: (n, d)
    return jax.vmap(cross)(x, y)  # (n, d)
""",
    # the n of (n, 3) is no 3, whatever a function says that gets it
    "turned.py": """
def norm(p):
    # p: (3,)
    return jnp.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2)  # ()

def cross(p, q):
    # p: (3,), q: (3,)  ~tentative
    return jnp.cross(p, q)  # (3,)  ~SC305

def crosses(x, y):
    # x: (n, 3), y: (n, 3)  ~unreached
    return jax.vmap(cross, in_axes=1)(x, y)  # (n, 3)  ~unreached
""",
    # a grid has sizes of its own, and what is handed on to it as it came has these, whatever its axes are called
    "grid.py": """
class Grid(eqx.Module):
    Nx: int
    Ny: int
    weights: Float[Array, "Ny"]

    def __init__(self, Nx: int, Ny: int):
        self.Nx, self.Ny, self.weights = Nx, Ny, jnp.ones(Ny)

    @property
    def y(self) -> Float[Array, "Ny"]:
        return jnp.arange(self.Ny) * 0.1

    def transform(self, u: Float[Array, "Ny Nx"]) -> Float[Array, "Ny Nx"]:
        \"\"\"Args:
            u: the field, of shape (Ny, Nx)
        \"\"\"
        return self.weights[:, None] * u

class Derivative(eqx.Module):
    grid: Grid

    def curl(self, v: Float[Array, "Nlat Nlon"]) -> Float[Array, "Nlat Nlon"]:
        sin_theta = jnp.sin(self.grid.y)[:, None]  # (Nlat, 1)
        return self.grid.transform(v) / sin_theta

    def scaled(self, v: Float[Array, "Nlat Nlon"]) -> Float[Array, "Nlat Nlon"]:
        sin_theta = jnp.sin(self.grid.y)  # (Nlat,)
        return v * sin_theta[:, None]

    def turned(self, v: Float[Array, "Nlon Nlat"]) -> Float[Array, "Nlat Nlon"]:  ~SC203
        return self.grid.transform(v)

    def mixed(self, v: Float[Array, "Nlat Nlon"]) -> Float[Array, "Nlat Nlon"]:  ~unreached
        return self.grid.transform(v) * self.grid.weights  ~SC305

class Rows(eqx.Module):
    w: Float[Array, "dim dim"]
    dim: int = eqx.field(static=True)

    def __init__(self, dim: int, *, key):
        self.w, self.dim = jax.random.normal(key, (dim, dim)), dim

    def __call__(self, x: Float[Array, "seq dim"]) -> Float[Array, "seq dim"]:
        return x @ self.w  ~SC305

class Columns(eqx.Module):
    rows: Rows

    def __init__(self, width: int, *, key):
        self.rows = Rows(width, key=key)

    def __call__(self, x: Float[Array, "time d"]) -> Float[Array, "time d"]:  ~unreached
        return self.rows(x.T).T
""",
    # what a mistake makes of arguments is called as one of their axes, too: that says nothing of sizes
    "pooled.py": """
def spread(qs: Float[Array, "chains s d"]) -> Float[Array, "d"]:  ~SC203
    pooled: Float[Array, "chains*s d"] = qs.reshape(-1, qs.shape[-1])
    return pooled.var(axis=1)

def sample(data: Float[Array, "n d"], chains: int, steps: int) -> Float[Array, "chains steps d"]:  ~unreached
    qs = jnp.zeros((chains, steps, data.shape[1]))
    scale: Float[Array, "d"] = spread(qs)  ~SC204
    return qs / scale
""",
    # a layer inside of a model is evaluated alone with other sizes, but its own arrays are as long as they were
    "kept.py": """
def weights(
    query: Float[Array, "q d"], key: Float[Array, "kv d"], bias: Float[Array, "#q kv"]
) -> Float[Array, "q kv"]:
    return jnp.einsum("qd,kd->qk", query, key) + bias

class Attention(eqx.Module):
    bias: Float[Array, "1 length"]
    length: int = eqx.field(static=True)

    def __init__(self, length: int):
        self.length, self.bias = length, jnp.zeros((1, length))

    def __call__(self, query: Float[Array, "q d"], key: Float[Array, "kv d"]) -> Float[Array, "q kv"]:
        return weights(query, key, self.bias)

    def swapped(self, query: Float[Array, "q d"], key: Float[Array, "kv d"]) -> Float[Array, "q kv"]:  ~SC203
        return (query @ key.T).T

    def literal(self, query: Float[Array, "q d"], key: Float[Array, "kv d"]) -> Float[Array, "q kv"]:  ~SC203
        return jnp.zeros((query.shape[0], 7))

class Model(eqx.Module):
    attention: Attention

    def __init__(self):
        self.attention = Attention(7)

    def __call__(self, x: Float[Array, "{self.attention.length} d"]):
        return self.attention(x, x), self.attention.swapped(x, x), self.attention.literal(x, x)
""",
    # what a function demands of its arguments its callers see to; of what it computes a check may be wrong
    "checked.py": """
def spectrum(image: Float[Array, "k e"], rows: Float[Array, "r"], columns: Float[Array, "c"]) -> Float[Array, "k e"]:
    values = jnp.asarray(image)
    if values.shape != (rows.shape[0], columns.shape[0]):
        raise ValueError("the image and its axes disagree")
    return values

def outer(x: Float[Array, "n"], y: Float[Array, "m"]):  ~unreached
    z = x[:, None] * y
    assert z.shape == (y.shape[0], x.shape[0])  ~SC208
    return z
""",
    # a function that a test passes closes over arrays of its own, which are as long as they were
    "test_passed.py": """
def moments(u, etas: Float[Array, "s n_eta"], sigma: Float[Array, "n_obs n_obs"]) -> Float[Array, "n_eta n_obs"]:
    jacobian = jnp.mean(jax.vmap(jax.jacfwd(u))(etas), axis=0)
    return jacobian.T * jnp.trace(sigma)

def turned(u, etas: Float[Array, "s n_eta"], sigma: Float[Array, "n_obs n_obs"]) -> Float[Array, "n_eta n_obs"]:~SC203
    return jnp.mean(jax.vmap(jax.jacfwd(u))(etas), axis=0) * jnp.trace(sigma)

def test_square():
    w = jnp.ones((6, 6))
    moments(lambda eta: w @ eta, jnp.ones((10, 6)), jnp.eye(6))

def test_oblong():
    w = jnp.ones((5, 6))
    turned(lambda eta: w @ eta, jnp.ones((10, 6)), jnp.eye(5))
""",
    # no relation lets this run: who calls it is wrong
    "wrong.py": """
def step(x, u):
    # x: [n_x]  ~unreached
    # u: [n_u]  ~unreached
    return dynamics(jnp.concatenate([x, x[:1]]), u)  # [n_x]  ~unreached
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(
        {name: HEAD.format(mark="~SC201" if name == "wrong.py" else "") + text for name, text in CASES.items()}
    )


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_related_as_a_called_function_says(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
