"""What each stage of a model is given and gives while it computes: inside of `jit`, `vmap` and loops too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np

from shapecheck.evaluate.compare import parameter_arrays
from shapecheck.evaluate.compare.array_store import ArrayStore, digest_only
from shapecheck.evaluate.compare.parameter_arrays import NamedValues
from shapecheck.evaluate.compare.stage_runs import Arrival, Record, list_runs
from shapecheck.evaluate.stages.stage_records import OpenStage
from shapecheck.evaluate.stages.value_taps import HostArray, Sink, tap
from shapecheck.model import StageRun


class TooLargeError(ValueError):
    """There is no room for all values."""


class StageCollector:
    """Runs stages for a watch, and keeps their values."""

    def __init__(self, keeping: ArrayStore) -> None:
        self._keeping = keeping
        self._lock = threading.Lock()  # JAX calls the host from threads of its own
        self._arrived = 0
        self.begin()

    def begin(self) -> None:
        """Forget what ran: it made the model, or its inputs, and what is compared begins only now."""
        self._top = Record()
        self._under_way = [self._top]

    def run_stage(
        self, stage: OpenStage, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """Run a stage, and note what it was given and gives."""
        own = args[:1] if args and stage.part is not None and type(args[0]) is type(stage.part) else ()
        part = own[0] if own else stage.part
        # Now, for a state cannot be looked at when there is a newer one.
        given = parameter_arrays.input_arrays(stage.step, args[len(own) :], kwargs)
        before = parameter_arrays.states(part, (args[len(own) :], dict(kwargs)))
        loop = next((id(each.frame) for each in stage.around[:1] if each.is_loop), None)
        record = Record(stage, stage.path, loop)
        self._under_way[-1].children.append(record)
        self._under_way.append(record)
        try:
            result = function(*args, **kwargs)
        finally:
            self._under_way.pop()
        part = own[0] if own else stage.part  # JAX may have rebuilt it
        return self._tap_result(
            record, result, [given, parameter_arrays.parameters(part), before, parameter_arrays.states(part, result)]
        )

    def runs(self) -> tuple[StageRun, ...]:
        """All runs, each stage before those inside of it, in the order in which they began.

        Raises TooLargeError if not all could be kept.
        """
        if self._keeping.full:
            most = self._keeping.most / (1 << 30)
            raise TooLargeError(f"what the stages give takes more than {most:.3g} GiB: compare with smaller inputs")
        return list_runs(self._top)

    def _tap_result(self, record: Record, result: object, came: list[NamedValues]) -> object:
        """The result; the host receives its arrays, and of what it `came` from: inputs, parameters, states twice."""
        outputs = parameter_arrays.arrays(result)
        if not any(isinstance(array, jax.core.Tracer) for _, array in outputs):  # then JAX tells nobody of those inside
            if not outputs and any(isinstance(array, jax.core.Tracer) for each in came for _, array in each):
                return result
            came = [[(n, a) for n, a in each if not isinstance(a, jax.core.Tracer)] for each in came]

        def receive(shapes: list[tuple[int, ...]], parts: list[HostArray]) -> bool:
            each = iter(parts)
            given, held, before, after = came
            with self._lock:
                outs, ins = ([self._keeping.store(n, next(each)) for n, _ in named] for named in (outputs, given))
                own = [self._keeping.parameter(n, next(each)) for n, _ in held]
                earlier = {n: digest_only(n, next(each)).digest for n, _ in before}
                states = [self._keeping.store(n, next(each)) for n, _ in after]
                updated = {tensor.name: tensor.digest for tensor in states} != earlier
                arrival = Arrival(
                    number=self._arrived,
                    outputs=tuple(outs),
                    inputs=tuple(ins),
                    parameters=tuple(own),
                    states=tuple(states),
                    updated=updated,
                )
                record.arrivals.append(arrival)
                self._arrived += 1
            return True

        if not outputs:
            receive([], [np.asarray(array) for each in came for _, array in each])
            return result
        sink = Sink(lambda outs, ins: [*outs, *ins], receive)
        return tap(result, [array for each in came for _, array in each], sink, parameter_arrays.is_number)
