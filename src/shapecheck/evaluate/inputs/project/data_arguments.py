"""Arguments from a file of arrays, by name: `tokens`, or `batch.tokens` and `pair.0` for what lies inside of one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax

from shapecheck.evaluate.inputs.project.entries import nearest
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall

_MOST_SHOWN = 8  # names in a message


@dataclass(frozen=True)
class NestedData:
    """The arrays inside of one argument, by their paths in it."""

    name: str
    arrays: Mapping[str, object]


def leaf_paths(value: object) -> dict[str, object]:
    """The leaves of a pytree by their paths in it; that of a leaf itself is ""."""
    flat, _ = jax.tree_util.tree_flatten_with_path(value)
    return {".".join(map(_entry_name, path)): leaf for path, leaf in flat}


def _entry_name(entry: object) -> str:
    """The key of a table, the place in a sequence, or the name of a field."""
    return str(next(getattr(entry, kind) for kind in ("key", "idx", "name") if hasattr(entry, kind)))


def by_argument(arrays: Mapping[str, object]) -> dict[str, object]:
    """Arrays of a file by the arguments that they are, or lie in. Raises ExampleError for a name given in both ways."""
    found: dict[str, object] = {name: array for name, array in arrays.items() if "." not in name}
    inner: dict[str, dict[str, object]] = {}
    for name, array in arrays.items():
        head, dot, path = name.partition(".")
        if dot:
            inner.setdefault(head, {})[path] = array
    for name, parts in inner.items():
        if name in found:
            raise ExampleError(f"the file has {name}, and {name}.{next(iter(parts))} too: leave one of them out")
        found[name] = NestedData(name, parts)
    return found


def variadic_parts(function: Callable[..., object], named: dict[str, object], before: int) -> list[object]:
    """Take the arrays of `*args` (`args.0` and so on), and what stands in front of them, out of what is given by name.

    So many arguments are given `before` these.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return []
    place = next((i for i, each in enumerate(parameters) if each.kind is each.VAR_POSITIONAL), None)
    data = named.get(parameters[place].name) if place is not None else None
    if not isinstance(data, NestedData):
        return []
    del named[data.name]
    parts = _containers(data.arrays, None)
    front = [each.name for each in parameters[before:place] if each.name in named]
    return [*(named.pop(name) for name in front), *(parts if isinstance(parts, tuple) else [parts])]


def unpack_sequences(function: Callable[..., object], arrays: Mapping[str, object]) -> Mapping[str, object]:
    """What a file has of `*args` (`args.0`) one by one, if `function` takes so many arguments as there are."""
    try:
        kinds = {name: parameter.kind for name, parameter in inspect.signature(function).parameters.items()}
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return arrays
    if inspect.Parameter.VAR_POSITIONAL not in kinds.values():
        return arrays
    found: dict[str, object] = {}
    for name, value in arrays.items():
        parts = _containers(value.arrays, None) if isinstance(value, NestedData) else None
        if isinstance(parts, tuple) and kinds.get(name) in (None, inspect.Parameter.VAR_POSITIONAL):
            found.update({f"{name}.{place}": part for place, part in enumerate(parts)})
        else:
            found[name] = value
    return found


def place_in(make: Callable[[], object], data: NestedData) -> object:
    """An argument with these arrays inside: an object of the user's class as it is made, else tables and sequences."""
    like = make()
    if isinstance(like, LazyCall):
        return LazyCall(functools.partial(_replace_leaves, data.name), [like, dict(data.arrays)], {})
    return _containers(data.arrays, like)


def _replace_leaves(name: str, value: object, arrays: Mapping[str, object]) -> object:
    """The value with these arrays in the place of its own. Raises ExampleError for a path that it does not have."""
    own = leaf_paths(value)
    for path in arrays:
        if path not in own:
            known = ", ".join(f"{name}.{each}" for each in list(own)[:_MOST_SHOWN])
            raise ExampleError(
                f"the data has {name}.{path}, and {name} is a {type(value).__name__} with {known}"
                f"{nearest(path, list(own))}"
            )
    structure = jax.tree_util.tree_structure(value)
    return jax.tree_util.tree_unflatten(structure, [arrays.get(path, leaf) for path, leaf in own.items()])


def _containers(arrays: Mapping[str, object], like: object) -> object:
    """Tables with the keys of the paths; numbers are places in a sequence, a list where `like` is one."""
    inner: dict[str, dict[str, object]] = {}
    parts: dict[str, object] = {}
    for path, array in arrays.items():
        head, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(head, {})[rest] = array
        else:
            parts[head] = array
    parts.update({head: _containers(rest, _part(like, head)) for head, rest in inner.items()})
    if sorted(parts) != sorted(map(str, range(len(parts)))):
        return parts
    ordered = [parts[str(place)] for place in range(len(parts))]
    return ordered if type(like) is list else tuple(ordered)


def _part(like: object, head: str) -> object:
    """The part of an argument that was made up which lies at the same place, if there is one."""
    if isinstance(like, dict):
        return like.get(head)
    return like[int(head)] if isinstance(like, (tuple, list)) and head.isdigit() and int(head) < len(like) else None
