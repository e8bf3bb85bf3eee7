"""
Matrix factorisation with implicit feedback: BPR / sampled softmax, leave-one-out eval (hit@k, ndcg@k).
"""
import argparse

import jax
import jax.numpy as jnp
import optax

# ---- globals -----------------------------------------------------------
N_NEG = 4
TOPK = 10
INIT_STD = 0.05


def get_config(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--n_users", type=int, default=40)
    p.add_argument("--n_items", type=int, default=60)
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--n_tags", type=int, default=7)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--reg", type=float, default=1e-4)
    p.add_argument("--lr", type=float, default=1e-2)
    return p.parse_args(argv)


def init(key, cfg):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    return {
        "user": {"emb": INIT_STD * jax.random.normal(k1, (cfg.n_users, cfg.dim)), "bias": jnp.zeros(cfg.n_users)},
        "item": {"emb": INIT_STD * jax.random.normal(k2, (cfg.n_items, cfg.dim)), "bias": jnp.zeros(cfg.n_items)},
        "tags": INIT_STD * jax.random.normal(k3, (cfg.n_tags, cfg.dim)),
        "tower": [
            {"w": jax.random.normal(k4, (cfg.dim, 2 * cfg.dim)) / cfg.dim**0.5, "b": jnp.zeros(2 * cfg.dim)},
            {"w": jnp.zeros((2 * cfg.dim, cfg.dim)), "b": jnp.zeros(cfg.dim)},
        ],
    }


def tower(layers, h):
    # small residual mlp, keeps the last dim
    z = jax.nn.relu(h @ layers[0]["w"] + layers[0]["b"])
    return h + z @ layers[1]["w"] + layers[1]["b"]


def item_table(params, item_tags):
    """item embeddings with side information

    item_tags: multi-hot, (n_items, n_tags)
    returns (n_items, dim)
    """
    counts = jnp.maximum(item_tags.sum(axis=1, keepdims=True), 1.0)   # (n_items, 1)
    side = item_tags @ params["tags"] / counts                        # (n_items, dim)
    return tower(params["tower"], params["item"]["emb"] + side)


def score(params, table, users, items):
    """users (B,), items (B, M) -> (B, M)"""
    u = params["user"]["emb"][users]            # (B, dim)
    v = table[items]                            # (B, M, dim)
    s = jnp.einsum("bd,bmd->bm", u, v)          # (B, M)
    return s + params["item"]["bias"][items] + params["user"]["bias"][users][:, None]


def score_all(params, table, users):
    u = params["user"]["emb"][users]            # (B, dim)
    return u @ table.T + params["item"]["bias"] # (B, n_items)


def sample_negatives(key, seen, users, n_neg):
    """sample unseen items for every user

    seen is the (n_users, n_items) interaction matrix; returns int (B, n_neg)
    """
    logits = jnp.where(seen[users] > 0, -1e9, 0.0)                    # (B, n_items)

    def one(k, l):
        return jax.random.categorical(k, l, shape=(n_neg,))           # (n_neg,)

    keys = jax.random.split(key, users.shape[0])
    return jax.vmap(one)(keys, logits)          # (B, n_neg)


def bpr_loss(pos, neg):
    # pos (B, 1), neg (B, n_neg)
    return -jax.nn.log_sigmoid(pos - neg).mean(axis=1)                # (B,)


def sampled_softmax_loss(pos, neg, log_q=0.0):
    logits = jnp.concatenate([pos, neg - log_q], axis=1)              # (B, 1 + n_neg)
    return -jax.nn.log_softmax(logits, axis=1)[:, 0]                  # (B,)


def l2_reg(params, users, items):
    u = params["user"]["emb"][users]
    v = params["item"]["emb"][items]            # (B, M, dim)
    return jnp.sum(u**2, axis=-1) + jnp.sum(v**2, axis=(1, 2))        # (B,)


def loss_fn(params, batch, item_tags, reg, kind="bpr"):
    table = item_table(params, item_tags)       # (n_items, dim)
    items = jnp.concatenate([batch["pos"][:, None], batch["neg"]], axis=1)   # (B, 1 + n_neg)
    s = score(params, table, batch["user"], items)
    pos, neg = s[:, :1], s[:, 1:]               # (B, 1), (B, n_neg)
    if kind == "bpr":
        per_row = bpr_loss(pos, neg)
    else:
        per_row = sampled_softmax_loss(pos, neg)
    return jnp.mean(per_row + reg * l2_reg(params, batch["user"], items))


