"""Functions that fail alone, for sizes that nobody gives them: others call them with arguments of their own.

`apply(delta: "T d", metric: "Tin Tin")` takes a metric of two steps less, which no name says. Where
`update(delta: "T d")` calls it, for any sizes, it goes to its end with a T and with a Tin of `T - 2`. And
`resample(kernel: "out in width")` of a signal without channels is called with an `in` of 1, whoever calls it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from shapecheck.model import ArrayValue, Call, Evaluation, FunctionKey, Module
from shapecheck.shapes import NamedDim, is_variadic, parse_spec
from shapecheck.verdicts.evaluation_results import is_invented_call

_WEAK = ("alias", "invented")


class CalledApart:
    """What the `runs` of all entries show of the functions that were called in them."""

    def __init__(self, modules: Mapping[str, Module], runs: Sequence[Sequence[Evaluation]]) -> None:
        self._modules, self._runs = modules, runs

    def without_lone_errors(self, run: Sequence[Evaluation]) -> Sequence[Evaluation]:
        """An entry's evaluations; none of them if it is such a function, and alone does nothing but fail for sizes."""
        if not all(each.status != "ok" and each.failure is not None and _is_of_sizes(each) for each in run):
            return run
        calls = ((each, call) for each in run for call in each.calls)
        keys = {(call.path, call.scope) for each, call in calls if _is_its_own(self._modules, each, call)}
        needed = {each.failure.requires for each in run if each.failure is not None}
        return [] if keys and all(key in self._apart or self._give_one(key, needed) for key in keys) else run

    @cached_property
    def _apart(self) -> frozenset[FunctionKey]:
        """Those that a run with symbols reached from another function, whose arguments nobody made up.

        What is called with one size for two names may well need that they are equal: it shows nothing.
        """
        found: set[FunctionKey] = set()
        equal: set[FunctionKey] = set()
        for each, call in self._calls:
            is_general = each.mode == "symbolic" and not any(a.provenance in _WEAK for a in each.assumptions)
            if not is_general or any(a.kind == "tie" for a in each.assumptions):
                continue
            sizes = _sizes(self._modules[call.path], call)
            if len(sizes) > 1:
                (found if len({*sizes.values()}) == len(sizes) else equal).add((call.path, call.scope))
        return frozenset(found - equal)

    def _give_one(self, key: FunctionKey, needed: Collection[str]) -> bool:
        """Whether a function needs an axis of size 1, which stands for none, and all callers give it one: `in = 1`.

        Any other number may be a default of theirs, or what a test happens to have.
        """
        names = [name for name, is_tie, size in (each.partition(" = ") for each in needed) if is_tie and size == "1"]
        if not names or len(names) < len(needed):
            return False
        sizes = [
            _sizes(self._modules[call.path], call)
            for each, call in self._calls
            if (call.path, call.scope) == key
            and is_invented_call(each)
            and not any((a.kind, a.provenance) == ("tie", "invented") for a in each.assumptions)
        ]
        return bool(sizes) and all(each.get(name) == "1" for each in sizes for name in names)

    @cached_property
    def _calls(self) -> Sequence[tuple[Evaluation, Call]]:
        """The calls by other functions that went to their ends."""
        return [
            (each, call)
            for each in (each for run in self._runs for each in run if each.status == "ok")
            for call in each.calls
            if call.path in self._modules and call.complete and not _is_its_own(self._modules, each, call)
        ]


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
