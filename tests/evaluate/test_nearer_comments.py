"""Of two comments on one value the one behind the statement counts, where it holds: the other may tell of a step."""

from __future__ import annotations

CODE = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def convolved(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # Flatten the images: (b*n, k)
    flat = patches.reshape(-1, patches.shape[-1])
    # Linear: (k,) -> (c,)  ~unreached
    out = flat @ kernel  # (b*n, c)
    return out


def wrong(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # Linear: (k,) -> (c,)  ~SC201
    out = patches @ kernel  # (b, c, n)  ~SC201
    return out


def at_the_head(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # -> (b, c)  ~SC201
    flat = patches.sum(1)  # (b, k)
    return (flat @ kernel).T
"""


STEPS = """
import jax.numpy as jnp


def run(inputs, memory):
    '''Run.

    Args:
        inputs: shape (t, d)
        memory: the state and its mask
    '''
    # Reshape inputs to (t, 1, d)
    state, mask = memory
    inputs = jnp.expand_dims(inputs, 1)
    out = inputs + state.sum()
    return jnp.squeeze(out, 1), (state, mask.copy())


def gather(x: jnp.ndarray, index: jnp.ndarray, size: int):
    '''Gather.

    Args:
        x: shape (n,)
        index: shape (size, size)
    '''
    # Unpack all of them to (size, size) by an index.
    padded = jnp.append(x, 0.0)
    square = padded[index]  # (size, size)
    return square.sum()


if __name__ == "__main__":
    run(jnp.ones((10, 32)), (jnp.ones((64, 1, 32)), jnp.ones((64,))))
"""


def test_a_step_is_told_above_the_statement_that_takes_it(check_folder) -> None:
    assert check_folder({"steps.py": STEPS}).cases["steps.py"].as_marked()


def test_the_nearer_comment_counts(check_folder) -> None:
    folder = check_folder({"nearer.py": CODE})
    assert folder.cases["nearer.py"].as_marked()
