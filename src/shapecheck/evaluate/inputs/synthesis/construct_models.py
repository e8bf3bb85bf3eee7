"""Models, constructed with arguments that the user gave or that are made up."""

from __future__ import annotations

import os
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shapecheck.evaluate.framework_protocol import deferred_classes, is_abstract
from shapecheck.evaluate.inputs.facts.body_shapes import body_shapes
from shapecheck.evaluate.inputs.facts.field_sizes import has_one_size_for_each_name
from shapecheck.evaluate.inputs.facts.signature_facts import (
    Descriptions,
    call_descriptions,
    integers_of,
    only_integers,
    specs_of,
)
from shapecheck.evaluate.inputs.project.call_sites import CallSites
from shapecheck.evaluate.inputs.project.maker_functions import Maker, record_makers
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.made_integers import AS_CALLED, CONSTRUCTIONS
from shapecheck.evaluate.inputs.synthesis.real_values import TooExpensiveError, build_with_values
from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import Synthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, NotCalledError
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.choices import AS_FILE_MAKES, OTHERWISE, ArgumentChoices, Choices, Keys
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, kind_of, trace_of
from shapecheck.evaluate.inputs.trials.size_assignment import CONSTRUCTOR_VARIANT, InventedSizes, SizeAssignment
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.recorder import RecordedPart, Recorder
from shapecheck.evaluate.probes.stand_ins import AbsentPackageError
from shapecheck.model import DocstringHint, InferredParameter
from shapecheck.worker.messages.plans import ShapeOfName

_INSTANCE = "instance"
_MOST_VAIN = 3  # constructions of one class with values that come to nothing: each may take seconds
_Key = tuple[type, int, int, str, Choices, int]
Instance = tuple[object, dict[str, int], Synthesis | None]
"""A model with abstract arrays, the integers known of it, and how its constructor's arguments were made up."""


