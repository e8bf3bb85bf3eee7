"""What claims in a function say of its parameters: unified from both ends."""

from __future__ import annotations

import pytest

from shapecheck import claims

CASES = {
    "h = x @ w  # (b, k)": {"x": "b x_1", "w": "x_1 k"},
    "h = jnp.tanh(x @ p['w'] + p['b'])  # (b, k)": {"x": "b x_1", 'p["w"]': "x_1 k"},
    "y = A @ x  # (n,)": {"x": "x_1", "A": "n x_1"},
    "y = w.T @ x @ w  # (n, n)": {"x": "x_1 x_1", "w": "x_1 n"},
    "y = x.sum(axis=1)  # (n, d)": {"x": "n x_1 d"},
    "y = x.mean(-1, keepdims=True)  # (n, 1)": {"x": "n x_1"},
    "y = x.sum()  # ()": {},
    "y = x.transpose(2, 0, 1)  # (a, b, c)": {"x": "b c a"},
    "y = x[:, None] - z[None]  # (n, m, d)": {"x": "n d", "z": "m d"},
    "y = jnp.outer(x, z)  # (n, m)": {"x": "n", "z": "m"},
    "y = jnp.einsum('ij,jk->ik', x, z)  # (n, m)": {"x": "n x_1", "z": "x_1 m"},
    "y = jnp.where(m, x, z)  # (n, d)": {"x": "n d", "z": "n d"},
    "y = (x - mu) / jnp.exp(s)  # (n, d)": {"x": "n d", "mu": "n d", "s": "n d"},
    "b, t = x.shape\n    y = x * 2  # (b, t)": {"x": "b t"},
    "x = x @ w  # (n, d)\n    y = x @ v  # (n, k)": {"x": "n x_1", "w": "x_1 d", "v": "d k"},
    # what may be a number
    "y = x @ w + q  # (n, k)": {"x": "n x_1", "w": "x_1 k", "q?": "k"},
    "y = x.sum(-1) * q  # (n,)": {"x": "n x_1", "q?": "n"},
    "y = x * 2  # (n,)\n    h = y[:, None] * q": {"x": "n", "q?": "n q_1"},
    # nothing that is sure
    "y = f(x)  # (n, d)": {},
    "y = x.reshape(3, -1)  # (3, n)": {},
    "y = x + 1  # (..., d)": {},
}


@pytest.mark.parametrize(("body", "expected"), CASES.items())
def test_what_claims_say_of_parameters(body: str, expected: dict[str, str]) -> None:
    source = f"import jax.numpy as jnp\ndef f(x, w, p, A, z, m, mu, s, v, q):\n    {body}\n    return 1\n"
    module = claims.read_module("m.py", source.encode())
    found = {f"{each.parameter}{'?' if each.guess else ''}": each.spec for each in module.inferred}
    assert found == expected
