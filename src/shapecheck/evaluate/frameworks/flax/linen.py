"""Flax's linen: each call of a module is a stage, under the name that Flax gives it.

By its public interceptors: https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.intercept_methods
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType, ModuleType
from typing import Any

import jax

from shapecheck.evaluate.framework_protocol import Function, RunningModel
from shapecheck.evaluate.frameworks.flax import FlaxFramework
from shapecheck.evaluate.probes.monkeypatch import patch_attribute
from shapecheck.evaluate.stages.jax_transforms import callers
from shapecheck.evaluate.stages.model_paths import numbers
from shapecheck.evaluate.stages.stage_recorder import StageRecorder

_APPLYING = "flax/linen/module.py"
_SCANNING = ("flax/core/axes_scan.py", "control_flow/loops.py")
_NO_STATE = {"params", "intermediates", "perturbations"}  # among the variables


class LinenFramework(FlaxFramework):
    """Modules hold no parameters: they are made when a module is called inside of an `init`.

    https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.Module.init_with_output
    """

    hidden_fields = frozenset({"parent", "name", "scope"})
    infers_inputs = True

    def unwrap_attribute(self, value: object, owner: type | None = None) -> object:
        """Descriptors of Flax's stand around those of Python's, such as properties."""
        around = getattr(self.library("flax.linen.module"), "DescriptorWrapper", ())
        return vars(value).get("wrapped", value) if isinstance(value, around) else value

    def bind(self, model: Any, variables: Mapping[str, object]) -> object | None:
        """https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.Module.bind."""
        return model.bind(variables) if self.is_unbound(model) else None

    def is_unbound(self, model: object) -> bool:
        """Whether it is a module outside of an `init` or `apply`."""
        return isinstance(model, self.module_class() or ()) and getattr(model, "scope", None) is None

    def wrap_method(self, function: Function) -> Function:
        """An unbound module runs it inside of an `init`."""

        @functools.wraps(function)
        def call_unbound(model: Any, /, *args: object, **kwargs: object) -> object:
            if not self.is_unbound(model):
                return function(model, *args, **kwargs)
            return model.init_with_output(_keys(), *args, method=run_member, **kwargs)[0]

        def run_member(module: object, /, *args: object, **kwargs: object) -> object:
            name = getattr(function, "__name__", "")
            own = self.unwrap_attribute(inspect.getattr_static(type(module), name, None))
            if isinstance(own, (property, functools.cached_property)):
                return getattr(module, name)
            # Not the function itself: Flax has wrapped the one in the class.
            return getattr(module, name)(*args, **kwargs) if callable(own) else function(module, *args, **kwargs)

        return call_unbound

    def running_model(self, frame: FrameType) -> RunningModel | None:
        """https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.Module.apply."""
        if frame.f_code.co_name != "apply" or not frame.f_code.co_filename.endswith(_APPLYING):
            return None
        local = frame.f_locals
        if "variables" not in local or "rngs" not in local:  # the function of that name, which makes one that applies
            return None
        given = local["rngs"] if isinstance(local["rngs"], Mapping) else {}
        keys = {**_keys(), **{name: jax.random.PRNGKey(0) for name in given}}
        kwargs = {**local["kwargs"], "method": local["method"]}
        return RunningModel(local["variables"], local["self"].init, (keys, *local["args"]), kwargs)

    def parameters(self, part: Any) -> object:
        """Those among the variables of a module that is bound."""
        return part.variables.get("params", {})

    def states(self, part: object, value: object) -> Iterable[tuple[str, object]]:
        """Its other variables: running averages, caches."""
        if isinstance(part, self.module_class() or ()):
            module: Any = part
            yield "", {kind: kept for kind, kept in module.variables.items() if kind not in _NO_STATE}

    def record_stages(self, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
        """By its public interceptors."""
        return _record_stages(self.require(), watch)


FRAMEWORK = LinenFramework("flax.linen")


def _keys() -> dict[str, object]:
    return {name: jax.random.PRNGKey(0) for name in ("params", "dropout")}


@contextlib.contextmanager
def _record_stages(linen: ModuleType, watch: StageRecorder) -> Iterator[None]:
    wholes: list[dict[str, object]] = []  # what the models hold that are running: known when they have run
    outermost: list[dict[str, object]] = []  # those of them that were not called by others

    def intercept(
        run: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object], context: Any
    ) -> object:
        module, method = context.module, context.method_name
        top = watch.top()
        own = getattr(type(module), method, None)  # Flax has methods of its own that stand in no class
        if own is None or method == "setup" or method.startswith("_") != (method == "__call__"):
            return run(*args, **kwargs)
        if top is not None and top.part is module:  # a method that calls another
            return run(*args, **kwargs)
        step = replace(
            watch.step_of(module, method, own, args, kwargs),
            path=".".join(module.path),
            first=bool(module.is_initializing()),
            trial=_is_trial(sys._getframe(1)),
        )
        if not module.path:
            outermost.extend([] if wholes else [{}])
            wholes.append({} if wholes else outermost[-1])
        whole = wholes[-1] if wholes else dict(module.variables)
        steps = module.path if wholes else ()
        step = replace(step, count=lambda: _parameter_count(whole, steps))
        try:
            return watch.run_stage(step, run, args, kwargs)
        finally:
            if not module.path:
                whole.update({kind: watch.stacks.with_stacks(held) for kind, held in module.variables.items()})
                wholes.pop()

    watch.wrap(lambda function: _wrap_init(function, watch, outermost))
    with linen.intercept_methods(intercept), _parameters(linen, watch):
        yield


@contextlib.contextmanager
def _parameters(linen: ModuleType, watch: StageRecorder) -> Iterator[None]:
    """Meanwhile, who asks for a parameter gets what the watch gives back."""
    take = watch.parameter
    if take is None:
        yield
        return
    param = vars(linen.Module)["param"]

    @functools.wraps(param)
    def param_with_tap(module: object, name: str, *args: object, **kwargs: object) -> object:
        value = param(module, name, *args, **kwargs)
        top = watch.top()
        return take(name, value) if top is not None and top.part is module else value

    # monkeypatch: interceptors are not told of parameters
    with patch_attribute(linen.Module, "param", param_with_tap):
        yield


def _wrap_init(
    function: Callable[..., object], watch: StageRecorder, outermost: list[dict[str, object]]
) -> Callable[..., object]:
    """A method of a model, called with parameters that are made for it.

    That is the same run, if nobody counts its cost, or wants its values: a run that makes the parameters updates no
    running averages and no cache.
    What the model holds is counted for the runs of its module, which may be under a `scan` or `vmap` themselves.
    """

    @functools.wraps(function)
    def call_initialised(model: Any, /, *args: object, **kwargs: object) -> object:
        if not FRAMEWORK.is_unbound(model):
            return function(model, *args, **kwargs)
        keys = _keys()
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


def _parameter_count(variables: Mapping[str, object], steps: Sequence[str]) -> tuple[int, int]:
    """The parameters of the module at the end of these steps, inside of what the whole holds."""
    found: Any = variables.get("params", {})
    for step in steps:
        found = found.get(step, {})
    return numbers(found)
