"""Numbers of an example that a text works through, and parameters that a function binds anew before it returns."""

from __future__ import annotations

import pytest

CASES = {
    "example.py": '''
import jax.numpy as jnp

def overlap(signal):
    """Overlap.

    Args:
        signal: array of shape (batch, frames, length).
    """
    b, f, n = signal.shape
    # Pad the frames so that signal.shape = (6, 6) ~tentative
    # a b c 0 0 0
    signal = jnp.pad(signal, ((0, 0), (0, 1), (0, 1)))
    # signal.shape = (batch, frames) ~SC201
    # whatever was added
    return signal * 2
''',
    "result.py": '''
import jax.numpy as jnp

def frame(x, frame_length: int):
    """Frame.

    Args:
        x: (batch, samples)

    Returns:
        An array of shape (batch, frame_length, samples).
    """
    out = jnp.broadcast_to(x[:, None], (x.shape[0], frame_length, x.shape[1]))
    frame_length = frame_length // 2
    return out

def turned(x, frame_length: int):
    """Frame.

    Args:
        x: (batch, samples)

    Returns:
        An array of shape (batch, frame_length, samples). ~SC207
    """
    return jnp.broadcast_to(x[:, :, None], (*x.shape, frame_length))
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(CASES)


@pytest.mark.parametrize("name", CASES)
def test_neither_accuses_anybody(folder, name: str) -> None:
    assert folder.cases[name].actual == folder.cases[name].expected
