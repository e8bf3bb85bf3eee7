"""What a device finds wrong after a test has failed for another reason stands in the report of that test."""

from __future__ import annotations

from typing import Any

import pluggy
import pytest

from shapecheck.runtime.pytest_plugin import RuntimePlugin


class Session:
    """One whose arrays are found wrong when they are waited for."""

    def wait(self) -> None:
        raise FloatingPointError("root is not finite")


class Item:
    """A test that collects what is to be reported of it."""

    def __init__(self) -> None:
        self.sections: list[tuple[str, str, str]] = []

    def add_report_section(self, when: str, key: str, content: str) -> None:
        self.sections.append((when, key, content))


def outcome_of(error: BaseException | None) -> tuple[pluggy.Result[object], Item]:
    plugin: Any = object.__new__(RuntimePlugin)
    plugin._session = Session()
    outcome: pluggy.Result[object] = pluggy.Result(None, error)
    item: Any = Item()
    waiting = plugin._wait_for_arrays(item)
    next(waiting)
    with pytest.raises(StopIteration):
        waiting.send(outcome)
    return outcome, item


def test_it_fails_a_test_that_has_passed() -> None:
    outcome, item = outcome_of(None)
    assert isinstance(outcome.exception, FloatingPointError)
    assert item.sections == []


def test_it_stands_beside_the_error_of_one_that_has_failed() -> None:
    outcome, item = outcome_of(AssertionError("first"))
    assert isinstance(outcome.exception, AssertionError)
    assert item.sections == [("later", "shapecheck", "FloatingPointError: root is not finite")]
