from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from shapecheck.model import INSERTED
from shapecheck.rewrite import RewriteOptions, RewriteOutcome, instrument

Insert = Callable[..., list[str]]


def options(**wanted: object) -> RewriteOptions:
    return RewriteOptions(**(wanted or {"shapes": True}))  # type: ignore[arg-type]


@pytest.fixture
def outcome() -> Callable[[str], RewriteOutcome]:
    """What becomes of the claims of a dedented source."""

    def function(source: str) -> RewriteOutcome:
        return instrument("model.py", textwrap.dedent(source).encode(), options()).outcome

    return function


@pytest.fixture
def inserted() -> Insert:
    """The lines that are inserted into a dedented source, stripped and without their mark, imports left out."""

    def function(source: str, **wanted: object) -> list[str]:
        result = instrument("model.py", textwrap.dedent(source).encode(), options(**wanted)).data.decode()
        lines = [line.strip().removesuffix(f"  {INSERTED}") for line in result.splitlines() if line.endswith(INSERTED)]
        return [line for line in lines if "import " not in line]

    return function


@pytest.fixture
def imports() -> Insert:
    """The imports that are inserted into a dedented source."""

    def function(source: str, **wanted: object) -> list[str]:
        result = instrument("model.py", textwrap.dedent(source).encode(), options(**wanted)).data.decode()
        lines = (line for line in result.splitlines() if line.endswith(INSERTED) and "import " in line)
        return [line.removesuffix(f"  {INSERTED}").removesuffix("  # isort: skip") for line in lines]

    return function
