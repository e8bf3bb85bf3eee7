"""The annotation of a result means by a name the integer parameter of that name, though jaxtyping takes any size."""

from __future__ import annotations

import re

import pytest

HEAD = """
import dataclasses
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "results.py": """
def zeros(n: int, d: int) -> Float[Array, "n d"]:
    return jnp.zeros((n, d))

def square(n: int, d: int) -> Float[Array, "n d"]: ~SC203
    return jnp.zeros((n, n))

def swapped(n: int, d: int) -> tuple[Float[Array, "n"], Float[Array, "d n"]]: ~SC203
    return jnp.zeros(n), jnp.zeros((n, d))

def beside(x: Float[Array, "b"], n: int) -> Float[Array, "b n"]: ~SC203
    return jnp.zeros((n, x.shape[0]))
""",
    # an integer that claims use as a dim may be any number, whatever number an argument has
    "beside_a_number.py": """
def ends(center: Float[Array, "2"], n: int) -> Float[Array, "n 2"]: ~unreached
    angles = jnp.linspace(0, 1, n)
    return center + jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=0) ~SC301

def right(center: Float[Array, "2"], n: int) -> Float[Array, "n 2"]:
    angles = jnp.linspace(0, 1, n)
    return center + jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)
""",
    # what says how much is taken is less than there is; what nobody describes and a dim is called by is its size
    "taken.py": """
def nearest(d2, k):
    # d2: (n, m)
    order = jnp.argsort(d2, axis=1)[:, :k]  # (n, k)
    last = d2[:, -k:]  # (n, m)  ~SC201
    return jnp.take_along_axis(d2, order, axis=1), last

class Model:
    def __init__(self, mu):
        # mu: (n_assets,)
        self.mu = mu

    def draw(self, n_paths):
        return jnp.zeros((n_paths, self.mu.shape[0]))  # (n_paths, n_assets)

    def paths(self, s0, n_paths):
        p = self.draw(n_paths)
        p = p + 1  # (n_assets, n_paths)  ~SC201
        return s0 * jnp.exp(p)  # (n_paths, n_assets)
""",
    # a size to be had is that of what is given back; what comes in may have another
    "wished.py": """
def cropped(t, *, frames):
    '''Crops or pads a video.

    Args:
        t (jnp.ndarray): of shape (channels, frames, height)
        frames (int): The target number of frames.

    Returns:
        A video of shape (channels, frames, height).
    '''
    missing = max(0, frames - t.shape[1])
    return jnp.pad(t, ((0, 0), (0, missing), (0, 0)))[:, :frames]

def split(t, *, frames):
    '''Splits a video.

    Args:
        t (jnp.ndarray): of shape (channels, frames, height)  ~SC207
        frames (int): The number of frames.
    '''
    return t[:, :frames]

def test_cropped():
    assert cropped(jnp.ones((3, 10, 4)), frames=5).shape == (3, 5, 4)

def test_split():
    assert split(jnp.ones((3, 10, 4)), frames=5).shape == (3, 5, 4)
""",
    # integers in exponents are few, and what is taken off is less; so is what sizes are divided by an integer
    "exponents.py": """
def reduced_density(psi, n_a, n):
    # psi: (2**n,)
    m = psi.reshape(2 ** n_a, 2 ** (n - n_a))  # (2**n_a, 2**(n - n_a))
    return m.conj().T @ m  # (2**n_a, 2**n_a)  ~SC201

def frames(x, win, hop):
    # x: (n,), win: (n_win,)
    w = win.shape[0]
    n_frames = (x.shape[0] - w) // hop + 1
    idx = jnp.arange(n_frames)[:, None] * hop + jnp.arange(w)[None]  # (n_win, n_frames)  ~SC201
    return x[idx] * win  # (n_frames, n_win)

def stress(eps, nu):
    # eps: (n, 2)
    C = 1 / (1 - nu) * jnp.array([[1, nu], [nu, 1]])  # (2, 2)
    return C @ eps.T  # (n, 2)  ~SC201

