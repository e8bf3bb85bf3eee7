"""Discrete HMM: forward-backward, Viterbi and one Baum-Welch update.

T = number of time steps, K = number of hidden states, V = number of symbols.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int


class HMM(NamedTuple):
    log_pi: Float[Array, "K"]
    log_A: Float[Array, "K K"]
    log_E: Float[Array, "K V"]


def emission_scores(hmm: HMM, obs: Int[Array, "T"]) -> Float[Array, "T K"]:
    return hmm.log_E[:, obs].T


def forward(hmm: HMM, obs: Int[Array, "T"]) -> Float[Array, "T K"]:
    scores = emission_scores(hmm, obs)  # T x K
    first = hmm.log_pi + scores[0]  # K

    def step(alpha, s):
        alpha = logsumexp(alpha[:, None] + hmm.log_A, axis=0) + s
        return alpha, alpha

    _, rest = lax.scan(step, first, scores[1:])
    return jnp.concatenate([first[None], rest])  # T x K


def backward(hmm: HMM, obs: Int[Array, "T"]) -> Float[Array, "T K"]:
    scores = emission_scores(hmm, obs)  # T x K
    last = jnp.zeros_like(hmm.log_pi)

    def step(beta, s):
        beta = logsumexp(hmm.log_A + (s + beta)[None, :], axis=1)
        return beta, beta

    _, rest = lax.scan(step, last, scores[1:], reverse=True)
    return jnp.concatenate([rest, last[None]])  # T x K


def posterior(hmm: HMM, obs: Int[Array, "T"]) -> tuple[Float[Array, "T K"], Float[Array, "T-1 K K"]]:
    alpha = forward(hmm, obs)
    beta = backward(hmm, obs)
    scores = emission_scores(hmm, obs)
    evidence = logsumexp(alpha[-1])
    gamma = jnp.exp(alpha + beta - evidence)  # T x K
    out = (scores + beta)[1:]
    pair = alpha[:-1, :, None] + hmm.log_A[None] + out[:, None, :]
    xi = jnp.exp(pair - evidence)
    return gamma, xi


def viterbi(hmm: HMM, obs: Int[Array, "T"]) -> Int[Array, "T"]:
    scores = emission_scores(hmm, obs)

    def step(delta, s):
        cand = delta[:, None] + hmm.log_A
        back = jnp.argmax(cand, axis=0)
        return jnp.max(cand, axis=0) + s, back

    delta, backs = lax.scan(step, hmm.log_pi + scores[0], scores[1:])
    tail = jnp.argmax(delta)

    def trace(state, back):
        prev = back[state]
        return prev, prev

    _, path = lax.scan(trace, tail, backs, reverse=True)
    return jnp.append(path, tail)


def baum_welch(hmm: HMM, obs: Int[Array, "N T"]) -> HMM:
    """One EM update from a batch of equally long sequences (no prior, no smoothing)."""
    n_symbols = hmm.log_E.shape[1]
    gammas, xis = jax.vmap(posterior, in_axes=(None, 0))(hmm, obs)
    start = gammas[:, 0].mean(axis=0)  # K
    trans = xis.sum(axis=(0, 1))  # K x K
    trans = trans / trans.sum(axis=1, keepdims=True)  # K x K
    onehot = jax.nn.one_hot(obs, n_symbols)  # N x T x V
    emit = jnp.einsum("ntk,ntv->kv", gammas, onehot)  # K x V
    emit = emit / emit.sum(axis=1, keepdims=True)
    tiny = 1e-12
    return HMM(jnp.log(start + tiny), jnp.log(trans + tiny), jnp.log(emit + tiny))
