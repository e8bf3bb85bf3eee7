"""The plugin for pytest: `pytest -p shapecheck --shapecheck-run`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.excepthook import without_ours
from shapecheck.runtime.runtime_options import (
    OptionSpec,
    RuntimeOptions,
    absolute_paths,
    checking_options,
)

if TYPE_CHECKING:
    import pluggy

_NAME = "shapecheck-run"


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """What `pytest --help` shows, and who reads it."""
    group = parser.getgroup("shapecheck", "shape checks in the running tests")
    group.addoption(
        "--shapecheck-run", action="store_true", help="Hold every call in your own files against its claims."
    )
    for each in checking_options():
        many = isinstance(each.default, tuple)
        if isinstance(each.default, bool):
            _add_flag(group, each)
            continue
        group.addoption(
            f"--shapecheck-{each.flag}",
            action="append" if many else "store",
            choices=[name for name in each.choices if name != "breakpoint"] or None,  # pytest has the terminal
            metavar=each.shown or None,
            default=[] if many else each.default,
            help=each.help,
        )
    manager.register(_AutostartPlugin(), f"{_NAME}-options")


def _add_flag(group: pytest.OptionGroup, each: OptionSpec) -> None:
    """What is off without it, or on: `--shapecheck-no-shapes`."""
    name = f"shapecheck_{each.flag.replace('-', '_')}"
    if each.default:
        group.addoption(f"--shapecheck-no-{each.flag}", action="store_false", dest=name, help=f"Do not: {each.help}")
    else:
        group.addoption(f"--shapecheck-{each.flag}", action="store_true", dest=name, help=each.help)


class _AutostartPlugin:
    """Begins, if the user asks for it: before the first conftest file is imported, where pytest knows us by then."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Generator[None, object, None]:
        """Where `-p shapecheck` stands on the command line, or among `addopts`."""
        _begin(early_config, early_config.known_args_namespace)
        yield

    def pytest_configure(self, config: pytest.Config) -> None:
        """Where a conftest file names us."""
        _begin(config, config.option)


def _begin(config: pytest.Config, given: Namespace) -> None:
    values = {each.field: getattr(given, f"shapecheck_{each.flag.replace('-', '_')}") for each in checking_options()}
    requested = given.shapecheck_run or any(values[name] for name in ("numerics", "nan_only", "prints", "log", "shows"))
    if requested and not config.pluginmanager.has_plugin(_NAME):
        tuples = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        try:
            options = RuntimeOptions(root=str(config.rootpath), **absolute_paths({**values, **tuples}))
            plugin = RuntimePlugin(options)
        except ValueError as error:
            raise pytest.UsageError(f"shapecheck: {error}") from error
        config.pluginmanager.register(plugin, _NAME)


class RuntimePlugin:
    """Checks while tests run."""

    def __init__(self, options: RuntimeOptions) -> None:
        self._session = CheckSession(options)
        self._session.start()

    @pytest.hookimpl(hookwrapper=True)
    def _wait_for_arrays(self, item: pytest.Item) -> Generator[None, pluggy.Result[object], None]:
        """What a test has not waited for is found in that test, and not in a later one.

        If it has failed already, both are in its report.
        """
        outcome = yield
        try:
            self._session.wait()
        except Exception as error:
            if outcome.excinfo is None:
                outcome.force_exception(error)
            else:
                item.add_report_section("later", "shapecheck", f"{type(error).__name__}: {error}")

    pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _wait_for_arrays

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Show what a check raised, not what JAX makes of it in a compiled function, and none of our frames."""
        if call.excinfo is not None:
            plain = self._session.failures.plain(call.excinfo.value)
            trace = without_ours(plain.__traceback__) or call.excinfo.tb
            call.excinfo = pytest.ExceptionInfo.from_exc_info((type(plain), plain.with_traceback(trace), trace))

    def pytest_unconfigure(self) -> None:
        """The end."""
        self._session.stop()
