"""Training over time: what parameters, gradients, updates and stages are like every so many steps (`--monitor`).

A jitted step is compiled twice: as it is, and with all that is looked at. JAX tells the two apart by metadata, as it
does by the user's own settings; each step that is due runs the second, all others the first, which costs nothing.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from shapecheck.evaluate.inputs.project.data_arguments import leaf_paths
from shapecheck.evaluate.stages.jax_transforms import fresh_traces
from shapecheck.evaluate.stages.value_taps import HostArray, Sink, arrays_in, tap
from shapecheck.runtime import monitor_statistics as statistics
from shapecheck.runtime.monitor_outputs import MonitorOutput

_NAME = "shapecheck-monitor"
_KINDS = ("weights", "gradients", "updates", "state")


class MonitoredFunction:
    """What `jax.jit` gave, whose calls are counted, timed, and looked at when they are due."""

    def __init__(self, monitor: TrainingMonitor, compiled: Callable[..., object], name: str) -> None:
        self.compiled, self.name = compiled, name
        self.calls = 0
        self.updates = False  # whether an optimizer's update is compiled in it
        self._monitor = monitor
        functools.update_wrapper(self, compiled)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """As what it wraps."""
        return self._monitor.call(self, args, kwargs)

    def __get__(self, instance: object, owner: object = None) -> object:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)


class TrainingMonitor:
    """Looks at every `every`-th step, at what a glob selects, and hands a record of it to the outputs."""

    def __init__(self, glob: str, every: int, outputs: Sequence[MonitorOutput]) -> None:
        self._glob, self._every, self._outputs = glob, every, outputs
        self._step = 0
        self._looks = False  # in what is traced, or runs, now
        self._eager = False  # in a step that no function compiles
        self._current: MonitoredFunction | None = None
        self._seen: set[int] = set()  # arrays of the latest update, while it is traced
        self._depth = 0  # of updates in each other: a chain is one
        self._written = 0
        self._memory: dict[str, int] = {}
        self._measured = 0.0
        self._begin_timing()
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[str, dict[str, statistics.Row]] = {kind: {} for kind in _KINDS}
        self._counts: dict[str, float] = {}
        self._stages: dict[str, statistics.Row] = {}
        self._functions: dict[str, dict[str, float]] = {}

    def call(self, function: MonitoredFunction, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call a compiled function, as it is or with all that is looked at."""
        if self._current is not None or _is_traced((args, kwargs)):
            return function.compiled(*args, **kwargs)
        function.calls += 1
        self._current = function
        try:
            if not function.updates:
                result = self._call_other(function, args, kwargs)
                if function.updates:  # it was the first step, in which JAX compiled it
                    self._step += 1
                    self._begin_timing()
                return result
            self._step += 1
            if self._step % self._every:
                return function.compiled(*args, **kwargs)
            return self._call_due(function, args, kwargs)
        finally:
            self._current = None

    def _call_due(self, function: MonitoredFunction, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        per_step = self._seconds_per_step()
        self._looks = True
        try:
            with fresh_traces(_NAME):
                result = function.compiled(*args, **kwargs)
            jax.block_until_ready(result)
            jax.effects_barrier()
        finally:
            self._looks = False
        self._write(per_step)
        return result

    def _call_other(self, function: MonitoredFunction, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """A function without an update: timed every so many calls, once it is compiled."""
        if function.calls % self._every:
            return function.compiled(*args, **kwargs)
        start = time.perf_counter()
        result = jax.block_until_ready(function.compiled(*args, **kwargs))
        self._functions[function.name] = {"calls": function.calls, "seconds": time.perf_counter() - start}
        return result

    def update(
        self, inner: Callable[..., tuple[object, object]], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Any:
        """An optimizer's update: `inner(gradients, state, params)` gives updates and the next state."""
        if self._depth:
            return inner(*args, **kwargs)
        self._depth += 1
        try:
            result = inner(*args, **kwargs)
        finally:
            self._depth -= 1
        traced = _is_traced((args, kwargs))
        if traced and self._current is not None:
            self._current.updates = True
        if not traced:
            self._begin_eager_step()
        if self._looks:
            updates, state = result
            params = args[2] if len(args) > 2 else kwargs.get("params")
            self._look({"gradients": args[0], "updates": updates, "weights": params, "state": state}, _counts(state))
            self._seen = {id(leaf) for leaf in jax.tree_util.tree_leaves((params, updates))}
        return result

    def apply(self, params: object, updates: object) -> None:
        """Updates are added to parameters: what the update itself was not given is looked at now."""
        if self._looks:
            found = {"weights": params, "updates": updates}
            leaves = {kind: jax.tree_util.tree_leaves(tree) for kind, tree in found.items()}
            self._look({kind: found[kind] for kind in found if not all(id(x) in self._seen for x in leaves[kind])}, {})

    def run_stage(self, path: str, run: Callable[[], object]) -> object:
        """Run a stage, and look at what it gives."""
        if not self._looks or not self._selects(path):
            return run()
        start = time.perf_counter()
        result = run()
        found = arrays_in(result)
        if not found:
            return result
        if not _is_traced(result):
            jax.block_until_ready(result)
            self._stages.setdefault(path, {})["seconds"] = time.perf_counter() - start
        return tap(result, (), Sink(_first_summary, functools.partial(self._receive_stage, path)))

    def close(self) -> None:
        """Write what is left, and say so if nothing was seen."""
        if self._eager and self._looks:
            self._end_eager_step()
        for output in self._outputs:
            output.close()
        if not self._written:
            sys.stderr.write(
                f"shapecheck: --monitor has seen {self._step} steps, and looks at every {self._every}th "
                "(--monitor-every). A step is a call of optax's update, in a function that jax.jit compiles, or a jit "
                "of the framework's, or outside of any.\n"
            )

    def _begin_eager_step(self) -> None:
        """An update outside of compiled functions ends one step; what is looked at is the next one that is due."""
        if self._current is not None:
            return
        if self._looks:
            self._end_eager_step()
        self._step += 1
        self._eager = True
        self._looks = self._step % self._every == 0
        if self._looks:
            self._eager_seconds = self._seconds_per_step()

    def _end_eager_step(self) -> None:
        self._looks = False
        self._write(self._eager_seconds)

    def _look(self, trees: Mapping[str, object], counts: Mapping[str, jax.Array]) -> None:
        """Send what is known of the arrays in these trees to the host, all at once."""
        kinds: list[tuple[str, tuple[str, ...]]] = []
        parts: list[jax.Array] = []
        for kind, tree in trees.items():
            leaves = statistics.inexact_leaves(tree)
            found = {path: leaf for path, leaf in leaves.items() if self._selects(path) or kind == "state"}
            if found:
                kinds.append((kind, tuple(found)))
                parts.append(statistics.summarize([*found.values()], _names(kind)))
        parts += [count.astype(jax.numpy.float32).reshape(1) for count in counts.values()]
        if not parts:
            return
        numbers = jax.numpy.concatenate(parts)
        receive = functools.partial(self._receive, tuple(kinds), tuple(counts))
        if isinstance(numbers, jax.core.Tracer):
            jax.debug.callback(receive, numbers)
        else:
            receive(np.asarray(numbers))

    def _receive(self, kinds: Sequence[tuple[str, tuple[str, ...]]], counts: Sequence[str], numbers: HostArray) -> None:
        sent = np.asarray(numbers).reshape(-1)
        begin = 0
        for kind, paths in kinds:
            end = begin + len(paths) * len(_names(kind))
            self._rows[kind].update(statistics.rows(paths, _names(kind), sent[begin:end]))
            begin = end
        self._counts.update(zip(counts, map(float, sent[begin:]), strict=True))

    def _receive_stage(self, path: str, shapes: list[tuple[int, ...]], parts: list[HostArray]) -> None:
        row = statistics.rows([path], statistics.RANGE, parts[0])[path]
        self._stages.setdefault(path, {}).update(row)

    def _selects(self, path: str) -> bool:
        return fnmatch.fnmatchcase(path, self._glob.replace("[", "[[]"))  # brackets mean themselves: `blocks[0].*`

    def _seconds_per_step(self) -> float:
        """The mean since the last record, without what the record itself took."""
        steps = self._step - 1 - self._since
        return (time.perf_counter() - self._started) / steps if steps > 0 else 0.0

    def _write(self, per_step: float) -> None:
        record = self._record(per_step)
        for output in self._outputs:
            output.write(record)
        self._written += 1
        self._forget()
        self._begin_timing()

    def _begin_timing(self) -> None:
        self._started, self._since = time.perf_counter(), self._step

    def _record(self, per_step: float) -> dict[str, object]:
        weights, updates, gradients = (self._rows[kind] for kind in ("weights", "updates", "gradients"))
        paths = list(dict.fromkeys([*weights, *updates, *gradients]))
        states, others = statistics.by_parameter(self._rows["state"], paths)
        parameters: dict[str, dict[str, object]] = {}
        for path in paths:
            row: dict[str, object] = dict(weights.get(path, {}))
            if path in gradients:
                row["gradient_norm"] = gradients[path]["norm"]
            if path in updates:
                row["update_norm"] = update = updates[path]["norm"]
                if path in weights:
                    row["update_ratio"] = statistics.ratio(update, weights[path]["norm"])
            if path in states:
                row["state"] = states[path]
            parameters[path] = row
        return {
            "step": self._step,
            "time": time.time(),
            "seconds_per_step": per_step,
            "functions": dict(self._functions),
            "parameters": parameters,
            "optimizer": {**others, **{path: {"value": value} for path, value in self._counts.items()}},
            "stages": dict(self._stages),
            "memory": self._memory_now(),
        }

    def _memory_now(self) -> dict[str, int]:
        """What is in memory, looked up once a second at most: a program may have thousands of arrays."""
        now = time.perf_counter()
        if not self._memory or now - self._measured > 1:
            self._memory, self._measured = memory(), now
        return self._memory


def memory() -> dict[str, int]:
    """Bytes of the process, and of JAX's arrays on the devices."""
    found = {"host": _resident()}
    for device in jax.local_devices():
        used: Mapping[str, int] = device.memory_stats() or {}
        if "bytes_in_use" in used:
            found[f"device_{device.id}"] = used["bytes_in_use"]
        if "peak_bytes_in_use" in used:
            found[f"device_{device.id}_peak"] = used["peak_bytes_in_use"]
    found["arrays"] = sum(array.nbytes for array in jax.live_arrays() if not array.is_deleted())
    return {name: size for name, size in found.items() if size}


def _resident() -> int:
    """What the process has in memory now, or where nobody says that, the most that it had."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415 - not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _first_summary(outs: Sequence[object], ins: Sequence[object]) -> list[jax.Array]:
    """Of all arrays of an output that of the first, which is the whole of most."""
    return [statistics.summarize(outs[:1], statistics.RANGE)]


def _names(kind: str) -> tuple[str, ...]:
    return statistics.RANGE if kind == "weights" else statistics.NORM


def _counts(state: object) -> dict[str, jax.Array]:
    """The steps that an optimizer's state counts, and the like."""
    leaves = {path: leaf for path, leaf in leaf_paths(state).items() if isinstance(leaf, jax.Array)}
    return {
        path: leaf
        for path, leaf in leaves.items()
        if leaf.shape == () and jax.numpy.issubdtype(leaf.dtype, jax.numpy.integer)
    }


def _is_traced(tree: object) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(tree))
