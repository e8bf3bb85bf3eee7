"""Collection by pytest itself, in the worker: with the user's pytest, configuration, plugins and conftest files."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Protocol

import jax
import pytest

from shapecheck.evaluate.global_state import GlobalState
from shapecheck.evaluate.inputs.project.entries import code_names, code_of
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error
from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.own_errors import is_own
from shapecheck.worker.messages.suite_messages import TestLimits, TestPlan

NoteBug = Callable[[BaseException], None]
AdmitsAnother = Callable[[Exception], bool]

# What plugins that are installed must leave undone: another process, a report, a clock or an order of their own.
_QUIET: Mapping[str, Sequence[str]] = {
    "xdist": ("--numprocesses=0",),
    "pytest_cov": ("--no-cov",),
    "jaxtyping": ("--jaxtyping-packages=",),
    "benchmark": ("--benchmark-disable",),
    "timeout": ("--timeout=0",),
    "randomly": ("-p", "no:randomly"),
    "random_order": ("-p", "no:random_order"),
    "rerunfailures": ("--reruns=0",),
    "typeguard": ("--typeguard-packages=",),
    "hypothesispytest": ("--hypothesis-seed=0",),  # the same sizes in each run
}

# Our own fixture, by its entry point's name; where shapecheck lives in another environment the worker brings it.
_FIXTURE = ("shapecheck-fixture", "shapecheck.evaluate.live.shapes_fixture")

_LEAST = 0.1  # seconds that the import of a file gets which is begun at all


class CollectionError(Exception):
    """pytest cannot collect; the text is what it says."""


@dataclass(frozen=True)
class CollectionResult:
    """What went wrong with files, and whether there was time for all of them."""

    problems: Sequence[str]
    whole: bool


class Serve(Protocol):
    """Takes the tests, what went wrong with files, and whether there was time for all of them."""

    def __call__(self, items: Sequence[pytest.Item], problems: Sequence[str], *, whole: bool) -> None:
        """Return when no test is wanted any more."""


class _HookResult(Protocol):
    """What pytest's hooks came to, for those around them."""

    @property
    def excinfo(self) -> tuple[type[BaseException], BaseException, object] | None:
        """What they raised."""

    def get_result(self) -> pytest.CollectReport:
        """What they returned."""

    def force_result(self, result: pytest.CollectReport) -> None:
        """Return something else."""


def collect(
    paths: Sequence[str],
    scratch: str,
    limits: TestLimits,
    only: Collection[str] | None,
    global_state: GlobalState,
    serve: Serve,
    note_bug: NoteBug,
    admits_another: AdmitsAnother,
) -> CollectionResult:
    """Collect the tests under `paths`, then `serve` them, and what went wrong with files, from inside pytest's run.

    `scratch` is a folder for what pytest writes; `only` are the files to collect, absolute, None for all of them.
    What pytest catches and is a bug of ours goes to `note_bug`. A file is imported again where `admits_another` says
    that it may come further than what its import raised. Raises CollectionError.
    """
    plugin = _CollectionPlugin(serve, limits, only, global_state, note_bug, admits_another)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = os.path.join(scratch, "hypothesis")
    arguments = [*_arguments(scratch), *paths]
    try:
        # pytest puts the options of the project's configuration into the list that it is given.
        status = pytest.main([*arguments], plugins=[plugin])
        while plugin.begins_again() or plugin.drops_options(status):
            status = pytest.main([*plugin.instead, *arguments], plugins=[plugin])
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # of a plugin, a conftest file, or a closed stream
        plugin.note_own(error)
        if not plugin.served:
            raise CollectionError(f"pytest failed: {describe_error(error)}") from None
        return plugin.collection()
    if not plugin.served and status != pytest.ExitCode.NO_TESTS_COLLECTED:
        reasons = "; ".join(plugin.problems) or "`pytest --collect-only` tells why"
        raise CollectionError(f"pytest ended with exit status {int(status)}: {reasons}")
    return plugin.collection()


def _about_imports(options: Sequence[str]) -> Iterator[str]:
    """Those of a project's options for pytest without which its files may not be imported."""
    for option, value in itertools.zip_longest(options, options[1:], fillvalue=""):
        if option.startswith(("--import-mode=", "--rootdir=", "--confcutdir=")):
            yield option
        elif option in ("--import-mode", "-p"):
            yield from (option, value)


