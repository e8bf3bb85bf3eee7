"""A small debug batch as arguments: the headers of its file are read, not its data.

Formats: numpy's `.npy` and `.npz` (numpy.lib.format), and `.safetensors`.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

import jax
import numpy as np

from shapecheck.evaluate.inputs.project.safetensors_header import read_header
from shapecheck.evaluate.inputs.project.user_examples import ExampleError, ShapeText
from shapecheck.shapes import comment_dtype


def batch(file: str) -> ShapeText | dict[str, ShapeText]:
    """The shape of the only array, or those of several by name. Raises ExampleError if the file tells none."""
    found = by_name(file)
    return next(iter(found.values())) if len(found) == 1 else found


def by_name(file: str) -> dict[str, ShapeText]:
    """The shapes of all arrays of a file; that of a `.npy` has no name. Raises ExampleError as `batch` does."""
    try:
        if file.endswith(".npy"):
            with open(file, "rb") as stream:
                return {"": _of_header(stream)}
        if file.endswith(".npz"):
            with zipfile.ZipFile(file) as archive:
                return dict(_members(archive))
        if file.endswith(".safetensors"):
            with open(file, "rb") as stream:
                return {each.name: _shape(each.dtype, each.shape) for each in read_header(stream)}
    except (OSError, ValueError, zipfile.BadZipFile, KeyError, TypeError) as error:
        raise ExampleError(f"@{file}: its header cannot be read ({error})") from None
    raise ExampleError(
        f"@{file}: {os.path.splitext(file)[1] or 'a file without ending'} is not .npy, .npz, .safetensors"
    )


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, ShapeText]]:
    for name in archive.namelist():
        with archive.open(name) as stream:
            yield name.removesuffix(".npy"), _of_header(stream)


def _of_header(stream: IO[bytes]) -> ShapeText:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return _shape(dtype.name, shape)


def _shape(dtype: str, shape: Iterable[int]) -> ShapeText:
    """As JAX takes such an array: without its 64-bit mode, `float64` becomes `float32`."""
    name = comment_dtype(str(jax.dtypes.canonicalize_dtype(jax.numpy.dtype(dtype))))
    if name is None:
        raise ValueError(f"JAX has no {dtype}")
    return ShapeText(name, " ".join(str(int(size)) for size in shape))
