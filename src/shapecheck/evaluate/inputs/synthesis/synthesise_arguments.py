"""Arguments made from annotations, names and defaults, for constructors and calls."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from shapecheck.evaluate.inputs.facts.body_shapes import NO_SHAPES, BodyShape
from shapecheck.evaluate.inputs.facts.known_numbers import (
    checked_divisors,
    counts_turns,
    ends_slices,
    exponents,
    repeats_items,
)
from shapecheck.evaluate.inputs.facts.namesakes import count_the_same
from shapecheck.evaluate.inputs.facts.random_keys import names_new_keys
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    array_type,
    signature_of,
)
from shapecheck.evaluate.inputs.facts.signature_facts import attribute_sizes, written_specs
from shapecheck.evaluate.inputs.project.call_sites import CallSites
from shapecheck.evaluate.inputs.project.nested_arguments import cannot, classes_in, default_with, split_nested
from shapecheck.evaluate.inputs.synthesis.argument_sources import ArgumentSources, type_name, without_none
from shapecheck.evaluate.inputs.synthesis.made_integers import IntegerChoices
from shapecheck.evaluate.inputs.synthesis.synthesise_instances import InstanceSynthesis, is_silent
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.choices import ArgumentChoices, Keys
from shapecheck.evaluate.inputs.trials.size_assignment import SizeAssignment
from shapecheck.evaluate.own_errors import suppress_others
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.model import DocstringHint, InferredParameter
from shapecheck.shapes import NamedDim, SpecError, SymbolicDim, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

SUPPLIED: Final = object()
"""Given in the place of an argument: one is made, though it may be left out."""


@dataclasses.dataclass(frozen=True)
class AsMember:
    """Given in the place of an argument: one is made, as this member of its union has it."""

    annotation: object

    def __str__(self) -> str:
        """`a tuple`."""
        return "an array" if array_type(self.annotation) is not None else f"a {type_name(self.annotation)}"


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
        claimed: Callable[[object], tuple[frozenset[str], ...]] = lambda function: (),
        inferred: Callable[[object], Mapping[str, InferredParameter]] = lambda function: {},
    ) -> None:
        self.assignment = assignment
        self.keys = keys or Keys()
        self.choices = choices or ArgumentChoices()
        assignment.own_sizes = self.choices.own_sizes
        self.integers = IntegerChoices(assignment.made, variant, pinned, invention, self.choices)
        self.values = ValueSynthesis(assignment, self.integers, self._instance, self.keys, self.choices)
        self.instances = InstanceSynthesis(
            self.arguments, self.values, subclasses=subclasses, described=described, hints=hints
        )
        self.sources = ArgumentSources(
            self.values,
            self.instances,
            keys=self.keys,
            choices=self.choices,
            hints=hints,
            call_sites=call_sites or CallSites(),
            claimed=claimed,
            inferred=inferred,
        )

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
        made_around = self.sources.made_beside
        try:
            return self._arguments(function, parameters, described, given, inner, body, skip, constructing)
        finally:
            self.values.beside, self.sources.made_beside = around, made_around

    def note_uses(self, function: Callable[..., object], names: Sequence[str]) -> None:
        """Note for what a function uses its integers of these names, which says how large they may be."""
        self.integers.turns |= {name for name in names if counts_turns(function, name)}
        self.integers.ends |= {name for name in names if ends_slices(function, name)}
        self.integers.items |= {name for name in names if repeats_items(function, name)}
        self.integers.exponents.update((n, off) for n, off in exponents(function).items() if n in names)

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
        if not self.instances.is_building:
            self.integers.constructs = constructing
            self.keys.new = names_new_keys(function)
        if not constructing:
            self.integers.beside = _integers_beside(parameters, given)
            self.note_uses(function, [each.name for each in parameters])
        else:
            self.integers.items |= {each.name for each in parameters if repeats_items(function, each.name)}
            self.integers.note_checks(checked_divisors(function), {each.name: each.default for each in parameters})
        self._keep_defaults_together(function, parameters, described, given)
        self._tie_integers(function, parameters, {**body, **described}, given, constructing)
        self._tie_described(function, parameters, described, given, constructing)
        self._tie_default_arrays(function, parameters, described, given)
        given = {**given, **self._named_holders(function, parameters, given, inner, body)}
        given = {**given, **self._size_holders(function, parameters, given, inner)}
        made: dict[str, object] = {}
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            self.sources.made_beside = made
            is_given = parameter.name in given and parameter.kind is not parameter.POSITIONAL_ONLY
            if is_given and given[parameter.name] is not SUPPLIED and not isinstance(given[parameter.name], AsMember):
                named[parameter.name] = given[parameter.name]
                continue
            member = given[parameter.name] if is_given else None
            try:
                if isinstance(member, AsMember):
                    value = self.values.value(member.annotation, parameter.name, constructing=constructing)
                elif is_given:
                    required = parameter.replace(default=MISSING, annotation=without_none(function, parameter))
                    value = self.sources.argument(function, required, described.get(parameter.name), constructing)
                elif parameter.name in inner:
                    value = self._with(function, parameter, inner[parameter.name])
                else:
                    said = described.get(parameter.name, body.get(parameter.name))
                    value = self.sources.argument(function, parameter, said, constructing, {**body, **described})
            except CannotSynthesiseError as error:
                own = [f"{parameter.name}.{name}" for name in error.parameters] or [parameter.name]
                problems.append(CannotSynthesiseError(str(error), tuple(own), constructing=constructing))
                continue
            if value is MISSING:
                continue
            made[parameter.name] = value
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
        body: Mapping[str, BodyShape],
    ) -> dict[str, object]:
        """The arguments of which dims of others name attributes, as `{config.width}`: made first, their sizes known."""
        specs = [*written_specs(function, {}), *(f"{each.spec} {each.last}" for each in body.values())]
        heads_of_dims = {n.partition(".")[0] for text in specs for n in parse_spec(text).names() if "." in n}
        found: dict[str, object] = {}
        for parameter in parameters:
            name = parameter.name
            if name not in heads_of_dims or name in given or name in inner:
                continue
            # The user's constructor raises it again, where that is told; or nothing says what it takes.
            with suppress_others(CannotSynthesiseError, SpecError):
                value = self.sources.argument(function, parameter, None, constructing=False)
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
            by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            is_plain = by_name and parameter.default is MISSING
            annotation = annotation_of(function, name, parameter.annotation)
            if is_plain and name not in given and any(map(self._takes_dim, classes_in(annotation))):
                with contextlib.suppress(CannotSynthesiseError):  # it raises it again, where that is told
                    if name in inner:
                        found[name] = self._with(function, parameter, inner[name])
                    else:
                        found[name] = self.sources.argument(function, parameter, None, constructing=False)
        return found

    def _instance(self, cls: type, name: str) -> object:
        return self.instances.instance(cls, name)

    def _takes_dim(self, cls: type) -> bool:
        """Whether a class is made of an integer that is named as a dim."""
        if is_silent(cls):
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
        return self.instances.instance(classes[0], name, given)

    def only(
        self, names: Sequence[str], function: Callable[..., object], described: Mapping[str, ParameterSpec]
    ) -> dict[str, object]:
        """Arguments for these parameters alone. Raises CannotSynthesiseError as `arguments` does."""
        parameters = _signature(function).parameters
        return {n: self.sources.argument(function, parameters[n], described.get(n), constructing=False) for n in names}

    def _tie_integers(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        described: Mapping[str, ParameterSpec | BodyShape],
        given: Mapping[str, object],
        constructing: bool,
    ) -> None:
        """A parameter that is named as a dim, and is an integer or nothing that anybody describes, is its size."""
        named_else = _described_axes(function, parameters, described)
        # The arrays of an instance inside of another have names that are no names of the call.
        inner = _annotated_names(function, parameters) if self.instances.is_building else frozenset[str]()
        if self.instances.is_building:
            inner |= {name for each in described.values() for name in parse_spec(each.spec).names()}
        taken = {each.name for each in parameters}
        for parameter in parameters:
            name = parameter.name
            dims = [dim for dim in (name, named_else.get(name, "")) if dim in self.assignment.free or dim in inner]
            dims = dims or [dim for dim in self.assignment.free if dim not in taken and count_the_same(dim, name)]
            if not dims:
                continue
            kind = self.sources.type_of(function, parameter)
            is_open = kind is MISSING and parameter.default is parameter.empty and name not in described
            if kind is not int and not is_open:
                continue
            size = given[name] if name in given else self.sources.argument(function, parameter, None, constructing)
            size = parameter.default if size is MISSING else size
            if type(size) is int:
                for dim in dims:
                    self.assignment.know(dim, size)

    def _tie_described(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        described: Mapping[str, ParameterSpec],
        given: Mapping[str, object],
        constructing: bool,
    ) -> None:
        """A name that an annotation alone has is what the docstring says of that axis: `Nm1`, where it says `N-1`."""
        by_name = {each.name: each for each in parameters}
        for name, text in _described_sizes(function, parameters, described).items():
            if name in self.assignment.known or name in self.assignment.used:
                continue
            names = parse_spec(f"({text})").names()
            for other in names:
                parameter = by_name.get(other)
                if parameter is None or other in self.assignment.known or other in self.assignment.free:
                    continue
                if self.sources.type_of(function, parameter) is int:
                    made = self.sources.argument(function, parameter, None, constructing)
                    size = given.get(other, parameter.default if made is MISSING else made)
                    if type(size) is int:
                        self.assignment.know(other, size)
            if all(other in self.assignment.known or other in self.assignment.free for other in names):
                self.assignment.tie(name, text)

    def _keep_defaults_together(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        described: Mapping[str, ParameterSpec],
        given: Mapping[str, object],
    ) -> None:
        """An integer keeps its default where arrays stand beside it that have so many rows by default, as is written.

        `n_angles: int = 1`, and `contrast: np.ndarray = ones(1)` of shape `(n_angles,)`: who gives one gives the other.
        """
        integers = {each.name for each in parameters if type(each.default) is int and each.name not in given}
        for parameter in parameters if integers else ():
            annotation = array_type(annotation_of(function, parameter.name, parameter.annotation))
            written = described.get(parameter.name)
            spec = annotation.shape if annotation is not None else written.spec if written is not None else ""
            names = integers.intersection(parse_spec(spec).names()) if spec else set[str]()
            if names and parameter.name not in given and is_array(_default_of(function, parameter)):
                self.integers.settled |= names

    def _tie_default_arrays(
        self,
        function: Callable[..., object],
        parameters: Sequence[inspect.Parameter],
        described: Mapping[str, ParameterSpec],
        given: Mapping[str, object],
    ) -> None:
        """An array that a parameter has by default and keeps gives the dims of what is said of it their sizes.

        Others of this call that use them go with it: `td: Float[Array, "n"] = jnp.array([])`, and a window for it.
        """
        for parameter in parameters:
            annotation = array_type(annotation_of(function, parameter.name, parameter.annotation))
            said = described.get(parameter.name)
            spec = annotation.shape if annotation is not None else said.spec if said is not None else ""
            if not spec or parameter.name in given or not is_array(parameter.default):
                continue
            if self.sources.argument(function, parameter, None, constructing=False) is not MISSING:
                continue
            dims, shape = parse_spec(spec).dims, parameter.default.shape
            for dim, size in zip(dims, shape, strict=False) if len(dims) == len(shape) else ():
                if isinstance(dim, NamedDim) and dim.name in self.assignment.free:
                    self.assignment.know(dim.name, size)
                    self.assignment.of_defaults[dim.name] = size


def _annotated_names(function: Callable[..., object], parameters: Sequence[inspect.Parameter]) -> frozenset[str]:
    """The names of dims in the annotations of parameters."""
    annotated = (array_type(annotation_of(function, each.name, each.annotation)) for each in parameters)
    return frozenset(name for each in annotated if each is not None for name in parse_spec(each.shape).names())


def _described_axes(
    function: Callable[..., object],
    parameters: Sequence[inspect.Parameter],
    described: Mapping[str, ParameterSpec | BodyShape],
) -> dict[str, str]:
    """What a docstring calls the axes of annotated arrays, with what their annotations call them.

    Of `extra: Float[Array, "b q s"]`, described as `[batch, query_time, num_extra]`, s is the integer `num_extra`.
    """
    found: dict[str, str] = {}
    for parameter in parameters:
        said = described.get(parameter.name)
        annotated = array_type(without_none(function, parameter))
        if annotated is None or not isinstance(said, ParameterSpec):
            continue
        own, others = parse_spec(annotated.shape).dims, parse_spec(said.spec).dims
        pairs = zip(own, others, strict=True) if len(own) == len(others) else ()
        found.update((b.name, a.name) for a, b in pairs if isinstance(a, NamedDim) and isinstance(b, NamedDim))
    return found


def _described_sizes(
    function: Callable[..., object],
    parameters: Sequence[inspect.Parameter],
    described: Mapping[str, ParameterSpec],
) -> dict[str, str]:
    """Names of dims that one annotation has and no other, with the expressions that a docstring has for their axes."""
    found: dict[str, str] = {}
    annotated = {each.name: array_type(without_none(function, each)) for each in parameters}
    names = collections.Counter(
        name for each in annotated.values() if each is not None for name in set(parse_spec(each.shape).names())
    )
    for parameter, said in described.items():
        array = annotated.get(parameter)
        if array is None:
            continue
        own, others = parse_spec(array.shape).dims, parse_spec(said.spec).dims
        for one, other in zip(own, others, strict=True) if len(own) == len(others) else ():
            if isinstance(one, NamedDim) and isinstance(other, SymbolicDim) and names[one.name] == 1:
                found.setdefault(one.name, str(other))
    return found


def _integers_beside(parameters: Sequence[inspect.Parameter], given: Mapping[str, object]) -> dict[str, int]:
    """The integers that parameters get beside those that are made up: by default, or as they are given."""
    values = {each.name: given.get(each.name, each.default) for each in parameters}
    return {name: value for name, value in values.items() if type(value) is int}


def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return signature_of(function)
    except (TypeError, ValueError) as error:
        raise CannotSynthesiseError(f"its parameters cannot be read ({error})") from None


def _default_of(function: Callable[..., object], parameter: inspect.Parameter) -> object:
    """What a parameter is by default; that of a dataclass's field may be made by a factory."""
    if dataclasses.is_dataclass(function):
        field = next((each for each in dataclasses.fields(function) if each.name == parameter.name), None)
        if field is not None and field.default_factory is not dataclasses.MISSING:
            with contextlib.suppress(Exception):  # of the user's factory: the constructor raises it again
                return field.default_factory()
    return parameter.default


def _index(function: Callable[..., object], name: str, skip: int) -> int:
    return list(_signature(function).parameters).index(name) - skip
