"""Ports from one framework to another, as the command compares them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import shapecheck
from shapecheck.cli import main

WEIGHTS = """\
import jax.numpy as jnp
import numpy as np

numbers = np.random.default_rng(0)
K1, K2 = (jnp.asarray(numbers.normal(size=(6, 6)), jnp.float32) for _ in range(2))
B = jnp.asarray(numbers.normal(size=6), jnp.float32)
X = jnp.asarray(numbers.normal(size=(5, 6)), jnp.float32)
"""
REFERENCE = """\
import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from weights import B, K1, K2, X


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.gelu(nn.Dense(6, name="up")(nn.LayerNorm(name="norm")(x)))
        return x + nn.Dense(6, name="down")(h)


norm = {"scale": jnp.full(6, 1.5), "bias": B}
VARIABLES = {"params": {"norm": norm, "up": {"kernel": K1, "bias": B}, "down": {"kernel": K2, "bias": -B}}}


def apply():
    return Net().apply, VARIABLES, X


def module():
    return Net(), VARIABLES, X


def without_inputs():
    return Net(), VARIABLES


def closed():
    return lambda x: Net().apply(VARIABLES, x)


def function(x: Float[Array, "batch 6"]):
    return Net().apply(VARIABLES, x)


"""
HAIKU = """\
import haiku as hk
import jax
import jax.numpy as jnp

from weights import B, K1, K2, X


def of_haiku(x):
    h = jax.nn.gelu(hk.Linear(6, name="up")(hk.LayerNorm(-1, True, True, eps=1e-6, name="norm")(x)))
    return x + hk.Linear(6, name="down")(h)


PARAMS = {"norm": {"scale": jnp.full(6, 1.5), "offset": B}, "up": {"w": K1, "b": B}, "down": {"w": K2, "b": -B}}


def apply():
    return hk.transform(of_haiku).apply, PARAMS, None, X


def pair():
    return hk.transform(of_haiku), PARAMS, X


def closed():
    return lambda x: hk.transform(of_haiku).apply(PARAMS, None, x)
"""
PORT = """\
import equinox as eqx
import jax
import jax.numpy as jnp

from weights import B, K1, K2, X


class Net(eqx.Module):
    norm: eqx.nn.LayerNorm
    layers: list[eqx.nn.Linear]
    approximate: bool

    def __call__(self, x):
        up, down = self.layers
        return x + down(jax.nn.gelu(up(self.norm(x)), approximate=self.approximate))


def made(transposed=True, approximate=True, bias=-B):
    def linear(kernel, bias):
        layer = eqx.nn.Linear(6, 6, key=jax.random.PRNGKey(0))
        return eqx.tree_at(lambda l: (l.weight, l.bias), layer, (kernel, bias))

    norm = eqx.nn.LayerNorm(6, eps=1e-6)
    norm = eqx.tree_at(lambda n: (n.weight, n.bias), norm, (jnp.full(6, 1.5), B))
    return Net(norm, [linear(K1.T, B), linear(K2.T if transposed else K2, bias)], approximate)


def right():
    return jax.vmap(made())


def with_inputs():
    return jax.vmap(made()), X


def wrapped():
    model = made()
    return lambda x: jax.vmap(model)(x)


def untransposed():
    return jax.vmap(made(transposed=False))


def exact():
    return jax.vmap(made(approximate=False))


def biased():
    return jax.vmap(made(bias=jnp.zeros(6)))


def after():
    model = made()
    return lambda x: jax.nn.softmax(jax.vmap(model)(x))


def one():
    return made(), X[0]


def unbatched():
    return made()
