"""How sizes are related, as functions that are called say of their own arguments.

`dynamics` says `# x: (2 * n,), u: (n,)`. Who calls it with states of `(n_x,)` and controls of `(n_u,)` has twice as
many of the first, though only that function says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shapecheck.evaluate.inputs.trials.ties import Tie
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.probes.recorder import ClaimedShapes
from shapecheck.model import ArrayValue, Call, FunctionKey
from shapecheck.shapes import (
    Dim,
    EvaluationError,
    NamedDim,
    SymbolicDim,
    evaluate,
    parse_spec,
    print_spec,
    rename_names,
)


def related_sizes(outcome: TrialOutcome, claimed: ClaimedShapes, scope: FunctionKey | None) -> Iterator[Tie]:
    """Ties of free names of an entry, whose own function is `scope`, under which what it calls has what that says.

    `claimed` has what functions say of their parameters. A name that a function has for no whole axis ties nothing.
    """
    chosen = outcome.bound_call.chosen if outcome.bound_call is not None else ()
    tied = dict(outcome.trial.substitution.ties)
    free = {size: name for name, size in chosen if name not in tied}
    for call in outcome.calls:
        if (call.path, call.scope) != scope:
            yield from _ties(list(_axes(call, claimed)), free)


def _ties(axes: list[tuple[Dim, str]], free: Mapping[str, str]) -> Iterator[Tie]:
    sizes: dict[str, str] = {}
    for dim, size in axes:
        if isinstance(dim, NamedDim):
            sizes.setdefault(dim.name, size)
    names = {name: free[size] for name, size in sizes.items() if size in free}
    numbers = {name: (int(size),) for name, size in sizes.items() if size.isdigit()}
    for dim, size in axes:
        if not isinstance(dim, SymbolicDim) or size not in free:
            continue
        try:
            is_so = str(evaluate(dim.expression, numbers, 1)[0]) == size
        except (EvaluationError, KeyError):
            continue
        spec = parse_spec(str(dim))
        if not is_so and all(each in names for each in spec.names()):
            yield free[size], print_spec(rename_names(spec, names))


def _axes(call: Call, claimed: ClaimedShapes) -> Iterator[tuple[Dim, str]]:
    for each in call.observations:
        said = claimed.get((call.path, each.site))
        dims = parse_spec(said.spec).dims if said is not None else ()
        if isinstance(each.value, ArrayValue) and len(each.value.shape) == len(dims):
            yield from zip(dims, each.value.shape, strict=True)
