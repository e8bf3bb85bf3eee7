"""Sizes that made-up integers come to: a free size that fits some is no error of the code, a feature that fits none is.

And sizes that follow from others by a step, whatever words JAX has for it.
"""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

"""

CASES = {
    # A network that flattens what convolutions leave was made for images of one size; there is none for the second.
    "images.py": """
class Net(eqx.Module):
    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    pool: eqx.nn.MaxPool2d
    dense: eqx.nn.Linear

    def __init__(self, *, key: PRNGKeyArray):
        k1, k2, k3 = jax.random.split(key, 3)
        self.first = eqx.nn.Conv2d(3, 64, 11, stride=4, padding=2, key=k1)
        self.second = eqx.nn.Conv2d(64, 256, 5, padding=2, key=k2)
        self.pool = eqx.nn.MaxPool2d(kernel_size=3, stride=2)
        self.dense = eqx.nn.Linear(256 * 13 * 13, 512, key=k3)

    def __call__(self, x: Float[Array, "c h w"]) -> Array:
        x = self.pool(jax.nn.relu(self.first(x)))
        x = self.pool(jax.nn.relu(self.second(x)))
        return self.dense(x.ravel())


class Other(Net):
    def __call__(self, x: Float[Array, "c h w"]) -> Array:
        x = self.pool(jax.nn.relu(self.first(x)))
        x = self.pool(jax.nn.relu(self.second(x)))
        return self.dense(x[:251].ravel())  ~SC301
""",
    # What is joined has as many features together as the layer was made for; not with one of them twice, nor where
    # claims say for how many the layer was made.
    "shares.py": """
class Flow(eqx.Module):
    layer: eqx.nn.Linear

    def __init__(self, in_size: int, width: int, *, key: PRNGKeyArray):
        self.layer = eqx.nn.Linear(in_size, width, key=key)

    def __call__(self, x: Float[Array, "d"], t: Float[Array, "k"]) -> Float[Array, "width"]:
        return self.layer(jnp.concatenate([x, t]))


class Named(Flow):
    def __call__(self, x: Float[Array, "in_size"], t: Float[Array, "k"]) -> Float[Array, "width"]:
        return self.layer(jnp.concatenate([x, t]))  ~SC301


class Twice(Flow):
    def __call__(self, x: Float[Array, "d"], t: Float[Array, "k"]) -> Float[Array, "width"]:
        return self.layer(jnp.concatenate([x, t, t]))  ~SC301
""",
    # There are as many windows as the image has; a number that is written is no image's.
    "windows.py": '''
from einops import rearrange


def joined(windows: jax.Array, window_size: int, H: int, W: int) -> jax.Array:
    """
    Args:
        windows: of shape (num_windows*B, window_size*window_size, C)

    Returns:
        of shape (B, H, W, C)
    """
    sizes = {"h": H // window_size, "w": W // window_size, "i": window_size, "j": window_size}
    return rearrange(windows, "(b h w) (i j) c -> b (h i) (w j) c", **sizes)


def halves(windows: jax.Array) -> jax.Array:
    """
    Args:
        windows: of shape (num_windows*B + 1, C)
    """
    return rearrange(windows, "(b h) c -> b h c", h=7)  ~SC301
''',
    # As many items as a tuple that was made up has, and what a made-up size does not divide, are no errors; what an
    # argument of which nobody says anything meets is said to be `p**2`.
    "made_alike.py": """
from einops import rearrange


class Diagonals(eqx.Module):
    '''A matrix by its diagonals.

    Attributes:
        data: of shape (n_diags, n_cols)
        offsets: which diagonals
    '''

    data: Array
    offsets: tuple[int, ...]

    def sums(self) -> Array:
        '''Sums of each, of shape (n_cols,).'''
        step = lambda total, pair: (total + pair[0] * pair[1], None)
        return jax.lax.scan(step, jnp.zeros(self.data.shape[1]), (self.data, jnp.array(self.offsets)))[0]  ~SC302


class Blocks(eqx.Module):
    q_len: int
    k_len: int
    q_block: int
    k_block: int

    def mask(self) -> Array:
        '''The mask.

        Returns:
            of shape (q_len, k_len).
        '''
        mask = jnp.zeros((self.q_len, self.k_len))
        mask = rearrange(mask, "(q a) (k b) -> q k a b", a=self.q_block, b=self.k_block)
        return rearrange(mask, "q k a b -> (q a) (k b)")


