"""What a call gives that shows nothing by itself: a generator is asked for some items, a function is called."""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Sequence
from types import FunctionType, GeneratorType
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from shapecheck.evaluate import jax_internals
from shapecheck.evaluate.inputs.facts.body_shapes import body_shapes
from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of, is_array_type
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.choices import is_length_key
from shapecheck.evaluate.inputs.trials.size_assignment import UnknownSizeError
from shapecheck.evaluate.own_errors import raise_own
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.shapes import SpecError

if TYPE_CHECKING:
    from shapecheck.evaluate.inputs.synthesis.construct_models import Models
    from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import Synthesis

_ITEMS = 3  # of a generator, which may have no end
_MOST = 4  # functions that one call gives


class LaterResults:
    """Uses what a call of `function` has given; `synthesis` makes the arguments that this needs.

    What goes wrong in it is no failure of that call: others may use its result in other ways.
    """

    def __init__(
        self, function: Callable[..., object], models: Models, synthesis: Synthesis, recorder: Recorder
    ) -> None:
        self._function, self._models, self._synthesis, self._recorder = function, models, synthesis, recorder

    def use(self, result: object) -> None:
        """Ask a generator for items; call a function with claims, or of which the annotation says what it takes."""
        if isinstance(result, GeneratorType):
            for _ in itertools.islice(result, _ITEMS):
                pass
            result.close()
            return
        results = result if isinstance(result, tuple) else (result,)
        functions = [each for each in results if isinstance(each, FunctionType)]
        for each in functions[:_MOST]:
            if self._describes_itself(each) or self._is_annotated():
                self._call(each)

    def _call(self, function: FunctionType) -> None:
        try:
            args, kwargs = self._arguments(function)
        except (CannotSynthesiseError, UnknownSizeError, SpecError):
            return
        try:
            abstract_call.run_by(_with_zeros, function, *args, **kwargs)
        except Exception as error:  # of the user's code
            raise_own(error)
            self._recorder.interrupt(error)

    def _arguments(self, function: FunctionType) -> tuple[Sequence[object], dict[str, object]]:
        """Arguments of which something says all: what is made up after a call has begun could not be made otherwise."""
        values = self._synthesis.values
        before = self._made_up()
        is_mapped = jax_internals.is_mapped(function)
        if is_mapped and self._speaks_of_one_example(function):
            raise CannotSynthesiseError("nothing says what axes the function maps over that is given back")
        taken = self._parameters_of_result()
        if taken is not None and (is_mapped or not self._describes_itself(function)):
            found: tuple[Sequence[object], dict[str, object]] = [values.value(each, "") for each in taken], {}
        else:
            described = self._models.described(function)
            body = body_shapes(function, described, self._models.hints(function))
            found = self._synthesis.arguments(function, described, {}, body)
        if before != self._made_up():
            raise CannotSynthesiseError("nothing says what the function takes that is given back")
        return found

    def _made_up(self) -> tuple[int, ...]:
        """How much was made up by now, of each kind, and sequences of which nobody says how long they are."""
        values, assignment = self._synthesis.values, self._synthesis.assignment
        lengths = sum(map(is_length_key, values.choices.options.others))
        return len(values.inventions), len(assignment.guessed_dtypes), len(self._synthesis.instances.sizes), lengths

    def _describes_itself(self, function: FunctionType) -> bool:
        """Whether the function says itself what it takes, in numbers alone too: what says less than it yields to it."""
        if self._models.claimed(function) or self._models.described(function):
            return True
        parameters = inspect.signature(function).parameters.values()
        return any(is_array_type(annotation_of(function, each.name, each.annotation)) for each in parameters)

    def _speaks_of_one_example(self, function: FunctionType) -> bool:
        """Whether the annotation of the result gives what `vmap` returned the arguments of what it maps.

        What it is called with has an axis more than that.
        """
        taken = self._parameters_of_result()
        if taken is None:
            return self._describes_itself(function)
        parameters = inspect.signature(function).parameters.values()
        own = [annotation_of(function, each.name, each.annotation) for each in parameters]
        return any(is_array_type(a) and str(a) == str(b) for a, b in zip(taken, own, strict=False))

    def _is_annotated(self) -> bool:
        taken = self._parameters_of_result()
        return taken is not None and any(map(is_array_type, taken))

    def _parameters_of_result(self) -> Sequence[object] | None:
        """What the annotation of the result says that a function takes."""
        try:
            raw = inspect.signature(self._function).return_annotation
        except (TypeError, ValueError):
            return None
        if isinstance(raw, str) and "Callable" not in raw:
            return None
        arguments = typing.get_args(annotation_of(self._function, "return", raw))
        return arguments[0] if len(arguments) == 2 and isinstance(arguments[0], list) else None


def _with_zeros(call: Callable[..., object], structs: Sequence[jax.ShapeDtypeStruct]) -> None:
    """Evaluate inside of an evaluation that goes on: its arrays are as abstract as those around."""
    call([_zeros(struct) for struct in structs])


def _zeros(struct: jax.ShapeDtypeStruct) -> object:
    if jnp.issubdtype(struct.dtype, jax.dtypes.extended):
        return jnp.broadcast_to(jax.random.key(0), struct.shape)
    return jnp.zeros(struct.shape, struct.dtype)
