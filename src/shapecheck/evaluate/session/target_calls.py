"""How what `shapecheck template` names is run: a class, an instance, a factory, an example, a function; and what is
answered where that cannot be.

A factory returns a function or a model, and what it is called with, parameters first: some frameworks keep these apart
from what computes with them, as in `(model.apply, variables, x)`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import framework_of, model_classes
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.runtime_annotations import array_type, is_config
from shapecheck.evaluate.inputs.facts.signature_facts import missing_parameters
from shapecheck.evaluate.inputs.project.data_arguments import by_argument, unpack_sequences
from shapecheck.evaluate.inputs.project.entries import is_model
from shapecheck.evaluate.inputs.project.nested_arguments import heads
from shapecheck.evaluate.inputs.project.user_examples import (
    ExampleError,
    ShapeText,
    check_names,
    is_switch,
    public_names,
)
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.example_calls import configured_example, decorated_example
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.abstract_call import build
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, kind_of
from shapecheck.evaluate.inputs.trials.trial import CallSpec
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.stages.debug_batch import batch, by_name
from shapecheck.evaluate.stages.stage_recorder import run_template
from shapecheck.shapes import SpecError, parse_spec
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.target_messages import TargetRefusal

_AT_MODULE_LEVEL = "call it in the module, as in `MODEL = make()`, and name MODEL, or a function that calls it"


def call_spec(builder: CallBuilder, target: Any, given: ConfiguredExample, owner: Any = None) -> CallSpec:
    """How `target` is run: as a method if it stands in the class `owner`; of what it makes, if that is a name.

    Raises ExampleError for arguments that do not fit, CannotSynthesiseError for those that are missing.
    """
    own = owner if isinstance(owner, str) else None
    has_arguments = bool(given.args or given.kwargs or given.borrowed)
    if getattr(target, "__shapecheck_example__", False) is True:
        if given.args or given.kwargs or given.init:
            raise ExampleError(f"{given.call} is an example, which has its arguments already")
        return decorated_example(builder, target)
    if isinstance(target, type) or (isinstance(owner, type) and inspect.isroutine(target)):
        cls, method = (target, "__call__") if isinstance(target, type) else (owner, target.__name__)
        _require_method(cls, method, given.call)
        if has_arguments:
            return configured_example(builder, replace(given, method=method), cls)
        return builder.method(cls, getattr(cls, method), given.init)
    holder = getattr(target, "__self__", None)
    if is_model(target) or is_model(holder):
        model, method = (target, own or "__call__") if is_model(target) else (holder, target.__func__.__name__)
        _require_method(type(model), method, given.call)
        framework = framework_of(model)
        changes = framework is not None and framework.is_mutable and not builder.models.has_values
        model = _abstract(model) if changes else model
        return (
            configured_example(builder, replace(given, method=method), model)
            if has_arguments
            else builder.of_instance(model, method)
        )
    if is_pair(target):
        if not has_arguments:
            raise ExampleError(f"{given.call} is a transformed function; say what it takes, with --arg")
        return configured_example(builder, replace(given, init=None), _wrap_apply(target, given.init, builder.recorder))
    if not callable(target):
        names = [name for name, value in getattr(target, "__dict__", {}).items() if callable(value)]
        names += [name for name in public_names(type(target)) if inspect.isroutine(getattr(type(target), name, None))]
        hint = f"; name what can be, {given.call}.{names[0]} for example" if names else ""
        raise ExampleError(f"{given.call} is of type {type(target).__name__}, which cannot be called{hint}")
    made = _factory_result(builder, target, given)
    if is_model(made) or is_pair(made):
        return call_spec(builder, made, replace(given, init=None), own)
    if isinstance(made, tuple) and _is_factory_result(made):
        called, parameters, inputs = split_factory_result(given, made)
        if not has_arguments or (given.borrowed_invented and inputs):
            leaf = as_placeholder if builder.models.has_values else as_shape
            values = tuple(jax.tree_util.tree_map(leaf, value) for value in inputs)
            given = replace(given, args=values, borrowed={}, read=True)
        else:
            given = beside(given, called, parameters, inputs)
        if builder.models.has_values and parameters:
            called, parameters = functools.partial(called, *parameters), ()
        given = replace(given, init=None, args=(*parameters, *given.args))
        spec = (
            configured_example(builder, given, called) if _is_plain(called) else call_spec(builder, called, given, own)
        )
        return replace(spec, parameters=len(parameters))
    if _is_factory_result(made) and not missing_parameters(target, given.init or {}):
        given = replace(given, init=None)
        return configured_example(builder, given, made) if has_arguments else builder.function(made)
    builder.models.made.chosen.clear()  # by the trial whether it makes a model
    builder.models.made.places.clear()
    if own is not None:
        raise ExampleError(f"{given.call}: what {target.__name__} returns is no model with a method {own}")
    if given.init:
        hint = "name a function that returns a model, or (model, *args)"
        raise ExampleError(f"what {given.call} returns is of type {type(made).__name__}, which is no model: {hint}")
    return configured_example(builder, given, target) if has_arguments else builder.function(target)


def _is_factory_result(value: object) -> bool:
    """Whether a factory returns it: a model, a function, or one of them with what it takes."""
    if isinstance(value, tuple) and not is_pair(value):
        return bool(value) and (is_model(value[0]) or is_pair(value[0]) or _is_call(value))
    return is_model(value) or is_pair(value) or (callable(value) and not isinstance(value, type))


def _is_call(made: tuple[object, ...]) -> bool:
    """Whether it is a function, or a model's method, with what it takes, as examples return them."""
    function, *args = made
    if not callable(function) or isinstance(function, type) or all(map(callable, args)):
        return False
    try:
        inspect.signature(function).bind(*args)
    except (TypeError, ValueError):  # other arguments than those; or built in, and silent about its parameters
        return False
    return True


