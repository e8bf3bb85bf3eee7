"""The stages of an evaluation: every step of a model that its framework shows, nested, with its place in the model."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

import jax

from shapecheck.facts import Frame, Stage
from shapecheck.stage.observe.recorder import Watch
from shapecheck.stage.staging import running
from shapecheck.stage.staging.anatomy import Anatomy, is_module, parameters
from shapecheck.stage.staging.flops import Cost, cost, scope_name
from shapecheck.stage.staging.once import Once
from shapecheck.stage.staging.running import Label, Running, Step
from shapecheck.stage.staging.transforms import Around, around

Framework = Callable[["StageWatch"], contextlib.AbstractContextManager[None]]

_scope = jax.named_scope  # as it is while nobody watches


class StageWatch(Watch):
    """While it is entered, the steps that the `frameworks` show are noted. `show` gives files' paths in messages.

    With `flops` it is counted what each costs.
    """

    def __init__(self, frameworks: Sequence[Framework], show: Callable[[str], str], *, flops: bool = False) -> None:
        self._frameworks, self._show, self.flops = frameworks, show, flops
        self._entered = contextlib.ExitStack()
        self._wrap: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []
        self.begin()

    def __enter__(self) -> StageWatch:
        with contextlib.ExitStack() as stack:
            for framework in self._frameworks:
                stack.enter_context(framework(self))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""
        self._stack: list[Running] = []
        self._top: list[Running] = []
        self._roots: list[Anatomy] = []
        self._counts: Counter[str] = Counter()
        self._once = Once()
        self._by_key: dict[Hashable, Running] = {}
        self._labels: dict[int, tuple[Any, Label]] = {}
        self._numbers = itertools.count()
        self._cost: Cost | None = None

    def evaluate(self, function: Callable[..., Any], *args: Any) -> None:
        """Evaluate `function(*args)` abstractly, and count what it costs, if that is asked for."""
        if self.flops:
            self._cost = cost(jax.make_jaxpr(function)(*args))
        else:
            super().evaluate(function, *args)

    def know(self, name: str, model: Any) -> None:
        """What is called from outside may be a part of this, which is known as `name`."""
        if not self._stack:
            self._top = []  # what ran while it was constructed is no stage of it
        if is_module(model):
            self._roots.append(Anatomy(model, name))

    def wrap(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Let `method` make stages by `wrapper`."""
        self._wrap.append(wrapper)

    def method(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose first argument is a model, as a stage of its own."""
        for wrapper in self._wrap:
            function = wrapper(function)
        return function

    def finish(self) -> tuple[Stage, ...]:
        """The stages that ran to their end since `begin`."""
        return tuple(running.stages(self._top, self._count, self._cost))

    def top(self) -> Running | None:
        """The innermost stage that is under way."""
        return self._stack[-1] if self._stack else None

    def expect(self, part: Any, label: Label) -> None:
        """The next run of `part` has this label."""
        self._labels[id(part)] = part, label

    def expected(self, part: Any) -> Label | None:
        """The label of the run of `part` that begins now."""
        found = self._labels.pop(id(part), None)
        return found[1] if found is not None and found[0] is part else None

    def origin(self, function: Any, name: str) -> Frame | None:
        """Where a function is written."""
        return running.origin(function, name, self._show)

    def line(self, frame: FrameType) -> Frame:
        """The line that `frame` is at."""
        return Frame(running.shown(frame.f_code.co_filename, self._show), frame.f_lineno, frame.f_code.co_name)

    def run(
        self,
        step: Step,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        once: bool = False,
    ) -> Any:
        """The result of `function(*args, **kwargs)`, which is the stage `step`.

        With `once`, what was evaluated already with equal arguments is not evaluated again.
        """
        stage = self.open(step, sys._getframe(1))
        key: Hashable = None
        try:
            if once:
                result, key = self._once.call(function, args, kwargs or {}, stage.forget)
            else:
                result = function(*args, **(kwargs or {}))
        finally:
            self.close(stage)
        stage.output = running.described(result)
        self._recall(stage, key)
        return result

    def open(self, step: Step, frame: FrameType | None) -> Running:
        """A stage begins, called from `frame`."""
        stage = self._opened(step, frame)
        self._stack.append(stage)
        if self.flops:
            stage.scope = _scope(scope_name(stage.number))
            stage.scope.__enter__()
        return stage

    def close(self, stage: Running) -> None:
        """It is over. One without an output did not come to its end."""
        while self._stack:
            ended = self._stack.pop()
            ended.scope.__exit__(None, None, None)
            if ended is stage:
                break

    def make(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a construction, which is not run again if it repeats earlier ones."""
        return self._once.make(function, args, kwargs)

    def rebuilt(self, part: Any) -> None:
        """The innermost stage runs with `part`: JAX may have rebuilt it, and so those inside of it."""
        stage = self.top()
        if stage is not None and stage.part is not part:
            stage.part, stage.anatomy = part, Anatomy(part, stage.lies)

    def _recall(self, stage: Running, key: Hashable) -> None:
        """What ran inside an equal stage ran inside this one, if JAX had no need to look again.

        The latest into which JAX looked is the one that it has in its caches.
        """
        if key is None:
            return
        if stage.children:
            self._by_key[key] = stage
            return
        earlier = self._by_key.setdefault(key, stage)
        stage.children = [child.moved(earlier.path, stage.path) for child in earlier.children]

    def _opened(self, step: Step, frame: FrameType | None) -> Running:
        parent = self.top()
        found = around(frame, lambda f: f.f_code is StageWatch.run.__code__)
        siblings = parent.children if parent is not None else self._top
        _drop_retraced(siblings, found)
        lies = step.path
        if lies is None and is_module(step.part):
            lies = self._place(step.part, [each.size for each in found])
        path = lies or ""
        if step.label is not None:
            path = f"{parent.path}.{step.label.name}".lstrip(".") if parent is not None else step.label.name
        lies = path if lies is None else lies
        anatomy = Anatomy(step.part, lies) if is_module(step.part) else None
        stage = Running(next(self._numbers), step, lies, path, found, anatomy)
        siblings.append(stage)
        return stage

    def _place(self, part: Any, sizes: Sequence[str]) -> str:
        for holder in reversed(self._stack):
            if holder.anatomy is None:
                continue
            found = holder.anatomy.path(part, holder.taken, sizes)
            if found is not None:
                holder.taken[found] += 1
                return found
        for anatomy in self._roots:
            found = anatomy.path(part, self._counts, sizes)
            if found is not None:
                self._counts[found] += 1
                return found
        above = self._stack[-1].path if self._stack else ""
        return f"{above}.{type(part).__name__}()".lstrip(".")

    def _count(self, stage: Running) -> tuple[int, int]:
        """What the part holds as it lies in the model: under `vmap` and `scan`, that which ran has a share of it."""
        if stage.step.count is not None:
            return stage.step.count()
        if not is_module(stage.part):
            return 0, 0
        for anatomy in self._roots:
            if stage.lies in anatomy.modules:
                return parameters(anatomy.modules[stage.lies])
        return parameters(stage.part)


def _drop_retraced(siblings: list[Running], found: Sequence[Around]) -> None:
    """JAX may trace the body of a loop several times: the last time counts. Branches are several functions."""
    if found and not found[0].branches:
        frame, inside = found[0].frame, found[0].inside
        siblings[:] = [
            s for s in siblings if not s.around or s.around[0].frame is not frame or s.around[0].inside is inside
        ]
