"""Haiku: each call of a module is a stage, under the name that Haiku gives it.

By its public interceptors: https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.intercept_methods
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shapecheck.stage.staging.anatomy import numbers
from shapecheck.stage.staging.running import Step, arguments, described, short
from shapecheck.stage.staging.transforms import callers
from shapecheck.stage.staging.watching import StageWatch

# The functions that `haiku.transform` and its kin make. One inside of another has parameters that are lifted out of it.
_TRANSFORMS = ("haiku/_src/transform.py",)
_INITIALISING = "init_fn"
_LIFTING = "LiftingModule"  # made by `haiku.lift` and its kin: no part of the model


@dataclass(frozen=True)
class _Lifted:
    """Parameters of a transform inside of others, of which there are `depth`, and what their names begin with there."""

    depth: int
    prefix: str
    params: Mapping[str, Any]


@contextlib.contextmanager
def watching(watch: StageWatch) -> Iterator[None]:
    """Note the stages of Haiku modules in `watch` meanwhile."""
    haiku: Any = sys.modules.get("haiku")
    if haiku is None:
        yield
        return

    lifted: list[_Lifted] = []  # the outer ones first

    def intercept(run: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module, method = context.module, context.method_name
        top = watch.top()
        transforms = list(callers(sys._getframe(1), _TRANSFORMS))
        if type(module).__name__ == _LIFTING:
            result = run(*args, **kwargs)
            if method != "__call__":
                return result
            outer = [each for each in lifted if each.depth < len(transforms)]
            params = result if isinstance(result, Mapping) else result[0]
            lifted[:] = [*outer, _Lifted(len(transforms), module.prefix_name, params)]
            return result
        inherited = method != "__call__" and hasattr(haiku.Module, method)
        if inherited or method.startswith("_") != (method == "__call__") or (top and top.part is module):
            return run(*args, **kwargs)
        cls, around = type(module), [each for each in lifted if each.depth < len(transforms)]
        own = getattr(cls, method)
        taken = tuple((n, described(v)) for n, v in list(arguments(own, (module, *args), kwargs))[1:])
        name, held = short(cls), (0, 0)
        step = Step(
            name,
            f"{name}.{method}",
            module,
            watch.origin(own, cls.__qualname__),
            _path([*(each.prefix for each in around), module.module_name]),
            None,
            taken,
            (),
            lambda: held,
            _INITIALISING in transforms,
        )
        result = watch.run(step, run, args, kwargs)
        held = numbers(_outside(module.params_dict(), around))  # now: afterwards Haiku does not tell
        return result

    with haiku.intercept_methods(intercept):
        yield


def _outside(own: Mapping[str, Any], around: Sequence[_Lifted]) -> dict[str, Any]:
    """The parameters of a module as the outermost transform has them: of a `layer_stack` those of all layers."""
    if not around:
        return dict(own)
    found = {}
    for path, value in own.items():
        module, _, name = path.rpartition("/")
        held = around[0].params.get(_path([*(each.prefix for each in around[1:]), module]), {})
        found[path] = held.get(name, value)
    return found


def _path(names: Sequence[str]) -> str:
    return "/".join(filter(None, names))
