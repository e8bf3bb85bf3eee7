"""Arguments made from annotations, names and defaults, for constructors and calls."""

from __future__ import annotations

import collections.abc
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.stage.protocol import Described
from shapecheck.stage.search import hints
from shapecheck.stage.search.annotations import (
    MISSING,
    admits_integer,
    annotation_of,
    is_array_type,
    is_config,
    is_jaxtyped,
    is_plain_array,
    preference,
    signature_of,
)
from shapecheck.stage.search.deferred import Deferred, activation, promised
from shapecheck.stage.search.examples import check_names
from shapecheck.stage.search.inner import cannot, classes_in, default_with, heads, parted
from shapecheck.stage.search.sizes import Assignment

ALL_EQUAL = 2
CONSTRUCTIONS = (0, 1, 3, ALL_EQUAL)
"""How integers of constructors are chosen, in the order of trying. See `Synthesis`."""

DEFAULTS_FIRST = (1, 0, 3, ALL_EQUAL)
"""The same for what is to be shown as it is: integers that have defaults keep them if that goes."""

_DEPTH = 6


class CannotSynthesiseError(Exception):
    """No value can be made for a parameter; the text says which, and why.

    `parameters` are all of that function, `cfg.depth` if it is one of `cfg`; a constructor has them if `constructing`.
    """

    def __init__(self, text: str, parameters: tuple[str, ...] = (), *, constructing: bool = False) -> None:
        super().__init__(text)
        self.parameters, self.constructing = parameters, constructing


