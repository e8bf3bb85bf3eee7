"""What constructors were given: the sizes that a class's comments name, though no instance keeps them.

`self.w = Linear(d_model, 3)` leaves no `d_model` behind, and yet `# (seq, d_model)` in a method of that class means
the argument. So the sizes among a constructor's variables are noted for each instance.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shapecheck.model import FunctionKey

_MOST = 32  # combinations of sizes of one class that are remembered


@dataclass(frozen=True)
class Construction:
    """One constructor's sizes and configs by variable: its arguments, and what it computed of them."""

    instance: object
    scope: FunctionKey
    variables: Mapping[str, object]


class ConstructionRecord(Protocol):
    """What is known of constructions."""

    def note(self, construction: Construction) -> None:
        """Note a constructor's variables, in place of those at its start."""

    def all_records(self) -> Sequence[Construction]:
        """All of them, so that another evaluation can take them over."""

    def variables(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of `instance` had, or of those like it."""

    def own(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of this very instance had; nothing if JAX has rebuilt it."""


class Constructions:
    """All constructions of the evaluation under way."""

    def __init__(self) -> None:
        self._all: dict[tuple[int, FunctionKey], Construction] = {}
        self._by_type: dict[type, list[Construction]] = {}

    def note(self, construction: Construction) -> None:
        """Note a constructor's variables, in place of those at its start."""
        self._all[id(construction.instance), construction.scope] = construction
        self._by_type = {}

    def all_records(self) -> Sequence[Construction]:
        """All of them, so that another evaluation can take them over."""
        return tuple(self._all.values())

    def variables(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of `instance` had.

        Instances are rebuilt on their way through JAX's transformations. Then it is what the constructors of
        instances like it had, or, where vmap and scan have changed the parameters' shapes, of any of its class.
        """
        found = self._alike(instance)
        same = [c for c in found if c.instance is instance]
        if not same and len({id(c.instance) for c in found}) > 1:
            looks = _looks(instance)
            same = [c for c in found if _looks(c.instance) == looks]
        return [c.variables for c in same or found]

    def own(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of this very instance had; nothing if JAX has rebuilt it."""
        return [c.variables for c in self._alike(instance) if c.instance is instance]

    def _alike(self, instance: object) -> Sequence[Construction]:
        if not self._by_type:
            # By the type at the end of construction: Equinox constructs an instance of a subclass first.
            for construction in self._all.values():
                self._by_type.setdefault(type(construction.instance), []).append(construction)
        return self._by_type.get(type(instance), [])


class PassingConstructions:
    """All constructions of a program that runs on: known as long as the instances live, which this does not hold.

    Of an instance that JAX has rebuilt, it is what any of its class was given.
    """

    def __init__(self) -> None:
        self._alive: dict[int, tuple[weakref.ref[object], dict[FunctionKey, Mapping[str, object]]]] = {}
        self._by_type: dict[type, dict[object, Mapping[str, object]]] = {}

    def note(self, construction: Construction) -> None:
        """Note a constructor's variables, in place of those at its start."""
        instance, key = construction.instance, id(construction.instance)
        found = self._alive.get(key)
        if found is None or found[0]() is not instance:
            try:
                self._alive[key] = weakref.ref(instance, lambda _: self._alive.pop(key, None)), {}
            except TypeError:  # a class with slots
                return
        self._alive[key][1][construction.scope] = construction.variables
        kept = self._by_type.setdefault(type(instance), {})
        if len(kept) < _MOST:
            kept.setdefault(_sizes(construction), construction.variables)

    def variables(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of `instance` had."""
        return self.own(instance) or list(self._by_type.get(type(instance), {}).values())

    def own(self, instance: object) -> Sequence[Mapping[str, object]]:
        """What the constructor of this very instance had; nothing if JAX has rebuilt it."""
        found = self._alive.get(id(instance))
        return list(found[1].values()) if found is not None and found[0]() is instance else []

    def all_records(self) -> Sequence[Construction]:
        """None are handed on."""
        return ()


def _sizes(construction: Construction) -> object:
    variables = construction.variables
    return construction.scope, tuple(
        (name, variables[name]) for name in sorted(variables) if type(variables[name]) is int
    )


def _looks(instance: object) -> object:
    """Structure and shapes of an instance's parts; instances of one look were given the same sizes."""
    import jax  # noqa: PLC0415 - a program that is watched decides itself when JAX is loaded

    from shapecheck.evaluate.probes.describe_value import is_array  # noqa: PLC0415 - likewise

    try:
        leaves, structure = jax.tree_util.tree_flatten(instance)
        # Static fields are part of the structure, and the user's classes compare them.
        looks = str(structure)
    except Exception:  # the user's own flattening or printing
        return None
    return looks, tuple(str(leaf.shape) if is_array(leaf) else str(type(leaf)) for leaf in leaves)
