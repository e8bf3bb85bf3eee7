"""Expressions over names that no axis has: one size wherever they are written, and what can be solved is."""

from __future__ import annotations

CASE = """
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float


def same(u: Complex[Array, "c ... (n//2)+1"]) -> Complex[Array, "c ... (n//2)+1"]:
    return 2 * u


def cut(u: Complex[Array, "c ... (n//2)+1"]) -> Complex[Array, "c ... (n//2)+1"]:  ~SC203
    return u[..., :-1]


def later(u: Complex[Array, "c (n//2)+1"]) -> Float[Array, "c n"]:
    return jnp.fft.irfft(u, 2 * u.shape[-1] - 2)


def not_later(u: Complex[Array, "c (n//2)+1"]) -> Float[Array, "c n"]:  ~SC203
    return jnp.real(u)


def solved(x: Float[Array, "t+1"]) -> Float[Array, "1"]:
    y = x[1:]  # (t,)
    return y[:1]


def not_solved(x: Float[Array, "t+1"]) -> Float[Array, "1"]:
    y = x[2:]  # (t,)  ~SC201
    return y[:1]
"""


EXPONENTS = """
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Tree(NamedTuple):
    weights: Float[Array, "2**depth d"]
    offsets: Float[Array, "2**depth"]


def leaves(tree: Tree, x: Float[Array, "b d"]) -> Float[Array, "b d"]:  ~SC203
    return x @ tree.weights.T + tree.offsets  # (b, 2**depth)
"""


def test_what_stands_in_exponents_of_fields_alone_is_small(check_folder) -> None:
    marked = check_folder({"trees.py": EXPONENTS}).cases["trees.py"]
    assert [each for each in marked.actual if each[1] not in ("SC101", "unreached")] == marked.expected, marked.details


def test_an_expression_is_one_size_wherever_it_stands(check_folder) -> None:
    marked = check_folder({"open.py": CASE}).cases["open.py"]
    assert [each for each in marked.actual if each[1] != "SC101"] == marked.expected, marked.details
