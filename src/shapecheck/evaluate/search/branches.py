"""The other paths of a function: evaluated again with other values of the switches that its branches test.

A flag keeps its default, what is optional is left out, a mode is the first one: so of `if causal: return a`, `return b`
evaluation sees one path. Here it is given what the branches ask for, one switch after the other.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Union

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.documented_flags import changes_others
from shapecheck.evaluate.inputs.facts.known_modes import known_modes
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    is_array_type,
    preference,
    signature_of,
)
from shapecheck.evaluate.inputs.facts.types_by_use import type_by_use
from shapecheck.evaluate.inputs.project.nested_arguments import classes_in
from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import SUPPLIED, AsMember
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.size_assignment import DIVISIBLE, DIVISIBLE_TOO, LARGE, LARGE_TOO
from shapecheck.evaluate.inputs.trials.trial import CallSpec, Trial, TrialOutcome
from shapecheck.evaluate.limits import Stopwatch
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.model import (
    NUMBERS,
    Assumption,
    Evaluation,
    FunctionKey,
    OtherValue,
    Point,
    Provenance,
    Scope,
    Switch,
    is_left_out,
)
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan

_SECONDS = 4.0  # for all other paths of one function
_MOST_ATTEMPTS = 120  # for one of them
_MOST = 8  # values of switches that are tried
_MOST_TOGETHER = 2
# Of `if features % heads == 0:`, and of `if seq > 512:`, where the usual sizes take the other branch.
_OTHER_SIZES = (
    ((DIVISIBLE, DIVISIBLE_TOO), "with sizes that divide each other", (ast.Mod,)),
    ((LARGE, LARGE_TOO), "with large sizes", (ast.Lt, ast.LtE, ast.Gt, ast.GtE)),
)

Statics = Mapping[str, object]
NO_STATICS: Statics = types.MappingProxyType({})
CallSpecs = Callable[[Statics, Statics], CallSpec]
"""Makes a call spec in which some arguments of the constructor, and of the call, are given."""


@dataclass(frozen=True)
class SwitchValue:
    """A switch at another value: `init` and `given` are arguments of the constructor and of the call.

    An argument may be `only_given` to be seen itself, and not for the path that a branch takes then.
    """

    name: str
    value: object
    provenance: Provenance = "written"  # the code says that it may be so
    only_given: bool = False

    @property
    def init(self) -> Statics:
        """What the constructor is given."""
        head, _, rest = self.name.partition(".")
        return {rest: self.value} if head == "self" else {}

    @property
    def call_arguments(self) -> Statics:
        """What the call is given."""
        return {} if self.init else {self.name: self.value}

    def __str__(self) -> str:
        if isinstance(self.value, AsMember):
            return f"{self.name} as {self.value}"
        return f"{self.name} given" if self.value is SUPPLIED else f"{self.name}={_text(self.value)}"

    def assumption(self) -> Assumption:
        """That it is so."""
        return Assumption("value", self.name, "given" if self.value is SUPPLIED else _text(self.value), self.provenance)


def _given_alone(name: str) -> SwitchValue:
    return SwitchValue(name, SUPPLIED, "invented", only_given=True)


def _text(value: object) -> str:
    return str(value) if isinstance(value, enum.Enum | AsMember) else repr(value)


def missing_paths(plan: ModulePlan, scope: int, runs: Iterable[Evaluation]) -> set[Point | int]:
    """The paths of a function, and the sites in it by number, that no call came to which went to its end.

    A parameter that was only seen as `None`, or as a number of Python, was not seen; and a callable is, when called.
    """
    runs = tuple(runs)
    sites = [site for site in plan.sites if site.scope == scope]
    left_out = _left_out(plan, scope, runs)
    left: set[Point | int] = {point for site in sites for point in site.paths}
    left |= {site.index for site in sites if site.kind in ("value", "name", "called") or site.index in left_out}
    for call in (call for run in runs for call in run.calls):
        if (call.path, call.scope) == (plan.path, scope) and call.complete:
            seen = {each.site for each in call.observations if each.site not in left_out or not is_left_out(each.value)}
            left -= {*call.paths, *seen}
    return left


def _left_out(plan: ModulePlan, scope: int, runs: Iterable[Evaluation]) -> set[int]:
    """The parameters of a function, by their sites, that were no array in some call: that may be their default."""
    parameters = {site.index for site in plan.sites if site.scope == scope and site.kind == "param"}
    calls = (call for run in runs for call in run.calls if (call.path, call.scope) == (plan.path, scope))
    return {
        each.site for call in calls for each in call.observations if each.site in parameters and is_left_out(each.value)
    }


def _only_numbers(left_out: Collection[int], runs: Iterable[Evaluation], key: FunctionKey) -> set[int]:
    """Those of the parameters left out that were a number of Python, and never None."""
    calls = (call for run in runs for call in run.calls if (call.path, call.scope) == key)
    seen = [(o.site, o.value.type) for call in calls for o in call.observations if isinstance(o.value, OtherValue)]
    return {site for site, kind in seen if kind in NUMBERS} & set(left_out) - {s for s, k in seen if k == "NoneType"}


def evaluate_others(
    entry: EntryPlan,
    plan: ModulePlan,
    function: Callable[..., object] | None,
    owner: type | None,
    *,
    found: Sequence[Evaluation],
    call_specs: CallSpecs,
    recorder: Recorder,
    seconds: float,
) -> Iterator[Evaluation]:
    """The evaluations of an entry's function by paths, and of sites, that were not `found` on.

    `function` is what is called, or a class whose `owner` it is; in not many more than so many `seconds`.
    """
    if entry.body is None or not any(_is_worth_another(each) for each in found):
        return
    scope = plan.scopes[entry.body[1]]
    left = missing_paths(plan, scope.index, found)
    watch, most = Stopwatch(), min(seconds, _SECONDS)
    left_out = _left_out(plan, scope.index, found)
    numbers = _only_numbers(left_out, found, (plan.path, scope.index))
    taker = function if function is not None else owner
    uncalled = [s for s in plan.sites if s.index in left and s.kind == "called"]
    left_out |= {s.index for s in uncalled if taker is not None and _parameter(taker, s.name)[1] is None}
    left -= {s.index for s in uncalled} - left_out
    optional = list(dict.fromkeys(plan.sites[each].name for each in sorted(left_out - numbers) if each in left))
    scalars = [plan.sites[each].name for each in sorted(numbers) if each in left]
    scalars = [each for each in scalars if taker is not None and is_array_type(_parameter(taker, each)[0])]
    switches = _nearest_first(scope, plan, left)
    settings = [*_settings(switches, function, owner), *_other_members(function)]
    # All may be given. Whether one of several may be alone nothing says: what follows may confirm a claim.
    settings += [tuple(SwitchValue(name, SUPPLIED, only_given=True) for name in optional)] if optional else []
    settings += [(_given_alone(name),) for name in optional[:_MOST] if len(optional) > 1]
    settings += [tuple(SwitchValue(name, SUPPLIED, only_given=True) for name in scalars)] if scalars else []
    tried: set[str] = set()
    for setting in settings:
        is_member = isinstance(setting[0].value, AsMember)
        if watch.seconds() > most:
            return
        if not (left or is_member):
            continue
        tried.update(each.name for each in setting if len(setting) == 1)
        other = dataclasses.replace(entry, target=f"{entry.target} with {', '.join(map(str, setting))}")
        try:
            init = {name: value for each in setting for name, value in each.init.items()}
            call_spec = call_specs(init, {n: value for each in setting for n, value in each.call_arguments.items()})
            lasting = (*call_spec.lasting, *(each.assumption() for each in setting))
            call_spec = dataclasses.replace(call_spec, lasting=lasting, attempts=_MOST_ATTEMPTS)
            search = EntrySearch(other, call_spec, recorder, max(most - watch.seconds(), 1.0))
            wanted = left if setting[0].only_given else left - left_out
            if not is_member and not _comes_to(search, call_spec, (plan.path, scope.index), wanted):
                continue
            runs = search.evaluate()
        except CannotSynthesiseError:
            continue
        runs = tuple(run for run in runs if run.status == "ok" or (run.failure and run.failure.kind == "shape"))
        left &= missing_paths(plan, scope.index, runs)
        yield from runs
    for flag in _flags(plan, scope, found, function, owner) if _has_free_sizes(found) else ():
        if watch.seconds() > most:
            return
        if flag.name not in tried:
            yield from _errors_with(entry, flag, call_specs, recorder, max(most - watch.seconds(), 1.0))
    wanted = left - left_out if _has_free_sizes(found) else set()
    for variants, words, operators in _OTHER_SIZES:
        if watch.seconds() > most or not wanted:
            return
        if not _has_condition_with(taker, operators):
            continue
        try:
            call_spec = dataclasses.replace(call_specs({}, {}), variants=variants, attempts=_MOST_ATTEMPTS)
            other = dataclasses.replace(entry, target=f"{entry.target} {words}")
            search = EntrySearch(other, call_spec, recorder, max(most - watch.seconds(), 1.0))
            first = search.attempts.run(Trial(mode="sized", variant=variants[0], rank=call_spec.ranks[0]))
            fails = first.failure is not None and first.failure.kind == "shape" and variants[0] == DIVISIBLE
            if not fails and not wanted & _seen_in(first, (plan.path, scope.index)):
                continue
            runs = search.evaluate()
        except CannotSynthesiseError:
            continue
        # That the code takes no more than so many may be meant.
        runs = tuple(
            run for run in runs if run.status == "ok" or (fails and run.failure and run.failure.kind == "shape")
        )
        wanted &= missing_paths(plan, scope.index, runs)
        yield from runs


def _flags(
    plan: ModulePlan,
    scope: Scope,
    found: Iterable[Evaluation],
    function: Callable[..., object] | None,
    owner: type | None,
) -> Iterator[SwitchValue]:
    """What is True or False and is tested by a function, or by a method with claims that it calls, as they are not yet.

    Nothing that is claimed need come by the arm that such a test guards: what fails there fails all the same.
    """
    calls = {call.scope for run in found for call in run.calls if call.path == plan.path}
    beside = (plan.scopes[each] for each in sorted(calls) if plan.scopes[each].parent == scope.parent)
    methods = [each for each in beside if each.index != scope.index and scope.parameters[:1] == each.parameters[:1]]
    own = "".join(scope.parameters[:1]) + "."
    switches = [*scope.switches, *(s for each in methods for s in each.switches if owner and s.name.startswith(own))]
    for switch in {each.name: each for each in switches}.values():
        values = _values_of(switch, function, owner)
        if len(values) == 1 and isinstance(values[0].value, bool):
            yield values[0]


def _errors_with(
    entry: EntryPlan, flag: SwitchValue, call_specs: CallSpecs, recorder: Recorder, seconds: float
) -> Iterator[Evaluation]:
    """The shape errors of a function with a flag set otherwise: one attempt, and a search if that fails."""
    try:
        call_spec = call_specs(flag.init, flag.call_arguments)
        lasting = (*call_spec.lasting, flag.assumption())
        call_spec = dataclasses.replace(call_spec, lasting=lasting, attempts=_MOST_ATTEMPTS)
        search = EntrySearch(
            dataclasses.replace(entry, target=f"{entry.target} with {flag}"), call_spec, recorder, seconds
        )
        first = search.attempts.run(Trial(mode="sized", rank=call_spec.ranks[0]))
        runs = search.evaluate() if first.failure is not None and first.failure.kind == "shape" else ()
    except CannotSynthesiseError:
        return
    yield from (run for run in runs if run.failure is not None and run.failure.kind == "shape")


def _has_condition_with(function: Callable[..., object] | None, operators: tuple[type[ast.AST], ...]) -> bool:
    """Whether a condition in a function's own code has one of these operators."""
    source = defining_source(underlying_function(function)) if function is not None else None
    nodes = ast.walk(source.tree) if source is not None else ()
    tests = (node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp, ast.While)))
    return any(isinstance(each, operators) for test in tests for each in ast.walk(test))