def impedance(operator: Array, P: Array, Q: Array, G: Array):
    '''Impedance of all.

    Args:
        P (jax.Array): Has shape (4(p-1), 4q).
        Q (jax.Array): Has shape (4q, p**2).
        G (jax.Array): Has shape (4(p-1), p**2).

    Returns:
        Tuple[jax.Array]:
            T (jax.Array): Has shape (4q, 4q).
            Y (jax.Array): Has shape (p**2, 4q).
    '''
    n_points, n_edge = operator.shape[-1], P.shape[0]
    B = jnp.zeros((n_points, n_points))
    B = B.at[:n_edge].set(G)  ~SC302
    B = B.at[n_edge:].set(operator[n_edge:])
    # Y has shape (n_points, n_edge).
    Y = jnp.linalg.inv(B)[:, :n_edge] @ P
    return Q @ Y, Y
""",
    # Who makes the model gives it as many patches as its image has.
    "places.py": '''
import flax.linen as nn


class AddPlaces(nn.Module):
    image_size: int
    patch_size: int

    @nn.compact
    def __call__(self, inputs: jax.Array) -> jax.Array:
        """
        Args:
            inputs: of shape (batch, sequence_length + 1, dim)
        """
        places = self.param(
            "places", nn.initializers.normal(), (1, self.image_size // self.patch_size + 1, inputs.shape[2])
        )
        return inputs + places
''',
    # So it is with a number of components; what is written is one.
    "components.py": '''
import flax.linen as nn


class Norm(nn.Module):
    lmax: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """
        Args:
            x: of shape (nodes, num_components, width)
        """
        scale = self.param("scale", nn.initializers.ones, ((self.lmax + 1) ** 2, 1))
        return x * scale  # (nodes, num_components, width)


class Fixed(nn.Module):
    lmax: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """
        Args:
            x: of shape (nodes, num_components, width)
        """
        return x * self.param("scale", nn.initializers.ones, (16, 1))  ~SC305
''',
    # That many places are written, and come from no integer that was made up.
    "written.py": '''
import flax.linen as nn


class AddPlaces(nn.Module):
    rate: float

    @nn.compact
    def __call__(self, inputs: jax.Array) -> jax.Array:
        """
        Args:
            inputs: of shape (batch, sequence_length + 1, dim)
        """
        places = self.param("places", nn.initializers.normal(), (1, 25, inputs.shape[2]))
        return inputs + places  ~SC301
''',
    # A layer that takes four times as many features as there are channels is for no width of an image.
    "pooled.py": """
class Encoder(eqx.Module):
    stem: eqx.nn.Conv2d
    head: eqx.nn.Linear

    def __init__(self, channels: int, hidden: int, latent: int, *, key: PRNGKeyArray):
        self.stem = eqx.nn.Conv2d(channels, 4 * hidden, kernel_size=4, stride=2, padding=1, key=key)
        self.head = eqx.nn.Linear(4 * hidden, latent, key=key)

    def __call__(self, image: Float[Array, "channels h w"]) -> Float[Array, "latent"]:
        return self.head(self.stem(image).mean(axis=(0, 1)))  ~SC301
""",
    # No claim names what a table has room for, so callers may well have as many places. A batch is of any length, no
    # steps are as many as features, and none as many as heads.
    "capacity.py": """
class Table(eqx.Module):
    rows: jax.Array

    def __init__(self, capacity: int, dim: int):
        self.rows = jnp.ones((capacity, dim))

    def __call__(self, x: Float[Array, "places dim"]) -> Float[Array, "places dim"]:
        return x + self.rows

    def mixed(self, x: Float[Array, "batch dim"]) -> Float[Array, "batch dim"]:
        return x + self.rows  ~SC305


class Scale(eqx.Module):
    weight: jax.Array

    def __init__(self, hidden: int):
        self.weight = jnp.ones(hidden)

    def __call__(self, x: Float[Array, "time channels rest"]) -> Float[Array, "time channels rest"]:
        return x * self.weight[:, None, None]  ~SC305


class Heads(eqx.Module):
    n_heads: int = eqx.field(static=True)

    def __init__(self, n_heads: int):
        self.n_heads = n_heads

    def __call__(self, x: Float[Array, "time d"], mask: Float[Array, "time time"]) -> Float[Array, "time time"]:
        q = jnp.ones((x.shape[0], self.n_heads, 8))
        return mask + jnp.einsum("thd,tkd->hk", q, q)  ~SC305
