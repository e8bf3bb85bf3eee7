"""Parameters that nothing describes, given to a model's `apply`: they are what its `init` makes of the same inputs."""

from __future__ import annotations

import pytest

LINEN = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

class Actor(nn.Module):
    @nn.compact
    def __call__(self, obs):
        return nn.Dense(6)(nn.relu(nn.Dense(32)(obs)))

class Critic(nn.Module):
    @nn.compact
    def __call__(self, obs, act):
        return nn.Dense(1)(jnp.concatenate([obs, act], -1))[..., 0]

class Normed(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(10)(x))
        return nn.Dropout(0.1, deterministic=not train)(x)

actor, critic = Actor(), Critic()
optimizer = optax.chain(optax.clip(1.0), optax.adam(1e-3))
"""
HAIKU = """
import haiku as hk
import jax
import jax.numpy as jnp
import optax

def net_fn(x):
    return hk.Linear(4)(jax.nn.relu(hk.Linear(32)(x)))

def normed_fn(x, is_training):
    return hk.BatchNorm(True, True, 0.9)(hk.Linear(3)(x), is_training)

net = hk.without_apply_rng(hk.transform(net_fn))
normed = hk.transform_with_state(normed_fn)
optimizer = optax.adam(1e-3)
"""

CASES = {
    "handed.py": LINEN
    + '''
class Denoiser(nn.Module):
    width: int

    @nn.compact
    def __call__(self, images, times, level):
        hidden = nn.Dense(self.width)(images.reshape(images.shape[0], -1))  # (N, width)
        hidden = hidden + times[:, None] * level
        return nn.Dense(images.shape[-1])(hidden)

def shade(model, params, images):
    return model.apply(params, images, images[:, 0], 0.5)

def denoising_loss(model, params, images):
    """images: (N, D)"""
    noise = shade(model, params, images) - images  # (N, D)
    error = jnp.mean(noise**2, axis=1)  # (N,)
    return error.mean()

def wrong_loss(model, params, images):
    """images: (N, D)"""
    noise = shade(model, params, images) - images
    error = jnp.mean(noise**2, axis=0)  # (N,)  ~unreached
    return error.mean()
''',
    "linen.py": LINEN
    + '''
def loss(params, images, labels):
    """images: (batch, 784), labels: (batch,) int"""
    logits = Actor().apply({"params": params}, images)  # (batch, 6)
    turned = logits.T  # (batch, 6)  ~SC201
    return optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, 6)).mean()

def train_step(params, opt_state, images, labels):
    """images: (batch, 784), labels: (batch,) int"""
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    bias = params["Dense_1"]["bias"]  # shape (7,)  ~SC201
    return optax.apply_updates(params, updates), opt_state, value

@jax.jit
def update(params, target, obs, act, reward):
    """obs: (batch, 17), act: (batch, 6), reward: (batch,)"""
    acts = actor.apply(target["actor"], obs)  # (batch, 6)
    q = critic.apply(target["critic"], obs, acts)  # (batch,)
    return critic.apply(params["critic"], obs, act) - q - reward  # (batch, batch)  ~SC201

def normed(variables, x, key):
    """x: (batch, 20)"""  ~unreached
    def inner(params):
        given = {"params": params, "batch_stats": variables["batch_stats"]}
        y, kept = Normed().apply(given, x, train=True, mutable=["batch_stats"], rngs={"dropout": key})
        return (y - y.T).mean(), kept  ~SC305
    return jax.grad(inner, has_aux=True)(variables["params"])
''',
    "transformed.py": HAIKU
    + '''
def loss(params, obs, actions):
    """obs (batch, 8); actions (batch,)"""
    logits = net.apply(params, obs)  # (batch, 4)
    logp = jax.nn.log_softmax(logits)[jnp.arange(obs.shape[0]), actions]  # (batch,)
    return logp.mean()

def step(params, opt_state, obs, actions):
    """obs (batch, 8); actions (batch,)"""
    grads = jax.grad(loss)(params, obs, actions)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state

def normed_loss(params, state, rng, x):
    """x: (batch, 20)"""  ~unreached
    y, state = normed.apply(params, state, rng, x, is_training=True)  # (batch, 3), ...  ~unreached
    return y @ y  ~SC305
''',
    # Not what a model's init makes: nothing is said of it, and so nobody is accused.
    "own.py": LINEN
    + '''
def dense(params, x):
    """x: (batch, 20)"""
    return x @ params["w"] + params["b"]

def ensemble(params, obs):
    """obs: (batch, 17)"""  ~unreached
    return jax.vmap(actor.apply, in_axes=(0, None))(params, obs)

def apart(params, rows):
    """rows: (batch, 17)"""
    return jax.vmap(actor.apply, in_axes=(None, 0))(params, rows)  # (batch, 6)

def cyclic(params, obs):
    """obs: (batch, 17)"""
    loop = []
    loop.append(loop)
    return with_loop(params, obs, loop)

def with_loop(params, obs, loop):
    # obs: (batch, 17)
    return actor.apply(params, obs)  # (batch, 6)

def trained(state, obs):
    """obs: (batch, 17)"""  ~unreached
    return state.apply_fn({"params": state.params}, obs)
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(CASES)


@pytest.mark.parametrize("name", CASES)
def test_variables_are_made_where_a_model_asks_for_them(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_without_them_the_reason_is_the_argument(folder) -> None:
    reasons = {each.reason for each in folder.report.unreached if each.path == "own.py" and "state" in each.reason}
    assert reasons == {"`state` has no annotation, and no comment or docstring describes it"}
