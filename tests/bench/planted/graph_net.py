"""Message passing on padded batches of graphs (Flax linen), trained for node classification.

A batch of graphs is one big disconnected graph:
    n_node  total number of nodes, n_edge  total number of edges, n_graph  number of graphs.
"""
from typing import Dict, Optional

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


@flax.struct.dataclass
class Graphs:
    nodes: jax.Array  # [n_node, node_dim]
    edges: jax.Array  # [n_edge, edge_dim]
    senders: jax.Array  # [n_edge]
    receivers: jax.Array  # [n_edge]
    graph_id: jax.Array  # [n_node], graph of each node
    globals: jax.Array  # [n_graph, global_dim]
    node_mask: jax.Array  # [n_node] bool, False on padding


class MLP(nn.Module):
    hidden: int
    out: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(self.hidden)(x))
        x = nn.LayerNorm()(x)
        return nn.Dense(self.out)(x)


def segment_mean(values, ids, num):
    """Average rows of `values` that share an id.

    Args:
        values: [rows, dim]
        ids: [rows]
        num: number of segments

    Returns:
        [num, dim]; zero for empty segments.
    """
    total = jax.ops.segment_sum(values, ids, num_segments=num)  # [num, dim]
    count = jax.ops.segment_sum(jnp.ones(ids.shape[0]), ids, num_segments=num)  # [num]
    return total / jnp.maximum(count, 1.0)[:, None]


def segment_softmax(logits, ids, num):
    """Softmax within segments; logits [n_edge, heads] -> same shape."""
    top = jax.ops.segment_max(logits, ids, num_segments=num)  # [num, heads]
    ex = jnp.exp(logits - top[ids])  # [n_edge, heads]
    z = jax.ops.segment_sum(ex, ids, num_segments=num)
    return ex / (z[ids] + 1e-9)


class GraphLayer(nn.Module):
    """Attention-weighted message passing with edge and global updates."""

    width: int
    heads: int = 2

    @nn.compact
    def __call__(self, g: Graphs) -> Graphs:
        n_node = g.nodes.shape[0]
        n_graph = g.globals.shape[0]

        sent = g.nodes[g.senders]  # [n_edge, node_dim]
        received = g.nodes[g.receivers]  # [n_edge, node_dim]
        edge_in = jnp.concatenate([g.edges, sent, received], axis=-1)  # [n_edge, edge_dim + 2 * node_dim]
        edges = MLP(self.width, self.width, name="edge_mlp")(edge_in)  # [n_edge, width]

        logits = nn.Dense(self.heads, name="attn")(edges)  # [n_edge, heads]
        alpha = segment_softmax(logits, g.receivers, n_node)
        msg = edges.reshape(-1, self.heads, self.width // self.heads)  # [n_edge, heads, width // heads]
        msg = (alpha[..., None] * msg).reshape(-1, self.width)
        agg = jax.ops.segment_sum(msg, g.receivers, num_segments=n_node)  # [n_node, width]

        node_in = jnp.concatenate([g.nodes, agg, g.globals[g.graph_id]], axis=-1)
        nodes = MLP(self.width, self.width, name="node_mlp")(node_in)  # [n_node, width]
        nodes = jnp.where(g.node_mask[:, None], nodes, 0.0)

        pooled = segment_mean(nodes, g.graph_id, n_graph)  # [n_graph, width]
        new_globals = nn.Dense(self.width, name="global")(jnp.concatenate([g.globals, pooled], axis=-1))
        return g.replace(nodes=nodes, edges=edges, globals=nn.relu(new_globals))


class NodeClassifier(nn.Module):
    width: int
    depth: int
    n_classes: int
    heads: int = 2

    def setup(self):
        self.embed_nodes = nn.Dense(self.width)
        self.embed_edges = nn.Dense(self.width)
        self.layers = [GraphLayer(self.width, self.heads) for _ in range(self.depth)]
        self.out = MLP(2 * self.width, self.n_classes)

    def encode(self, g: Graphs) -> Graphs:
        g = g.replace(nodes=self.embed_nodes(g.nodes), edges=self.embed_edges(g.edges))
        for i, layer in enumerate(self.layers):
            new = layer(g)
            # residual on the nodes only
            g = new.replace(nodes=new.nodes + g.nodes)
        return g

    def __call__(self, g: Graphs):
        """Class logits for every node, [n_node, n_classes]."""
        return self.out(self.encode(g).nodes)


class State(train_state.TrainState):
    key: jax.Array


def create_state(key, model: nn.Module, sample: Graphs, lr: float = 1e-2) -> State:
    k_init, k_state = jax.random.split(key)
    params = model.init(k_init, sample)["params"]
    return State.create(apply_fn=model.apply, params=params, tx=optax.adam(lr), key=k_state)


def masked_mean(x, mask):
    # x and mask: [n_node]
    m = mask.astype(x.dtype)
    return jnp.sum(x * m) / jnp.maximum(m.sum(), 1.0)


def compute_metrics(logits, labels, mask, n_classes) -> Dict[str, jax.Array]:
    """Loss, accuracy and recall per class.

    Args:
        logits: [n_node, n_classes]
        labels: [n_node]
        mask: [n_node]

    Returns:
        dict with scalars "loss" and "accuracy" and "recall" of shape [n_classes].
    """
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)  # [n_node]
    correct = (jnp.argmax(logits, axis=-1) == labels).astype(jnp.float32)  # [n_node]
    onehot = jax.nn.one_hot(labels, n_classes) * mask[:, None]  # [n_node, n_classes]
    hits = jnp.sum(onehot * correct[:, None], axis=0)  # [n_classes]
    recall = hits / jnp.maximum(onehot.sum(axis=0), 1.0)
    return {"loss": masked_mean(losses, mask), "accuracy": masked_mean(correct, mask), "recall": recall}


@jax.jit
def train_step(state: State, g: Graphs, labels, train_mask: Optional[jax.Array] = None):
    mask = g.node_mask if train_mask is None else g.node_mask & train_mask

    def loss_fn(params):
        logits = state.apply_fn({"params": params}, g)  # [n_node, n_classes]
        metrics = compute_metrics(logits, labels, mask, logits.shape[-1])
        return metrics["loss"], metrics

    grads, metrics = jax.grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), metrics


def degree_features(g: Graphs):
    """In and out degree of every node, [n_node, 2]."""
    n = g.nodes.shape[0]
    ones = jnp.ones(g.senders.shape[0])
    d_out = jax.ops.segment_sum(ones, g.senders, num_segments=n)
    d_in = jax.ops.segment_sum(ones, g.receivers, num_segments=n)  # [n_node]
    return jnp.stack([d_in, d_out], axis=-1)
