"""A stage while it runs, what it calls, and what it comes to."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shapecheck.evaluate.framework_protocol import has_identity, hidden_fields
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.probes.describe_value import array_text, describe, is_array
from shapecheck.evaluate.stages.jax_transforms import ActiveTransform
from shapecheck.evaluate.stages.model_paths import ModelPaths, is_module
from shapecheck.evaluate.stages.stage_cost import Cost
from shapecheck.model import ArrayValue, Frame, Stage, TreeValue, Value

NamedInputs = tuple[tuple[str, Value], ...]

_COMPREHENSION = re.compile(r"^<\w+>\.")  # around a function, in the names that Python before 3.12 gives
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")


@dataclass(frozen=True)
class Label:
    """What a staged model says of one of its steps: its name, its owner's type, what acts on the state after it."""

    name: str
    owner: str
    intervenors: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StageStep:
    """What is about to run: a part of a model, or a function.

    `path` is where it lies, absolute, if its framework says so; else it is found by the `part` itself. `count` gives
    the numbers of its parameters and their bytes, when all has run. A `first` run is one that makes the parameters,
    a `trial` one that only tells a framework what the real one, which follows, will give.
    """

    type: str
    callable: str
    part: object
    source: Frame | None = None
    path: str | None = None
    label: Label | None = None
    input: NamedInputs = ()
    state: NamedInputs = ()
    count: Callable[[], tuple[int, int]] | None = None
    first: bool = False
    trial: bool = False


class OpenStage:
    """A stage while it runs. `lies` is the place of its part in the model, `path` the name of that, or its label's.

    Copies share a `number`: what ran inside of a stage, and so inside of an equal one that JAX did not look at again.
    """

    def __init__(
        self,
        number: int,
        step: StageStep,
        lies: str,
        path: str,
        around: Sequence[ActiveTransform],
        model_paths: ModelPaths | None,
    ) -> None:
        self.number = number
        self.step, self.lies, self.path, self.around, self.model_paths = step, lies, path, around, model_paths
        self.scope: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        self.part = step.part  # as it is now: JAX may have rebuilt it
        self.held: tuple[int, int] | None = None  # its parameters and their bytes, if it is no part of a known model
        self.output: Value | None = None  # of a stage that came to its end
        self.children: list[OpenStage] = []
        self.traced = False  # JAX may recall what it saw of it, and not call it again
        self.jitted = False  # it is called by a function inside of another stage that is compiled, maybe for many
        self.taken: Counter[str] = Counter()  # calls of each place, by this stage

    def forget(self) -> None:
        """It begins again."""
        self.children.clear()
        self.taken.clear()

    def move(self, old: str, new: str) -> OpenStage:
        """The same, inside of another stage: with `new` in place of the beginning `old` of its path."""
        other = copy.copy(self)
        other.path, other.lies = _move_path(self.path, old, new), _move_path(self.lies, old, new)
        other.children = [child.move(old, new) for child in self.children]
        return other


def _move_path(path: str, old: str, new: str) -> str:
    if path == old:
        return new
    inside = path.startswith(f"{old}.") if old else True
    return f"{new}.{path.removeprefix(f'{old}.')}".strip(".") if inside else path


def names(around: Sequence[OpenStage], stage: OpenStage) -> list[str]:
    """The paths that a stage inside of those `around` it may have: its own, and of what JAX does not tell from it.

    A jitted function is traced once, and then runs for all modules that are alike.
    """
    shared = next((each for each in (*around, stage) if each.jitted), None)
    model_paths = next((each.model_paths for each in around if each.model_paths is not None), None)
    if shared is None or model_paths is None or not is_module(shared.step.part):
        return [stage.path]
    others = [place for place in model_paths.equals(shared.step.part) if place != shared.lies]
    return [stage.path, *(_move_path(stage.path, shared.path, other) for other in others)]


def drop_retraced(siblings: list[OpenStage], found: Sequence[ActiveTransform]) -> None:
    """JAX may trace the body of a loop several times: the last time counts. The branches of a `cond` are two."""
    for depth, each in enumerate(found):
        if each.is_loop:
            siblings[:] = [s for s in siblings if not _is_earlier(s.around[depth : depth + 1], each)]


def _is_earlier(around: Sequence[ActiveTransform], loop: ActiveTransform) -> bool:
    """Whether the same loop is there, with its body traced another time."""
    return any(each.frame is loop.frame and each.inside is not loop.inside for each in around)


def stages(
    found: Sequence[OpenStage], count: Callable[[OpenStage], tuple[int, int]], cost: Cost | None = None
) -> Iterator[Stage]:
    """Those that came to their end; `count` gives the parameters that each holds, `cost` what all together cost.

    Where a model is run for its parameters first, and then with them, the second time counts.
    """
    ended = [(run, run.output) for run in found if run.output is not None and not run.step.trial]
    if not all(running.step.first for running, _ in ended):
        ended = [(running, output) for running, output in ended if not running.step.first]
    calls: Counter[str] = Counter()
    for running, output in ended:
        step = running.step
        number, size = count(running)
        own = cost.stage(running.number) if cost is not None else None
        yield Stage(
            path=running.path,
            type=step.type,
            label=step.label.name if step.label is not None else running.path.rpartition(".")[2],
            callable=step.callable,
            call=calls[running.path],
            under=tuple(each.text for each in running.around),
            input=step.input,
            state=step.state,
            output=output,
            params=number,
            param_bytes=size,
            source=step.source,
            children=tuple(stages(running.children, count, own)),
            owner=step.label.owner if step.label is not None else "",
            intervenors=step.label.intervenors if step.label is not None else (),
            flops=own.flops if own is not None else None,
            called=callable_text(step.part, step.callable),
        )
        calls[running.path] += 1


