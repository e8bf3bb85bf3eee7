"""Kernels of Pallas: functions that read and write references, and know the place of their block in a grid.

Called by themselves they would be given arrays, which nobody can write into. So they are traced inside of a
`pallas_call` that does nothing else: https://docs.jax.dev/en/latest/pallas/quickstart.html. Nothing is compiled, so
that no accelerator is missed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import jax
import jax.numpy as jnp

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.namesakes import words
from shapecheck.evaluate.jax_internals import PALLAS_MODULES

_PALLAS: Final = "jax.experimental.pallas"
_REFERENCES: Final = frozenset({"ref", "refs"})
_SEMAPHORES: Final = frozenset({"sem", "sems", "semaphore", "semaphores"})
_BLOCKS: Final = (2, 2, 2, 2)  # in each direction that a kernel may ask for
_OUTPUTS: Final = ((8, 128),)  # one, that nobody uses, since a `pallas_call` has to give something


def in_kernel(function: Callable[..., object], run: Callable[..., object]) -> Callable[..., object]:
    """`run`, which calls a function; inside of a kernel, with references, if the function takes such."""
    taken = _references(function) if _PALLAS in sys.modules else frozenset[str]()
    return functools.partial(_run_inside, function, run, taken) if taken else run


def _references(function: Callable[..., object]) -> frozenset[str]:
    """The parameters that are references: the function writes into them, or they are called so in a kernel."""
    found = function_parts(function)
    known = _pallas_names(function)
    if found is None or not known:
        return frozenset()
    names = {*inspect.signature(function).parameters}
    written = names & {*_written_names(found.tree)}
    is_kernel = written or any(isinstance(node, ast.Name) and node.id in known for node in ast.walk(found.tree))
    return frozenset({name for name in names if _REFERENCES & {*words(name)}} | written if is_kernel else ())


def _pallas_names(function: Callable[..., object]) -> frozenset[str]:
    """The names of Pallas in the function's module: `pl`, `pltpu`, `program_id`."""
    known = getattr(inspect.unwrap(function), "__globals__", {})
    places = {name: getattr(each, "__module__", None) or getattr(each, "__name__", "") for name, each in known.items()}
    named = ((name, place) for name, place in places.items() if isinstance(place, str))
    return frozenset(name for name, place in named if place.startswith(PALLAS_MODULES))


def _written_names(tree: ast.AST) -> Iterator[str]:
    """The names into whose items values are written, or of which all is read: `x[...]`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        reads_all = isinstance(node.slice, ast.Constant) and node.slice.value is Ellipsis
        if reads_all or isinstance(node.ctx, ast.Store):
            yield node.value.id


def _run_inside(
    function: Callable[..., object],
    run: Callable[..., object],
    taken: frozenset[str],
    /,
    *args: object,
    **kwargs: object,
) -> None:
    """Run in a kernel. What is no reference is the value of one; semaphores are made, as a kernel's scratch is."""
    bound = inspect.signature(function).bind_partial(*args, **kwargs)
    places, tree = jax.tree_util.tree_flatten_with_path(dict(bound.arguments), is_leaf=lambda leaf: leaf is None)
    names = [str(getattr(path[0], "key", "")) for path, _ in places]
    leaves = [leaf for _, leaf in places]
    arrays = [index for index, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]
    tpu: Any = sys.modules.get(f"{_PALLAS}.tpu")
    semaphores = [each for each in arrays if tpu is not None and _SEMAPHORES & {*words(names[each])}]
    inputs = [each for each in arrays if each not in semaphores]

    def kernel(*references: Any) -> None:
        for index, reference in zip(inputs, references, strict=False):
            leaves[index] = reference if names[index] in taken else reference[...]
        for index, reference in zip(semaphores, references[len(inputs) + len(_OUTPUTS) :], strict=True):
            leaves[index] = reference
        bound.arguments.update(jax.tree_util.tree_unflatten(tree, leaves))
        run(*bound.args, **bound.kwargs)

    pallas: Any = sys.modules[_PALLAS]
    made = [tpu.SemaphoreType.DMA(leaves[index].shape) for index in semaphores]
    outputs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in _OUTPUTS]
    pallas.pallas_call(kernel, grid=_BLOCKS, out_shape=outputs, scratch_shapes=made)(*(leaves[i] for i in inputs))
