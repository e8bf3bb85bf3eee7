"""One argument, made as the surest source tells of it: default, description, calls, makers, annotation, or name."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Union

import jax

from shapecheck.evaluate.framework_protocol import (
    apply_variables,
    key_maker,
)
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape, unpacked_parts
from shapecheck.evaluate.inputs.facts.called_models import called_models
from shapecheck.evaluate.inputs.facts.handed_parts import is_used, parts_of
from shapecheck.evaluate.inputs.facts.known_modes import known_modes
from shapecheck.evaluate.inputs.facts.known_numbers import holds_sizes, number_kind, refuses_integer
from shapecheck.evaluate.inputs.facts.known_texts import known_texts, only_keeps, reaches_out
from shapecheck.evaluate.inputs.facts.like_parts import like_parts
from shapecheck.evaluate.inputs.facts.namesake_annotations import annotations_of_derived, namesake_annotations
from shapecheck.evaluate.inputs.facts.numpy_generators import numpy_generator
from shapecheck.evaluate.inputs.facts.optimizer_calls import optimizer_role
from shapecheck.evaluate.inputs.facts.random_keys import admits_key
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    admits_integer,
    annotation_of,
    holds_anything,
    holds_plain_array,
    is_array_type,
    is_callable,
    leaves_open,
    may_be_none,
    signature_of,
)
from shapecheck.evaluate.inputs.facts.signature_facts import written_specs
from shapecheck.evaluate.inputs.facts.types_by_use import admits_none, default_where_it_goes, type_by_use
from shapecheck.evaluate.inputs.project.call_sites import CallSites, WrittenArray
from shapecheck.evaluate.inputs.project.maker_functions import Maker, looks_up_keys, makers_of, own_makers
from shapecheck.evaluate.inputs.synthesis.arrange_parts import arrange_parts
from shapecheck.evaluate.inputs.synthesis.described_arguments import DescribedArguments, with_leading_axes
from shapecheck.evaluate.inputs.synthesis.made_integers import AS_CALLED, DEFAULTS_KEPT, OVER_NONE
from shapecheck.evaluate.inputs.synthesis.made_optimizer import MadeOptimizer
from shapecheck.evaluate.inputs.synthesis.recognised_arguments import RecognisedArguments
from shapecheck.evaluate.inputs.synthesis.synthesise_instances import InstanceSynthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall, is_plain_leaf
from shapecheck.evaluate.inputs.trials.choices import (
    AS_MADE,
    OTHERWISE,
    ArgumentChoices,
    Keys,
    axes_text,
)
from shapecheck.evaluate.inputs.trials.later_variables import LaterArgument
from shapecheck.evaluate.own_errors import raise_own
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.model import DocstringHint, InferredParameter
from shapecheck.model.claim import ANY_ARRAY, ARRAY_OR_NUMBER
from shapecheck.shapes import SpecError
from shapecheck.worker.messages.plans import ParameterSpec

_HOLDING: Final = (dict, collections.abc.Mapping, list, collections.abc.Sequence)
_PLAIN_TYPES: Final[Mapping[str, type]] = {each.__name__: each for each in (bool, float, int, str)}  # of docstrings
_LAYERS = 3  # widths of a sequence of layers that is made up: two layers
_LEAST_SIZE = 2  # smaller integers are places of axes, or switches


@dataclass(frozen=True)
class Owner:
    """A model, the method of it that is called, and what evaluates a call so that nothing of it is observed."""

    model: object
    method: Callable[..., object]
    build: Callable[[LazyCall], object]


class ArgumentSources:
    """Makes one argument of what is known of its parameter; what is less sure counts as an invention of `values`.

    `claimed` tells which names the claims of a function use, `inferred` what these say that its parameters are.
    """

    def __init__(
        self,
        values: ValueSynthesis,
        instances: InstanceSynthesis,
        *,
        keys: Keys,
        choices: ArgumentChoices,
        hints: Callable[[object], Mapping[str, DocstringHint]],
        call_sites: CallSites,
        claimed: Callable[[object], tuple[frozenset[str], ...]],
        inferred: Callable[[object], Mapping[str, InferredParameter]],
    ) -> None:
        self._values, self._instances, self._integers = values, instances, values.integers
        self._keys, self._choices, self._hints, self._call_sites = keys, choices, hints, call_sites
        self._claimed, self._inferred = claimed, inferred
        self.took_from_calls = False
        self.made_beside: Mapping[str, object] = {}  # arguments of the same call that are made already, by parameter
        self.owner: Owner | None = None  # whose method it is that arguments are made for
        self.later: dict[str, LaterArgument] = {}  # variables that are made when a model asks for them
        self.described = DescribedArguments(values, instances, choices)
        self.recognised = RecognisedArguments(values, instances, call_sites)

    def argument(
        self,
        function: Callable[..., object],
        parameter: inspect.Parameter,
        described: ParameterSpec | BodyShape | None,
        constructing: bool,
        said: Mapping[str, ParameterSpec | BodyShape] = types.MappingProxyType({}),
    ) -> object:
        """A value for this parameter, or MISSING where its default is kept.

        It is `described` by a comment, a docstring or how the body takes it, as others (`said`) are. Raises
        CannotSynthesiseError if no source tells of it.
        """
        name, default = parameter.name, parameter.default
        annotation = annotation_of(function, name, parameter.annotation)
        hint = self._hints(function).get(name) if annotation in (MISSING, str) and default is MISSING else None
        if annotation is MISSING and hint is not None and not isinstance(described, ParameterSpec):
            annotation = _hinted_type(function, hint.type)
        if annotation is MISSING and default is MISSING and not isinstance(described, ParameterSpec):
            annotation = type_by_use(function, name)
        if self._integers.variant == AS_CALLED and constructing and not is_array_type(annotation):
            called = self._as_called(function, name)
            if called is not MISSING:
                return called
        is_key = name_hints.is_key(name, self._values.beside)
        if default is MISSING and (generator := numpy_generator(function, name, annotation)) is not None:
            return generator
        if default is None and not is_key and self._choices.is_given(self._values.place(name)):
            annotation, default = without_none(function, parameter), MISSING
        if annotation is int and default is MISSING and (modes := known_modes(function, name)):
            return self._choices.mode(self._values.place(name), modes)
        if default is not MISSING:
            if default is None and described is None and is_key and admits_key(annotation):
                self._keys.optional = True
                return MISSING if self._keys.choice == "left out" else self._values.key(annotation, name)
            if key_maker(type(default), "") is not None:  # it counts what is drawn, which no trace lets it do
                return self._values.value(type(default), name, constructing=constructing)
            if type(default) is int and refuses_integer(function, name, default):
                return self._integers.choose(name)
            if type(default) is int and known_modes(function, name):
                return MISSING
            return self._over_default(name, annotation, default, constructing)
        if annotation is str:
            if texts := known_texts(function, name) or (hint.texts if hint is not None else ()):
                return self._choices.text(self._values.place(name), texts)
            if only_keeps(function):
                return self._values.kept_text(name)
            if reaches_out(function):
                raise CannotSynthesiseError(f"`{name}: str` has no default")
            if not name_hints.is_place(name) and (called := self._as_called(function, name, only=str)) is not MISSING:
                return called
        if annotation is Path and only_keeps(function):
            return Path(self._values.kept_text(name))
        if described is None and not constructing and not is_array_type(annotation):
            role = optimizer_role(function, name)
            if role:
                return MadeOptimizer() if role == "optimizer" else ()
        if not is_key and not isinstance(described, ParameterSpec):
            made = self._as_owner_makes(function, name, annotation)
            if made is not MISSING:
                return made
            made = self.recognised.as_record(function, name) if parameter.annotation is parameter.empty else MISSING
            if made is not MISSING:
                return made
            made = self.recognised.as_settings(function, name, annotation)
            if made is not MISSING:
                return made
        is_open_array = isinstance(described, BodyShape) and not is_key and may_be_none(annotation)
        if is_open_array and self._values.is_none(name):
            return None
        made = self._as_described(function, name, annotation, described)
        if made is not MISSING:
            return made
        is_open = annotation in (MISSING, Any) or holds_anything(annotation)
        makers = makers_of(function, name) if is_open and not (is_key or name_hints.is_dtype(name)) else ()
        if leaves_open(annotation) and not (makers and makers[0].sure):
            made = self.described.of_parts(function, name, said)
            if made is not MISSING:
                return made
        if makers and (made := self._instances.made_by(makers, name)) is not MISSING:
            return made
        if keys := _looked_up_keys(function, name, annotation):
            each = typing.get_args(annotation)[1]
            return {key: self._values.value(each, key, constructing=constructing) for key in keys}
        if annotation in (MISSING, Any) and constructing and holds_sizes(function, name):
            return self._sizes(function, name)
        try:
            return self._values.value(annotation, name, constructing=constructing)
        except CannotSynthesiseError as error:
            made = self._as_owner_makes(function, name, annotation, is_needed=True) if not is_key else MISSING
            if made is MISSING:
                made = self._as_derived_says(function, name, annotation)
            if made is not MISSING:
                return made
            if annotation in (MISSING, Any) and (found := self._make_undescribed(function, name, said, constructing)):
                return found[0]
            made = self._like_another(function, name) if annotation in (MISSING, Any, dict) else MISSING
            if made is MISSING:
                made = self.described.of_parts(function, name, said, as_taken=True)
            if made is not MISSING:
                return made
            if not constructing and not self._instances.is_building and apply_variables():
                self.later[name] = LaterArgument(name, error)
                return self.later[name]
            raise

    def _as_owner_makes(
        self, function: Callable[..., object], name: str, annotation: object, *, is_needed: bool = False
    ) -> object:
        """What another method of the same model makes for this one, or MISSING: of a class of the user's at last.

        The fields of that may say more than the other method's own arguments, which are made up. It is `is_needed`
        where nothing else makes it.
        """
        owner = self.owner
        if owner is None or owner.method is not function:
            return MISSING
        makers = own_makers(type(owner.model), function, name)
        if not makers:
            return MISSING
        ways = (AS_MADE, OTHERWISE) if is_needed or leaves_open(annotation) else (OTHERWISE, AS_MADE)
        if not is_needed and self._choices.way(self._values.place(name), ways) == OTHERWISE:
            return MISSING
        first = self._integers.invention % len(makers)
        tried = (self._made_by_owner(owner, each, name) for each in (*makers[first:], *makers[:first]))
        return next((made for made in tried if made is not MISSING), MISSING)

    def _made_by_owner(self, owner: Owner, maker: Maker, name: str) -> object:
        """What one method of the model makes, abstractly; MISSING if it cannot be called, or raises."""
        try:
            call = self._instances.made_by_method(owner.model, maker, name)
            made = owner.build(call)
        except (CannotSynthesiseError, SpecError):  # nothing says what the method takes
            return MISSING
        except Exception as error:  # of the user's code
            raise_own(error)
            return MISSING
        self._values.invent("value", name, f"what {maker.function.__name__}() makes")
        return made if all(map(is_plain_leaf, jax.tree_util.tree_leaves(made))) else call

    def _over_default(self, name: str, annotation: object, default: object, constructing: bool) -> object:
        """An integer in the place of a default, or MISSING.

        A size-like integer gets a distinct size even where it has a default, which could hide a mix-up.
        """
        is_plain = isinstance(default, int) and not isinstance(default, bool) and name_hints.may_replace(name)
        is_plain &= name not in self._integers.settled
        variant, is_pinned = self._integers.variant, name in self._integers.pinned
        if type(default) is int:
            self._integers.kept.setdefault(name, default)
        if constructing and variant != DEFAULTS_KEPT and is_plain and not is_pinned:
            self._integers.defaults_replaced = True
            return self._integers.choose(name)
        if type(default) is int and self._choices.has_few_turns(name) and not is_pinned:
            return self._integers.choose(name)
        over_none = constructing and variant == OVER_NONE and default is None and admits_integer(annotation)
        return self._integers.choose(name) if is_pinned or over_none else MISSING

    def _as_described(
        self,
        function: Callable[..., object],
        name: str,
        annotation: object,
        described: ParameterSpec | BodyShape | None,
    ) -> object:
        """As a comment or docstring describes it, or as the body takes it; MISSING if the annotation says more."""
        is_untyped = annotation in (MISSING, Any)
        described = self.described.likeness(name, described)
        if isinstance(described, BodyShape):
            if annotation in (int, bool, str):
                return MISSING
            if is_untyped and holds_sizes(function, name):
                return self._sizes(function, name)
            kind = number_kind(function, name) if is_untyped else ""
            if kind == "integer":
                return self._integers.choose(name)
            if kind == "scalar":
                return self._values.number(name)
            if looks_up_keys(function, name):
                return MISSING
            called = MISSING if described.exact else self._as_called(function, name, only=WrittenArray)
            return self._values.as_taken(name, described) if called is MISSING else called
        if described is not None and is_array_type(annotation):
            spec = with_leading_axes(annotation, described.spec)
            return MISSING if spec is None else self.described.array(annotation, name, replace(described, spec=spec))
        if described is None:
            return MISSING
        if is_callable(annotation):  # what its calls give, if the type does not say it: `f: Callable  # (n,) -> (m,)`
            if not leaves_open(annotation):
                return MISSING
            return arrange_parts(name, {(None,): self.described.array(MISSING, name, described)})
        if not described.leaves or holds_plain_array(annotation):
            return self.described.array(annotation, name, described)
        if typing.get_origin(annotation) in _HOLDING:  # "dict of metrics, each of shape (batch, steps)"
            with contextlib.suppress(CannotSynthesiseError), self._values.alike(described):
                return self._values.value(annotation, name)
        if not is_untyped and annotation is not tuple:
            return MISSING
        parts = unpacked_parts(function, name)
        if not parts:  # it may as well be a tuple of numbers
            self._values.invent("value", name, "a tuple of two arrays")
            parts = 2
        return tuple(self.described.array(MISSING, name, described) for _ in range(parts))

    def _make_undescribed(
        self,
        function: Callable[..., object],
        name: str,
        said: Mapping[str, ParameterSpec | BodyShape],
        constructing: bool,
    ) -> tuple[object, ...]:
        """What nothing describes, as the body and other code of the project take it; nothing if they do not tell."""
        if holds_sizes(function, name):
            return (self._sizes(function, name),)
        kind = number_kind(function, name)
        hint = self._hints(function).get(name)
        if hint is not None and hint.type == ANY_ARRAY:
            return (self._values.some_array(name),)
        if hint is not None and hint.type == ARRAY_OR_NUMBER:
            return (self._values.value(jax.Array | float, name),)
        is_dim = any(name in names for names in self._claimed(function))  # of what the body says no shape
        if kind == "integer" or is_dim or (kind and constructing):  # constructors mostly compute with sizes
            return (self._integers.choose(name),)
        if kind == "scalar":
            return (self._values.number(name),)
        if kind and name_hints.is_scalar(name):
            return (self._values.number_or_array(name),)
        if (called := self._as_called(function, name)) is not MISSING:
            return (called,)
        described = {text: each for text, each in said.items() if isinstance(each, ParameterSpec)}
        is_beside_others = bool(written_specs(function, described))
        if (is_beside_others or not name.strip("_")) and not is_used(function, name, described):
            return (None,)  # such as what a scan gives its body beside the carry
        for annotation in namesake_annotations(function, name):
            with contextlib.suppress(CannotSynthesiseError):
                made = self._values.value(annotation, name, constructing=constructing)
                self._values.invent("value", name, f"{type_name(annotation)}, as elsewhere in the file")
                return (made,)
        if admits_none(function, name):
            return (None,)
        if (default := default_where_it_goes(function, name)) is not MISSING:
            if default is not None:
                self._values.invent("value", name, f"{default!r}, the default where it goes")
            return (default,)
        for cls in called_models(function, name) if not (constructing and isinstance(function, type)) else ():
            with contextlib.suppress(CannotSynthesiseError):
                made = self._instances.instance(cls, name)
                self._values.invent("value", name, f"one {cls.__name__}")
                return (made,)
        if kind and not is_beside_others and self._is_beside_sizes(function, name):
            return (self._values.number(name),)
        if kind and is_beside_others:
            return (self._values.number_or_array(name),)
        if not constructing and name_hints.is_array(name) and not parts_of(function, name):
            return (self._values.some_array(name),)
        if name_hints.is_one_number(name):
            return (self._values.number(name),)
        if not constructing and (parts := parts_of(function, name)) and all(each.keys == (None,) for each in parts):
            return (self._values.stand_in(name),)
        guess = self._inferred(function).get(name)
        if guess is None or constructing:
            return ()
        self.described.inferred[name] = guess.spec
        return (self._values.as_taken(name, BodyShape(guess.spec, "", exact=True, named=True)),)

    def _as_derived_says(self, function: Callable[..., object], name: str, annotation: object) -> object:
        """What the methods of the model's own class take under this name, where a base names an abstract type."""
        owner = self.owner
        if owner is None or owner.method is not function or not isinstance(annotation, type):
            return MISSING
        for each in annotations_of_derived(type(owner.model), name):
            if each is not annotation:
                with contextlib.suppress(CannotSynthesiseError):
                    return self._values.value(each, name)
        return MISSING

    def _like_another(self, function: Callable[..., object], name: str) -> object:
        """As a part of another argument, made already, that goes to the same place; MISSING if there is none."""
        parts = {str(part): part for part in like_parts(function, name) if part.parameter in self.made_beside}
        if not parts:
            return MISSING
        chosen = parts.get(self._choices.likeness(self._values.place(name), tuple(parts)))
        if chosen is None:
            return MISSING  # it is to be like nothing
        if len(parts) == 1:
            self.recognised.known[name] = f"as {chosen} is"
        else:
            self._values.invent("value", name, f"as {chosen} is")
        made = self.made_beside[chosen.parameter]
        for key in chosen.keys:
            made = LazyCall(operator.getitem, [made, key], {})
        return made

    @staticmethod
    def _is_beside_sizes(function: Callable[..., object], name: str) -> bool:
        """Whether a function takes sizes as well, of which it makes its arrays: `rays(height, width, focal)`."""
        return any(
            each != name and number_kind(function, each) == "integer" for each in signature_of(function).parameters
        )

    def _sizes(self, function: Callable[..., object], name: str) -> list[int]:
        """The widths of layers: as many as a call writes, else three, each of its own."""
        written = [each for each in self._call_sites.values(function, name) if isinstance(each, (list, tuple))]
        number = next((len(each) for each in written if each and all(type(size) is int for size in each)), _LAYERS)
        return [self._integers.choose(f"{name}[{index}]") for index in range(number)]

    def _as_called(self, function: Callable[..., object], name: str, only: type = object) -> object:
        """What the project's own calls give for a parameter, each in its turn."""
        values = [each for each in self._call_sites.values(function, name) if isinstance(each, only)]
        if not values:
            return MISSING
        self.took_from_calls = True
        value = values[self._integers.invention % len(values)]
        if type(value) is int and value >= _LEAST_SIZE and values.count(value) == len(values):
            value += self._integers.invention  # the one size that a demonstration has may fit by chance
        if not any(isinstance(leaf, WrittenArray) for leaf in jax.tree_util.tree_leaves(value)):
            self._values.invent("value", name, f"{value!r}, as it is called")
            return copy.deepcopy(value)

        def make(path: tuple[object, ...], leaf: object) -> object:
            if not isinstance(leaf, WrittenArray):
                return leaf
            place = f"{name}{jax.tree_util.keystr(path)}"
            self._values.invent("rank", place, axes_text(leaf.axes))
            return self._values.of_axes(place, leaf.axes, leaf.dtype, leaf.sizes)

        return jax.tree_util.tree_map_with_path(make, value)

    def type_of(self, function: Callable[..., object], parameter: inspect.Parameter) -> object:
        """The annotation of a parameter, or the plain type that its docstring alone gives, or an integer default."""
        annotation = annotation_of(function, parameter.name, parameter.annotation)
        if annotation is MISSING and type(parameter.default) is int:
            return int
        if annotation is not MISSING or parameter.default is not MISSING:
            return annotation
        hint = self._hints(function).get(parameter.name)
        return _hinted_type(function, hint.type) if hint is not None else MISSING