""",
    # Elsewhere the code has the number that is the default here: nobody gives another.
    "planes.py": """
import flax.linen as nn


class Block(nn.Module):
    planes: int

    @nn.compact
    def __call__(self, x: Float[Array, "... h w c"]) -> Float[Array, "... h w planes"]:
        return nn.relu(nn.Conv(self.planes, (3, 3))(x) + x)


class Encoder(nn.Module):
    width: int
    in_planes: int = 64

    @nn.compact
    def __call__(self, x: Float[Array, "b h w 3"]) -> Float[Array, "b h w width"]:
        x = Block(64)(nn.Conv(self.in_planes, (7, 7))(x))
        if not jax.core.no_such_name(x):  ~SC302
            return x
        return nn.Conv(self.width, (1, 1))(x)
""",
    # Two more than the inner ones: a relation that no claim writes, and no mix-up of two dims.
    "inner.py": """
def smooth(delta: Float[Array, "T d"], metric: Float[Array, "Tin Tin"]) -> Float[Array, "T d"]:
    return delta.at[1:-1].set(jnp.linalg.solve(metric, delta[1:-1]))  ~SC305


def turned(delta: Float[Array, "T d"], metric: Float[Array, "Tin Tin"]) -> Float[Array, "T d"]:
    return delta.at[1:-1].set(jnp.linalg.solve(metric, delta[1:-1].T))  ~SC301
""",
    # As many nodes as the mesh has rows and columns.
    "meshes.py": '''
def interpolated(x: Float[Array, "nn"], nn_x: int, nn_y: int) -> Float[Array, "nn"]:
    return x.reshape(nn_y, nn_x).T.flatten()

def refined(xH, nnH_x, nnH_y, nnh_x, nnh_y, periodic):
    """ Takes x vector xH of shape (nnH,) on a coarse mesh and maps it to x of shape (nnh,) on a fine one. """
    if periodic:
        xH = xH.reshape(nnH_y - 1, nnH_x - 1)
        grid = jnp.zeros((nnH_y, nnH_x)).at[:-1, :-1].set(xH)
    else:
        grid = xH.reshape(nnH_y, nnH_x)
    rows, columns = jnp.arange(0, nnh_y, 2), jnp.arange(0, nnh_x, 2)
    fine = jnp.zeros((nnh_y, nnh_x))
    return fine.at[rows[:, None], columns].set(grid[(rows // 2)[:, None], columns // 2]).flatten()
''',
    # A root that is rounded comes out even for some sizes; one less than a size is never that.
    "rounded.py": """
def unpacked(v: Float[Array, "size"]) -> Float[Array, "n n"]:
    n = (int((8 * v.shape[0] + 1) ** 0.5) - 1) // 2
    rows, columns = jnp.triu_indices(n)
    return jnp.zeros((n, n)).at[rows, columns].set(v)  ~SC302

def differences(v: Float[Array, "size"]) -> Float[Array, "size"]:
    return v - v[1:]  ~SC301
""",
    # A claim of the result tells the axis from the one of the model's that it would have to be as long as.
    "denied.py": """
class Tree:
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def values(self, start: Float[Array, "contracts"], up: Float[Array, "contracts"]) -> Float[Array, "contracts n"]:
        moves = jnp.arange(self.steps + 1)
        return jnp.log(start)[:, None] + moves * jnp.log(up)[:, None]

    def wrong(self, start: Float[Array, "contracts"], up: Float[Array, "contracts"]) -> Float[Array, "contracts n"]:
        moves = jnp.arange(self.steps + 1)
        return jnp.log(start)[None] + moves * jnp.log(up)[:, None]  ~SC305
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_only_what_no_size_lets_run_is_an_error(folder, name: str) -> None:
    case = folder.cases[name]
    assert [each for each in case.actual if each[1] != "unreached"] == case.expected, case.details


def test_a_note_names_the_step_between_two_sizes(folder) -> None:
    notes = [each for each in folder.cases["inner.py"].findings if each.code == "SC305"]
    assert [each.severity for each in notes] == ["note"]
    assert "Tin = T-2" in notes[0].message


def test_a_note_says_that_made_up_arguments_may_not_fit_each_other(folder) -> None:
    note = next(each for each in folder.cases["rounded.py"].findings if each.code == "SC302")
    assert "its made-up arguments may not fit each other: Incompatible types for broadcasting" in note.message
