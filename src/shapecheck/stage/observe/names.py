"""Which integers a name in a claim may mean at a point of the user's code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapecheck.facts import Named
from shapecheck.stage.observe.constructions import Known
from shapecheck.stage.observe.values import is_array, is_size

_STEP = re.compile(r"\.([^\W\d]\w*)|\[(-?\d+)\]")
_CONFIGS = frozenset(
    [
        "args",
        "cfg",
        "conf",
        "config",
        "configuration",
        "hparams",
        "hps",
        "hp",
        "hyperparameters",
        "opts",
        "options",
        "params",
        "settings",
        "spec",
    ]
)


def visible(
    names: Sequence[str],
    variables: Mapping[str, Any],
    module: Mapping[str, Any],
    constructions: Known | None = None,
) -> tuple[Named, ...]:
    """The sizes that `names` have here: locals and closure, `self` and its configs, local configs, the module.

    A name that means nothing here may be a variable of the constructor of `self`.
    """
    result: list[Named] = []
    for name in names:
        found = list(_sizes(name, variables, module))
        if not found and constructions is not None and "self" in variables:
            owner = variables["self"]
            for space in constructions.variables(owner):
                inside = f"in {type(owner).__name__}.__init__"
                found += [replace(n, source=f"{n.source} {inside}") for n in _sizes(name, space, {})]
        result += dict.fromkeys(found)
    return tuple(result)


def sizes_among(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Those variables that a claim may mean: integers, and configs that may hold some."""
    return {
        name: value for name, value in variables.items() if is_size(value) or (_is_config(name) and not is_array(value))
    }


def _sizes(name: str, variables: Mapping[str, Any], module: Mapping[str, Any]) -> Iterator[Named]:
    for source, value in _candidates(name, variables, module):
        if is_size(value):
            yield Named(name, str(value), source)


def _candidates(name: str, variables: Mapping[str, Any], module: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    head = re.match(r"[^\W\d]\w*", name)
    if head is None:
        return
    rest = name[head.end() :]
    if rest.startswith("("):  # len(x)
        argument = rest[1:-1]
        for source, value in _candidates(argument, variables, module):
            if head.group() == "len" and hasattr(value, "__len__"):
                yield f"len({source})", _length(value)
        return
    for space in (variables, module):
        if head.group() in space:
            yield from _follow(name, space[head.group()], rest)
            break
    if rest:
        return
    owner = variables.get("self")
    for source, holder in _holders(owner, variables):
        value = _attribute(holder, name)
        if value is not None:
            yield f"{source}.{name}", value


def _holders(owner: Any, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if owner is not None:
        yield "self", owner
        for key, value in _attributes(owner):
            if _is_config(key):
                yield f"self.{key}", value
    for key, value in variables.items():
        if _is_config(key):
            yield key, value


def _is_config(name: str) -> bool:
    return name.lstrip("_") in _CONFIGS or name.lstrip("_").endswith("config")


def _attributes(owner: Any) -> list[tuple[str, Any]]:
    return list(getattr(owner, "__dict__", {}).items())


def _attribute(holder: Any, name: str) -> Any:
    """Plain attributes and class constants only: no property of the user's runs."""
    if isinstance(holder, Mapping):
        return holder.get(name)
    members = getattr(holder, "__dict__", {})
    if name in members:
        return members[name]
    for cls in type(holder).__mro__:
        if name in vars(cls):
            return vars(cls)[name]
        if name in getattr(cls, "_fields", ()):
            return getattr(holder, name)
    return None


def _follow(source: str, value: Any, rest: str) -> Iterator[tuple[str, Any]]:
    """Walk `.attribute` and `[index]` steps; array data is never indexed."""
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            return
        position = step.end()
        if step.group(1) is not None:
            if is_array(value) and step.group(1) not in ("shape", "ndim", "size"):
                return
            value = _shape_or_attribute(value, step.group(1))
        elif isinstance(value, (tuple, list)) and -len(value) <= int(step.group(2)) < len(value):
            value = value[int(step.group(2))]
        else:
            return
    yield source, value


def _shape_or_attribute(value: Any, name: str) -> Any:
    if is_array(value):
        return getattr(value, name)
    return _attribute(value, name)


def _length(value: Any) -> Any:
    return value.shape[0] if is_array(value) and value.shape else len(value)
