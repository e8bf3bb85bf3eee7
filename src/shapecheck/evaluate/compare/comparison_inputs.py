"""The inputs of a comparison: from files, or random numbers of the shapes that are wanted."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.compare.array_store import ArrayStore, load_array
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.project.safetensors_header import read_header
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.stages.value_taps import HostArray
from shapecheck.model import Tensor

INTEGERS = 8
"""Made-up integers are less than this: most tables and sets of classes have as many entries."""


def random(shapes: Sequence[jax.ShapeDtypeStruct], seed: int) -> list[object]:
    """Numbers for abstract arrays, which depend on their order and the seed: normal ones, small integers.

    All keys are the same: that of the seed.
    """
    return [_random(struct, np.random.default_rng([seed, place]), seed) for place, struct in enumerate(shapes)]


def _random(struct: jax.ShapeDtypeStruct, source: np.random.Generator, seed: int) -> object:
    shape, dtype = tuple(struct.shape), struct.dtype
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        key = jax.random.key(seed)
        return jax.random.split(key, shape) if shape else key
    if dtype == jnp.uint32 and shape[-1:] == (2,):  # keys of the old style
        key = jax.random.PRNGKey(seed)
        return jax.random.split(key, shape[:-1]) if shape[:-1] else key
    return jnp.asarray(random_array(struct, source, INTEGERS), dtype)


def random_array(struct: jax.ShapeDtypeStruct, source: np.random.Generator, bound: int) -> HostArray:
    """Numbers for an abstract array that is no key: normal ones, integers less than `bound`, true and false."""
    shape, dtype = tuple(struct.shape), struct.dtype
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return np.asarray(source.normal(size=shape) + 1j * source.normal(size=shape), dtype)
    if jnp.issubdtype(dtype, jnp.inexact):
        return np.asarray(source.normal(size=shape), dtype)
    if dtype == jnp.bool_:
        return np.asarray(source.integers(0, 2, shape), dtype)
    return np.asarray(source.integers(0, min(bound, int(np.iinfo(dtype).max)), shape), dtype)


def describe_argument(name: str, value: object, *, made: bool) -> str:
    """What an argument is, `x float32[68,48]`, and how it was `made` up: `x float32[68,48] normal`."""
    found = []
    for leaf in filter(is_array, jax.tree_util.tree_leaves(value)):
        shape = f"{leaf.dtype.name}[{','.join(map(str, leaf.shape))}]"
        if not made:
            found.append(shape)
        elif name_hints.is_key(name) or jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            found.append("of the seed")
        elif jnp.issubdtype(leaf.dtype, jnp.inexact):
            found.append(f"{shape} normal")
        else:
            found.append(f"{shape} {'random' if leaf.dtype == jnp.bool_ else f'from 0 to {INTEGERS - 1}'}")
    return f"{name} {', '.join(found)}" if found else ""


def read_arrays(file: str) -> dict[str, HostArray]:
    """The arrays of a file, by name; that of a `.npy` has none. Raises ExampleError for what cannot be read."""
    try:
        if file.endswith(".npy"):
            return {"": np.load(file, allow_pickle=False)}
        if file.endswith(".npz"):
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        if file.endswith(".safetensors"):
            return _safe(file)
    except (OSError, ValueError, zipfile.BadZipFile, KeyError, TypeError, EOFError) as error:
        raise ExampleError(f"{file} cannot be read: {error}") from None
    raise ExampleError(f"{file}: inputs are .npy, .npz or .safetensors")


def _safe(file: str) -> dict[str, HostArray]:
    with open(file, "rb") as stream:
        tensors = list(read_header(stream))
        data = stream.read()
    return {
        each.name: np.frombuffer(data[each.begin : each.end], jnp.dtype(each.dtype)).reshape(each.shape)
        for each in tensors
    }


def with_values(value: object, file: str) -> Any:
    """Arguments with arrays in place of `@batch.npz`, and of those that were kept in `file`."""
    if isinstance(value, Tensor):
        return jnp.asarray(load_array(file, value))
    if isinstance(value, str) and value.startswith("@"):
        found = {name: jnp.asarray(array) for name, array in read_arrays(value[1:]).items()}
        return next(iter(found.values())) if len(found) == 1 else found
    if type(value) is list:
        return [with_values(part, file) for part in value]
    if type(value) is tuple:
        return tuple(with_values(part, file) for part in value)
    if type(value) is dict:
        return {name: with_values(part, file) for name, part in value.items()}
    return value


def passed_on(given: Mapping[str, object], keeping: ArrayStore) -> dict[str, object] | None:
    """Arguments by name, their arrays in the file of `keeping`; None if they are more than arrays in containers."""

    def plain(value: object) -> object:
        if type(value) is tuple or type(value) is list:
            return tuple(map(plain, value))
        if type(value) is dict and all(isinstance(name, str) for name in value):
            return {name: plain(part) for name, part in value.items()}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if is_array(value) and not isinstance(value, jax.ShapeDtypeStruct) and _is_numeric(value):
            return keeping.store("", np.asarray(value))
        raise _OtherError

    try:
        return {name: plain(value) for name, value in given.items() if not _is_key(value)}
    except _OtherError:
        return None


class _OtherError(Exception):
    """It is neither an array nor a container."""


def _is_key(value: object) -> bool:
    return is_array(value) and bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


def _is_numeric(value: jax.Array) -> bool:
    return bool(jnp.issubdtype(value.dtype, np.number)) or value.dtype == np.dtype(bool)
