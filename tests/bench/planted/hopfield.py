"""Modern Hopfield layers: retrieval from stored patterns, and a learned memory for sets."""
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jrandom
import optax


def lse(beta, x, axis=-1):
    return jax.nn.logsumexp(beta * x, axis=axis) / beta


def energy(state, patterns, beta):
    """Energy of one state (dim,) in a memory.

    patterns: (num, dim)
    """
    overlap = patterns @ state                                # (num,)
    return 0.5 * state @ state - lse(beta, overlap)


def retrieve(state, patterns, beta, steps):
    """Iterates the update rule.

    state: (dim,)
    patterns: (num, dim)

    Returns the fixed point (dim,) and the energies on the way (steps,)
    """

    def update(s, _):
        p = jax.nn.softmax(beta * patterns @ s)               # (num,)
        new = p @ patterns                                    # (dim,)
        return new, energy(new, patterns, beta)

    return jax.lax.scan(update, state, None, length=steps)


def hebbian(patterns):
    """Classical couplings of binary patterns (num, dim), returns (dim, dim)."""
    num, dim = patterns.shape
    w = patterns.T @ patterns / num                           # (dim, dim)
    return w * (1 - jnp.eye(dim))                             # (dim, dim)


def async_sweep(w, state, key):
    # w: (dim, dim), state: (dim,)
    order = jrandom.permutation(key, state.shape[0])          # (dim,)

    def flip(s, i):
        field = w[i] @ s                                      # ()
        s = s.at[i].set(jnp.where(field >= 0, 1.0, -1.0))     # (dim,)
        return s, field

    return jax.lax.scan(flip, state, order)


class HopfieldHead(eqx.Module):
    wq: jax.Array    # (d_query, d_assoc)
    wk: jax.Array    # (d_stored, d_assoc)
    wv: jax.Array    # (d_stored, d_out)
    log_beta: jax.Array  # ()
    steps: int = eqx.field(static=True)

    def __init__(self, d_query, d_stored, d_assoc, d_out, steps, *, key):
        kq, kk, kv = jrandom.split(key, 3)
        self.wq = jrandom.normal(kq, (d_query, d_assoc)) / jnp.sqrt(d_query)
        self.wk = jrandom.normal(kk, (d_stored, d_assoc)) / jnp.sqrt(d_stored)
        self.wv = jrandom.normal(kv, (d_stored, d_out)) / jnp.sqrt(d_stored)
        self.log_beta = jnp.zeros(())
        self.steps = steps

    def __call__(self, query, stored, mask):
        """
        query: (n_q, d_query)
        stored: (n_s, d_stored)
        mask: (n_s,) true where there is a pattern

        Returns: (n_q, d_out)
        """
        beta = jnp.exp(self.log_beta) / jnp.sqrt(self.wq.shape[1])
        xi = query @ self.wq                                       # (n_q, d_assoc)
        keys = stored @ self.wk                                    # (n_s, d_assoc)
        for i in range(self.steps):
            logits = beta * xi @ keys.T                            # (n_q, n_s)
            logits = jnp.where(mask[None, :], logits, -jnp.inf)    # (n_q, n_s)
            p = jax.nn.softmax(logits, axis=1)                     # (n_q, n_s)
            if i < self.steps - 1:
                xi = p @ keys                                      # (n_q, d_assoc)
        return p @ (stored @ self.wv)


class HopfieldPooling(eqx.Module):
    heads: list
    seeds: jax.Array     # (n_seeds, d_in)
    norm: eqx.nn.LayerNorm
    mix: eqx.nn.Linear

    def __init__(self, d_in, d_assoc, d_out, n_seeds, n_heads, *, key):
        k_seed, k_mix, *k_heads = jrandom.split(key, 2 + n_heads)
        d_head = d_out // n_heads
        self.heads = [HopfieldHead(d_in, d_in, d_assoc, d_head, 2, key=k) for k in k_heads]
        self.seeds = jrandom.normal(k_seed, (n_seeds, d_in))
        self.norm = eqx.nn.LayerNorm(d_in)
        self.mix = eqx.nn.Linear(n_heads * d_head, d_out, key=k_mix)

    def __call__(self, x, mask):
        # x: (n_s, d_in), mask: (n_s,)
        x = jax.vmap(self.norm)(x)                                 # (n_s, d_in)
        outs = [h(self.seeds, x, mask) for h in self.heads]
        joined = jnp.concatenate(outs, axis=-1)                    # (n_seeds, d_out)
        return jax.vmap(self.mix)(joined)                          # (n_seeds, d_out)


class BagClassifier(eqx.Module):
    """Multiple-instance learning: one label for a bag of instances."""

    embed: eqx.nn.MLP
    pool: HopfieldPooling
    readout: eqx.nn.Linear

    def __init__(self, d_raw, d_in, d_assoc, d_out, n_seeds, n_heads, n_classes, *, key):
        k1, k2, k3 = jrandom.split(key, 3)
        self.embed = eqx.nn.MLP(d_raw, d_in, 2 * d_in, 1, key=k1)
        self.pool = HopfieldPooling(d_in, d_assoc, d_out, n_seeds, n_heads, key=k2)
        self.readout = eqx.nn.Linear(n_seeds * d_out, n_classes, key=k3)

    def __call__(self, bag, mask):
        """
        bag: (n_s, d_raw)
        mask: (n_s,)

        Returns: (n_classes,)
        """
        x = jax.vmap(self.embed)(bag)                              # (n_s, d_in)
        pooled = self.pool(x, mask)                                # (n_seeds, d_out)
        return self.readout(pooled.ravel())


def pad_bags(bags, max_len):
    """bags: list of arrays; returns (batch, max_len, d_raw) and (batch, max_len)"""
    data, masks = [], []
    for b in bags:
        n = min(len(b), max_len)
        data.append(jnp.pad(b[:n], ((0, max_len - n), (0, 0))))
        masks.append(jnp.arange(max_len) < n)
    return jnp.stack(data), jnp.stack(masks)


@eqx.filter_jit
def train_step(model, opt_state, tx, bags, masks, labels):
    def loss_fn(m):
        logits = jax.vmap(m)(bags, masks)                          # (batch, n_classes)
        xent = optax.softmax_cross_entropy_with_integer_labels(logits, labels)   # (batch,)
        acc = (logits.argmax(-1) == labels).mean()                 # ()
        return xent.mean(), acc

    (loss, acc), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(model)
    updates, opt_state = tx.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss, acc
