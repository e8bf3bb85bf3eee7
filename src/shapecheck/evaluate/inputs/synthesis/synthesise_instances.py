"""Instances of the user's classes, and what functions of the project make, both of made-up arguments."""

from __future__ import annotations

import dataclasses
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from shapecheck.evaluate.framework_protocol import is_abstract, model_classes, module_name, pytree_classes
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape, body_shapes
from shapecheck.evaluate.inputs.facts.field_sizes import has_one_size_for_each_name
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    is_array_type,
    is_config,
)
from shapecheck.evaluate.inputs.facts.signature_facts import call_descriptions
from shapecheck.evaluate.inputs.project.factories import factories_of
from shapecheck.evaluate.inputs.project.maker_functions import Maker, record_makers
from shapecheck.evaluate.inputs.project.nested_arguments import heads
from shapecheck.evaluate.inputs.project.user_examples import check_names
from shapecheck.evaluate.inputs.synthesis.made_callables import protocol_call
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall, is_plain_leaf
from shapecheck.evaluate.inputs.trials.choices import AS_FILE_MAKES, ONE_OF_STACK, OTHERWISE
from shapecheck.evaluate.own_errors import raise_own_within, suppress_others
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.model import DocstringHint
from shapecheck.shapes import SpecError
from shapecheck.worker.messages.plans import ParameterSpec

_DEPTH = 6
_NUMBERS = (int, float, bool)
_BUILT_IN = ("builtins", "typing", "jax", "jaxlib", "numpy", "collections")


class ArgumentsOf(Protocol):
    """Makes the arguments of one call."""

    def __call__(
        self,
        function: Callable[..., object],
        described: Mapping[str, ParameterSpec],
        given: Mapping[str, object],
        body: Mapping[str, BodyShape],
        *,
        constructing: bool,
    ) -> tuple[list[object], dict[str, object]]:
        """The positional and the named ones."""


