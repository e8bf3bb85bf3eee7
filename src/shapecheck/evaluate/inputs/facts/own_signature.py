"""Functions with the signature that their own `def` has, whatever decorators say of them.

`functools.wraps(base)` copies the annotations of `base` onto a function, and leads `inspect.signature` to it. What the
function's own annotations claim, only its source still says. Nor do they say what callers hand to a decorator which
hands on something else, such as `x[None]`: then it is the function alone that is called as they say.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping
from types import CellType, FunctionType
from typing import Any

from shapecheck.evaluate.inputs.facts.signature_facts import inner_function
from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.user_caches import CACHES

_MOST = 100  # decorators around each other
_TREES = 4  # modules whose syntax trees are kept
_EMPTY = CellType()
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def without_cache(function: Callable[..., object]) -> Callable[..., object]:
    """What `functools.lru_cache` and `cache` remember the results of, under the decorators of JAX and Equinox too.

    A cache wants arguments that have a hash, which arrays have not.
    """
    inner: Any = inner_function(function) if callable(function) else function
    while isinstance(inner, CACHES):
        function = inner.__wrapped__
        inner = inner_function(function)
    return function


def with_own_signature(value: Any, name: str) -> Any:
    """What stands in a module or class under `name`, or the same with the signature of the `def` of that name.

    It is evaluated in place of `value`: the code is the same, and so are the decorators that are functions.
    """
    if issubclass(type(value), (staticmethod, classmethod)):
        inner = with_own_signature(value.__func__, name)
        return value if inner is value.__func__ else type(value)(inner)
    function = without_cache(value)
    chain = list(_chain(inner_function(function) if callable(function) else function))
    own = next((i for i, each in enumerate(chain) if each.__code__.co_name == name), None)
    if own is None:
        return function
    altering = [i for i in range(own) if HANDLE in chain[i].__globals__ and not _hands_on(chain[i], chain[i + 1])]
    if altering:
        chain, own = chain[altering[-1] + 1 :], own - altering[-1] - 1
        function = chain[0]
    if "__wrapped__" not in vars(chain[own]):
        return function
    definition = _definition(chain[own])
    if definition is None:
        return function
    result = _copy(chain[own])
    del result.__dict__["__wrapped__"]
    result.__annotations__ = dict(_annotations(definition))
    result.__module__ = str(result.__globals__.get("__name__", ""))
    result.__doc__ = ast.get_docstring(definition, clean=False)
    owner = chain[own].__qualname__.rpartition(".")[0]
    code: object = result.__code__
    result.__qualname__ = getattr(code, "co_qualname", f"{owner}.{name}".lstrip("."))  # which Python 3.10 lacks
    for outer in reversed(chain[:own]):
        around = _copy(outer)
        around.__dict__["__wrapped__"] = result
        result = around
    return result


def _chain(function: object) -> Iterator[FunctionType]:
    """A function and those that its decorators say they wrap, as far as all of them are functions."""
    for _ in range(_MOST):
        if not isinstance(function, FunctionType):
            return
        yield function
        function = vars(function).get("__wrapped__")


def _hands_on(wrapper: FunctionType, wrapped: FunctionType) -> bool:
    """Whether a decorator's function calls what it wraps with just what it was given itself."""
    definition = _definition(wrapper)
    if definition is None:
        return False
    cells = zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True)
    names = {name for name, cell in cells if cell != _EMPTY and cell.cell_contents is wrapped}
    calls = [
        node
        for node in ast.walk(definition)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]
    given = _as_given(definition.args)
    handed = bool(calls) and all(_arguments_of(call, given) == set(given.items()) for call in calls)
    return handed and given.keys().isdisjoint(_changed_names(definition))


def _as_given(parameters: ast.arguments) -> dict[str, str]:
    """The parameters of a function, each with how it is handed on: as which one."""
    given = {each.arg: str(index) for index, each in enumerate((*parameters.posonlyargs, *parameters.args))}
    given |= {each.arg: each.arg for each in parameters.kwonlyargs}
    starred = [(parameters.vararg, "*"), (parameters.kwarg, "**")]
    return given | {each.arg: how for each, how in starred if each is not None}


def _arguments_of(call: ast.Call, given: Mapping[str, str]) -> set[tuple[str, str]]:
    """What a call hands on; of what is no plain name, the name is empty."""
    handed = set[tuple[str, str]]()
    for index, argument in enumerate(call.args):
        starred = isinstance(argument, ast.Starred)
        name = _name(argument.value if isinstance(argument, ast.Starred) else argument)
        handed.add((name, "*" if starred else str(index)))
    for keyword in call.keywords:
        name = _name(keyword.value)
        how = given.get(name, "") if keyword.arg == name else keyword.arg
        handed.add((name, "**" if how is None else how))
    return handed


def _changed_names(definition: _Definition) -> Iterator[str]:
    """The names that a function binds again, or sets parts of."""
    for node in ast.walk(definition):
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield _name(node.value if isinstance(node, ast.Subscript) else node)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _copy(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(vars(function))
    copy.__annotations__ = dict(inspect.get_annotations(function))
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return copy


def _definition(function: FunctionType) -> _Definition | None:
    """The statement that a function comes from; None if its source is not there."""
    code = function.__code__
    loader: Any = function.__globals__.get("__loader__")
    try:
        # The loader knows of an editor's buffer what the file does not have yet.
        text = loader.get_source(function.__globals__["__name__"])
    except (ImportError, AttributeError, KeyError):
        text = "".join(linecache.getlines(code.co_filename))
    return _definitions(text or "").get((code.co_name, code.co_firstlineno))


@functools.lru_cache(_TREES)
def _definitions(text: str) -> Mapping[tuple[str, int], _Definition]:
    """The functions of a module, by name and the line on which they begin, decorators included."""
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError):
        return {}
    found: dict[tuple[str, int], _Definition] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((node.name, first), node)
    return found


def _annotations(definition: _Definition) -> Iterator[tuple[str, str]]:
    """The annotations of a function as text, which is resolved among the names of its module."""
    parameters = definition.args
    every = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
    every += filter(None, [parameters.vararg, parameters.kwarg])
    written = [(parameter.arg, parameter.annotation) for parameter in every]
    for name, annotation in [*written, ("return", definition.returns)]:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            yield name, annotation.value
        elif annotation is not None:
            yield name, ast.unparse(annotation)
