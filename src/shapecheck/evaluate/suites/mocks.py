"""Tests that put mocks in place of what the project has: what a mock gives has whatever shape the test wrote down."""

from __future__ import annotations

from types import CodeType
from typing import Final

from shapecheck.model import Assumption
from shapecheck.model.assumption import OF_A_MOCK

_NAMES: Final = frozenset(
    {"mock", "patch", "Mock", "MagicMock", "NonCallableMock", "PropertyMock", "create_autospec", "mocker"}
)
OF_MOCKS: Final = Assumption("value", OF_A_MOCK, "gives", "invented")


def uses_mocks(test: object) -> bool:
    """Whether a test function names `unittest.mock`, or what stands for it in pytest, or is decorated by it."""
    function = getattr(test, "__func__", test)
    if getattr(function, "patchings", ()):
        return True
    todo = [getattr(function, "__code__", None)]
    while todo:
        code = todo.pop()
        if not isinstance(code, CodeType):
            continue
        if not _NAMES.isdisjoint((*code.co_names, *code.co_varnames)):
            return True
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return False
