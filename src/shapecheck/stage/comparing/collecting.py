"""What each stage of a model is given and gives while it computes: inside of `jit`, `vmap` and loops too."""

from __future__ import annotations

import bisect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.facts import Ran, Tensor
from shapecheck.stage.comparing.keeping import Keeping
from shapecheck.stage.search.entries import is_model, module_class
from shapecheck.stage.staging.running import Running
from shapecheck.stage.staging.taps import Sink, tap

Named = list[tuple[str, Any]]


class TooLargeError(ValueError):
    """There is no room for all values."""


@dataclass
class _Arrival:
    """What the host was told of one run. `number` says in which order it was told."""

    number: int
    outputs: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]


@dataclass
class _Record:
    """A stage as it was traced, and all runs of what was traced; the whole program is one too, without a `stage`."""

    stage: Running | None = None
    path: str = ""
    loop: int | None = None  # the frame of the outermost loop between the stage above and this one
    arrivals: list[_Arrival] = field(default_factory=list)
    children: list[_Record] = field(default_factory=list)


class Collecting:
    """Runs stages for a watch, and keeps their values."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._lock = threading.Lock()  # JAX calls the host from threads of its own
        self._told = 0
        self.begin()

    def begin(self) -> None:
        """Forget what ran: it made the model, or its inputs, and what is compared begins only now."""
        self._top = _Record()
        self._under_way = [self._top]

    def run(self, stage: Running, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a stage, and note what it was given and gives."""
        own = args[:1] if args and stage.part is not None and type(args[0]) is type(stage.part) else ()
        # Now, for a state cannot be looked at when there is a newer one; and in the order of the parameters.
        order = {name: place for place, (name, _) in enumerate(stage.step.input)}
        named = sorted(kwargs, key=lambda name: order.get(name, len(order)))
        given = _arrays([*args[len(own) :], *(kwargs[name] for name in named)])
        loop = next((id(each.frame) for each in stage.around[:1] if each.is_loop), None)
        record = _Record(stage, stage.path, loop)
        self._under_way[-1].children.append(record)
        self._under_way.append(record)
        try:
            result = function(*args, **kwargs)
        finally:
            self._under_way.pop()
        return self._tapped(record, result, given, _arrays(_held(own[0] if own else stage.part)))

    def ran(self) -> tuple[Ran, ...]:
        """All runs, each stage before those inside of it, in the order in which they began.

        Raises TooLargeError if not all could be kept.
        """
        if self._keeping.full:
            most = self._keeping.most / (1 << 30)
            raise TooLargeError(f"what the stages give takes more than {most:.3g} GiB: compare with smaller inputs")
        return tuple(_Runs(self._top).listed())

    def _tapped(self, record: _Record, result: Any, given: Named, held: Named) -> Any:
        outputs = _arrays(result)
        if not any(isinstance(array, jax.core.Tracer) for _, array in outputs):  # then JAX tells nobody of those inside
            given, held = ([(n, a) for n, a in each if not isinstance(a, jax.core.Tracer)] for each in (given, held))

        def told(shapes: list[tuple[int, ...]], parts: list[np.ndarray[Any, Any]]) -> bool:
            each = iter(parts)
            with self._lock:
                outs, ins = ([self._keeping.keep(n, next(each)) for n, _ in named] for named in (outputs, given))
                own = [self._keeping.parameter(n, next(each)) for n, _ in held]
                arrival = _Arrival(self._told, tuple(outs), tuple(ins), tuple(own))
                record.arrivals.append(arrival)
                self._told += 1
            return True

        sink = Sink(lambda outs, ins: [*outs, *ins], told)
        return tap(result, [array for _, array in (*given, *held)], sink, _is_number)


def _arrays(value: Any) -> Named:
    """The arrays of numbers in a value, by name."""
    found: Named = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
        if _is_number(leaf):
            found.append((jax.tree_util.keystr(path), leaf))
    return found


def _is_number(value: Any) -> bool:
    if not isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return False
    return bool(jnp.issubdtype(value.dtype, np.number) or value.dtype == np.dtype(bool))