def _has_free_sizes(found: Iterable[Evaluation]) -> bool:
    """Whether a function went to its end with sizes that may be chosen otherwise."""
    return any(run.status == "ok" and run.mode == "sized" and run.sizes for run in found)


def _is_worth_another(run: Evaluation) -> bool:
    """Whether other arguments may show more: not where all that stops it are sizes, or values."""
    return run.status == "ok" or run.failure is None or run.failure.kind == "other"


def _comes_to(search: EntrySearch, call_spec: CallSpec, key: FunctionKey, wanted: set[Point | int]) -> bool:
    """Whether one attempt comes to some of these paths and sites of a function, if only to fail there.

    With sizes that evaluate, if the first ones end before.
    """
    for construction in call_spec.constructions:
        try:
            outcome = search.attempts.run(Trial(mode="sized", construction=construction, rank=call_spec.ranks[0]))
        except CannotSynthesiseError:
            continue
        if outcome.ok or wanted & _seen_in(outcome, key):
            return bool(wanted & _seen_in(outcome, key))
        trial = search.numbers()
        return trial is not None and bool(wanted & _seen_in(search.attempts.run(trial), key))
    return False


def _seen_in(outcome: TrialOutcome, key: FunctionKey) -> set[Point | int]:
    """The paths and sites of a function that an attempt came to."""
    seen: set[Point | int] = set()
    for call in outcome.calls:
        if (call.path, call.scope) == key:
            seen.update(call.paths, (each.site for each in call.observations))
    return seen