"""
MAPPED = ["--map", "layers[0]=up", "--map", "layers[1]=down"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("weights.py").write_text(WEIGHTS)
    Path("reference.py").write_text(REFERENCE)
    Path("of_haiku.py").write_text(HAIKU)
    Path("port.py").write_text(PORT)


@pytest.mark.parametrize(
    ("port", "reference"),
    [
        ("right", "reference.py:apply"),  # which has inputs, and the port has none
        ("with_inputs", "reference.py:without_inputs"),
        ("with_inputs", "reference.py:closed"),
        ("wrapped", "reference.py:module"),
        ("right", "reference.py:function"),  # which alone tells what it takes
        ("right", "of_haiku.py:apply"),
        ("right", "of_haiku.py:pair"),
        ("one", "reference.py:module"),
    ],
)
def test_a_right_port_is_equal(port: str, reference: str, folder: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", f"port.py:{port}", reference, *MAPPED]) == 0
    told = capsys.readouterr().out
    assert "Equal: 4 stages within rounding" in told
    assert "Parameters differ" not in told


def test_a_mistake_is_named_for_a_batch_of_its_own(folder: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "port.py:biased", "reference.py:apply", "--arg", "f32[4 6]", *MAPPED]) == 1
    told = capsys.readouterr().out
    assert "f32[4,6]" in told
    assert "stage: down (in A layers[1])" in told
    assert told.endswith("Its inputs agree, and its parameters differ.\n")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    texts = {"weights": WEIGHTS, "reference": REFERENCE, "of_haiku": HAIKU, "port": PORT}
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, text in texts.items():
            found[name] = module = ModuleType(name)
            patch.setitem(sys.modules, name, module)
            exec(text, vars(module))  # noqa: S102 - the text above
        yield found


@pytest.mark.parametrize(
    ("port", "reference", "conclusion"),
    [
        ("untransposed", "reference", ["stage: down (in A layers[1])", "(in, out): is one to be transposed?"]),
        (
            "exact",
            "of_haiku",
            ["stage: the whole", "before down (in A layers[1]), the first inside of it that differs,"],
        ),
        ("after", "reference", ["stage: the whole", "Its inputs agree", "all stages inside of it are equal."]),
    ],
)
def test_one_mistake_is_named(port: str, reference: str, conclusion: list[str], modules: dict[str, Any]) -> None:
    rules = {"layers[0]": "up", "layers[1]": "down"}
    wrong, right = getattr(modules["port"], port)(), modules[reference].closed()
    end = str(shapecheck.compare(wrong, right, modules["weights"].X, map=rules)).splitlines()[-1]
    assert [part for part in conclusion if part not in end] == []


@pytest.mark.parametrize(
    ("sides", "remedies"),
    [
        (["port.py:right", "port.py:right"], ["port.py:right port.py:right --arg 'x=f32[batch 48]'"]),
        (
            ["port.py:unbatched", "reference.py:apply"],
            ["It was given what reference.py:apply takes: args[0] float32[5,6].", "returns (model, *inputs)"],
        ),
        (["port.py:made", "port.py:made", "--arg", "f32[5]"], ["Made-up"]),
    ],
)
def test_what_cannot_be_compared_has_a_remedy(
    sides: list[str], remedies: list[str], folder: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *sides]) == 2
    told = capsys.readouterr().err
    assert [remedy for remedy in remedies if remedy not in told] == []


def test_a_batch_goes_beside_parameters(folder: None, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("batch.npz", x=np.ones((3, 6), np.float32))
    asked = ["compare", "port.py:right", "reference.py:apply", "--inputs", "batch.npz", *MAPPED]
    assert main(asked) == 0
    assert "f32[3,6]" in capsys.readouterr().out


LACKING = """
import equinox as eqx

class Net(eqx.Module):
    layer: eqx.nn.Linear

    def __init__(self, width: int, kind, mode, *, key):
        self.layer = eqx.nn.Linear(width, 3, key=key)

    def __call__(self, x):
        return self.layer(x)
"""


def test_what_a_constructor_lacks_beside_what_is_given_is_named(
    folder: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("net.py").write_text(LACKING)
    assert main(["compare", "net.py:Net", "net.py:Net", "--init", "kind=1", "--arg", "f32[4]"]) == 2
    assert "--init kind=1 --arg 'f32[4]' --init-a mode=..." in capsys.readouterr().err


AVERAGES = """
import flax.linen as nn
from jaxtyping import Array, Float

class Slow(nn.Module):
    momentum: float = 0.99

    @nn.compact
    def __call__(self, x: Float[Array, "batch 3"]):
        return nn.BatchNorm(use_running_average=False, momentum=self.momentum)(x)

class Fast(Slow):
    momentum: float = 0.9
"""


def test_a_model_that_makes_its_parameters_updates_its_running_averages(
    folder: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("averages.py").write_text(AVERAGES)
    assert main(["compare", "averages.py:Slow", "averages.py:Fast"]) == 1
    assert "keeps for its next run: ['batch_stats']['mean'] by up to" in capsys.readouterr().out
