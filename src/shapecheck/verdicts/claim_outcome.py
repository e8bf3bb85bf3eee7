"""What a call shows of a claim: it held, it did not, or nothing could be said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shapecheck.model import ArrayValue, Call, Value
from shapecheck.shapes import dtype_matches

_NARROWED = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}

Reason = Literal["rank", "dim", "dtype", "structure"]


@dataclass(frozen=True)
class BoundSize:
    """What a name meant, as text, and where that came from."""

    name: str
    size: str
    source: str
    line: int | None = None


@dataclass(frozen=True)
class Mismatch:
    """A claim that no reading makes true in this call."""

    reason: Reason
    value: Value
    call: Call
    axis: int | None = None
    bound: tuple[BoundSize, ...] = ()
    way: str = ""  # from the value that is described to the array inside it, as Python has it: "[1]['a'].weight"
    wanted: str = ""  # the structures, in words, of which the annotation around the claim wants one


@dataclass
class ClaimOutcomes:
    """How the claims of one call came out. A claim may be in several: seen in a loop, or by other sites."""

    good: set[int] = field(default_factory=set)
    bad: dict[int, Mismatch] = field(default_factory=dict)
    unknown: dict[int, str] = field(default_factory=dict)


def dtype_fits(claimed: str, value: ArrayValue) -> bool:
    """Whether the dtype fits. With 64 bits switched off JAX narrows them, and that is not the claim's fault."""
    if dtype_matches(claimed, value.dtype):
        return True
    return any(claimed.lower() == wide and value.dtype == narrow for wide, narrow in _NARROWED.items())


def size_at_fault(mismatch: Mismatch) -> str:
    """The size of the axis that does not fit; "" if that is not what is wrong."""
    shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
    return shape[mismatch.axis] if mismatch.axis is not None and mismatch.axis < len(shape) else ""
