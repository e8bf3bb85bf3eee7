"""Checks from Python: for a stretch of a program, or for what is imported from now on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.runtime.check_session import CheckSession, forget_traces
from shapecheck.runtime.errors import note
from shapecheck.runtime.excepthook import HEADER
from shapecheck.runtime.import_hook import finders
from shapecheck.runtime.patch_functions import PatchedFunctions
from shapecheck.runtime.runtime_options import RuntimeOptions, absolute_paths
from shapecheck.runtime.unchecked_functions import known_cells, remind


@contextlib.contextmanager
def runtime_checks(options: RuntimeOptions) -> Iterator[None]:
    """Check what runs meanwhile: modules that are loaded already, and those that will be."""
    session = CheckSession(options)
    cells = known_cells()
    remind({cell.file for cell in cells}, session.client)
    forget_traces()
    session.start()
    swapped = PatchedFunctions(session.probing, cells)
    try:
        yield
    except Exception as error:
        plain = session.failures.plain(error)
        _explain(plain, session)
        if plain is error:
            raise
        raise plain from None
    finally:
        swapped.undo()
        _hand_on(session)
        session.stop()
        forget_traces()


def _hand_on(session: CheckSession) -> None:
    """What was imported meanwhile has the probes of a session that ends: an import hook that goes on takes it."""

    def is_its_own(module: ModuleType) -> bool:
        return getattr(vars(module).get(HANDLE), "recorder", None) is session.probing.recorder

    others = [finder.probing for finder in finders() if finder.probing is not session.probing]
    for probing in others[:1]:
        PatchedFunctions(probing, only=is_its_own)


class ImportHook:
    """Checks whatever is imported from now on; as a context manager, what is imported meanwhile."""

    def __init__(self, options: RuntimeOptions) -> None:
        self._session = CheckSession(options)
        self._session.start()

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()

    def uninstall(self) -> None:
        """Check what is imported from now on no more; modules that have checks keep them."""
        self._session.ignore_imports()


def options_of(
    packages: Sequence[str],
    root: str | os.PathLike[str] | None,
    *,
    shapes: bool,
    numerics: str | Sequence[str],
    prints: str | Sequence[str],
    log: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    show: str | Sequence[str],
    show_output: str | os.PathLike[str] | None,
    on_failure: str,
    nan_only: bool,
) -> RuntimeOptions:
    """The options that these arguments mean; raises ValueError for what there is not."""
    folder = os.path.abspath(root) if root is not None else "" if packages else os.getcwd()
    logs = () if log is None else (log,) if isinstance(log, (str, os.PathLike)) else tuple(log)
    paths = {
        "log": tuple(os.fspath(each) for each in logs),
        "shows": _tuple(show),
        "show_output": os.fspath(show_output) if show_output is not None else "",
    }
    return RuntimeOptions(
        root=folder,
        shapes=shapes,
        numerics=_tuple(numerics),
        nan_only=nan_only,
        prints=_tuple(prints),
        failing=on_failure,
        include=tuple(packages),
        **absolute_paths(paths),
    )


def _tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _explain(error: BaseException, session: CheckSession) -> None:
    """Tell of the arrays in the user's frames."""
    text = session.failures.arrays(error)
    if text:
        note(error, f"{HEADER}\n{text}")