class InstanceSynthesis:
    """Calls classes, and functions that make what others take, with the arguments that `arguments` makes.

    `described` and `hints` tell what comments and docstrings say of a function or of the fields of a class;
    `subclasses` which classes of the project derive from one.
    """

    def __init__(
        self,
        arguments: ArgumentsOf,
        values: ValueSynthesis,
        *,
        subclasses: Callable[[type], Sequence[type]],
        described: Callable[[object], Mapping[str, ParameterSpec]],
        hints: Callable[[object], Mapping[str, DocstringHint]],
    ) -> None:
        self._arguments, self._values, self._integers = arguments, values, values.integers
        self._subclasses, self._described, self._hints = subclasses, described, hints
        self.sizes: dict[str, int] = {}  # inside of modules that nobody gave: `model.width`
        self.build: Callable[[LazyCall], object] = abstract_call.build
        self._building: list[Callable[..., object]] = []

    @property
    def is_building(self) -> bool:
        """Whether what is made now is an argument of a constructor or maker."""
        return bool(self._building)

    def instance(self, cls: type, name: str, given: Mapping[str, object] = types.MappingProxyType({})) -> object:
        """An instance of the user's class (a config, a sub-module), its arguments made the same way."""
        if given:
            check_names(cls, heads(given))
        elif not self._building and (made := self._as_file_makes(cls, name)) is not MISSING:
            return made
        try:
            return self._made_instance(cls, name, given)
        except CannotSynthesiseError:
            factories = factories_of(cls) if not given else []
            if not factories:
                # What nothing says of its fields, its own initialiser may know: `init(key, d) -> Weights`.
                makers = record_makers(cls) if not given and not self._building else ()
                made = self.made_by(makers, name) if makers else MISSING
                if made is MISSING:
                    raise
                return made
        factory = factories[self._integers.invention % len(factories)]
        self._values.invent("value", name, f"what {factory.__name__}() makes")
        return LazyCall(factory, [], {})

    def _as_file_makes(self, cls: type, name: str) -> object:
        """What a function beside the class makes of made-up arguments, or MISSING: a choice that the search may take.

        Arrays in which two names of the class have one size would hide that they are mixed up. Raises
        CannotSynthesiseError where it was chosen and no function makes others.
        """
        makers = record_makers(cls)
        place = self._values.place(name)
        if not makers or self._values.choices.way(place, (OTHERWISE, AS_FILE_MAKES)) == OTHERWISE:
            return MISSING
        for maker in makers:
            # The user's function may raise anything, or nothing says what it takes.
            with suppress_others(CannotSynthesiseError, SpecError):
                record = self.build(LazyCall(lambda made: made, [self._made_by(maker, name)], {}))
                is_plain = all(map(is_plain_leaf, jax.tree_util.tree_leaves(record)))
                if isinstance(record, cls) and is_plain and has_one_size_for_each_name(record, self._described):
                    return record
        raise CannotSynthesiseError(f"no function makes `{name}: {cls.__name__}` with sizes of its own for each name")

    def _made_instance(self, cls: type, name: str, given: Mapping[str, object]) -> object:
        """An instance that its class makes of made-up arguments."""
        package = module_name(cls).split(".", 1)[0]
        if package in _BUILT_IN or is_silent(cls):
            raise CannotSynthesiseError(f"no value can be made for `{name}: {cls.__name__}`")
        if cls in model_classes() and cls not in pytree_classes():  # which has no call: nobody passes one
            raise CannotSynthesiseError(f"nothing says of which class `{name}: {cls.__name__}` is")
        if cls in self._building or len(self._building) >= _DEPTH:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}` holds itself")
        if is_abstract(cls) or getattr(cls, "_is_protocol", False):
            return self._concrete(cls, name, given)
        descriptions = call_descriptions(cls, self._described)
        # A stack of them is called the same: what holds for one alone proves nothing against a claim.
        parameters = inspect.signature(cls).parameters
        has_arrays = bool(descriptions.keys() & parameters.keys()) or _keeps_numbers(cls, parameters)
        stacked = has_arrays and self._values.choices.is_stacked(self._values.place(name))
        self._values.assignment.stacks += stacked
        self._building.append(cls)
        chosen = self._integers.chosen
        before = set(chosen)
        try:
            inside = self._values.assignment.within(cls, name)
            with inside, self._integers.within(name, is_config=is_config(cls)):
                body = body_shapes(cls, descriptions, self._hints(cls))
                positional, named = self._arguments(cls, descriptions, given, body, constructing=True)
            if descriptions and not stacked:  # the choice says it else
                self._values.invent("value", name, f"one {cls.__name__}")
            if cls in model_classes():  # whoever passes a module passes one that has something in it
                self._values.invent("value", name, "a module with nothing in it")
            if not is_config(cls):
                sizes = sorted(each for each in chosen.keys() - before if not name_hints.is_fixed(each))
                self.sizes.update({f"{name}.{each}": chosen[each] for each in sizes})
            made = LazyCall(cls, positional, named)
            return LazyCall(_with_axis, [made, self._values.assignment.stack_length()], {}) if stacked else made
        except CannotSynthesiseError as error:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}`: {error}", error.parameters) from None
        finally:
            self._values.assignment.stacks -= stacked
            self._building.pop()

    def _concrete(self, cls: type, name: str, given: Mapping[str, object]) -> object:
        """An instance of a class that derives from an abstract one: of several any will do, but each in its own way."""
        candidates = [each for each in self._subclasses(cls) if not is_abstract(each)]
        call = protocol_call(cls)
        if call is not None and is_array_type(call[1]):  # its subclasses take and give the same
            return self._values.made_callable(*call, name)
        first = self._integers.invention % len(candidates) if candidates else 0
        for candidate in (*candidates[first:], *candidates[:first]):
            try:
                instance = self.instance(candidate, name, given)
            except CannotSynthesiseError:
                continue
            if len(candidates) > 1:
                self._values.invent("value", name, f"one {candidate.__name__}")
            return instance
        raise CannotSynthesiseError(f"`{name}: {cls.__name__}` is abstract")

    def made_by(self, makers: Sequence[Maker], name: str) -> object:
        """What one of the project's functions makes, or MISSING: of several any will do, but each in its own way.

        Where the code needs it, it is one of what is stacked in that, as a scan over the layers hands it on.
        """
        first = self._integers.invention % len(makers)
        for maker in (*makers[first:], *makers[:first]):
            try:
                made = self._made_by(maker, name)
            except CannotSynthesiseError:
                continue
            if not maker.sure or len(makers) > 1:
                self._values.invent("value", name, f"what {maker.function.__name__}() makes")
            if isinstance(maker.function, type):
                return made
            whole = self._values.choices.likeness(self._values.place(name), (AS_FILE_MAKES, ONE_OF_STACK))
            return made if whole == AS_FILE_MAKES else LazyCall(_first_of_each, [made], {})
        return MISSING

    def made_by_method(self, model: object, maker: Maker, name: str) -> Any:
        """What a method of a model makes, of made-up arguments."""
        method = maker.function.__name__
        call = self._call(getattr(model, method), name)
        return _part_of(LazyCall(_call_method, [model, method, *call.args], call.kwargs), maker.part)

    def _made_by(self, maker: Maker, name: str) -> object:
        """What a function of the project makes of made-up arguments."""
        function = maker.function
        if isinstance(function, type):
            return _part_of(self.instance(function, name), maker.part)
        return _part_of(self._call(function, name), maker.part)

    def _call(self, function: Callable[..., object], name: str) -> LazyCall:
        """A call of what makes the argument `name`, with made-up arguments of its own."""
        if function in self._building or len(self._building) >= _DEPTH:
            raise CannotSynthesiseError(f"`{name}` is made of itself")
        self._building.append(function)
        before = set(self._integers.chosen)
        try:
            with self._integers.within(name, is_config=False):
                descriptions = self._described(function)
                body = body_shapes(function, descriptions)
                positional, named = self._arguments(function, descriptions, {}, body, constructing=True)
            sizes = sorted(each for each in self._integers.chosen.keys() - before if not name_hints.is_fixed(each))
            self.sizes.update({f"{name}.{each}": self._integers.chosen[each] for each in sizes})
            return LazyCall(function, positional, named)
        finally:
            self._building.pop()


