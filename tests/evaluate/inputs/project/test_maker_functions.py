"""Arguments that nobody describes, but that other functions of the file make, take, or compute with."""

from __future__ import annotations

import pytest

HEAD = """
from typing import Dict, NamedTuple
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    # it returns a dict with the keys that are looked up here, and where it is handed on
    "by_keys.py": """
def init_cell(key, n_in, n_hidden):
    return {"wx": jax.random.normal(key, (n_in, 3 * n_hidden)), "wh": jnp.zeros((n_hidden, 3 * n_hidden))}

def init_model(key, vocab, d_emb=16, d_hid=24):
    params = {"emb": jnp.zeros((vocab, d_emb)), "cell": init_cell(key, d_emb, d_hid)}
    params["out"] = jnp.zeros((d_hid, vocab))
    return params

def cell(p, h, x):
    # h: [batch, hidden], x: [batch, features]
    gates = x @ p["wx"] + h @ p["wh"]  # [batch, 3*hidden]
    wrong = x @ p["wx"]  # [batch, 2*hidden] ~SC201
    return jax.nn.sigmoid(jnp.split(gates, 3, axis=-1)[0])  # [batch, hidden]

def run(params, tokens):
    # tokens: [batch, time]
    xs = params["emb"][tokens]  # [batch, time, emb]
    h = jnp.zeros((tokens.shape[0], params["cell"]["wh"].shape[0]))  # [batch, hidden]
    h, hs = jax.lax.scan(lambda h, x: (cell(params["cell"], h, x),) * 2, h, xs.transpose(1, 0, 2))
    return hs @ params["out"]  # [time, batch, vocab]

def loss(params, tokens):
    # tokens: [batch, time]
    return run(params, tokens).mean(axis=(1, 2))  # [batch] ~SC201
""",
    # what an annotated dict leads to, by the keys that the code looks up in it, there or where it hands it on
    "tables.py": """
def squared(params: dict[str, float], x, y):
    # x, y: (d,)
    return params["gamma"] * jnp.sum((x - y) ** 2)  # ()

def kernel(params: dict[str, float], x, y):
    # x, y: (d,)
    scaled = x / params["length_scale"]  # (d,)
    wrong = scaled[:, None]  # (d,) ~SC201
    return params["var_f"] * jnp.exp(-squared(params, scaled, y))  # ()

def weighted(arrays: dict[str, Float[Array, "d"]], x: Float[Array, "d"]) -> Float[Array, "d"]:
    return arrays["first"] + arrays["second"] * x

def of_anything(table: Dict, x: Float[Array, "d"]) -> Float[Array, "d"]:
    return x * len(table)

def of_nothing(table: dict[str, "unknown"], x: Float[Array, "d"]) -> Float[Array, "d"]: ~unreached
    return x + table["first"].value
""",
    # sizes that the code asserts: of other arguments, and of a configuration that holds them, if it does
    "asserted.py": """
class Config(NamedTuple):
    max_len: int
    width: int

def masked(config: Config, mask: jax.Array):
    assert mask.ndim == 2 and mask.shape[-1] == config.max_len
    causal = jnp.tril(jnp.ones((config.max_len, config.max_len)))  # (max_len, max_len)
    wrong = causal[0]  # (max_len, max_len) ~SC201
    return causal[None] * mask[:, None, :]  # (batch, max_len, max_len)

def banded(diagonal, lower):
    n, d, _ = diagonal.shape
    assert diagonal.shape == (n, d, d)
    assert lower.shape == (n - 1, d, d)
    wrong = lower + diagonal[1:]  # (n, d, d) ~SC201
    return lower + diagonal[1:]  # (n-1, d, d)

class Other:
    def __init__(self, inner: int):
        self.inner = inner

def of_another(config: Other, x: jax.Array):
    assert x.ndim == 2 and x.shape[0] == config.outer ~SC302
    return x.sum(axis=0)  # (n,) ~unreached
""",
    # what a function inside of it returns is not what it returns
    "within.py": """
def search(x):
    # x: [n]
    state = {"cost": x, "seen": x > 0}
    def step(state, x):
        return state, x
    state, _ = jax.lax.scan(step, state, x)
    return state

def costs(state, x):
    # x: [n]
    return state["cost"] + x  # [n]
""",
    # nothing makes a dict with these keys
    "no_maker.py": """
