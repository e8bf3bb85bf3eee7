"""How sizes are related, as functions that are called say of their own arguments.

`dynamics` says `# x: (2 * n,), u: (n,)`. Who calls it with states of `(n_x,)` and controls of `(n_u,)` has twice as
many of the first, though only that function says so. What a function that is called says of a name is what the name
has there: an axis of another argument, or an integer. Where it says `(2,)`, the caller's `m` is 2. And a grid that says
`u: "Ny Nx"` has an `Ny` of its own: who hands it an array on as it came, `"Nlat Nlon"`, has that many latitudes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

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
    is_variadic,
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
    came = {shape for call in outcome.calls if (call.path, call.scope) == scope for shape in _shapes(call, claimed)}
    for call in outcome.calls if free else ():
        if (call.path, call.scope) != scope:
            axes = list(_axes(call, claimed))
            yield from _ties(call, axes, free, {**known, **free})
            yield from _ties_to_instance(call, claimed, came, free)
            yield from _ties_to_numbers(call, claimed, came, free)


def _ties_to_numbers(
    call: Call, claimed: ClaimedShapes, came: Collection[tuple[str, ...]], free: Mapping[str, str]
) -> Iterator[Tie]:
    """Ties to numbers that a called function writes, for arrays that came to the caller, or items of these.

    The mean over the wrong axis has as many items as there are samples, which are no six for it.
    """
    for each in call.observations:
        said = claimed.get((call.path, each.site))
        shape = each.value.shape if isinstance(each.value, ArrayValue) else ()
        if said is None or not any(shape == other[len(other) - len(shape) :] for other in came):
            continue
        for dim, size in aligned_axes(parse_spec(said.spec).dims, shape):
            if isinstance(dim, FixedDim) and size in free and size != str(dim.size):
                yield free[size], str(dim.size)


def axes_of_any(
    outcome: TrialOutcome, claimed: ClaimedShapes, scope: FunctionKey | None, variadics: Collection[str]
) -> Iterator[Tie]:
    """Ties of free names to an axis of `*shape`, which has no name, where what is called has one for the two.

    Of `permute(x: "*shape", permutation: "n", axis)` nothing else says which axis that is.
    """
    free = {size: name for name, size in outcome.bound_call.chosen} if outcome.bound_call is not None else {}
    axes = {
        size for size, name in free.items() for each in variadics if name in (f"{each.lstrip('*')}{i}" for i in "012")
    }
    for call in outcome.calls if axes else ():
        by_name: dict[str, set[str]] = {}
        for _, dim, size in _axes(call, claimed) if (call.path, call.scope) != scope else ():
            if isinstance(dim, NamedDim) and size in free:
                by_name.setdefault(dim.name, set()).add(size)
        for sizes in by_name.values():
            along, others = sizes & axes, sizes - axes
            if len(along) == len(others) == 1:
                yield free[others.pop()], free[along.pop()]


def sizes_as_before(outcome: TrialOutcome, *claimed: ClaimedShapes) -> Iterator[Tie]:
    """Ties of free names to the sizes that they had when a method was seen, where its instance has kept these.

    `attn_bias: "#q k"` is an array of the instance, as long as the `k` that it was called with; and so is the result of
    an inverse transform on a grid. No other name that is free has that size now, an integer's neither: a transposed
    result has that of another axis.
    """
    bound_call = outcome.bound_call
    before = bound_call.apart.before if bound_call is not None else {}
    tied = dict(outcome.trial.substitution.ties)
    chosen = bound_call.chosen if bound_call is not None and before else ()
    # What is tied to the size that it had says no more than what kept that.
    free = {size: name for name, size in chosen if not (name in tied and size == str(before.get(name)))}
    for call in outcome.calls if free else ():
        by_name: dict[str, set[str]] = {}
        named: set[str] = set()
        for _, dim, size in (axis for each in claimed for axis in _axes(call, each)):
            named.update(parse_spec(str(dim)).names())
            if isinstance(dim, NamedDim):
                by_name.setdefault(dim.name, set()).add(size)
        integers = bound_call.integers.items() if bound_call is not None else ()
        of_integers = {str(size) for name, size in integers if name.rpartition(".")[2] in named}
        for sizes in by_name.values():
            kept = sizes - free.keys() - of_integers
            for size in sizes & free.keys():
                if str(before.get(free[size], "")) in kept:
                    yield free[size], str(before[free[size]])


def checked_ties(
    outcome: TrialOutcome, claimed: ClaimedShapes, parameters: ClaimedShapes, scope: FunctionKey | None
) -> Iterator[Tie]:
    """Ties of free names that the function `scope` itself demands: `if image.shape != (rows.shape[0], n): raise ...`.

    Whoever calls it sees to that, whatever names its annotations have for the two. Of what is computed a check may be
    wrong.
    """
    bound_call = outcome.bound_call
    free = {size: name for name, size in bound_call.chosen} if bound_call is not None else {}
    for call in outcome.calls if outcome.failure is not None else ():
        for each in call.observations if (call.path, call.scope) == scope else ():
            said = claimed.get((call.path, each.site))
            dims = parse_spec(said.spec).dims if said is not None else ()
            sizes = {named.name: named.size for named in each.names if ".shape[" in named.name}
            shape = each.value.shape if isinstance(each.value, ArrayValue) else ()
            came = sizes and shape in {*_shapes(call, parameters)}
            for dim, size in zip(dims, shape, strict=True) if came and len(dims) == len(shape) else ():
                wanted = sizes.get(str(dim), size)
                if wanted != size and wanted in free and size in free:
                    yield free[wanted], free[size]


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


def _ties_to_instance(
    call: Call, claimed: ClaimedShapes, came: Collection[tuple[str, ...]], free: Mapping[str, str]
) -> Iterator[Tie]:
    """Ties to integers of the instance of a method that was called, for arrays that came to the caller as they are.

    Of what the caller computed, such as a transposed array, the sizes may be wrong.
    """
    for each in call.observations:
        said = claimed.get((call.path, each.site))
        if said is None or not isinstance(each.value, ArrayValue) or each.value.shape not in came:
            continue
        own = {named.name: named.size for named in each.names if named.source.startswith("self.")}
        dims = parse_spec(said.spec).dims
        for dim, size in zip(dims, each.value.shape, strict=False) if len(dims) == len(each.value.shape) else ():
            wanted = own.get(dim.name, size) if isinstance(dim, NamedDim) else size
            if wanted != size and size in free:
                yield free[size], wanted


def _shapes(call: Call, claimed: ClaimedShapes) -> Iterator[tuple[str, ...]]:
    for each in call.observations:
        if (call.path, each.site) in claimed and isinstance(each.value, ArrayValue):
            yield each.value.shape


def _axes(call: Call, claimed: ClaimedShapes) -> Iterator[_Axis]:
    for each in call.observations:
        said = claimed.get((call.path, each.site))
        if said is not None and isinstance(each.value, ArrayValue):
            shape = each.value.shape
            yield from ((each.site, dim, size) for dim, size in aligned_axes(parse_spec(said.spec).dims, shape))


def aligned_axes(dims: Sequence[Dim], shape: Sequence[str]) -> list[tuple[Dim, str]]:
    """Each dim beside the size of its axis, what stands behind `...` from the end; none if there are not as many."""
    behind = next((number for number, dim in enumerate(dims) if is_variadic(dim)), None)
    if behind is None:
        return [*zip(dims, shape, strict=True)] if len(dims) == len(shape) else []
    ahead = len(dims) - behind - 1
    if len(shape) < behind + ahead:
        return []
    return [
        *zip(dims[:behind], shape[:behind], strict=True),
        *zip(dims[behind + 1 :], shape[len(shape) - ahead :], strict=True),
    ]
