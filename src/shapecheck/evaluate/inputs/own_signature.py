"""Functions with the signature that their own `def` has, whatever decorators say of them.

`functools.wraps(base)` copies the annotations of `base` onto a function, and leads `inspect.signature` to it. What the
function's own annotations claim, only its source still says.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from shapecheck.evaluate.inputs.signature_facts import inner_function

_MOST = 100  # decorators around each other
_CACHE = type(functools.lru_cache(lambda: None))


def without_cache(function: Callable[..., object]) -> Callable[..., object]:
    """What `functools.lru_cache` and `cache` remember the results of, under the decorators of JAX and Equinox too.

    A cache wants arguments that have a hash, which arrays have not.
    """
    while isinstance(inner := inner_function(function) if callable(function) else function, _CACHE):
        function = inner.__wrapped__
    return function


def with_own_signature(value: Any, name: str) -> Any:
    """What stands in a module or class under `name`, or the same with the signature of the `def` of that name.

    It is evaluated in place of `value`: the code is the same, and so are the decorators that are functions.
    """
    if isinstance(value, (staticmethod, classmethod)):
        inner = with_own_signature(value.__func__, name)
        return value if inner is value.__func__ else type(value)(inner)
    function = without_cache(value)
    chain = list(_chain(inner_function(function) if callable(function) else function))
    own = next((i for i, each in enumerate(chain) if each.__code__.co_name == name), None)
    if own is None or "__wrapped__" not in vars(chain[own]):
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


def _copy(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(vars(function))
    copy.__annotations__ = dict(inspect.get_annotations(function))
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return copy


def _definition(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The statement that a function comes from; None if its source is not there."""
    code = function.__code__
    loader: Any = function.__globals__.get("__loader__")
    try:
        # The loader knows of an editor's buffer what the file does not have yet.
        text = loader.get_source(function.__globals__["__name__"])
    except (ImportError, AttributeError, KeyError):
        text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text or "")
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _annotations(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
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
