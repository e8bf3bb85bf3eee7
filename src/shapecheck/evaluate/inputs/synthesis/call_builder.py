"""How each kind of entry is run: models, functions and methods, examples written by the user."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import jax

from shapecheck.evaluate.framework_protocol import (
    inferring_classes,
    is_abstract,
    loaded_frameworks,
    modules_in,
    pytree_classes,
)
from shapecheck.evaluate.inputs.facts.body_shapes import axis_name, body_shapes
from shapecheck.evaluate.inputs.facts.field_sizes import field_sizes
from shapecheck.evaluate.inputs.facts.handed_on import descriptions_of
from shapecheck.evaluate.inputs.facts.handed_parts import called_functions
from shapecheck.evaluate.inputs.facts.inferred_shapes import with_inferred
from shapecheck.evaluate.inputs.facts.known_numbers import integer_parameters
from shapecheck.evaluate.inputs.facts.namesake_shapes import with_namesakes
from shapecheck.evaluate.inputs.facts.namesakes import are_spelled_alike
from shapecheck.evaluate.inputs.facts.runtime_annotations import free_names
from shapecheck.evaluate.inputs.facts.signature_facts import (
    admits_several_ranks,
    annotated_original,
    attribute_sizes,
    bind_arguments,
    code_integers,
    constants_of,
    inner_function,
    integers_of,
    leaves_variadics_out,
    made_specs,
    missing_parameters,
    namesake_sizes,
    part_sizes,
    property_sizes,
    ranks_of,
    record_names,
    says_nothing,
    size_defaults,
    specs_of,
    takes_state,
    with_state,
    without_lone_sides,
    written_specs,
)
from shapecheck.evaluate.inputs.project.nested_arguments import heads
from shapecheck.evaluate.inputs.project.reached_models import reached_models
from shapecheck.evaluate.inputs.project.user_examples import (
    check_names,
)
from shapecheck.evaluate.inputs.synthesis.argument_sources import Owner
from shapecheck.evaluate.inputs.synthesis.construct_models import Instance, Models
from shapecheck.evaluate.inputs.synthesis.later_results import LaterResults
from shapecheck.evaluate.inputs.synthesis.made_integers import DEFAULTS_KEPT, DESCENDING, DIVIDING, SMALL
from shapecheck.evaluate.inputs.synthesis.pallas_kernels import in_kernel
from shapecheck.evaluate.inputs.synthesis.real_values import with_values
from shapecheck.evaluate.inputs.synthesis.returned_calls import find_returned
from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import Synthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.choices import (
    AS_DECORATED,
    ArgumentChoices,
    Choices,
    Options,
    default_key,
    number_key,
    shape_key,
)
from shapecheck.evaluate.inputs.trials.later_variables import with_given
from shapecheck.evaluate.inputs.trials.size_assignment import SizeAssignment
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec, CallSignature, names_alike
from shapecheck.evaluate.inputs.trials.trial import Apart, BoundCall, CallSpec, Trial
from shapecheck.evaluate.jax_internals import is_mapped
from shapecheck.evaluate.probes.attribute_access import read_attribute, underlying_function, unwrap
from shapecheck.evaluate.probes.decided_conditions import decided_conditions
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.read_only_disk import read_only
from shapecheck.model import Assumption
from shapecheck.model.assumption import AS_CLAIMED, NUMBER
from shapecheck.worker.messages.plans import ParameterSpec

_WAYS: Final = (0, DEFAULTS_KEPT, DIVIDING, SMALL, DESCENDING)
"""How integers of functions are chosen."""


class CallBuilder:
    """Makes call specs for functions, and of the methods of `models`."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder, self.models = recorder, models

    def model(self, cls: type) -> CallSpec:
        """Construct `cls` with synthesised arguments and call it as its parameters are described."""
        return self.method(cls, cls.__call__)

    def method(
        self,
        cls: type,
        function: Callable[..., object],
        init: Mapping[str, object] | None = None,
        given: Mapping[str, object] = types.MappingProxyType({}),
    ) -> CallSpec:
        """Construct `cls`, from `init` as far as it goes, and call its method `function`, with what is `given`."""
        function = _readable(function)
        if getattr(function, "__isabstractmethod__", False):
            name = read_attribute(function, "__qualname__", "") or f"what stands for a method of {cls.__qualname__}"
            raise CannotSynthesiseError(f"{name} is abstract")
        if is_abstract(cls):
            cls = next(iter(self.models.subclasses(cls)), cls)
        if init:
            check_names(cls, heads(init))
        described = annotated_original(cls, function)
        rank = 0 if leaves_variadics_out(cls, described) else 1
        call_spec = self._call(
            described,
            self.invoke_method(function),
            lambda trial: self.models.instance(
                cls, trial.construction, self._init(init, trial), trial.invention, trial.choices, rank=rank
            ),
            statics=given,
        )
        settled = dict if init else functools.partial(self.models.call_sites.settled_integers, cls)
        return replace(call_spec, infers_inputs=issubclass(cls, inferring_classes()), settled=settled)

    def of_instance(self, model: object, method: str = "__call__") -> CallSpec:
        """Call a method of a model that exists, which may hold abstract arrays."""
        function = inner_function(getattr(type(model), method))
        described = annotated_original(type(model), function)
        return self._call(described, self.invoke_method(function), lambda trial: (model, integers_of(model), None))

    def function(
        self, function: Callable[..., object], given: Mapping[str, object] = types.MappingProxyType({})
    ) -> CallSpec:
        """Call a plain function (or static method) alone, with what is `given`.

        Of one that `vmap` decorates the claims may be of one example, as annotations are, or of what its callers give.
        """
        inner = _readable(function)
        call_spec = self._call(inner, self.invoke_function(inner), statics=given)
        mapped = function if is_mapped(function) else _mapped_of_private(function)
        if mapped is None:
            return call_spec
        whole = self._call(inner, self.invoke_function(mapped), statics=given)

        def prepare(trial: Trial) -> BoundCall:
            left = tuple(each for each in trial.choices if each != AS_DECORATED)
            if left == trial.choices:
                return call_spec.prepare(trial)
            return whole.prepare(replace(trial, choices=left))

        at_times = (*call_spec.at_times, (AS_DECORATED,))
        return replace(call_spec, prepare=prepare, at_times=at_times, is_mapped=True)

    def returned_function(
        self,
        maker: Callable[..., object],
        qualname: str,
        given: Mapping[str, object] = types.MappingProxyType({}),
    ) -> CallSpec:
        """Call the function of this name that `maker` returns, with what it returns beside it."""
        found = find_returned(self.models, maker, qualname, self._build_unseen)

        def invoke(made: object, /, *args: object, **kwargs: object) -> object:
            return self.invoke_function(found.of(made))(*args, **kwargs)

        call_spec = self._call(
            found.function,
            invoke,
            lambda trial: found.instance(self.models, trial, self._init(None, trial)),
            statics=given,
            own=0,
            beside=found.arguments,
        )
        return replace(call_spec, lasting=found.assumptions())

    def construct(self, cls: type, init: Mapping[str, object] = types.MappingProxyType({})) -> CallSpec:
        """Construct `cls`, from `init` as far as it goes, for what its constructor shows."""

        def prepare(trial: Trial) -> BoundCall:
            deferred, synthesis = self.models.constructor(cls, init, trial.construction, trial.invention, trial.choices)
            run = self._runner(trial, Counter())
            call = functools.partial(run, lambda instance: None, deferred)
            return BoundCall(call=call, assumptions=_inventions([synthesis]), options=synthesis.choices.options)

        signature = CallSignature(function=cls)
        return CallSpec(
            prepare=prepare,
            symbolic=False,
            certain=False,
            constructions=self.models.constructions,
            signature=signature,
            takes_values=True,
        )

    def run_abstractly(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
        """Call `function` abstractly, as the watch would have it; inside of what its framework asks for."""
        evaluate = self.recorder.watch.evaluate
        try:
            abstract_call.run_by(evaluate, function, *args, **kwargs)
        except ValueError as error:
            wrapped = (each.wrap_evaluation(error, evaluate) for each in loaded_frameworks())
            inside = next(filter(None, wrapped), None)
            if inside is None:
                raise
            abstract_call.run_by(inside, function, *args, **kwargs)

    def _runner(self, trial: Trial, conditions: Counter[tuple[int, ...]]) -> Callable[..., None]:
        """What calls a function as a trial has it: abstractly, with conditions decided, or with values."""
        if trial.values:
            return functools.partial(self._run_with_values, trial.values)
        if not trial.decisions:
            return self.run_abstractly

        def run_decided(function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
            # Nobody has come this way before.
            alone = read_only(os.devnull, self._folders(), alone=True, made_only=True)
            with alone, decided_conditions(trial.decisions, self.recorder.paths, conditions):
                self.run_abstractly(function, *args, **kwargs)

        return run_decided

    @staticmethod
    def _run_call(runner: Callable[..., None], args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Call with these arguments, as far as they are made by now."""
        runner(*map(with_given, args), **{name: with_given(value) for name, value in kwargs.items()})

    def _run_with_values(self, kind: int, function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
        """Call `function` for real, with arrays that have values of some kind."""
        abstract_call.run_by(with_values(kind, self._folders()), function, *args, **kwargs)

    def _folders(self) -> set[str]:
        return {os.path.dirname(file) for file in self.recorder.paths}

    def invoke_function(self, function: Callable[..., object]) -> Callable[..., object]:
        """A call of a function: models that it is given, or reaches, are known by the names that it has for them."""

        def invoke(*args: object, **kwargs: object) -> object:
            self.recorder.watch.know("", unwrap(function))  # of vmap(model), filter_jit(model)
            for name, value in {**reached_models(function), **bind_arguments(function, args, kwargs)}.items():
                self.recorder.watch.know(name, value)
            return in_kernel(function, self.recorder.watch.function(function))(*args, **kwargs)

        return invoke

    def invoke_method(self, function: Callable[..., object]) -> Callable[..., object]:
        """A call of a method with its model as first argument: stages get their paths, states are made."""

        def invoke(model: object, /, *args: object, **kwargs: object) -> object:
            self.name_stages(model)
            given = with_state(function, model, args, kwargs)
            for name, value in list(bind_arguments(function, [model, *args], given).items())[1:]:
                self.recorder.watch.know(name, value)
            method = function
            for framework in loaded_frameworks():
                method = framework.wrap_method(method)
            return self.recorder.watch.method(method)(model, *args, **given)

        return invoke

    def name_stages(self, model: object) -> None:
        """Let stages have the paths at which they stand in a model."""
        self.recorder.stages = {}
        for path, module in modules_in(model, "", pytree_classes()):
            self.recorder.stages.setdefault(id(module), path)
        self.recorder.watch.know("", model)

    def _call(
        self,
        function: Callable[..., object],
        invoke: Callable[..., object],
        instance: Callable[[Trial], Instance] | None = None,
        *,
        statics: Mapping[str, object] = types.MappingProxyType({}),
        own: int | None = None,
        beside: Callable[[Any, Synthesis, Models], Mapping[str, object]] = lambda made, synthesis, models: {},
    ) -> CallSpec:
        """How `function` is called, by `invoke` with the `instance` first, which are its `own` first parameters.

        Arguments may come from what stands `beside` it in the same result.
        """
        own = int(instance is not None) if own is None else own
        described = descriptions_of(function, self.models.described)
        body = body_shapes(function, described, self.models.hints(function))
        claims = self.models.claimed(function)
        not_made = {*statics, *list(inspect.signature(function).parameters)[:own]}
        body = with_namesakes(function, described, body, self.models.elsewhere(function), claims, not_made)
        inferred = self.models.inferred(function)
        body = with_inferred(function, described, body, inferred)
        for name in not_made:
            body.pop(name, None)
        made = made_specs(function, described, body)
        specs = [*written_specs(function, described), *made]
        specs += [each.spec for name, each in inferred.items() if each.guess and name not in described]
        specs += [spec for each in described.values() for spec in each.others]
        optional = made_specs(function, described, body, default=None)
        vague = any(each.vague for each in described.values())
        has_union = admits_several_ranks(function)
        constants = constants_of(
            function, specs, [s for d in described.values() for s in (d.spec, *d.others, *d.at_times, *d.also)]
        )
        divisors = code_integers(function)

        claimed = frozenset(name for names in claims for name in names if not name.isdigit())
        defaults = tuple((n, size) for n, size in size_defaults(function) if n in claimed and n not in statics)

        numbers = integer_parameters(function)

        def prepare(trial: Trial) -> BoundCall:
            model, known, construction = None, dict[str, int](), None
            if instance is not None:
                model, known, construction = instance(trial)
                if not isinstance(model, LazyCall):
                    known = {**property_sizes(specs, model), **known, **attribute_sizes(specs, "self", model)}
                    known = {**part_sizes(specs, model), **known}
                known = {**namesake_sizes(specs, claimed, known), **known}
            self.note_own_sizes(known, model)
            first = () if instance is None else (model,)
            named = [*specs, *optional]
            sizes = {**constants, **without_lone_sides(named, known), **self.models.pinned}
            assignment = self.assign_sizes(trial, sizes, named, divisors)
            own_ways = (DEFAULTS_KEPT,) if instance is not None else _WAYS[1:]
            variant = trial.construction if trial.construction in own_ways else self.models.constructions[0]
            synthesis = self.make_synthesis(assignment, trial.invention, trial.choices, variant)
            synthesis.integers.chosen.update(known)
            synthesis.instances.build = self._build_unseen
            assignment.of_argument = functools.partial(_of_argument, numbers, synthesis.integers.choose)
            if construction is not None:
                synthesis.integers.avoid(construction.integers)
            synthesis.note_uses(function, [n for n, _ in defaults])
            others = [(n, size) for n, size in defaults if default_key(n) in dict(trial.choices)]
            replaced = {n: synthesis.integers.choose_other(n, size) for n, size in others}
            numbered = {n: dict(trial.choices).get(number_key(n)) for n in missing_parameters(function, known)}
            replaced.update((n, int(number)) for n, number in numbered.items() if number)
            given = dict(beside(model, synthesis, self.models))
            if own and takes_state(function, model):
                given["state"] = None
            if instance is not None and not isinstance(model, LazyCall):
                synthesis.sources.owner = Owner(model, function, self._build_unseen)
            args, kwargs = synthesis.arguments(function, described, {**given, **replaced, **statics}, body, skip=own)
            later = LaterResults(function, self.models, synthesis, self.recorder)
            conditions: Counter[tuple[int, ...]] = Counter()
            inventors = [synthesis, *filter(None, [construction])]
            run = self._runner(trial, conditions)
            runner = functools.partial(run, _and_use(invoke, later), *first)
            chosen = synthesis.integers.chosen
            own_integers = synthesis.integers.of_settings | {*missing_parameters(function, known)}
            held = field_sizes(model, self.models.described) if model is not None else {}
            return BoundCall(
                call=functools.partial(self._run_call, runner, args, kwargs),
                later=synthesis.sources.later,
                chosen=assignment.chosen_sizes(),
                integers={**chosen, **synthesis.instances.sizes, **known},
                arguments=frozenset(own_integers) & chosen.keys() - known.keys(),
                lengths=frozenset(length for each in inventors for length in each.values.lengths),
                assumptions=_inventions(inventors, assignment.tied_sizes()),
                shared=assignment.shared_names(construction.assignment) if construction is not None else (),
                held=held,
                fields=assignment.free_among(held),
                apart=self.apart(),
                options=sum((each.choices.options for each in inventors), start=Options()),
                inner_specs=tuple(dict.fromkeys(assignment.inner_specs)),
                has_inner_arrays=assignment.has_inner_arrays,
                computed=assignment.computed,
                built=construction.assignment.used_sizes() if construction is not None else (),
                conditions=conditions,
                defaults_replaced=synthesis.integers.defaults_replaced,
            )

        written = [
            ArgumentSpec(d.parameter, s, formal=False) for d in described.values() for s in (d.own_spec, *d.others)
        ]
        written += [ArgumentSpec("", spec) for spec in specs_of(function, {})]
        elsewhere = [ArgumentSpec(name, each.spec, formal=False) for name, each in body.items() if each.elsewhere]
        written += elsewhere
        parts = (each.spec for text, each in body.items() if not text.isidentifier() and text not in described)
        written_names = frozenset(free_names([*written_specs(function, described), *(each.spec for each in elsewhere)]))
        mapped = {each.mapped for each in described.values() if each.mapped}
        # By their names alone others may be made arrays, too.
        first_axes = (axis_name(name, 0) for name in inspect.signature(function).parameters if name not in described)
        inferred_names = frozenset(free_names(each.spec for each in body.values() if each.inferred))
        others = {name: each for name, each in described.items() if name not in inferred}
        commented = free_names(each.spec for name, each in inferred.items() if name in described and not each.guess)
        said_by_code = [each.spec for each in body.values() if not each.inferred]
        # What the code calls the last axis of what nobody describes: `n = x.shape[-1]`.
        lasts = [each.last for name, each in body.items() if each.last and name not in described]
        made_names = frozenset([*free_names([*made, *optional, *parts]), *first_axes]) - written_names | mapped
        return CallSpec(
            prepare=prepare,
            relations=instance is None,
            signature=CallSignature(
                tuple(written),
                claims,
                function,
                made_names,
                record_names(function),
                self._reached_claims(function),
                inferred_names - frozenset(free_names([*written_specs(function, described), *said_by_code])),
                frozenset(commented) - frozenset(free_names([*written_specs(function, others), *said_by_code])),
                names_alike((d.own_spec, *d.also) for d in described.values()),
            ),
            certain=not vague and not has_union,
            has_union=has_union and not vague,
            open_ranks=bool(made) or any(map(says_nothing, specs)),
            open_names=made_names
            | frozenset(free_names(filter(says_nothing, specs)))
            | (frozenset(free_names(lasts)) - written_names),
            constructions=_WAYS if instance is None else self.models.constructions,
            ranks=ranks_of([*specs, *(each.spec for each in elsewhere)]),
            defaults=defaults,
            varies=True,
            takes_values=True,
            alternatives=_alternatives(described.values(), at_times=False),
            at_times=_alternatives(described.values(), at_times=True),
        )

    def _reached_claims(self, function: Callable[..., object]) -> tuple[frozenset[str], ...]:
        """The names that each claim uses of the functions that a function calls."""
        return tuple(names for each in called_functions(function) for names in self.models.claimed(each))

    def _build_unseen(self, call: LazyCall) -> object:
        """What a call gives, abstractly: what it shows on the way is nothing that was asked for."""
        with self.recorder.pause():
            return abstract_call.build(call)

    def _init(self, init: Mapping[str, object] | None, trial: Trial) -> dict[str, object]:
        """What a constructor is given. Raises CannotSynthesiseError for an integer that none takes."""
        places = self.models.made.places
        for name, _ in trial.init:
            if name not in places:
                raise CannotSynthesiseError(f"no constructor takes {name}")
        return {**(init or {}), **{places[name]: size for name, size in trial.init}}

    def note_own_sizes(self, known: Mapping[str, int], *values: object) -> None:
        """Note the sizes of a model, and of what is given to it, if others shall differ."""
        if self.models.made.own is not None:
            self.models.made.own.update(known.values(), _sizes_of(values))

    def apart(self) -> Apart:
        """The sizes that others shall differ from."""
        return Apart(frozenset(self.models.made.own or ()), self.models.made.dims)

    def make_synthesis(
        self, assignment: SizeAssignment, invention: int = 0, choices: Choices = (), variant: int | None = None
    ) -> Synthesis:
        """What makes the arguments of a call up, with these sizes."""
        variant = self.models.constructions[0] if variant is None else variant
        return self.models.synthesis(assignment, variant, invention, ArgumentChoices(choices))

    def assign_sizes(
        self, trial: Trial, known: Mapping[str, int], specs: Sequence[str], divisors: Sequence[int] = ()
    ) -> SizeAssignment:
        """The sizes of a call, of which some are `known`."""
        return SizeAssignment(
            trial.mode,
            known,
            specs,
            trial.substitution,
            trial.variant,
            trial.rank,
            self.models.made,
            (*divisors, *known.values()),
            trial.multiples,
            trial.limits,
        )


def _and_use(invoke: Callable[..., object], later: LaterResults) -> Callable[..., None]:
    """`invoke`, and what it gives is used."""
    return lambda *args, **kwargs: later.use(invoke(*args, **kwargs))


def _of_argument(numbers: Iterable[str], choose: Callable[[str], int], name: str) -> tuple[str, int] | None:
    """The integer among the arguments that a dim of a record is named after, with its size."""
    found = next((each for each in numbers if each == name or are_spelled_alike(name, each)), None)
    return (found, choose(found)) if found is not None else None


def _mapped_of_private(function: Callable[..., object]) -> Callable[..., object] | None:
    """What others call of a function with an underscore in front, of which its docstring may speak: `f = vmap(_f)`."""
    name = str(read_attribute(function, "__name__", ""))
    if not name.startswith("_"):
        return None
    module = getattr(underlying_function(function), "__globals__", {})
    public = module.get(name.lstrip("_"))
    is_of_it = callable(public) and public is not function and is_mapped(public)
    return public if callable(public) and is_of_it and inner_function(public) is function else None


def _alternatives(described: Collection[ParameterSpec], *, at_times: bool) -> tuple[Choices, ...]:
    """The choices of other shapes, for all arguments alike: the second of each that has several, then the third.

    Those that an argument has under a condition alone are apart.
    """
    shapes = {each.parameter: [s for s in each.others if (s in each.at_times) is at_times] for each in described}
    several = {parameter: others for parameter, others in shapes.items() if others}
    return tuple(
        tuple((shape_key(parameter), others[min(index, len(others) - 1)]) for parameter, others in several.items())
        for index in range(max(map(len, several.values()), default=0))
    )


def _readable(function: Callable[..., object]) -> Callable[..., object]:
    """The function inside of JAX's decorators; raises CannotSynthesiseError where nobody can tell what it takes.

    A decorator may have put anything in its place, and any signature.
    """
    try:
        inner = inner_function(function)
        inspect.signature(inner)
    except (TypeError, ValueError) as error:
        raise CannotSynthesiseError(f"its parameters cannot be read ({error})") from None
    return inner


def _inventions(made: Iterable[Synthesis], fixed: Collection[int] = ()) -> tuple[Assumption, ...]:
    """What was made up for a call: values of which nothing says the shape, dtypes, and sizes inside of instances.

    First of its own arguments, then of those that a constructor was given. Sizes that are `fixed`, since dims were tied
    to them, are as good as given.
    """
    found: dict[Assumption, None] = {}
    for is_constructor, synthesis in enumerate(made):
        of = "self." if is_constructor else ""
        for (kind, name), value in synthesis.values.inventions.items():
            found[Assumption(kind, of + name, value, "invented")] = None
        for name in synthesis.values.named_numbers:
            found[Assumption("rank", of + name, NUMBER, "namesake")] = None
        for name in synthesis.assignment.guessed_dtypes:
            found[Assumption("dtype", of + name, "", "invented")] = None
        for part, spec in synthesis.sources.described.parts.items():
            found[Assumption("part", part, spec, "written")] = None
        for name, size in synthesis.assignment.of_callees.items():
            found[Assumption("callee", name, str(size), "written")] = None
        for name, instance in synthesis.sources.recognised.known.items():
            found[Assumption("value", of + name, instance, "alias")] = None
        for name, spec in synthesis.sources.described.inferred.items():
            found[Assumption("value", of + name, f"({', '.join(spec.split())}), {AS_CLAIMED}", "written")] = None
        for name, size in synthesis.assignment.of_defaults.items():
            found[Assumption("size", name, str(size), "written")] = None
        for name, argument in synthesis.assignment.named_after.items():
            found[Assumption("tie", name, argument, "namesake")] = None
        for name, size in synthesis.instances.sizes.items():
            if size not in fixed:
                found[Assumption("size", name, str(size), "invented")] = None
    return tuple(found)


def _sizes_of(*values: object) -> set[int]:
    """The sizes of all arrays in these values."""
    arrays = (leaf for leaf in jax.tree_util.tree_leaves(values) if is_array(leaf))
    return {size for array in arrays for size in array.shape if isinstance(size, int)}
