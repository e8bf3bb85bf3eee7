"""Functions that a module holds in its fields, which its methods only call: each call of one is a stage."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

from shapecheck.evaluate.framework_protocol import Classes, loaded_frameworks, module_name
from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name
from shapecheck.evaluate.inputs.facts.transformations import is_transformation
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import StageStep, arguments, describe_unmapped, function_name
from shapecheck.model import OtherValue, TreeValue, Value

_MAPPING = frozenset(["tree_map", "map"])

Parents = dict[ast.AST, ast.AST]


@cache
def only_called(cls: type) -> frozenset[str]:
    """The fields that no method compares, tests other than for their class, or gives to a function that could do so.

    Those may be replaced by what behaves like them when it is called. None, where the source is not there.
    """
    called: set[str] = set()
    otherwise: set[str] = set()
    for base in cls.__mro__:
        if module_name(base).split(".")[0] in ("builtins", "collections", "abc", "typing") or _is_base(base):
            continue
        source = defining_source(base)
        if source is None:
            return frozenset()
        tree = source.tree
        parents: Parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.args.args:
                for node in _fields(function):
                    (called if _is_call(node, function, parents) else otherwise).add(node.attr)
    return frozenset(called - otherwise)


def _is_base(cls: type) -> bool:
    """Whether it is of a framework itself, and none of its layers."""
    return any(each.is_base(cls) for each in loaded_frameworks())


def _fields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Attribute]:
    """Where a method reads a field of its first parameter."""
    first = function.args.args[0].arg
    for node in ast.walk(function):
        of_first = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == first
        if isinstance(node, ast.Attribute) and of_first and isinstance(node.ctx, ast.Load):
            yield node


def _is_call(node: ast.expr, function: ast.AST, parents: Parents) -> bool:
    """Whether `node` is only called or asked for its class, or so is one after the other of what it holds."""
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _is_call(parent, function, parents)
    if isinstance(parent, ast.For) and parent.iter is node and isinstance(parent.target, ast.Name):
        name = parent.target.id
        loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and n is not parent.target]
        return all(_is_call(load, function, parents) for load in loads)
    if not isinstance(parent, ast.Call):
        return False
    if parent.func is node or (called_name(parent.func)[0] == "isinstance" and parent.args[:1] == [node]):
        return True
    if isinstance(parent.func, ast.Call):  # vmap(lambda f, x: f(x))(self.act, x)
        return is_transformation(called_name(parent.func.func)[0])
    name, _ = called_name(parent.func)
    return _maps(name) or (is_transformation(name) and parent.args[:1] == [node])


def _maps(name: str) -> bool:
    return name in _MAPPING or any(name in each.appliers for each in loaded_frameworks())


_CONTAINERS = (list, tuple, dict)


class FieldFunction:
    """A function as its module calls it. It equals the function, is an instance of its class, and is copied as that."""

    def __init__(self, watch: StageRecorder, function: Callable[..., object], path: str) -> None:
        self._watch, self._function, self._path = watch, function, path
        functools.update_wrapper(self, function)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` goes by."""
        return type(self._function)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call it, as a stage if it is given arrays."""
        function, name = self._function, function_name(self._function)
        given = tuple((n, describe_unmapped(value)) for n, value in arguments(function, args, kwargs))
        top = self._watch.top()
        if (top is not None and top.part is self) or not any(_has_arrays(value) for _, value in given):
            return function(*args, **kwargs)
        source = self._watch.origin(function, name)
        return self._watch.run_stage(
            StageStep(type=name, callable=name, part=None, source=source, path=self._path, input=given),
            function,
            args,
            kwargs,
        )

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        return self._function

    def __reduce__(self) -> tuple[object, ...]:
        return (_itself, (self._function,))

    def __eq__(self, other: object) -> bool:
        return bool(self._function == (other._function if type(other) is FieldFunction else other))

    def __hash__(self) -> int:
        return hash(self._function)

    def __getattr__(self, name: str) -> object:
        return getattr(self.__dict__["_function"], name)


def _itself(function: object) -> object:
    return function


def watched_functions(watch: StageRecorder, module: object) -> object:
    """The module of the stage that begins, with its functions watched; the same module if it has none.

    Only functions with which the module does nothing but call them: JAX and users know some by their identity.
    """
    changed = _functions_of(watch, module)
    if not changed:
        return module
    other = copy.copy(module)
    for name, value in changed.items():
        object.__setattr__(other, name, value)  # modules are frozen
    return other


@contextlib.contextmanager
def watching_functions(watch: StageRecorder, module: object, known: Collection[str] = ()) -> Iterator[None]:
    """As `watched_functions`, for a module that may change itself: meanwhile it has other functions.

    Those in the `known` fields are only called, whatever its source looks like.
    """
    own = vars(module)
    changed = _functions_of(watch, module, known)
    before = {name: own[name] for name in changed}
    own.update(changed)  # monkeypatch: the module changes itself, so that no copy of it will do
    try:
        yield
    finally:
        own.update({name: value for name, value in before.items() if own.get(name) is changed[name]})


def _functions_of(watch: StageRecorder, module: object, known: Collection[str] = ()) -> dict[str, object]:
    """The fields of the stage's module that hold functions, with these watched."""
    stage = watch.top()
    fields = {name: value for name, value in vars(module).items() if _may_hold_functions(value)}
    if stage is None or not fields:
        return {}
    cls: type = type(module)
    called = known or only_called(cls)
    return dict(_wrapped_fields(watch, {name: fields[name] for name in fields if name in called}, stage.path))


def _wrapped_fields(watch: StageRecorder, fields: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        found = _wrap_functions(watch, value, f"{path}.{name}".lstrip("."))
        if found is not value:
            yield name, found


def _wrap_functions(watch: StageRecorder, value: Any, path: str) -> object:
    lists, dicts = _containers()
    if type(value) in (list, tuple, *lists):
        parts = [_wrap_functions(watch, part, f"{path}[{index}]") for index, part in enumerate(value)]
        made = tuple if type(value) is tuple else list
        return made(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) in (dict, *dicts):
        place = "{}[{!r}]" if type(value) is dict else "{}.{}"
        named = {key: _wrap_functions(watch, part, place.format(path, key)) for key, part in value.items()}
        return named if any(named[key] is not part for key, part in value.items()) else value
    return FieldFunction(watch, value, path) if _is_function(value) else value


def _may_hold_functions(value: object) -> bool:
    lists, dicts = _containers()
    return type(value) in (*_CONTAINERS, *lists, *dicts) or _is_function(value)


def _containers() -> tuple[Classes, Classes]:
    """The lists and dicts of frameworks, in which modules may hold functions beside others."""
    found = [each.container_classes() for each in loaded_frameworks()]
    return tuple(cls for lists, _ in found for cls in lists), tuple(cls for _, dicts in found for cls in dicts)


def _is_function(value: Any) -> bool:
    """Whether it is a function in any dress: jitted, partial, with derivatives of its own. No module, no class."""
    if not callable(value) or isinstance(value, type) or type(value) is FieldFunction or is_array(value):
        return False
    return isinstance(value, functools.partial) or (hasattr(value, "__name__") and hasattr(value, "__module__"))


def _has_arrays(value: Value) -> bool:
    """Whether it is an array, or a plain container of some: no model, no state of one."""
    if isinstance(value, TreeValue):
        return value.kind in ("tuple", "list", "dict") and any(map(_has_arrays, value.children))
    return not isinstance(value, OtherValue)