class Synthesis:
    """Makes values under one assignment of sizes.

    `variant` chooses the constructor's integers: 0 distinct sizes even over defaults, 1 defaults kept, 2 all plain
    sizes equal, 3 as 0 but with sizes for integers that default to None. Every integer chosen is noted in `chosen`
    under its parameter's name.
    """

    def __init__(
        self,
        assignment: Assignment,
        *,
        variant: int = 0,
        pinned: Mapping[str, int] = types.MappingProxyType({}),
        subclasses: Callable[[type], Sequence[type]] = lambda cls: (),
    ) -> None:
        self.assignment = assignment
        self.variant = variant
        self.pinned = pinned
        self.subclasses = subclasses
        self.chosen: dict[str, int] = {}
        self.guessed = False
        self.made_up: set[int] = set()  # sizes inside of modules that nobody gave
        self.kept: dict[str, int] = {}  # defaults
        self._used: set[int] = set()
        self._building: list[type] = []
        self._inside: list[str] = []  # the parameters for which that is
        self._constructs = False

    def arguments(
        self,
        function: Callable[..., Any],
        described: Mapping[str, Described] = types.MappingProxyType({}),
        given: Mapping[str, Any] = types.MappingProxyType({}),
        *,
        skip: int = 0,
        constructing: bool = False,
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments for `function`: `described` gives spec and dtype of arrays told by comments or docstrings.

        Those that are `given` may be arguments of others: `cfg.depth` of `cfg`. Raises CannotSynthesiseError for the
        first parameter that nothing explains, ExampleError for a given one that is not there.
        """
        given, inner = parted(given)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        parameters = list(_signature(function).parameters.values())[skip:]
        problems: list[CannotSynthesiseError] = []
        if not self._building:
            self._constructs = constructing
        self._tie_integers(function, parameters, given, constructing)
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.name in given and parameter.kind is not parameter.POSITIONAL_ONLY:
                named[parameter.name] = given[parameter.name]
                continue
            try:
                if parameter.name in inner:
                    value = self._with(function, parameter, inner[parameter.name])
                else:
                    value = self._argument(function, parameter, described.get(parameter.name), constructing)
            except CannotSynthesiseError as error:
                own = [f"{parameter.name}.{name}" for name in error.parameters] or [parameter.name]
                problems.append(CannotSynthesiseError(str(error), tuple(own), constructing=constructing))
                continue
            if value is MISSING:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            elif len(positional) == _index(function, parameter.name, skip):
                positional.append(value)
            else:
                named[parameter.name] = value
        if problems:
            names = tuple(name for problem in problems for name in problem.parameters)
            raise CannotSynthesiseError(str(problems[0]), names, constructing=constructing)
        return positional, named

    def _with(self, function: Any, parameter: inspect.Parameter, given: Mapping[str, Any]) -> Any:
        """An argument of whose own arguments some are given: its default, else an instance of its class."""
        name, default = parameter.name, parameter.default
        value = default_with(default, given)
        if value is not None:
            return value
        classes = classes_in(annotation_of(function, name, parameter.annotation)) or classes_in(type(default))
        if not classes:
            raise cannot(name, given)
        return self._instance(classes[0], name, given)

    def only(
        self, names: Sequence[str], function: Callable[..., Any], described: Mapping[str, Described]
    ) -> dict[str, Any]:
        """Arguments for these parameters alone. Raises CannotSynthesiseError as `arguments` does."""
        parameters = _signature(function).parameters
        return {n: self._argument(function, parameters[n], described.get(n), constructing=False) for n in names}

    def _tie_integers(
        self, function: Any, parameters: Sequence[inspect.Parameter], given: Mapping[str, Any], constructing: bool
    ) -> None:
        """An integer parameter that is named as a dim is the size of that dim."""
        for parameter in parameters:
            name = parameter.name
            if name not in self.assignment.free or annotation_of(function, name, parameter.annotation) is not int:
                continue
            size = given[name] if name in given else self._argument(function, parameter, None, constructing)
            size = parameter.default if size is MISSING else size
            if type(size) is int:
                self.assignment.know(name, size)

    def _argument(
        self, function: Any, parameter: inspect.Parameter, described: Described | None, constructing: bool
    ) -> Any:
        name, default = parameter.name, parameter.default
        annotation = annotation_of(function, name, parameter.annotation)
        if default is not MISSING:
            wants_key = hints.is_key(name) and default is None
            if wants_key:
                return self._key(annotation)
            # A size-like integer gets a distinct size even where it has a default, which could hide a mix-up.
            plain = isinstance(default, int) and not isinstance(default, bool) and hints.may_replace(name)
            if type(default) is int:
                self.kept.setdefault(name, default)
            if name in self.pinned or (constructing and self.variant != 1 and plain):
                return self.integer(name)
            if not (constructing and self.variant == 3 and default is None and admits_integer(annotation)):
                return MISSING
            return self.integer(name)
        if described is not None and not is_array_type(annotation):
            return self.assignment.array(described.spec, described.dtype, name)
        try:
            return self.value(annotation, name, constructing=constructing)
        except CannotSynthesiseError:
            if default is not MISSING:
                return MISSING
            raise

    def value(self, annotation: Any, name: str, *, constructing: bool = False) -> Any:
        """A value of the annotated type, by type first and then by name."""
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation in (MISSING, Any):
            return self._by_name(name, constructing)
        if origin is typing.Annotated or origin in (typing.Final, typing.ClassVar):
            return self.value(arguments[0], name)
        if isinstance(annotation, typing.TypeVar):
            return self.value(annotation.__bound__ or (annotation.__constraints__ or (Any,))[0], name)
        if origin in (Union, types.UnionType):
            return self._union(arguments, name)
        if origin is Literal:
            return arguments[0]
        if is_jaxtyped(annotation):
            return self.assignment.array(annotation.dim_str, annotation.dtype.__name__, name)
        if origin in (tuple, list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection):
            return self._sequence(origin, arguments, name)
        if origin in (dict, collections.abc.Mapping) and len(arguments) == 2 and arguments[0] is str:
            return {"a": self.value(arguments[1], name)}
        if origin is collections.abc.Callable or annotation in (Callable, collections.abc.Callable):
            return self._callable(arguments, name)
        if annotation is type(None) or annotation is None:
            return None
        if annotation is collections.abc.Hashable and name.endswith("axis_name"):
            return "batch"
        return self._plain(annotation if origin is None else origin, name)

    def _callable(self, arguments: Sequence[Any], name: str) -> Callable[..., Any]:
        """A function that gives what its annotation promises, else one that keeps shapes."""
        if len(arguments) == 2 and is_array_type(arguments[1]):
            try:
                return functools.partial(promised, self.value(arguments[1], name))
            except CannotSynthesiseError:
                pass
        # What it does to shapes is made up, unless it is an activation: that proves nothing against a claim.
        self.guessed = self.guessed or not hints.is_activation(name)
        return activation

    def _plain(self, annotation: Any, name: str) -> Any:
        label = getattr(annotation, "__name__", str(annotation))
        if annotation is bool:
            return False
        if annotation in (int, np.integer):
            return self.integer(name)
        if annotation is float:
            return 0.5
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return next(iter(annotation))
        if label == "Rngs" and isinstance(annotation, type) and annotation.__module__.startswith("flax."):
            return Deferred(annotation, [0], {})
        if label in ("PRNGKeyArray", "KeyArray") or hints.is_key(name):
            return self._key(annotation)
        if label in ("DTypeLike", "DType", "dtype"):
            return jnp.float32
        if any(c.__name__ == "PyTree" for c in getattr(annotation, "__mro__", ())):
            return self._pytree(annotation, name)
        if annotation is str:
            raise CannotSynthesiseError(f"`{name}: str` has no default")
        if isinstance(annotation, type) and annotation not in (jax.Array, np.ndarray, object):
            return self._instance(annotation, name)
        if is_plain_array(annotation):
            return self._plain_array((), name)
        raise CannotSynthesiseError(f"nothing says the shape of `{name}`")

    def _by_name(self, name: str, constructing: bool) -> Any:
        nnx: Any = sys.modules.get("flax.nnx")
        if constructing and name == "rngs" and nnx is not None:
            return Deferred(nnx.Rngs, [0], {})
        if hints.is_key(name):
            return self._key(None)
        if hints.is_count(name) or (constructing and hints.is_size_like(name) and len(name) > 1):
            return self.integer(name)
        raise CannotSynthesiseError(f"`{name}` has no annotation, and no comment or docstring describes it")

    def _pytree(self, annotation: Any, name: str) -> Any:
        leaf = getattr(annotation, "leaftype", Any)
        if name == "args":  # by the custom of differential equation and optimisation libraries
            return None
        try:
            return self.value(leaf, name)
        except CannotSynthesiseError:
            # Any pytree will do, so one array; but what follows from its shape proves nothing against a claim.
            self.guessed = True
            return self.assignment.array("_", "Float", name)

    def _union(self, members: Sequence[Any], name: str) -> Any:
        if any(is_plain_array(m) for m in members):
            return self._plain_array(members, name)
        if type(None) in members and not any(is_array_type(m) for m in members):
            return None
        problem: CannotSynthesiseError | None = None
        for member in sorted(members, key=preference):
            try:
                return self.value(member, name)
            except CannotSynthesiseError as error:
                problem = problem or error
        raise problem or CannotSynthesiseError(f"`{name}` is an empty union")

    def _plain_array(self, members: Sequence[Any], name: str) -> Any:
        """An array that nothing describes: a number where that may stand for it, else one of a guessed rank.

        What follows from the guess may confirm a claim, and proves nothing against it.
        """
        self.guessed = True
        if float in members or int in members:
            return 0.5 if float in members else self.integer(name)
        return self.assignment.array(f"*{name}", "", name)

    def _sequence(self, origin: Any, arguments: Sequence[Any], name: str) -> Any:
        if origin is tuple and arguments and Ellipsis not in arguments:
            return tuple(self.value(a, f"{name}") for a in arguments)
        element = arguments[0] if arguments else Any
        values = [self.value(element, name), self.value(element, name)]
        return values if origin is list else tuple(values)

    def integer(self, name: str) -> int:
        """A size for the integer `name`: pinned, particular to the name, or distinct from all others."""
        made = self.assignment.made
        if name in self.pinned:
            size = self.pinned[name]
        elif name in self.chosen:
            size = self.chosen[name]
        else:
            size = made.chosen[name] = self._made_up(name)
            if self._constructs:
                made.places[name] = ".".join([*self._inside, name])
        self.chosen.setdefault(name, size)
        return size

    def _made_up(self, name: str) -> int:
        made = self.assignment.made
        if self.variant in (0, 1) and name in made.integers:
            return made.integers[name]
        particular = hints.particular_size(name)
        if particular is not None:
            return particular
        if self.variant == ALL_EQUAL:
            return hints.CONSTRUCTOR_SIZES[0]
        taken = {*self._used, *made.integers.values()}
        free = [s for s in hints.CONSTRUCTOR_SIZES if s not in taken]
        size = free[0] if free else hints.CONSTRUCTOR_SIZES[-1] + 16 * len(self._used)
        self._used.add(size)
        return size

    def _key(self, annotation: Any) -> Any:
        return self.assignment.key(typed=getattr(getattr(annotation, "dtype", None), "__name__", "") == "Key")

    def _instance(self, cls: type, name: str, given: Mapping[str, Any] = types.MappingProxyType({})) -> Any:
        """An instance of the user's class (a config, a sub-module), its arguments made the same way."""
        check_names(cls, heads(given))
        if cls.__module__.split(".", 1)[0] in ("builtins", "typing", "jax", "jaxlib", "numpy", "collections"):
            raise CannotSynthesiseError(f"no value can be made for `{name}: {cls.__name__}`")
        if cls in self._building or len(self._building) >= _DEPTH:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}` holds itself")
        if inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
            return self._concrete(cls, name, given)
        self._building.append(cls)
        self._inside.append(name)
        before = set(self.chosen)
        try:
            positional, named = self.arguments(cls, given=given, constructing=True)
            if not is_config(cls):
                self.made_up.update(self.chosen[name] for name in self.chosen.keys() - before)
            return Deferred(cls, positional, named)
        except CannotSynthesiseError as error:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}`: {error}", error.parameters) from None
        finally:
            self._building.pop()
            self._inside.pop()

    def _concrete(self, cls: type, name: str, given: Mapping[str, Any]) -> Any:
        for candidate in self.subclasses(cls):
            if not inspect.isabstract(candidate):
                try:
                    return self._instance(candidate, name, given)
                except CannotSynthesiseError:
                    continue
        raise CannotSynthesiseError(f"`{name}: {cls.__name__}` is abstract")


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return signature_of(function)
    except (TypeError, ValueError) as error:
        raise CannotSynthesiseError(f"its parameters cannot be read ({error})") from None


def _index(function: Callable[..., Any], name: str, skip: int) -> int:
    return list(_signature(function).parameters).index(name) - skip
