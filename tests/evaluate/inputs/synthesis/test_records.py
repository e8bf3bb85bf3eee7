"""Records that comments describe field by field: one of them, or a stack, as `scan` and `vmap` make them."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple

import jax
import jax.numpy as jnp

"""
CASES = {
    # false of one, and the code takes no stack; false of one and of a stack alike
    "one.py": """
class State(NamedTuple):
    pos: jax.Array  # (n_atoms, 3)
    mass: jax.Array  # (n_atoms,)

def centre(state: State):
    return (state.mass[:, None] * state.pos).sum(0)  # (3,)

def wrong(state: State):
    return (state.mass[:, None] * state.pos).sum(1)  # (n_atoms, 3)  ~SC201

def speed(state: State):
    return (state.pos**2).sum(-1).sum()  # (n_atoms,)  ~SC201
""",
    # what does not fit in one record is an error where the code takes no stack
    "errors.py": """
class Factors(NamedTuple):
    users: jax.Array  # (n_users, rank)
    items: jax.Array  # (n_items, rank)
    user_bias: jax.Array  # (n_users,)
    item_bias: jax.Array  # (n_items,)

def predict(f: Factors, mean: float):
    dots = f.users @ f.items.T  # (n_users, n_items)
    bias = f.user_bias[:, None] + f.item_bias[None, :]  # (n_users, n_items)
    return mean + dots + bias

def swapped(f: Factors, mean: float):
    dots = f.users @ f.items.T  # (n_users, n_items)  ~unreached
    bias = f.user_bias[None, :] + f.item_bias[:, None]  # (n_users, n_items)  ~SC201
    return mean + dots + bias
""",
    # what nobody says to be several may be several
    "several.py": """
class Step(NamedTuple):
    obs: jax.Array  # (n_envs, obs_dim)
    reward: jax.Array  # (n_envs,)

def returns(rollout: Step, gamma: float):
    def back(carry, reward):
        carry = reward + gamma * carry  # (n_envs,)
        return carry, carry

    _, found = jax.lax.scan(back, jnp.zeros_like(rollout.reward[0]), rollout.reward, reverse=True)
    return found  # (n_steps, n_envs)

def total(rollout: Step):
    return rollout.reward.sum(0)  # (n_envs,)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_are_held_against_one_record_and_against_several(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
