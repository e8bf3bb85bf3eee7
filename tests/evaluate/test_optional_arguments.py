"""What may be None: an array of which nobody says the shape, and a layer that some of the instances have."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

"""

CASES = {
    # What holds with None is not false for another array, of which nobody says how long it is.
    "state.py": '''
class ShortConv(eqx.Module):
    conv: eqx.nn.Conv1d
    kernel_size: int = eqx.field(static=True)

    def __init__(self, channels: int, kernel_size: int = 4, *, key: PRNGKeyArray):
        self.kernel_size = kernel_size
        self.conv = eqx.nn.Conv1d(channels, channels, kernel_size, groups=channels, key=key)

    def extend(self, x: jax.Array, state: jax.Array | None):
        """Returns (y: [C, L], state: [C, kernel_size-1])."""
        C, L = x.shape
        kc = self.kernel_size - 1
        left = jnp.zeros((C, kc), x.dtype) if state is None else state
        xc = jnp.concatenate([left, x], axis=1)  # [C, kc+L]
        return self.conv(xc), xc[:, xc.shape[1] - kc :]

    def swapped(self, x: jax.Array, state: jax.Array | None):
        C, L = x.shape
        kc = self.kernel_size - 1
        left = jnp.zeros((C, kc), x.dtype) if state is None else state
        xc = jnp.concatenate([left, x], axis=1)  # [L, C]  ~SC201
        return self.conv(xc)
''',
    # A residual block without a layer beside it is for as many channels as it gives.
    "residual.py": """
class Block(eqx.Module):
    conv: eqx.nn.Conv2d
    beside: eqx.nn.Conv2d | None

    def __init__(self, in_channels: int, out_channels: int, beside: eqx.nn.Conv2d | None, key: PRNGKeyArray):
        self.conv = eqx.nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, key=key)
        self.beside = beside

    def __call__(self, x: Float[Array, "c h w"]):
        y = self.conv(x)
        if self.beside is not None:
            x = self.beside(x)
        return jax.nn.relu(y + x)
""",
    "no_layer.py": """
class Block(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, in_channels: int, out_channels: int, key: PRNGKeyArray):
        self.conv = eqx.nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, key=key)

    def __call__(self, x: Float[Array, "c h w"]):  # ~unreached
        y = self.conv(x)
        return jax.nn.relu(y + x)  # ~SC301
""",
    # `n_nodes` is how many nodes there are, and no number of its own; how many edges there are is one.
    "counts.py": """
def one_hot(adjacency: Float[Array, "num_nodes num_nodes"], n_nodes: int) -> Float[Array, "num_nodes num_nodes"]:
    return jax.nn.one_hot(jnp.argmax(adjacency, 1), n_nodes)

def without_count(adjacency: Float[Array, "nodes nodes"], num_nodes: int) -> Float[Array, "nodes nodes"]:
    return jax.nn.one_hot(jnp.argmax(adjacency, 1), num_nodes)

def of_edges(x: Float[Array, "nodes d"], num_edges: int) -> Float[Array, "nodes nodes"]:  # ~SC203
    return jax.nn.one_hot(jnp.argmax(x, 1), num_edges)

def of_features(x: Float[Array, "nodes node_dim"], num_nodes: int) -> Float[Array, "node_dim nodes"]:  # ~SC203
    return jax.nn.one_hot(jnp.argmax(x, 1), num_nodes)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_may_be_none_and_what_is_counted(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
