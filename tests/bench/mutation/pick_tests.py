"""A pytest plugin, loaded by `-p mutation.pick_tests`: of all tests collected, only those in MUTATION_TESTS run.

The variable names a file of test names, one a line. The checker's worker is told so too (by PYTEST_ADDOPTS), which
collects with pytest: it meets the package as if its suite had these tests alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out all others."""
    file = os.environ.get("MUTATION_TESTS")
    if file:
        wanted = set(Path(file).read_text("utf-8").splitlines())
        items[:] = [item for item in items if item.nodeid in wanted]
