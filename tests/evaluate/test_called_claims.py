"""What functions that are called say of their own arguments is how the sizes of who calls them are related."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp

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
