"""What annotations say of callables and iterators is held against each call of them, and each item."""

from __future__ import annotations

import pytest

HEAD = """
from __future__ import annotations
import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
"""

CASES = {
    "given.py": """
def apply(
    f: Callable[
        [Float[Array, "n d"]],
        Float[Array, "n"], ~SC203
    ],
    x: Float[Array, "n d"],
):
    return f(x)

def sums(x: Float[Array, "n d"]):
    return apply(lambda y: y.sum(1), x)

def keeps(x: Float[Array, "n d"]):
    return apply(lambda y: y, x)
""",
    "transformed.py": """
def gradients(
    score: Callable[[Float[Array, "d"]], Float[Array, ""]] | None, x: Float[Array, "n d"]
) -> Float[Array, "n d"]:
    return jax.vmap(jax.grad(score))(x)

@functools.partial(jax.jit, static_argnums=0)
def compiled(f: Callable[[Float[Array, "n"], PyTree], Float[Array, "n"]], x: Float[Array, "n"]) -> Float[Array, "n"]:
    def step(carry, _):
        return f(carry, {"rate": 0.1}), None
    return jax.lax.scan(step, x, None, length=3)[0]

def batched(
    f: Callable[
        [Float[Array, "d"]], ~SC202
        Float[Array, "d"],
    ],
    x: Float[Array, "n d"],
):
    return f(x)
""",
    # of several callables each speaks of the calls with as many arguments as it takes
    "several.py": """
def emits(
    f: Callable[
        [Float[Array, "state"]],
        Float[Array, "emission"],
    ]
    | Callable[
        [Float[Array, "state"], Float[Array, "inputs"]],
        Float[Array, "emission"],
    ],
    x: Float[Array, "state"],
    u: Float[Array, "inputs"],
):
    return f(x), f(x, u)

def emits_by_one(
    f: Callable[
        [Float[Array, "state"]], ~unreached
        Float[Array, "emission"], ~unreached
    ]
    | Callable[
        [Float[Array, "state"], Float[Array, "inputs"]], ~SC202
        Float[Array, "emission"],
    ],
    x: Float[Array, "time state"],
    u: Float[Array, "inputs"],
):
    return f(x, u)

def nobody_knows_which(
    f: Callable[[Float[Array, "state"]], Float[Array, "emission"]] ~unreached
    | Callable[[Float[Array, "time"]], Float[Array, "time"]], ~unreached
    x: Float[Array, "state"],
):
    return f(x)
""",
    # what is made up follows what it is given; other sizes than in the function around prove nothing
    "sizes.py": """
def halves(
    f: Callable[
        [Float[Array, "n d"]], ~unreached
        Float[Array, "n"], ~unreached
    ],
    x: Float[Array, "n d"],
) -> Float[Array, "m"]:
    return f(x[1:])

def pairs(f: Callable[[Float[Array, "k"], Float[Array, "l"]], Float[Array, "k l"]], x: Float[Array, "n d"]):
    y = f(x[0], x[:, 0])  # (d, n)
    return y

def stacked(f: Callable[[Float[Array, "*b"]], tuple[Float[Array, "*b 2"], Int[Array, ""]]], x: Float[Array, "n d"]):
    y, count = f(x)
    y = y  # (n, d, 2)
    return y, count  # (n, d, 2), ()
""",
    "items.py": """
def rows(x: Float[Array, "n d"], count: int) -> Iterator[Float[Array, "d"]]:
    for i in range(count):
        yield x[i]

def blocks(x: Float[Array, "n d"]) -> Generator[
    Float[Array, "1 d"], ~SC203
    None,
    None,
]:
    while True:
        yield x[:2]

def both(x: Float[Array, "n d"]) -> Iterable[tuple[Float[Array, "d"], Float[Array, "n"]]]:
    yield x[0], x[:, 0]
    yield from ((row, x[:, 0]) for row in [x[1], x[2]])

def lazy(x: Float[Array, "n d"]) -> Iterator[Float[Array, "d"]]:
    return map(jnp.sin, [x[0], x[1]])

def total(batches: Iterator[Float[Array, "b d"]]) -> Float[Array, "d"]:
    return sum(batch.sum(0) for batch in batches)
""",
    "results.py": """
def make(k: int) -> Callable[[Float[Array, "n"]], Float[Array, "n k"]]:
    return lambda x: jnp.zeros((x.shape[0], k))

def swapped(k: int) -> Callable[
    [Float[Array, "n"]],
    Float[Array, "n k"], ~SC203
]:
    return lambda x: jnp.zeros((k, x.shape[0], 1))

def closure(scale: float):
    def inner(x: Float[Array, "n d"]) -> Float[Array, "n"]:
        y = x.sum(0)  # (n,)  ~SC201
        return scale * x.sum(1)
    return inner

def cost(weights: Float[Array, "3 3"]) -> Callable[[Float[Array, "state"]], Float[Array, ""]]:
    def inner(state: Float[Array, "13"]) -> Float[Array, ""]:
        return state[:3] @ weights @ state[:3]
    return inner

def wrong_cost(weights: Float[Array, "3 3"]) -> Callable[[Float[Array, "state"]], Array]:
    def inner(
        state: Float[Array, "13"] | None
    ) -> Float[Array, ""]: ~SC203
        return state[:3] @ weights
    return inner
""",
    # what `vmap` gives takes one axis more than what it maps, and only an annotation of the result can say so
    "mapped_results.py": """
Row = Float[Array, "n"]
Rows = Float[Array, "b n"]

def rows(rate: float) -> Callable[[Rows], Rows]:
    def step(
        row: Row,
    ) -> Float[Array, ""]: ~SC203
        return rate * row
    return jax.vmap(step)

def one(rate: float) -> Callable[
    [Row],  ~unreached
    Row  ~unreached
]:
    def step(
        row: Row,
    ) -> Row:
        return rate * row
    return jax.vmap(step)

def unsaid(rate: float):
    def step(
        row: Row,
    ) -> Row:
        return rate * row
    return jax.vmap(step)
""",
    # of what an instance holds, by whoever calls it
    "fields.py": """
class Layer(eqx.Module):
    weight: Float[Array, "out d"]
    activation: Callable[
        [Float[Array, "n"]],
        Float[Array, "n"],
    ]
    readout: Callable[
        [Float[Array, "n"]],
        Float[Array, ""], ~SC203
    ]

    def __init__(self, d: int, out: int, key):
        self.weight = jax.random.normal(key, (out, d))
        self.activation = jax.nn.relu
        self.readout = jnp.sin

    def __call__(self, x: Float[Array, "b d"]):
        y = jax.vmap(lambda row: self.activation(self.weight @ row))(x)
        return jax.vmap(self.readout)(y)

@dataclass
class Losses:
    terms: list[
        Callable[
            [Float[Array, "b d"], Float[Array, "b d"]],
            Float[Array, ""],
        ]
    ]

def mean(losses: Losses, x: Float[Array, "b d"]) -> Float[Array, ""]:
    return sum(term(x, x) for term in losses.terms)

class Pair(NamedTuple):
    maps: dict[
        str,
        tuple[
            Callable[[Float[Array, "n"]], Float[Array, "n"]],
            Callable[
                [Float[Array, "n"]], ~SC202
                int,
            ],
        ],
    ]

def both(x: Float[Array, "n d"]):
    pair = Pair({"first": (jnp.sin, lambda y: y.shape[0])})
    sine, count = pair.maps["first"]
    return sine(x[0]), count(x)
""",
    # one that is told from others must be what it is, and one that nobody calls shows nothing
    "kept.py": """
class Chosen(eqx.Module):
    activation: Callable[
        [Float[Array, "n"]], ~unreached
        Float[Array, "n"], ~unreached
    ]
    unused: Callable[
        [Float[Array, "n"]], ~unreached
        Float[Array, "n"], ~unreached
    ]

    def __init__(self):
        self.activation = jax.nn.relu
        self.unused = jax.nn.relu

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return x if self.activation is jax.nn.relu else self.activation(x)[0]
""",
    "variables.py": """
def scaled(x: Float[Array, "n d"]):
    rows: Callable[
        [Float[Array, "k"]],
        Float[Array, "k"], ~SC203
    ] = jnp.sum
    whole: tuple[
        Callable[[Float[Array, "a b"]], Float[Array, "a b"]],
        Callable[
            [Float[Array, "a b"]], ~unreached
            int,
        ],
    ] = (jnp.sin, len)
    return rows(x[0]), whole[0](x)
""",
    "protocols.py": """
class Score(Protocol):
    def __call__(self, x: Float[Array, "d"], scale: float) -> Float[Array, ""]: ... ~unreached

def scores(
    f: Score,
    x: Float[Array, "n d"],
) -> Float[Array, "n"]:
    return jax.vmap(f, in_axes=(0, None))(x, 2.0)

def whole(
    f: Score, ~SC202
    x: Float[Array, "n d"],
):
    return f(x, 2.0)
""",
    # such a class may be one of callables too
    "others.py": """
class Potential(eqx.Module):
    def __call__(self, x):
        return x

def evaluate(
    f: Potential | Callable[
        [Float[Array, "d"]],
        Float[Array, ""],
    ],
    x: Float[Array, "n d"],
):
    return jax.vmap(f)(x)

def given_all(x: Float[Array, "n d"]):
    return evaluate(lambda y: y.sum(), x)

def either(
    x: Potential | Float[Array, "n d"],
    y: Float[Array, "n"],
) -> Float[Array, "n"]:
    return x.sum(-1) + y
""",
    # left out it is never called, though no branch of this function asks for it
    "optional.py": """
def matrix_at(A: Float[Array, "k k"], transition: Callable | None, t: Int[Array, ""]):
    return A if transition is None else transition(t)

def predict(
    p: Float[Array, "k"],
    A: Float[Array, "k k"],
    transition: Callable[
        [Int[Array, ""]],
        Float[Array, "k k"],
    ] | None = None,
) -> Float[Array, "k"]:
    return matrix_at(A, transition, jnp.zeros((), int)).T @ p

def nobody_calls(
    p: Float[Array, "k"],
    transition: Callable[
        [Int[Array, ""]], ~unreached
        Float[Array, "k k"], ~unreached
    ] | None = None,
):
    return p
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_of_what_arises_later(folder, name):
    assert folder.cases[name].as_marked()


def test_messages_say_which_part_of_a_callable_is_meant(folder):
    (given,) = folder.cases["given.py"].findings
    assert given.message == 'annotation says Float[Array, "n"], but what f gives is (n, d)'
    (taken,) = folder.cases["transformed.py"].findings
    assert taken.message == 'annotation says Float[Array, "d"], but argument 1 of f is (n, d)'
    (item,) = folder.cases["items.py"].findings
    assert item.message == 'annotation says Float[Array, "1 d"], but an item of the returned value is (2, d)'
