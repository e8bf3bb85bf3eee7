"""Texts, numbers and instances that nobody gives: those that code and docstrings know, else any, as inventions."""

from __future__ import annotations

CASE = """
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh}


def by_table(x: Float[Array, "n"], act: str) -> Float[Array, "n"]:
    return ACTIVATIONS[act](x)


def by_table_wrong(x: Float[Array, "n"], act: str) -> Float[Array, "n 1"]:  ~SC203
    return ACTIVATIONS[act](x)


def by_match(x: Float[Array, "n"], how: str) -> Float[Array, "n"]:
    match how:
        case "double":
            return 2 * x
        case "keep":
            return x
        case _:
            raise ValueError(how)


def by_docstring(x: Float[Array, "n"], how: str) -> Float[Array, "n"]:
    '''Scale an array.

    Args:
        x: what to scale.
        how: one of 'up', 'down'.
    '''
    return x * {"up": 2.0, "down": 0.5}.get(how) + x


def label(x: Float[Array, "n"], name: str) -> Float[Array, "n"]:
    with jax.named_scope(name):
        return x


def label_wrong(x: Float[Array, "n"], name: str) -> Float[Array, "n 1"]:  ~SC203
    with jax.named_scope(name):
        return x


def depends_on_it(x: Float[Array, "n"], name: str) -> Float[Array, "n"]:  ~SC203
    return jnp.zeros(len(name))


def writes(x: Float[Array, "n"], name: str) -> Float[Array, "n"]:  ~unreached
    open(name, "w").write("x")
    return x


class Step(eqx.Module):
    size: Float
    count: Int
    parts: list[str]

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return self.size * x + self.count

    def wrong(self, x: Float[Array, "n"]) -> Float[Array, "n 1"]:  ~SC203
        return x


class Settings(NamedTuple):
    checkpoint_name: str
    folder: Path
    width: int


def by_settings(x: Float[Array, "n"], settings: Settings) -> Float[Array, "n width"]:
    return jnp.ones((x.shape[0], settings.width))


def by_settings_wrong(x: Float[Array, "n"], settings: Settings) -> Float[Array, "width n"]:  ~SC203
    return jnp.ones((x.shape[0], settings.width))


def keeps(x: Float[Array, "n"], settings: Settings) -> Float[Array, "n"]:  ~unreached
    (settings.folder / "written").write_text("x")
    return x


def opens(x: Float[Array, "n"], settings: Settings) -> Float[Array, "n"]:  ~unreached
    with open(settings.checkpoint_name) as file:
        return x + len(file.read())


class Writer(eqx.Module):
    def __init__(self, settings: Settings):
        open(settings.checkpoint_name, "w").close()

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return x


def train(x: Float[Array, "n"], optimiser: optax.GradientTransformation) -> Float[Array, "n"]:
    updates, _ = optimiser.update(x, optimiser.init(x), x)
    return optax.apply_updates(x, updates)


class Opaque:
    def __init__(self, thing):
        self.width = thing.width


class Thing(NamedTuple):
    width: int


def default_opaque() -> Opaque:
    return Opaque(Thing(3))


def with_options(x: Float[Array, "n"], options: dict, kind: type[Step], eps: np.float32) -> Float[Array, "n"]:
    return x * options.get("scale", 2.0) + eps


def wants_options(x: Float[Array, "n"], options: dict) -> Float[Array, "n"]:  ~unreached
    return x * options["scale"]


def with_default(x: Float[Array, "n"], config: Opaque) -> Float[Array, "n 3"]:
    return jnp.stack([x] * config.width, axis=-1)
"""

WRITTEN = ("written", "checkpoint_name", "folder")


def test_what_nobody_gives_is_taken_from_the_code_or_invented(check_folder) -> None:
    marked = check_folder({"known.py": CASE}).cases["known.py"]
    actual = [each for each in dict.fromkeys(marked.actual) if each[1] != "SC302"]
    assert actual == marked.expected, marked.details


def test_a_name_that_a_record_keeps_is_written_to_by_nobody(check_folder, tmp_path_factory) -> None:
    check_folder({"kept.py": CASE})
    folders = [each.parent for each in tmp_path_factory.getbasetemp().rglob("kept.py")]
    assert folders and not [each for folder in folders for each in folder.rglob("*") if each.name in WRITTEN]