def make_train_step(opt, item_tags, cfg, kind="bpr"):
    @jax.jit
    def step(params, opt_state, key, seen, pairs):
        # pairs (n_obs, 2) of user, item
        k1, k2 = jax.random.split(key)
        rows = jax.random.randint(k1, (cfg.batch_size,), 0, pairs.shape[0])
        users, pos = pairs[rows, 0], pairs[rows, 1]                   # (batch_size,) each
        neg = sample_negatives(k2, seen, users, N_NEG)                # (batch_size, 4)
        batch = {"user": users, "pos": pos, "neg": neg}
        loss, g = jax.value_and_grad(loss_fn)(params, batch, item_tags, cfg.reg, kind)
        upd, opt_state = opt.update(g, opt_state, params)
        return optax.apply_updates(params, upd), opt_state, loss

    return step


# ---- evaluation --------------------------------------------------------

def rank_of_target(scores, seen_rows, target):
    """rank (0 = best) of the held out item, seen items are masked out

    scores: (B, n_items)
    seen_rows: (B, n_items)
    target: (B,)
    returns: (B,)
    """
    masked = jnp.where(seen_rows > 0, -jnp.inf, scores)               # (B, n_items)
    t = jnp.take_along_axis(scores, target[:, None], axis=1)          # (B, 1)
    return jnp.sum(masked > t, axis=1)


def hit_at_k(rank, k=TOPK):
    return (rank < k).astype(jnp.float32)       # same shape as rank


def ndcg_at_k(rank, k=TOPK):
    gain = 1.0 / jnp.log2(rank + 2.0)
    return jnp.where(rank < k, gain, 0.0)


def evaluate(params, item_tags, seen, test_items, ks=(1, 5, 10)):
    """metrics of all users; hit and ndcg are vectors (len(ks),), mrr is a scalar"""
    table = item_table(params, item_tags)
    users = jnp.arange(test_items.shape[0])     # (n_users,)
    scores = score_all(params, table, users)    # (n_users, n_items)
    ranks = rank_of_target(scores, seen, test_items)                  # (n_users,)
    cut = jnp.asarray(ks)                       # (len(ks),)
    hits = jax.vmap(hit_at_k, in_axes=(None, 0))(ranks, cut)          # (len(ks), n_users)
    ndcg = jax.vmap(ndcg_at_k, in_axes=(None, 0))(ranks, cut)
    return {"hit": hits.mean(axis=1), "ndcg": ndcg.mean(axis=1), "mrr": jnp.mean(1.0 / (ranks + 1.0))}


def recommend(params, table, seen, users, k=TOPK):
    s = jnp.where(seen[users] > 0, -jnp.inf, score_all(params, table, users))   # (B, n_items)
    vals, idx = jax.lax.top_k(s, k)             # (B, k), (B, k)
    return idx, vals


def intra_list_diversity(table, rec):
    """1 - mean cosine similarity within each recommended list, rec (B, k) -> (B,)"""
    e = table[rec]                              # (B, k, dim)
    e = e / (jnp.linalg.norm(e, axis=-1, keepdims=True) + 1e-8)
    sim = jnp.einsum("bkd,bld->bkl", e, e)      # (B, k, k)
    k = rec.shape[1]
    off = sim.sum(axis=(1, 2)) - jnp.trace(sim, axis1=1, axis2=2)     # (B,)
    return 1.0 - off / (k * (k - 1))


def synth(key, cfg, density=0.1):
    ks, kt, kg = jax.random.split(key, 3)
    seen = jax.random.bernoulli(ks, density, (cfg.n_users, cfg.n_items)).astype(jnp.float32)   # (n_users, n_items)
    test = jax.random.categorical(kt, jnp.where(seen > 0, -1e9, 0.0), axis=1)                  # (n_users,)
    tags = jax.random.bernoulli(kg, 0.3, (cfg.n_items, cfg.n_tags)).astype(jnp.float32)        # (n_items, n_tags)
    pairs = jnp.argwhere(seen > 0)              # (n_obs, 2)
    return seen, test, tags, pairs
