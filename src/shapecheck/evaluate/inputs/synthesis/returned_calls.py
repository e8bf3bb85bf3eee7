"""Calls of functions that other functions return: who makes them is called first, in the same evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import jax

from shapecheck.evaluate.inputs.facts.body_shapes import body_shapes
from shapecheck.evaluate.inputs.facts.handed_on import descriptions_of
from shapecheck.evaluate.inputs.facts.signature_facts import inner_function, only_integers
from shapecheck.evaluate.inputs.project.returned_functions import Beside, ResultPart, given_beside, parts_of_result
from shapecheck.evaluate.inputs.synthesis.construct_models import Instance, Models
from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import Synthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error
from shapecheck.evaluate.inputs.trials.integer_relations import integer_relations
from shapecheck.evaluate.inputs.trials.trial import Trial
from shapecheck.evaluate.inputs.trials.written_relations import written_relations
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import raise_own
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.model import Assumption


class _Once:
    """Calls what makes a function once in an evaluation: all that is taken of its result is of one result."""

    def __init__(self, maker: Callable[..., object]) -> None:
        self._maker = maker
        self._made: list[object] = []

    def __call__(self, *args: object, **kwargs: object) -> object:
        if not self._made:
            self._made.append(self._maker(*args, **kwargs))
        return self._made[0]


@dataclass(frozen=True)
class ReturnedFunction:
    """A function that `maker` returns, as `part` of its result; its parameters in `beside` are given others of these.

    `function` is one such result, of which the code and the annotations are read.
    """

    maker: Callable[..., object]
    part: ResultPart
    function: FunctionType
    beside: Mapping[str, Beside]

    def instance(self, models: Models, trial: Trial, init: Mapping[str, object]) -> Instance:
        """What makes the function, yet to be called, and the integers that it is given.

        They have the relations that its file writes: whoever calls it sees to them.
        """

        def make(init: Mapping[str, object]) -> tuple[LazyCall, Synthesis]:
            return models.maker_call(self.maker, trial.construction, init, trial.invention, trial.choices)

        call, synthesis = make(init)
        for each in integer_relations(synthesis.integers.chosen, written_relations(self.maker)):
            init = {**dict(each.init), **init}
            call, synthesis = make(init)
            break
        once = LazyCall(_Once(call.function), call.args, call.kwargs)
        return once, {**synthesis.integers.by_parameter, **only_integers(init)}, synthesis

    def of(self, made: object) -> Callable[..., object]:
        """The function in a result of its maker."""
        return inner_function(self.part.of(made))

    def arguments(self, made: Any, synthesis: Synthesis, models: Models) -> dict[str, object]:
        """What stands beside it in the result `made`, yet to be taken out of it. Raises CannotSynthesiseError."""
        return {name: self._argument(each, made, synthesis, models) for name, each in self.beside.items()}

    def _argument(self, beside: Beside, made: Any, synthesis: Synthesis, models: Models) -> object:
        function = beside.part.function()
        if not beside.calls or function is None:
            return LazyCall(beside.part.of, [made], {})
        described = descriptions_of(function, models.described)
        body = body_shapes(function, described, models.hints(function))
        args, kwargs = synthesis.arguments(function, described, {}, body)

        def call(made: object, /, *args: object, **kwargs: object) -> Any:
            result: Any = beside.part.of(made)(*args, **kwargs)
            return _arrays_of(result) if beside.of_result is None else result[beside.of_result]

        return LazyCall(call, [made, *args], kwargs)

    def assumptions(self) -> tuple[Assumption, ...]:
        """What is assumed of the parameters that have other names than what they are given."""
        maker = getattr(self.maker, "__name__", "its maker")
        return tuple(
            Assumption("value", name, f"what {maker}() gives beside it", "alias")
            for name, each in self.beside.items()
            if not each.sure
        )


def _arrays_of(result: Any) -> Any:
    """What a function gives that begins parameters: of a tuple the only part with arrays, if there is one such.

    Some give the shape of their outputs before them.
    """
    parts = result if isinstance(result, tuple) else ()
    arrays = [each for each in parts if any(map(is_array, jax.tree_util.tree_leaves(each)))]
    return arrays[0] if len(parts) > 1 and len(arrays) == 1 else result


def find_returned(
    models: Models, maker: Callable[..., object], qualname: str, build: Callable[[LazyCall], object]
) -> ReturnedFunction:
    """The function of this name that `maker` returns, called with made-up arguments by `build`.

    Raises CannotSynthesiseError if it cannot be called, or returns no such function.
    """
    problem: CannotSynthesiseError | None = None
    for construction in models.constructions:
        try:
            made = build(models.maker_call(maker, construction)[0])
        except CannotSynthesiseError as error:
            problem = problem or error
            continue
        except TimeLimitError:
            raise
        except Exception as error:  # of the user's code
            raise_own(error)
            name = getattr(maker, "__name__", "its maker")
            problem = problem or CannotSynthesiseError(
                f"{name}, called with made-up arguments, raised {describe_error(error)}"
            )
            continue
        parts = parts_of_result(maker, made)
        for part in parts:
            function = part.function()
            if function is not None and function.__qualname__.replace(".<locals>", "") == qualname:
                beside = given_beside(function, parts, [*descriptions_of(function, models.described)])
                return ReturnedFunction(maker, part, function, beside)
        problem = problem or CannotSynthesiseError(f"what {maker.__name__} returns is not {qualname}")
    raise problem or CannotSynthesiseError(f"nothing makes {qualname}")
