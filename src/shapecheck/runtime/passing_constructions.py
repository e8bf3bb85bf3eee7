"""What constructors were given, in a program that goes on and on: known as long as the instances live."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence

from shapecheck.evaluate.probes.constructor_arguments import Construction
from shapecheck.model import FunctionKey

_MOST = 32  # combinations of sizes of one class that are remembered

Variables = Mapping[str, object]


class PassingConstructions:
    """As `Constructions` of an evaluation, which holds the instances, and lets them go at its end.

    Of an instance that JAX has rebuilt, it is what any of its class was given.
    """

    def __init__(self) -> None:
        self._alive: dict[int, tuple[weakref.ref[object], dict[FunctionKey, Variables]]] = {}
        self._by_type: dict[type, dict[object, Variables]] = {}

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

    def variables(self, instance: object) -> Sequence[Variables]:
        """What the constructor of `instance` had."""
        return self.own(instance) or list(self._by_type.get(type(instance), {}).values())

    def own(self, instance: object) -> Sequence[Variables]:
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
