"""Calls of examples that the user wrote: decorated functions, and tables of the configuration with their data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax

from shapecheck.evaluate.inputs.facts.name_hints import is_key
from shapecheck.evaluate.inputs.facts.own_signature import without_cache
from shapecheck.evaluate.inputs.facts.signature_facts import (
    bind_arguments,
    integers_of,
    missing_parameters,
    ranks_of,
    specs_of,
    takes_state,
)
from shapecheck.evaluate.inputs.project.data_arguments import NestedData, place_in, unpack_sequences, variadic_parts
from shapecheck.evaluate.inputs.project.entries import is_model, nearest
from shapecheck.evaluate.inputs.project.nested_arguments import heads
from shapecheck.evaluate.inputs.project.user_examples import (
    ExampleError,
    ShapeText,
    check_annotations,
    check_fit,
    check_names,
    fit_arguments,
    placeholders,
    public_names,
    read_argument,
    shapes_in,
)
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec, CallSignature
from shapecheck.evaluate.inputs.trials.trial import BoundCall, CallSpec, Trial
from shapecheck.evaluate.probes.recorder import RecordedPart
from shapecheck.worker.messages.plans import ConfiguredExample


def decorated_example(builder: CallBuilder, function: Callable[[], Any]) -> CallSpec:
    """Evaluate a function of the user's that returns `(callable, *args)`."""
    found = placeholders(function)
    specs = [spec for _, spec, _ in found]
    if specs and builder.models.made.own is not None:
        builder.note_own_sizes({}, abstract_call.build(LazyCall(function, (), {})))

    def prepare(trial: Trial) -> BoundCall:
        assignment = builder.assign_sizes(trial, {}, specs)
        arrays = {str(i): assignment.array(spec, dtype, "") for i, spec, dtype in found}

        def call(given: Mapping[str, object]) -> None:
            target, *args = function()
            owner = getattr(target, "__self__", target)  # the model whose method it is, or itself
            builder.name_stages(owner)
            for variables in builder.recorder.constructions.variables(owner):
                integers.update({n: v for n, v in variables.items() if type(v) is int})
            integers.update(integers_of(owner))
            builder.invoke_function(without_cache(target))(*(given.get(str(i), a) for i, a in enumerate(args)))

        return BoundCall(
            call=lambda: builder.run_abstractly(call, arrays),
            chosen=assignment.chosen_sizes(),
            integers=integers,
            apart=builder.apart(),
        )

    integers: dict[str, int] = {}  # known once the example has made its model
    written = tuple(ArgumentSpec(str(index), spec) for index, spec, _ in found)
    return CallSpec(prepare=prepare, symbolic=bool(specs), ranks=ranks_of(specs), signature=CallSignature(written))


