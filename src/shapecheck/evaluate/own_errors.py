"""Whose an error is: the user's, as nearly all are, or ours, which is a bug and no finding."""

from __future__ import annotations

import contextlib
import dis
import itertools
from collections import Counter
from collections.abc import Iterator
from types import FrameType, TracebackType

from shapecheck.evaluate.limits import ReadOnlyError, TimeLimitError

HANDLE = "__shapecheck__"
"""The name by which a module that is checked has its probe."""

# The user's class may have something else under these names.
_cause_of = vars(BaseException)["__cause__"].__get__
_traceback_of = vars(BaseException)["__traceback__"].__get__
_LONGEST = 100_000  # characters of a message that are looked at
_RECURSION = 20  # turns of a function that recurs; others stand in a traceback a few times at most
# What users' tests call raises in their name.
_CALLED_BY_TESTS = ("shapecheck.evaluate.live.shapes_fixture", "shapecheck.evaluate.live.signature_check")
# Its functions that stand in the place of methods of JAX's own.
_CONSTANTS = "shapecheck.evaluate.probes.constant_values"
_PASSING_ON = frozenset({"process_and_note", "value_of", "method"})
_PASSING_ON_ARGUMENTS = dis.opmap["CALL_FUNCTION_EX"]


Trace = tuple[tuple[int, int], ...]
"""How an error came: the lines of the user's code, outermost first, each with the instruction that it had come to."""


class RefusalError(Exception):
    """What we raise on purpose in the midst of the user's code, which cannot go on there."""


def is_own(error: BaseException) -> bool:
    """Whether the checker itself raised `error`: then it is a bug of ours, and no finding."""
    frames = [frame for frame, _ in frames_of(error)]
    if not frames or not _is_ours(frames[-1]) or isinstance(error, MemoryError):
        return False
    if isinstance(error, RecursionError):  # our probe may be what the user's recursion had no room for
        return not any(n >= _RECURSION and not _is_ours(frame) for frame, n in _turns(frames))
    if any(isinstance(each, (RefusalError, ReadOnlyError)) for each in _causes(error)):
        return False
    if isinstance(error, AttributeError) and frames[-1].f_code.co_name == "__getattr__":  # of what stands for a package
        return False
    return not _is_of_called(error)


def _is_of_called(error: BaseException) -> bool:
    """Whether it was raised as a function of ours passed a call on: `called(*args, **kwargs)`.

    What does not fit the user's function is raised there, and what a callable written in C raises: both have no frame.
    """
    *_, last = tracebacks_of(error)
    code = last.tb_frame.f_code
    starts = [*dis.findlinestarts(code), (len(code.co_code), 0)]
    # By its line: where a `finally` is around the call, the instruction is the one that raises the error again.
    return any(
        _PASSING_ON_ARGUMENTS in code.co_code[start:end:2]
        for (start, line), (end, _) in itertools.pairwise(starts)
        if line == last.tb_lineno
    )


def raise_own(error: BaseException) -> None:
    """Raise what is a bug of ours again: who catches whatever the user's code may raise does not mean that."""
    if is_own(error):
        raise error


def raise_own_within(error: BaseException) -> None:
    """The same for an error of something called that may be written in C, which has no frame: then it is not ours."""
    if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
        raise_own(error)


@contextlib.contextmanager
def suppress_others(*refusals: type[Exception]) -> Iterator[None]:
    """Suppress what the user's code raises, and what of ours is no bug: these refusals."""
    try:
        yield
    except refusals:
        pass
    except Exception as error:
        raise_own(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it says that it comes from: who calls our own interface gets its words for a refusal."""
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = _cause_of(current)


def frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames that an error came through, but for ours that JAX calls: what it raises there, it raises itself."""
    return [(each.tb_frame, each.tb_lineno) for each in tracebacks_of(error)]


def tracebacks_of(error: BaseException) -> Iterator[TracebackType]:
    """The same with the instructions of these frames, outermost first."""
    current: TracebackType | None = _traceback_of(error)
    while current is not None:
        if not _is_called_by_jax(current.tb_frame):
            yield current
        current = current.tb_next


def lines_of(trace: Trace) -> tuple[int, ...]:
    """The lines alone."""
    return tuple(line for line, _ in trace)


def _is_called_by_jax(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == _CONSTANTS and frame.f_code.co_name in _PASSING_ON


def _is_ours(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    is_checked = HANDLE in frame.f_globals  # our own sources, which are the user's then
    return name.startswith("shapecheck.") and name not in _CALLED_BY_TESTS and not is_checked


def _turns(frames: list[FrameType]) -> Iterator[tuple[FrameType, int]]:
    """Each function in a traceback once, with how often it stands there."""
    by_code = {frame.f_code: frame for frame in frames}
    for code, number in Counter(frame.f_code for frame in frames).items():
        yield by_code[code], number


def message_of(error: BaseException) -> str:
    """The message of an exception, or its begin; nothing where the user's own way to make it raises another one."""
    try:
        return str(error)[:_LONGEST]
    except TimeLimitError:
        raise
    except BaseException:  # `__str__` is the user's code
        return ""
