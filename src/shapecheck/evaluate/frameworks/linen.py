"""Flax's linen: each call of a module is a stage, under the name that Flax gives it.

By its public interceptors: https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.intercept_methods
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import jax

from shapecheck.evaluate.probes.patch_classes import patch_attribute
from shapecheck.evaluate.stages.jax_transforms import callers
from shapecheck.evaluate.stages.model_paths import numbers
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import StageStep, arguments, describe_unmapped, short

_SCANNING = ("flax/core/axes_scan.py", "control_flow/loops.py")


@contextlib.contextmanager
def record_stages(watch: StageRecorder) -> Iterator[None]:
    """Note the stages of linen modules in `watch` meanwhile."""
    linen: Any = sys.modules.get("flax.linen")
    if linen is None:
        yield
        return

    wholes: list[dict[str, Any]] = []  # what the models hold that are running: known when they have run
    outermost: list[dict[str, Any]] = []  # those of them that were not called by others

    def intercept(run: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module, method = context.module, context.method_name
        top, cls = watch.top(), type(module)
        own = getattr(cls, method, None)  # Flax has methods of its own that stand in no class
        if own is None or method == "setup" or method.startswith("_") != (method == "__call__"):
            return run(*args, **kwargs)
        if top is not None and top.part is module:  # a method that calls another
            return run(*args, **kwargs)
        taken = tuple((n, describe_unmapped(v)) for n, v in list(arguments(own, (module, *args), kwargs))[1:])
        name, path = short(cls), ".".join(module.path)
        source = watch.origin(own, cls.__qualname__)
        first = bool(module.is_initializing())
        if not module.path:
            outermost.extend([] if wholes else [{}])
            wholes.append({} if wholes else outermost[-1])
        whole = wholes[-1] if wholes else dict(module.variables)
        steps = module.path if wholes else ()
        step = StageStep(
            type=name,
            callable=f"{name}.{method}",
            part=module,
            source=source,
            path=path,
            label=None,
            input=taken,
            count=lambda: _parameter_count(whole, steps),
            first=first,
            trial=_is_trial(sys._getframe(1)),
        )
        try:
            return watch.run_stage(step, run, args, kwargs)
        finally:
            if not module.path:
                whole.update({kind: watch.stacks.with_stacks(held) for kind, held in module.variables.items()})
                wholes.pop()

    watch.wrap(lambda function: _wrap_init(linen, function, watch, outermost))
    with linen.intercept_methods(intercept), _parameters(linen, watch):
        yield


@contextlib.contextmanager
def _parameters(linen: Any, watch: StageRecorder) -> Iterator[None]:
    """Meanwhile, who asks for a parameter gets what the watch gives back."""
    take = watch.parameter
    if take is None:
        yield
        return
    param = vars(linen.Module)["param"]

    @functools.wraps(param)
    def param_with_tap(module: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        value = param(module, name, *args, **kwargs)
        top = watch.top()
        return take(name, value) if top is not None and top.part is module else value

    with patch_attribute(linen.Module, "param", param_with_tap):
        yield


def _wrap_init(
    linen: Any, function: Callable[..., Any], watch: StageRecorder, outermost: list[dict[str, Any]]
) -> Callable[..., Any]:
    """A method of a model, called with parameters that are made for it.

    That is the same run, if nobody counts its cost, or wants its values: a run that makes the parameters updates no
    running averages and no cache.
    What the model holds is counted for the runs of its module, which may be under a `scan` or `vmap` themselves.
    """

    @functools.wraps(function)
    def call_initialised(model: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(model, linen.Module) or model.scope is not None:
            return function(model, *args, **kwargs)
        keys = {name: jax.random.PRNGKey(0) for name in ("params", "dropout")}
        outermost.clear()
        if watch.flops or watch.runner is not None:
            held = model.init(keys, *args, method=function.__name__, **kwargs)
            result = model.apply(held, *args, rngs=keys, mutable=True, method=function.__name__, **kwargs)
        else:
            result = model.init_with_output(keys, *args, method=function.__name__, **kwargs)
        for whole in outermost:
            whole.update(result[1])
        return result

    return call_initialised


def _is_trial(frame: FrameType) -> bool:
    """Whether Flax runs the body of a `scan` to see its constants, as it does before JAX runs it."""
    names = (name for name in callers(frame, _SCANNING) if name in ("scan_fn", "scan"))
    return next(names, "scan") == "scan_fn"


def _parameter_count(variables: Mapping[str, Any], steps: Sequence[str]) -> tuple[int, int]:
    """The parameters of the module at the end of these steps, inside of what the whole holds."""
    found: Any = variables.get("params", {})
    for step in steps:
        found = found.get(step, {})
    return numbers(found)
