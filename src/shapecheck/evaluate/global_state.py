"""What the user's code can change for all code after it, and how that is put back.

A test that sets `jax_enable_x64` means itself. If it stayed so, what one test shows would depend on which others ran
before it, in which worker, and how often.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import (
    Framework,
    framework_facts,
    loaded_frameworks,
    loaded_module,
    packages,
)
from shapecheck.evaluate.own_errors import suppress_others

Snapshot = dict[tuple[str, str], object]
"""Values by kind and name. What is not there has no value: a variable of the environment that is not set."""

Settings = Mapping[str, bool | int | float | str | None]
"""Values of JAX's settings, as other processes get them: the kinds and names are one text."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_REFUSALS = (OSError, AttributeError, ImportError)  # a folder is gone, or a module, or what can be set once only
_PREFIXES = ("JAX_", "XLA_")  # of the variables of the environment that are settings of JAX


@dataclass(frozen=True)
class _Kind:
    """Something with named values: `write` sets one, `remove` takes it away."""

    read: Callable[[], Mapping[str, object]]
    write: Callable[[str, Any], object]
    remove: Callable[[str], object] = lambda name: None


class GlobalState:
    """Puts back what changes while something is evaluated, apart from what is meant to last.

    What module bodies and the wider fixtures of tests do lasts: others rely on it, and it is not done again for them.
    """

    def __init__(self) -> None:
        self._open: list[Snapshot] = []

    @contextlib.contextmanager
    def preserve(self) -> Iterator[None]:
        """After the body all is as it was before, or as parts of the body under `let_changes_last` have left it."""
        before = snapshot()
        self._open.append(before)
        try:
            yield
        finally:
            self._open.pop()
            restore(before)

    @contextlib.contextmanager
    def let_changes_last(self) -> Iterator[None]:
        """What the body changes outlasts the evaluation around it."""
        end = self.begin_lasting()
        try:
            yield
        finally:
            end()

    def begin_lasting(self) -> Callable[[], None]:
        """What changes from now on outlasts the evaluation under way, until what this returns is called."""
        if not self._open:
            return lambda: None
        before = snapshot()

        def end() -> None:
            after = snapshot()
            changed = differences(before, after)
            removed = before.keys() - after.keys()
            for each in self._open:
                each.update(changed)
                for key in removed:
                    each.pop(key, None)

        return end


def snapshot() -> Snapshot:
    """All that is put back, as it is now."""
    return {(kind, name): value for kind, each in _kinds().items() for name, value in each.read().items()}


def differences(before: Mapping[_Key, _Value], after: Mapping[_Key, _Value]) -> dict[_Key, _Value]:
    """What is new or has another value after."""
    return {key: value for key, value in after.items() if key not in before or before[key] != value}


def restore(values: Snapshot) -> None:
    """Set what has other values now, and remove what is not there."""
    now, kinds = snapshot(), _kinds()
    for kind, name in now.keys() - values.keys():
        with suppress_others(*_REFUSALS):
            kinds[kind].remove(name)
    write(differences(now, values))


def write(values: Snapshot, kinds: Collection[str] | None = None) -> None:
    """Set these values, perhaps those of some kinds only."""
    all_kinds = _kinds()
    for (kind, name), value in values.items():
        if kinds is None or kind in kinds:
            with suppress_others(*_REFUSALS):
                all_kinds[kind].write(name, value)


def jax_settings() -> Settings:
    """JAX's settings as they are, environment variables included.

    Files of tests leave some on import. Where only a part of the files is imported, tests must still find what the
    others have set: the precision, say.
    """
    prefixes = (*_PREFIXES, *framework_facts("variables"))
    variables = {f"environ:{name}": value for name, value in os.environ.items() if name.startswith(prefixes)}
    return {**{f"jax:{name}": value for name, value in _jax().items()}, **variables}


def set_jax_settings(values: Settings) -> None:
    """Set what was set; what this JAX lacks, or sets only once, stays."""
    by_kind = ((key.partition(":"), value) for key, value in values.items())
    write({(kind, name): value for (kind, _, name), value in by_kind})


def _jax() -> Settings:
    return {n: v for n, v in jax.config.values.items() if isinstance(v, bool | int | float | str | None)}


def _jaxtyping_config() -> object:
    return getattr(loaded_module("jaxtyping"), "config", None)


def _attributes(holder: Callable[[], object]) -> _Kind:
    return _Kind(lambda: dict(getattr(holder(), "__dict__", {})), lambda name, value: setattr(holder(), name, value))


def _system_list(name: str) -> _Kind:
    """A list of `sys`, in whose place user code may put anything."""

    def items() -> Mapping[str, object]:
        value = getattr(sys, name, None)
        return {"": list(value)} if isinstance(value, list) else {}

    def write_items(_: str, value: Any) -> None:
        if isinstance(getattr(sys, name, None), list):
            getattr(sys, name)[:] = value
        else:
            vars(sys)[name] = list(value)

    return _Kind(items, write_items)


def _folder() -> Mapping[str, object]:
    try:
        return {"": os.getcwd()}
    except OSError:  # it was removed
        return {}


def _set_filters(name: str, value: object) -> None:
    filters: Any = warnings.filters  # a list, which its type does not promise
    filters[:] = value
    with warnings.catch_warnings():  # what Python remembers of earlier filters is void when this ends
        pass


def _numpy_random() -> Mapping[str, object]:
    state = np.random.get_state()
    if not isinstance(state, tuple):  # of another generator, which the user has put there
        return {}
    generator, keys, *rest = state
    return {"": (generator, keys.tobytes(), *rest)}


def _set_numpy_random(name: str, value: Any) -> None:
    generator, keys, *rest = value
    np.random.set_state((generator, np.frombuffer(keys, np.uint32), *rest))


_KINDS: Mapping[str, _Kind] = {
    "jax": _Kind(_jax, jax.config.update),
    "jaxtyping": _attributes(_jaxtyping_config),
    "environ": _Kind(lambda: dict(os.environ), os.environ.__setitem__, os.environ.__delitem__),
    "numpy errors": _Kind(lambda: dict(np.geterr()), lambda name, value: np.seterr(**{name: value})),
    "warnings": _Kind(lambda: {"": list(warnings.filters)}, _set_filters),
    "random": _Kind(lambda: {"": random.getstate()}, lambda name, value: random.setstate(value)),
    "numpy random": _Kind(_numpy_random, _set_numpy_random),
    "path": _system_list("path"),
    "arguments": _system_list("argv"),
    "folder": _Kind(_folder, lambda name, value: os.chdir(value)),
}


def _kinds() -> Mapping[str, _Kind]:
    """All kinds, with the settings of the frameworks that are loaded under the names of their packages."""
    return {**_KINDS, **{each.package: _settings_of(each) for each in loaded_frameworks()}}


def _settings_of(framework: Framework) -> _Kind:
    """A framework's settings; none while it is half imported, as by a test that has unloaded it before."""

    def read_settings() -> Mapping[str, object]:
        with suppress_others(*_REFUSALS):
            return framework.configuration()
        return {}

    return _Kind(read_settings, framework.configure)


def configuration_kinds() -> frozenset[str]:
    """The kinds that decide what code computes."""
    return packages() | {"jax", "jaxtyping"}
