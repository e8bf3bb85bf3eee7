"""What a text means beside its code: the one of several results, a case, a value that comes of another one."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

"""

CASES = {
    # One shape behind a variable and what is computed beside it is of the latter, or of both.
    "computed.py": '''
def first(x):
    """x: array of shape (B, T, F)."""
    return x, x[:, 0]  # (B, F)

def wrong(x):
    """x: array of shape (B, T, F)."""
    return x, x[:, 0]  # (B, T)  ~SC201

def both(x, y):
    """
    Args:
        x: array of shape (B, T, F).
        y: array of shape (B, F).
    """
    return x, y  # (B, T, F)  ~SC201
''',
    # What goes into a scan and comes back goes on; its rows are new.
    "carried.py": '''
def scanned(x):
    """x: array of shape (B, T, F)."""
    x, rows = jax.lax.scan(lambda c, i: (c, c[:, 0]), x, jnp.arange(7))  # (7, B, F)
    return rows

def wrong(x):
    """x: array of shape (B, T, F)."""
    x, rows = jax.lax.scan(lambda c, i: (c, c[:, 0]), x, jnp.arange(7))  # (B, 7, F)  ~SC201
    return rows
''',
    # A layer is what something is done with, whatever its method is called: a comment tells what it gives.
    "layers.py": """
class Layer(eqx.Module):
    weight: Array

    def __init__(self, width: int):
        self.weight = jnp.ones((width, 3))

    def apply(self, x):
        return self.weight @ x

class Record(eqx.Module):
    weight: Array

class Net(eqx.Module):
    layer: Layer
    record: Record

    def __init__(self):
        self.layer = Layer(5)  # (8, 8)  ~unreached
        self.record = Record(jnp.ones((5, 3)))  # (3, 5)  ~tentative
""",
    # Two shapes of which one holds are one comment: what both leave out is not left out alike by several.
    "alternatives.py": """
def test_mask():
    x = jnp.ones((2, 1, 7, 7))
    mask = x > 0  # (b, n, n) or (1, n, n)  ~tentative
    return mask
""",
    # What may be a tree of arrays has these in the shapes of something else.
    "tree.py": '''
def scaled(data):
    """
    Args:
        data: array of shape `(n, dim)` (or a pytree matching `template`, if given).
    """
    return jax.tree.map(lambda each: each / 2, data)

def test_tree():
    scaled({"a": jnp.ones((5, 2)), "b": jnp.ones((5, 2, 2))})
''',
    # A change above an `if` is what its one arm makes.
    "arm.py": '''
def promoted(x, y):
    """
    Args:
        x: of shape (b, d, k) or (d, k)
        y: of shape (k,)
    """
    # Promote (d, k) to (1, d, k)  ~unreached
    if x.ndim == 2:
        x = x[None]
    elif x.ndim != 3:
        raise ValueError("neither")
    return x @ y

def wrong(x, y):
    """
    Args:
        x: of shape (b, d, k) or (d, k)
        y: of shape (k,)
    """
    # Promote (d, k) to (1, d, k)  ~SC201
    if x.ndim == 2:
        x = x[:, None]
    return x @ y
''',
    # A later sentence has another shape for some case.
    "case.py": '''
class Gaussian:
    def __init__(self, mean, chol):
        self.mean, self.chol = mean, chol

    def sample(self, key, n: int = 1, simplify: bool = True):
        """
        Returns (n, dim) array of samples, stacked in the rows. ~tentative
        If `simplify = True`
        and `n = 1` then it is flattened, so that the return shape is `(dim,)`.
        """
        samples = self.mean + jax.random.normal(key, (n, self.mean.shape[0])) @ self.chol.T
        return samples.ravel() if simplify and n == 1 else samples

def test_one():
    assert Gaussian(jnp.zeros(5), jnp.eye(5)).sample(jax.random.key(0)).shape == (5,)
''',
    # What a comment calls by its name is of that name, whatever sign stands between.
    "tilde.py": '''
def halves(x):
    """x: array of shape (B, T, d)."""
    def rotated(x):
        # x ~ [B, T, d]
        even = x[..., 0::2]  # [B, T, d / 2]
        odd = x[..., 1::2]  # [B, T, d]  ~SC201
        return even, odd

    return rotated(x)
''',
    # A line for each case.
    "lines.py": '''
def predicted(infections):
    """
    Parameters
    ----------
    infections
        Infections from the process.
        Shape: (n_days,) for aggregate
        Shape: (n_days, n_parts) for parts
    """
    if infections.ndim == 1:
        return infections * 2
    return infections * 3

def wrong(infections):
    """
    Parameters
    ----------
    infections
        Infections from the process.
        Shape: (n_days,) for aggregate
        Shape: (n_days, n_parts) for parts

    Returns
    -------
    Array of shape (n_days, 3).  ~SC207
    """
    return infections * 2
''',
    # What is selected by indices has a shape of its own.
    "based_on.py": """
def selected(basis, n: int):
    b, d, _ = basis.shape
    indices = jnp.stack(jnp.meshgrid(*[jnp.arange(b)] * n, indexing="ij"), axis=-1).reshape(-1, n)  # shape (b^n, n)
    # Select the operators based on indices: shape (b^n, n, d, d)  ~unreached
    return basis[indices]

if __name__ == "__main__":
    selected(jnp.ones((4, 2, 2)), 2)
""",
    # A model is set up with one example, and then called with several; nobody calls the other one so.
    "batches.py": """
def encode(x):
    y = x * 2  # (B, 16, 2)
    return y.sum(-1)  # (B, 16)

def single(x):
    y = x * 2  # (B, 16, 2)  ~SC201
    return y

if __name__ == "__main__":
    encode(jnp.zeros((16, 2)))
    encode(jnp.zeros((7, 16, 2)))
    single(jnp.zeros((16, 2)))
""",
    # A word in front of `returns` is no parameter, and the number of an array's axes is no array.
    "returned.py": '''
def peaks(heatmap):
    """heatmap : (H,W,1), without batch.

    Returns a heatmap (H,W) of the peaks alone.
    """
    return heatmap[:, :, 0]

def expanded(x, ndim):
    """Expand.

    Args:
        x: shape (batch,).
        ndim: number of dimensions for an array of shape (batch, ...).
    """
    return jnp.expand_dims(x, axis=tuple(range(1, ndim)))

if __name__ == "__main__":
    peaks(jnp.ones((4, 5, 1)))
    expanded(jnp.ones(3), 3)
''',
    "each.py": '''
def flat(metrics: dict[str, jnp.ndarray]) -> dict[str, jnp.ndarray]:
    """Flatten.

    Args:
        metrics: dict of metrics, each value of shape (batch, num_steps).

    Returns:
        metrics: dict of metrics, each value of shape (batch, ).
    """
    return {f"{k}_{i}": v[..., i] for k, v in metrics.items() for i in range(v.shape[-1])}

def kept(metrics: dict[str, jnp.ndarray]) -> dict[str, jnp.ndarray]:
    """Keep.

    Args:
        metrics: dict of metrics, each value of shape (batch, num_steps).

    Returns:
        metrics: dict of metrics, each value of shape (batch, ).  ~SC207
    """
    return {k: v * 2 for k, v in metrics.items()}
''',
    # A size of one that comes of an array which nobody describes is none of the code's.
    "broadcast.py": """
def gain(p_raw, covariance):
    precon = p_raw[None, :, None] * covariance  # shape (d,n,n)
    row = precon[:, 1, :]  # shape (d,n)
    s = jnp.einsum("dn,dn->d", row, row)  # shape (d,)
    cross = covariance @ row[..., None]  # shape (d,n,1)
    return cross / s[..., None, None]  # shape (d,n,1)  ~unreached
""",
    # Numbers that say which node an edge has are as many as nobody knows.
    "edges.py": """
class Graph(eqx.Module):
    features: Float[Array, "n d"]
    incidence: Float[Array, "n m"]

def graph(edges: list[tuple[int, ...]], features: Float[Array, "n d"] | None = None) -> Graph:
    number = max(v for e in edges for v in e) + 1
    incidence = jnp.zeros((number, len(edges)))
    return Graph(jnp.ones((number, 1)) if features is None else features, incidence)
""",
    # There are as many views as cameras, of which one is made up.
    "cameras.py": """
class Camera(eqx.Module):
    place: Float[Array, "3"]

class Cameras:
    def __init__(self, cameras: dict[str, Camera]):
        self.cameras = cameras

    @property
    def places(self) -> Float[Array, "V 3"]:
        return jnp.stack([each.place for each in self.cameras.values()])

def error(cameras: Cameras, seen: Float[Array, "V n 3"]) -> Float[Array, "V n"]:
    return jnp.linalg.norm(cameras.places[:, None] - seen, axis=-1)

""",
    # What an integer that is made up leaves of an array may be nothing.
    "padded.py": """
def above(signal: Float[Array, "n"], kernel: Float[Array, "w"], pad: int) -> Bool[Array, "m"]:  # ~unreached
    return signal[pad:-pad] > jnp.correlate(signal, kernel, mode="valid")  # ~SC302
""",
    # Where the code ends in front of a value, what stands in front of that shows nothing.
    "raised.py": """
def raises(x):
    raise RuntimeError("as it is")  # ~SC302

def test_raises():
    x = jnp.ones((1, 3, 3))
    n = x.shape[-1]
    # (batch, n, n)  ~unreached
    a = x * 2
    # (batch, n)  ~unreached
    b = raises(a)
    return b
""",
    # The n of numbered axes may say how many there are.
    "numbered.py": '''
def translation(shift):
    """shift: array of shape (n,)."""
    n = shift.shape[0]
    return jnp.eye(n + 1).at[:n, n].set(shift)  # (n+1, n+1)

def applied(grid):
    """grid: grid coordinates, of shape (n, d1, ..., dn)."""
    matrix = translation((jnp.array(grid.shape[1:]) - 1) / 2)  # (n+1, n+1)  ~unreached
    return matrix

def turned(grid):
    """grid: grid coordinates, of shape (n, k, 3)."""
    return grid.transpose(1, 0, 2)  # (n, k, 3)  ~SC201
''',
    # What another variable is made to match has the shape.
    "matched.py": '''
def film(x, cond):
    """
    Args:
        x: array of shape (b, n, d).
        cond: array of shape (b, k).
    """
    h = x
    for _ in range(2):
        h = jnp.tanh(h)
        scale, shift = jnp.split(jnp.tile(cond, 2)[:, :2], 2, axis=-1)  # Each: (b, 1)

        # Broadcast to match h: (b, n, d)
        scale = scale[:, None, :]
        shift = shift[:, None, :]

        h = h * scale + shift
    return h
''',
    # What broadcasts has an axis of one, whatever it is called by; an argument has the size that callers give it.
    "test_ones.py": '''
def rotary(x):
    """x: array of shape (b, s, d)."""
    grid = jnp.ones(x.shape[1:])
    sines = jnp.sin(grid)[None]  # (b, s, d)  ~SC201
    cosines = jnp.cos(grid)[None]  # (b, s, d)  ~SC201
    return x * sines + x * cosines

def test_rotary():
    rotary(jnp.zeros((4, 2, 3)))
''',
    # A further result is none of what is returned alone.
    "further.py": '''
def correlated(x, alpha=None):
    """
    Args:
        x: array of shape (n,).

    Returns
    -------
    acf : ndarray
        Shape (n,).
    interval : ndarray, optional
        Shape (n, 2). Returned if alpha is not None.  ~unreached
    """
    if alpha is None:
        return x
    return x, jnp.stack([x, x], axis=-1)
''',
    # A type in brackets behind a key is that of the entry.
    "test_entries.py": '''
def advanced(state, x):
    """
    Args:
        state: Dict with 'keys' (PRNGKeyArray) and 'last' (Float[b, d]).
        x: array of shape (b, d).
    """
    return x + state["last"], state["keys"]

def test_advanced():
    keys = jax.random.split(jax.random.key(0), 4)
    advanced({"keys": keys, "last": jnp.zeros((4, 3))}, jnp.ones((4, 3)))
''',
    # What an object keeps for itself is not what it stands for.
    "test_private.py": '''
class Tensor(eqx.Module):
    _array: Array

    def __jax_array__(self):
        return self._array.reshape(3, 3)

def trace(a):
    """a: array-like of shape (3, 3)."""
    return jnp.trace(jnp.asarray(a))

def test_trace():
    trace(Tensor(jnp.zeros(9)))
''',
    # The columns of a table are no axes.
    "columns.py": '''
def first(data):
    """data: [time] columns"""
    return data[:, 0]
''',
    # In a branch that does not run a variable is nothing, though it is an argument.
    "branches.py": '''
def velocity(x, t):
    """x: array of shape (b, n, d)."""
    if t.ndim == 1:
        t = t[:, None, None]  # (b,) -> (b, 1, 1)  ~unreached
    return x * t
''',
    "test_branches.py": """
from branches import velocity

def test_velocity():
    assert velocity(jnp.zeros((1, 5, 2)), jnp.array(0.5)).shape == (1, 5, 2)
""",
    # What goes into a value is no such value where the code ends there.
    "ended.py": """
TABLE = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]

def inertias(n_bodies: int):
    rows = jnp.array(TABLE)[:n_bodies]
    found = jnp.zeros((n_bodies, 3, 3))
    return found.at[:, jnp.arange(3), jnp.arange(3)].set(  ~SC302
        rows
    )  # (n_bodies, 3, 3)  ~unreached
""",
    # An arrow at the head of a function leads to what that returns, if what is below has several names.
    "heads.py": """
def solved(a: Float[Array, "f 3 s"], b: Float[Array, "f 3 t"]):
    def one(a, b):
        # a: (3, s), b: (3, t) -> (t, s)
        sol, _, _, _ = jnp.linalg.lstsq(a, b, rcond=None)
        return sol.T
    return jax.vmap(one)(a, b)

def unsolved(a: Float[Array, "3 s"], b: Float[Array, "3 t"]):
    # a: (3, s), b: (3, t) -> (t, s)  ~SC201
    sol, _, _, _ = jnp.linalg.lstsq(a, b, rcond=None)
    return sol
""",
    # What several arrays come to may stand below what is only a number on the way.
    "products.py": """
def scores(q: Float[Array, "b n l d"], k: Float[Array, "b n m d"]):
    # (b, n, l, d) @ (b, n, d, m) -> (b, n, l, m)
    scale = jnp.sqrt(q.shape[-1])
    found = q @ k.swapaxes(-1, -2) / scale
    return jax.nn.softmax(found).sum(-1)

def other_scores(q: Float[Array, "b n l d"], k: Float[Array, "b n m d"]):
    # (b, n, l, d) @ (b, n, d, m) -> (b, n, m, l)  ~SC201
    scale = jnp.sqrt(q.shape[-1])
    found = q @ k.swapaxes(-1, -2) / scale
    return jax.nn.softmax(found).sum(-1)
""",
    # What stands behind `if y.ndim == 2:` tells of that case.
    "cases_of_rank.py": """
def fit(x: Float[Array, "n d"], y: Float[Array, "..."]):
    if y.ndim == 2:  # y has shape (channels, n), so we map over the channels  ~unreached
        return jax.vmap(lambda each: x.T @ each)(y)
    return x.T @ y

def test_fit():
    assert fit(jnp.ones((8, 3)), jnp.ones(8)).shape == (3,)

def fit_many(x: Float[Array, "n d"], y: Float[Array, "..."]):
    if y.ndim == 2:  # y has shape (n, channels), so we map over the channels  ~SC201
        return jax.vmap(lambda each: x.T @ each)(y)
    return x.T @ y

def test_fit_many():
    assert fit_many(jnp.ones((8, 3)), jnp.ones((4, 8))).shape == (4, 3)
""",
    # A bracket that the text gives a name is a value.
    "labels_of_corners.py": '''
def gradients(vertices: Float[Array, "v 2"], faces: Float[Array, "f 3"]) -> Float[Array, "f 3 2"]:
    """Gradients of hats.

    For each face f=(i,j,k), an array of those at its corners, which are
    corresponding to vertices (i,j,k). Faces without area get zeros.
    """
    corners = [vertices[faces[:, each].astype(int)] for each in range(3)]
    return jnp.stack(corners, axis=1)

def of_others(vertices: Float[Array, "v 2"], faces: Float[Array, "f 3"]) -> Float[Array, "f 3 2"]:
    """Gradients of hats, with those at corners that are corresponding to vertices (v,i). ~SC207"""
    corners = [vertices[faces[:, each].astype(int)] for each in range(3)]
    return jnp.stack(corners, axis=1)
''',
    # A list of results in words, before the section that has their shapes, moves none of these.
    "two_sections.py": '''
def moved(x: Float[Array, "d"]):
    """Move it.

    Returns:
    - the moved one
    - how far it is
    - a map from here to there

    NOTE: This is not meant to be called.

    Returns
    -------
    Float[Array, "d"]
        The moved one.
    Scalar
        How far it is.
    Float[Array, "2 d"] ~SC207
        The map.
    """
    return x, x.sum(), x
''',
    # A text that gives axes to a number is false, whatever the annotation beside it says.
    "number_beside.py": '''
def whole(x: Float[Array, "d"]) -> Float[Array, ""]:  ~SC203
    """Move it.

    Returns
    -------
    Float[Array, "3 d"] ~SC207
        How far.
    """
    return jnp.stack([x, x])
''',
    # An object that has a `shape` of its own is asked for that.
    "own_shape.py": """
class Bank(eqx.Module):
    layers: tuple[Float[Array, "*b _"], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layers[0].shape[:-1]

def test_bank():
    bank = Bank((jnp.zeros((4, 3)), jnp.zeros((4, 5))))
    assert bank.shape == (4,)  ~unreached
    assert bank.layers[0].shape == (4, 3)
""",
    # What an annotation leaves open a text may say, and sizes that a test has are others as the text has them.
    "test_any_shape.py": '''
def corner(t: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, ""]:
    """The corner.

    Parameters
    ----------
    t : array, shape (n, n, ..., n)
        It.
    q : array, shape (n, n)
        Its.
    """
    return t[(0,) * t.ndim] + q.sum()

def test_corner():
    assert corner(jnp.ones((3, 3, 3)), jnp.ones((3, 3))) == 10
''',
    # What cuts its argument into parts of its own sizes was made for one as long as these together.
    "test_cones.py": """
class Cones(eqx.Module):
    dims: list[int] = eqx.field(static=True)

    def __init__(self, dims: list[int]):
        self.dims = dims

    def __call__(self, x: Float[Array, "*B n"]) -> Float[Array, "*B n"]:
        parts, start = [], 0
        for dim in self.dims:
            parts.append(-x[start : start + dim])
            start += dim
        return jnp.concatenate(parts)

    def turned(self, x: Float[Array, "n"], y: Float[Array, "m"]) -> Float[Array, "m"]:  ~SC203
        return jnp.concatenate([x[:3], y])[3:-1]


def test_cones():
    cones = Cones([3, 4])
    assert cones(jnp.ones(7)).shape == (7,)
    cones.turned(jnp.ones(7), jnp.ones(5))
""",
    # Nor is it held against it, if the parts are made up.
    "cones.py": """
class Cones(eqx.Module):
    dims: list[int] = eqx.field(static=True)

    def __init__(self, dims: list[int]):
        self.dims = dims

    def __call__(self, x: Float[Array, "*B n"]) -> Float[Array, "*B n"]:  ~unreached
        parts, start = [], 0
        for dim in self.dims:
            parts.append(-x[start : start + dim])
            start += dim
        return jnp.concatenate(parts)

    def turned(self, x: Float[Array, "n"], y: Float[Array, "m"]) -> Float[Array, "m"]:  ~SC203
        return jnp.concatenate([x[:3], y])[3:-1]

""",
    # Comments above a sum may lay out how its terms broadcast.
    "terms.py": """
def joined(f: Float[Array, "t a b s"], m: Float[Array, "t 2"], g: Float[Array, "c d"]):
    #     f: (t, a, b, 1, 1, s)
    #     g: (1, 1, 1, c, d, 1)
    #   out: (t, a, b, c, d, s)
    out = (f[:, :, :, None, None, :] +
           m[:, 0][:, None, None, None, None, None] +
           g[None, None, None, :, :, None])
    return out

def misjoined(f: Float[Array, "t a b s"], g: Float[Array, "c d"]):
    #     f: (t, a, 1, b, 1, s)  ~SC201
    #     g: (1, 1, 1, c, d, 1)
    out = f[:, :, :, None, None, :] + g[None, None, None, :, :, None]
    return out
""",
    # What stands behind the last entry of a dict or list, on its line alone, tells of that.
    "last_entries.py": """
def entries(x: Float[Array, "a b"], y: Float[Array, "t a b c"]):
    return {"first": x,  # (a, b)
            "second": y}  # (t, a, b, c)

def other_entries(x: Float[Array, "a b"], y: Float[Array, "t a b c"]):
    return {"first": x,  # (a, b)
            "second": y}  # (t, b, a, c)  ~SC201

def every_entry(x: Float[Array, "a b"], y: Float[Array, "a b"]):
    return {"first": x,
            "second": y}  # (a, b)

def items(x: Float[Array, "l c"]):
    first, rest = x[0], x[2:]
    return jnp.concatenate([first[None, :],  # (1, c)
                            rest],  # (l-2, c)
                           axis=0)  # (l-1, c)
""",
    # A function that returns one variable or another has the results that are called so.
    "test_one_of.py": '''
def forward(x: Float[Array, "l c b"], return_all=False):
    """Forward.

    Returns
    -------
    loss : array, (b,)

    every : array, (l-1, c, b)
        the cache
    """
    if not return_all:
        loss = x[-1].sum(axis=0)
        return loss
    every = x[1:]
    return every

def backward(x: Float[Array, "l c b"], return_all=False):
    """Backward.

    Returns
    -------
    loss : array, (b,) ~SC207

    every : array, (l-1, c, b) ~tentative
        the cache
    """
    if not return_all:
        loss = x[-1].sum(axis=1)
        return loss
    every = x[2:]
    return every

def test_both():
    for flag in (False, True):
        forward(jnp.ones((7, 3, 5)), flag)
        backward(jnp.ones((7, 3, 5)), flag)
''',
    # Entries of a dict may be told by how one comes to them.
    "test_keys.py": '''
def forward(tokens, mats):
    """Forward.

    Parameters
    ----------
    tokens : ArrayLike, (B, L)

    mats : dict[ArrayLike]
        mats['joint'] : ArrayLike, (B, C, C, S, S)
            the joint one

        mats['marginal'] : ArrayLike, (C, C, 2, 3) ~SC207
            the other one
    """
    return mats["joint"].sum() + mats["marginal"].sum() + tokens.sum()

def test_forward():
    mats = {"marginal": jnp.zeros((3, 3, 2, 2)), "joint": jnp.zeros((5, 3, 3, 4, 4))}
    assert forward(jnp.zeros((5, 7)), mats).shape == ()
''',
    # A bracket may name what the code takes out of an argument.
    "items_of_state.py": '''
def drift(mu: float, state: Array) -> Float[Array, "2"]:
    """Drift of the state [S, V]."""
    S, _V = state[0], state[1]
    return jnp.array([mu * S, 0.0])
''',
    # An expression before a colon is what its shapes are about.
    "parts_of_products.py": """
def positions(axes: Float[Array, "3 n 1"], mean: Float[Array, "n 1"], angle: Float[Array, "n m"]):
    # (angle - mean): (n, m) - (n, 1) -> (n, m)
    # axes * (result): (3, n, 1) * (n, m) -> (3, n, m)
    moved = axes * (angle - mean)[None, :, :]
    return moved

def other_positions(axes: Float[Array, "3 n 1"], angle: Float[Array, "n m"]):
    # (3, n, 1) * (n, m) -> (3, m, n)  ~SC201
    moved = axes * angle[None, :, :]
    return moved
""",
    # What becomes of the coordinates of each point is no shape of the points.
    "coordinates.py": '''
def swapped(points):
    """
    Args:
        points: array of shape (n, 2).
    """
    x = points[:, 0]  # (n,)
    y = points[:, 1]  # (n,)
    turned = jnp.stack([y, -x, x], 1)  # (x, y, z) -> (y, -x, x)
    lifted = jnp.stack([x, y, x + y], 1)  # (x, y, z)  ~unreached
    wrong = jnp.stack([x, y, x + y], 1)  # (3, n)  ~SC201
    return turned + lifted
''',
    # A constant of the module is that in each of several shapes.
    "constants.py": '''
NAMES = ("a", "b", "c")
COUNT = len(NAMES)

def named(values: Array, n: int = 1):
    """
    Args:
        values: array of shape (COUNT,) or (n, COUNT)
    """
    return dict(zip(NAMES, values.reshape(-1, COUNT).T))

def single(values: Array):
    """
    Args:
        values: array of shape (COUNT,) or (COUNT, 2)

    Returns:
        array of shape (COUNT,)  ~SC207
    """
    return values[1:].reshape(-1)[:2]
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_a_text_means(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
