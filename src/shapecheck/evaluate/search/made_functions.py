"""Whether a shape error lies with what a made-up function gives, of which nobody says anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable

from shapecheck.evaluate.inputs.facts.defining_source import DefiningSource, defining_source
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.model import Assumption, Frame
from shapecheck.model.assumption import MADE_FUNCTION

_STRUCTURE = re.compile(r"same pytree structure|body output must be a pair")


def made_functions(assumptions: Iterable[Assumption]) -> set[str]:
    """The names of the functions that were made up, whatever is assumed of what they give."""
    invented = [each for each in assumptions if each.provenance == "invented"]
    by_kind = {each.subject for each in invented if each.value.startswith(MADE_FUNCTION)}
    return by_kind | {each.subject.removesuffix("()") for each in invented if each.subject.endswith("()")}


def may_blame_function(outcome: TrialOutcome, function: Callable[..., object] | None) -> bool:
    """Whether a loop's body does not give what it is to give, where that body may have been made up.

    Or what does not fit is on a line that calls a made-up function, `solve(diagonal(n - 1))`, or names what one gave:
    `x0 = sampler(key)`, and then `vmap(energy)(x0)`. One that is called so may have it from its caller by that name.
    """
    failure, call = outcome.failure, outcome.bound_call
    if failure is None or call is None:
        return False
    if _STRUCTURE.search(failure.message) is not None and outcome.has_invented():
        return True
    made = made_functions(call.assumptions)
    if not made or failure.frame is None:
        return False
    source = _source_of(failure.frame, function)
    return source is not None and _takes_from(source, failure.frame.line, made)


def _source_of(frame: Frame, function: Callable[..., object] | None) -> DefiningSource | None:
    """The source of the function in which a run ended, if it is this one or one that its module has."""
    beside = getattr(function, "__globals__", {}).get(frame.function)
    named = (each for each in (function, beside) if getattr(each, "__qualname__", None) == frame.function)
    return next(filter(None, map(defining_source, named)), None)


def _takes_from(source: DefiningSource, line: int, made: Collection[str]) -> bool:
    """Whether the statement on a line calls a made-up function, or names what such a call gave before."""
    statements = [each for each in ast.walk(source.tree) if isinstance(each, ast.stmt) and each is not source.tree]
    given = {
        name.id
        for each in statements
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and _calls(each.value, made)
        for target in each.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    at_end = [each for each in statements if each.lineno + source.first_line - 1 == line]
    nodes = [node for each in at_end for node in ast.walk(each)]
    return any(
        (isinstance(node, ast.Call) and _calls(node, made)) or (isinstance(node, ast.Name) and node.id in given)
        for node in nodes
    )


def _calls(node: ast.Call, names: Collection[str]) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in names
