"""Arguments made from annotations, names and defaults, for constructors and calls."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Union

import jax

from shapecheck.evaluate.framework_protocol import (
    apply_variables,
    is_abstract,
    model_classes,
    module_name,
    pytree_classes,
)
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_shapes import NO_SHAPES, BodyShape, body_shapes, unpacked_parts
from shapecheck.evaluate.inputs.facts.called_models import called_models
from shapecheck.evaluate.inputs.facts.handed_parts import goes_elsewhere, is_used, parts_of
from shapecheck.evaluate.inputs.facts.known_numbers import counts_turns, holds_sizes, number_kind
from shapecheck.evaluate.inputs.facts.known_texts import known_texts, reaches_out
from shapecheck.evaluate.inputs.facts.namesake_annotations import namesake_annotations
from shapecheck.evaluate.inputs.facts.optimizer_calls import optimizer_role
from shapecheck.evaluate.inputs.facts.random_keys import admits_key
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    admits_integer,
    annotation_of,
    array_type,
    holds_anything,
    holds_plain_array,
    is_array_type,
    is_config,
    leaves_open,
    signature_of,
)
from shapecheck.evaluate.inputs.facts.signature_facts import attribute_sizes, written_specs
from shapecheck.evaluate.inputs.project.call_sites import CallSites, WrittenArray
from shapecheck.evaluate.inputs.project.factories import factories_of
from shapecheck.evaluate.inputs.project.maker_functions import Maker, looks_up_keys, makers_of
from shapecheck.evaluate.inputs.project.nested_arguments import cannot, classes_in, default_with, heads, split_nested
from shapecheck.evaluate.inputs.project.user_examples import check_names
from shapecheck.evaluate.inputs.synthesis.arrange_parts import arrange_parts
from shapecheck.evaluate.inputs.synthesis.made_callables import protocol_call
from shapecheck.evaluate.inputs.synthesis.made_integers import AS_CALLED, DEFAULTS_KEPT, OVER_NONE, IntegerChoices
from shapecheck.evaluate.inputs.synthesis.made_optimizer import MadeOptimizer
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.choices import ArgumentChoices, Keys, axes_text
from shapecheck.evaluate.inputs.trials.later_variables import LaterArgument
from shapecheck.evaluate.inputs.trials.size_assignment import SizeAssignment
from shapecheck.model import DocstringHint
from shapecheck.model.parameter_parts import Part
from shapecheck.shapes import AnyDim, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

_PLAIN_TYPES: Final[Mapping[str, type]] = {each.__name__: each for each in (bool, float, int, str)}  # of docstrings
_DEPTH = 6
_LAYERS = 3  # widths of a sequence of layers that is made up: two layers
SUPPLIED: Final = object()
"""Given in the place of an argument: one is made, though it may be left out."""


@dataclasses.dataclass(frozen=True)
class AsMember:
    """Given in the place of an argument: one is made, as this member of its union has it."""

    annotation: object

    def __str__(self) -> str:
        """`a tuple`."""
        return "an array" if array_type(self.annotation) is not None else f"a {_name(self.annotation)}"


class Synthesis:
    """Makes arguments under one assignment of sizes. `variant` says how integers are chosen (`CONSTRUCTIONS`).

    Another `invention` has other integers, and other values in place of what nothing describes.

    `described` tells what comments say of the fields of a class, whose instance an argument may be.
    """

    def __init__(
        self,
        assignment: SizeAssignment,
        *,
        variant: int = 0,
        invention: int = 0,
        pinned: Mapping[str, int] = types.MappingProxyType({}),
        subclasses: Callable[[type], Sequence[type]] = lambda cls: (),
        described: Callable[[object], Mapping[str, ParameterSpec]] = lambda what: {},
        keys: Keys | None = None,
        choices: ArgumentChoices | None = None,
        hints: Callable[[object], Mapping[str, DocstringHint]] = lambda function: {},
        call_sites: CallSites | None = None,
    ) -> None:
        self.assignment = assignment
        self.call_sites = call_sites or CallSites()
        self.took_from_calls = False
        self.subclasses, self.described, self.hints = subclasses, described, hints
        self.keys = keys or Keys()
        self.choices = choices or ArgumentChoices()
        self.integers = IntegerChoices(assignment.made, variant, pinned, invention, self.choices)
        self.values = ValueSynthesis(assignment, self.integers, self._instance, self.keys, self.choices)
        self.made_up: dict[str, int] = {}  # sizes inside of modules that nobody gave: `model.width`
        self.later: dict[str, LaterArgument] = {}  # variables that are made when a model asks for them
        self.described_parts: dict[str, str] = {}  # of arguments: what comments say of them
        self._building: list[Callable[..., object]] = []  # classes, and functions that make what others take

    def arguments(
        self,
        function: Callable[..., object],
        described: Mapping[str, ParameterSpec] = types.MappingProxyType({}),
        given: Mapping[str, object] = types.MappingProxyType({}),
        body: Mapping[str, BodyShape] = NO_SHAPES,
        *,
        skip: int = 0,
        constructing: bool = False,
    ) -> tuple[list[object], dict[str, object]]:
        """Arguments for `function`: `described` gives spec and dtype of arrays from comments or docstrings.

        Those that are `given` may be arguments of others: `cfg.depth` of `cfg`. What nothing else describes is as the
        `body` takes it. Raises CannotSynthesiseError for the
        first parameter that nothing explains, ExampleError for a given one that is not there.
        """
        given, inner = split_nested(given)
        parameters = list(_signature(function).parameters.values())[skip:]
        around, self.values.beside = self.values.beside, tuple(each.name for each in parameters)
        try:
            return self._arguments(function, parameters, described, given, inner, body, skip, constructing)
        finally:
            self.values.beside = around

    def _arguments(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        described: Mapping[str, ParameterSpec],
        given: Mapping[str, object],
        inner: Mapping[str, Mapping[str, object]],
        body: Mapping[str, BodyShape],
        skip: int,
        constructing: bool,
    ) -> tuple[list[object], dict[str, object]]:
        positional: list[object] = []
        named: dict[str, object] = {}
        problems: list[CannotSynthesiseError] = []
        if not self._building:
            self.integers.constructs = constructing
        if not constructing:
            self.integers.turns |= {each.name for each in parameters if counts_turns(function, each.name)}
        self._tie_integers(function, parameters, given, constructing)
        given = {**given, **self._named_holders(function, parameters, given, inner)}
        given = {**given, **self._size_holders(function, parameters, given, inner)}
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            is_given = parameter.name in given and parameter.kind is not parameter.POSITIONAL_ONLY
            if is_given and given[parameter.name] is not SUPPLIED and not isinstance(given[parameter.name], AsMember):
                named[parameter.name] = given[parameter.name]
                continue
            member = given[parameter.name] if is_given else None
            try:
                if isinstance(member, AsMember):
                    value = self.values.value(member.annotation, parameter.name, constructing=constructing)
                elif is_given:
                    required = parameter.replace(default=MISSING, annotation=_without_none(function, parameter))
                    value = self._argument(function, required, described.get(parameter.name), constructing)
                elif parameter.name in inner:
                    value = self._with(function, parameter, inner[parameter.name])
                else:
                    said = described.get(parameter.name, body.get(parameter.name))
                    value = self._argument(function, parameter, said, constructing, {**body, **described})
            except CannotSynthesiseError as error:
                own = [f"{parameter.name}.{name}" for name in error.parameters] or [parameter.name]
                problems.append(CannotSynthesiseError(str(error), tuple(own), constructing=constructing))
                continue
            if value is MISSING:
                continue
            by_name = dataclasses.is_dataclass(function) and parameter.kind is not parameter.POSITIONAL_ONLY
            if parameter.kind is parameter.KEYWORD_ONLY or by_name:  # chex's dataclasses take names alone
                named[parameter.name] = value
            elif len(positional) == _index(function, parameter.name, skip):
                positional.append(value)
            else:
                named[parameter.name] = value
        if problems:
            names = tuple(name for problem in problems for name in problem.parameters)
            raise CannotSynthesiseError(str(problems[0]), names, constructing=constructing)
        return positional, named

    def _named_holders(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        given: Mapping[str, object],
        inner: Mapping[str, object],
    ) -> dict[str, object]:
        """The arguments of which dims of others name attributes, as `{config.width}`: made first, their sizes known."""
        specs = written_specs(function, {})
        heads_of_dims = {n.partition(".")[0] for text in specs for n in parse_spec(text).names() if "." in n}
        found: dict[str, object] = {}
        for parameter in parameters:
            name = parameter.name
            if name not in heads_of_dims or name in given or name in inner:
                continue
            with contextlib.suppress(Exception):  # of the user's constructor: it raises it again, where that is told
                value = self._argument(function, parameter, None, constructing=False)
                value = abstract_call.build(value) if isinstance(value, LazyCall) else value
                for path, size in attribute_sizes(specs, name, value).items():
                    self.assignment.know(path, size)
                if value is not MISSING:
                    found[name] = value
        return found

    def _size_holders(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        given: Mapping[str, object],
        inner: Mapping[str, Mapping[str, object]],
    ) -> dict[str, object]:
        """The instances behind arrays whose integers are named as dims: made first, they say what these are.

        `f(field, grid)` takes a field of `grid.nx` rows, as `f(grid, field)` does.
        """
        found: dict[str, object] = {}
        for parameter in parameters[1:] if self.assignment.free else ():
            name = parameter.name
            is_plain = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is MISSING
            annotation = annotation_of(function, name, parameter.annotation)
            if is_plain and name not in given and any(map(self._takes_dim, classes_in(annotation))):
                with contextlib.suppress(CannotSynthesiseError):  # it raises it again, where that is told
                    if name in inner:
                        found[name] = self._with(function, parameter, inner[name])
                    else:
                        found[name] = self._argument(function, parameter, None, constructing=False)
        return found

    def _takes_dim(self, cls: type) -> bool:
        """Whether a class is made of an integer that is named as a dim."""
        if _is_silent(cls):
            return False
        parameters = inspect.signature(cls).parameters.values()
        return any(
            each.name in self.assignment.free and annotation_of(cls, each.name, each.annotation) is int
            for each in parameters
        )

    def _with(
        self, function: Callable[..., object], parameter: inspect.Parameter, given: Mapping[str, object]
    ) -> object:
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
        self, names: Sequence[str], function: Callable[..., object], described: Mapping[str, ParameterSpec]
    ) -> dict[str, object]:
        """Arguments for these parameters alone. Raises CannotSynthesiseError as `arguments` does."""
        parameters = _signature(function).parameters
        return {n: self._argument(function, parameters[n], described.get(n), constructing=False) for n in names}

    def _tie_integers(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        given: Mapping[str, object],
        constructing: bool,
    ) -> None:
        """An integer parameter that is named as a dim is the size of that dim."""
        for parameter in parameters:
            name = parameter.name
            if name not in self.assignment.free or self._type_of(function, parameter) is not int:
                continue
            size = given[name] if name in given else self._argument(function, parameter, None, constructing)
            size = parameter.default if size is MISSING else size
            if type(size) is int:
                self.assignment.know(name, size)

    def _type_of(self, function: Callable[..., object], parameter: inspect.Parameter) -> object:
        """The annotation of a parameter, or the plain type that its docstring alone gives."""
        annotation = annotation_of(function, parameter.name, parameter.annotation)
        if annotation is not MISSING or parameter.default is not MISSING:
            return annotation
        hint = self.hints(function).get(parameter.name)
        return _PLAIN_TYPES.get(hint.type, MISSING) if hint is not None else MISSING

    def _argument(
        self,
        function: Callable[..., object],
        parameter: inspect.Parameter,
        described: ParameterSpec | BodyShape | None,
        constructing: bool,
        said: Mapping[str, ParameterSpec | BodyShape] = types.MappingProxyType({}),
    ) -> object:
        name, default = parameter.name, parameter.default
        annotation = annotation_of(function, name, parameter.annotation)
        hint = self.hints(function).get(name) if annotation in (MISSING, str) and default is MISSING else None
        if annotation is MISSING and hint is not None and not isinstance(described, ParameterSpec):
            annotation = _PLAIN_TYPES.get(hint.type, MISSING)
        variant = self.integers.variant
        if variant == AS_CALLED and constructing and not is_array_type(annotation):
            called = self._as_called(function, name)
            if called is not MISSING:
                return called
        if (
            default is None
            and not name_hints.is_key(name, self.values.beside)
            and self.choices.is_given(self.values.place(name))
        ):
            annotation, default = _without_none(function, parameter), MISSING
        if default is not MISSING:
            if (
                default is None
                and described is None
                and name_hints.is_key(name, self.values.beside)
                and admits_key(annotation)
            ):
                self.keys.optional = True
                return MISSING if self.keys.choice == "left out" else self.values.key(annotation, name)
            # A size-like integer gets a distinct size even where it has a default, which could hide a mix-up.
            plain = isinstance(default, int) and not isinstance(default, bool) and name_hints.may_replace(name)
            if type(default) is int:
                self.integers.kept.setdefault(name, default)
            if constructing and variant != DEFAULTS_KEPT and plain and name not in self.integers.pinned:
                self.integers.defaults_replaced = True
                return self.integers.choose(name)
            if name in self.integers.pinned:
                return self.integers.choose(name)
            if not (constructing and variant == OVER_NONE and default is None and admits_integer(annotation)):
                return MISSING
            return self.integers.choose(name)
        if annotation is str:
            if texts := known_texts(function, name) or (hint.texts if hint is not None else ()):
                return self.choices.text(self.values.place(name), texts)
            if reaches_out(function):
                raise CannotSynthesiseError(f"`{name}: str` has no default")
            if not name_hints.is_place(name) and (called := self._as_called(function, name, only=str)) is not MISSING:
                return called
        if described is None and not constructing and not is_array_type(annotation):
            role = optimizer_role(function, name)
            if role:
                return MadeOptimizer() if role == "optimizer" else ()
        is_open = annotation in (MISSING, Any) or holds_anything(annotation)
        if isinstance(described, BodyShape):
            if annotation in (MISSING, Any) and holds_sizes(function, name):
                return self._sizes(function, name)
            if annotation in (MISSING, Any) and number_kind(function, name) == "integer":
                return self.integers.choose(name)
            if not looks_up_keys(function, name):
                called = MISSING if described.exact else self._as_called(function, name, only=WrittenArray)
                return self.values.as_taken(name, described) if called is MISSING else called
            described = None
        if described is not None and (not is_array_type(annotation) or _is_open(annotation)):
            if not described.leaves or holds_plain_array(annotation):
                return self._from_description(annotation, name, described)
            if annotation in (MISSING, Any, tuple):
                parts = unpacked_parts(function, name)
                if not parts:  # it may as well be a tuple of numbers
                    self.values.invent("value", name, "a tuple of two arrays")
                    parts = 2
                return tuple(self._from_description(MISSING, name, described) for _ in range(parts))
        makers = makers_of(function, name) if is_open and not name_hints.is_key(name, self.values.beside) else ()
        if leaves_open(annotation) and not (makers and makers[0].sure):
            made = self._of_parts(function, name, said)
            if made is not MISSING:
                return made
        if makers and (made := self._made_by_one(makers, name)) is not MISSING:
            return made
        try:
            return self.values.value(annotation, name, constructing=constructing)
        except CannotSynthesiseError as error:
            if default is not MISSING:
                return MISSING
            if annotation in (MISSING, Any) and (made := self._make_undescribed(function, name, said, constructing)):
                return made[0]
            if not constructing and not self._building and apply_variables():
                self.later[name] = LaterArgument(name, error)
                return self.later[name]
            raise

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
        if kind == "integer" or (kind and constructing):  # constructors mostly compute with sizes
            return (self.integers.choose(name),)
        if kind and name_hints.is_scalar(name):
            return (self.values.number_or_array(name),)
        if (called := self._as_called(function, name)) is not MISSING:
            return (called,)
        described = {text: each for text, each in said.items() if isinstance(each, ParameterSpec)}
        is_beside_others = bool(written_specs(function, described))
        if (is_beside_others or not name.strip("_")) and not is_used(function, name, described):
            return (None,)  # such as what a scan gives its body beside the carry
        for annotation in namesake_annotations(function, name):
            with contextlib.suppress(CannotSynthesiseError):
                made = self.values.value(annotation, name, constructing=constructing)
                self.values.invent("value", name, f"{_name(annotation)}, as elsewhere in the file")
                return (made,)
        for cls in called_models(function, name) if not constructing else ():
            with contextlib.suppress(CannotSynthesiseError):
                made = self._instance(cls, name)
                self.values.invent("value", name, f"one {cls.__name__}")
                return (made,)
        return (self.values.number_or_array(name),) if kind and is_beside_others else ()

    def _sizes(self, function: Callable[..., object], name: str) -> list[int]:
        """The widths of layers: as many as a call writes, else three, each of its own."""
        written = [each for each in self.call_sites.values(function, name) if isinstance(each, (list, tuple))]
        number = next((len(each) for each in written if each and all(type(size) is int for size in each)), _LAYERS)
        return [self.integers.choose(f"{name}[{index}]") for index in range(number)]

    def _of_parts(
        self, function: Callable[..., object], name: str, said: Mapping[str, ParameterSpec | BodyShape]
    ) -> object:
        """What holds all that a function takes out of a parameter, if anybody describes some of it."""
        parts = parts_of(function, name)
        if not any(isinstance(said.get(str(part)), ParameterSpec) for part in parts):
            return MISSING
        is_data = any(part.keys[0] is not None for part in parts)
        if is_data and apply_variables() and goes_elsewhere(function, name):
            return MISSING  # they may be what a model's `init` makes
        written = [each.spec for part in parts if isinstance(each := said.get(str(part)), ParameterSpec)]
        others = tuple(dict.fromkeys(filter(None, written)))
        return arrange_parts(name, {part.keys: self._part(part, said.get(str(part)), others) for part in parts})

    def _part(self, part: Part, said: ParameterSpec | BodyShape | None, others: tuple[str, ...]) -> object:
        """One of several; those that nobody describes may all be as one of the `others` is."""
        if isinstance(said, ParameterSpec):
            self.described_parts[str(part)] = said.spec
            return self._from_description(MISSING, str(part), said)
        if isinstance(said, BodyShape) and said.exact:
            return self.values.as_taken(str(part), said)
        last = part.keys[-1]
        if isinstance(last, str) and (name_hints.is_key(last, self.values.beside) or name_hints.flag(last) is not None):
            return self.values.value(MISSING, last)
        if part.keys[-1] is None:
            raise CannotSynthesiseError(f"no comment or docstring describes `{part}`")
        spec = self.choices.spec(self.values.place(part.parameter), "", others)
        if not spec:
            return self.values.number_or_array(str(part))
        self.values.invent("value", str(part), f"an array of ({', '.join(spec.split())})")
        return self.assignment.array(spec, self.values.usual_dtype(str(part)), str(part))

    def _as_called(self, function: Callable[..., object], name: str, only: type = object) -> object:
        """What the project's own calls give for a parameter, each in its turn."""
        values = [each for each in self.call_sites.values(function, name) if isinstance(each, only)]
        if not values:
            return MISSING
        self.took_from_calls = True
        value = values[self.integers.invention % len(values)]
        if not any(isinstance(leaf, WrittenArray) for leaf in jax.tree_util.tree_leaves(value)):
            self.values.invent("value", name, f"{value!r}, as it is called")
            return copy.deepcopy(value)

        def make(path: tuple[object, ...], leaf: object) -> object:
            if not isinstance(leaf, WrittenArray):
                return leaf
            place = f"{name}{jax.tree_util.keystr(path)}"
            self.values.invent("rank", place, axes_text(leaf.axes))
            return self.values.of_axes(place, leaf.axes, leaf.dtype, leaf.sizes)

        return jax.tree_util.tree_map_with_path(make, value)

    def _made_by_one(self, makers: Sequence[Maker], name: str) -> object:
        """What one of the project's functions makes: of several any will do, but each in its own way."""
        first = self.integers.invention % len(makers)
        for maker in (*makers[first:], *makers[:first]):
            try:
                made = self._made_by(maker, name)
            except CannotSynthesiseError:
                continue
            if not maker.sure or len(makers) > 1:
                self.values.invent("value", name, f"what {maker.function.__name__}() makes")
            return made
        return MISSING

    def _made_by(self, maker: Maker, name: str) -> object:
        """What a function of the project makes of made-up arguments."""
        function = maker.function
        if isinstance(function, type):
            made = self._instance(function, name)
        elif function in self._building or len(self._building) >= _DEPTH:
            raise CannotSynthesiseError(f"`{name}` is made of itself")
        else:
            self._building.append(function)
            before = set(self.integers.chosen)
            try:
                with self.integers.within(name, is_config=False):
                    descriptions = self.described(function)
                    body = body_shapes(function, descriptions)
                    positional, named = self.arguments(function, descriptions, {}, body, constructing=True)
                sizes = sorted(each for each in self.integers.chosen.keys() - before if not name_hints.is_fixed(each))
                self.made_up.update({f"{name}.{each}": self.integers.chosen[each] for each in sizes})
                made = LazyCall(function, positional, named)
            finally:
                self._building.pop()
        return made if maker.part is None else LazyCall(operator.itemgetter(maker.part), [made], {})

    def _from_description(self, annotation: object, name: str, described: ParameterSpec) -> object:
        """The array that a comment or docstring describes, or an instance of a class whose arrays all are like it."""
        found = array_type(annotation)
        place = self.values.place(name)
        spec = self.choices.spec(place, described.spec, described.others)
        dtype = described.dtype or (found.dtype if found is not None else "")
        dtype = dtype or self.values.usual_dtype(name)
        if any(isinstance(dim, AnyDim) for dim in parse_spec(spec).dims):  # of `[n, j|k]` nobody says what j|k is
            self.values.invent("sizes", name, "any")
        if found is not None:
            return self.choices.note(place, self.assignment.array(spec, dtype, name))
        for cls in classes_in(annotation):
            try:
                with self.values.alike(described):
                    return self._instance(cls, name)
            except CannotSynthesiseError:
                # What follows from an array in the place of such an instance proves nothing.
                self.values.invent("value", name, "an array")
        return self.choices.note(place, self.assignment.array(spec, dtype, name))

    def _instance(self, cls: type, name: str, given: Mapping[str, object] = types.MappingProxyType({})) -> object:
        """An instance of the user's class (a config, a sub-module), its arguments made the same way."""
        if given:
            check_names(cls, heads(given))
        try:
            return self._made_instance(cls, name, given)
        except CannotSynthesiseError:
            factories = factories_of(cls) if not given else []
            if not factories:
                raise
        factory = factories[self.integers.invention % len(factories)]
        self.values.invent("value", name, f"what {factory.__name__}() makes")
        return LazyCall(factory, [], {})

    def _made_instance(self, cls: type, name: str, given: Mapping[str, object]) -> object:
        """An instance that its class makes of made-up arguments."""
        package = module_name(cls).split(".", 1)[0]
        if package in ("builtins", "typing", "jax", "jaxlib", "numpy", "collections") or _is_silent(cls):
            raise CannotSynthesiseError(f"no value can be made for `{name}: {cls.__name__}`")
        if cls in model_classes() and cls not in pytree_classes():  # which has no call: nobody passes one
            raise CannotSynthesiseError(f"nothing says of which class `{name}: {cls.__name__}` is")
        if cls in self._building or len(self._building) >= _DEPTH:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}` holds itself")
        if is_abstract(cls) or getattr(cls, "_is_protocol", False):
            return self._concrete(cls, name, given)
        self._building.append(cls)
        chosen = self.integers.chosen
        before = set(chosen)
        try:
            with self.integers.within(name, is_config=is_config(cls)):
                descriptions = self.described(cls)
                body = body_shapes(cls, descriptions, self.hints(cls))
                positional, named = self.arguments(cls, descriptions, given, body, constructing=True)
            if descriptions:  # a stack of them is called the same: that proves nothing against a claim
                self.values.invent("value", name, f"one {cls.__name__}")
            if not is_config(cls):
                sizes = sorted(each for each in chosen.keys() - before if not name_hints.is_fixed(each))
                self.made_up.update({f"{name}.{each}": chosen[each] for each in sizes})
            return LazyCall(cls, positional, named)
        except CannotSynthesiseError as error:
            raise CannotSynthesiseError(f"`{name}: {cls.__name__}`: {error}", error.parameters) from None
        finally:
            self._building.pop()

    def _concrete(self, cls: type, name: str, given: Mapping[str, object]) -> object:
        """An instance of a class that derives from an abstract one: of several any will do, but each in its own way."""
        candidates = [each for each in self.subclasses(cls) if not is_abstract(each)]
        call = protocol_call(cls)
        if call is not None and is_array_type(call[1]):  # its subclasses take and give the same
            return self.values.made_callable(*call, name)
        first = self.integers.invention % len(candidates) if candidates else 0
        for candidate in (*candidates[first:], *candidates[:first]):
            try:
                instance = self._instance(candidate, name, given)
            except CannotSynthesiseError:
                continue
            if len(candidates) > 1:
                self.values.invent("value", name, f"one {candidate.__name__}")
            return instance
        raise CannotSynthesiseError(f"`{name}: {cls.__name__}` is abstract")


def _is_silent(cls: type) -> bool:
    """Whether a class is built in and says nothing of its arguments: `torch.Tensor`, `datetime.datetime`."""
    try:
        inspect.signature(cls)
    except (TypeError, ValueError):
        return True
    return False


def _name(annotation: object) -> str:
    return str(getattr(typing.get_origin(annotation) or annotation, "__name__", annotation))


def _is_open(annotation: object) -> bool:
    """Whether an array type leaves all axes open: `...`, of which a docstring may say more."""
    found = array_type(annotation)
    return found is not None and found.shape.strip() == "..."


def _without_none(function: Callable[..., object], parameter: inspect.Parameter) -> object:
    """What a parameter takes besides None."""
    annotation = annotation_of(function, parameter.name, parameter.annotation)
    if typing.get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    members = tuple(member for member in typing.get_args(annotation) if member is not type(None))
    return Union[members] if members else MISSING  # noqa: UP007 - made at run time


def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return signature_of(function)
    except (TypeError, ValueError) as error:
        raise CannotSynthesiseError(f"its parameters cannot be read ({error})") from None


def _index(function: Callable[..., object], name: str, skip: int) -> int:
    return list(_signature(function).parameters).index(name) - skip
