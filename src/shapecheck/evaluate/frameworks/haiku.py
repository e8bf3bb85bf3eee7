"""Haiku: each call of a module is a stage, under the name that Haiku gives it.

By its public interceptors: https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.intercept_methods

Of a `multi_transform`, each call of one of its apply functions is a stage, where its template calls it:
https://dm-haiku.readthedocs.io/en/latest/api.html#multi-transform says which functions a pair comes from, but the pair
itself does not. Python's profiler tells what the user's function returned, and when these functions run.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType, ModuleType
from typing import Any, Protocol

import jax

from shapecheck.evaluate.framework_protocol import Function, RunningModel
from shapecheck.evaluate.own_errors import message_of
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.probes.recorder import Watch
from shapecheck.evaluate.stages.jax_transforms import callers
from shapecheck.evaluate.stages.model_paths import numbers
from shapecheck.evaluate.stages.stage_memo import cell_content
from shapecheck.evaluate.stages.stage_recorder import StagedFramework, StageRecorder
from shapecheck.evaluate.stages.stage_records import (
    OpenStage,
    StageStep,
    describe_unmapped,
    function_name,
)

# The functions that `haiku.transform` and its kin make. One inside of another has parameters that are lifted out of it.
_TRANSFORMS = ("haiku/_src/transform.py",)
_INITIALISING, _APPLYING = "init_fn", "apply_fn"
_LIFTING = "LiftingModule"  # made by `haiku.lift` and its kin: no part of the model
_STACKING = "haiku/_src/layer_stack.py"
_SEVERAL = "haiku/_src/multi_transform.py"
_OUTSIDE = re.compile(r"(inside|as part of) an `hk\.transform`")


class HaikuFramework(StagedFramework):
    """Modules exist inside of a transformed function only, whose `init` makes their parameters.

    https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.transform_with_state
    """

    is_deferred = True
    infers_inputs = True
    distributions = ("dm_haiku",)
    without_effects = ("haiku", "haiku.Module", "haiku.RNNCore")
    weight_layout = "in out"

    def wrap_evaluation(self, error: Exception, evaluate: Function) -> Function | None:
        """Inside of a transform, if Haiku raised the error because nothing around the call is one."""
        if not isinstance(error, ValueError) or not _OUTSIDE.search(message_of(error)):
            return None

        def evaluate_inside(function: Function, *args: object) -> object:
            haiku = self.require()

            def initialise(*arrays: object) -> None:
                haiku.transform_with_state(lambda: function(*arrays)).init(jax.random.PRNGKey(0))

            return evaluate(initialise, *args)

        return evaluate_inside

    def running_model(self, frame: FrameType) -> RunningModel | None:
        """https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.TransformedWithState: what runs the user's `f`."""
        local = frame.f_locals
        function = local.get("f")
        if frame.f_code.co_name != _APPLYING or not frame.f_code.co_filename.endswith(_TRANSFORMS):
            return None
        if not callable(function):  # a pair that is wrapped once more
            return None
        init = self.require().transform_with_state(function).init
        args = (jax.random.PRNGKey(0), *local["args"])
        return RunningModel((local["params"], local["state"]), init, args, local["kwargs"])

    def run_template(self, pair: object, watch: Watch | None) -> Function | None:
        """What a `multi_transform` does for its parameters: it runs its template, with the functions as stages."""
        return _wrap_template(self.require(), pair, watch)

    def parameters(self, part: Any) -> object:
        """Under the names that the outermost transform has for them."""
        return part.params_dict()

    def states(self, part: object, value: object) -> Iterable[tuple[str, object]]:
        """What `haiku.get_state` gives its module."""
        if isinstance(part, self.module_class() or ()):
            module: Any = part
            yield "", module.state_dict()

    def configuration(self) -> Mapping[str, object]:
        """The attributes of the one object."""
        return dict(getattr(self._config(), "__dict__", {}))

    def configure(self, name: str, value: object) -> None:
        """Set one of them."""
        setattr(self._config(), name, value)

    def _config(self) -> object:
        module = self.library("haiku._src.config")
        return module.get_config() if module is not None else None

    def record_stages(self, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
        """By its public interceptors."""
        return _record_stages(self.require(), watch)


FRAMEWORK = HaikuFramework("haiku")


class _TransparencyMap(Protocol):
    """The names of the layers that a `layer_stack` holds as one."""

    def stacked_to_flat(self, stacked_module_name: str, scan_idx: int, /) -> str: ...


@dataclass(frozen=True)
class _LiftedTransform:
    """Parameters of a transform inside of others, of which there are `depth`, and what their names begin with there.

    With a transparency map each of the `layers` has parameters of its own, under a name that the map gives.
    """

    depth: int
    prefix: str
    params: Mapping[str, Mapping[str, object]]
    layers: int = 1
    transparency: _TransparencyMap | None = None

    def inside(self, name: str) -> list[str]:
        """What a module of the transform is called in `params`."""
        if self.transparency is None:
            return [name]
        return [self.transparency.stacked_to_flat(name, index) for index in range(self.layers)]

    def outside(self, name: str) -> list[str]:
        """What it is called in the transform around this one."""
        return [_path([self.prefix, each]) for each in self.inside(name)]


@contextlib.contextmanager
def _record_stages(haiku: ModuleType, watch: StageRecorder) -> Iterator[None]:
    lifted: list[_LiftedTransform] = []  # the outer ones first

    def intercept(run: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object], context: Any) -> object:
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
        held = (0, 0)
        step = replace(
            watch.step_of(module, method, own, args, kwargs),
            path=_path([*(each.prefix for each in around), module.module_name]),
            count=lambda: held,
            first=_INITIALISING in transforms,
        )
        with parameter_getter(top):
            result = watch.run_stage(step, run, args, kwargs)
        # Now: afterwards nobody tells.
        held = numbers(watch.stacks.with_stacks(_outside(module.params_dict(), around)))
        return result

    def parameter_getter(top: OpenStage | None) -> contextlib.AbstractContextManager[object]:
        take = watch.parameter
        if take is None or top is not None:
            return contextlib.nullcontext()
        # https://dm-haiku.readthedocs.io/en/latest/api.html#custom-getter
        getter: contextlib.AbstractContextManager[object] = haiku.custom_getter(
            lambda get, value, context: take(context.name, get(value))
        )
        return getter

    with haiku.intercept_methods(intercept):
        yield


