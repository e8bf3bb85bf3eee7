"""The header of a `.safetensors` file: JSON behind its length, 8 bytes, and before the numbers.

Source: https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

_KINDS = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint", "C": "complex"}
_MOST = 100_000_000  # bytes of a header, as safetensors has it


@dataclass(frozen=True)
class StoredTensor:
    """An array of a file: its name, dtype and shape, and where its numbers begin and end behind the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(stream: IO[bytes]) -> Iterator[StoredTensor]:
    """The arrays that a header lists. Raises ValueError, KeyError or TypeError for what is no header."""
    length = int.from_bytes(stream.read(8), "little")
    if length > _MOST:
        raise ValueError("it is too long")
    for name, entry in json.loads(stream.read(length)).items():
        if name != "__metadata__":
            kind = entry["dtype"].rstrip("0123456789")
            dtype = "bool" if kind == "BOOL" else f"{_KINDS[kind]}{entry['dtype'][len(kind) :]}"
            begin, end = entry["data_offsets"]
            yield StoredTensor(name, dtype, tuple(entry["shape"]), begin, end)