def _nearest_first(scope: Scope, plan: ModulePlan, left: set[Point | int]) -> list[Switch]:
    """The switches of a function: first those that are tested shortly before what was not seen."""
    positions = (plan.sites[each].position for each in left if isinstance(each, int))
    lines = [*(each[0] for each in left if isinstance(each, tuple)), *(p.line for p in positions if p is not None)]

    def distance(switch: Switch) -> int:
        behind = [line - test for line in lines for test in switch.lines if line >= test]
        return min(behind, default=1 + max(lines, default=0))

    return sorted(scope.switches, key=distance)


def _settings(
    switches: Sequence[Switch], function: Callable[..., object] | None, owner: type | None
) -> list[tuple[SwitchValue, ...]]:
    """The other values of the switches that a function's branches test, as far as their types tell them.

    First one after the other, then together those that one line tests: `if x is not None and y is not None`.
    """
    found = {switch.name: _values_of(switch, function, owner) for switch in switches}
    single = [(value,) for values in found.values() for value in values]
    lines = dict.fromkeys(line for switch in switches for line in switch.lines)
    together = [tuple(found[s.name][0] for s in switches if line in s.lines and found[s.name]) for line in lines]
    return [*single[:_MOST], *(each for each in together if len(each) > 1)][: _MOST + _MOST_TOGETHER]


