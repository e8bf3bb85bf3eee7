"""`--init cfg.depth=2`: arguments of what is itself made up."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Optional

import equinox as eqx
import jax
import pytest
from jaxtyping import Array, PRNGKeyArray

from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.synthesis.made_integers import DEFAULTS_FIRST
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes
from shapecheck.evaluate.probes.recorder import Recorder


@dataclasses.dataclass(frozen=True)
class Attention:
    heads: int = 2
    size: int = 8


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    depth: int = 3
    attention: Attention = Attention()


class Options(NamedTuple):
    width: int
    bias: bool = True


class Plain:
    def __init__(self, width: int, depth: int = 1) -> None:
        self.width, self.depth = width, depth


class Net(eqx.Module):
    layers: list[eqx.nn.Linear]
    sizes: tuple[int, ...]

    def __init__(
        self,
        config: Config,
        again: Optional[Config] = Config(40, 1, Attention(3, 5)),  # noqa: UP045
        options: Options = Options(7),  # noqa: B008
        plain: Plain | None = None,
        loose: Any = None,
        *,
        key: PRNGKeyArray,
    ) -> None:
        width = config.width
        self.layers = [eqx.nn.Linear(width, width, key=key) for _ in range(config.depth)]
        assert again is not None
        self.sizes = (again.width, again.attention.heads, again.attention.size, *options, plain.width if plain else 0)

    def __call__(self, x: Array) -> Array:
        return x


def made_of_nothing() -> CallBuilder:
    models = Models(Recorder({}), {}, lambda what: {}, lambda cls: [], InventedSizes(), DEFAULTS_FIRST)
    return CallBuilder(Recorder({}), models)


def made(**given: Any) -> Net:
    builder = made_of_nothing()
    named = {name.replace("__", "."): value for name, value in given.items()}
    builder.method(Net, Net.__call__, named)
    model: Net = builder.models.instance(Net, 1, named)[0]
    return model


def test_configs_are_made_with_what_is_given_of_them() -> None:
    model = made(config__width=12, config__depth=2)
    assert [layer.weight.shape for layer in model.layers] == [(12, 12), (12, 12)]
    assert model.sizes == (40, 3, 5, 7, True, 0)


def test_defaults_keep_what_is_not_given() -> None:
    model = made(again__attention__heads=6, options__bias=False, plain__width=9)
    assert model.sizes == (40, 6, 5, 7, False, 9)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("config__widht", "Config has no parameter 'widht'; did you mean 'width'?"),
        ("again__widht", "Config has no parameter 'widht'; did you mean 'width'?"),
        ("config__attention__head", "Attention has no parameter 'head'; did you mean 'heads'?"),
        ("options__base", "Options has no parameter 'base'; did you mean 'bias'?"),
        ("confg__width", "Net has no parameter 'confg'; did you mean 'config'?"),
        ("config__width__x", "width.x cannot be given: nothing says of which class `width` is. Annotate it"),
        ("loose__x", "loose.x cannot be given: nothing says of which class `loose` is. Annotate it"),
    ],
)
def test_names_that_are_not_there_are_told(name: str, said: str) -> None:
    with pytest.raises(ExampleError) as error:
        made(**{name: 3})
    assert str(error.value).startswith(said)


def test_what_is_given_twice_is_told() -> None:
    with pytest.raises(ExampleError, match=r"config is given whole, and config.depth too: leave one of them out"):
        made(config=Config(3), config__depth=4)


def test_sizes_that_are_given_are_known_by_their_names() -> None:
    builder = made_of_nothing()
    given = {"config.width": 12, "again.attention.heads": 6}
    model, known, _ = builder.models.instance(Net, 1, given)
    assert (known["width"], known["heads"]) == (12, 6)
    assert jax.tree_util.tree_leaves(model)[0].shape == (12, 12)
    assert builder.models.instance(Net, 1, given)[0] is model
    assert jax.tree_util.tree_leaves(builder.models.instance(Net, 1)[0])[0].shape != (12, 12)