def _held(part: Any) -> Any:
    """The parameters of a module, whatever its framework."""
    nnx, linen, haiku = (getattr(sys.modules.get(n), "Module", ()) for n in ("flax.nnx", "flax.linen", "haiku"))
    if isinstance(part, nnx):
        found: Any = sys.modules["flax.nnx"]
        return found.state(part, found.Param)
    if isinstance(part, linen):
        return part.variables.get("params", {})
    if isinstance(part, haiku):
        return part.params_dict()
    return part if isinstance(part, module_class() or ()) else ()


class _Runs:
    """The runs below `top`, each by itself: of a stage in a loop there are several."""

    def __init__(self, top: _Record) -> None:
        self._found: list[Ran] = []
        self._calls: Counter[str] = Counter()
        self._top = top

    def listed(self) -> list[Ran]:
        """All of them, outer ones first."""
        _name_whole(self._top)
        self._add(_ended(self._top), None, (-1, sys.maxsize))
        return self._found

    def _add(self, records: Sequence[_Record], parent: int | None, told: tuple[int, int]) -> None:
        """Those of `records` that the host was told of in this interval."""
        for record, index in _in_order(records, told):
            stage, arrival, place = record.stage, record.arrivals[index], len(self._found)
            if stage is None:
                continue
            call = self._calls[record.path]
            self._calls[record.path] += 1
            values = arrival.inputs, arrival.outputs, arrival.parameters
            self._found.append(Ran(record.path, stage.step.type, call, parent, stage.step.source, *values))
            # What is inside of a run is told before it, and after the run before it.
            before = record.arrivals[index - 1].number if index else told[0]
            is_last = index + 1 == len(record.arrivals)
            self._add(_ended(record), place, (before, told[1] if is_last else arrival.number))


def _in_order(records: Sequence[_Record], told: tuple[int, int]) -> Iterator[tuple[_Record, int]]:
    """Runs in the order of the program, by their index among all of their record: those in one loop turn by turn."""
    first: dict[int, int] = {}
    order: list[tuple[int, int, int, int]] = []
    for place, record in enumerate(records):
        group = place if record.loop is None else first.setdefault(record.loop, place)
        begin, end = (bisect.bisect_right(record.arrivals, each, key=_number) for each in told)
        order += [(group, index - begin, place, index) for index in range(begin, end)]
    yield from ((records[place], index) for _, _, place, index in sorted(order))


def _number(arrival: _Arrival) -> int:
    return arrival.number


def _ended(above: _Record) -> list[_Record]:
    """The stages inside of one that ran; those inside of what did not, or gave no array, in its place.

    A function without parts of its own is shown by what it calls, if that is a whole model, and gives what it gives.
    """
    found: list[_Record] = []
    for record in above.children:
        inner = _ended(record)
        if not record.arrivals or (_is_plain(record) and _gives_the_same(inner, record)):
            found += inner
        else:
            found.append(record)
    if not all(_makes_parameters(record) for record in found):
        found = [record for record in found if not _makes_parameters(record)]
    return found


def _is_plain(record: _Record) -> bool:
    """Whether it is the function that was compared, and no model."""
    return record.stage is not None and record.stage.part is None and not record.path


def _gives_the_same(inner: Sequence[_Record], plain: _Record) -> bool:
    """Whether one of these is a whole model that gives what the function gives."""
    wholes = [record for record in inner if not record.path]
    return len(wholes) == 1 and _digests(wholes[0]) == _digests(plain)


def _digests(record: _Record) -> list[str]:
    return [tensor.digest for tensor in record.arrivals[-1].outputs]


def _name_whole(above: _Record) -> None:
    """A model is the whole if it is alone in the function that was compared, whatever name that has for it.

    Its parts have the names that they have in it. Where the function does more than call it, the whole is that.
    """
    plain = next((record for record in above.children if _is_plain(record)), None)
    alone = _ended(plain) if plain is not None else []
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


def _makes_parameters(record: _Record) -> bool:
    return record.stage is not None and record.stage.step.first
