"""Samplers that are given as a mere `Callable` draw arrays of axes that nobody knows: they make no claim false."""

from __future__ import annotations

TEXT = """
from collections.abc import Callable
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

def simulate(
    key: PRNGKeyArray, initial: Callable, transition: Callable, emission: Callable, steps: int
) -> tuple[Float[Array, "n state"], Float[Array, "n observed"]]: ~unreached
    k0, k1 = jax.random.split(key)
    z0 = initial(k0)
    y0 = emission(k0, z0)

    def step(z, k):
        z = transition(k, z)
        return z, (z, emission(k, z))

    _, (zs, ys) = jax.lax.scan(step, z0, jax.random.split(k1, steps - 1))
    return jnp.concatenate([z0[None], zs]), jnp.concatenate([y0[None], ys])
"""


def test_what_a_made_sampler_draws_proves_nothing(check_folder):
    folder = check_folder({"samplers.py": TEXT})
    assert {code for _, code in folder.cases["samplers.py"].actual} == {"unreached"}