class _CollectionPlugin:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(
        self,
        serve: Serve,
        limits: TestLimits,
        only: Collection[str] | None,
        global_state: GlobalState,
        note_bug: NoteBug,
        admits_another: AdmitsAnother,
    ) -> None:
        self._note_bug, self._admits_another = note_bug, admits_another
        self._serve, self._only, self._global_state = serve, only, global_state
        self._each, self._end = limits.file, time.monotonic() + limits.collecting
        self._late: list[str] = []
        self.served = self._has_admitted = False
        self.instead: Sequence[str] = ()  # what stands for the options of the project's configuration
        self._options: Sequence[str] | None = None  # those; None until pytest has loaded the plugins that they name
        self.problems: list[str] = []

    def collection(self) -> CollectionResult:
        """How it went."""
        late = f"{self._late[0]}{f' and {len(self._late) - 1} more' if self._late[1:] else ''}" if self._late else ""
        problems = [f"{late}: not collected, for the time for the whole run was over (--budget)"] if late else []
        return CollectionResult((*self.problems, *problems), not late)

    def begins_again(self) -> bool:
        """Whether pytest gave up on what a conftest file needs, and may do without."""
        begins, self._has_admitted = self._has_admitted, False
        return begins

    def drops_options(self, status: int) -> bool:
        """Whether pytest does not know an option of the configuration, and may do without these.

        `--cov` of a plugin that is not installed here says nothing of the tests, nor does `-p` of one.
        """
        drops = status == pytest.ExitCode.USAGE_ERROR and not (self.served or self.instead) and self._options != ()
        if drops:
            self.instead = ["-o", "addopts=", *_about_imports(self._options or ())]
        return drops

    def note_own(self, error: BaseException) -> None:
        """Tell of an error if it is ours."""
        if is_own(error) and not isinstance(error, TimeLimitError):
            self._note_bug(error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config, args: list[str]) -> None:
        """Take back our options of plugins that are installed and left out, as by `addopts = -p no:xdist`.

        pytest would refuse to begin. Nothing of this is known before: configuration and environment may say it.
        """
        self._options = self._options or tuple(early_config.getini("addopts"))
        loaded = early_config.pluginmanager.has_plugin
        void = {argument for name, arguments in _QUIET.items() if not loaded(name) for argument in arguments}
        args[:] = [argument for argument in args if argument not in void or not argument.startswith("--")]

    @pytest.hookimpl(hookwrapper=True, specname="pytest_load_initial_conftests")
    def pytest_load_conftests_without(self) -> Generator[None, _HookResult, None]:
        """Look at what the first conftest files raise: pytest ends there."""
        outcome = yield
        error = _raised_first(outcome.excinfo[1]) if outcome.excinfo is not None else None
        self._has_admitted = error is not None and self._admits_another(error)

    def pytest_exception_interact(self, call: pytest.CallInfo[object]) -> None:
        """Look at what pytest takes for an error of a file of tests."""
        if call.excinfo is not None:
            self.note_own(call.excinfo.value)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Look at what pytest takes for an error of its own."""
        self.note_own(excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Leave it to the parent which test runs when."""
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # the time for collecting shall not end in the middle of a test
        collected = self.collection()
        self._serve(session.items, collected.problems, whole=collected.whole)
        self.served = True
        return True

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Leave out files that were named; the rootdir, and so the names of tests, stay those of all arguments."""
        if self._only is not None:
            session.config.args = [
                arg for arg in session.config.args if not self._is_left_out(Path(arg.partition("::")[0]))
            ]

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out files in folders."""
        return True if self._is_left_out(collection_path) else None

    def _is_left_out(self, path: Path) -> bool:
        return (
            self._only is not None
            and path.name != "__init__.py"
            and path.is_file()
            and os.path.realpath(path) not in self._only
        )

    @pytest.hookimpl(specname="pytest_make_collect_report", tryfirst=True)
    def pytest_leave_out_late(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Do not import files for which there is no time."""
        if not isinstance(collector, pytest.Module) or time.monotonic() < self._end:
            return None
        self._late.append(collector.nodeid)
        return pytest.CollectReport(collector.nodeid, "passed", None, [])

    @pytest.hookimpl(hookwrapper=True)  # older pytest has no other kind
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, _HookResult, None]:
        """Give the import of a file no more time than there is, and import it again without what is absent."""
        if isinstance(collector, pytest.Module):
            with time_limit(max(min(self._each, self._end - time.monotonic()), _LEAST)):
                outcome = yield
        else:  # of folders, conftest files are imported
            outcome = yield
        if outcome.excinfo is not None and isinstance(outcome.excinfo[1], SystemExit):  # which ends pytest as a whole
            reason = describe_error(outcome.excinfo[1])
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", reason, []))
        error = _error_of(outcome.get_result()) if outcome.excinfo is None else None
        if error is not None and self._admits_another(error):
            outcome.force_result(collector.ihook.pytest_make_collect_report(collector=collector))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why a file could not be collected."""
        if report.failed:
            text = [line for line in str(report.longrepr).splitlines() if line.strip()] or ["could not be collected"]
            reason = ([line for line in text if line.startswith("E ")] or text)[-1].removeprefix("E ").strip()
            if reason.endswith(TimeLimitError.__name__):
                if time.monotonic() >= self._end:
                    self._late.append(report.nodeid)
                    return
                reason = "took too long (--timeout)"
            elif reason.startswith("HINT:"):
                reason = f"{text[0].strip()} {reason}"
            self.problems.append(f"{report.nodeid or 'pytest'}: {reason}")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object], request: object) -> Iterator[None]:
        """Wider fixtures are made once, and used by many traces: they are made for real, outside of each.

        What they set is for all tests that share them, until they end.
        """
        if fixturedef.scope == "function":
            yield
            return
        endings: list[Callable[[], None]] = []

        def end_fixtures() -> None:
            while endings:
                endings.pop()()

        # Of what is put away, the last comes first: these two stand around all that the fixture itself puts away.
        fixturedef.addfinalizer(end_fixtures)
        with self._global_state.let_changes_last(), jax.ensure_compile_time_eval():
            yield
        fixturedef.addfinalizer(lambda: endings.append(self._global_state.begin_lasting()))


