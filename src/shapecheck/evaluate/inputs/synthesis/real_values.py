"""Arrays with values, for code that Python steers by them: `int(x[0])`, `if x.any()`, NumPy and what is built on it.

The values are made up, and there are two kinds of them: what follows from one alone proves nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.inputs.trials.abstract_call import Evaluate, LazyCall, build
from shapecheck.evaluate.inputs.trials.size_assignment import UnknownSizeError
from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.read_only_disk import read_only

VALUES = ("", "between 0 and 1", "between -1 and 0", "between 1 and 2")
"""What the values of arrays are, by `Trial.values`: the first has none."""
_LEAST = (0, 0, -1, 1)

_SECONDS = 1.0  # of the processor that such a run may take: nobody computes anything where arrays have no values
_CONSTRUCTION_SECONDS = 4.0  # the same for a constructor, which runs once for all methods
_LARGEST = 4_000_000  # elements of all arrays
_GOLDEN = (5**0.5 - 1) / 2  # multiples of it are spread evenly, and all are different


class TooExpensiveError(UnknownSizeError):
    """What the user's code computes is more than a check may cost."""


def too_long(seconds: float, error: TimeLimitError) -> TooExpensiveError:
    """What is raised of code that is over its time, from where that was: what it was in has not come to its end."""
    return TooExpensiveError(f"it computes for more than {seconds:g} seconds").with_traceback(error.__traceback__)


def with_values(kind: int, folders: Iterable[str], seconds: float = _SECONDS) -> Evaluate:
    """What calls a function with arrays of such values; it changes no file, and reaches nobody."""
    protected = tuple(folders)

    def evaluate(function: Callable[..., object], structs: Sequence[jax.ShapeDtypeStruct]) -> None:
        if sum(math.prod(struct.shape) for struct in structs) > _LARGEST:
            raise TooExpensiveError("its arrays are too large to be computed")
        try:
            with time_limit(seconds, of_processor=True), read_only(os.devnull, protected, alone=True, made_only=True):
                function([_array(struct, kind) for struct in structs])
        except TimeLimitError as error:
            raise too_long(seconds, error) from None

    return evaluate


def build_with_values(constructor: LazyCall, kind: int, folders: Iterable[str]) -> tuple[object, bool]:
    """What the deferred call constructs of arrays with values of some kind, and whether it takes any.

    It has abstract arrays for parameters; what else it holds was computed.
    """
    taken: list[jax.ShapeDtypeStruct] = []

    def evaluate(function: Callable[..., Sequence[jax.Array]], structs: Sequence[jax.ShapeDtypeStruct]) -> object:
        made: list[jax.Array] = []
        taken.extend(structs)
        with_values(kind, folders, _CONSTRUCTION_SECONDS)(lambda arrays: made.extend(function(arrays)), structs)
        return [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in made]

    return build(constructor, evaluate), bool(taken)


def _array(struct: jax.ShapeDtypeStruct, kind: int) -> object:
    if jnp.issubdtype(struct.dtype, jax.dtypes.extended):
        keys = jax.random.split(jax.random.key(kind), math.prod(struct.shape))
        return keys.reshape(struct.shape)
    places = np.arange(math.prod(struct.shape), dtype=np.float64)
    fractions = (0.5 + places * _GOLDEN) % 1
    if jnp.issubdtype(struct.dtype, jnp.inexact):
        values = fractions + _LEAST[kind]
    elif struct.dtype == jnp.bool_:
        values = np.floor(fractions + 1 / kind)
    else:  # an index, mostly
        values = (places + kind - 1) % 2
    return jnp.asarray(values.reshape(struct.shape), struct.dtype)
