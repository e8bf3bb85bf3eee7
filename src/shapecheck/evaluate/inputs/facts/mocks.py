"""Tests that put mocks in place of what the project has: what a mock gives has whatever shape the test wrote down."""

from __future__ import annotations

from types import CodeType, FunctionType, ModuleType
from typing import Final

from shapecheck.evaluate.probes.attribute_access import own_names, read_attribute, unwrap
from shapecheck.model import Assumption
from shapecheck.model.assumption import OF_A_MOCK

_MODULES: Final = frozenset({"unittest.mock", "mock", "mock.mock", "pytest_mock", "pytest_mock.plugin"})
_FIXTURES: Final = frozenset({"mocker", "class_mocker", "module_mocker", "package_mocker", "session_mocker"})
OF_MOCKS: Final = Assumption("value", OF_A_MOCK, "gives", "invented")


def uses_mocks(test: object) -> bool:
    """Whether a test takes something of `unittest.mock`, or of what stands for it, or is decorated by it.

    It goes by what a name stands for: many a test calls a part of an image `patch`.
    """
    decorated = read_attribute(test, "__func__", test)
    function = unwrap(decorated)
    # Whatever else a decorator makes of a function answers for itself, as does what stands for an absent one.
    if not isinstance(function, FunctionType):
        return False
    if "patchings" in own_names(decorated):
        return True
    code = function.__code__
    if not _FIXTURES.isdisjoint(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        return True
    todo: list[object] = [code]
    while todo:
        each = todo.pop()
        if not isinstance(each, CodeType):
            continue
        # An import inside of the test has the name of its module among these.
        if any(name in _MODULES or _is_of_mocks(function.__globals__.get(name)) for name in each.co_names):
            return True
        todo += each.co_consts
    return False


def _is_of_mocks(value: object) -> bool:
    if isinstance(value, ModuleType):
        return str(read_attribute(value, "__name__")) in _MODULES
    # The type, not what the value says of itself: a stand-in for an absent package says anything.
    named = value if issubclass(type(value), type | FunctionType) else type(value)
    return str(read_attribute(named, "__module__")) in _MODULES
