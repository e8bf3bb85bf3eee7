"""Other run-time checkers stand aside in the worker: they would stop the evaluation at its first mismatch."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType


def stand_aside() -> None:
    """Make the decorators and import hooks of jaxtyping, beartype and typeguard do nothing.

    Those of the latter two from when the user's code imports them: most code imports neither, and beartype alone has
    three hundred modules. What of these is loaded already is changed at once.
    """
    jaxtyping = _import_if_installed("jaxtyping")
    if jaxtyping is not None:
        _replace(jaxtyping, "install_import_hook", _NoHook)
        config = getattr(jaxtyping, "config", None)
        if config is not None:
            config.update("jaxtyping_disable", True)
    for name in _REPLACEMENTS:
        if (module := sys.modules.get(name)) is not None:
            _replace_in(module)
    if not any(isinstance(finder, _TypecheckerFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TypecheckerFinder())


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


class _TypecheckerFinder(importlib.abc.MetaPathFinder):
    """Finds modules of run-time checkers as Python does, and changes each once its body has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The standard path search, for these modules only."""
        if fullname not in _REPLACEMENTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_replace(module: ModuleType) -> None:
            execute(module)
            _replace_in(module)

        # monkeypatch: of this one loader, which stays what it is to whoever asks the module for it
        setattr(spec.loader, "exec_module", execute_and_replace)  # noqa: B010 - a method, to mypy
        return spec


def _replace_in(module: ModuleType) -> None:
    for name, value in _REPLACEMENTS[module.__name__].items():
        if hasattr(module, name):
            _replace(module, name, value)


class _NoHook(contextlib.AbstractContextManager[None]):
    """What jaxtyping's `install_import_hook` gives: to be left as a context manager, or by its method."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def uninstall(self) -> None:
        """Nothing was installed."""


_REPLACEMENTS: Mapping[str, Mapping[str, Callable[..., object]]] = {
    "beartype": {"beartype": _identity},
    "beartype.claw": dict.fromkeys(
        ("beartype_this_package", "beartype_package", "beartype_packages", "beartype_all"), _install_no_hook
    ),
    "typeguard": {"typechecked": _identity},
}
"""What stands in the place of decorators and import hooks, by module."""