def configured_example(builder: CallBuilder, example: ConfiguredExample, target: Any) -> CallSpec:
    """A `[[tool.shapecheck.example]]` table, applied to the object that its `call` names."""
    function = target
    known: dict[str, int] = dict(builder.models.pinned)
    first: tuple[object, ...] = ()
    built = RecordedPart()
    if example.init is not None and not isinstance(target, type):
        raise ExampleError(f"init is for classes, and {example.call!r} names none")
    if isinstance(target, type):
        check_names(target, heads(example.init or {}))
        start = len(builder.recorder.calls)
        instance, chosen = builder.models.construct_with(target, example.init or {})
        built = builder.recorder.since(start)
        known = {**chosen, **known}
        name = example.method or "__call__"
        function = getattr(target, name, None)
        if function is None:
            raise ExampleError(f"{target.__name__} has no method {name!r}{nearest(name, public_names(target))}")
        first = (instance,)
    elif is_model(target):
        function, first = getattr(type(target), example.method or "__call__"), (target,)
        known = {**integers_of(target), **known}
    arguments, named = list(example.args), dict(example.kwargs)
    if not example.read:
        arguments, named = read_argument(arguments), read_argument(named)
    borrowed = unpack_sequences(function, example.borrowed)
    if example.as_annotated:
        check_annotations(function, bind_arguments(function, [*first, *arguments], named))
    rest, others = fit_arguments(function, [*first, *arguments], named, borrowed)
    arguments, named = [*arguments, *rest], {**named, **others}
    arguments += variadic_parts(function, named, len(first) + len(arguments))
    if example.data:
        _require_parameters(example.data, named, function, len(first) + len(arguments))
    named_arguments = bind_arguments(function, [*first, *arguments], named)
    made = {"state": None} if first and "state" not in named_arguments and takes_state(function, first[0]) else {}
    check_fit(function, [*first, *arguments], {**made, **named}, whole=not example.fill)
    missing = missing_parameters(function, {**named_arguments, **made}) if example.fill else []
    named = {n: replace(v, name=n) if isinstance(v, NestedData) else v for n, v in named.items()}
    is_made = bool(missing) or any(isinstance(value, NestedData) for value in named.values())
    described = builder.models.described(function) if is_made else {}
    specs = [shape.spec for shape in shapes_in([arguments, named])]
    specs += specs_of(function, described) if is_made else []
    invoke = builder.invoke_method(function) if first else builder.invoke_function(function)
    builder.note_own_sizes(known, first, arguments, named)

    def prepare(trial: Trial) -> BoundCall:
        assignment = builder.assign_sizes(trial, known, specs)
        builder.recorder.again(built)

        def make(leaf: object) -> object:
            if isinstance(leaf, NestedData):
                return _with_data(leaf, {n: make(each) for n, each in leaf.arrays.items()}, like)
            return assignment.array(leaf.spec, leaf.dtype, "") if isinstance(leaf, ShapeText) else leaf

        def like(name: str) -> object:
            return builder.make_synthesis(assignment).only([name], function, described)[name]

        args, kwargs = jax.tree_util.tree_map(make, (arguments, named))
        if missing:
            others = builder.make_synthesis(assignment).only(missing, function, described)
            if example.data:
                _require_data(example.data, others, function)
            kwargs.update(others)
        call = functools.partial(builder.run_abstractly, invoke, *first, *args, **kwargs)
        return BoundCall(call=call, chosen=assignment.chosen_sizes(), integers=known, apart=builder.apart())

    written = tuple(ArgumentSpec(str(index), spec) for index, spec in enumerate(specs))
    claims = builder.models.claimed(function)
    return CallSpec(
        prepare=prepare,
        symbolic=bool(specs),
        ranks=ranks_of(specs),
        signature=CallSignature(written, claims, function),
    )


def _with_data(data: NestedData, arrays: Mapping[str, object], make: Callable[[str], object]) -> object:
    """An argument with these arrays inside, of the class that its annotation names, if that says how."""

    def like() -> object:
        try:
            return make(data.name)
        except CannotSynthesiseError:  # the paths say what it is
            return None

    return place_in(like, NestedData(data.name, arrays))


def _require_parameters(file: str, named: Mapping[str, object], function: Callable[..., object], skip: int) -> None:
    """Raises ExampleError for a name in a file that no parameter of `function` has, with those that it has."""
    try:
        check_names(function, named)
    except ExampleError as error:
        takes = list(inspect.signature(function).parameters)[skip:]
        raise ExampleError(f"{file} does not fit: {error}; it takes {', '.join(takes)}") from None


def _require_data(file: str, made: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raises ExampleError for arrays that would be made up, though a file has those of the call."""
    lacks = [
        name
        for name, value in made.items()
        if not (is_key(name) or isinstance(value, LazyCall) or is_model(value))
        and any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree_util.tree_leaves(value))
    ]
    if lacks:
        called = getattr(function, "__qualname__", type(function).__name__)
        raise ExampleError(f"{file} has no {' and no '.join(lacks)}, as {called} takes; `shapecheck sample` writes all")
