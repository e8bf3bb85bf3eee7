"""A call with all that it is given, as lines of Python: for a test that stands alone."""

from __future__ import annotations

import enum
import importlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall, activation
from shapecheck.evaluate.probes.attribute_access import unwrap

_LONGEST = 80  # characters of an argument that stays in its call
_SEED = 0


class UnwritableError(Exception):
    """A value cannot be written as an expression; the text says which."""


class CallSource:
    """Writes values as expressions, and notes what these import. `made` tells how a model came to be, if that is known.

    Arrays hold ones and zeros, random keys are those of one seed: for a shape that is enough.
    """

    def __init__(self, made: Callable[[object], LazyCall | None]) -> None:
        self._made = made
        self.modules: dict[str, list[str]] = {}
        self.lines: list[str] = []

    def call(
        self, function: Callable[..., Any], model: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> str:
        """The expression of a call of a function, or of a method of `model`, if that is not None."""
        names = list(inspect.signature(function).parameters)
        if model is None:
            called, first = self.name(function), 0
        else:
            self.lines.append(f"model = {self.expression(model, 'model')}")
            method = function.__name__
            called, first = ("model" if method == "__call__" else f"model.{method}"), 1
        given = [self._argument(name, value) for name, value in zip(names[first:], args, strict=False)]
        given += [f"{name}={self._argument(name, value)}" for name, value in kwargs.items()]
        return f"{called}({', '.join(given)})"

    def _argument(self, name: str, value: object) -> str:
        """An argument as the variable that a line of its own defines, or as it is if it is short and no array."""
        text = self.expression(value, name)
        if not isinstance(value, (jax.ShapeDtypeStruct, LazyCall)) and len(text) < _LONGEST:
            return text
        self.lines.append(f"{name} = {text}")
        return name

    def expression(self, value: Any, name: str) -> str:
        """Raises UnwritableError for what has no text."""
        if isinstance(value, jax.ShapeDtypeStruct):
            return self._array(value, name)
        if isinstance(value, LazyCall):
            return self._construction(value, name)
        if value is activation:
            return "jnp.tanh"
        if type(value) in (type(None), bool, int, float, complex, str, bytes):
            return repr(value)
        if isinstance(value, enum.Enum):
            return f"{self.name(type(value))}.{value.name}"
        if type(value) in (list, tuple):
            inside = ", ".join(self.expression(part, name) for part in value)
            return f"[{inside}]" if type(value) is list else f"({inside}{',' if len(value) == 1 else ''})"
        if type(value) is dict:
            return f"{{{', '.join(f'{key!r}: {self.expression(part, name)}' for key, part in value.items())}}}"
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.name(value)
        if (made := self._made(value)) is not None:
            return self._construction(made, name)
        raise UnwritableError(f"`{name}`, a {type(value).__name__}, has no text that makes it")

    def name(self, value: Any) -> str:
        """A class or function by its name, which is imported. Raises UnwritableError for one that has none."""
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if getattr(jnp, path, None) is value:
            return f"jnp.{path}"
        if module is None or not path or "<" in path:
            raise UnwritableError(f"{path or value!r} cannot be imported")
        head = path.partition(".")[0]
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not value and unwrap(found) is not unwrap(value):
            raise UnwritableError(f"{module}.{path} is something else by now")
        if module == "builtins":
            return str(path)
        known = self.modules.setdefault(module, [])
        if head not in known:
            known.append(head)
        return str(path)

    def _construction(self, call: LazyCall, name: str) -> str:
        given = [self.expression(value, name) for value in call.args]
        parameters = _parameter_names(call.function)
        given = [self._by_name(parameters, place, text) for place, text in enumerate(given)]
        given += [f"{key}={self.expression(value, key)}" for key, value in call.kwargs.items()]
        return f"{self.name(call.function)}({', '.join(given)})"

    @staticmethod
    def _by_name(parameters: Sequence[str], place: int, text: str) -> str:
        """An argument with its name, where it may have one."""
        return f"{parameters[place]}={text}" if place < len(parameters) else text

    def _array(self, struct: jax.ShapeDtypeStruct, name: str) -> str:
        shape, dtype = tuple(struct.shape), struct.dtype
        if jnp.issubdtype(dtype, jax.dtypes.prng_key):
            return _keys(f"jax.random.key({_SEED})", shape)
        if name_hints.is_key(name) and dtype == jnp.uint32 and shape[-1:] == (2,):
            return _keys(f"jax.random.PRNGKey({_SEED})", shape[:-1])
        make = "ones" if jnp.issubdtype(dtype, jnp.inexact) or dtype == jnp.bool_ else "zeros"
        return f"jnp.{make}({shape}, {dtype.name!r})"


def _keys(key: str, shape: tuple[int, ...]) -> str:
    return f"jax.random.split({key}, {shape})" if shape else key


def _parameter_names(function: Callable[..., object]) -> list[str]:
    """The names of the parameters that an argument in order may be given by."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
