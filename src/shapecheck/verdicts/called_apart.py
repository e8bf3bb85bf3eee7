"""Functions that others call with arguments of their own for any sizes, each name with another one.

`apply(delta: "T d", metric: "Tin Tin")` takes a metric of two steps less, which no name says. Alone it fails for sizes
that nobody gives it; where `update(delta: "T d")` calls it, it goes to its end with a T and with a Tin of `T - 2`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from shapecheck.model import ArrayValue, Call, Evaluation, FunctionKey, Module
from shapecheck.shapes import NamedDim, is_variadic, parse_spec

_WEAK = ("alias", "invented")


def called_apart(modules: Mapping[str, Module], runs: Iterable[Sequence[Evaluation]]) -> frozenset[FunctionKey]:
    """Those that a run with symbols reached from another function, whose arguments nobody made up.

    What is called with one size for two names may well need that they are equal: it shows nothing.
    """
    found: set[FunctionKey] = set()
    equal: set[FunctionKey] = set()
    for each in (each for run in runs for each in run):
        is_general = each.mode == "symbolic" and each.status == "ok"
        if not is_general or any(a.kind == "tie" or a.provenance in _WEAK for a in each.assumptions):
            continue
        for call in each.calls:
            if call.path not in modules or not call.complete or _is_its_own(modules, each, call):
                continue
            sizes = _sizes(modules[call.path], call)
            if len(sizes) > 1:
                (found if len({*sizes.values()}) == len(sizes) else equal).add((call.path, call.scope))
    return frozenset(found - equal)


def without_lone_errors(
    modules: Mapping[str, Module], run: Sequence[Evaluation], apart: Collection[FunctionKey]
) -> Sequence[Evaluation]:
    """An entry's evaluations, none of them if it is such a function, and alone does nothing but fail for its sizes."""
    if not apart or not all(each.status != "ok" and each.failure is not None and _is_of_sizes(each) for each in run):
        return run
    keys = {(call.path, call.scope) for each in run for call in each.calls if _is_its_own(modules, each, call)}
    return [] if keys and keys <= {*apart} else run


def _is_of_sizes(evaluation: Evaluation) -> bool:
    failure = evaluation.failure
    if failure is None or failure.kind != "shape":
        return False
    return not failure.requires or " = " in failure.requires


def _is_its_own(modules: Mapping[str, Module], evaluation: Evaluation, call: Call) -> bool:
    """Whether a call is that of the entry's own function."""
    name = evaluation.target.partition(":")[2].partition(" ")[0]
    return call.path == evaluation.path and modules[call.path].scopes[call.scope].qualname == name


def _sizes(module: Module, call: Call) -> dict[str, str]:
    """The size that each name of the annotations of its arguments has in a call; none if a name has two."""
    found: dict[str, str] = {}
    for each in call.observations:
        if module.sites[each.site].kind != "param" or not isinstance(each.value, ArrayValue):
            continue
        for index in module.claims_by_site.get(each.site, ()):
            claim = module.claims[index]
            dims = parse_spec(claim.spec).dims
            if claim.notation != "annotation" or len(dims) != len(each.value.shape) or any(map(is_variadic, dims)):
                continue
            for dim, size in zip(dims, each.value.shape, strict=True):
                if isinstance(dim, NamedDim) and found.setdefault(dim.name, size) != size:
                    return {}
    return found
