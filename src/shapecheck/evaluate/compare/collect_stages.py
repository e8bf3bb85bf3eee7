"""What each run of a stage is given and gives, inside of `jit`, `vmap` and loops too, in the order of the program."""

from __future__ import annotations

import bisect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from shapecheck.evaluate.compare import parameter_arrays
from shapecheck.evaluate.compare.array_store import ArrayStore, digest_only
from shapecheck.evaluate.compare.parameter_arrays import NamedValues
from shapecheck.evaluate.inputs.project.entries import is_model
from shapecheck.evaluate.stages.stage_records import OpenStage
from shapecheck.evaluate.stages.value_taps import HostArray, Sink, tap
from shapecheck.model import StageRun, Tensor


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


_IN_TABLE = "['"  # in the names of what a table holds


@dataclass(kw_only=True)
class Arrival:
    """What the host received of one run. `number` says in which order.

    `states` are what the stage keeps for its next run, and whether that is `updated`.
    """

    number: int
    outputs: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]
    states: tuple[Tensor, ...]
    updated: bool


@dataclass
class Record:
    """A stage as it was traced, and all runs of what was traced; the whole program is one too, without a `stage`."""

    stage: OpenStage | None = None
    path: str = ""
    loop: int | None = None  # the frame of the outermost loop between the stage above and this one
    arrivals: list[Arrival] = field(default_factory=list)
    children: list[Record] = field(default_factory=list)


def list_runs(top: Record) -> tuple[StageRun, ...]:
    """All runs below `top`, outer ones first."""
    for record in top.children:
        if _is_plain(record):
            _part_states(record)
    _name_whole(top)
    runs = _Runs()
    runs.add(_completed_records(top), None, (-1, sys.maxsize))
    return tuple(runs.found)


class _Runs:
    """The runs that were listed."""

    def __init__(self) -> None:
        self.found: list[StageRun] = []
        self._calls: Counter[str] = Counter()

    def add(self, records: Sequence[Record], parent: int | None, span: tuple[int, int]) -> None:
        """Those of `records` that the host received in this interval."""
        for record, index in _in_order(records, span):
            stage, arrival, place = record.stage, record.arrivals[index], len(self.found)
            if stage is None:
                continue
            call = self._calls[record.path]
            self._calls[record.path] += 1
            run = StageRun(
                path=record.path,
                type=stage.step.type,
                call=call,
                parent=parent,
                source=stage.step.source,
                inputs=arrival.inputs,
                outputs=arrival.outputs,
                parameters=arrival.parameters,
                states=arrival.states,
                updated=arrival.updated,
            )
            self.found.append(run)
            # What is inside of a run arrives before it, and after the run before it.
            before = record.arrivals[index - 1].number if index else span[0]
            is_last = index + 1 == len(record.arrivals)
            self.add(_completed_records(record), place, (before, span[1] if is_last else arrival.number))


def _in_order(records: Sequence[Record], span: tuple[int, int]) -> Iterator[tuple[Record, int]]:
    """Runs in the order of the program, by their index among all of their record: those in one loop turn by turn."""
    first: dict[int, int] = {}
    order: list[tuple[int, int, int, int]] = []
    for place, record in enumerate(records):
        group = place if record.loop is None else first.setdefault(record.loop, place)
        begin, end = (bisect.bisect_right(record.arrivals, each, key=_number) for each in span)
        order += [(group, index - begin, place, index) for index in range(begin, end)]
    yield from ((records[place], index) for _, _, place, index in sorted(order))


def _number(arrival: Arrival) -> int:
    return arrival.number


def _completed_records(above: Record) -> list[Record]:
    """The stages inside of one that ran; those inside of what did not, or did not arrive, in its place.

    A function without parts of its own is shown by what it calls, if that is a whole model, and gives what it gives.
    """
    found: list[Record] = []
    for record in above.children:
        inner = _completed_records(record)
        if not record.arrivals or (_is_plain(record) and _gives_the_same(inner, record)):
            found += inner
        else:
            found.append(record)
    if not all(_makes_parameters(record) for record in found):
        found = [record for record in found if not _makes_parameters(record)]
    return found


def _is_plain(record: Record) -> bool:
    """Whether it is the function that was compared, and no model."""
    return record.stage is not None and record.stage.part is None and not record.path


def _part_states(plain: Record) -> None:
    """What a function gives in a table, as the stages inside of it keep it, is their state, and no output of its own.

    So `apply` gives what it is to be given the next time: `y, {"batch_stats": ...}`.
    """
    kept = {tensor.digest for record in _inside(plain) for arrival in record.arrivals for tensor in arrival.states}
    for place, arrival in enumerate(plain.arrivals):
        own = tuple(t for t in arrival.outputs if _IN_TABLE in t.name and t.digest in kept)
        if own:
            rest = tuple(t for t in arrival.outputs if t not in own)
            states = (*arrival.states, *own)
            plain.arrivals[place] = replace(arrival, outputs=rest, states=states, updated=True)


def _inside(above: Record) -> Iterator[Record]:
    for record in above.children:
        yield record
        yield from _inside(record)


def _gives_the_same(inner: Sequence[Record], plain: Record) -> bool:
    """Whether one of these is a whole model that gives what the function gives, and keeps it, if that gives states."""
    wholes = [record.arrivals[-1] for record in inner if not record.path]
    own = plain.arrivals[-1]
    if len(wholes) != 1 or _digests(wholes[0].outputs) != _digests(own.outputs):
        return False
    return set(_digests(own.states)) <= set(_digests(wholes[0].states))


def _digests(tensors: Sequence[Tensor]) -> list[str]:
    return [tensor.digest for tensor in tensors]


def _name_whole(above: Record) -> None:
    """A model is the whole if it is alone in the function that was compared, whatever name that has for it.

    Its parts have the names that they have in it. Where the function does more than call it, the whole is that.
    """
    plain = next((record for record in above.children if _is_plain(record)), None)
    alone = _completed_records(plain) if plain is not None else []
    names = {record.path for record in alone}
    if plain is None or len(names) != 1 or not all(is_model(r.stage.part) for r in alone if r.stage is not None):
        return
    name = names.pop()
    todo = list(alone)
    while todo:
        record = todo.pop()
        record.path = record.path.removeprefix(name).lstrip(".")
        todo += record.children
    if plain.arrivals and not _gives_the_same(alone, plain):
        for record in alone:
            record.path = f"{record.stage.step.type}()" if record.stage is not None else name


def _makes_parameters(record: Record) -> bool:
    return record.stage is not None and record.stage.step.first