class Models:
    """Constructs models, and keeps them. `pinned` are sizes from the configuration, `made` what is made up.

    `described` tells what comments say of parameters and fields, `hints` what else docstrings say of these,
    `claimed` which names the claims of a function use, `elsewhere` what those of other functions of its file name,
    `inferred` what those in a function say that its parameters are,
    `subclasses` which classes stand for an abstract one.
    With `build`, models are made by that, with values; else abstractly, without any.
    """

    def __init__(
        self,
        recorder: Recorder,
        pinned: Mapping[str, int],
        described: Callable[[object], Descriptions],
        subclasses: Callable[[type], Sequence[type]],
        made: InventedSizes | None = None,
        constructions: tuple[int, ...] = CONSTRUCTIONS,
        build: Callable[[LazyCall], object] | None = None,
        claimed: Callable[[object], tuple[frozenset[str], ...]] = lambda function: (),
        hints: Callable[[object], Mapping[str, DocstringHint]] = lambda function: {},
        call_sites: CallSites | None = None,
        elsewhere: Callable[[object], Mapping[str, tuple[ShapeOfName, ...]]] = lambda function: {},
        inferred: Callable[[object], Mapping[str, InferredParameter]] = lambda function: {},
    ) -> None:
        self.elsewhere, self.inferred = elsewhere, inferred
        self.call_sites = call_sites or CallSites()
        self.build, self.has_values = build or abstract_call.build, build is not None
        self.pinned, self.described, self.claimed, self.subclasses = pinned, described, claimed, subclasses
        self.made, self.constructions = made or InventedSizes(), constructions
        self.hints = hints
        self.keys = Keys()
        self._recorder = recorder
        self._kept: dict[_Key, tuple[object, dict[str, int], RecordedPart]] = {}
        self._made: dict[_Key, Synthesis] = {}
        self._chosen: dict[int, dict[str, int]] = {}
        self._vain: Counter[Callable[..., object]] = Counter()  # constructions with values that came to nothing

    def instance(
        self,
        cls: type,
        construction: int,
        init: Mapping[str, object] | None = None,
        invention: int = 0,
        choices: Choices = (),
        *,
        rank: int = 1,
    ) -> Instance:
        """An abstract instance of `cls`, or its construction, if that is yet to happen. What that showed is kept.

        Arrays that it is given have `rank` axes for `*batch`.
        """
        if issubclass(cls, deferred_classes()):
            deferred, synthesis = self.constructor(cls, init or {}, construction, invention, choices, rank=rank)
            return deferred, {**synthesis.integers.by_parameter, **only_integers(init or {})}, synthesis
        key = (cls, construction, invention, repr(init or {}), choices, rank)
        if key not in self._kept:
            start = len(self._recorder.calls)
            model, known = self._construct(cls, init or {}, construction, invention, choices, rank=rank)
            self._kept[key] = model, known, self._recorder.since(start)
        else:
            self._recorder.again(self._kept[key][2])
        return (*self._kept[key][:2], self._made[key])

    def construct_with(self, cls: type, init: Mapping[str, object]) -> tuple[object, dict[str, int]]:
        """An abstract instance with the arguments that the user gave, the others made up, and its integers."""
        problem: CannotSynthesiseError | None = None
        for construction in self.constructions:
            try:
                return self._construct(cls, init, construction)
            except CannotSynthesiseError as error:
                problem = problem or error
        raise ExampleError(str(problem)) from problem

    def constructor(
        self,
        cls: type,
        init: Mapping[str, object],
        construction: int,
        invention: int = 0,
        choices: Choices = (),
        *,
        rank: int = 1,
    ) -> tuple[LazyCall, Synthesis]:
        """A construction that is yet to happen."""
        if is_abstract(cls):
            raise CannotSynthesiseError(f"{cls.__name__} is abstract")
        makers = record_makers(cls) if not init else ()
        self.made.chosen.clear()  # of a construction that came to nothing
        try:
            call, synthesis = self.call(cls, init, construction, invention, choices, rank=rank)
        except CannotSynthesiseError:
            if not makers:
                raise
        else:
            if not makers or synthesis.choices.way(_INSTANCE, (OTHERWISE, AS_FILE_MAKES)) == OTHERWISE:
                return call, synthesis
        return self._as_file_makes(cls, makers, construction, invention, choices)

    def _as_file_makes(
        self, cls: type, makers: Sequence[Maker], construction: int, invention: int, choices: Choices
    ) -> tuple[LazyCall, Synthesis]:
        """A call of what begins an instance, `Attention.init(key, size)`: it knows which layers are stacks."""
        maker = makers[invention % len(makers)]
        call, synthesis = self.maker_call(maker.function, construction, {}, invention, choices)
        synthesis.choices.way(_INSTANCE, (OTHERWISE, AS_FILE_MAKES))

        def instance_in(made: Any) -> object:
            made = made if maker.part is None else made[maker.part]
            if isinstance(made, cls) and has_one_size_for_each_name(made, self.described):
                return made
            raise CannotSynthesiseError(f"{maker.function.__name__} makes no {cls.__name__} with a size for each name")

        return LazyCall(instance_in, [call], {}), synthesis

    def maker_call(
        self,
        maker: Callable[..., object],
        construction: int,
        init: Mapping[str, object] = types.MappingProxyType({}),
        invention: int = 0,
        choices: Choices = (),
    ) -> tuple[LazyCall, Synthesis]:
        """A call of what makes a function, that is yet to happen, with what it is given."""
        self.made.chosen.clear()  # of a call that came to nothing
        return self.call(maker, init, construction, invention, choices)

    def call(
        self,
        function: Callable[..., object],
        init: Mapping[str, object],
        construction: int,
        invention: int = 0,
        choices: Choices = (),
        *,
        rank: int = 1,
    ) -> tuple[LazyCall, Synthesis]:
        """A call of what makes a model, a class or a factory, that is yet to happen."""
        described = call_descriptions(function, self.described)
        specs = specs_of(function, described)
        sizes = SizeAssignment("sized", self.pinned, specs, variant=CONSTRUCTOR_VARIANT, rank=rank, made=self.made)
        synthesis = self.synthesis(sizes, construction, invention, ArgumentChoices(choices, "self."))
        sizes.choose_inner = synthesis.integers.choose_inner
        body = body_shapes(function, described, self.hints(function))
        args, kwargs = synthesis.arguments(function, described, init, body, constructing=True)
        if construction == AS_CALLED and not synthesis.sources.took_from_calls:
            raise NotCalledError(f"nothing calls {function.__name__} with known values")
        return LazyCall(function, args, kwargs), synthesis

    def synthesis(
        self,
        assignment: SizeAssignment,
        variant: int,
        invention: int = 0,
        choices: ArgumentChoices | None = None,
    ) -> Synthesis:
        """What makes arguments under an assignment of sizes."""
        return Synthesis(
            assignment,
            variant=variant,
            invention=invention,
            pinned=self.pinned,
            subclasses=self.subclasses,
            described=self.described,
            keys=self.keys,
            choices=choices,
            hints=self.hints,
            call_sites=self.call_sites,
            claimed=self.claimed,
            inferred=self.inferred,
        )

    def recall(self, construction: int) -> None:
        """Let those be the sizes that were made up which were so for this construction, the latest if it is unknown."""
        self.made.chosen = self._chosen.get(construction, self.made.chosen)

    def _construct(
        self,
        cls: type,
        init: Mapping[str, object],
        construction: int,
        invention: int = 0,
        choices: Choices = (),
        *,
        rank: int = 1,
    ) -> tuple[object, dict[str, int]]:
        deferred, synthesis = self.constructor(cls, init, construction, invention, choices, rank=rank)
        try:
            model = self.build(deferred)
        except TimeLimitError:
            raise
        except AbsentPackageError as error:
            raise CannotSynthesiseError(f"{cls.__name__} cannot be constructed: {error}") from None
        except BaseException as error:  # the user's constructor may raise anything
            if is_own(error) or self._recorder.is_interrupted(error):
                raise
            model = self._with_values(deferred, synthesis, invention) if kind_of(error) == "value" else None
            if model is None:
                raise self._not_constructed(cls, error, synthesis) from None
        self._made[cls, construction, invention, repr(init), choices, rank] = synthesis
        self._chosen[construction] = dict(self.made.chosen)
        return model, {**synthesis.integers.by_parameter, **integers_of(model), **only_integers(init)}

    def _with_values(self, deferred: LazyCall, synthesis: Synthesis, invention: int) -> object:
        """What a constructor makes that computes with values; None if it cannot do that either, or takes too long."""
        if self.has_values or self._vain[deferred.function] >= _MOST_VAIN:
            return None
        folders = {os.path.dirname(file) for file in self._recorder.paths}
        try:
            model, takes_arrays = build_with_values(deferred, 1 + invention % 2, folders)
        except AbsentPackageError as error:
            name = getattr(deferred.function, "__name__", "it")
            raise CannotSynthesiseError(f"{name} cannot be constructed: {error}") from None
        except Exception as error:
            if is_own(error) and not isinstance(error, TooExpensiveError):
                raise
            self._vain[deferred.function] += 1
            return None
        if takes_arrays:
            synthesis.values.invent("value", getattr(deferred.function, "__name__", "model"), "made of made-up values")
        return model

    def _not_constructed(self, cls: type, error: BaseException, synthesis: Synthesis) -> CannotSynthesiseError:
        return CannotSynthesiseError(
            f"constructing {cls.__name__} with made-up arguments raised {describe_error(error)}",
            options=synthesis.choices.options,
            trace=trace_of(error, self._recorder),
        )