def _is_plain(function: object) -> bool:
    """Whether it is a function, no method of a model: called as it is."""
    return not (is_model(function) or is_pair(function) or is_model(getattr(function, "__self__", None)))


def _require_method(cls: type, method: str, call: str) -> None:
    """Raises ExampleError if a class has no such method."""
    if not any(method in vars(base) for base in cls.__mro__):
        others = [name for name in public_names(cls) if inspect.isroutine(getattr(cls, name, None))]
        hint = f"; name a method, {call.removesuffix(f'.{method}')}.{others[0]} for example" if others else ""
        raise ExampleError(f"{call}: {cls.__qualname__} has no {method}{hint}")
    if not issubclass(cls, model_classes()) and method == "__call__" and is_config(cls):
        raise ExampleError(f"{call} is no model: {cls.__qualname__} is a class of settings")


def as_shape(value: object) -> object:
    """A jaxtyping type as a shape, an array as an abstract one; other values pass as they are."""
    return jax.ShapeDtypeStruct(value.shape, value.dtype) if is_array(value) else as_placeholder(value)


def as_placeholder(value: object) -> object:
    """A jaxtyping type as a shape; other values pass as they are."""
    array = array_type(value)
    if array is None:
        return value
    try:
        parse_spec(array.shape)
    except SpecError as error:
        raise ExampleError(f"{array.shape!r} is not a shape: {error}") from None
    return ShapeText(array.dtype, array.shape)


def with_batches(given: ConfiguredExample) -> ConfiguredExample:
    """Arguments `@file` become the shapes in these files, and those of the file of `data` are added."""

    def read_batch(value: object) -> object:
        return batch(value[1:]) if isinstance(value, str) and value.startswith("@") else value

    named = {n: read_batch(v) for n, v in given.kwargs.items()}
    if given.data:
        arrays = by_name(given.data)
        if "" in arrays:
            raise ExampleError(
                f"{given.data} has no names, as .npz and .safetensors have; --arg @{given.data} takes it"
            )
        named = {**by_argument(arrays), **named}
    return replace(given, args=tuple(map(read_batch, given.args)), kwargs=named)


def _abstract(model: object) -> object:
    """A model with shapes in place of its arrays: it may change itself when it is called."""
    return jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype) if is_array(a) else a, model)


def is_pair(target: object) -> bool:
    """Whether it is what transforms a function: `init` and `apply`, functions or several, in a tuple."""
    return isinstance(target, tuple) and getattr(target, "_fields", ()) == ("init", "apply")


def _wrap_apply(pair: Any, init: object, recorder: Recorder) -> Callable[..., object]:
    """The transformed function itself: its parameters, and its state if it has one, are made for it.

    Source: https://dm-haiku.readthedocs.io/en/latest/api.html#transformed
    """
    if init:
        raise ExampleError("init is for classes and factories, not for transformed functions")
    if not callable(pair.apply) and (run := run_template(pair, recorder.watch)) is not None:
        return run
    takes = list(inspect.signature(pair.apply).parameters)
    has_state, has_key = takes[:2] == ["params", "state"], "rng" in takes

    def init_and_apply(*args: object, **kwargs: object) -> object:
        key = jax.random.PRNGKey(0)
        made = pair.init(key, *args, **kwargs)
        given = made if has_state else (made,)
        return pair.apply(*given, *([key] if has_key else []), *args, **kwargs)

    return init_and_apply


def _factory_result(builder: CallBuilder, function: Callable[..., object], given: ConfiguredExample) -> Any:
    """What a factory makes, abstractly; None if it is none, or does not run with made-up arguments.

    Raises ExampleError if it fails though it needs none.
    """
    init = given.init or {}
    check_names(function, heads(init))
    try:
        call, _ = builder.models.call(function, init, builder.models.constructions[0])
        # A function of arrays shall not compute with made-up ones.
        if (
            builder.models.has_values
            and missing_parameters(function, init)
            and not _is_factory_result(kind := build(call))
        ):
            return kind
        return builder.models.build(call)
    except ExampleError:
        raise
    except Exception as error:  # a function of arrays, say, with arguments that are none
        if init and isinstance(error, CannotSynthesiseError):
            raise
        if (init or not missing_parameters(function, init)) and not is_own(error):
            how = (
                "with made-up arguments beside those given"
                if missing_parameters(function, init)
                else "with all that it needs"
            )
            hint = f" (it needs values: {_AT_MODULE_LEVEL})" if kind_of(error) == "value" else ""
            raise ExampleError(f"{given.call}, called {how}, raised {describe_error(error)}{hint}") from None
        return None


