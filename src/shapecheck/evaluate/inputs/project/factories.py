"""Functions that make instances of a class whose own arguments nobody knows: `default_config() -> Config`.

They stand in the module of the class, or at the top of its package, say that they return it, and want no argument.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator

from shapecheck.evaluate.framework_protocol import module_name


def factories_of(cls: type) -> list[Callable[[], object]]:
    """Those of a class, in the order of their names."""
    home = module_name(cls)
    places = dict.fromkeys([home, home.partition(".")[0]])
    found: dict[str, Callable[[], object]] = {}
    for module in filter(None, map(sys.modules.get, places)):
        for name, value in sorted(vars(module).items()):
            if not name.startswith("_") and isinstance(value, types.FunctionType) and _makes(value, cls):
                found.setdefault(name, value)
    own = [getattr(cls, name) for name in _alternative_constructors(cls)]
    return [*own, *found.values()]


def _makes(function: types.FunctionType, cls: type) -> bool:
    said = function.__annotations__.get("return")
    name = said.rpartition(".")[2] if isinstance(said, str) else ""
    return (said is cls or name == cls.__name__) and _wants_nothing(function)


def _wants_nothing(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    open_kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(each.default is not each.empty or each.kind in open_kinds for each in parameters)


def _alternative_constructors(cls: type) -> Iterator[str]:
    """Class methods such as `Config.default()`."""
    for name, member in vars(cls).items():
        is_default = name.lower().startswith(("default", "get_default", "make_default"))
        if is_default and isinstance(member, classmethod) and _wants_nothing(getattr(cls, name)):
            yield name
