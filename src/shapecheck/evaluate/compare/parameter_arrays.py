"""The arrays of numbers that a value has, and those that a part of a model holds, whatever its framework."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.inputs.entries import module_class
from shapecheck.evaluate.stages.stage_records import StageStep
from shapecheck.evaluate.stages.value_taps import has_identity, is_state

NamedValues = list[tuple[str, Any]]

_NO_STATE = {"params", "intermediates", "perturbations"}  # among the variables of linen


def arrays(value: Any, name: str = "", is_leaf: Callable[[Any], bool] = has_identity) -> NamedValues:
    """The arrays of numbers in a value, by name. What may not be looked into is none."""
    found = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_leaf)[0]
    return [(f"{name}{jax.tree_util.keystr(path)}", leaf) for path, leaf in found if is_number(leaf)]


def is_number(value: Any) -> bool:
    """Whether it is an array of numbers or truth values."""
    if not isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return False
    return bool(jnp.issubdtype(value.dtype, np.number) or value.dtype == np.dtype(bool))


def input_arrays(step: StageStep, args: Sequence[Any], kwargs: Mapping[str, Any]) -> NamedValues:
    """The arrays that a stage is given, by the names of its parameters, and in their order. States are none."""
    names = [name for name, _ in (*step.input, *step.state)]
    order = {name: place for place, name in enumerate(names)}
    left = (name for name in names if name not in kwargs)  # what is None has no name among them
    by_place = [arg for arg in args if arg is not None and not is_state(arg)]
    named = [(next(left, f"[{place}]"), arg) for place, arg in enumerate(by_place)]
    named += [(name, kwargs[name]) for name in sorted(kwargs, key=lambda name: order.get(name, len(order)))]
    return [found for name, value in named for found in arrays(value, name)]


def parameters(part: Any) -> NamedValues:
    """The parameters of a module."""
    nnx, linen, haiku = _frameworks()
    if isinstance(part, nnx):
        found: Any = sys.modules["flax.nnx"]
        return arrays(found.state(part, found.Param), is_leaf=is_state)
    if isinstance(part, linen):
        return arrays(part.variables.get("params", {}))
    if isinstance(part, haiku):
        return arrays(part.params_dict())
    return arrays(part) if isinstance(part, module_class() or ()) else []


def states(part: Any, value: Any) -> NamedValues:
    """What a module keeps from one run for the next, beside its parameters: running averages, caches.

    Equinox hands that on as a `State`, which is looked for in `value`; of what is no module, that is all that it has.
    """
    nnx, linen, haiku = _frameworks()
    if isinstance(part, nnx):
        found: Any = sys.modules["flax.nnx"]
        others = found.Any(found.Param, found.RngState, found.Intermediate)
        return arrays(found.state(part, found.Not(others)), is_leaf=is_state)
    if isinstance(part, linen):
        return arrays({kind: held for kind, held in part.variables.items() if kind not in _NO_STATE})
    if isinstance(part, haiku):
        return arrays(part.state_dict())
    return list(_of_equinox(part, value))


def _of_equinox(part: Any, value: Any) -> Iterator[tuple[str, Any]]:
    held = [leaf for leaf in jax.tree_util.tree_leaves(value, is_leaf=is_state) if is_state(leaf)]
    if not held:
        return
    if not isinstance(part, module_class() or ()):
        yield from arrays([leaf for state in held for leaf in jax.tree_util.tree_leaves(state)], "state")
        return
    kind: Any = sys.modules["equinox.nn"].StateIndex
    indices = jax.tree_util.tree_flatten_with_path(part, is_leaf=lambda leaf: isinstance(leaf, kind))[0]
    for path, index in indices:
        for state in held if isinstance(index, kind) else ():
            try:
                kept = state.get(index)
            except (KeyError, ValueError):  # of another model, or older than another one
                continue
            yield from arrays(kept, jax.tree_util.keystr(path).lstrip("."))


def _frameworks() -> list[Any]:
    return [getattr(sys.modules.get(name), "Module", ()) for name in ("flax.nnx", "flax.linen", "haiku")]
