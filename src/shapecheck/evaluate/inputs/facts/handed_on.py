"""Parameters that a function only hands on: what they are is written where they go.

`composite(rgb, sigma)` says nothing of `sigma`, but calls `weights(sigma)`, whose comment does: `# sigma: [R, S]`. So
do parts of them: `batch["tokens"]`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts.body_shapes import body_dtypes
from shapecheck.evaluate.inputs.facts.called_models import models_by_name
from shapecheck.evaluate.inputs.facts.callee_names import CalleeNames
from shapecheck.evaluate.inputs.facts.defining_source import owner_of
from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts, function_parts
from shapecheck.evaluate.inputs.facts.namesake_annotations import functions_of
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    array_type,
    leaves_open,
    signature_of,
)
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.evaluate.probes.attribute_access import read_attribute, underlying_function, unwrap
from shapecheck.model.parameter_parts import Part
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

Descriptions = Mapping[str, ParameterSpec]

_DEPTH = 3  # functions that hand it on to each other


def descriptions_of(
    function: Callable[..., object], describe: Callable[[object], Descriptions], depth: int = _DEPTH
) -> dict[str, ParameterSpec]:
    """What comments and docstrings say of a function's parameters, or else those of what it hands them on to.

    Parts of parameters have descriptions too, by their texts.
    """
    found = {**_described_by_base(function, describe), **body_dtypes(function, describe(function))}
    open_ones = [name for name in _open_parameters(function) if name not in found]
    found = {text: each for text, each in found.items() if text.isidentifier() or _head(text) in open_ones}
    parts = function_parts(function) if open_ones and depth else None
    if parts is None:
        return found
    parts = parts.with_models(models_by_name(function, open_ones))
    taken = parts.own.by_parameter()
    all_of = functools.cache(functools.partial(descriptions_of, describe=describe, depth=depth - 1))
    names = _names_of_callees(function, parts, found, all_of)
    for name in open_ones:
        given = str(Part(name).inner(None))
        if given not in found and parts.is_differentiated(name):
            found[given] = ParameterSpec(scope=0, parameter=given, spec="", dtype="Float")
        for part in dict.fromkeys((*parts.parts_handed_on(name), *taken.get(name, ()))):
            for text, said in _said_of(part, parts, names, all_of):
                found.setdefault(text, said)
        if given not in found and (Part(name).inner(None) in taken.get(name, ()) or parts.is_transformed(name)):
            found.update(_namesake_function(function, given, found, describe))
    return found


def _described_by_base(function: Callable[..., object], describe: Callable[[object], Descriptions]) -> Descriptions:
    """What the nearest base says of the parameters of a method that it overrides and has no docstring of its own."""
    owner, name = owner_of(function), read_attribute(function, "__name__", "")
    if owner is None or read_attribute(function, "__doc__", None):
        return {}
    overridden = (vars(base)[name] for base in owner.__mro__[1:] if name in vars(base))
    original = next((each for each in overridden if inspect.isfunction(each)), None)
    parameters = inspect.signature(function).parameters
    found = describe(original) if original is not None else {}
    return {text: each for text, each in found.items() if _head(text) in parameters}


def _namesake_function(
    function: Callable[..., object], given: str, known: Descriptions, describe: Callable[[object], Descriptions]
) -> Descriptions:
    """What other functions of the file say that a function gives which they take under the same name, if they agree.

    In `rollout(dynamics, x0, us)` a comment may say it: `dynamics(x, u)  # (n,)`. It counts where all of its names are
    those of other arguments here, and proves nothing against the code.
    """
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if module is None:
        return {}
    note_module_read(module)
    others = [each for each in functions_of(module) if each is not unwrap(function)]
    said = {(one.spec, one.dtype): one for each in others if (one := describe(each).get(given)) is not None}
    here = {name for each in known.values() for name in parse_spec(each.spec).names()}
    one = next(iter(said.values()), None)
    if len(said) != 1 or one is None or not here.issuperset(parse_spec(one.spec).names()):
        return {}
    return {given: dataclasses.replace(one, vague=True)}


def _names_of_callees(
    function: Callable[..., object],
    parts: FunctionParts,
    found: Descriptions,
    all_of: Callable[[types.FunctionType], Descriptions],
) -> CalleeNames:
    """What the names in the functions that a function calls are to it, of which so much is `found`."""
    own = underlying_function(function)

    def look(text: str) -> ParameterSpec | None:
        if text in found or not isinstance(own, types.FunctionType) or not text.isidentifier():
            return found.get(text)
        return _annotation_spec(own, text)

    def look_at(callee: types.FunctionType, parameter: str) -> ParameterSpec | None:
        return all_of(callee).get(parameter) or _annotation_spec(callee, parameter)

    return CalleeNames(parts, look, look_at)


def _said_of(
    part: Part, parts: FunctionParts, names: CalleeNames, all_of: Callable[[types.FunctionType], Descriptions]
) -> Iterator[tuple[str, ParameterSpec]]:
    """What those say that get a part, of it and of its own parts: the first that says anything."""
    for handed in parts.all_receivers(part):
        _, inner, parameter, mapped, _ = handed
        if inner is None:
            continue
        said = all_of(inner)
        whole = said.get(parameter) or _annotation_spec(inner, parameter)
        if mapped:
            if whole is not None:
                whole = names.translate(whole, handed)
                spec = f"{mapped} {whole.spec}".strip()
                yield (
                    str(part),
                    dataclasses.replace(whole, parameter=str(part), spec=spec, mapped=mapped, others=()),
                )
                return
            continue
        found = {str(part): whole} if whole is not None else {}
        inside = (f"{parameter}[", f"{parameter}(")
        own = ((text[len(parameter) :], each) for text, each in said.items() if text.startswith(inside))
        found.update((f"{part}{rest}", each) for rest, each in own)
        if found:
            for text, each in found.items():
                yield text, dataclasses.replace(names.translate(each, handed), parameter=text)
            return


def _head(part: str) -> str:
    return re.split(r"\W", part, maxsplit=1)[0]


def _open_parameters(function: Callable[..., object]) -> Iterator[str]:
    """The parameters that must be given, and of which no annotation says anything."""
    own = underlying_function(function)
    if not isinstance(own, types.FunctionType):
        return
    try:
        parameters = signature_of(own).parameters.values()
    except (TypeError, ValueError):
        return
    for each in parameters:
        is_open = each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.default is MISSING
        if is_open and leaves_open(annotation_of(own, each.name, each.annotation)):
            yield each.name


def _annotation_spec(function: types.FunctionType, parameter: str) -> ParameterSpec | None:
    """The array that an annotation describes, as a comment would."""
    each = inspect.signature(function).parameters.get(parameter)
    if each is None:
        return None
    found = array_type(annotation_of(function, parameter, each.annotation))
    if found is None or found.shape.strip() == "...":
        return None
    return ParameterSpec(scope=0, parameter=parameter, spec=found.shape, dtype=found.dtype)