def _transparency(frame: FrameType | None) -> tuple[int, _TransparencyMap | None]:
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


def _outside(own: Mapping[str, object], around: Sequence[_LiftedTransform]) -> dict[str, dict[str, object]]:
    """The parameters of a module as the outermost transform has them: of a `layer_stack` those of all layers."""
    found: dict[str, dict[str, object]] = {}
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


def _wrap_template(haiku: ModuleType, pair: Any, watch: Watch | None) -> Callable[..., object]:
    """What a `multi_transform` does for its parameters: it runs its template, with the apply functions as stages."""

    def run_template(*args: object, **kwargs: object) -> object:
        def template() -> object:
            with haiku.custom_creator(_zeros):  # what it costs to make parameters is no cost of a stage
                return pair.init(jax.random.PRNGKey(0), *args, **kwargs)

        before = sys.getprofile()
        if isinstance(watch, StageRecorder) and watch.runner is None:
            sys.setprofile(_Profile(watch))
        try:
            return haiku.transform(template).apply({}, None)
        finally:
            sys.setprofile(before)

    return run_template


def _zeros(
    next_creator: object, shape: tuple[int, ...], dtype: jax.typing.DTypeLike, init: object, context: object
) -> object:
    return jax.numpy.zeros(shape, dtype)


@dataclass
class _Profile:
    """Opens a stage when one of the functions is called, and closes it when that returns."""

    watch: StageRecorder
    noted: set[FrameType] = field(default_factory=set)
    functions: dict[str, object] = field(default_factory=dict)  # the latest that were made, by name
    running: dict[FrameType, OpenStage] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        """What Python tells of each call and return."""
        if event == "call":
            names = [name for name, function in self.functions.items() if _runs(function, frame)]
            if names:
                name = next((name for name in names if _has_defaults(self.functions[name], frame)), names[0])
                self.running[frame] = self.watch.open(self._step(name, frame), frame.f_back)
        elif event == "return" and frame in self.running:
            stage = self.running.pop(frame)
            self.watch.close(stage)
            stage.output = describe_unmapped(value)
        elif event == "return" and (outer := _init_frame(frame.f_back)) is not None and outer not in self.noted:
            self.noted.add(outer)
            self.functions = dict(_named_functions(value[1])) if isinstance(value, tuple) and len(value) == 2 else {}

    def _step(self, name: str, frame: FrameType) -> StageStep:
        function = self.functions[name]
        kind = function_name(function)
        source = self.watch.origin(function, kind)
        given = list(_frame_arguments(frame))[1 if inspect.ismethod(function) else 0 :]
        taken = tuple((n, describe_unmapped(value)) for n, value in given if value is not None)
        return StageStep(type=kind, callable=kind, part=None, source=source, path=name, input=taken, first=True)


def _init_frame(frame: FrameType | None) -> FrameType | None:
    """The frame, if it is Haiku's, in which the user's function is called and then the template that it returned."""
    code = frame.f_code if frame is not None else None
    is_it = code is not None and code.co_name == _INITIALISING and code.co_filename.endswith(_SEVERAL)
    return frame if is_it else None


def _named_functions(tree: object) -> Iterator[tuple[str, object]]:
    """The functions by their places in the pytree; of a tuple by their own names. Modules are stages anyway."""
    for path, function in jax.tree_util.tree_flatten_with_path(tree)[0]:
        plain = _plain(function)
        if plain is not None:
            place = "".join(map(_step, path)).lstrip(".")
            is_number = place[:1] in ("", "[") and plain.__name__ != "<lambda>"
            yield plain.__name__ if is_number else place, function


def _step(key: object) -> str:
    name = getattr(key, "name", getattr(key, "key", None))
    return f".{name}" if isinstance(name, str) else str(key)


def _plain(function: Any) -> Any:
    """The Python function that runs when it is called; None if it is something else."""
    while isinstance(function, functools.partial):
        function = function.func
    function = unwrap(getattr(function, "__func__", function))
    return function if inspect.isfunction(function) else None


def _runs(function: object, frame: FrameType) -> bool:
    """Whether it is what runs in a frame: the same code, with the same variables around it."""
    plain = _plain(function)
    if plain.__code__ is not frame.f_code:
        return False
    cells = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
    return all(cell_content(cell) is frame.f_locals.get(name) for name, cell in cells)


def _has_defaults(function: object, frame: FrameType) -> bool:
    """Whether the parameters that have defaults have these: so functions are distinguished that a loop makes."""
    parameters = inspect.signature(_plain(function)).parameters.values()
    defaults = [(p.name, p.default) for p in parameters if p.default is not inspect.Parameter.empty]
    return all(frame.f_locals.get(name) is default for name, default in defaults)


def _frame_arguments(frame: FrameType) -> Iterator[tuple[str, object]]:
    """The arguments of the function in a frame that begins to run."""
    names, rest, keywords, values = inspect.getargvalues(frame)
    yield from ((name, values[name]) for name in names)
    yield from ((f"{rest}[{index}]", part) for index, part in enumerate(values[rest] if rest else ()))
    yield from (values[keywords] if keywords else {}).items()