def _other_members(function: Callable[..., object] | None) -> list[tuple[SwitchValue, ...]]:
    """The members of unions that hold arrays in another structure than the first does, which is given else.

    `x: Float[Array, "n 2"] | tuple[Float[Array, "n"], Float[Array, "n"]]` is an array first.
    """
    found: list[tuple[SwitchValue, ...]] = []
    if function is None:
        return found
    for name in signature_of(function).parameters:
        members = [each for each in _members(_parameter(function, name)[0]) if is_array_type(each)]
        members.sort(key=preference)
        seen = {_structure(member) for member in members[:1]}
        for member in members[1:]:
            if _structure(member) not in seen:
                seen.add(_structure(member))
                found.append((SwitchValue(name, AsMember(member)),))
    return found[:_MOST]


def _structure(annotation: object) -> object:
    origin = typing.get_origin(annotation)
    return (origin, len(typing.get_args(annotation))) if origin is tuple else origin


def _values_of(switch: Switch, function: Callable[..., object] | None, owner: type | None) -> list[SwitchValue]:
    name, texts = switch.name, switch.texts
    holder, rest = _holder(name, function, owner)
    if holder is None:
        return []
    annotation, default = _parameter(holder, rest)
    provenance: Provenance = "invented" if changes_others(holder, rest) else "written"
    found = [SwitchValue(name, value, provenance) for value in _others(annotation, default, rest, texts)]
    if annotation is int or type(default) is int:
        modes = known_modes(holder, rest)
        first = default if type(default) is int else next(iter(modes), None)
        found += [SwitchValue(name, value) for value in modes if value != first]
    if isinstance(default, str) and default in texts and not _choices(annotation):
        found.append(SwitchValue(name, "another", "invented"))  # what is no text that it is compared with
    return found


def _holder(
    name: str, function: Callable[..., object] | None, owner: type | None
) -> tuple[Callable[..., object] | None, str]:
    """What takes the argument that a switch is, and its name there: `self.config.causal` is of the config's class."""
    head, *rest = name.split(".")
    holder: Callable[..., object] | None = owner if head == "self" else function
    *inner, last = rest if head == "self" and rest else [head, *rest]
    for each in inner:
        holder = next(iter(classes_in(_parameter(holder, each)[0])), None) if holder is not None else None
    return holder, last


def _parameter(function: Callable[..., object], name: str) -> tuple[object, object]:
    """The annotation and the default of a parameter; neither, where there is none of this name."""
    try:
        parameter = signature_of(function).parameters.get(name)
    except (TypeError, ValueError):
        parameter = None
    if parameter is None or parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        return None, None
    annotation = annotation_of(function, name, parameter.annotation)
    if annotation is MISSING and parameter.default is MISSING:
        annotation = type_by_use(function, name)
    return annotation, parameter.default


def _others(annotation: object, default: object, name: str, texts: Sequence[str]) -> list[object]:
    """The values that a switch may have besides the one that it is evaluated with first."""
    if annotation is None:
        return []
    members, literals = _members(annotation), _choices(annotation)
    first = default if default is not MISSING else next(iter(literals), MISSING)
    if isinstance(first, enum.Enum):
        literals = list(type(first))
    if isinstance(first, bool) or bool in members:
        usual = first if isinstance(first, bool) else (name_hints.flag(name) or False)
        return [True, False] if default is None else [not usual]
    if literals:
        return [value for value in literals if value != first]
    if isinstance(first, str) or (str in members and first is not None):
        return [text for text in texts if text != first]
    return [SUPPLIED] if default is None else []


def _members(annotation: object) -> list[object]:
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return [member for each in typing.get_args(annotation) for member in _members(each)]
    return [annotation]


def _choices(annotation: object) -> list[object]:
    """The values that an annotation lists."""
    return [value for member in _members(annotation) for value in _list_values(member)]


def _list_values(member: object) -> list[object]:
    if typing.get_origin(member) is Literal:
        return list(typing.get_args(member))
    return list(member) if isinstance(member, type) and issubclass(member, enum.Enum) else []
