"""What can be evaluated in the imported modules: examples, whole models, functions and methods with claims."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Iterator, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from shapecheck.evaluate.framework_protocol import (
    is_abstract,
    is_wrapper,
    loaded_frameworks,
    model_classes,
    module_name,
    packages,
    pytree_classes,
)
from shapecheck.evaluate.inputs.facts.own_signature import with_own_signature
from shapecheck.evaluate.inputs.facts.runtime_annotations import own_annotations
from shapecheck.evaluate.own_errors import HANDLE, raise_own
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.probes.probe_runtime import ModuleProbe
from shapecheck.evaluate.probes.stand_ins import StandIn
from shapecheck.model import Scope
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan

_INSIDE = 100  # objects that are looked through for a function
_EMPTY = CellType()


def is_model(value: object) -> bool:
    """Whether it is a module of a framework, and not a function in the dress of one."""
    return isinstance(value, model_classes()) and not is_wrapper(type(value))


def examples(plan: ModulePlan, module: ModuleType) -> Iterator[EntryPlan]:
    """Functions under `@shapecheck.example`."""
    for name, value in list(vars(module).items()):
        # Statically: there are objects that have every attribute, and others that import a package to look.
        if inspect.getattr_static(value, "__shapecheck_example__", False) is not True:
            continue
        if getattr(value, "__module__", "") == module.__name__:
            line = unwrap(value).__code__.co_firstlineno
            yield EntryPlan(
                key=f"example:{plan.path}:{name}",
                target=f"{plan.name}:{name}",
                origin="example",
                path=plan.path,
                line=line,
                scope=None,
            )


def models(plan: ModulePlan, module: ModuleType) -> Iterator[tuple[EntryPlan, type]]:
    """Concrete modules that this file defines and that can be called, of frameworks in which they are pytrees."""
    bases = pytree_classes()
    if not bases:
        return
    for scope in plan.scopes:
        if scope.kind != "class":
            continue
        cls = resolve(module, plan.scopes, scope)
        if isinstance(cls, type) and issubclass(cls, bases) and not is_abstract(cls) and _own_call(cls):
            line = scope.position.line if scope.position else 1
            target = f"{plan.name}:{scope.qualname}"
            yield (
                EntryPlan(
                    key=f"model:{plan.path}:{scope.qualname}",
                    target=target,
                    origin="model",
                    path=plan.path,
                    line=line,
                    scope=scope.index,
                ),
                cls,
            )


def functions(plan: ModulePlan, module: ModuleType) -> Iterator[EntryPlan]:
    """Functions and methods with claims, or around some, that can be reached from the module by name."""
    indices: set[int] = set()
    for index in plan.claimed:
        outermost = outermost_function(plan.scopes, index)
        if outermost is not None:
            indices.add(outermost)
        elif plan.scopes[index].kind == "class":
            indices.update(s.index for s in plan.scopes if s.parent == index and s.qualname.endswith(".__init__"))
            indices.update(_makers(plan, module, plan.scopes[index].qualname.rpartition(".")[2]))
    indices.update(_overrides(plan, module))
    for index in sorted(indices):
        scope = plan.scopes[index]
        if resolve(module, plan.scopes, scope) is not None:
            line = scope.position.line if scope.position else 1
            key = f"function:{plan.path}:{scope.qualname}"
            yield EntryPlan(
                key=key,
                target=f"{plan.name}:{scope.qualname}",
                origin="function",
                path=plan.path,
                line=line,
                scope=index,
            )


def _overrides(plan: ModulePlan, module: ModuleType) -> Iterator[int]:
    """The methods without claims of a module which override declarations that have some."""
    probe = vars(module).get(HANDLE)
    if not isinstance(probe, ModuleProbe):
        return
    for scope in plan.scopes:
        if scope.kind == "function" and not scope.declares and scope.index not in plan.claimed:
            cls = owner_class(module, plan.scopes, scope)
            if cls is not None and probe.overrides_claims(scope.index, cls):
                yield scope.index


def resolve(module: ModuleType, scopes: Sequence[Scope], scope: Scope) -> Any:
    """The object that `scope` defines, a function as its own `def` says what it takes.

    None if it is nested in a function, deleted, or replaced by something else.
    """
    names: list[str] = []
    current: Scope | None = scope
    while current is not None and current.kind != "module":
        if current is not scope and current.kind == "function":
            return None
        names.insert(0, current.qualname.rpartition(".")[2])
        current = scopes[current.parent] if current.parent is not None else None
    value: object = module
    for name in names:
        value = member(value, name)
        if value is None:
            return None
        if issubclass(type(value), StandIn):  # a dead `weakref.proxy` raises where it is asked for its class
            return value  # an absent package's decorator was to make it: whoever calls it is told which
    try:
        return with_own_signature(value, names[-1]) if scope.kind == "function" else value
    except ReferenceError:  # a dead `weakref.proxy` raises it wherever it is looked at
        return None
    except Exception as error:  # what stands there may be of a class that raises anything
        raise_own(error)
        return None


def member(holder: object, name: str) -> object:
    """What stands in a module or class under a name; None if there is nothing.

    Looking at it runs no code: a property is the property. Some frameworks have descriptors of their own around these.
    """
    value = inspect.getattr_static(holder, name, None)
    for each in loaded_frameworks():
        value = each.unwrap_attribute(value)
    return value


def owner_class(module: ModuleType, scopes: Sequence[Scope], scope: Scope) -> type | None:
    """The class whose method `scope` is."""
    if scope.parent is None or scopes[scope.parent].kind != "class":
        return None
    cls = resolve(module, scopes, scopes[scope.parent])
    return cls if isinstance(cls, type) else None


def not_parts(classes: Sequence[tuple[EntryPlan, type]]) -> list[tuple[EntryPlan, type]]:
    """The classes that no other one holds come first, then the rest: parts are reached through their wholes."""
    held: dict[str, set[str]] = {}
    for _, cls in classes:
        names = _mentioned_classes(cls)
        for other in names:
            held.setdefault(other, set()).add(cls.__qualname__)

    def is_part(cls: type) -> bool:
        return bool(held.get(cls.__name__, set()) - {cls.__qualname__})

    wholes = [(entry, cls) for entry, cls in classes if not is_part(cls)]
    parts = [(dataclasses.replace(entry, whole=False), cls) for entry, cls in classes if is_part(cls)]
    return [*wholes, *parts]


def _mentioned_classes(cls: type) -> set[str]:
    """Names of classes in the annotations and in the constructor's code of `cls`."""
    names: set[str] = set()
    for annotation in own_annotations(cls).values():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        names.update("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    init = vars(cls).get("__init__")
    code = code_of(init)
    if code is not None:
        names.update(code_names(code))
    return names


def find_original(value: object, qualname: str) -> FunctionType | None:
    """The function of this name inside of what a decorator made of it, perhaps a framework's; None if not there."""
    todo, seen = [value], set[int]()
    while todo and len(seen) < _INSIDE:
        each = todo.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, tuple):
            todo += each
        elif isinstance(each, FunctionType):
            if each.__qualname__ == qualname:
                return each
            todo += [cell.cell_contents for cell in each.__closure__ or () if cell != _EMPTY]
    return None


