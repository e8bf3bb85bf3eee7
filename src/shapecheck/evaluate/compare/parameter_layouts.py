"""Whether two stages have the same parameters: each framework lays them out, and calls them, in its own way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shapecheck.evaluate.framework_protocol import all_frameworks
from shapecheck.model import StageRun, Tensor


def same(a: Sequence[Tensor], b: Sequence[Tensor]) -> tuple[bool | None, bool]:
    """Whether parameters are the same, by whatever names and in whatever layout, and whether their order is another.

    The first is None where there are none, or arrays of other sizes.
    """
    if not a or _sizes(a) != _sizes(b):
        return None, False
    if sorted(t.digest for t in a) == sorted(t.digest for t in b):
        return True, False
    same = sorted(t.numbers for t in a) == sorted(t.numbers for t in b)
    return same, same


def are_untransposed(a: StageRun, b: StageRun) -> bool:
    """Whether parameters that have one order may need two: those of layers of frameworks that lay them out otherwise.

    Some keep weights as (in, out), as the kernels of convolutions end, others as (out, in).
    Their shapes do not tell it where axes have one size.
    """
    longer = [[size for size in tensor.shape if size != 1] for tensor in a.parameters]
    places = {ran.source.path.partition("/")[0] for ran in (a, b) if ran.source is not None}
    layouts = {each.weight_layout for each in all_frameworks() if each.weight_layout and each.package in places}
    return any(len(set(sizes)) < len(sizes) for sizes in longer) and len(layouts) > 1


def _sizes(tensors: Sequence[Tensor]) -> list[tuple[str, int]]:
    """How many numbers of which dtype: heads may be axes of their own, or not."""
    return sorted((t.dtype, math.prod(t.shape)) for t in tensors)
