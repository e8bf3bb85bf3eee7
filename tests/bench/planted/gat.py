"""Graph attention network for node classification, on edge lists."""
import functools
from typing import NamedTuple, Optional

import haiku as hk
import jax
import jax.numpy as jnp
import optax


class Graph(NamedTuple):
    nodes: jax.Array      # num_nodes x in_dim
    senders: jax.Array    # [num_edges]
    receivers: jax.Array  # [num_edges]


def add_self_loops(g):
    """Adds the edge of each node to itself, num_edges becomes num_edges + num_nodes."""
    n = g.nodes.shape[0]
    loop = jnp.arange(n)                                       # [num_nodes]
    senders = jnp.concatenate([g.senders, loop])               # [num_edges + num_nodes]
    receivers = jnp.concatenate([g.receivers, loop])           # [num_edges + num_nodes]
    return senders, receivers


def segment_softmax(logits, segments, num_segments):
    """Softmax over the edges that arrive at the same node.

    Parameters
    ----------
    logits : [edges, heads]
    segments : [edges]
    num_segments : int

    Returns
    -------
    weights : [edges, heads]
    """
    top = jax.ops.segment_max(logits, segments, num_segments)        # [num_segments, heads]
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    unnorm = jnp.exp(logits - top[segments])                         # [edges, heads]
    total = jax.ops.segment_sum(unnorm, segments, num_segments)      # [num_segments, heads]
    return unnorm / (total[segments] + 1e-9)


class GATLayer(hk.Module):
    """Attention over neighbours; heads are concatenated or averaged."""

    def __init__(self, out_dim, num_heads, concat=True, name=None):
        super().__init__(name=name)
        self.out_dim = out_dim
        self.num_heads = num_heads
        self.concat = concat

    def __call__(self, nodes, senders, receivers):
        """
        Parameters
        ----------
        nodes : array of shape [num_nodes, features]
        senders : array of shape [edges]
        receivers : array of shape [edges]
        """
        n = nodes.shape[0]
        h, o = self.num_heads, self.out_dim
        proj = hk.Linear(h * o, with_bias=False, name="proj")(nodes)        # [num_nodes, h * o]
        proj = proj.reshape(n, h, o)                                        # [num_nodes, h, o]
        init = hk.initializers.VarianceScaling(1.0, "fan_avg", "uniform")
        a_src = hk.get_parameter("a_src", (h, o), init=init)                # [h, o]
        a_dst = hk.get_parameter("a_dst", (h, o), init=init)                # [h, o]
        s_src = (proj * a_src).sum(-1)                                      # [num_nodes, h]
        s_dst = jnp.einsum("nho,ho->nh", proj, a_dst)                       # [num_nodes, h]
        logits = jax.nn.leaky_relu(s_src[senders] + s_dst[receivers], 0.2)  # [edges, h]
        alpha = segment_softmax(logits, receivers, n)                       # [edges, h]
        messages = proj[senders] * alpha[:, :, None]                        # [edges, h, o]
        out = jax.ops.segment_sum(messages, receivers, n)                   # [num_nodes, h, o]
        if self.concat:
            return out.reshape(n, h * o)                                    # [num_nodes, h * o]
        return out.mean(axis=1)                                             # [num_nodes, o]


def dropout(x, rate, training):
    if not training:
        return x
    return hk.dropout(hk.next_rng_key(), rate, x)


def network(g, hidden, num_heads, num_classes, training, rate=0.3):
    """Two attention layers with a skip connection.

    Returns
    -------
    logits : [num_nodes, num_classes]
    """
    senders, receivers = add_self_loops(g)
    x = dropout(g.nodes, rate, training)                                    # [num_nodes, in_dim]
    x = GATLayer(hidden, num_heads, name="gat1")(x, senders, receivers)     # [num_nodes, num_heads * hidden]
    x = jax.nn.elu(x + hk.Linear(num_heads * hidden, name="skip")(g.nodes))
    x = dropout(x, rate, training)                                          # [num_nodes, num_heads * hidden]
    return GATLayer(num_classes, num_heads, concat=False, name="gat2")(x, senders, receivers)


def build(hidden, num_heads, num_classes):
    def fwd(g, training):
        return network(g, hidden, num_heads, num_classes, training)

    return hk.transform(fwd)


def masked_xent(logits, labels, mask):
    # logits: num_nodes x num_classes
    onehot = jax.nn.one_hot(labels, logits.shape[1])                        # num_nodes x num_classes
    xent = -(onehot * jax.nn.log_softmax(logits)).sum(axis=1)               # [num_nodes]
    return (xent * mask).sum() / mask.sum()


def weight_decay(params):
    return sum(jnp.sum(w ** 2) for w in jax.tree_util.tree_leaves(params))


@functools.partial(jax.jit, static_argnums=(0, 1))
def train_step(model, tx, params, opt_state, key, g, labels, mask, wd=5e-4):
    def loss_fn(p):
        logits = model.apply(p, key, g, True)                               # [num_nodes, num_classes]
        return masked_xent(logits, labels, mask) + wd * weight_decay(p)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def confusion(logits, labels, mask: Optional[jax.Array] = None):
    """Counts of true against predicted classes.

    Parameters
    ----------
    logits : [num_nodes, num_classes]
    labels : [num_nodes]
    mask : [num_nodes]

    Returns
    -------
    counts : [num_classes, num_classes]
    """
    k = logits.shape[1]
    pred = logits.argmax(axis=1)                                            # [num_nodes]
    true_1h = jax.nn.one_hot(labels, k)                                     # [num_nodes, k]
    pred_1h = jax.nn.one_hot(pred, k)                                       # [num_nodes, k]
    if mask is not None:
        true_1h = true_1h * mask[:, None]                                   # [num_nodes, k]
    return true_1h.T @ pred_1h


def ensemble_predict(model, stacked_params, g):
    """Averages several trained models.

    Returns
    -------
    mean : [num_nodes, num_classes]
    spread : [num_nodes]
    """
    logits = jax.vmap(lambda p: model.apply(p, None, g, False))(stacked_params)   # [members, num_nodes, num_classes]
    probs = jax.nn.softmax(logits, axis=-1)
    spread = probs.std(axis=0).sum(axis=-1)                                 # [num_nodes]
    return probs.mean(axis=0), spread