def describe_refusal(error: BaseException, called: object, owner: object) -> TargetRefusal:
    """The error in words; of which parameters nothing is known, with examples, and whose they are.

    They are a constructor's, or else of `called`, which may be a factory if it stands in no class `owner`.
    """
    lacks = error if isinstance(error, CannotSynthesiseError) else error.__cause__
    known = lacks if isinstance(lacks, CannotSynthesiseError) else CannotSynthesiseError("")
    return TargetRefusal(
        error=str(error),
        missing={name: name_hints.example(name) for name in known.parameters},
        constructing=known.constructing,
        factory=inspect.isfunction(called) and not isinstance(owner, type),
    )


def split_factory_result(
    given: ConfiguredExample, made: tuple[Any, ...]
) -> tuple[Any, tuple[object, ...], tuple[object, ...]]:
    """What computes, the parameters that it has to be given first, and its inputs.

    A transformed function is as https://dm-haiku.readthedocs.io/en/latest/api.html#transformed has it.
    """
    called = made[0]
    args = made[1:]
    has_parameters = bool(args) and isinstance(args[0], Mapping)
    framework = framework_of(called)
    if has_parameters and framework is not None and (bound := framework.bind(called, args[0])) is not None:
        return bound, (), args[1:]
    if has_parameters and getattr(called, "_fields", ()) == ("init", "apply") and callable(called.apply):
        takes = list(inspect.signature(called.apply).parameters)
        first = 2 if takes[:2] == ["params", "state"] else 1
        has_key = "rng" not in takes or (len(args) > first and (args[first] is None or _is_key(args[first])))
        called, args = called.apply, (*args[:first], *([] if has_key else [jax.random.PRNGKey(0)]), *args[first:])
    if is_model(called) or isinstance(called, tuple):
        return called, (), args
    inputs = [*given.args, *given.kwargs.values(), *given.borrowed.values()]
    # Where inputs may be tables too, as parameters are, it is by their number that they are distinguished.
    least = len(inputs) if any(isinstance(each, (Mapping, list, tuple)) for each in inputs) else 0
    first = _parameters(args, least)
    return called, args[:first], args[first:]


def beside(
    given: ConfiguredExample, called: Callable[..., object], parameters: Sequence[object], own: Sequence[object]
) -> ConfiguredExample:
    """What is given to `called` in place of its `own` inputs, as far as it goes."""
    if given.args or given.kwargs:
        return given
    names = _positional(called)[len(parameters) :]
    given = replace(given, borrowed=unpack_sequences(called, given.borrowed))
    named = {name for name in given.borrowed if name in names}
    others = [(name, value) for name, value in given.borrowed.items() if name not in named]
    queue = [name for name, value in others if not (name_hints.is_key(name) or is_switch(value))]
    args, left = list(own), dict(given.borrowed)
    free = [place for place in range(len(own)) if place >= len(names) or names[place] not in named]
    free = [place for place in free if not (_is_key(own[place]) or is_switch(own[place]))]
    for name in [*named, *queue[: len(free)]]:
        place = names.index(name) if name in named else free.pop(0)
        if place < len(own):
            args[place] = _either(own[place], left.pop(name))
    return replace(given, args=tuple(args), borrowed=left, read=True)


def _positional(called: Callable[..., object]) -> list[str]:
    """The names of the parameters that are filled by their place; that of all others is ""."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return [""]
    by_place = [p for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return ["" if p.kind is p.VAR_POSITIONAL else p.name for p in by_place]


def _parameters(own: Sequence[object], inputs: int) -> int:
    """How many of the arguments are parameters, states and keys, which stand in front of so many inputs at least."""
    most = max(0, len(own) - inputs)
    return next((place for place in range(most) if is_array(own[place]) and not _is_key(own[place])), most)


def _is_key(value: object) -> bool:
    if not is_array(value):
        return False
    old = value.dtype == jnp.uint32 and tuple(value.shape[-1:]) == (2,)
    return old or bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


def _either(own: object, other: object) -> object:
    """What the other model is given; or its own, if that are the same numbers as this model has its axes."""
    if not (is_array(own) and is_array(other)) or own.dtype != other.dtype or own.shape == other.shape:
        return other
    if math.prod(own.shape) != math.prod(other.shape):
        return other
    if any(isinstance(each, (jax.ShapeDtypeStruct, jax.core.Tracer)) for each in (own, other)):
        return own if sorted(own.shape) == sorted(other.shape) else other
    one, two = (np.sort(np.asarray(each), axis=None) for each in (own, other))
    return own if np.array_equal(one, two) else other
