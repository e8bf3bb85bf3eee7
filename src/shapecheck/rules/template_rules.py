"""SC5xx: the template of a model against the one that is kept in shapes.lock."""

from __future__ import annotations

from typing import Final

from shapecheck.rules.rule import Rule

TEMPLATES: Final = (
    Rule(
        code="SC501",
        name="template-changed",
        severity="error",
        message="{stage}: {part} was {was}, is {now}",
        why="A stage has other shapes than the lock keeps of it. If that is meant, `shapecheck template --write-lock` "
        "writes what is, for the review to see.",
        bad="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(4, 12, key=key)
        self.down = eqx.nn.Linear(12, 4, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "4"]:
        return self.down(self.up(x))
""",
        good="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(4, 16, key=key)
        self.down = eqx.nn.Linear(16, 4, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "4"]:
        return self.down(self.up(x))
""",
        lock="""\
["model.py:Net"]
stages = [
  { path = "", type = "Net", input = { x = "f32[4]" }, output = "f32[4]", params = 148, bytes = 592 },
  { path = "down", type = "Linear", input = { x = "f32[16]" }, output = "f32[4]", params = 68, bytes = 272 },
  { path = "up", type = "Linear", input = { x = "f32[4]" }, output = "f32[16]", params = 80, bytes = 320 },
]
""",
    ),
    Rule(
        code="SC502",
        name="template-added",
        severity="error",
        message="{stage}: was added, {now}",
        why="A model has a stage that the lock does not keep. If that is meant, `shapecheck template --write-lock` "
        "writes what is, for the review to see.",
        bad="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.norm = eqx.nn.LayerNorm(4)
        self.up = eqx.nn.Linear(4, 16, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "16"]:
        return self.up(self.norm(x))
""",
        good="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    up: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(4, 16, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "16"]:
        return self.up(x)
""",
        lock="""\
["model.py:Net"]
stages = [
  { path = "", type = "Net", input = { x = "f32[4]" }, output = "f32[16]", params = 80, bytes = 320 },
  { path = "up", type = "Linear", input = { x = "f32[4]" }, output = "f32[16]", params = 80, bytes = 320 },
]
""",
    ),
    Rule(
        code="SC503",
        name="template-removed",
        severity="error",
        message="{stage}: was removed, it was {was}",
        why="A model lacks a stage that the lock keeps, or the whole model is gone. If that is meant, "
        "`shapecheck template --write-lock` writes what is, for the review to see.",
        bad="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    up: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(4, 16, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "16"]:
        return self.up(x)
""",
        good="""\
import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear

    def __init__(self, key: PRNGKeyArray):
        self.norm = eqx.nn.LayerNorm(4)
        self.up = eqx.nn.Linear(4, 16, key=key)

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "16"]:
        return self.up(self.norm(x))
""",
        lock="""\
["model.py:Net"]
stages = [
  { path = "", type = "Net", input = { x = "f32[4]" }, output = "f32[16]", params = 88, bytes = 352 },
  { path = "norm", type = "LayerNorm", input = { x = "f32[4]" }, output = "f32[4]", params = 8, bytes = 32 },
  { path = "up", type = "Linear", input = { x = "f32[4]" }, output = "f32[16]", params = 80, bytes = 320 },
]
""",
    ),
)
