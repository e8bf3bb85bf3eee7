"""Other run-time checkers stand aside in the worker: they would stop the evaluation at its first mismatch."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def stand_aside() -> None:
    """Make the decorators and import hooks of jaxtyping, beartype and typeguard do nothing."""
    jaxtyping = _installed("jaxtyping")
    if jaxtyping is not None:
        jaxtyping.install_import_hook = _no_hook  # type: ignore[attr-defined]
        config = getattr(jaxtyping, "config", None)
        if config is not None:
            config.update("jaxtyping_disable", True)
    beartype = _installed("beartype")
    if beartype is not None:
        beartype.beartype = _identity  # type: ignore[attr-defined]
        claw = _installed("beartype.claw")
        for name in ("beartype_this_package", "beartype_package", "beartype_packages", "beartype_all"):
            if claw is not None and hasattr(claw, name):
                setattr(claw, name, _nothing)
    typeguard = _installed("typeguard")
    if typeguard is not None:
        typeguard.typechecked = _identity  # type: ignore[attr-defined]


def _installed(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _identity(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, that changes nothing."""
    return function if callable(function) else lambda decorated: decorated


def _nothing(*args: Any, **kwargs: Any) -> None:
    """An import hook that hooks nothing."""


@contextlib.contextmanager
def _no_hook(*args: Any, **kwargs: Any) -> Iterator[None]:
    yield


_no_hook.uninstall = _nothing  # type: ignore[attr-defined]