def describe_unmapped(value: object) -> Value:
    """What a stage sees of a value: not the axes over which it is mapped."""
    return _drop_mapped(describe(value))


def _drop_mapped(value: Value) -> Value:
    if isinstance(value, TreeValue):
        return dataclasses.replace(value, children=tuple(map(_drop_mapped, value.children)))
    return dataclasses.replace(value, mapped=()) if isinstance(value, ArrayValue) and value.mapped else value


def arguments(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """The arguments with the names of their parameters; those that are None are left out."""
    found: dict[str, object] = {}
    try:
        signature = inspect.signature(function)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                found.update({f"{name}[{index}]": part for index, part in enumerate(value)})
            else:
                found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    except (TypeError, ValueError):
        found = {**{f"[{index}]": part for index, part in enumerate(args)}, **kwargs}
    yield from ((name, value) for name, value in found.items() if value is not None)


def origin(function: Any, name: str, show: Callable[[str], str]) -> Frame | None:
    """Where a function is written; `show` gives the path of a file in messages."""
    code = getattr(unwrap(function), "__code__", None)
    if code is None or code.co_filename.startswith(_OURS):
        return None
    return Frame(shown_path(code.co_filename, show), code.co_firstlineno, name)


def shown_path(file: str, show: Callable[[str], str]) -> str:
    """The path of a file: that of an installed one is the same on all machines."""
    return show(file).rpartition(f"site-packages{os.sep}")[2]


def short(cls: type) -> str:
    """The name of a class, as far as the reader knows it."""
    return cls.__qualname__.rpartition("<locals>.")[2]


def function_name(function: Any) -> str:
    """What a function is called: `relu`, `partial(gelu)`, `<lambda>`; a bound method `Mechanics.step`."""
    method = getattr(function, "__func__", None)
    if method is not None:
        return f"{short(type(function.__self__))}.{method.__name__}"
    if isinstance(function, functools.partial):
        return f"partial({function_name(function.func)})"
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", type(function).__name__))
    return _COMPREHENSION.sub("", name.rpartition("<locals>.")[2])


_LONGEST = 600  # letters of all
_LONGEST_FIELD = 80
_MOST_ITEMS = 3  # of a list
_DEEPEST = 2  # modules in modules
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def callable_text(part: object, name: str) -> str:
    """A method of a module, called `name`, with the module's fields; of what has none the name as it is."""
    cls, _, method = name.rpartition(".")
    if isinstance(part, type) or not cls or cls.rpartition(".")[2] != type(part).__name__ or not _has_fields(part):
        return name
    text = _module(part, cls, _DEEPEST)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...)"
    return text if method == "__call__" else f"{text}.{method}"


def _has_fields(value: object) -> bool:
    return not isinstance(value, type) and (dataclasses.is_dataclass(value) or has_identity(value))


def _module(value: object, name: str, depth: int) -> str:
    if not depth:
        return f"{name}(...)"
    return f"{name}({', '.join(f'{field}={_field(each, depth - 1)}' for field, each in _fields(value))})"


def _fields(value: object) -> Iterator[tuple[str, object]]:
    """Those that a dataclass has and shows, or public attributes; read without running code of others."""
    own: Mapping[str, object] = getattr(value, "__dict__", {})
    names = [each.name for each in dataclasses.fields(value) if each.repr] if dataclasses.is_dataclass(value) else own
    hidden = hidden_fields()
    for name in names:
        if name in own and not name.startswith("_") and name not in hidden:
            yield name, own[name]


def _field(value: object, depth: int) -> str:
    if is_array(value):
        return array_text(value)
    if has_identity(value) and hasattr(value, "shape") and hasattr(value, "dtype"):  # a variable of a framework
        return array_text(value)
    if _has_fields(value):
        return _module(value, type(value).__name__, depth)
    if isinstance(value, (list, tuple)):
        return _items(value, depth)
    if isinstance(value, dict):
        return f"dict of {len(value)}"
    if isinstance(value, type) or (callable(value) and not isinstance(value, Enum)):
        return str(getattr(value, "__name__", type(value).__name__))
    text = _ADDRESS.sub("", repr(value)) if isinstance(value, (int, float, complex, str, Enum, type(None))) else ""
    return text if 0 < len(text) <= _LONGEST_FIELD else type(value).__name__


def _items(value: list[object] | tuple[object, ...], depth: int) -> str:
    if len(value) > _MOST_ITEMS:
        return f"{type(value).__name__} of {len(value)}"
    inside = ", ".join(_field(each, depth) for each in value)
    if isinstance(value, list):
        return f"[{inside}]"
    return f"({inside},)" if len(value) == 1 else f"({inside})"
