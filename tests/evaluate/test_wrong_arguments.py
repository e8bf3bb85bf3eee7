"""Arguments that do not fit what is said of them: one finding where they are handed over, no more behind it."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    "handed_on.py": """
def outer(x: Float[Array, "n d"]) -> Float[Array, "d"]:
    return middle(x).sum(0)

def middle(x: Float[Array, "d"]) -> Float[Array, "d"]: ~SC202
    y = jnp.tanh(x)  # (d,)
    return inner(y)

def inner(x: Float[Array, "d"]) -> Float[Array, "d"]:
    return 2 * x  # (d,)
""",
    # What has nothing to do with the argument is as wrong as ever.
    "of_its_own.py": """
def outer(x: Float[Array, "n d"]):
    return middle(x, jnp.zeros(5))

def middle(x: Float[Array, "d"], scale: Float[Array, "k"]): ~SC202
    doubled = jnp.concatenate([scale, scale])  # (k,)  ~SC201
    other(doubled)
    return x

def other(x: Float[Array, "m"]):
    return x[:, None]  # (m,)  ~SC201
""",
    # A docstring is as good, where the function is called by another one; of a name that is not in it all is as wrong.
    "described.py": """
class Layer(eqx.Module):
    weight: Array
    wanted: int

    def __init__(self, wanted: int, width: int):
        self.weight, self.wanted = jnp.ones((width, wanted)), wanted

    def __call__(self, x):
        '''Forward.

        Args:
            x: inputs, shape (batch, wanted). ~SC207
        '''
        y = jnp.tanh(x)  # (batch, wanted)
        k = jnp.zeros(5)
        doubled = jnp.concatenate([k, k])  # (5,)  ~SC201
        return y * doubled.sum()

class Model(eqx.Module):
    first: Layer

    def __init__(self, width: int, hidden: int):
        self.first = Layer(hidden, width)

    def __call__(self, x):
        '''Forward.

        Args:
            x: inputs, shape (batch, width).
        '''
        return self.first(x)
""",
    # A comment behind a layer says what it takes and gives.
    "layers.py": """
class Model(eqx.Module):
    layer: eqx.nn.Linear  # [inputs, hidden, outputs]

    def __init__(self, inputs: int, outputs: int, *, key):
        self.layer = eqx.nn.Linear(inputs, outputs, key=key)  # (inputs, outputs)

    def __call__(self, x: Float[Array, "inputs"]) -> Float[Array, "outputs"]:
        weight = self.layer.weight  # (inputs, outputs)  ~SC201
        return self.layer(x)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_one_cause_is_one_finding(folder, name: str) -> None:
    marked = folder.cases[name]
    assert [each for each in marked.actual if each[1] != "unreached"] == marked.expected, marked.details
