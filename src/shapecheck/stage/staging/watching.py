"""The stages of an evaluation: every call of an Equinox module, nested, with its place in the model."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

from shapecheck.facts import Frame, Stage, Value
from shapecheck.stage.observe.recorder import Watch
from shapecheck.stage.observe.values import describe
from shapecheck.stage.search.entries import module_class
from shapecheck.stage.staging.anatomy import Anatomy, parameters
from shapecheck.stage.staging.transforms import Around, around


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


class StageWatch(Watch):
    """While it is entered, the calls of all modules are noted. `show` gives the paths of files in messages."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self._show = show
        self._patched: list[tuple[type, Any]] = []
        self._stack: list[Running] = []
        self._top: list[Running] = []
        self._roots: list[Anatomy] = []
        self._counts: Counter[str] = Counter()

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
            if call is not None and not getattr(call, "__isabstractmethod__", False) and not _is_plumbing(cls):
                self._patched.append((cls, call))
                type.__setattr__(cls, "__call__", self._watched(call))
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

        def watched(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return watch._run(self, call.__get__(self, type(self)), args, kwargs)

        return functools.wraps(call)(watched)

    def _run(self, module: Any, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self._stack and self._stack[-1].module is module:  # super().__call__(...)
            return call(*args, **kwargs)
        stage = self._opened(module, sys._getframe(2))
        given = list(_named(call, args, kwargs))
        # At once: a state cannot be looked at any more when there is a newer one.
        stage.input = tuple((name, describe(value)) for name, value in given if not _is_state(value))
        stage.state = tuple((name, describe(value)) for name, value in given if _is_state(value))
        self._stack.append(stage)
        try:
            result = call(*args, **kwargs)
        finally:
            self._stack.pop()
        stage.output = describe(result)
        return result

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
        return Frame(self._show(code.co_filename), code.co_firstlineno, cls.__qualname__) if code is not None else None


def _drop_retraced(siblings: list[Running], found: Sequence[Around]) -> None:
    """JAX may trace the body of a loop several times: the last time counts."""
    if found:
        frame, inside = found[0].frame, found[0].inside
        siblings[:] = [
            s for s in siblings if not s.around or s.around[0].frame is not frame or s.around[0].inside is inside
        ]


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


def _is_state(value: Any) -> bool:
    equinox: Any = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.nn.State)
