"""What nobody describes is described where it is handed on: by methods, through `vmap`, lambdas, functions inside."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

class Net(eqx.Module):
    w: Float[Array, "out inn"]

    def __call__(self, x: Float[Array, "inn"]) -> Float[Array, "out"]:
        return self.w @ x

    def pair(self, x: Float[Array, "inn"], y: Float[Array, "out"]) -> Float[Array, ""]:
        return self(x) @ y
"""

CASES = {
    # of a class that an annotation, or `self`, tells
    "methods.py": """
def loss(net: Net, xs, ys):
    '''ys: (n, out)'''
    pred = jax.vmap(net)(xs)  # (n, out)
    return jnp.mean((pred - ys) ** 2)

def transposed(net: Net, xs, ys):
    '''ys: (n, out)'''
    pred = jax.vmap(net)(xs)  # (out, n)  ~SC201
    return jnp.mean((pred - ys) ** 2)

def scores(net: "Net", x, y):
    value = net.pair(x, y)  # ()
    return value[None]  # shape: ()  ~SC201

class Batched(eqx.Module):
    net: Net

    def one(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        return x

    def all(self, xs):
        ys = jax.vmap(self.one)(xs)
        return ys.sum(0, keepdims=True)  # shape: (d,)  ~SC201

def narrow(net: Net, xs):
    pred = jax.vmap(net)(xs)  # (n, out)  ~unreached
    return pred @ xs.T  ~SC305
""",
    # one element at a time, as `in_axes` says; along other axes nobody knows
    "mapped.py": """
def score(w, x):
    '''w: (k, d), x: (d,)'''
    return w @ x

def through_lambda(w, xs):
    return jax.vmap(lambda x: score(w, x))(xs).T[0]  # shape: (n, k)  ~SC201

def through_local(w, xs):
    def single(x):
        return score(w, x).sum()

    return jax.vmap(single)(xs)  # (n,)

def in_axes(w, xs):
    return jax.vmap(score, in_axes=(None, 0))(w, xs).sum()  # shape: (n,)  ~SC201

def hidden(score, w, xs):
    return jax.vmap(score)(w, xs)  # (n,)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_gets_a_value_describes_it(folder, name):
    assert folder.cases[name].as_marked()