def _part_of(made: Any, part: int | None) -> Any:
    return made if part is None else LazyCall(operator.itemgetter(part), [made], {})


def _keeps_numbers(cls: type, parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether what is stacked of a record may be its numbers: `steps: int` of a state that `vmap` maps over."""
    names = {each.name for each in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set[str]()
    if not (issubclass(cls, tuple) or (names and names >= parameters.keys())) or cls in model_classes():
        return False  # what another constructor takes is no number that it keeps
    annotations = (annotation_of(cls, each.name, each.annotation) for each in parameters.values())
    return any(each in _NUMBERS for each in annotations) and _is_pytree(cls)


def _is_pytree(cls: type) -> bool:
    """Whether JAX looks into instances of a class; a bare one has nothing yet that could be found."""
    if issubclass(cls, tuple):
        return True
    try:
        bare = object.__new__(cls)
    except TypeError:  # an abstract class, or one of another layout
        return False
    try:
        return jax.tree_util.tree_leaves(bare) != [bare]
    except Exception as error:  # of the class's own way, which looks for its fields
        raise_own_within(error)
        return True


def _with_axis(made: Any, length: Any) -> Any:
    """A stack of records, of which one was made with arrays that have the axis already."""

    def stack(leaf: object) -> object:
        return jnp.zeros((length,), type(leaf)) if type(leaf) in _NUMBERS else leaf

    return jax.tree_util.tree_map(stack, made)


def _first_of_each(made: Any) -> Any:
    """The first of what is stacked in each array."""
    return jax.tree_util.tree_map(lambda leaf: leaf[0] if is_array(leaf) and leaf.ndim else leaf, made)


def _call_method(model: object, method: str, /, *args: object, **kwargs: object) -> object:
    return getattr(model, method)(*args, **kwargs)


def is_silent(cls: type) -> bool:
    """Whether a class is built in and says nothing of its arguments: `torch.Tensor`, `datetime.datetime`."""
    try:
        inspect.signature(cls)
    except (TypeError, ValueError):
        return True
    return False
