"""Numbers about arrays that say how training goes: norms, ranges, and how large an update is beside what it changes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.inputs.project.data_arguments import leaf_paths
from shapecheck.evaluate.stages.value_taps import HostArray, is_inexact
from shapecheck.runtime.numerics import reals

RANGE, NORM = ("norm", "min", "max"), ("norm",)
"""What is known of values: of weights and outputs their range too, of gradients, updates and state the norm alone.

Where a value is not finite, the norm is not either.
"""

Row = dict[str, float]
_PLACE = re.compile(r"(?:^|\.)(\d+)(?=\.|$)")


def inexact_leaves(tree: object) -> dict[str, jax.Array]:
    """The arrays of inexact numbers in a pytree, by path."""
    return {_as_written(path): leaf for path, leaf in leaf_paths(tree).items() if is_inexact(leaf)}


def _as_written(path: str) -> str:
    """As stages are called: `layers[0].weight`."""
    return _PLACE.sub(r"[\1]", path) or "value"


def summarize(arrays: Sequence[object], names: Sequence[str]) -> jax.Array:
    """The numbers that go by these names, for each array, one behind the other: so they go to the host at once."""
    found: list[jax.Array] = []
    for array in arrays:
        values = reals(array).reshape(-1)
        found.append(jnp.sqrt(jnp.vdot(values, values)).astype(jnp.float32))
        if names == RANGE:
            found += [values.min().astype(jnp.float32), values.max().astype(jnp.float32)]
    return jnp.stack(found)


def rows(paths: Sequence[str], names: Sequence[str], numbers: HostArray) -> dict[str, Row]:
    """What `summarize` gave, by path and name."""
    lines = np.asarray(numbers).reshape(len(paths), len(names))
    return {path: dict(zip(names, map(float, line), strict=True)) for path, line in zip(paths, lines, strict=True)}


def ratio(update: float, weight: float) -> float:
    """How large an update is beside the weights; infinite for weights that are all zero."""
    if weight:
        return update / weight
    return math.inf if update else 0.0


def by_parameter(state: Mapping[str, Row], parameters: Sequence[str]) -> tuple[dict[str, Row], dict[str, Row]]:
    """The arrays of an optimizer's state that are like a parameter, as norms by parameter and name; and the others."""
    known: dict[str, Row] = {}
    others: dict[str, Row] = {}
    longest_first = sorted(parameters, key=len, reverse=True)
    for path, row in state.items():
        owner = next((name for name in longest_first if path.endswith(f".{name}")), None)
        if owner is None:
            others[path] = row
        else:
            prefix = path.removesuffix(f".{owner}")
            known.setdefault(owner, {})[prefix.rpartition(".")[2]] = row["norm"]
    return known, others
