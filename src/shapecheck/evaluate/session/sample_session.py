"""The part of a session that makes a small batch for a target: arrays of the right shapes, dtypes and ranges."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.compare.comparison_inputs import INTEGERS, random_array
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.index_bounds import index_bounds
from shapecheck.evaluate.inputs.project.data_arguments import leaf_paths
from shapecheck.evaluate.inputs.project.entries import is_model, nearest
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.trials.failure_reasons import explain, kind_of
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes
from shapecheck.evaluate.inputs.trials.trial import CallSpec, Trial
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.read_only_disk import writable
from shapecheck.evaluate.search.attempts import under
from shapecheck.evaluate.session.target_calls import call_spec, describe_refusal, with_batches
from shapecheck.evaluate.session.target_context import USER_ERRORS, ArgumentRecorder, TargetContext
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.target_messages import SampledArray, SampleResult

# Small, of which heads, halves and patches divide most, and no two alike.
_POOL = (16, 12, 20, 24, 28, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76)
BATCH_NAMES = ("batch", "batch_size", "batchsize", "n_batch", "num_batch", "bs", "b", "B", "batch0", "b0", "B0")
"""What the axis of examples is called; with a number behind it, it is the first axis of `*batch`."""

_BATCH = 2
_VARIADIC = re.compile(r"\[(\d+)\]$")  # behind the name of `*args`


class SampleSession:
    """Makes arrays for the arguments of what is named, as `shapecheck template` finds them."""

    def __init__(self, context: TargetContext) -> None:
        self._context = context

    def sample(
        self, *, given: ConfiguredExample, seconds: float, file: str, seed: int, sizes: Mapping[str, int], batch: int
    ) -> SampleResult:
        """Write arrays for the arguments of what `given` calls to `file`; or answer what is wrong with the request."""
        made = InventedSizes(pool=_POOL)
        pinned = {**dict.fromkeys(BATCH_NAMES, batch or _BATCH), **self._context.settings.sizes, **sizes}
        models = self._context.models(made, sizes=pinned)
        watch = _BoundRecorder(self._context.importer.shown_path)
        called = owner = None
        try:
            called, owner = self._context.find(given.call, watch)
            given = replace(with_batches(given), fill=True)
            chosen = call_spec(CallBuilder(self._context.recorder, models), called, given, owner)
            watch.parameters = chosen.parameters
            self._evaluate(chosen, watch, models, seconds, given.call)
            _require_names(made.used, sizes, batch)
            arrays, omitted = _leaves(watch)
            if not arrays:
                raise ExampleError(f"{given.call} takes no arrays ({', '.join(omitted) or 'nothing at all'})")
            filled = {name: _fill(name, struct, bound, seed) for name, (struct, bound) in arrays.items()}
            with writable(), open(file, "wb") as stream:
                np.savez(stream, allow_pickle=False, **{name: array for name, (array, _) in filled.items()})
            return SampleResult(
                arrays=tuple(
                    SampledArray(name=name, dtype=array.dtype.name, shape=tuple(array.shape), values=values)
                    for name, (array, values) in filled.items()
                ),
                omitted=tuple(omitted),
                made=dict(made.chosen),
                places=dict(made.places),
            )
        except USER_ERRORS as error:
            return SampleResult(
                refusal=describe_refusal(error, called, owner), made=dict(made.chosen), places=dict(made.places)
            )

    def _evaluate(self, chosen: CallSpec, watch: _BoundRecorder, models: Models, seconds: float, call: str) -> None:
        """Run it abstractly once more, with the sizes that go. Raises ExampleError for what the code raises."""
        search = self._context.search(call, chosen, seconds)
        trial = search.numbers() or Trial(mode="sized", construction=chosen.constructions[0])
        models.recall(trial.construction)
        with self._context.watch_with(watch):
            try:
                bound_call = chosen.prepare(trial)
                with watch.attempt():
                    under(search.attempts.axes, bound_call.call)
            except (TimeLimitError, *USER_ERRORS):
                raise
            except BaseException as error:  # the user's code may raise anything
                if is_own(error):
                    raise
                # Where it goes on only with values, what it is given is known all the same.
                if kind_of(error) != "value" or not watch.was_called:
                    failure = explain(error, self._context.recorder)
                    at = f" ({failure.frame.path}:{failure.frame.line})" if failure.frame else ""
                    raise ExampleError(f"it cannot be evaluated: {failure.message}{at}") from None


class _BoundRecorder(ArgumentRecorder):
    """Notes with the arguments the bounds of the integers among them."""

    def __init__(self, show: Callable[[str], str]) -> None:
        super().__init__(show)
        self._tracers: list[object] = []
        self._bounds: Mapping[int, int] = {}

    def index_bound(self, leaf: object) -> int | None:
        """What all numbers of an array are less than, where the code says so."""
        place = next((place for place, tracer in enumerate(self._tracers) if tracer is leaf), None)
        return None if place is None else self._bounds.get(place)

    def evaluate(self, function: Callable[..., object], *args: object) -> None:
        """Trace a function, and follow the integers that it is given."""
        (structs,) = args

        def trace(arrays: Sequence[object]) -> None:
            self._tracers = list(arrays)
            function(arrays)

        self._bounds = index_bounds(jax.make_jaxpr(trace)(structs))


def _require_names(used: Collection[str], sizes: Mapping[str, int], batch: int) -> None:
    """Raises ExampleError for sizes of axes that no argument has: they would change nothing."""
    names = sorted(used)
    axes = f"its arguments have the axes {', '.join(names)}" if names else "the axes of its arguments have no names"
    for name in sizes:
        if name not in used:
            raise ExampleError(f"no axis is called {name!r}{nearest(name, names)} ({axes})")
    if batch and not set(names) & set(BATCH_NAMES):
        example = f"--size {names[0]}={batch} sets one of these" if names else "--arg gives a shape"
        raise ExampleError(f"no axis is called batch, so --batch {batch} would change nothing: {axes}; {example}")


def _leaves(watch: _BoundRecorder) -> tuple[dict[str, tuple[Any, int | None]], list[str]]:
    """The arrays among the arguments with their bounds, by path; and the arguments that are left out, in words."""
    arrays: dict[str, tuple[Any, int | None]] = {}
    omitted = []
    for parameter, value in watch.given.items():
        name = _VARIADIC.sub(r".\1", parameter)
        leaves = {path: leaf for path, leaf in leaf_paths(value).items() if is_array(leaf)}
        if is_model(value):
            omitted.append(f"{name}, a model")
        elif name_hints.is_key(name) or any(_is_key(leaf) for leaf in leaves.values()):
            omitted.append(f"{name}, a random key")
        elif not leaves:
            omitted.append(f"{name}={value!r}" if isinstance(value, (bool, int, float, str)) else name)
        for path, leaf in leaves.items() if not omitted or omitted[-1].partition(",")[0] != name else ():
            arrays[".".join(filter(None, [name, path]))] = leaf, watch.index_bound(leaf)
    return arrays, omitted


def _is_key(leaf: jax.Array) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _fill(name: str, struct: jax.ShapeDtypeStruct, bound: int | None, seed: int) -> tuple[np.ndarray[Any, Any], str]:
    """Numbers for an array, which depend on its name and the seed alone, and what they are, in words."""
    source = np.random.default_rng([seed, zlib.crc32(name.encode())])
    array = random_array(struct, source, bound or INTEGERS)
    if array.dtype == np.bool_:
        return array, "true or false"
    if np.issubdtype(array.dtype, np.integer):
        unknown = "" if bound else ", since nothing says how large they may be"
        return array, f"0 .. {(bound or INTEGERS) - 1}{unknown}"
    if array.dtype.kind in "fc":
        return array, "normal"
    return array.astype(np.float32), f"normal; {array.dtype.name} kept as float32, for NumPy's files have none"