def _error_of(report: pytest.CollectReport) -> Exception | None:
    """What ended the collection of a file or a folder."""
    call = getattr(report, "call", None)  # pytest leaves it there for its own hooks
    return _raised_first(call.excinfo.value) if isinstance(call, pytest.CallInfo) and call.excinfo else None


def _raised_first(error: BaseException) -> Exception | None:
    """What a file raised on import, of which pytest's own error tells."""
    cause = error.__cause__ if str(type(error).__module__).partition(".")[0] == "_pytest" else None
    first = cause or error
    return first if isinstance(first, Exception) else None


def _arguments(scratch: str) -> list[str]:
    installed = {point.name for point in metadata.entry_points(group="pytest11")}
    quiet = [argument for name, arguments in _QUIET.items() if name in installed for argument in arguments]
    if _FIXTURE[0] not in installed:
        quiet += ["-p", _FIXTURE[1]]
    return [
        "--assert=plain",  # test files are compiled by us
        "--capture=no",  # the worker's output goes nowhere anyway, and a test may close what captures it
        "-o",
        f"cache_dir={os.path.join(scratch, 'cache')}",
        f"--basetemp={os.path.join(scratch, 'temporary')}",
        # Of several the last counts: nothing is written where the user's own options say.
        f"--junitxml={os.path.join(scratch, 'junit.xml')}",
        f"--log-file={os.path.join(scratch, 'log')}",
        "--maxfail=0",
        "--tb=native",  # the quickest to make, and nobody reads it
        "-W",
        "ignore",
        *quiet,
    ]


def plan_of(item: pytest.Item, shown: Callable[[str], str]) -> TestPlan:
    """What the parent needs to know of a test."""
    path, line, _ = item.reportinfo()  # of an inherited test this is where it is written
    names = tuple(sorted(_names(item)))
    files = dict.fromkeys(map(os.path.realpath, (item.path, path, *_sources(item))))
    prepares = any(hasattr(getattr(item, "module", None), name) for name in ("setUpModule", "setup_module"))
    return TestPlan(
        key=item.nodeid, path=shown(str(path)), line=(line or 0) + 1, names=names, files=tuple(files), prepares=prepares
    )


def _sources(item: pytest.Item) -> list[str]:
    """The files that the test's module takes names from."""
    values = list(vars(getattr(item, "module", object)).values())
    modules = {getattr(value, "__module__", None) for value in values if not isinstance(value, ModuleType)}
    found = [value for value in values if isinstance(value, ModuleType)]
    found += [sys.modules[name] for name in modules if isinstance(name, str) and name in sys.modules]
    files = {os.path.realpath(file) for module in found if isinstance(file := getattr(module, "__file__", None), str)}
    return sorted(file for file in files if os.path.basename(file).startswith("test_") or file.endswith("_test.py"))


def _names(item: pytest.Item) -> set[str]:
    """The identifiers that a test uses, also through its fixtures and the helpers beside it."""
    function = getattr(item, "function", None) or getattr(item, "obj", None)
    space = vars(getattr(item, "module", None)) if hasattr(item, "module") else {}
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    functions = [function, *(d.func for definitions in fixtures.values() for d in definitions)]
    names: set[str] = set()
    done: set[str] = set()
    for own in filter(None, map(code_of, functions)):
        names.update(code_names(own))
    while names - done:
        name = (names - done).pop()
        done.add(name)
        helper = space.get(name)
        # Of the test's own file only: those of the package are what is looked for.
        if getattr(helper, "__module__", None) == space.get("__name__") and (code := code_of(helper)) is not None:
            names.update(code_names(code))
    return names
