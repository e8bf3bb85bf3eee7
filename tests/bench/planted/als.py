"""Explicit-feedback matrix factorisation, fitted by alternating least squares."""
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Factors(NamedTuple):
    users: jax.Array      # (n_users, rank)
    items: jax.Array      # (n_items, rank)
    user_bias: jax.Array  # (n_users,)
    item_bias: jax.Array  # (n_items,)


def init_factors(key, n_users, n_items, rank, scale=0.1):
    ku, ki = jax.random.split(key)
    return Factors(
        users=scale * jax.random.normal(ku, (n_users, rank)),  # (n_users, rank)
        items=scale * jax.random.normal(ki, (n_items, rank)),  # (n_items, rank)
        user_bias=jnp.zeros(n_users),                          # (n_users,)
        item_bias=jnp.zeros(n_items),                          # (n_items,)
    )


def masked_mean(values, mask, axis):
    num = jnp.sum(values * mask, axis=axis)
    den = jnp.sum(mask, axis=axis)
    return num / jnp.maximum(den, 1.0)


def predict(f, mean):
    """
    Predicted rating of every item by every user.

    Parameters
    ----------
    f : Factors
    mean : float

    Returns
    -------
    scores : ndarray of shape (n_users, n_items)
    """
    dots = f.users @ f.items.T                           # (n_users, n_items)
    bias = f.user_bias[:, None] + f.item_bias[None, :]   # (n_users, n_items)
    return mean + dots + bias


def solve_side(fixed, target, mask, reg):
    """
    Ridge regression of each row of `target` on `fixed`.

    Parameters
    ----------
    fixed : ndarray, shape (m, k)
        Factors of the side that is held.
    target : ndarray, shape (n, m)
    mask : ndarray, shape (n, m)
        One where the entry was observed.
    reg : float

    Returns
    -------
    ndarray, shape (n, k)
    """
    k = fixed.shape[1]

    def solve_row(t, w):
        weighted = fixed * w[:, None]                # (m, k)
        gram = weighted.T @ fixed                    # (k, k)
        rhs = weighted.T @ t                         # (k,)
        ridge = reg * (1.0 + w.sum()) * jnp.eye(k)   # (k, k)
        return jnp.linalg.solve(gram + ridge, rhs)

    return jax.vmap(solve_row)(target, mask)


def update_biases(f, ratings, mask, mean, damp=5.0):
    """
    One pass of damped means over the residuals.

    Parameters
    ----------
    f : Factors
    ratings : (n_users, n_items) array
    mask : (n_users, n_items) array
    mean : float
    """
    resid = (ratings - mean - f.users @ f.items.T) * mask                         # (n_users, n_items)
    ub = (resid - mask * f.item_bias).sum(axis=1) / (damp + mask.sum(axis=1))     # (n_users,)
    ib = (resid - mask * ub[:, None]).sum(axis=0) / (damp + mask.sum(axis=0))     # (n_items,)
    return f._replace(user_bias=ub, item_bias=ib)


def sweep(f, ratings, mask, mean, reg):
    f = update_biases(f, ratings, mask, mean)
    centred = ratings - mean - f.user_bias[:, None] - f.item_bias     # (n_users, n_items)
    users = solve_side(f.items, centred, mask, reg)                   # (n_users, rank)
    items = solve_side(users, centred.T, mask.T, reg)                 # (n_items, rank)
    return f._replace(users=users, items=items)


def rmse(f, ratings, mask, mean):
    err = (ratings - predict(f, mean)) ** 2   # (n_users, n_items)
    return jnp.sqrt(masked_mean(err, mask, axis=None))


@partial(jax.jit, static_argnames="n_iters")
def fit(f, ratings, mask, reg=0.05, n_iters=10):
    """
    Alternate until `n_iters` sweeps are done.

    Returns
    -------
    f : Factors
    history : (n_iters,) root mean square error after each sweep
    mean : float
    """
    mean = masked_mean(ratings, mask, axis=None)   # ()

    def body(f, _):
        f = sweep(f, ratings, mask, mean, reg)
        return f, rmse(f, ratings, mask, mean)

    f, history = jax.lax.scan(body, f, None, length=n_iters)
    # history: (n_iters,)
    return f, history, mean


def fold_in(f, ratings, mask, mean, reg=0.05):
    """Factors for new users; ratings (q, n_items), mask (q, n_items) -> (q, rank)"""
    centred = ratings - mean - f.item_bias           # (q, n_items)
    return solve_side(f.items, centred, mask, reg)   # (q, rank)


def recommend(f, mask, mean, k):
    """Best unseen items; returns ids (n_users, k) and scores (n_users, k)."""
    scores = jnp.where(mask > 0, -jnp.inf, predict(f, mean))   # (n_users, n_items)
    top, idx = jax.lax.top_k(scores, k)                        # both (n_users, k)
    return idx, top


def recall_at(recs, held_out):
    """
    recs : integer array (n_users, k)
    held_out : binary array (n_users, n_items)
    """
    hits = jnp.take_along_axis(held_out, recs, axis=1)                       # (n_users, k)
    found = hits.sum(axis=1) / jnp.maximum(held_out.sum(axis=1), 1)          # (n_users,)
    return found.mean()


def similar_items(f, item_ids, k):
    # item_ids: (q,)
    unit = f.items / jnp.linalg.norm(f.items, axis=1, keepdims=True)   # (n_items, rank)
    cos = unit[item_ids] @ unit.T                                      # (q, n_items)
    return jax.lax.top_k(cos, k + 1)[1][:, 1:]                         # (q, k)
