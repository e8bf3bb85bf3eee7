"""The arrays of numbers that a value has, and those that a part of a model holds, whatever its framework; and whether
those of two parts are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import (
    all_frameworks,
    framework_of,
    has_identity,
    is_state,
    loaded_frameworks,
)
from shapecheck.evaluate.stages.stage_records import StageStep
from shapecheck.model import StageRun, Tensor

NamedValues = list[tuple[str, object]]


def arrays(value: object, name: str = "", is_leaf: Callable[[object], bool] = has_identity) -> NamedValues:
    """The arrays of numbers in a value, by name. What may not be looked into is none."""
    found = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_leaf)[0]
    return [(f"{name}{jax.tree_util.keystr(path)}", leaf) for path, leaf in found if is_number(leaf)]


def is_number(value: object) -> bool:
    """Whether it is an array of numbers or truth values."""
    if not isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return False
    return bool(jnp.issubdtype(value.dtype, np.number) or value.dtype == np.dtype(bool))


def input_arrays(step: StageStep, args: Sequence[object], kwargs: Mapping[str, object]) -> NamedValues:
    """The arrays that a stage is given, by the names of its parameters, and in their order. States are none."""
    names = [name for name, _ in (*step.input, *step.state)]
    order = {name: place for place, name in enumerate(names)}
    left = (name for name in names if name not in kwargs)  # what is None has no name among them
    by_place = [arg for arg in args if arg is not None and not is_state(arg)]
    named = [(next(left, f"[{place}]"), arg) for place, arg in enumerate(by_place)]
    named += [(name, kwargs[name]) for name in sorted(kwargs, key=lambda name: order.get(name, len(order)))]
    return [found for name, value in named for found in arrays(value, name)]


def parameters(part: object) -> NamedValues:
    """The parameters of a module."""
    framework = framework_of(part)
    return [] if framework is None else arrays(framework.parameters(part), is_leaf=is_state)


def states(part: object, value: object) -> NamedValues:
    """What a module keeps from one run for the next, beside its parameters: running averages, caches.

    Some frameworks hand that on, in `value`; of what is no module, that is all that it has.
    """
    framework = framework_of(part)
    frameworks = loaded_frameworks() if framework is None else (framework,)
    kept = (named for each in frameworks for named in each.states(part, value))
    return [found for name, tree in kept for found in arrays(tree, name, is_leaf=is_state)]


def same(a: Sequence[Tensor], b: Sequence[Tensor]) -> tuple[bool | None, bool]:
    """Whether parameters are the same, by whatever names and in whatever layout, and whether their order is another.

    The first is None where there are none, or arrays of other sizes.
    """
    if not a or _sizes(a) != _sizes(b):
        return None, False
    if sorted(t.digest for t in a) == sorted(t.digest for t in b):
        return True, False
    same = sorted(t.numbers for t in a) == sorted(t.numbers for t in b)
    return same, same


def are_untransposed(a: StageRun, b: StageRun) -> bool:
    """Whether parameters that have one order may need two: those of layers of frameworks that lay them out otherwise.

    Some keep weights as (in, out), as the kernels of convolutions end, others as (out, in).
    Their shapes do not tell it where axes have one size.
    """
    longer = [[size for size in tensor.shape if size != 1] for tensor in a.parameters]
    places = {ran.source.path.partition("/")[0] for ran in (a, b) if ran.source is not None}
    layouts = {each.weight_layout for each in all_frameworks() if each.weight_layout and each.package in places}
    return any(len(set(sizes)) < len(sizes) for sizes in longer) and len(layouts) > 1


def _sizes(tensors: Sequence[Tensor]) -> list[tuple[str, int]]:
    """How many numbers of which dtype: heads may be axes of their own, or not."""
    return sorted((t.dtype, math.prod(t.shape)) for t in tensors)
