"""Parameters of which comments describe what is taken out of them: `x = batch["x"]  # (b, t)`."""

from __future__ import annotations

import pytest

HEAD = """
from collections.abc import Callable
from typing import Any, NamedTuple
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

"""

CASES = {
    # entries of a dict, one by one or together, and what converts them on the way
    "entries.py": """
def pooled(_, batch):
    tokens = jnp.asarray(batch["tokens"])  # (b, t, d)
    mask = batch["mask"].astype(jnp.float32)  # (b, t)
    total = jnp.einsum("btd,bt->bd", tokens, mask)  # (b, t)  ~SC201
    return total / jnp.sum(mask, axis=1, keepdims=True)  # (b, d)

def scores(batch: dict):
    q, k = batch["q"], batch["k"]  # (b, t, d), (b, s, d)
    return jnp.einsum("btd,bsd->bts", q, k)  # (b, s, t)  ~SC201

def nested(batch: dict[str, Any]):
    x = batch["obs"]["x"]  # (n, 3)
    y = batch["obs"]["y"]  # (m, 3)
    return x @ y.T  # (m, n)  ~SC201
""",
    # entries that a docstring describes, those too that only go elsewhere, and those of what is returned
    "documented.py": """
def energy(bodies, joints):
    '''Total energy.

    Args:
      bodies: dict with "pos" (n, 3), "vel" (n, 3), "omega" (n, 3) and "mass" (n,).
      joints: dict with
        "axis" (m, 3): joint axes,
        "parent" (m,): indices of parents.

    Returns:
      dict with "kinetic" (n,) and "momentum" (3, n).  ~SC207
    '''
    speed = jnp.sum(bodies["vel"] ** 2, axis=-1)  # (n,)
    pos = bodies["pos"][joints["parent"]]  # (m, 3)
    along = pos * joints["axis"]  # (m, 1)  ~SC201
    doubled = jax.tree_util.tree_map(lambda x: 2 * x, bodies)
    momentum = bodies["mass"][:, None] * doubled["omega"]  # (n, 3)
    return {"kinetic": 0.5 * bodies["mass"] * speed, "momentum": momentum}
""",
    # a list of entries, of which the first stands behind "with"
    "listed.py": """
def perceptron(params, x):
    '''Two layers.

    Args:
        params: dict with w1 (d, h), b1 (h,), w2 (h, k), b2 (k,)
        x: (n, d)

    Returns:
        (k, n)  ~SC207
    '''
    h = jax.nn.relu(x @ params["w1"] + params["b1"])  # (n, d)  ~SC201
    return h @ params["w2"] + params["b2"]

def one(params, x):
    '''One layer: params is a dict with weights (d, h), which may hold more.'''
    return x
""",
    # entries that are said to have a shape, in a dict of arrays
    "marked.py": """
def placed(bodies, joints):
    '''Where joints are.

    Args:
      bodies: dict with "pos" of shape (n, 3), "mass" of shape (n,).
      joints: dict of arrays: "axis" of shape (m, 3), "parent" of shape (m,), indices of parents.
    '''
    pos = bodies["pos"][joints["parent"]]  # (m, 3)
    return pos * joints["axis"]  # shape: (3, m)  ~SC201
""",
    # of a tuple all elements must be known
    "tuples.py": """
def cell(carry, x):
    '''x: (d,)'''
    h, c = carry  # (d,), (d,)
    both = jnp.stack([h, c, x])  # (d, 3)  ~SC201
    return (h + x, c), both

def rest(carry):
    h, _ = carry  # (d,), (d,)
    return jnp.outer(h, h)  # (d, d)

def square(points):
    x, y = points
    return x @ y  # (n,)

def never(carry: dict[str, Any]):
    x = carry["x"]  # (n, 3)  ~unreached
    y = carry["y"]  # (m, 3)  ~unreached
    return x + y  ~SC305
""",
    # what a function gives that is a parameter
    "callables.py": """
def rollout(policy, dynamics: Callable, s0, horizon: int):
    '''s0: (state_dim,)'''
    def step(s, _):
        a = policy(s)  # (act_dim,)
        s = dynamics(jnp.concatenate([s, a]))  # (state_dim,)
        return s, (s, a)

    _, (states, actions) = jax.lax.scan(step, s0, None, length=horizon)
    # states: (horizon, state_dim), actions: (horizon, state_dim)  ~SC201
    return states, actions
""",
    # a gradient is that of a number; what only goes to a made-up function may be anything, as what nobody uses
    "gradients.py": """
def leapfrog(log_prob: Callable, q, p, steps: int):
    '''q: (dim,), p: (dim,)'''
    for _ in range(steps):
        p = p + 0.1 * jax.grad(log_prob)(q)  # (dim,)
        q = q + 0.1 * p  # (1, dim)  ~SC201
    return q, p

def chains(log_prob, init, _):
    '''init: (chains, dim)'''
    q, p = jax.vmap(lambda x: leapfrog(log_prob, x, x, 3))(init)  # (chains, dim), (dim, chains)  ~SC201
    return q

def scanned(_, __):
    return jnp.ones((3, 4))  # shape (3, 5)  ~SC201

def predict(apply_fn, params, batch):
    x = batch["x"]  # (b, d)
    y = apply_fn(params, x)  # (b, c)
    return y.T  # (b, c)  ~SC201
""",
    # entries that nobody describes are numbers, or as those beside them, and then of one dtype
    "beside.py": """
def losses(apply_fn, params, batch):
    both = jnp.concatenate([batch["chosen"], batch["rejected"]])  # (2 * b, t)
    mask = jnp.concatenate([batch["chosen_mask"], batch["rejected_mask"]])  # (2 * b, t)
    chosen = batch["chosen"]  # (b, t)
    rejected = batch["rejected"]  # (b, t)
    logits = apply_fn(params, both)  # (2 * b, t, v)
    picked = jnp.take_along_axis(logits, both[..., None], axis=-1)  # (2 * b, t, 1)
    return picked[..., 0] * mask  # (2 * b, t)
""",
    # what is joined or stacked says what its pieces are
    "joined.py": """
def pair(x, y):
    both = jnp.concatenate([x, y], axis=-1)  # (n, d + e)
    turned = x.T  # (n, d) ~SC201
    return both.sum(0)  # (n,) ~SC201

def stacked(x, y):
    both = jnp.stack([x, y], axis=1)  # (n, 2, d)
    return both.sum(1) + x  # (n, d)

def entries(batch):
    inputs = jnp.concatenate((batch["obs"], batch["act"]), axis=-1)  # (b, o + a)
    return inputs.T * batch["act"].sum(1)  # (b, o + a) ~SC201

def annotated(x: Float[Array, "n d"], y: Float[Array, "n e"]):
    both = jnp.concatenate([x, y], axis=-1)  # (n, e) ~SC201
    return both

def column(x, y):
    both = jnp.concatenate([x[:, None], y], axis=1)  # (n, d + 1)
    return both * x[:, None]  # (n, d + 1)
""",
    # the class that other functions of the file give a parameter of that name
    "namesakes.py": """
class Graph(NamedTuple):
    nodes: Float[Array, "n d"]
    senders: Int[Array, "e"]

def sent(graph: Graph):
    return graph.nodes[graph.senders]  # (e, d)

def messages(graph):
    return graph.nodes[graph.senders]  # (e, d)

def other(x: Float[Array, "n d"]):
    return x.T  # (d, n)

def unlike(x):
    return x + 1  # (d, n)
""",
    # a loop that Python runs has few turns: the table has an end
    "loops.py": """
def init(key, dim):
    return {"pos": jnp.ones((128, dim)), "emb": jnp.ones((100, dim))}

def forward(params, tokens):
    '''tokens: (time,) int'''
    x = params["emb"][tokens] + params["pos"][:len(tokens)]  # (time, dim)
    return x @ params["emb"].T

def sample(params, prompt, steps):
    '''prompt: (time,) int'''
    for _ in range(steps):
        prompt = jnp.append(prompt, forward(params, prompt)[-1].argmax())
    return prompt  # (time + steps,)
""",
    # what nobody describes goes into a model, too
    "inputs.py": """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        '''x: (b, d)'''
        return jnp.einsum("bd,bd->b", x, x)  # (b,)

def loss(params, batch):
    return Net().apply(params, batch["x"]).mean()  # ()  ~unreached
""",
    # one function for each of many: what it gives lacks the first axis
    "mapped.py": """
def search(cost, plans):
    '''plans: (population, horizon, dim)'''
    costs = jax.vmap(cost)(plans)  # (population,)
    return plans[jnp.argsort(costs)][:3]  # (population, horizon, dim)  ~SC201
""",
    # up to where a variable is bound again it is what it was given
    "bound_again.py": """
def density(f):
    '''f: (nx, ny, 9) -> (nx, ny)'''
    return f.sum(-1)

def step(f, omega):
    rho = density(f)  # (nx, ny)
    f = f - omega * rho[..., None]
    return jnp.roll(f, 1, axis=0)  # (nx, 9, ny)  ~SC201

def replaced(f):
    f = jnp.ones((3, 4, 5))
    return density(f)  # (3, 4)

def shadowed(f):
    def inner(f):
        return density(f)  # (a, b)  ~unreached
    return inner
""",
    # the only class of a file that can be called so
    "models.py": """
class Head(eqx.Module):
    w: Float[Array, "d v"]

    def __call__(self, x: Float[Array, "d"]):
        return x @ self.w  # (v,)

class Decoder(eqx.Module):
    head: Head

    def __call__(self, x: Float[Array, "d"], cache: Float[Array, "n d"]):
        cache = jnp.concatenate([cache[1:], x[None]])  # (n, d)
        return self.head(cache.mean(0)), cache  # (v,), (n, d)

def generate(model, cache: Float[Array, "n d"]):
    logits, cache = model(cache[0], cache)
    return cache.T  # (d, n)

""",
    # what is handed on is described where it goes
    "handed.py": """
def attend(q, k):
    '''q: (b, t, d), k: (b, s, d)'''
    return jnp.einsum("btd,bsd->bts", q, k)  # (b, t, s)

def normed(batch):
    weight = batch["w"]  # (b, s)
    return jax.nn.softmax(weight)  # (b, s)

def model(batch):
    weights = attend(batch["q"], batch["k"])
    return weights * normed(batch)[:, None]  # (b, s)  ~SC201
""",
    # a function that is called shows what it is given: what follows from a false comment is not told as well
    "called.py": """
def given():
    return taken((jnp.ones((3, 5)), jnp.ones(3)))  # (3, 5)

def taken(carry):
    h, c = carry  # (b, d), (b, d)  ~SC201
    return h * c[:, None]  # (b, d)
""",
    # other readings of the same part, and a name that is bound again, describe nothing
    "unclear.py": """
def two(batch):
    x = batch["x"]  # (b, t)  ~unreached
    y = batch["x"]  # (b, t, 1)  ~tentative
    return x @ y[..., 0].T  ~SC302

def again(batch, flag):
    batch = dict(batch)
    x = batch["x"]  # (b, t)  ~unreached
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_out_of_a_parameter_describes_it(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
