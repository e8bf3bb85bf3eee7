"""Flax's nnx: each call of a module is a stage, and each call of a function that the user's modules hold.

https://flax.readthedocs.io/en/stable/nnx_basics.html
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator

from shapecheck.evaluate.framework_protocol import Classes, module_name
from shapecheck.evaluate.frameworks.flax import FlaxFramework
from shapecheck.evaluate.probes.monkeypatch import patch_attribute, patch_classes
from shapecheck.evaluate.stages.field_functions import watching_functions
from shapecheck.evaluate.stages.stage_recorder import StageRecorder


class NnxFramework(FlaxFramework):
    """Modules are objects of Python, which hold variables and change them when they are called."""

    is_mutable = True
    has_parts = True

    def identity_classes(self) -> Classes:
        """Modules and variables."""
        return self._classes("Module", "Variable")

    def holder_classes(self) -> Classes:
        """Variables."""
        return self._classes("Variable")

    def container_classes(self) -> tuple[Classes, Classes]:
        """`nnx.List` and `nnx.Dict`, where this version of Flax has them."""
        return self._classes("List"), self._classes("Dict")

    def _classes(self, *names: str) -> Classes:
        found = (getattr(self.library(), name, None) for name in names)
        return tuple(each for each in found if each is not None)

    def key_maker(self, annotation: object, name: str) -> type | None:
        """`nnx.Rngs`, which parameters are annotated with, or named after."""
        if isinstance(annotation, type) and module_name(annotation).startswith("flax."):
            return annotation if annotation.__name__ == "Rngs" else None
        found: type | None = getattr(self.library(), "Rngs", None)
        return found if name == "rngs" else None

    def unwrap_compiled(self, function: object) -> object:
        """What its wrappers hold as `f`."""
        return getattr(function, "f", function)

    def parts(self, root: object, path: str) -> Iterable[tuple[str, object]]:
        """Those among the nodes of its graph."""
        nnx = self.require()
        found = [(_join_path(path, steps), part) for steps, part in nnx.iter_graph(root)]
        modules = [each for each in found if isinstance(each[1], nnx.Module)]
        return sorted(modules, key=lambda each: len(each[0]))

    def parameters(self, part: object) -> object:
        """The variables that are a `Param`."""
        nnx = self.require()
        return nnx.state(part, nnx.Param)

    def states(self, part: object, value: object) -> Iterable[tuple[str, object]]:
        """Its other variables, but for keys and what only looks inside."""
        nnx = self.require()
        if isinstance(part, nnx.Module):
            yield "", nnx.state(part, nnx.Not(nnx.Any(nnx.Param, nnx.RngState, nnx.Intermediate)))

    def record_stages(self, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
        """Calls change what modules hold, so none is left out."""
        return _record_stages(self, watch)


FRAMEWORK = NnxFramework("flax.nnx")


def _join_path(path: str, steps: tuple[object, ...]) -> str:
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.lstrip(".")


@contextlib.contextmanager
def _record_stages(framework: NnxFramework, watch: StageRecorder) -> Iterator[None]:
    base = framework.module_class()

    def changes(cls: type) -> Iterator[tuple[str, object]]:
        call = vars(cls).get("__call__")
        if call is not None:
            yield "__call__", _wrap_call(watch, call)

    # monkeypatch: a class has no hook for its calls
    with patch_classes(base, changes) as change, contextlib.ExitStack() as stack:
        meta = next((each for each in type.mro(type(base)) if "__call__" in vars(each)), type)
        if meta is not type:
            stack.enter_context(patch_attribute(meta, "__call__", _wrap_constructor(vars(meta)["__call__"], change)))
        stack.enter_context(_parameters(watch))
        yield


@contextlib.contextmanager
def _parameters(watch: StageRecorder) -> Iterator[None]:
    """Meanwhile, a stage that asks one of its parameters for its value gets what the watch gives back."""
    take, nnx = watch.parameter, FRAMEWORK.library()
    get = vars(getattr(nnx, "Variable", object)).get("get_value")  # since Flax 0.12
    if take is None or nnx is None or get is None:
        yield
        return

    @functools.wraps(get)
    def getitem_with_tap(self: object, *args: object, **kwargs: object) -> object:
        value, top = get(self, *args, **kwargs), watch.top()
        if top is None or not isinstance(self, nnx.Param):
            return value
        name = next((name for name, held in vars(top.part).items() if held is self), None)
        return take(name, value) if name is not None else value

    # monkeypatch: Flax has no public way to be told that a variable is read
    with patch_attribute(nnx.Variable, "get_value", getitem_with_tap):
        yield


def _wrap_constructor(construct: Callable[..., object], change: Callable[[type], None]) -> Callable[..., object]:
    @functools.wraps(construct)
    def change_and_construct(cls: type, /, *args: object, **kwargs: object) -> object:
        change(cls)
        return construct(cls, *args, **kwargs)

    return change_and_construct


def _wrap_call(watch: StageRecorder, call: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(call)
    def call_as_stage(self: object, /, *args: object, **kwargs: object) -> object:
        top = watch.top()
        if top is not None and top.part is self:  # super().__call__(...)
            return call(self, *args, **kwargs)
        cls, step = type(self), watch.step_of(self, "__call__", call, args, kwargs)
        # Other layers of Flax's hold functions that are none of the model's.
        own = not module_name(cls).startswith("flax.") or _is_sequential(cls)
        return watch.run_stage(step, call_with_functions if own else call, (self, *args), kwargs)

    def call_with_functions(self: object, /, *args: object, **kwargs: object) -> object:
        with watching_functions(watch, self, ("layers",) if _is_sequential(type(self)) else ()):
            return call(self, *args, **kwargs)

    return call_as_stage


def _is_sequential(cls: type) -> bool:
    """Whether it is `nnx.Sequential`, or calls its layers as that does."""
    sequential = getattr(FRAMEWORK.library(), "Sequential", None)
    holder = next((each for each in cls.__mro__ if "__call__" in vars(each)), None)
    return sequential is not None and holder is sequential