def init(n):
    return {"w": jnp.zeros(n)}

def scaled(p, x):
    # x: [n]
    return x * p["weight"] + p["bias"]  # [n]
""",
    # several do: with what one makes the code fails, and that proves nothing
    "several.py": """
def init_linear(key, n_in, n_out):
    return {"w": jnp.zeros((n_in, n_out)), "b": jnp.zeros(n_out)}

def init_conv(key, size, n_in, n_out):
    return {"w": jnp.zeros((size, size, n_in, n_out)), "b": jnp.zeros(n_out)}

def conv(p, x):
    # x: [batch, height, width, channels] ~unreached
    dims = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=dims) + p["b"] ~SC302
    return y.sum(axis=-1)  # [batch, height, width] ~unreached
""",
    # what is assigned to the name, also as a part of a tuple; not what changes it
    "assigned.py": """
def layers(key, sizes=(3, 8, 2)):
    return [(jnp.zeros((m, n)), jnp.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])], jnp.zeros(3)

def step(net, x):
    return net

def forward(net, x):
    # x: [batch, 3]
    for w, b in net:
        x = jnp.tanh(x @ w + b)
    return x  # [batch, 2]

def backward(net, x):
    # x: [batch, 3]
    return forward(net, x).T  # [batch, 2] ~SC201

if __name__ == "__main__":
    net, state = layers(jax.random.key(0))
    net = step(net, jnp.zeros((1, 3)))
""",
    "called_after.py": """
def init_state(n_units):
    return jnp.zeros((n_units, 2)), jnp.zeros(n_units)

def advance(state, x: Float[Array, "n_units"]) -> Float[Array, "n_units"]:
    position, speed = state
    return (position * x[:, None]).sum(axis=1) + speed

def retreat(state, x: Float[Array, "n_units"]) -> Float[Array, "n_units"]: ~SC203
    position, speed = state
    return (position * x[:, None]) + speed[:, None]
""",
    # a function may want another mask than the one that somebody makes
    "another_mask.py": """
def make_mask(n):
    return jnp.tril(jnp.ones((n, n), bool))

def attend(scores, mask):
    # scores: [batch, heads, time, time]
    return jnp.where(mask[:, None, None, :], scores, -jnp.inf)
""",
    # no size of a model is the number of examples, but one that is called so
    "examples.py": """
def init_params(key, n_in, n_tags, num_nodes):
    return {"w": jnp.zeros((n_in, n_tags)), "trans": jnp.zeros((n_tags, n_tags)), "code": jnp.zeros((num_nodes, n_in))}

def scores(params, x):
    # x: [batch, n_in]
    return x @ params["w"] @ params["trans"]  # [batch, tags]

def paths(params, tags):
    # tags: [batch, time] ~unreached
    return jax.vmap(lambda trans, t: trans[t[:-1], t[1:]].sum())(params["trans"], tags) + params["w"][0, 0] ~SC301

def coded(params, x):
    # x: [nodes, n_in]
    return x + params["code"] @ (params["w"] @ params["w"].T)  # [nodes, n_in]

def crossed(params, x):
    # x: [points, n_in] ~unreached
    return params["trans"] @ x @ params["w"] ~SC305
""",
    # what a comment says above the statement that makes the argument anew
    "made_anew.py": """
import flax.linen as nn

