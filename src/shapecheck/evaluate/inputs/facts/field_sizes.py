"""Sizes that the arrays of an instance have, by the names that its class gives their axes: `w: jax.Array  # (M, F)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from shapecheck.evaluate.framework_protocol import modules_in, pytree_classes
from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of_field, array_type
from shapecheck.evaluate.probes.attribute_access import own_names, read_attribute
from shapecheck.shapes import Dim, NamedDim, SpecError, is_variadic, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

Describe = Callable[[object], Mapping[str, ParameterSpec]]


def field_sizes(model: object, describe: Describe) -> dict[str, int]:
    """Those of an instance and of the modules that it holds: of a name the size that it has wherever it stands.

    What the outer ones say comes first.
    """
    found: dict[str, int] = {}
    own_class = (type(model),) if hasattr(model, "__dict__") else ()
    for _, module in modules_in(model, "", (*pytree_classes(), *own_class)):
        own: dict[str, set[int]] = {}
        for name, size in _named_axes(module, describe):
            own.setdefault(name, set()).add(size)
        for name, sizes in own.items():
            if len(sizes) == 1:
                found.setdefault(name, *sizes)
    return found


def has_one_size_for_each_name(record: object, describe: Describe) -> bool:
    """Whether its arrays have one size for each name that its class gives their axes, and another for each other."""
    found: dict[str, set[int]] = {}
    for name, size in _named_axes(record, describe):
        found.setdefault(name, set()).add(size)
    sizes = [size for each in found.values() for size in each]
    return all(len(each) == 1 for each in found.values()) and len(sizes) == len(set(sizes))


def _named_axes(module: object, describe: Describe) -> Iterator[tuple[str, int]]:
    described = describe(type(module))
    fields = module._asdict() if isinstance(module, tuple) and hasattr(module, "_asdict") else own_names(module)
    for field, value in fields.items():
        shape = read_attribute(value, "shape")
        if not isinstance(shape, tuple):
            continue
        array = array_type(annotation_of_field(type(module), field))
        text = array.shape if array is not None else described[field].spec if field in described else ""
        try:
            dims = parse_spec(text).dims
        except SpecError:
            continue
        pairs = _axis_by_axis(dims, shape)
        yield from ((dim.name, size) for dim, size in pairs if isinstance(dim, NamedDim) and type(size) is int)


def _axis_by_axis(dims: Sequence[Dim], shape: Sequence[object]) -> Iterator[tuple[Dim, object]]:
    """The dims with the sizes that they have, in front of one that stands for several and behind it."""
    variadic = [index for index, dim in enumerate(dims) if is_variadic(dim)]
    before = variadic[0] if variadic else len(dims)
    behind = len(dims) - before - 1 if variadic else 0
    if len(variadic) > 1 or len(shape) < before + behind or (not variadic and len(shape) != before):
        return
    yield from zip(dims[:before], shape[:before], strict=True)
    if behind:
        yield from zip(dims[-behind:], shape[-behind:], strict=True)