def sirs(y, p):
    # y: (n_state,), p: (n_par,)
    s, i, r = y
    b, g = p
    return jnp.array([-b * s * i, b * s * i - g * i, g * i])  # (n_state,)
""",
    # a block of an image is small, though one of a text is long
    "blocks.py": """
def to_space(x: Float[Array, "h w c"], block_size: int):
    h, w, c = x.shape
    if c % block_size**2:
        raise ValueError(f"{c} channels must be divisible by the square of {block_size}")
    y = x.reshape(h, w, block_size, block_size, c // block_size**2)
    y = y.transpose(0, 2, 1, 3, 4)  # (h, block_size, w, block_size, c // block_size**2)
    z = y.reshape(h * block_size, w * block_size, -1)  # (h * block_size, w * block_size, c) ~SC201
    return z
""",
    # what the call gives for a name, or binds anew, is none of the integer that came
    "others.py": """
def folded(x: Float[Array, "n d"], n: int) -> Float[Array, "d n"]:
    return x.T

def counted(n: int) -> Float[Array, "n"]:
    y = jnp.zeros(n)
    while n > 3:
        n = n // 2
    return y

def some(n: int | None = None) -> Float[Array, "n"]:
    n = n or 7
    return jnp.zeros(n)

@dataclasses.dataclass
class Grid:
    size: int = 8

    def points(self) -> Float[Array, "size"]:
        return jnp.zeros(self.size + 1)
""",
    # The length that is given beside a sequence is how long that is; the most that it may be is another number.
    "lengths.py": """
def causal(mask: Float[Array, "batch seq"], seq_len: int) -> Float[Array, "batch 1 seq kv_seq"]:
    if mask.shape[-1] < seq_len:
        mask = jnp.pad(mask, ((0, 0), (0, seq_len - mask.shape[-1])))
    return jnp.tri(seq_len)[None, None] * mask[:, None, None, :seq_len]

def turned(mask: Float[Array, "batch seq"], seq_len: int) -> Float[Array, "batch seq 1 kv_seq"]: ~SC203
    if mask.shape[-1] < seq_len:
        mask = jnp.pad(mask, ((0, 0), (0, seq_len - mask.shape[-1])))
    return jnp.tri(seq_len)[None, None] * mask[:, None, None, :seq_len]

def padded(mask: Float[Array, "batch seq"], max_len: int) -> Float[Array, "batch seq"]: ~SC203
    return jnp.pad(mask, ((0, 0), (0, max_len)))[:, :max_len]
""",
    # A table has so many rows, as callers know. An annotation is for any number, and it is another matter if the rest
    # does not fit whatever is given.
    "tables.py": """
def inertias(n_bodies: int):
    return jnp.zeros((n_bodies, 3)) + jnp.ones((2, 3))

def of_any(n_bodies: int) -> Float[Array, "n_bodies 3"]: ~unreached
    return jnp.zeros((n_bodies, 3)) + jnp.ones((2, 3)) ~SC301

def of_code(n_bodies: int):
    found = jnp.zeros((n_bodies, 3)) + jnp.ones((2, 3)) ~SC302
    return found.T # (3, n_bodies) ~unreached

def of_columns(n_bodies: int) -> Float[Array, "n_bodies 4"]: ~unreached
    return jnp.zeros((n_bodies, 4)) + jnp.ones((2, 3)) ~SC301
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_results(folder, name):
    assert folder.cases[name].as_marked()


def test_an_attribute_of_another_size_binds_nothing(folder):
    (points,) = (each for each in folder.report.verified if each.claim == 'Float[Array, "size"]')
    assert points.how == "rank alone"


def test_an_exponent_of_one_more_than_another_integer_is_small_too(check_folder) -> None:
    source = '''
import jax.numpy as jnp

def configurations(n_dot, n_max):
    """All of them.

    Returns:
        Array of shape (n_max ** n_dot, n_dot).
    """
    return jnp.zeros(((n_max + 1) ** n_dot, n_dot))
'''
    (finding,) = check_folder({"m.py": source}).cases["m.py"].findings
    assert all(int(each) < 10**12 for each in re.findall(r"\d+", finding.message))
