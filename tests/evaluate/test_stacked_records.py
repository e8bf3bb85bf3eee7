"""Records that a scan's body makes are described one by one, or as the scan stacks them; nothing else will do."""

from __future__ import annotations

import pytest

TEXT = """
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

class Transition(NamedTuple):
    obs: jax.Array  # (num_steps, num_envs, obs_dim)
    reward: jax.Array  # (num_steps, num_envs)
    value: jax.Array  # (num_envs,)

class Single(NamedTuple):
    obs: jax.Array  # (num_envs, obs_dim)
    reward: jax.Array  # (num_envs,)
    value: jax.Array  # (num_steps, num_envs)  ~SC201

class Strict(NamedTuple):
    obs: Float[Array, "num_steps num_envs"]  ~SC205

def rollout(obs: Float[Array, "num_envs obs_dim"], num_steps: int) -> Float[Array, "num_envs"]:
    def step(obs, _):
        return obs * 2, Transition(obs, obs.sum(-1), obs.mean(-1))

    _, trajectory = jax.lax.scan(step, obs, None, num_steps)
    single = jax.lax.map(lambda x: Single(obs, obs.sum(-1), obs.mean(-1)), jnp.arange(num_steps))
    rewards = trajectory.reward  # (num_steps, num_envs)
    return rewards.sum(0)

def returns(trajectory: Transition) -> Float[Array, "num_envs"]:
    return (trajectory.reward + trajectory.obs.sum(-1)).sum(0)

def strict(obs: Float[Array, "num_envs"]) -> Float[Array, "4 num_envs"]:
    return jax.lax.scan(lambda obs, _: (obs, Strict(obs)), obs, None, 4)[1].obs
"""

NUMBERS = """
from dataclasses import dataclass

import jax
from jaxtyping import Array, Float

@jax.tree_util.register_dataclass
@dataclass
class State:
    steps: Float[Array, "batch"]
    done: Float[Array, "batch"]

def first(state: State):
    '''First.

    Args:
        state: of shape [1], made by the environment
    '''
    return state.steps[0]

def pair(state: State):
    '''Pair.

    Args:
        state: of shape [1, batch]  ~SC207
    '''
    return state.steps[0]

def use(state: State):
    one = state.steps[None]  # (batch, 1)  ~SC201
    return first(state) + pair(state), one
"""


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({"records.py": TEXT, "numbers.py": NUMBERS})


def test_a_field_holds_what_the_body_makes_or_what_the_scan_gives(folder) -> None:
    assert folder.cases["records.py"].as_marked()


def test_a_number_that_a_text_gives_a_parameter_may_be_what_callers_pass(folder) -> None:
    case = folder.cases["numbers.py"]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details
