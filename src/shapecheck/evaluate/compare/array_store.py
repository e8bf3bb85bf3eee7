"""Arrays in a file, equal ones once, and back from there without taking all into memory."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from typing import BinaryIO

import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.probes.describe_value import dtype_name
from shapecheck.evaluate.stages.value_taps import HostArray
from shapecheck.model import Tensor

_MOST = 16 << 30  # bytes, if the disk has room for so many
_CHUNK = 1 << 20  # numbers at once
_SHARE = 0.8  # of what is free


class ArrayStore:
    """Writes arrays to the file `path`. It is `full` when it had to leave some out."""

    def __init__(self, path: str) -> None:
        self.full = False
        self.most = min(_MOST, int(_SHARE * shutil.disk_usage(os.path.dirname(path)).free))
        self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - it is open as long as this is
        self._at: dict[str, int] = {}
        self._numbers: dict[str, str] = {}  # of parameters, which those around a stage hold, too
        self._end = 0

    def store(self, name: str, value: HostArray) -> Tensor:
        """Write an array, if its like has not been written before."""
        tensor = digest_only(name, value)
        if tensor.digest not in self._at:
            if self._end + value.nbytes > self.most:
                self.full = True
                return tensor
            self._at[tensor.digest] = self._end
            self._file.write(np.ascontiguousarray(value).tobytes())
            self._end += value.nbytes
        nans = int(np.isnan(value).sum()) if jnp.issubdtype(value.dtype, jnp.inexact) else 0
        return Tensor(
            name=name,
            dtype=tensor.dtype,
            shape=tensor.shape,
            digest=tensor.digest,
            at=self._at[tensor.digest],
            nans=nans,
        )

    def parameter(self, name: str, value: HostArray) -> Tensor:
        """An array by its digest, and by one that is the same in any order of its numbers. It is not written."""
        tensor = digest_only(name, value)
        if tensor.digest not in self._numbers:
            self._numbers[tensor.digest] = f"{tensor.dtype}{value.size}:{_mix_bits(value):x}"
        return replace(tensor, numbers=self._numbers[tensor.digest])

    def close(self) -> None:
        """No more comes."""
        self._file.close()


def digest_only(name: str, value: HostArray) -> Tensor:
    """An array by its digest alone."""
    head = f"{dtype_name(value)}{value.shape}".encode()
    digest = hashlib.blake2b(head + np.ascontiguousarray(value).tobytes(), digest_size=20).hexdigest()
    return Tensor(name=name, dtype=dtype_name(value), shape=tuple(map(int, value.shape)), digest=digest)


def _mix_bits(value: HostArray) -> int:
    """The sum of the scattered bits of each number: https://prng.di.unimi.it/splitmix64.c scatters so."""
    width = value.dtype.itemsize
    words = np.ascontiguousarray(value).reshape(-1).view(np.dtype(f"u{min(width, 8)}"))
    total = 0
    for start in range(0, words.size, _CHUNK):
        bits = words[start : start + _CHUNK].astype(np.uint64)
        if width > 8:  # two words, of which the second may be that of another number
            bits = bits[::2] * np.uint64(0x9E3779B97F4A7C15) + bits[1::2]
        bits += np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
        total += int(bits.sum(dtype=np.uint64))
    return total % (1 << 64)


def load_array(path: str, tensor: Tensor) -> HostArray:
    """The array that was kept in the file `path`, as the disk has it."""
    size = int(np.prod(tensor.shape, dtype=np.int64))
    dtype = jnp.dtype(tensor.dtype)
    if size == 0:
        return np.zeros(tensor.shape, dtype)
    return np.memmap(path, dtype, "r", tensor.at, (size,)).reshape(tensor.shape)
