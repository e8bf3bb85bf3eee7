"""Equinox: each call of a module is a stage, each call of a function that a module holds, and labelled steps."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from shapecheck.evaluate.framework_protocol import Classes, is_state, module_name
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.probes.monkeypatch import patch_attribute, patch_classes
from shapecheck.evaluate.stages.field_functions import watched_functions
from shapecheck.evaluate.stages.jax_transforms import fresh_traces
from shapecheck.evaluate.stages.stage_recorder import StagedFramework, StageRecorder
from shapecheck.evaluate.stages.stage_records import StageStep, arguments, describe_unmapped, short
from shapecheck.evaluate.stages.staged_models import argument_of, with_labels

_JIT = "_JitWrapper"  # the class of what `equinox.filter_jit` makes


class EquinoxFramework(StagedFramework):
    """https://docs.kidger.site/equinox/: modules are frozen pytrees, and a state goes through their calls."""

    is_pytree = True
    has_parts = True
    layers = "equinox.nn."
    transforming_prefix = "filter_"
    appliers = frozenset(["_vmap_a_of_b"])  # a helper of `equinox.nn.MLP`
    variables = ("EQX_",)
    without_effects = ("equinox", "equinox.Enumeration", "equinox.Module")
    compiles = True
    applies_updates = True
    weight_layout = "out in"

    def is_wrapper(self, cls: type) -> bool:
        """Whether it is one of those that Equinox makes of functions: bound methods, `filter_vmap(f)`."""
        return self.is_base(cls)

    def is_abstract(self, cls: type) -> bool:
        """Whether it has an `AbstractVar` or an `AbstractClassVar` left."""
        return bool(getattr(cls, "__abstractvars__", ()) or getattr(cls, "__abstractclassvars__", ()))

    def ends_construction(self, cls: type) -> str:
        """`__check_init__`, which each base has for itself, if fields have converters: these run after `__init__`."""
        module = self.module_class()
        is_module = module is not None and issubclass(cls, module)
        fields = dataclasses.fields(cls) if is_module and dataclasses.is_dataclass(cls) else ()
        return "__check_init__" if any("converter" in each.metadata for each in fields) else ""

    def state_classes(self) -> Classes:
        """`equinox.nn.State`, once `equinox.nn` is there."""
        return self._of_nn("State")

    def state_index_classes(self) -> Classes:
        """`equinox.nn.StateIndex`."""
        return self._of_nn("StateIndex")

    def _of_nn(self, name: str) -> Classes:
        found: type | None = getattr(self.library("equinox.nn"), name, None)
        return () if found is None else (found,)

    def unwrap_attribute(self, value: object, owner: type | None = None) -> object:
        """Before 0.13, methods stand in their class inside a descriptor."""
        if owner is None or callable(value) or not module_name(type(value)).startswith("equinox."):
            return value
        descriptor: Any = value
        return descriptor.__get__(None, owner)

    def is_jitted(self, value: object) -> bool:
        """What `filter_jit` makes."""
        return type(value).__name__ == _JIT

    def make_state(self, model: object) -> object:
        """The state with the first values that the model's indices hold."""
        return self.require("equinox.nn").State(model)

    def states(self, part: object, value: object) -> Iterable[tuple[str, object]]:
        """A `State` is handed on: the values in it of the indices that the module has."""
        carried = [leaf for leaf in jax.tree_util.tree_leaves(value, is_leaf=is_state) if is_state(leaf)]
        if not carried:
            return
        if not isinstance(part, self.module_class() or ()):
            yield "state", [leaf for state in carried for leaf in jax.tree_util.tree_leaves(state)]
            return
        kinds = self.state_index_classes()
        indices = jax.tree_util.tree_flatten_with_path(part, is_leaf=lambda leaf: isinstance(leaf, kinds))[0]
        for path, index in indices:
            for state in carried if isinstance(index, kinds) else ():
                try:
                    kept = state.get(index)
                except (KeyError, ValueError):  # of another model, or older than another one
                    continue
                yield jax.tree_util.keystr(path).lstrip("."), kept

    def record_stages(self, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
        """Note each call of a module, and of functions that modules hold, and the labels of staged models."""
        return _record_stages(self, watch)


FRAMEWORK = EquinoxFramework("equinox")


@contextlib.contextmanager
def _record_stages(framework: EquinoxFramework, watch: StageRecorder) -> Iterator[None]:
    base = framework.module_class()
    watch.wrap(lambda function: _wrap_call(watch, function))
    # monkeypatch: a class has no hook for its calls
    with patch_classes(base, lambda cls: _changes(watch, cls)) as change, contextlib.ExitStack() as stack:
        if base is not None and "__call__" in vars(type(base)):
            made = _wrap_constructor(watch, vars(type(base))["__call__"], change)
            stack.enter_context(patch_attribute(type(base), "__call__", made))
        yield


def _changes(watch: StageRecorder, cls: type) -> Iterator[tuple[str, object]]:
    own = vars(cls)
    call = own.get("__call__")
    if "model_spec" in own:
        yield "model_spec", with_labels(watch, own["model_spec"])
    if call is None or getattr(call, "__isabstractmethod__", False):
        return
    if not FRAMEWORK.is_wrapper(cls):
        yield "__call__", _wrap_call(watch, call)
    elif cls.__name__ == _JIT and watch.runner is None:
        yield "__call__", _retrace_each_time(call)


def _wrap_call(watch: StageRecorder, call: Callable[..., object]) -> Callable[..., object]:
    def plain(module: object, /, *args: object, **kwargs: object) -> object:
        module = watched_functions(watch, module)
        watch.note_rebuilt(module)
        return call.__get__(module, type(module))(*args, **kwargs)

    def call_as_stage(self: object, /, *args: object, **kwargs: object) -> object:
        top = watch.top()
        if not isinstance(self, FRAMEWORK.module_class() or ()):
            return call(self, *args, **kwargs)
        if top is not None and top.part is self:  # super().__call__(...)
            return call.__get__(self, type(self))(*args, **kwargs)
        return watch.run_stage(_step(watch, self, call, args, kwargs), plain, (self, *args), kwargs, once=True)

    return functools.wraps(call)(call_as_stage)


def _wrap_constructor(
    watch: StageRecorder, construct: Callable[..., object], change: Callable[[type], None]
) -> Callable[..., object]:
    """The construction of modules, of which equal ones are not run again."""

    @functools.wraps(construct)
    def construct_once(cls: type, /, *args: object, **kwargs: object) -> object:
        change(cls)
        if FRAMEWORK.is_wrapper(cls):
            return construct(cls, *args, **kwargs)
        return watch.make(construct, (cls, *args), kwargs)

    return construct_once


def _step(
    watch: StageRecorder,
    module: object,
    call: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> StageStep:
    cls, label = type(module), watch.expected_label(module)
    name = short(cls)
    given = list(arguments(call, (module, *args), kwargs))[1:]
    # At once: a state cannot be looked at any more when there is a newer one.
    taken = tuple((n, describe_unmapped(value)) for n, value in given if not is_state(value))
    state = tuple((n, describe_unmapped(value)) for n, value in given if is_state(value))
    if label is not None and len(args) > 1:
        taken, state = (
            (("input", describe_unmapped(argument_of(args[0]))),),
            (("substate", describe_unmapped(args[1])),),
        )
    own = vars(cls).get("__call__") or cls.__call__
    source = watch.origin(unwrap(own), cls.__qualname__)
    return StageStep(
        type=name,
        callable=f"{name}.__call__",
        part=module,
        source=source,
        path=None,
        label=label,
        input=taken,
        state=state,
    )


def _retrace_each_time(call: Callable[..., object]) -> Callable[..., object]:
    """A jitted function that JAX traces each time: equal stages go through one and the same."""

    def call_anew(self: object, /, *args: object, **kwargs: object) -> object:
        with fresh_traces():
            return call.__get__(self, type(self))(*args, **kwargs)

    return functools.wraps(call)(call_anew)
