"""Haiku's `multi_transform`: each call of one of its apply functions is a stage, where its template calls it.

https://dm-haiku.readthedocs.io/en/latest/api.html#multi-transform says which functions a pair comes from, but the pair
itself does not: Python's profiler tells what the user's function returned, and when these functions run.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import jax

from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import OpenStage, StageStep, describe_unmapped, function_name

_FILE, _INITIALISING = "haiku/_src/multi_transform.py", "init_fn"


def wrap_init(pair: Any, watch: Any) -> Callable[..., Any]:
    """What a `multi_transform` does for its parameters: it runs its template, with the apply functions as stages."""

    def run_template(*args: Any, **kwargs: Any) -> Any:
        haiku: Any = sys.modules["haiku"]

        def template() -> Any:
            with haiku.custom_creator(_zeros):  # what it costs to make parameters is no cost of a stage
                return pair.init(jax.random.PRNGKey(0), *args, **kwargs)

        before = sys.getprofile()
        if isinstance(watch, StageRecorder) and watch.runner is None:
            sys.setprofile(_Profile(watch))
        try:
            return haiku.transform(template).apply({}, None)
        finally:
            sys.setprofile(before)

    return run_template


def _zeros(next_creator: Any, shape: Any, dtype: Any, init: Any, context: Any) -> Any:
    return jax.numpy.zeros(shape, dtype)


@dataclass
class _Profile:
    """Opens a stage when one of the functions is called, and closes it when that returns."""

    watch: StageRecorder
    noted: set[FrameType] = field(default_factory=set)
    functions: dict[str, Any] = field(default_factory=dict)  # the latest that were made, by name
    running: dict[FrameType, OpenStage] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        """What Python tells of each call and return."""
        if event == "call":
            names = [name for name, function in self.functions.items() if _runs(function, frame)]
            if names:
                name = next((name for name in names if _has_defaults(self.functions[name], frame)), names[0])
                self.running[frame] = self.watch.open(self._step(name, frame), frame.f_back)
        elif event == "return" and frame in self.running:
            stage = self.running.pop(frame)
            self.watch.close(stage)
            stage.output = describe_unmapped(value)
        elif event == "return" and (outer := _init_frame(frame.f_back)) is not None and outer not in self.noted:
            self.noted.add(outer)
            self.functions = dict(_named_functions(value[1])) if isinstance(value, tuple) and len(value) == 2 else {}

    def _step(self, name: str, frame: FrameType) -> StageStep:
        function = self.functions[name]
        kind = function_name(function)
        source = self.watch.origin(function, kind)
        given = list(_frame_arguments(frame))[1 if inspect.ismethod(function) else 0 :]
        taken = tuple((n, describe_unmapped(value)) for n, value in given if value is not None)
        return StageStep(type=kind, callable=kind, part=None, source=source, path=name, input=taken, first=True)


def _init_frame(frame: FrameType | None) -> FrameType | None:
    """The frame, if it is Haiku's, in which the user's function is called and then the template that it returned."""
    code = frame.f_code if frame is not None else None
    is_it = code is not None and code.co_name == _INITIALISING and code.co_filename.endswith(_FILE)
    return frame if is_it else None


def _named_functions(tree: Any) -> Iterator[tuple[str, Any]]:
    """The functions by their places in the pytree; of a tuple by their own names. Modules are stages anyway."""
    for path, function in jax.tree_util.tree_flatten_with_path(tree)[0]:
        plain = _plain(function)
        if plain is not None:
            place = "".join(map(_step, path)).lstrip(".")
            is_number = place[:1] in ("", "[") and plain.__name__ != "<lambda>"
            yield plain.__name__ if is_number else place, function


def _step(key: Any) -> str:
    name = getattr(key, "name", getattr(key, "key", None))
    return f".{name}" if isinstance(name, str) else str(key)


def _plain(function: Any) -> Any:
    """The Python function that runs when it is called; None if it is something else."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    return function if inspect.isfunction(function) else None


def _runs(function: Any, frame: FrameType) -> bool:
    """Whether it is what runs in a frame: the same code, with the same variables around it."""
    plain = _plain(function)
    if plain.__code__ is not frame.f_code:
        return False
    cells = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
    return all(_inside(cell) is frame.f_locals.get(name) for name, cell in cells)


def _has_defaults(function: Any, frame: FrameType) -> bool:
    """Whether the parameters that have defaults have these: so functions are distinguished that a loop makes."""
    parameters = inspect.signature(_plain(function)).parameters.values()
    defaults = [(p.name, p.default) for p in parameters if p.default is not inspect.Parameter.empty]
    return all(frame.f_locals.get(name) is default for name, default in defaults)


def _inside(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _frame_arguments(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """The arguments of the function in a frame that begins to run."""
    names, rest, keywords, values = inspect.getargvalues(frame)
    yield from ((name, values[name]) for name in names)
    yield from ((f"{rest}[{index}]", part) for index, part in enumerate(values[rest] if rest else ()))
    yield from (values[keywords] if keywords else {}).items()
