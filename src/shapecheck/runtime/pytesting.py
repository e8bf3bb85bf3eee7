"""The plugin for pytest: `pytest -p shapecheck --shapecheck-run`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from shapecheck.runtime.options import FAILING, NUMERICS, Options
from shapecheck.runtime.session import Session

_NAME = "shapecheck-run"


def add_options(parser: pytest.Parser) -> None:
    """What `pytest --help` shows."""
    group = parser.getgroup("shapecheck", "shape checks in the running tests")
    group.addoption(
        "--shapecheck-run", action="store_true", help="Hold every call in your own files against its claims."
    )
    group.addoption(
        "--shapecheck-numerics",
        action="append",
        choices=NUMERICS,
        default=[],
        help="Look for NaN and infinity in what stages and claimed values give, or in their gradients.",
    )
    group.addoption(
        "--shapecheck-on-failure", choices=FAILING[:2], default="raise", help="What happens when a check fails."
    )


def configure(config: pytest.Config) -> None:
    """Begin, if the user asks for it."""
    numerics = tuple(config.getoption("--shapecheck-numerics"))
    if config.getoption("--shapecheck-run") or numerics:
        failing = str(config.getoption("--shapecheck-on-failure"))
        config.pluginmanager.register(Running(Options(str(config.rootpath), numerics=numerics, failing=failing)), _NAME)


class Running:
    """Checks while tests run. pytest rewrites the files of tests itself: these have no probes."""

    def __init__(self, options: Options) -> None:
        self._session = Session(options)
        self._session.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, None]:
        """Show what a check raised in a compiled function, and not what JAX makes of it."""
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if error is not None:
            plain = self._session.failures.plain(error)
            self._session.failures.not_finite.clear()
            if plain is not error:
                outcome.force_exception(plain)

    def pytest_unconfigure(self) -> None:
        """The end."""
        self._session.stop()