def code_of(function: object) -> CodeType | None:
    """The code of a function under its decorators, None for anything that has none."""
    code = getattr(unwrap(function), "__code__", None) if callable(function) else None
    return code if isinstance(code, CodeType) else None


def code_names(code: CodeType) -> Iterator[str]:
    """The globals and attributes that a code names, and those inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_names(constant)


def _makers(plan: ModulePlan, module: ModuleType, name: str) -> Iterator[int]:
    """The functions of a module whose code mentions a class: they may construct it."""
    for scope in plan.scopes:
        if scope.kind == "function" and scope.parent is not None and plan.scopes[scope.parent].kind == "module":
            function = resolve(module, plan.scopes, scope)
            code = code_of(function)
            if code is not None and name in code_names(code):
                yield scope.index


def _own_call(cls: type) -> bool:
    outside = packages()
    return any("__call__" in vars(c) for c in cls.__mro__ if module_name(c).split(".")[0] not in outside or c is cls)


def outermost_function(scopes: Sequence[Scope], index: int) -> int | None:
    """The function that no other function is around, among those around a scope and itself."""
    found: int | None = None
    current: int | None = index
    while current is not None:
        if scopes[current].kind == "function":
            found = current
        current = scopes[current].parent
    return found


def nearest(name: str, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?", or nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
