"""Runtime values -> plain observed values: dtype and shape of arrays, the structure of containers, never data."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Protocol, TypeGuard

import jax
import numpy as np
from jax import export

from shapecheck.evaluate.framework_protocol import is_holder
from shapecheck.evaluate.own_errors import raise_own_within
from shapecheck.evaluate.probes.attribute_access import has_attribute, read_attribute
from shapecheck.evaluate.probes.vmap_axes import is_mapped_within, mapped_axes
from shapecheck.model import ArrayValue, OtherValue, TreeValue, Value

_LEAF_LIMIT = 2000  # a claim about a pytree of more leaves than this is about a whole model: not looked into

_OF_LAYERS = ("apply", "forward")
_OF_OPERATORS = ("named_shape", "as_matrix", "to_dense", "todense")


class HasDtype(Protocol):
    """An array of JAX, of NumPy, or an abstract one."""

    @property
    def dtype(self) -> object:
        """What JAX or NumPy has for it."""


def is_size(value: Any) -> bool:
    """Whether `value` can be a dim: a Python or numpy integer or a symbolic dim, no bool."""
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool)
    return export.is_symbolic_dim(value)


def is_array(value: object) -> TypeGuard[jax.Array]:
    """Whether `value` is an array, tracer, or abstract array: it has a shape and a dtype as arrays of JAX do."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct))


def describe(value: object, hidden: Callable[[], tuple[str, ...]] = tuple) -> Value:
    """The plain form of `value`; array data is never touched.

    `hidden` tells what mapped axes a tracer may have which it does not show.
    """
    return _describe(value, [_LEAF_LIMIT], hidden)


def _describe(value: Any, budget: list[int], hidden: Callable[[], tuple[str, ...]]) -> Value:
    budget[0] -= 1
    if not has_attribute(value, "__class__"):  # as of a dead `weakref.proxy`, of which nobody can tell what it is
        return OtherValue(type(value).__name__)
    if is_array(value) or _is_reference(value):
        unseen = hidden() if isinstance(value, jax.core.Tracer) else ()
        shape, mapped = tuple(str(d) for d in value.shape), mapped_axes(value)
        return ArrayValue(dtype_name(value), shape, mapped, unseen, bool(mapped) and is_mapped_within(value))
    if isinstance(value, (bool, int, float, complex)):
        return OtherValue(type(value).__name__, str(value))
    if export.is_symbolic_dim(value):
        return OtherValue("int", str(value))
    if value is None or budget[0] <= 0:
        return OtherValue(type(value).__name__)
    children = _children(value)
    if children is None:
        return OtherValue(type(value).__name__)
    kind, keys, parts = children
    if kind == "node" and has_axes_of_its_own(value, parts):
        kind = "operator"
    elif kind == "node" and is_called(value) and not is_holder(type(value)):
        kind = "function"
    names = tuple(keys)
    described = tuple(_describe(part, budget, hidden) for part in parts)
    return TreeValue(kind, type(value).__name__, names, described, held_part(type(value), names))


def is_called(value: object) -> bool:
    """Whether an object is what something is done with, as a layer is: by a call, or by such a method."""
    return callable(value) or any(callable(read_attribute(type(value), name, None)) for name in _OF_LAYERS)


def has_axes_of_its_own(value: object, parts: Sequence[object]) -> bool:
    """Whether an object stands for an array whose axes are others than those of the arrays that it holds.

    An operator (of lineax, cola, ...) may hold the diagonal of a matrix; the axes of named arrays (of haliax, penzai,
    coordax, ...) have names instead of an order. Nobody can tell what a tuple of sizes says of these.
    """
    if any(has_attribute(type(value), name) for name in _OF_OPERATORS):
        return True
    for axes in (read_attribute(value, name, None) for name in ("axes", "dims")):
        if isinstance(axes, tuple) and axes and all(isinstance(read_attribute(a, "name", a), str) for a in axes):
            return True
    shape = read_attribute(value, "shape", None)
    arrays = [part for part in parts if is_array(part)]
    return bool(arrays) and _is_shape(shape) and all(array.shape != shape for array in arrays)


def _is_reference(value: object) -> bool:
    """Whether `value` stands for a block of memory, as the arguments of Pallas kernels do: it has the block's shape.

    So does a view of such a block, `ref.at[i, :]`.
    """
    is_view = type(value).__name__ == "TransformedRef" and type(value).__module__.partition(".")[0] == "jax"
    return (is_view or isinstance(value, jax.core.Tracer)) and _is_shape(read_attribute(value, "shape", None))


def _is_shape(value: object) -> bool:
    return isinstance(value, tuple) and all(map(is_size, value))


def _children(value: object) -> tuple[str, Iterable[str], list[object]] | None:
    """The kind, keys and parts of a container one level down; None for a leaf."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        return ("node", fields, list(value)) if fields else ("tuple", map(str, range(len(value))), list(value))
    if isinstance(value, list):
        return "list", map(str, range(len(value))), value
    if isinstance(value, dict):
        return "dict", map(str, value), list(value.values())
    try:
        leaves, structure = jax.tree_util.tree_flatten(value, is_leaf=lambda x: x is not value)
    except Exception as error:  # of a class of others': Equinox's `State` is not to be looked at once it is old
        raise_own_within(error)
        return None
    is_leaf = jax.tree_util.treedef_is_leaf(structure) and len(leaves) == 1 and leaves[0] is value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if has_attribute(value, f.name)]
        if not is_leaf:  # what a static field holds, an abstract array perhaps, is no part of the pytree
            parts = {id(leaf) for leaf in leaves}
            names = [name for name in names if id(getattr(value, name)) in parts]
        return "node", names, [getattr(value, n) for n in names]
    if is_leaf:
        return None
    return "node", map(str, range(len(leaves))), leaves


def array_text(array: Any) -> str:
    """`f32[2,3]`."""
    return str(ArrayValue(dtype_name(array), tuple(map(str, array.shape))))


def dtype_name(value: HasDtype) -> str:
    """The dtype's full name as JAX prints it: "float32", "bfloat16", "key<fry>"."""
    dtype = value.dtype
    return str(getattr(dtype, "name", None) or dtype)


def held_part(cls: type, names: Sequence[str]) -> int | None:
    """Which of the parts of these names it is, in a value of the class; None where nothing says so."""
    if is_holder(cls):
        return 0 if len(names) == 1 else None
    field = _held_field(cls)
    return names.index(field) if field in names else None


@cache
def _held_field(cls: type) -> str:
    """The only field whose type is the only type parameter of a class; "" if there is none, or several."""
    parameters: dict[str, typing.TypeVar] = {}
    for base in cls.__mro__:
        for each in vars(base).get("__parameters__", ()):
            if isinstance(each, typing.TypeVar):
                parameters[each.__name__] = each
    if len(parameters) != 1:
        return ""
    (name, parameter), *_ = parameters.items()
    fields: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        fields.update(vars(base).get("__annotations__", {}))
    held = [field for field, annotation in fields.items() if annotation in (name, parameter)]
    return held[0] if len(held) == 1 else ""
