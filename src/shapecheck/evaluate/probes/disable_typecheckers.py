"""Other run-time checkers stand aside in the worker: they would stop the evaluation at its first mismatch."""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import ModuleType


def stand_aside() -> None:
    """Make the decorators and import hooks of jaxtyping, beartype and typeguard do nothing."""
    jaxtyping = _import_if_installed("jaxtyping")
    if jaxtyping is not None:
        _replace(jaxtyping, "install_import_hook", _NoHook)
        config = getattr(jaxtyping, "config", None)
        if config is not None:
            config.update("jaxtyping_disable", True)
    beartype = _import_if_installed("beartype")
    if beartype is not None:
        _replace(beartype, "beartype", _identity)
        claw = _import_if_installed("beartype.claw")
        for name in ("beartype_this_package", "beartype_package", "beartype_packages", "beartype_all"):
            if claw is not None and hasattr(claw, name):
                _replace(claw, name, _install_no_hook)
    typeguard = _import_if_installed("typeguard")
    if typeguard is not None:
        _replace(typeguard, "typechecked", _identity)


def stand_aside_where_loaded() -> None:
    """The same for kauldron's, whose import takes long: only once the user's code has imported it."""
    config = getattr(sys.modules.get("kauldron.ktyping.config"), "CONFIG", None)
    if config is not None:
        config.typechecking_enabled = False


def _import_if_installed(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _identity(function: object = None, *args: object, **kwargs: object) -> object:
    """A decorator, with or without arguments, that changes nothing."""
    return function if callable(function) else lambda decorated: decorated


def _install_no_hook(*args: object, **kwargs: object) -> None:
    """An import hook that hooks nothing."""


def _replace(module: ModuleType, name: str, value: object) -> None:
    """A monkeypatch for good: what decorates, or hooks in, while the user's modules are imported, does so no more."""
    setattr(module, name, value)


class _NoHook(contextlib.AbstractContextManager[None]):
    """What jaxtyping's `install_import_hook` gives: to be left as a context manager, or by its method."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def uninstall(self) -> None:
        """Nothing was installed."""
