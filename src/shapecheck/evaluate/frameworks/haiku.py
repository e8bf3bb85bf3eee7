"""Haiku: each call of a module is a stage, under the name that Haiku gives it.

By its public interceptors: https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.intercept_methods
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from shapecheck.evaluate.stages.jax_transforms import callers
from shapecheck.evaluate.stages.model_paths import numbers
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import OpenStage, StageStep, arguments, describe_unmapped, short

# The functions that `haiku.transform` and its kin make. One inside of another has parameters that are lifted out of it.
_TRANSFORMS = ("haiku/_src/transform.py",)
_INITIALISING = "init_fn"
_LIFTING = "LiftingModule"  # made by `haiku.lift` and its kin: no part of the model
_STACKING = "haiku/_src/layer_stack.py"


@dataclass(frozen=True)
class _LiftedTransform:
    """Parameters of a transform inside of others, of which there are `depth`, and what their names begin with there.

    With a transparency map each of the `layers` has parameters of its own, under a name that the map gives.
    """

    depth: int
    prefix: str
    params: Mapping[str, Any]
    layers: int = 1
    transparency: Any = None

    def inside(self, name: str) -> list[str]:
        """What a module of the transform is called in `params`."""
        if self.transparency is None:
            return [name]
        return [self.transparency.stacked_to_flat(name, index) for index in range(self.layers)]

    def outside(self, name: str) -> list[str]:
        """What it is called in the transform around this one."""
        return [_path([self.prefix, each]) for each in self.inside(name)]


@contextlib.contextmanager
def record_stages(watch: StageRecorder) -> Iterator[None]:
    """Note the stages of Haiku modules in `watch` meanwhile."""
    haiku: Any = sys.modules.get("haiku")
    if haiku is None:
        yield
        return

    lifted: list[_LiftedTransform] = []  # the outer ones first

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
            layers = _transparency(sys._getframe(1))
            lifted[:] = [*outer, _LiftedTransform(len(transforms), module.prefix_name, params, *layers)]
            return result
        inherited = method != "__call__" and hasattr(haiku.Module, method)
        if inherited or method.startswith("_") != (method == "__call__") or (top and top.part is module):
            return run(*args, **kwargs)
        cls, around = type(module), [each for each in lifted if each.depth < len(transforms)]
        own = getattr(cls, method)
        taken = tuple((n, describe_unmapped(v)) for n, v in list(arguments(own, (module, *args), kwargs))[1:])
        name, held = short(cls), (0, 0)
        step = StageStep(
            type=name,
            callable=f"{name}.{method}",
            part=module,
            source=watch.origin(own, cls.__qualname__),
            path=_path([*(each.prefix for each in around), module.module_name]),
            label=None,
            input=taken,
            state=(),
            count=lambda: held,
            first=_INITIALISING in transforms,
        )
        with parameter_getter(top):
            result = watch.run_stage(step, run, args, kwargs)
        # Now: afterwards nobody tells.
        held = numbers(watch.stacks.with_stacks(_outside(module.params_dict(), around)))
        return result

    def parameter_getter(top: OpenStage | None) -> contextlib.AbstractContextManager[Any]:
        take = watch.parameter
        if take is None or top is not None:
            return contextlib.nullcontext()
        # https://dm-haiku.readthedocs.io/en/latest/api.html#custom-getter
        getter: contextlib.AbstractContextManager[Any] = haiku.custom_getter(
            lambda get, value, context: take(context.name, get(value))
        )
        return getter

    with haiku.intercept_methods(intercept):
        yield


def _transparency(frame: FrameType | None) -> tuple[int, Any]:
    """How many layers the `layer_stack` has that lifts its parameters, and its map of their names, if it has one."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith(_STACKING) and code.co_name == "__call__":
            stack = frame.f_locals.get("self")
            return getattr(stack, "_count", 1), getattr(stack, "_transparency_map", None)
        if code.co_filename.endswith(_TRANSFORMS):
            break
        frame = frame.f_back
    return 1, None


def _outside(own: Mapping[str, Any], around: Sequence[_LiftedTransform]) -> dict[str, dict[str, Any]]:
    """The parameters of a module as the outermost transform has them: of a `layer_stack` those of all layers."""
    found: dict[str, dict[str, Any]] = {}
    for path, value in own.items():
        module, _, name = path.rpartition("/")
        modules = [module]
        for each in reversed(around[1:]):
            modules = [outer for inner in modules for outer in each.outside(inner)]
        if not around:
            found.setdefault(module, {})[name] = value
            continue
        for held in [each for inner in modules for each in around[0].inside(inner)]:
            whole = around[0].params.get(held, {}).get(name, value)
            found.setdefault(_path([around[0].prefix, held]), {})[name] = whole
    return found


def _path(names: Sequence[str]) -> str:
    return "/".join(filter(None, names))
