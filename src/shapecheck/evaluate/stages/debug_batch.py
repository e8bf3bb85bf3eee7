"""A small debug batch as arguments: the headers of its file are read, not its data.

Formats: numpy's `.npy` and `.npz` (numpy.lib.format), and `.safetensors` (a JSON header behind its length, 8 bytes,
https://github.com/huggingface/safetensors).
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import jax
import numpy as np

from shapecheck.evaluate.inputs.user_examples import ExampleError, ShapeText
from shapecheck.shapes import comment_dtype

_SAFE = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint"}
_MOST = 100_000_000  # bytes of a header, as safetensors has it


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
                return dict(_safe(stream))
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


def _safe(stream: IO[bytes]) -> Iterator[tuple[str, ShapeText]]:
    length = int.from_bytes(stream.read(8), "little")
    if length > _MOST:
        raise ValueError("it is too long")
    header: dict[str, Any] = json.loads(stream.read(length))
    for name, entry in header.items():
        if name != "__metadata__":
            kind = entry["dtype"].rstrip("0123456789")
            bits = entry["dtype"][len(kind) :]
            yield name, _shape("bool" if kind == "BOOL" else f"{_SAFE[kind]}{bits}", entry["shape"])


def _shape(dtype: str, shape: Iterable[int]) -> ShapeText:
    """As JAX takes such an array: without its 64-bit mode, `float64` becomes `float32`."""
    name = comment_dtype(str(jax.dtypes.canonicalize_dtype(jax.numpy.dtype(dtype))))
    if name is None:
        raise ValueError(f"JAX has no {dtype}")
    return ShapeText(name, " ".join(str(int(size)) for size in shape))