class Net(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        # x: [batch, time, mels]
        x = x[..., None]  # [batch, time, mels, 1]
        x = nn.Conv(self.width, (3, 3))(x)  # [batch, time, mels, width]
        return x.mean(axis=(1, 2))  # [batch, mels] ~SC201

def halved(x):
    # x: [batch, half]
    x = x.reshape(x.shape[0], -1, 2).sum(axis=-1)
    return x.sum(axis=-1)  # [batch]
""",
    # the shapes stand where it goes
    "handed_on.py": """
def weights(sigma, steps):
    # sigma: [rays, samples], steps: [rays, samples]
    return jax.nn.softmax(sigma * steps, axis=-1)  # [rays, samples]

def composite(rgb, sigma, steps):
    # rgb: [rays, samples, 3]
    w = weights(sigma, steps=steps)  # [rays, samples]
    depth = (w * steps).sum(axis=0)  # [rays] ~SC201
    return (w[..., None] * rgb).sum(axis=1)  # [rays, 3]

def total(sigma, steps):
    return weights(sigma, steps).sum()

def slopes(sigma, steps):
    return jax.jit(jax.grad(total))(sigma, steps)  # [rays] ~SC201

def mapped(rgb, sigma, steps):
    # rgb: [rays, samples, 3]
    return jax.vmap(lambda sigma: weights(sigma, steps))(sigma) + rgb[..., 0]  # [rays, samples] ~SC201
""",
    # a list of the widths of layers, each of which follows what it meets
    "widths.py": """
def random_layer(m, n, key):
    return jax.random.normal(key, (n, m)), jnp.zeros(n)

def init_network_params(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [random_layer(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]

def predict(params, image):
    # image: (784,)
    for w, b in params[:-1]:
        image = jax.nn.relu(w @ image + b)
    w, b = params[-1]
    return w @ image + b  # [classes]

def accuracy(params, images, targets):
    # images: [batch, 784], targets: [batch, classes]
    logits = jax.vmap(predict, in_axes=(None, 0))(params, images)  # [batch, classes]
    wrong = logits.argmax(axis=0)  # [batch] ~SC201
    return (logits * targets).mean()

def crossed(params, images):
    # images: [batch, 784] ~unreached
    (w, b), *_ = params
    return images.T @ w ~SC305
""",
    # a number that is written is no size to be chosen; one that code makes may be wrong
    "written_sizes.py": """
import equinox as eqx

def init_params(key, n_in, n_out):
    return {"w": jnp.zeros((n_in, n_out)), "b": jnp.zeros(n_out)}

def predict(params, image):
    # image: (784,)
    return image @ params["w"] + params["b"]  # [classes]

class Adapter(eqx.Module):
    a: jax.Array
    b: jax.Array
    rank: int
    def __init__(self, d_in: int, d_out: int, rank: int = 8):
        self.a, self.b, self.rank = jnp.zeros((rank, d_in)), jnp.zeros((d_out, rank)), rank

def orthogonality(layer: Adapter) -> Float[Array, ""]: ~unreached
    gram = layer.b @ layer.b.T
    eye = jnp.eye(layer.rank)  # [rank, rank] ~unreached
    return jnp.sum((gram - eye) ** 2) ~SC301
""",
    # each called after what uses it, and its integers after the sizes of what that takes
    "after_users.py": """
def init_mlp(key, sizes):
    return [(jnp.zeros((i, o)), jnp.zeros(o)) for i, o in zip(sizes[:-1], sizes[1:])]

def mlp(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return x

def init_coupling(key, dim, hidden):
    return init_mlp(key, [dim // 2, hidden, dim])

def init_flow(key, dim, hidden, n_layers):
    return [init_coupling(k, dim, hidden) for k in jax.random.split(key, n_layers)]

def coupling_forward(params, x):
    # x: [batch, dim]
    front, back = jnp.split(x, 2, axis=-1)  # [batch, dim//2], [batch, dim//2]
    shift, scale = jnp.split(mlp(params, front), 2, axis=-1)
    wrong = scale.sum(axis=-1)  # [dim] ~SC201
    return jnp.concatenate([front, back * jnp.exp(scale) + shift], axis=-1)  # [batch, dim]

def flow_forward(params, x):
    # x: [batch, dim]
    for p in params:
        x = coupling_forward(p, x)
    return x  # [batch, dim]

def log_prob(params, x):
    # x: [batch, dim]
    return (flow_forward(params, x) ** 2).sum(axis=-1)  # [batch]
""",
    # an optimizer, and its state, however it is handed on
    "optimizers.py": """
def init_params(key):
    return {"w": jnp.zeros((3, 4))}

def update(params, opt_state, tx, x):
    # x: [batch, 3]
    grads = jax.grad(lambda p: (x @ p["w"]).mean())(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    y = x @ updates["w"]  # [batch, 4]
    wrong = x @ updates["w"]  # [4, batch] ~SC201
    return params, opt_state

def filtered(kalman, mean, obs):
    # mean: [n] ~unreached, obs: [m] ~unreached
    mean, innovation = kalman.update(mean, obs)
    return innovation  # [m] ~unreached

def train(params, opt_state, tx, xs):
    # xs: [steps, batch, 3]
    def step(carry, x):
        carry = update(*carry, tx, x)
        return carry, (x @ carry[0]["w"]).sum(axis=-1)  # [batch]
    (params, _), sums = jax.lax.scan(step, (params, tx.init(params)), xs)
    params, opt_state = update(params, opt_state, tx, xs[0])
    return sums  # [batch, steps] ~SC201
""",
    # a function that another one of the file takes under the same name, also where its derivatives are taken
    # what a scan over layers hands on is one of those that are stacked; what fits neither is an error
    "stacked.py": """
def init_params(key, layers=3, d_model=48):
    return {"wq": jax.random.normal(key, (layers, d_model, d_model)), "g": jnp.ones((layers, d_model))}

def attend(p, x):
    # x: (B, T, D)
    q = x @ p["wq"]  # (B, D, T)  ~SC201
    return q * p["g"]  # (B, T, D)

def forward(params, tokens):
    # tokens: (B, T)
    x = jax.nn.one_hot(tokens, 48)  # (B, T, D)
    x, _ = jax.lax.scan(lambda x, p: (x + attend(p, x), None), x, params)
    return x

def wrong(p, x):
    # x: (B, D)  ~unreached
    return x[0] @ x + p["wq"].sum() + p["g"].sum()  ~SC305
""",
    "functions.py": """
def rollout(dynamics, x0, us):
    # x0: [n], us: [time, m]
    def step(x, u):
        x_next = dynamics(x, u)  # [n]
        return x_next, x_next
    return jax.lax.scan(step, x0, us)[1]  # [time, n]

def linearize(dynamics, x, u):
    # x: [n], u: [m]
    a = jax.jacobian(dynamics, argnums=0)(x, u)  # [n, n]
    b = jax.jacobian(dynamics, argnums=1)(x, u)  # [m, n] ~SC201
    return a

def advanced(dynamics, x, u, alpha):
    # x: [n], u: [m]
    return x + alpha * dynamics(x, u)  # [n]

def unsaid(dynamics, y):
    # y: [k]
    return dynamics(y, y)  # [k] ~unreached
""",
    # a method of the same instance begins what others take: by its name, or by what it says that it gives
    "own_methods.py": """
from typing import NamedTuple, Tuple

class Cell:
    def __init__(self, width: int, heads: int):
        self.width, self.heads = width, heads
        self.w = jnp.zeros((width, width))

    def initialize_carry(self, key):
        return jnp.zeros((self.width,)), jnp.zeros((self.heads,))

    def __call__(self, carry, x: Float[Array, "batch width"]):
        h, g = carry
        out = x @ self.w + h  # [batch, width]
        kept = g * 2  # [heads]
        return (out[0], kept)

class State(NamedTuple):
    position: jax.Array
    other: object

class World:
    def __init__(self, n_agents: int):
        self.n_agents = n_agents

    def reset(self, key) -> Tuple[State, Float[Array, ""]]:
        return State(jax.random.normal(key, (self.n_agents, 2)), {"goal": jnp.zeros(3)}), jnp.zeros(())

    def step(self, state: State, action: Float[Array, "n_agents 2"]) -> Tuple[State, Float[Array, ""]]:
        moved = state.position + action  # [n_agents, 2]
        goal = state.other["goal"] + action.sum()  # shape: [3]
        return State(moved, state.other), moved.sum()

class Changing:
    def __init__(self, width: int):
        self.width = width

    def reset_carry(self, carry, x):
        # carry: [width] ~unreached
        return carry * x[0]

    def __call__(self, carry, x: Float[Array, "batch width"]):
        return carry["inner"] * x  # [batch, width]
""",
    # a record has the relations that the function has which begins one; made with one size for two names, it hides none
    "records.py": """
from typing import NamedTuple

class Head(NamedTuple):
    classes: Float[Array, "width a_classes"]
    boxes: Float[Array, "width a_4"]

def init_head(key, width: int, n_anchors: int, n_classes: int) -> Head:
    return Head(jax.random.normal(key, (width, n_anchors * n_classes)), jnp.zeros((width, n_anchors * 4)))

def anchors(
    head: Head, x: Float[Array, "batch cells width"], n_classes: int
) -> tuple[Float[Array, "batch n n_classes"], Float[Array, "batch n 4"]]:
    batch = x.shape[0]
    return (x @ head.classes).reshape(batch, -1, n_classes), (x @ head.boxes).reshape(batch, -1, 4)

def mixed_up(
    head: Head, x: Float[Array, "batch cells width"], n_classes: int
) -> tuple[Float[Array, "batch n n_classes"], Float[Array, "batch n 4"]]: ~SC203
    batch = x.shape[0]
    return (x @ head.classes).reshape(batch, -1, n_classes), (x @ head.boxes).reshape(batch, -1, 2)

class Square(NamedTuple):
    w: Float[Array, "n_in n_out"]

def init_square(width: int) -> Square:
    return Square(jnp.eye(width))

def forward(square: Square, x: Float[Array, "batch n_in"]) -> Float[Array, "batch n_out"]:
    return x @ square.w

def backward(square: Square, x: Float[Array, "batch n_in"]) -> Float[Array, "batch n_in"]: ~unreached
    return x @ square.w.T  # ~SC305
""",
    # settings have what is read off them, here and where a part is handed on, as a table of the project has it
    "settings.py": """
CONFIG = dict(
    attention={"num_head": 4, "key_dim": 32, "gating": True, "orientation": "per_row"},
    mlp=dict(width_factor=4, rate=0.1),
    eps=1e-5,
)

class Attention:
    def __init__(self, config, out_dim: int):
        self.config = config

    def __call__(self, x):
        # x: [batch, seq, dim]
        c = self.config
        if c.orientation not in ("per_row", "per_column"):
            raise ValueError(c.orientation)
        w = jnp.zeros((x.shape[-1], c.num_head, c.key_dim))  # [dim, num_head, key_dim]
        q = jnp.einsum("bsd,dhk->bshk", x, w)  # [batch, seq, num_head, key_dim]
        return jax.nn.sigmoid(q) if c.gating else q  # [batch, seq, num_head, key_dim]

def block(x, cfg):
    # x: [batch, seq, dim]
    q = Attention(cfg.attention, 3)(x)  # [batch, seq, heads, keys]
    h = jnp.tile(x, cfg["mlp"].width_factor)  # [batch, seq, hidden]
    return h / cfg.eps  # [batch, seq, hidden]

def scaled(x, config):
    # x: [batch, dim]
    return jnp.zeros((config.n_bins, *x.shape)) * config.temperature  # [n_bins, batch, dim]

def summed(x, config):
    # x: [batch, dim], config: [dim]
    return x + config  # [batch, dim]

def spoilt(x, config):
    # x: [batch, dim] ~unreached
    what = config.nobody_knows.what  # ~SC302
    return x * what  # [batch, dim] ~unreached
""",
    "numbers.py": """
def rollout(x, horizon):
    # x: [batch, dim]
    return jnp.broadcast_to(x, (horizon, *x.shape))  # [horizon, batch, dim]

def encode(x, n_freqs, scale):
    # x: [batch, dim]
    freqs = 2.0 ** jnp.arange(n_freqs)  # [n_freqs]
    angles = scale * x[..., None] * freqs  # [batch, dim, n_freqs]
    summed = angles.sum(axis=1)  # [batch, dim] ~SC201
    wrong = x.sum(axis=1)  # [dim] ~SC201
    return angles, wrong * scale

def kept(x, n_out, max_width, key):
    # x: [batch, dim]
    start = jax.random.randint(key, (x.shape[0],), 0, max_width)  # [batch]
    best = jax.lax.fori_loop(0, n_out, lambda i, best: best.at[i].set(i), jnp.zeros(n_out))  # [n_out]
    return jnp.zeros(n_out) + start[0]  # [batch] ~SC201

def reduced(x, scale):
    # x: [batch, dim]
    return x.sum(axis=0) * scale  # [batch, dim] ~unreached
""",
    # a record that keeps its fields in slots
    "slots.py": """
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    heat: jax.Array  # (n_lev, n_lat)
    load: jax.Array  # (n_lat,)

def make_columns(profile: Float[Array, "n_lev"], load: Float[Array, "n_lat"]) -> Columns:
    return Columns(profile[:, None] * load[None, :], load)

def mean(columns: Columns) -> jax.Array:
    weighted = columns.heat * columns.load  # (n_lev, n_lat)
    wrong = columns.heat.T  # (n_lev, n_lat) ~SC201
    return weighted.mean(axis=0)  # (n_lat,)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_nobody_describes_is_as_the_file_has_it(folder, name):
    assert folder.cases[name].as_marked()
