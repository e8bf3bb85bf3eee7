"""How sizes are related, as functions that are called say of their own arguments.

`dynamics` says `# x: (2 * n,), u: (n,)`. Who calls it with states of `(n_x,)` and controls of `(n_u,)` has twice as
many of the first, though only that function says so. What a function that is called says of a name is what the name
has there: an axis of another argument, or an integer. Where it says `(2,)`, the caller's `m` is 2.
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
    FixedDim,
    NamedDim,
    SymbolicDim,
    evaluate,
    parse_spec,
    print_spec,
    rename_names,
)

_Axis = tuple[int, Dim, str]
"""A site, one of its dims, and the size that it had."""


def related_sizes(outcome: TrialOutcome, claimed: ClaimedShapes, scope: FunctionKey | None) -> Iterator[Tie]:
    """Ties of free names of an entry, whose own function is `scope`, under which what it calls has what that says.

    `claimed` has what functions say of their parameters, sizes that they write as numbers among it.
    """
    bound_call = outcome.bound_call
    tied = dict(outcome.trial.substitution.ties)
    free = {size: name for name, size in bound_call.chosen if name not in tied} if bound_call is not None else {}
    known = {str(size): name for name, size in bound_call.integers.items()} if bound_call is not None else {}
    for call in outcome.calls if free else ():
        if (call.path, call.scope) != scope:
            axes = list(_axes(call, claimed))
            yield from _ties(call, axes, free, {**known, **free})
            fixed = ((size, str(dim.size)) for _, dim, size in axes if isinstance(dim, FixedDim))
            yield from ((free[size], number) for size, number in fixed if size in free and size != number)


def _ties(call: Call, axes: list[_Axis], free: Mapping[str, str], known: Mapping[str, str]) -> Iterator[Tie]:
    sites = {site for site, _, _ in axes}
    integers = {each.name: each.size for one in call.observations for each in one.names if one.site in sites}
    sizes = {**{dim.name: size for _, dim, size in reversed(axes) if isinstance(dim, NamedDim)}, **integers}
    numbers = {name: (int(size),) for name, size in sizes.items() if size.isdigit()}
    names = {name: known.get(size, size) for name, size in sizes.items()}
    for _, dim, size in axes:
        if not isinstance(dim, SymbolicDim) or size not in free:
            continue
        try:
            wanted = str(evaluate(dim.expression, numbers, 1)[0])
        except (EvaluationError, KeyError):
            continue
        if wanted != size and all(names[each].isidentifier() for each in parse_spec(str(dim)).names()):
            yield free[size], print_spec(rename_names(parse_spec(str(dim)), names))


def _axes(call: Call, claimed: ClaimedShapes) -> Iterator[_Axis]:
    for each in call.observations:
        said = claimed.get((call.path, each.site))
        dims = parse_spec(said.spec).dims if said is not None else ()
        if isinstance(each.value, ArrayValue) and len(each.value.shape) == len(dims):
            yield from ((each.site, dim, size) for dim, size in zip(dims, each.value.shape, strict=True))
