"""Functions that other functions return: `forward` of `def create_linear(...): ...; return forward, params`.

They have no name in any module, so who makes them has to be called first. What stands beside them in the result is
mostly what they take: parameters, or a function that makes these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of, is_array_type, signature_of
from shapecheck.evaluate.inputs.facts.signature_facts import inner_function
from shapecheck.evaluate.inputs.project.entries import resolve
from shapecheck.evaluate.inputs.project.maker_functions import is_handed_about
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.model import Scope
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan

_INITIAL = re.compile(r"_?(?:init|initial|initiali[sz]e)(?:_|$)|(?:^|_)init$")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def returned_functions(plan: ModulePlan, module: ModuleType) -> Iterator[EntryPlan]:
    """The functions with claims, or around some, that a function of a module defines and returns."""
    indices = {each for index in plan.claimed if (each := _returned_scope(plan.scopes, index)) is not None}
    names: dict[int, frozenset[str]] = {}
    for index in sorted(indices):
        scope = plan.scopes[index]
        maker = plan.scopes[scope.parent or 0]
        if maker.index not in names:
            names[maker.index] = _returned_names(resolve(module, plan.scopes, maker))
        if scope.qualname.rpartition(".")[2] in names[maker.index]:
            yield EntryPlan(
                key=f"returned:{plan.path}:{scope.qualname}",
                target=f"{plan.name}:{scope.qualname}",
                origin="function",
                path=plan.path,
                line=scope.position.line if scope.position else 1,
                scope=index,
            )


def maker_of(scopes: Sequence[Scope], scope: Scope) -> Scope | None:
    """The function of a module in which `scope` is defined; None if it is no function right inside of one."""
    maker = scopes[scope.parent] if scope.parent is not None else None
    if scope.kind != "function" or maker is None or maker.kind != "function" or maker.parent is None:
        return None
    return maker if scopes[maker.parent].kind == "module" else None


def _returned_scope(scopes: Sequence[Scope], index: int) -> int | None:
    """The function right inside of one of a module which is around a scope, or is itself."""
    current: int | None = index
    while current is not None:
        if maker_of(scopes, scopes[current]) is not None:
            return current
        current = scopes[current].parent
    return None


def _returned_names(maker: object) -> frozenset[str]:
    """The names that the `return` statements of a function use."""
    values = [each.value for each in _returns(maker)]
    return frozenset(n.id for value in values if value for n in ast.walk(value) if isinstance(n, ast.Name))


def _returns(function: object) -> Iterator[ast.Return]:
    source = defining_source(underlying_function(function)) if callable(function) else None
    todo: list[ast.AST] = list(source.tree.body) if source is not None and isinstance(source.tree, _Function) else []
    for node in todo:
        if isinstance(node, ast.Return):
            yield node
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)


def names_of_parts(function: object) -> tuple[str, ...]:
    """What a function calls the parts of the tuple that it returns, "" for what has no name; of the last `return`."""
    found: tuple[str, ...] = ()
    for each in _returns(function):
        if isinstance(each.value, ast.Tuple):
            found = tuple(part.id if isinstance(part, ast.Name) else "" for part in each.value.elts)
    return found


@dataclass(frozen=True)
class ResultPart:
    """One part of what a function returns: where it stands, what it is called, and what it is."""

    place: tuple[int, ...]
    name: str
    value: Any

    def function(self) -> FunctionType | None:
        """The function that it is, without decorators of JAX; None if it is none."""
        inner = inner_function(self.value) if callable(self.value) else None
        return inner if isinstance(inner, FunctionType) else None

    def of(self, made: Any) -> Any:
        """The same part of another result."""
        for index in self.place:
            made = made[index]
        return made


def parts_of_result(maker: Callable[..., object], made: object) -> list[ResultPart]:
    """The parts of what `maker` returned: of a tuple its members, each by its name."""
    if not isinstance(made, tuple):
        return [ResultPart((), "", made)]
    names = getattr(made, "_fields", ()) or names_of_parts(maker)
    named = len(names) == len(made)
    return [ResultPart((index,), names[index] if named else "", each) for index, each in enumerate(made)]


@dataclass(frozen=True)
class Beside:
    """Where an argument for a returned function comes from: a part that stands beside it, or that part's call.

    Of what the call gives it is the part `of_result`, None for the whole. It is `sure` if it has the parameter's name.
    """

    part: ResultPart
    calls: bool = False
    of_result: int | None = None
    sure: bool = False


def given_beside(function: FunctionType, parts: Sequence[ResultPart], described: Sequence[str]) -> dict[str, Beside]:
    """Which parameters of a returned function are given what stands beside it, or what a function beside it makes.

    Those that something describes are not among them.
    """
    data = [each for each in parts if each.function() is None and not callable(each.value) and each.value is not None]
    makers = [
        each
        for each in parts
        if (inner := each.function()) is not None
        and inner.__code__ is not function.__code__
        and _INITIAL.search(inner.__name__)
    ]
    found: dict[str, Beside] = {}
    for name, parameter in signature_of(function).parameters.items():
        if name in described or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if is_array_type(annotation_of(function, name, parameter.annotation)):
            continue
        same = [each for each in data if each.name == name]
        if same:
            found[name] = Beside(same[0], sure=True)
        elif parameter.default is not MISSING or not is_handed_about(name):
            continue
        elif len(data) == 1:
            found[name] = Beside(data[0])
        elif not data and makers:
            names = names_of_parts(makers[0].function())
            found[name] = Beside(makers[0], calls=True, of_result=names.index(name) if name in names else None)
    return found