def _hinted_type(function: Callable[..., object], name: str) -> object:
    """The type that a docstring calls so: a plain one, or a class of the project that the function's module knows."""
    if name in _PLAIN_TYPES or not name.isidentifier():
        return _PLAIN_TYPES.get(name, MISSING)
    own = underlying_function(function)
    known = getattr(own, "__globals__", {}).get(name)
    is_of_project = isinstance(known, type) and _package(known) == _package(own)
    return known if is_of_project else MISSING


def _package(owner: object) -> str:
    return str(getattr(owner, "__module__", "")).partition(".")[0]


def without_none(function: Callable[..., object], parameter: inspect.Parameter) -> object:
    """What a parameter takes besides None."""
    annotation = annotation_of(function, parameter.name, parameter.annotation)
    if typing.get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    members = tuple(member for member in typing.get_args(annotation) if member is not type(None))
    return Union[members] if members else MISSING  # noqa: UP007 - made at run time


def _looked_up_keys(function: Callable[..., object], name: str, annotation: object) -> list[str]:
    """The keys that a function looks up in a dict of texts, if its annotation says what these lead to."""
    is_table = typing.get_origin(annotation) in (dict, collections.abc.Mapping)
    parts = parts_of(function, name) if is_table and typing.get_args(annotation)[:1] == (str,) else ()
    return list(dict.fromkeys(part.keys[0] for part in parts if part.keys and isinstance(part.keys[0], str)))


def type_name(annotation: object) -> str:
    """`list` of `list[int]`."""
    return str(getattr(typing.get_origin(annotation) or annotation, "__name__", annotation))
