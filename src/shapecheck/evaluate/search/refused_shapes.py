"""Documented shapes that the code refuses: it runs only with another number or order of axes, or another fixed size.

A function whose arguments all are as its docstring says, and which raises at the same check of its own whatever the
sizes are, is given another shape for one argument of that check. If it then runs to its end the docstring is wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.evaluate.inputs.facts.deciding_names import Check, find_check
from shapecheck.evaluate.inputs.trials.choices import shape_key
from shapecheck.evaluate.inputs.trials.size_assignment import DIVISIBLE
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec
from shapecheck.evaluate.inputs.trials.trial import CallSpec, Trial, TrialOutcome
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.size_search import says_division
from shapecheck.shapes import is_variadic, parse_spec

_ATTEMPTS = 24
_SECONDS = 2.0
_MOST_AXES = 4
_MOST_NAMES = 6
_MOST_NUMBERS = 4


@dataclass(frozen=True)
class RefusedShape:
    """The parameter whose documented shape is refused, and a run to the end with another one."""

    parameter: str
    outcome: TrialOutcome


def find_refused(failed: Sequence[TrialOutcome], call_spec: CallSpec, attempts: Attempts) -> RefusedShape | None:
    """The one argument that the code refuses as it is documented; None if there is no such argument, or several.

    `failed` are runs with all arguments as written, which differ in sizes. The code itself checks an argument: what
    JAX raises for one is a shape error of the code.
    """
    failure = failed[0].failure
    if failure is None or call_spec.open_ranks or not call_spec.certain:
        return None
    if len({each.place for each in failed}) > 1 or not failed[0].place[0]:
        return None
    if any(each.failure is None or each.failure.kind != "other" or each.has_invented() for each in failed):
        return None
    arrays = call_spec.signature.arrays
    check = _check_of_arrays_alone(call_spec, failed[0].place[1])
    if check is None:
        return None
    annotated = {each.parameter for each in arrays if each.formal}
    checked = check.names - annotated
    documented = {each.parameter: each for each in reversed(arrays) if each.parameter in checked}
    names = [name for each in arrays for name in parse_spec(each.spec).free_names()][:_MOST_NAMES]
    numbers = [str(each) for each in check.integers if each > 0][:_MOST_NUMBERS]
    start = Trial(mode="sized", construction=failed[0].trial.construction)
    with attempts.apart(_ATTEMPTS, _SECONDS):
        runs = {name: _run_otherwise(start, each, names, numbers, attempts) for name, each in documented.items()}
    found = [RefusedShape(name, outcome) for name, outcome in runs.items() if outcome is not None]
    return found[0] if len(found) == 1 else None


def _check_of_arrays_alone(call_spec: CallSpec, line: int) -> Check | None:
    """The check that raises on a line, if documented arguments alone decide it: not `if x.ndim == 1 and n > 3`."""
    function = call_spec.signature.function
    check = find_check(function, line) if function is not None else None
    code = getattr(unwrap(function), "__code__", None)
    if check is None or code is None:
        return None
    documented = {each.parameter for each in call_spec.signature.arrays if not each.formal}
    return check if not (check.names & set(code.co_varnames)) - documented else None


def _run_otherwise(
    start: Trial, argument: ArgumentSpec, names: Sequence[str], numbers: Sequence[str], attempts: Attempts
) -> TrialOutcome | None:
    """The first run to the end with another shape for an argument."""
    for spec in _other_shapes(argument, names, numbers):
        if attempts.is_exhausted():
            return None
        trial = dataclasses.replace(start, choices=((shape_key(argument.parameter), spec),))
        outcome = attempts.run(trial)
        if outcome.failure is not None and says_division(outcome.failure.message):
            outcome = attempts.run(dataclasses.replace(trial, variant=DIVISIBLE))
        if outcome.ok:
            return outcome
    return None


def _other_shapes(argument: ArgumentSpec, names: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
    """Numbers that the check writes in place of those documented, the axes the other way round, and more or fewer axes.

    More axes are new ones, or those that other arguments have.
    """
    dims = [str(dim) for dim in parse_spec(argument.spec).dims]
    if any(map(is_variadic, parse_spec(argument.spec).dims)):
        return
    for place in (place for place, dim in enumerate(dims) if dim.isdigit()):
        others = (number for number in numbers if number != dims[place])
        yield from (" ".join([*dims[:place], number, *dims[place + 1 :]]) for number in others)
    if len(dims) > 1:
        yield " ".join(reversed(dims))
    for axes in sorted(range(_MOST_AXES + 1), key=lambda axes: abs(axes - len(dims))):
        if axes < len(dims):
            yield " ".join(dims[len(dims) - axes :])
            yield " ".join(dims[:axes])
        elif axes > len(dims):
            more = [f"{argument.parameter}{number}" for number in range(axes - len(dims))]
            yield " ".join([*more, *dims])
            yield " ".join([*dims, *more])
            for name in dict.fromkeys(names) if len(more) == 1 else ():
                yield from (" ".join([name, *dims]), " ".join([*dims, name])) if name not in dims else ()
