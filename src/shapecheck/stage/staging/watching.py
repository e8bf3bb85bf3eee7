"""The stages of an evaluation: every call of an Equinox module, nested, with its place in the model."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

from shapecheck.facts import ArrayValue, Frame, Stage, TreeValue, Value
from shapecheck.stage.observe.recorder import Watch
from shapecheck.stage.observe.values import describe
from shapecheck.stage.search.entries import module_class
from shapecheck.stage.staging.anatomy import Anatomy, parameters
from shapecheck.stage.staging.once import Once, is_state
from shapecheck.stage.staging.transforms import Around, around, renewed

_JIT = "_JitWrapper"  # the class of what `equinox.filter_jit` makes


class Running:
    """A stage while it runs. `parts` are its arguments by name; its module is the one that was called."""

    def __init__(self, path: str, module: Any, around: Sequence[Around], anatomy: Anatomy | None) -> None:
        self.path, self.module, self.around, self.anatomy = path, module, around, anatomy
        self.call = 0
        self.input: tuple[tuple[str, Value], ...] = ()
        self.state: tuple[tuple[str, Value], ...] = ()
        self.output: Value | None = None  # of a stage that came to its end
        self.children: list[Running] = []
        self.taken: Counter[str] = Counter()  # calls of each place, by this stage

    def moved(self, old: str, new: str) -> Running:
        """The same, inside of another stage: with `new` in place of the beginning `old` of its path."""
        other = copy.copy(self)
        inside = self.path.startswith(f"{old}.") if old else True
        other.path = f"{new}.{self.path.removeprefix(f'{old}.')}".lstrip(".") if inside else self.path
        other.children = [child.moved(old, new) for child in self.children]
        return other


class StageWatch(Watch):
    """While it is entered, the calls of all modules are noted. `show` gives the paths of files in messages."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self._show = show
        self._patched: list[tuple[type, Any]] = []
        self._stack: list[Running] = []
        self._top: list[Running] = []
        self._roots: list[Anatomy] = []
        self._counts: Counter[str] = Counter()
        self._once = Once()
        self._by_key: dict[Hashable, Running] = {}

    def __enter__(self) -> StageWatch:
        base = module_class()
        todo, seen = ([base] if base is not None else []), set()
        while todo:
            cls = todo.pop()
            if cls in seen:
                continue
            seen.add(cls)
            todo += type.__subclasses__(cls)
            call = vars(cls).get("__call__")
            if call is None or getattr(call, "__isabstractmethod__", False):
                continue
            if not _is_plumbing(cls):
                self._patched.append((cls, call))
                type.__setattr__(cls, "__call__", self._watched(call))
            elif cls.__name__ == _JIT:
                self._patched.append((cls, call))
                type.__setattr__(cls, "__call__", _renewing(call))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for cls, call in self._patched:
            type.__setattr__(cls, "__call__", call)
        self._patched = []

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""
        self._stack, self._top, self._roots = [], [], []
        self._counts = Counter()
        self._once = Once()
        self._by_key = {}

    def know(self, name: str, model: Any) -> None:
        """What is called from outside may be a part of this, which is known as `name`."""
        if not self._stack:
            self._top = []  # what ran while it was constructed is no stage of it
        base = module_class()
        if base is not None and isinstance(model, base):
            self._roots.append(Anatomy(model, name, base))

    def method(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose first argument is a model, as a stage of its own."""
        return self._watched(function)

    def finish(self) -> tuple[Stage, ...]:
        """The stages that ran to their end since `begin`."""
        return tuple(self._stages(self._top))

    def _watched(self, call: Any) -> Callable[..., Any]:
        watch = self

        def plain(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            watch._entered(module)
            return call.__get__(module, type(module))(*args, **kwargs)

        def watched(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return watch._run(self, plain, call, args, kwargs)

        return functools.wraps(call)(watched)

    def _run(
        self, module: Any, plain: Callable[..., Any], call: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if self._stack and self._stack[-1].module is module:  # super().__call__(...)
            return plain(module, *args, **kwargs)
        stage = self._opened(module, sys._getframe(2))
        given = list(_named(call, (module, *args), kwargs))[1:]
        # At once: a state cannot be looked at any more when there is a newer one.
        stage.input = tuple((name, _described(value)) for name, value in given if not is_state(value))
        stage.state = tuple((name, _described(value)) for name, value in given if is_state(value))
        self._stack.append(stage)
        try:
            result, key = self._once.call(plain, (module, *args), kwargs)
        finally:
            self._stack.pop()
        stage.output = _described(result)
        self._recall(stage, key)
        return result

    def _entered(self, module: Any) -> None:
        """JAX may have rebuilt the module, and so those inside of it."""
        stage, base = self._stack[-1] if self._stack else None, module_class()
        if stage is not None and stage.module is not module and base is not None:
            stage.module, stage.anatomy = module, Anatomy(module, stage.path, base)

    def _recall(self, stage: Running, key: Hashable) -> None:
        """What ran inside an equal stage ran inside this one, if JAX had no need to look again."""
        if key is None:
            return
        earlier = self._by_key.setdefault(key, stage)
        if earlier is not stage and not stage.children:
            stage.children = [child.moved(earlier.path, stage.path) for child in earlier.children]

    def _opened(self, module: Any, frame: FrameType | None) -> Running:
        parent = self._stack[-1] if self._stack else None
        found = around(frame, lambda f: f.f_code is StageWatch._run.__code__)
        siblings = parent.children if parent is not None else self._top
        _drop_retraced(siblings, found)
        path, holder = self._place(module, [each.size for each in found])
        if holder is not None:
            holder.taken[path] += 1
        base = module_class()
        stage = Running(path, module, found, Anatomy(module, path, base) if base is not None else None)
        siblings.append(stage)
        return stage

    def _place(self, module: Any, sizes: Sequence[str]) -> tuple[str, Running | None]:
        for holder in reversed(self._stack):
            if holder.anatomy is None:
                continue
            found = holder.anatomy.path(module, holder.taken, sizes)
            if found is not None:
                return found, holder
        for anatomy in self._roots:
            found = anatomy.path(module, self._counts, sizes)
            if found is not None:
                self._counts[found] += 1
                return found, None
        above = self._stack[-1].path if self._stack else ""
        return f"{above}.{type(module).__name__}()".lstrip("."), None

    def _stages(self, found: Sequence[Running]) -> Iterator[Stage]:
        calls: Counter[str] = Counter()
        for running in found:
            if running.output is None:
                continue
            cls = type(running.module)
            name = cls.__qualname__.rpartition("<locals>.")[2]
            count, size = parameters(self._original(running))
            yield Stage(
                running.path,
                name,
                running.path.rpartition(".")[2],
                f"{name}.__call__",
                calls[running.path],
                tuple(each.text for each in running.around),
                running.input,
                running.state,
                running.output,
                count,
                size,
                self._source(cls),
                tuple(self._stages(running.children)),
            )
            calls[running.path] += 1

    def _original(self, running: Running) -> Any:
        """The module as it lies in the model: under `vmap` and `scan`, that which was called has a part of it."""
        for anatomy in self._roots:
            if running.path in anatomy.modules:
                return anatomy.modules[running.path]
        return running.module

    def _source(self, cls: type) -> Frame | None:
        function = inspect.unwrap(vars(cls).get("__call__") or cls.__call__)
        code = getattr(function, "__code__", None)
        if code is None:
            return None
        path = self._show(code.co_filename).rpartition(f"site-packages{os.sep}")[2]  # the same on all machines
        return Frame(path, code.co_firstlineno, cls.__qualname__)


def _drop_retraced(siblings: list[Running], found: Sequence[Around]) -> None:
    """JAX may trace the body of a loop several times: the last time counts."""
    if found:
        frame, inside = found[0].frame, found[0].inside
        siblings[:] = [
            s for s in siblings if not s.around or s.around[0].frame is not frame or s.around[0].inside is inside
        ]


def _renewing(call: Any) -> Callable[..., Any]:
    """A jitted function that JAX traces each time: equal stages go through one and the same."""

    def traced(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with renewed():
            return call.__get__(self, type(self))(*args, **kwargs)

    return functools.wraps(call)(traced)


def _described(value: Any) -> Value:
    """What a stage sees of a value: not the axes over which it is mapped."""
    return _unmapped(describe(value))


def _unmapped(value: Value) -> Value:
    if isinstance(value, TreeValue):
        return dataclasses.replace(value, children=tuple(map(_unmapped, value.children)))
    return dataclasses.replace(value, mapped=()) if isinstance(value, ArrayValue) and value.mapped else value


def _is_plumbing(cls: type) -> bool:
    """Whether a module is one of those that Equinox makes of functions: bound methods, `filter_vmap(f)`."""
    return cls.__module__.startswith("equinox.") and not cls.__module__.startswith("equinox.nn.")


def _named(call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments with the names of their parameters; keys for random numbers that are None are left out."""
    found: dict[str, Any] = {}
    try:
        signature = inspect.signature(call)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                found.update({f"{name}[{index}]": part for index, part in enumerate(value)})
            else:
                found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    except (TypeError, ValueError):
        found = {**{f"[{index}]": part for index, part in enumerate(args)}, **kwargs}
    yield from ((name, value) for name, value in found.items() if value is not None)
