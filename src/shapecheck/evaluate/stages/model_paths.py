"""Where the parts of a model lie: the path of each module inside it, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import framework_of, state_index_classes
from shapecheck.evaluate.own_errors import raise_own_within
from shapecheck.evaluate.probes.describe_value import is_array


class ModelPaths:
    """The modules inside `root`, which has the path `path`. A module that stands in two places has the first one's."""

    def __init__(self, root: object, path: str) -> None:
        self.places: dict[int, str] = {}
        self.modules: dict[str, object] = {}
        for where, module in _parts(root, path):
            if id(module) not in self.places:
                self.places[id(module)] = where
                self.modules[where] = module

    def place(self, module: object) -> str | None:
        """Where this very module lies; None if nowhere."""
        found = self.places.get(id(module))
        return found if found is not None and self.modules[found] is module else None

    def alike(self, module: object, taken: Mapping[str, int], sizes: Collection[str]) -> tuple[int, int, str] | None:
        """Where a module lies that JAX has rebuilt, as it does on the way through its transformations; less is better.

        That is the place of a module of the same structure, or of one that has wrappers in place of some of its arrays,
        which were unwrapped since: of several, one with a stack of its arrays that has one of the `sizes` over which
        JAX maps, or with the same arrays; of several such, that which was `taken` least.
        """
        pairs = {where: _opposite(module, other) for where, other in self.modules.items()}
        ranks = [(_distance(p, sizes), taken.get(where, 0), where) for where, p in pairs.items() if p is not None]
        return min(ranks, key=lambda rank: rank[:2]) if ranks else None

    def equals(self, module: object) -> list[str]:
        """Where modules lie that differ from `module` in the values of their arrays only."""
        return [where for where, other in self.modules.items() if is_alike(module, other) and _is_as(module, other)]


def _is_as(module: object, other: object) -> bool:
    """Whether the arrays of two modules that are alike have the same types."""
    pairs = zip(jax.tree_util.tree_leaves(module), jax.tree_util.tree_leaves(other), strict=True)
    return all(
        (own.shape, own.dtype) == (there.shape, there.dtype)
        for own, there in pairs
        if is_array(own) and is_array(there)
    )


def _opposite(module: object, other: object) -> list[tuple[object, object]] | None:
    """The leaves of a module with what `other` has in their place; None if it is of another structure.

    So is one that holds nothing in the place of an array: the static part of a module that was parted.
    """
    if type(module) is not type(other):
        return None
    try:
        leaves: list[object]
        structure: object  # whose class JAX's own types do not name
        leaves, structure = jax.tree_util.tree_flatten(module)
        pairs = list(zip(leaves, structure.flatten_up_to(other), strict=True))
    except Exception as error:  # static fields may be anything
        raise_own_within(error)
        return None
    return None if any(there is None and is_array(own) for own, there in pairs) else pairs


def _distance(pairs: Sequence[tuple[Any, Any]], sizes: Collection[str]) -> int:
    """0 if the others are a stack of such arrays that is mapped over, 1 if they have the same shapes, else 2."""
    shapes = [(tuple(own.shape), tuple(there.shape)) for own, there in pairs if is_array(own) and is_array(there)]
    if all(own == there for own, there in shapes):
        return 1
    return 0 if all(there and own == there[1:] and str(there[0]) in sizes for own, there in shapes) else 2


def is_alike(module: object, other: object) -> bool:
    """Whether two modules differ in their arrays only. What cannot be compared differs."""
    if type(module) is not type(other):
        return False
    try:
        own: object = jax.tree_util.tree_structure(module)
        return bool(own == jax.tree_util.tree_structure(other))
    except Exception as error:  # static fields may be anything
        raise_own_within(error)
        return False


def is_module(value: object) -> bool:
    """Whether `value` is a module that knows its parts."""
    framework = framework_of(value)
    return framework is not None and framework.has_parts


def _parts(root: Any, path: str) -> Iterator[tuple[str, object]]:
    if type(root) in (list, tuple, dict):
        pairs = root.items() if isinstance(root, dict) else enumerate(root)
        for key, part in pairs:
            yield from _parts(part, f"{path}[{key!r}]")
    elif (framework := framework_of(root)) is not None and framework.has_parts:
        yield from framework.parts(root, path)


def parameters(module: object, whole: Callable[[object], object] = lambda tree: tree) -> tuple[int, int]:
    """How many inexact numbers a module holds, and their bytes; an array that it holds twice counts once.

    `whole` gives the arrays of which those that it holds are slices.
    """
    framework = framework_of(module)
    return numbers(whole(module if framework is None else framework.parameters(module)))


def numbers(tree: object) -> tuple[int, int]:
    """How many inexact numbers a pytree holds, and their bytes; an array that it holds twice counts once."""
    # The first value of a state, which its index holds, is no parameter.
    indices = state_index_classes()
    found_leaves = jax.tree_util.tree_leaves(tree, is_leaf=lambda value: isinstance(value, indices))
    leaves = {id(leaf): leaf for leaf in found_leaves if is_array(leaf)}
    found = [leaf for leaf in leaves.values() if jax.numpy.issubdtype(leaf.dtype, np.inexact)]
    return sum(leaf.size for leaf in found), sum(leaf.size * leaf.dtype.itemsize for leaf in found)
