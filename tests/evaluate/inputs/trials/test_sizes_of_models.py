"""Axes that follow a model's own sizes in ways that no single tie says: computed, left open, in products."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
from collections.abc import Sequence
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int
"""

CASES = {
    "computed.py": """
class Masked(eqx.Module):
    mask: Array

    def __init__(self, num_spatial_dims: int, num_points: int):
        self.mask = jnp.ones((1,) + (num_points,) * (num_spatial_dims - 1) + (num_points // 2 + 1,))

    def cut(self, u_hat: Complex[Array, "C ... (N//2)+1"]) -> Complex[Array, "C ..."]:
        return self.mask * u_hat
""",
    # it is not the number of points that the axes have
    "computed_wrong.py": """
class Masked(eqx.Module):
    mask: Array

    def __init__(self, num_points: int):
        self.mask = jnp.ones((1, num_points // 2 + 3))

    def cut(self, u_hat: Complex[Array, "C (N//2)+1"], u: Complex[Array, "C N"]) -> Complex[Array, "C N"]:
        return (self.mask * u_hat).sum() * self.mask.T * u ~SC301
""",
    # what is called as an integer argument is called, has its size, whether or not anybody writes that it is one
    "defaults.py": """
def marked(x, n=8):
    '''Mark them.

    Args:
        x: array of shape (n, 3)
    '''
    first = jnp.ones(n, dtype=bool)  # (n,)
    return first.at[1:].set(x[1:, 0] > 1)

def wrong(x, n=8):
    '''Mark them.

    Args:
        x: array of shape (n, 3)
    '''
    return x + jnp.ones(n) ~SC301
""",
    # two widths of which claims say that they are one, where what is joined has both
    "joined.py": """
class Decoder(eqx.Module):
    lift: eqx.nn.Linear
    score: eqx.nn.Linear

    def __init__(self, local: int, shared: int, *, key):
        self.lift = eqx.nn.Linear(shared, shared, key=key)
        self.score = eqx.nn.Linear(shared + local, 1, key=key)

    def __call__(self, a: Float[Array, "n d"], b: Float[Array, "n d"]) -> Float[Array, "n 1"]:
        return jax.vmap(self.score)(jnp.concatenate([a, jax.vmap(self.lift)(b)], axis=-1))

class Wrong(eqx.Module):
    lift: eqx.nn.Linear
    score: eqx.nn.Linear

    def __init__(self, local: int, shared: int, *, key):
        self.lift = eqx.nn.Linear(shared, shared, key=key)
        self.score = eqx.nn.Linear(shared + local, 1, key=key)

    def __call__(self, a: Float[Array, "n d"], b: Float[Array, "n d"]) -> Float[Array, "n 1"]: ~unreached
        return jax.vmap(self.score)(jnp.concatenate([a, a, jax.vmap(self.lift)(b)], axis=-1)) ~SC301
""",
    # of what is mapped over there are several, and numbers are kept in an array then
    "several.py": """
from typing import NamedTuple

class State(NamedTuple):
    steps: int
    done: bool

class Setting(dict):
    pass

@dataclasses.dataclass
class Named(Setting):
    steps: int

    def __hash__(self):
        return id(self)

def named(one: Named, actions: Int[Array, "n"]) -> Int[Array, "n"]:
    return actions + one.steps

class Env:
    most: int = 128

    def step(self, state: State, action: int):
        return State(state.steps + action, state.steps >= self.most)

    def steps(self, states: State, actions: Int[Array, "n"]) -> Int[Array, "n"]:
        after = jax.vmap(self.step)(states, actions)
        return after.steps

    def inner(self, state: State, action: int):
        raise NotImplementedError

    def of_others(self, states: State, actions: Int[Array, "n"]) -> Int[Array, "n"]: ~unreached
        return jax.vmap(self.inner)(states, actions) ~SC302

    def wrong(self, states: State, actions: Int[Array, "n"]) -> Int[Array, "n 2"]: ~unreached
        after = jax.vmap(self.step)(states, actions)
        return after.steps
""",
    # There may be one state for each agent, but hardly for each head; channels are features in any place; and what
    # meets a size of the model's own has that, however large it is.
    "counts.py": """
from flax import nnx

class Env(eqx.Module):
    num_agents: int
    num_heads: int

    def graph(self, agent: Float[Array, "num_states 4"]) -> Float[Array, "nodes 4"]:
        return jnp.zeros((self.num_agents * 2, 4)).at[: self.num_agents].set(agent)

    def mixed(self, agent: Float[Array, "num_states 4"]) -> Array:
        return jnp.zeros((self.num_heads * 2, 4)).at[: self.num_heads].set(agent) ~SC305

class Conv(nnx.Conv):
    def __call__(self, x):
        '''
        Args:
            x: of shape (batch_size, channels, time_steps)
        '''
        return super().__call__(x.transpose(0, 2, 1)).transpose(0, 2, 1)

class Loss(eqx.Module):
    rate: float

    @property
    def _vocab_size(self):
        return 32000

    def __call__(self, logits: Float[Array, "b t num_classes"], targets: Int[Array, "b t"]) -> Float[Array, "b t"]:
        return (jax.nn.one_hot(targets, self._vocab_size) * jax.nn.log_softmax(logits)).sum(-1)
""",
    # Channels stand before any other axes, too, in French and abbreviated.
    "channels.py": """
class Spectral(eqx.Module):
    weight: Array

    def __init__(self, dim_in: int, dim_out: int):
        self.weight = jnp.zeros((dim_in, dim_out))

    def __call__(self, x: Float[Array, "canaux *spatial"]) -> Float[Array, "sortie *spatial"]:
        return jnp.einsum("i...,io->o...", x, self.weight)

class Flattened(eqx.Module):
    conv: eqx.nn.Conv1d
    out_channels: int

    def __init__(self, in_channels: int, out_channels: int):
        self.conv = eqx.nn.Conv1d(in_channels, out_channels, 1, key=jax.random.key(0))
        self.out_channels = out_channels

    def __call__(self, x: Float[Array, "in_c ..."]) -> Float[Array, "out_c ..."]:
        return self.conv(x.reshape(x.shape[0], -1)).reshape(self.out_channels, *x.shape[1:])

class Counted(Flattened):
    def __call__(self, x: Float[Array, "num_points ..."]) -> Array:
        return self.conv(x.reshape(x.shape[0], -1)) ~SC305
""",
    # Who calls a layer with a size knows what the layer was made for; its own integers have to fit each other.
    "together.py": """
class Tokens(eqx.Module):
    codes: Float[Array, "n d"]
    dim: int

    def __init__(self, dim: int, most: int = 40):
        self.codes, self.dim = jnp.zeros((most, dim)), dim

    def decode(self, x: Int[Array, "b h w"], size: int, channels: int) -> Array:
        return self.codes[x].reshape(*x.shape, size, size, channels) ~SC302

class Own(eqx.Module):
    codes: Float[Array, "n d"]
    shape: tuple[int, int]

    def __init__(self, dim: int, other: int, third: int):
        self.codes, self.shape = jnp.zeros((40, dim)), (other, third)

    def decode(self, x: Int[Array, "b h w"]) -> Array:
        return self.codes[x].reshape(*x.shape, *self.shape) ~SC301
""",
    # An index is one of a list's.
    "index.py": """
class Factors(eqx.Module):
    factors: list[Array]

    def __init__(self, rank: int, width: int):
        self.factors = [jnp.zeros((rank, width)), jnp.zeros((width, rank))] * 2

    def __call__(self, corner_idx: int, x: Float[Array, "width m"]) -> Float[Array, "width m"]:
        first = corner_idx * 2
        return jnp.einsum("ri,or,im->om", *self.factors[first : first + 2], x)
""",
    # A literal number of channels is what the model takes, also where its own check refuses other images.
    "refused.py": """
from flax import nnx

class Patches(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, *, size: int = 16, d_model: int = 64):
        self.proj = nnx.Conv(3, d_model, kernel_size=(size, size), strides=size, padding="VALID", rngs=rngs)

    def __call__(self, images: Float[Array, "b h w num_channels"]) -> Array:
        x = self.proj(images)
        if x.shape[1] * x.shape[2] > 20:
            raise ValueError("too many patches")
        return x
""",
    # An argument may say how long an axis of one letter is, if no claim has a name for what it counts.
    "bounds.py": """
def moved(donor: Int[Array, "D"], root: int, max_nodes: int) -> tuple[Int[Array, "D"], Int[Array, "2 D"]]:
    return donor.at[root].set(0), jnp.full((2, max_nodes), -1)

def taken(donor: Int[Array, "D"], top: int) -> Int[Array, "D"]: ~SC203
    return donor[:top]

def said(nodes: Int[Array, "N"], donor: Int[Array, "D"], max_nodes: int) -> Int[Array, "2 D"]: ~SC203
    return jnp.full((2, max_nodes), -1)
""",
    "open_axes.py": """
class Step(eqx.Module):
    factor: Complex[Array, "E ... (N//2)+1"]

    def __init__(self, operator: Complex[Array, "E ... (N//2)+1"]):
        self.factor = jnp.exp(operator)

    def step(self, u_hat: Complex[Array, "C ... (N//2)+1"]) -> Complex[Array, "C ..."]:
        return self.factor * u_hat

    def swapped(self, u_hat: Complex[Array, "C ... (N//2)+1"]) -> Complex[Array, "C ..."]:
        return self.factor * jnp.swapaxes(u_hat, -1, -2) ~SC301
""",
    # whoever makes such an instance gives it an operator of so many points
    "itself.py": """
class Convection(eqx.Module):
    operator: Complex[Array, "D ... (N//2)+1"]
    mask: Array

    def __init__(self, num_dims: int, num_points: int, operator: Complex[Array, "D ... (N//2)+1"]):
        self.operator = operator
        self.mask = jnp.ones((1,) + (num_points,) * (num_dims - 1) + (num_points // 2 + 1,))

    def __call__(self, u_hat: Complex[Array, "C ... (N//2)+1"]) -> Complex[Array, "C ..."]:
        return self.operator[:1] * (self.mask * u_hat) ~SC302

class Mixed(eqx.Module):
    operator: Complex[Array, "D N"]
    mask: Array

    def __init__(self, width: int, operator: Complex[Array, "D N"]):
        self.operator = operator
        self.mask = jnp.ones((1, width))

    def __call__(self, u: Complex[Array, "C N"]) -> Complex[Array, "C N"]:
        return self.operator[:1] * (self.mask * u) ~SC301
""",
    # how long an axis is that the constructor is given is for its caller to say, where no claim uses what it meets
    "expanded.py": '''
class Count(eqx.Module):
    features: int
    w: Array

    def __init__(self, outputs: int, features: int, w):
        """Count.

        Args:
            w: weights of shape (outputs, expanded). ~unreached
        """
        self.features = features
        self.w = w

    def __call__(self, x: Float[Array, "b"]) -> Array:
        rows = jnp.concatenate([x[:1], x[:1] ** 2])[:, None] * jnp.ones(self.features)
        return rows @ self.w.T ~SC302
''',
    # a square image is as large as the integer that its model was built for
    "squares.py": """
class ViT(eqx.Module):
    proj: eqx.nn.Linear
    pos: Array
    patch: int = eqx.field(static=True)

    def __init__(self, image_size: int = 24, patch: int = 6, dim: int = 40, *, key):
        n = (image_size // patch) ** 2
        self.patch = patch
        self.proj = eqx.nn.Linear(patch * patch * 3, dim, key=key)
        self.pos = jnp.zeros((n, dim))

    def __call__(self, img):
        # img: (height, width, 3)
        h, w, c = img.shape
        p = self.patch
        x = img.reshape(h // p, p, w // p, p, c).transpose(0, 2, 1, 3, 4)
        x = jax.vmap(self.proj)(x.reshape((h // p) * (w // p), p * p * c))  # (n, dim)
        return x + self.pos  # (n, dim)
""",
    "product.py": '''
class Coder(eqx.Module):
    weight: Array

    def __init__(self, spatial_dims: Sequence[int], features: Sequence[int]):
        self.weight = jnp.ones((spatial_dims[0] * spatial_dims[1] * features[0] // 4, features[1]))

    def __call__(self, image):
        """Encode.

        Args:
            image: pixels of shape (H, W, channel_size).  ~unreached
        """
        return image[::2, ::2].reshape(-1) @ self.weight
''',
    # whatever the sizes are, there are too many
    "product_too_large.py": '''
class Coder(eqx.Module):
    weight: Array

    def __init__(self, width: int, latent: int):
        self.weight = jnp.ones((width, latent))

    def __call__(self, image):
        """Encode.

        Args:
            image: pixels of shape (h, w, width).
        """
        return image.reshape(-1) @ self.weight ~SC301
''',
    # the patches of an image are as many as there are places for, where it has the size that the model is made for
    # Both sides of an image are as long as the model is made for, which takes `size*size` pixels of it.
    "sides.py": """
class Pixels(eqx.Module):
    norm: eqx.nn.LayerNorm
    image_size: int = eqx.field(static=True)

    def __init__(self, channels: int, image_size: int):
        self.norm, self.image_size = eqx.nn.LayerNorm(channels), image_size

    def __call__(self, x):
        # x: [batch, height, width, channels]
        b, c = x.shape[0], x.shape[-1]
        x = x.reshape(b, self.image_size * self.image_size, c)
        return jax.vmap(jax.vmap(self.norm))(x)  # [batch, pixels, channels]
""",
    "folded.py": """
class Patches(eqx.Module):
    image_size: int
    patch: int = 4

    def __call__(self, images: Float[Array, "b h w c"]) -> Array:
        cut = images[:, :: self.patch, :: self.patch]
        return cut.reshape(images.shape[0], (self.image_size // self.patch) ** 2, -1)

class Frames(eqx.Module):
    places: int

    def __call__(self, frames: Float[Array, "b t p c"]) -> Array:
        return frames.reshape(frames.shape[0], self.places * 12, frames.shape[3]) ~SC302

class TooFew(eqx.Module):
    places: int

    def __call__(self, frames: Float[Array, "b t p c"]) -> Array:
        return frames.reshape(frames.shape[0], 3, frames.shape[3]) ~SC301

class Strip(eqx.Module):
    n_heads: int

    def __call__(self, x: Float[Array, "b t c"]) -> Array:
        return x.reshape(x.shape[0], self.n_heads, x.shape[2]) ~SC305
""",
    # there are as many places as an image of the right size has patches
    "places.py": """
class Embedded(eqx.Module):
    conv: eqx.nn.Conv2d
    position: Array

    def __init__(self, places: int, width: int, *, key):
        self.conv = eqx.nn.Conv2d(3, width, 16, stride=16, key=key)
        self.position = jnp.zeros((places, width))

    def __call__(self, image: Float[Array, "3 h w"]) -> Array:
        x = self.conv(image).reshape(self.position.shape[1], -1).T
        return x + self.position ~SC302

    def turned(self, image: Float[Array, "3 h w"]) -> Array:
        x = self.conv(image).reshape(self.position.shape[1], -1)
        return x + self.position ~SC301

class Tower(eqx.Module):
    width: int

class Classified(eqx.Module):
    conv: eqx.nn.Conv2d
    position: Array
    token: Array
    tower: Tower

    def __init__(self, places: int, width: int, *, key):
        self.conv = eqx.nn.Conv2d(3, width, 16, stride=16, key=key)
        self.position, self.token = jnp.zeros((places + 1, width)), jnp.zeros((1, width))
        self.tower = Tower(width)

    def __call__(self, image: Float[Array, "3 height width"]) -> Array:
        x = self.conv(image).reshape(self.position.shape[1], -1).T
        return jnp.concatenate([self.token, x]) + self.position ~SC302

    def turned(self, image: Float[Array, "3 height width"]) -> Array:
        x = self.conv(image).reshape(self.position.shape[1], -1)
        return x + self.position ~SC301
""",
    # how many there are has the name, and no one of them
    "how_many.py": """
class Choices(eqx.Module):
    limits: Array

    def __init__(self, num_choices: Sequence[int]):
        self.limits = jnp.asarray(num_choices)

    def fits(self, x: Int[Array, "num_choices"]) -> Int[Array, "num_choices"]:
        return jnp.where(x < self.limits, x, 0)
""",
    "spelled.py": """
def differences(
    steps: Float[Array, "num_steps d"], noise: Float[Array, "num_steps_minus_1 d"]
) -> Float[Array, "num_steps_minus_1 d"]:
    moved = jnp.diff(steps, axis=0)
    return moved * noise[: moved.shape[0]]

def later(
    steps: Float[Array, "num_steps d"], noise: Float[Array, "num_steps_plus_one d"]
) -> Float[Array, "num_steps_plus_one d"]: ~SC203
    return noise[: steps.shape[0]]
""",
    # in a long message of JAX, the two sizes that stand in one place go first
    "long_message.py": """
def nearest(image: Float[Array, "a b t h w k"], colours: Float[Array, "n 3"]) -> Float[Array, "a b t h w n"]:
    return ((image[..., None, :] - colours[None, None, None]) ** 2).sum(-1)
""",
    # a size that the caller leaves to the code is no wrong one
    "left_out.py": """
class Cell(eqx.Module):
    width: int

    def initial(self, batch_size: int | None) -> Float[Array, "batch_size {self.width}"]:
        return jnp.ones([batch_size, self.width]) ~SC302
""",
    # half of an odd number is no size, rounded up or not
    "divided.py": """
def pooled(x: Float[Array, "... S D"], by: int = 2) -> Float[Array, "... S/{by} D"]:
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, -x.shape[-2] % by), (0, 0)])
    return x.reshape(*x.shape[:-2], -1, by, x.shape[-1]).max(-2)

def coarse(x: Float[Array, "B S D"], bias: Float[Array, "B S//16 F"]) -> Float[Array, "B S//16 F"]:
    return pooled(x, by=16) @ jnp.ones((x.shape[-1], 128)) + bias

def doubled(x: Float[Array, "S D"], by: int = 2) -> Float[Array, "S/{by} D"]: ~SC203
    return jnp.repeat(x, by, axis=0)
""",
    # 136 is twice 68, which is the first size of `S`
    "by_chance.py": """
MAX_SITES = 136

def sites(signal: Float[Array, "S T"], mask: Float[Array, "S G P"]) -> Float[Array, "G T"]:
    near = jnp.arange(MAX_SITES)[None] <= jnp.arange(MAX_SITES)[:, None]
    return jnp.einsum("gac,ka->kgc", jnp.einsum("pc,pga->gac", signal, mask), near).max(0)
""",
    # one size divides the other, of images with any axes behind
    "cells.py": """
class Cells(eqx.Module):
    number: tuple[int, int] = eqx.field(static=True)

    def __call__(self, image: Float[Array, "h w ..."]) -> Array:
        rows, columns = self.number
        cells = image.reshape(rows, image.shape[0] // rows, columns, image.shape[1] // columns, *image.shape[2:])
        return cells.sum((1, 3))
""",
    # two names of a class and two of the function are the same two axes, which one operation compares
    "both.py": """
class Pooled(eqx.Module):
    position: Array

    def __init__(self, spacial_dim: int, width: int, *, key):
        self.position = jax.random.normal(key, (spacial_dim**2 + 1, width))

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "tokens c"]:
        c, h, w = x.shape
        x = jnp.einsum("chw->hwc", x).reshape(h * w, c)
        return jnp.concatenate([jnp.mean(x, axis=0, keepdims=True), x]) + self.position

class Field(eqx.Module):
    values: Float[Array, "y x 3"]

def turned(matrix: Float[Array, "h w 3 3"], field: Field) -> Array:
    return jnp.matmul(matrix, field.values[..., None]).squeeze(-1)

def turned_back(matrix: Float[Array, "h w 3 3"], field: Field) -> Array:
    return jnp.matmul(matrix, field.values)  ~SC305
""",
    # images may have to be larger than the first ones that are tried, with as many channels as the model is for
    "deep.py": """
class Deep(eqx.Module):
    conv: eqx.nn.Conv2d
    pool: eqx.nn.AdaptiveAvgPool2d

    def __init__(self, *, key):
        self.conv = eqx.nn.Conv2d(3, 8, kernel_size=11, stride=16, key=key)
        self.pool = eqx.nn.AdaptiveAvgPool2d((6, 6))

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "8 6 6"]:
        return self.pool(self.conv(x))

class Turned(eqx.Module):
    conv: eqx.nn.Conv2d
    pool: eqx.nn.AdaptiveAvgPool2d

    def __init__(self, *, key):
        self.conv = eqx.nn.Conv2d(3, 8, kernel_size=11, stride=16, key=key)
        self.pool = eqx.nn.AdaptiveAvgPool2d((6, 6))

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "8 6 6"]: ~SC203
        return self.pool(self.conv(x)).transpose(1, 2, 0)
""",
    # what came as far as a package that is not there has no error before
    "absent.py": """
from layers_that_nobody_has import mix  ~SC303

class Pool(eqx.Module):
    position: Array

    def __init__(self, spatial_dim: int, width: int, *, key):
        self.position = jax.random.normal(key, (spatial_dim**2 + 1, width))

    def __call__(self, x: Float[Array, "c h w"]):
        c, h, w = x.shape
        x = jnp.einsum("chw->hwc", x).reshape(h * w, c)
        x = jnp.concatenate([jnp.mean(x, axis=0, keepdims=True), x]) + self.position
        return mix(x)  ~SC302
""",
    # where the attempts are over on one path of several, nothing is said of what further ones might have mended
    "along_a_path.py": """
class Images(eqx.Module):
    features: list
    pool: eqx.nn.AdaptiveAvgPool2d
    classifier: list
    inference: bool

    def __init__(self, *, classes: int, key, inference: bool = False):
        self.features = [eqx.nn.Conv2d(3, 256, 11, stride=8, key=key), eqx.nn.MaxPool2d(3, stride=2)]
        self.pool = eqx.nn.AdaptiveAvgPool2d((6, 6))
        widths = (9216, 9216, classes)
        linears = [eqx.nn.Linear(one, two, key=key) for one, two in zip(widths, widths[1:])]
        self.classifier = [eqx.nn.Dropout(), linears[0], eqx.nn.Dropout(), linears[1]]
        self.inference = inference

    def __call__(self, x: Float[Array, "c h w"], key=None) -> Array:
        if not self.inference:
            if not key:
                raise ValueError("a key is needed")
        for layer in self.features:
            x = layer(x)
        x = jnp.ravel(self.pool(x))
        for layer in self.classifier:
            if key:
                key, given = jax.random.split(key)
            else:
                given = None
            x = layer(x, key=given)
        return x
""",
    # that two integers fit where they are equal does not verify what mixes them up
    "mixed_up.py": """
class Scan(eqx.Module):
    decay: Array
    drive: Array
    width: int
    states: int

    def __init__(self, width: int, states: int):
        self.decay, self.drive = jnp.ones((width, states)), jnp.ones((states, width))
        self.width, self.states = width, states

    def __call__(self, x):
        T, B, _ = x.shape
        slow = jnp.einsum("tbd,ds->tbsd", x, self.decay)  # (T, B, width, states)  ~unreached
        fast = jnp.einsum("tbd,sd->tbds", x, self.drive)  # (T, B, width, states)  ~unreached
        return slow * fast  ~SC302
""",
    # who takes an instance mostly takes one
    "inside.py": """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Masks:
    zeros: Float[Array, "*B S"]

def aligned(x: Float[Array, "S T"], masks: Masks) -> Float[Array, "S T"]:
    return jnp.where(masks.zeros[..., None] > 0, 0.0, x)

def turned(x: Float[Array, "S T"], masks: Masks) -> Float[Array, "S T"]: ~SC203
    return jnp.where(masks.zeros[..., None] > 0, 0.0, x).T
""",
    # the comment speaks of what the loop comes to
    "loop.py": """
def repeated(x: Float[Array, "B s s D"]) -> Float[Array, "B D S S"]:
    for axis in (1, 2):
        x = jnp.repeat(x, 16, axis=axis)  # [B, S, S, D] ~unreached
    return jnp.moveaxis(x, 3, 1)

def kept(x: Float[Array, "B S D"]) -> Float[Array, "B S D"]:
    for axis in (1, 2):
        y = jnp.repeat(x, 2, axis=axis)  # [B, S, D] ~SC201
    return x + y.sum()
""",
    # an axis of one says little of a name
    "axis_of_one.py": """
def rotated(x: Float[Array, "B S H C"]) -> Float[Array, "B S H C"]:
    theta = (jnp.arange(x.shape[1])[None, :, None] * jnp.ones(x.shape[-1]))[..., None, :]  # [b, s, 1, c] ~SC201
    turned = jnp.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)  # [b, s, h, c]
    return x * jnp.cos(theta) + turned * jnp.sin(theta)
""",
    # what only an attempt at all ties at once made equal is not equal
    "needless.py": """
def loss(
    positions: jnp.ndarray,  # (N, 37(14), 3)
    mask: jnp.ndarray,  # (N, 37(14))
    index: jnp.ndarray,  # (N)
):
    assert len(positions.shape) == 3
    assert len(mask.shape) == 2
    here = positions[:-1, 1, :]  # (N - 1, 3)
    there = positions[1:, 0, :]  # (N - 1, 3)
    length = jnp.sqrt(jnp.sum((here - there) ** 2, axis=-1))
    unit = (here - there) / length[:, None]
    gap = (index[1:] - index[:-1]) == 1.0
    total = gap * length + jnp.sum(unit * unit, axis=-1)
    ends = jnp.pad(total, [[0, 1]]) + jnp.pad(total, [[1, 0]])
    return jnp.max(jnp.stack([ends * mask[:, 1], index, mask[:, 0]]), axis=0)  # (N)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_only_fits_the_model_is_no_error_and_what_fits_nothing_is_one(folder, name) -> None:
    case = folder.cases[name]
    # SC101 is about annotations that name `N` in an expression alone, as people do who never have them checked.
    findings = [mark for mark in case.actual if mark[1] not in ("unreached", "SC101")]
    assert findings == [mark for mark in case.expected if mark[1] != "unreached"], case.details
