"""Claims in every form of Python code that people write models in."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
import functools
from typing import Generic, NamedTuple, TypeVar
import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
from jaxtyping import Array, Float, Int, jaxtyped
from beartype import beartype
"""

CASES = {
    "hooks.py": """
from jaxtyping import install_import_hook
hook = install_import_hook("no_package_at_all", "beartype.beartype")
hook.uninstall()
with install_import_hook("no_package_at_all", None):
    pass

def gram(x: Float[Array, "n d"]) -> Float[Array, "d d"]:
    wrong = x.T @ x  # (n, n)  ~SC201
    return wrong
""",
    # values where types belong: some compare element by element, some not at all
    "values.py": """
class Odd:
    __hash__ = None
    def __eq__(self, other):
        raise ValueError("compared")

def turned(x: jnp.zeros((3, 2)), w: jnp.ones(3)):
    \"\"\"x: (n, d). w: (n,).\"\"\"
    y = x.T  # (d, n)
    return w @ x  # (n,)  ~SC201

def other(x: Odd()):
    \"\"\"x: (n, d).\"\"\"
    return x.T  # (d, n)

class Scaled:
    def __init__(self, w: jnp.ones(3)):
        \"\"\"w: (d,).\"\"\"
        self.w = w
    def __call__(self, x: Odd()):
        \"\"\"x: (n, d).\"\"\"
        return x * self.w  # (d, n)  ~SC201
""",
    # jaxtyping's names for what only has a text: the dtype is what the code needs
    "texts_alone.py": """
from typing import Annotated as Float, Annotated as Int
""",
    "annotated.py": """
from texts_alone import Float, Int

def summed(x: Float[Array, "n d"], ids: Int[Array, "n"]) -> Float[Array, "n d"]:
    return jnp.bincount(ids, length=x.shape[0])[:, None] * x

def wrong(x: Float[Array, "n d"], ids: Int[Array, "n"]) -> Float[Array, "d n"]:  ~SC203
    return summed(x, ids)
""",
    # an annotation of several dtypes, of which a text has one
    "unions.py": """
Mask = Int[Array, "..."] | jaxtyping.Bool[Array, "..."]

def prepared(mask: Mask) -> Mask:
    \"\"\"mask (Bool[Array, "n"]): what counts.\"\"\"  ~unreached
    return mask.reshape(-1, 1)

def wrong(mask: Mask) -> Mask:
    \"\"\"mask (Float[Array, "n"]): what counts.\"\"\"  ~SC206
    return mask.reshape(-1, 1)
""",
    "plain.py": """
def gram(x: Float[Array, "n d"]) -> Float[Array, "d d"]:
    centred = x - x.mean(axis=0)  # (n, d)
    wrong = centred.T @ centred  # (n, n)  ~SC201
    return wrong

def flipped(x: Float[Array, "n d"]) -> Float[Array, "n d"]: ~SC203
    return x.T
""",
    "methods.py": """
class Kernel(eqx.Module):
    scale: Float[Array, "d"]
    def __init__(self, d: int):
        self.scale = jnp.ones(d)
    def evaluate(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        a = x * self.scale  # (n, d)
        return a @ y.T  # (m, n)  ~SC201
    def _diagonal(self, x: Float[Array, "n d"]) -> Float[Array, "n"]:
        return (x * x * self.scale).sum(-1)
    def __add__(self, x: Float[Array, "d"]) -> Float[Array, "d d"]: ~SC203
        return self.scale + x
    @staticmethod
    def distance(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        z = x[:, None] - y[None]  # (n, m, d)
        return (z**2).sum(2)  # (m, n)  ~SC201
    @classmethod
    def make(cls, init: Float[Array, "d"]) -> Float[Array, "d"]:
        y = init[None] * 2  # (d, 1)  ~SC201
        return y[0]
    @property
    def matrix(self) -> Float[Array, "d d"]:
        outer = self.scale[:, None] * self.scale  # (d, d)
        return outer
    @property
    def row(self) -> Float[Array, "d 1"]: ~SC203
        return self.scale[None]
""",
    "static_return.py": """
class Tools:
    @staticmethod
    def t(x: Float[Array, "n d"]) -> Float[Array, "n d"]: ~SC203
        return x.T
    @classmethod
    def u(cls, x: Float[Array, "n d"]) -> Float[Array, "d n"]:
        return cls.t(x)
""",
    "distance_return.py": """
def distance(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]: ~SC203
    z = x[:, None] - y[None]  # (n, m, d)
    return (z**2).sum(1)
""",
    "nested.py": """
def outer(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    def inner(a):
        def innermost(b):
            c = b @ w  # (n, m)
            return c  # (m, n)  ~SC201
        return innermost(a * 2)
    return inner(x)
""",
    "closures.py": """
def make(w: Float[Array, "d m"]):
    def apply(x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        y = x @ w  # (n, m)
        z = x @ w  # (n, d)  ~SC201
        return y + z
    return apply

def use(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    return make(w)(x)
""",
    "lambdas.py": """
def f(x: Float[Array, "n d"], w: Float[Array, "d m"]) -> Float[Array, "n m"]:
    project = lambda a: (
        a @ w  # (n, m)
    )
    twist = lambda a: (
        a @ w  # (m, n)  ~SC201
    )
    return project(x) + twist(x)
""",
    "comprehensions.py": """
def heads(x: Float[Array, "n d"], ws: Float[Array, "h d k"]) -> Float[Array, "n h*k"]:
    parts = [
        x @ ws[i]  # (n, k)
        for i in range(3)
    ]
    wrong = [
        x @ ws[i]  # (k, n)  ~SC201
        for i in range(3)
    ]
    all_ = [x @ w for w in (ws[0], ws[1])]  # (n, k)
    total = sum(
        (x @ ws[i]).sum(axis=0)  # (n,)  ~SC201
        for i in range(2)
    )
    named = {str(i): x @ ws[i] for i in range(2)}  # (d, k)  ~SC201
    return jnp.einsum("nd,hdk->nhk", x, ws).reshape(x.shape[0], -1) + 0 * (total[0] + parts[0][0, 0])
""",
    "jaxtyped.py": """
@jaxtyped(typechecker=beartype)
def checked(x: Float[Array, "n d"], y: Float[Array, "d"]) -> Float[Array, "n d"]: ~SC202
    z = x + y  # (d, n)  ~SC201
    return z

def caller(x: Float[Array, "n d"]) -> Float[Array, "n d"]: ~SC203
    first = checked(x, x[:1])
    second = checked(x, x[0])  # (n, d)
    return first.T @ second
""",
    "beartyped.py": """
@beartype
def only(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    y = x * 2  # (n, d)
    return y

@jax.jit
@jaxtyped(typechecker=beartype)
def both(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    y = x * 2  # (d, n)  ~SC201
    return y

@jaxtyped(typechecker=beartype)
class Scale(eqx.Module):
    w: Float[Array, "d"] ~SC205
    def __init__(self, d: int):
        self.w = jnp.ones((d, 1))
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "d"]: ~SC203
        return self.w * x
""",
    "coroutine.py": """
import asyncio

async def fetch(x: Float[Array, "n d"]) -> Float[Array, "d n"]:
    y = x.T  # (n, d)  ~SC201
    return y

def run(x: Float[Array, "n d"]) -> Float[Array, "d n"]:
    return asyncio.run(fetch(x))
""",
    "generator.py": """
def layers(x: Float[Array, "n d"]):
    for i in range(2):
        y = x * i  # (n, d)
        z = y.T  # (n, d)  ~SC201
        yield y, z

def total(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return sum(y for y, _ in layers(x))
""",
    "matching.py": """
def pick(x: Float[Array, "n d"], kind: str = "rows") -> Float[Array, "d"]:
    match (x.ndim, kind):
        case (2, "rows"):
            y = x.mean(axis=0)  # (d,)
        case (2, _):
            y = x.mean(axis=1)
        case _:
            raise ValueError
    match x.shape:
        case (n, d):
            z = x.reshape(d, n)  # (n, d)  ~SC201
        case _:
            z = x
    return y + z.sum()
""",
    "walrus.py": """
def f(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    total = 2 * (y := x.sum(axis=1))  # (n,)
    if (z := x.sum(axis=0)).ndim == 1:
        y = y + z.sum()  # (d,)  ~SC201
    return y + total
""",
    "decorated.py": """
def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

def bare(function):
    def wrapper(x):
        return function(x)
    return wrapper

class Counted:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
    def __call__(self, *args):
        return self.function(*args)

@logged
def f(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    y = x * 2  # (n, d)
    return y

@bare
def g(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    return x * 2

@Counted
def h(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    return x * 2

@functools.lru_cache
def table(n: int, d: int) -> Float[Array, "n d"]:
    return jnp.zeros((n, d))  # (d, n)  ~SC201

def use(x: Float[Array, "n d"]):
    return g(x) + h(x)
""",
    "partial.py": """
def linear(w, b, x):
    y = x @ w  # (n, m)
    z = y + b  # (m, n)  ~SC201
    return z

def net(x: Float[Array, "n d"], w: Float[Array, "d m"], b: Float[Array, "m"]) -> Float[Array, "n m"]:
    layer = functools.partial(linear, w, b)
    return layer(x)

doubled = functools.partial(jnp.multiply, 2.0)

def scaled(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    return doubled(x)
""",
    "generic.py": """
T = TypeVar("T")
M = TypeVar("M", bound=eqx.Module)

class Inner(eqx.Module):
    w: Float[Array, "k d"]
    def __init__(self, k: int, d: int):
        self.w = jnp.zeros((k, d))
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "k"]:
        return self.w @ x

class Residual(eqx.Module, Generic[M]):
    inner: M
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        y = x + 1  # (d,)
        return y

class Pair(eqx.Module, Generic[T]):
    data: T

class Both(eqx.Module, Generic[T]):
    main: Pair[tuple[T, Array]]
    def apply(self, x: Float[Array, "n d"]) -> Float[Array, "n n"]: ~unreached
        return x @ x.T

def identity(x: T) -> T:
    return x

def use(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    y = identity(x)  # (d, n)  ~SC201
    return y
""",
    "future.py": """
from __future__ import annotations
from typing import TYPE_CHECKING
import jax.numpy as jnp
import equinox as eqx
if TYPE_CHECKING:
    import nowhere_to_be_found.stubs
    from jaxtyping import Array, Float
    import jaxtyping as jt

def f(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    y = x * 2  # (n, d)
    return y

class Net(eqx.Module):
    w: Float[Array, "d m"]
    def __init__(self, d: int, m: int):
        self.w = jnp.zeros((d, m))
    def __call__(self, x: jt.Float[jt.Array, "n d"]) -> Float[Array, "n m"]:
        y = x @ self.w  # (m, n)  ~SC201
        return y
""",
    "future_only.py": """
from __future__ import annotations
import jax.numpy as jnp
from jaxtyping import Array, Float

def f(x: Float[Array, "n d"], later: Later | None = None) -> Float[Array, "d n"]: ~SC203
    return x

class Later:
    pass
""",
    "records.py": """
class Batch(NamedTuple):
    inputs: Float[Array, "n d"]
    labels: Int[Array, "n"]

@dataclasses.dataclass
class State:
    mean: Float[Array, "d"]
    cov: Float[Array, "d d"] ~SC205

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Pair:
    a: Float[Array, "n"]
    b: Float[Array, "n"] ~SC205

def start(x: Float[Array, "n d"], y: Int[Array, "n"]) -> Float[Array, "d"]:
    batch = Batch(x, y)
    state = State(batch.inputs.mean(0), batch.inputs)
    pair = Pair(x[:, 0], x[0])
    mean = state.mean  # (d,)
    wrong = pair.a  # (d,)  ~SC201
    return mean
""",
    "wrong_batch.py": """
class Batch(NamedTuple):
    inputs: Float[Array, "n d"]
    labels: Int[Array, "n"] ~SC205

def start(x: Float[Array, "n d"], y: Int[Array, "m"]):
    return Batch(x, y)
""",
    "two_models.py": """
class First(eqx.Module):
    w: Float[Array, "d h"]
    def __init__(self, d: int, h: int):
        self.w = jnp.zeros((d, h))
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n h"]:
        return x @ self.w

class Second(eqx.Module):
    w: Float[Array, "d h"]
    def __init__(self, d: int, h: int):
        self.w = jnp.zeros((d, h))
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "h n"]: ~SC203
        return x @ self.w
""",
    "held.py": """
class Part(eqx.Module):
    w: Float[Array, "k d"]
    def __init__(self, d: int, k: int):
        self.w = jnp.zeros((k, d))
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "k"]:
        y = self.w @ x  # (k,)
        return y  # (d,)  ~SC201

class Whole(eqx.Module):
    parts: list[Part]
    def __init__(self, width: int, hidden: int, out: int):
        self.parts = [Part(width, hidden), Part(hidden, out)]
    def __call__(self, x: Float[Array, "width"]) -> Float[Array, "out"]:
        h = self.parts[0](x)  # (hidden,)
        y = self.parts[1](h)  # (hidden,)  ~SC201
        return y
""",
    "abstract.py": """
import abc

class Distribution(eqx.Module):
    @abc.abstractmethod
    def sample(self, n: int) -> Float[Array, "n d"]:
        ...
    @abc.abstractmethod
    def log_prob(self, x: Float[Array, "n d"]) -> Float[Array, "n"]:
        ...
    def entropy(self, x: Float[Array, "n d"]) -> Float[Array, ""]:
        p = self.log_prob(x)  # (n,)
        q = self.log_prob(x)  # (d,)  ~SC201
        return (p + q).mean()

class Normal(Distribution):
    mu: Float[Array, "d"]
    def __init__(self, d: int):
        self.mu = jnp.zeros(d)
    def sample(self, n):
        return jnp.zeros((n, self.mu.shape[0])) + self.mu  # (n, d)
    def log_prob(self, x):
        z = x * 2  # (n, d)
        y = z - self.mu  # (d, n)  ~SC201
        return -(y**2).sum(axis=1)  # (n,)
""",
    "loops.py": """
def pyramid(x: Float[Array, "n d"], depth: int = 3):
    for _ in range(depth):
        n, d = x.shape
        x = jnp.concatenate([x, x], axis=1)  # (n, 2*d)
        y = x.T  # (n, 2*d)  ~SC201
    while x.ndim < 3:
        x = x[None]  # (1, n, d)  ~SC201
    return y

def contexts(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    with jax.named_scope("block"):
        y = x * 2  # (n, d)
        z = x * 2  # (d, n)  ~SC201
    try:
        w = y + z.T  # (n, d) ~unreached
    except (TypeError, ValueError):
        w = y  # (d, n)  ~SC201
    finally:
        v = y.sum(0)  # (d,)
    return y + v
""",
    "module_level.py": """
n, d = 4, 6
TABLE = jnp.zeros((n, d))  # (n, d)
TURNED = TABLE.T  # (n, d)  ~SC201

class Constants:
    basis = jnp.ones((n, d))  # (d, n)  ~SC201
""",
    "globals_and_defaults.py": """
HEADS = 5
WIDTH = 7

def split(
    x: Float[Array, "n {HEADS*WIDTH}"], scale: float = 1.0, *extra, flag: bool = True, **rest
) -> Float[Array, "n HEADS WIDTH"]:
    y = x.reshape(x.shape[0], HEADS, WIDTH)  # (n, HEADS, WIDTH)
    z = x.reshape(x.shape[0], WIDTH, HEADS)  # (n, HEADS, WIDTH)  ~SC201
    return y if flag else z

def merged(x, w: Float[Array, "HEADS k"]):  # x: (n, HEADS)
    y = x @ jnp.ones((HEADS, WIDTH))  # (n, WIDTH)
    z = x @ jnp.ones((HEADS, WIDTH))  # (n, HEADS)  ~SC201
    return y + z, w.T
""",
    "positional.py": """
def f(x: Float[Array, "n d"], /, w: Float[Array, "d m"], *, b: Float[Array, "m"]) -> Float[Array, "n m"]:
    y = x @ w + b  # (n, m)
    return y  # (m, n)  ~SC201

def tuples(pair: tuple[Float[Array, "n d"], Float[Array, "d"]]) -> tuple[Float[Array, "n"], Float[Array, "d"]]:
    x, w = pair
    y = x @ w  # (d,)  ~SC201
    return y, w

def wrong_tuple(x: Float[Array, "n d"]) -> tuple[Float[Array, "n"], Float[Array, "d"]]: ~SC203
    return x.sum(1), x.sum(1)

def lists(xs: list[Float[Array, "n d"]]) -> Float[Array, "2 n d"]:
    y = jnp.stack(xs)  # (n, 2, d)  ~SC201
    return y

def degrees(x: Float[Array, "n"]) -> list[Float[Array, "2*l+1 (l+1)*(l+2)/2"]]:  ~SC101
    return [jnp.zeros((2 * l + 1, (l + 1) * (l + 2) // 2)) for l in range(3)]

def wrong_degrees(x: Float[Array, "n"]) -> list[Float[Array, "2*l+1 (l+1)*(l+2)/2"]]: ~SC203
    return [jnp.zeros((2 * l + 1, (l + 1) * (l + 2))) for l in range(3)]
""",
    # JAX builds pytrees of whatever it likes: stacked arrays, axes to map over
    "pytrees.py": """
@jax.tree_util.register_pytree_node_class
class Lens(NamedTuple):
    focal: Float[Array, ""]
    width: Float[Array, ""]

    def tree_flatten(self):
        return (self.focal, self.width), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Float[Array, ""], Float[Array, ""]]) -> "Lens":
        return cls(*children)

def make(focal: Float[Array, ""]) -> Lens:
    return Lens(focal, 2 * focal)

def power(lens: Lens) -> Float[Array, ""]:
    return lens.width / lens.focal

def wrong(focals: Float[Array, "n"]) -> Float[Array, ""]:  ~SC203
    return jax.vmap(power)(jax.vmap(make)(focals))
""",
    "array_types_of_kauldron.py": """
from kauldron.ktyping import Float, Int, SInt, UInt8, typechecked

@typechecked
def gram(x: Float["*b n d"], *, scale: Float[""]) -> Float["*b d d"]:
    centred = x - x.mean(axis=-2, keepdims=True)  # (*b, n, d)
    return jnp.einsum("...nd,...ne->...de", centred, centred)

@typechecked
def looked_up(tokens: Int["b t"], table: Float["v d"]) -> Float["b t d"]:
    rows = table[tokens]  # (b, d, t)  ~SC201
    return rows

@typechecked
def pixels(image: UInt8["h w 3"], kind: SInt[""]) -> Int["h w"]:
    return image.max(axis=-1)

@typechecked
def flipped(x: Float["n d"]) -> Float["n d"]: ~SC203
    return x.T

def either(x: Float["+b n"]) -> Float["n|1"]: ~SC203
    return x
""",
    "wraps_base.py": """
def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        function(*args, **kwargs)
        return function(*args, **kwargs)
    return wrapper

def base(x: Float[Array, "n m"], y: Float[Array, "m"]) -> Float[Array, "n"]:
    return x @ y

@functools.wraps(base)
def deeper(x: Float[Array, "b t d"], y: Float[Array, "d"]) -> Float[Array, "b t"]:
    out = x @ y  # (b, t)
    wrong = out.T  # (b, t)  ~SC201
    return wrong.T

@twice
@functools.wraps(jnp.sum)
def summed(x: Float[Array, "b t"], axis: int = -1) -> Float[Array, "b"]:
    return jnp.sum(x, axis=axis)

@functools.wraps(base)
def docstring(x, y):
    '''Multiply.

    Args:
        x: array of shape (b, t, d).
        y: array of shape (d,).
    '''
    return x * y  # (b, t, d)

@twice
def plain(x: Float[Array, "b t"]) -> Float[Array, "t"]:  ~SC203
    return x.sum(1)

class Layer:
    def base(self, x: Float[Array, "n m"]) -> Float[Array, "n"]:
        return x.sum(-1)
    @functools.wraps(base)
    def method(self, x: Float[Array, "b t d"]) -> Float[Array, "b d"]:
        return x.sum(1)
    @staticmethod
    @functools.wraps(base)
    def static(x: "Float[Array, 'b t d']") -> Float[Array, "b d"]:
        return x.sum(1)
    @classmethod
    @functools.wraps(base)
    def of_class(cls, x: Float[Array, "b t d"]) -> Float[Array, "d b"]:  ~SC203
        return x.sum(1)

class Model(eqx.Module):
    w: Float[Array, "d"]
    def __init__(self, d: int):
        self.w = jnp.ones(d)
    @functools.wraps(base)
    def __call__(self, x: Float[Array, "b t d"]) -> Float[Array, "b t"]:
        return x @ self.w
""",
    "remembered.py": """
@functools.lru_cache
def summed(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    return x.sum(-1)

@jax.jit
@functools.cache
def wrong(x: Float[Array, "b d"]) -> Float[Array, "d"]:  ~SC203
    return x.sum(-1)

class Table:
    @functools.lru_cache(maxsize=None)
    def rows(self, x: Float[Array, "b d"]) -> Float[Array, "b"]:
        return x.sum(-1)

@functools.cache
def identity(n: int) -> Float[Array, "n n"]:
    return jnp.eye(n)

assert all(isinstance(each, functools._lru_cache_wrapper) for each in (identity, functools.lru_cache(len)))
assert not isinstance(len, functools._lru_cache_wrapper)
""",
    "reaches_remembered.py": """
@functools.lru_cache
def helper(x: Float[Array, "b d"]):
    y = x.T  # (b, d)  ~SC201
    return y

def user(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    return helper(x)

class Net(eqx.Module):
    w: Float[Array, "d k"]
    def __init__(self, d: int, k: int):
        self.w = jnp.ones((d, k))
    @functools.cache
    def project(self, x: Float[Array, "b d"]) -> Float[Array, "b k"]:
        return x @ self.w
    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "k b"]:  ~SC203
        return self.project(x)

@functools.lru_cache
def raises(x: Float[Array, "b d"]) -> Float[Array, "b"]:  ~unreached
    raise TypeError("of its own")  ~SC302

@functools.lru_cache
def doubled(n: int) -> int:
    return 2 * n

@functools.lru_cache
@type
def wrapped(n: int) -> int:
    return 2 * n

def sliced(x: Float[Array, "b d"]) -> Float[Array, "b 2"]:
    return x[:, :doubled(1)]
""",
    # What such decorators are given, nobody says: the functions are called alone, as they say themselves.
    "altering.py": """
def batched(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x[None])[0]
    return wrapper

def starred(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*(each[None] for each in args), **kwargs)[0]
    return wrapper

def described(function):
    @functools.wraps(function)
    def wrapper(y: Float[Array, "b d c"]) -> Float[Array, "b d"]:  ~unreached
        return function(y[..., 0])
    return wrapper

def swapped(function):
    @functools.wraps(function)
    def wrapper(x, y):
        return function(y, x)
    return wrapper

def rebound(function):
    @functools.wraps(function)
    def wrapper(x):
        x = x[0]
        return function(x)
    return wrapper

@batched
def one(x: Float[Array, "b d"]) -> Float[Array, "d b"]:  ~SC203
    return x

@starred
def two(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    return x

@described
def three(x: Float[Array, "b d"]) -> Float[Array, "d b"]:  ~SC203
    return x

@swapped
def four(x: Float[Array, "b d"], y: Float[Array, "d"]) -> Float[Array, "b"]:
    return x @ y

@rebound
def five(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    return x

class Layer:
    @staticmethod
    @batched
    def six(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
        return x
""",
    "handing_on.py": """
def named(function):
    @functools.wraps(function)
    def wrapper(x, *, y):
        with jax.named_scope("it"):
            return function(x, y=y)
    return wrapper

@named
def f(x: Float[Array, "b d"], *, y: Float[Array, "d"]) -> Float[Array, "d"]:  ~SC203
    return x @ y
""",
    "odd_objects.py": """
def odd(function):
    return False

def signed(function):
    function.__signature__ = 3
    return function

@odd
def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]:  ~unreached
    return x

@signed
def g(x: Float[Array, "b d"]) -> Float[Array, "b d"]:  ~unreached
    return x
""",
    "metaclass.py": """
class Meta(type):
    size: int
    def __new__(mcs, name: str = "A", bases: tuple = (), space: dict = {}):
        return super().__new__(mcs, name, bases, space)
    def scaled(cls, x: Float[Array, "b d"]) -> Float[Array, "b"]:  ~unreached
        return x.sum(-1)

class Kind(metaclass=Meta):
    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b"]:
        return x.sum(-1)
""",
    # What kauldron's classes are, as far as annotations go.
    "kauldron/ktyping/__init__.py": """
import functools
import sys

from . import config

class ArrayTypeMeta(type):
    shape_spec = None

    def __getitem__(cls, text):
        return ArrayTypeMeta(f"{cls.__name__}[{text!r}]", (), {"shape_spec": text})

    def __instancecheck__(cls, value):
        return False

Float, Int, SInt, UInt8 = (ArrayTypeMeta(name, (), {}) for name in ("Float", "Int", "SInt", "UInt8"))

def typechecked(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if config.CONFIG.typechecking_enabled:
            raise TypeError("a mismatch, before the function has begun")
        return function(*args, **kwargs)
    return wrapper
""",
    "kernel.py": """
from jax.experimental import pallas as pl

def scale_kernel(
    x_ref,  # (rows, cols)
    g_ref,  # (cols,)
    o_ref,  # (cols, rows)  ~SC201
):
    o_ref[...] = x_ref[...] * g_ref[...][None, :]  ~SC305

def scale(x: Float[Array, "rows cols"], g: Float[Array, "cols"]) -> Float[Array, "rows cols"]:
    return pl.pallas_call(scale_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, g)
""",
    "kauldron/ktyping/config.py": """
import types

CONFIG = types.SimpleNamespace(typechecking_enabled=True)
""",
    "kauldron/__init__.py": "",
    # another compiler than Python's finds the code that the author wrote
    "numba.py": """from __future__ import annotations

def njit(function):
    if function.__code__.co_names:
        raise TypeError(f"cannot determine the type of {function.__code__.co_names}")
    return function
""",
    "compiled.py": """
import numba
from numba import njit

@numba.njit
def twice(a):
    return a + a

def thrice(a):
    def inner(b):
        return b + b
    return inner(a) + a

fast = njit(thrice)

def both(x):
    # x: (n, d)
    return fast(twice(x)).sum(1)  # (d,)  ~SC201
""",
    # whatever names a program gives to arguments, they are its own
    "test_keywords.py": """
def shifted(x: Float[Array, "n d"], function=0.0, model=0.0, made=0.0, value=0.0, first=0.0, taken=0.0, run=0.0):
    y = x + function + model + made + value + first + taken + run  # (n, d)
    return y

def scaled(x: Float[Array, "n d"], **options) -> Float[Array, "d n"]:  ~SC203
    return shifted(x, **options)

class Layer(eqx.Module):
    scale: Array
    def __call__(self, x: Float[Array, "n d"], **options) -> Float[Array, "n d"]:
        return shifted(self.scale * x, **options)

def test_scaled():
    names = ("function", "model", "made", "value", "first", "taken", "run")
    assert scaled(jnp.ones((3, 4)), **dict.fromkeys(names, 1.0)).shape == (3, 4)
    assert Layer(jnp.ones(4))(jnp.ones((3, 4)), **dict.fromkeys(names, 1.0)).shape == (3, 4)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    plain = {n for n, text in CASES.items() if "from __future__" in text or n.startswith("kauldron/")}
    return check_folder({name: text if name in plain else HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_are_verified_and_wrong_ones_found(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_nothing_is_merely_tentative(folder) -> None:
    assert folder.report.summary.tentative == 0
