"""Made-up integers that a loop has as many turns as, or more, where an evaluation takes long in it.

A `depth` of 48 is no matter to a layer's width, and too much for `for i in range(2**depth)`, which Python runs. What is
seen where a function counts turns itself is made small from the start (`known_numbers`); what reaches the loop through
other functions shows as the time is over, on the stack.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping
from types import CellType, FrameType, FunctionType

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.synthesis.real_values import too_long
from shapecheck.evaluate.inputs.trials.choices import FEW, Choices, turns_key
from shapecheck.evaluate.inputs.trials.trial import BoundCall
from shapecheck.evaluate.limits import TimeLimitError, time_limit

_LONG = 1.0  # seconds of the processor, after which it is looked what is going on
_LEAST = 16  # a smaller integer was made to be small


class LongLoopError(BaseException):
    """An evaluation was ended in a loop; not an Exception, so that user code lets it pass."""


class LongLoops:
    """The integers of one entry that are `small` from now on, since a loop has as many turns."""

    def __init__(self, files: Container[str]) -> None:
        self._files = files
        self._small: dict[str, None] = {}

    @property
    def small(self) -> Choices:
        """The choices of a trial by which these are small."""
        return tuple((turns_key(name), FEW) for name in self._small)

    @contextlib.contextmanager
    def limit(self, seconds: float, bound_call: BoundCall | None = None) -> Iterator[None]:
        """Evaluate, or make arguments, for so many seconds, or until a loop runs as often as an integer says.

        Raises LongLoopError then, and TooExpensiveError where there is no such loop.
        """
        made: dict[int, str] = {}
        if bound_call is not None:
            every = (*bound_call.integers.items(), *bound_call.options.integers.items())
            made = {size: name.rpartition(".")[2] for name, size in every if size >= _LEAST}
        found: dict[str, None] = {}

        def longer(frame: FrameType | None) -> float:
            found.update(dict.fromkeys(each for each in self._loop_bounds(frame, made) if each not in self._small))
            return 0.0 if found else seconds

        try:
            with time_limit(min(_LONG, seconds), of_processor=True, longer=longer):
                yield
        except TimeLimitError as error:
            if found:
                self._small.update(found)
                raise LongLoopError from None
            raise too_long(seconds, error) from None

    def _loop_bounds(self, frame: FrameType | None, made: Mapping[int, str]) -> Iterator[str]:
        """The made-up integers by which loops run that are under way; or functions call themselves."""
        frames: list[FrameType] = []
        while frame is not None:
            if frame.f_code.co_filename in self._files:
                frames.append(frame)
            frame = frame.f_back
        if not made and frames:  # a constructor runs before it is known what was made up for it
            taken = frames[-1].f_locals.items()
            made = {value: name for name, value in taken if type(value) is int and value >= _LEAST}
        codes = [each.f_code for each in frames]
        for each in reversed(frames) if made else ():
            bounds = _bounds_in(each)
            for name, value in each.f_locals.items():
                is_turned = name in bounds or codes.count(each.f_code) > 1
                if is_turned and type(value) is int and value in made:
                    yield made[value]


def _bounds_in(frame: FrameType) -> Container[str]:
    """The variables of a function that is running which say how many turns its loops have, or stand in exponents."""
    code = frame.f_code
    closure = tuple(CellType() for _ in code.co_freevars)
    found = function_parts(FunctionType(code, frame.f_globals, code.co_name, None, closure))
    return {*found.loop_bounds, *found.exponents} if found is not None else ()
