"""Haiku: each call of a module is a stage, under the name that Haiku gives it.

By its public interceptors: https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.intercept_methods
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from shapecheck.stage.staging.anatomy import numbers
from shapecheck.stage.staging.running import Step, arguments, described, short
from shapecheck.stage.staging.watching import StageWatch


@contextlib.contextmanager
def watching(watch: StageWatch) -> Iterator[None]:
    """Note the stages of Haiku modules in `watch` meanwhile."""
    haiku: Any = sys.modules.get("haiku")
    if haiku is None:
        yield
        return

    def intercept(run: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module, method = context.module, context.method_name
        top = watch.top()
        inherited = method != "__call__" and hasattr(haiku.Module, method)
        if inherited or method.startswith("_") != (method == "__call__") or (top and top.part is module):
            return run(*args, **kwargs)
        cls = type(module)
        own = getattr(cls, method)
        taken = tuple((n, described(v)) for n, v in list(arguments(own, (module, *args), kwargs))[1:])
        name, held = short(cls), (0, 0)
        step = Step(
            name,
            f"{name}.{method}",
            module,
            watch.origin(own, cls.__qualname__),
            module.module_name,
            None,
            taken,
            (),
            lambda: held,
            bool(haiku.running_init()),
        )
        result = watch.run(step, run, args, kwargs)
        held = numbers(module.params_dict())  # now: afterwards Haiku does not tell
        return result

    with haiku.intercept_methods(intercept):
        yield
