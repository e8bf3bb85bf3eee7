"""The stages of an evaluation: every step of a model that its framework shows, nested, with its place in the model."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType

import jax

from shapecheck.evaluate.framework_protocol import Framework, Function, framework_of_module, loaded_frameworks
from shapecheck.evaluate.probes.recorder import Watch
from shapecheck.evaluate.stages import stage_records
from shapecheck.evaluate.stages.jax_transforms import around, fresh_traces, is_jitted, is_traced
from shapecheck.evaluate.stages.model_paths import ModelPaths, is_module, parameters
from shapecheck.evaluate.stages.stacked_parameters import StackedParameters
from shapecheck.evaluate.stages.stage_cost import Cost, cost, scope_name
from shapecheck.evaluate.stages.stage_memo import StageMemo
from shapecheck.evaluate.stages.stage_records import Label, OpenStage, StageStep
from shapecheck.model import Frame, Stage

_numbers = itertools.count()

StageSource = Callable[["StageRecorder"], contextlib.AbstractContextManager[None]]
Runner = Callable[[OpenStage, Callable[..., object], Sequence[object], Mapping[str, object]], object]
Parameter = Callable[[str, object], object]

_scope = jax.named_scope  # as it is while nobody watches


class StageRecorder(Watch):
    """While it is entered, the steps that the `frameworks` show are noted. `show` gives files' paths in messages.

    With `flops` it is counted what each costs. With a `runner`, which is handed each stage and runs it, this watches
    a program that computes: nothing is noted, and nothing left out. `parameter` is handed, and gives back, each
    parameter that a stage takes out of what its framework holds for it.
    """

    def __init__(
        self,
        frameworks: Sequence[StageSource],
        show: Callable[[str], str],
        *,
        flops: bool = False,
        runner: Runner | None = None,
        parameter: Parameter | None = None,
    ) -> None:
        self._frameworks, self._show, self.flops = frameworks, show, flops
        self.runner, self.parameter = runner, parameter
        self._thread = 0
        self._name = ""  # of the attempt, to JAX
        self._renewals: contextlib.ExitStack | None = None  # during an attempt
        self._plain = False
        self.stacks = StackedParameters(self.is_mine)
        self.traced = False  # whether there were stages that JAX may recall
        self._entered = contextlib.ExitStack()
        self._wrap: list[Callable[[Callable[..., object]], Callable[..., object]]] = []
        self._kinds: dict[Hashable, int] = {}  # of whole models
        self.begin()

    def __enter__(self) -> StageRecorder:
        self._thread, self._plain = threading.get_ident(), False
        with contextlib.ExitStack() as stack:
            if self.runner is None:
                stack.enter_context(self.stacks.observe_scans())
            for framework in self._frameworks:
                stack.enter_context(framework(self))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wrap, self._thread = [], 0
        self._entered.close()

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""
        self._stack: list[OpenStage] = []
        self._top: list[OpenStage] = []
        self._places = StagePlaces()
        self._once = StageMemo()
        self._once.off = self._plain
        self._by_key: dict[Hashable, OpenStage] = {}
        self._whole: StageStep | None = None
        self._labels: dict[int, tuple[object, Label]] = {}
        self._numbers = itertools.count()
        self._cost: Cost | None = None

    def evaluate(self, function: Callable[..., object], *args: object) -> None:
        """Evaluate `function(*args)` abstractly, and count what it costs, if that is asked for."""
        if self.flops:
            self._cost = cost(jax.make_jaxpr(function)(*args))
        else:
            super().evaluate(function, *args)

    def know(self, name: str, model: object) -> None:
        """What is called from outside may be a part of this, which is known as `name`."""
        if not self._stack:
            self._top = []  # what ran while it was constructed is no stage of it
        self._places.know(name, model)

    def wrap(self, wrapper: Callable[[Callable[..., object]], Callable[..., object]]) -> None:
        """Let `method` make stages by `wrapper`."""
        self._wrap.append(wrapper)

    def method(self, function: Callable[..., object]) -> Callable[..., object]:
        """`function`, whose first argument is a model, as a stage of its own."""
        for wrapper in self._wrap:
            function = wrapper(function)
        return function

    def function(self, function: Callable[..., object]) -> Callable[..., object]:
        """`function`, as a stage if nothing inside of it is one."""

        def run_whole(*args: object, **kwargs: object) -> object:
            name = stage_records.function_name(function)
            given = tuple(
                (n, stage_records.describe_unmapped(value))
                for n, value in stage_records.arguments(function, args, kwargs)
            )
            self._whole = StageStep(
                type=name, callable=name, part=None, source=self.origin(function, name), path="", input=given
            )
            return self.run_stage(self._whole, function, args, kwargs)

        return run_whole

    @contextlib.contextmanager
    def attempt(self, name: str = "") -> Iterator[None]:
        """Around each evaluation: what JAX recalls is what it traced meanwhile, or in attempts of the same `name`."""
        self._name = name or f"attempt-{next(_numbers)}"
        try:
            with contextlib.ExitStack() as self._renewals:
                self._renewals.enter_context(fresh_traces(self._name))
                yield
        finally:
            self._renewals = None

    def retry(self) -> bool:
        """Whether an evaluation failed that left calls out: it runs once more, and no other will leave out any."""
        again = self._once.used and not self._plain
        self._plain = self._plain or again
        return again

    def finish(self) -> tuple[Stage, ...]:
        """The stages that ran to their end since `begin`."""
        whole = self._top[0] if len(self._top) == 1 else None
        top = whole.children if whole is not None and whole.step is self._whole and whole.children else self._top
        return tuple(stage_records.stages(top, self._count, self._cost))

    def top(self) -> OpenStage | None:
        """The innermost stage that is under way."""
        return self._stack[-1] if self._stack and self.is_mine() else None

    def is_mine(self) -> bool:
        """Whether this is the thread that is watched. Others may call the same classes meanwhile."""
        return threading.get_ident() == self._thread

    def expect(self, part: object, label: Label) -> None:
        """The next run of `part` has this label."""
        self._labels[id(part)] = part, label

    def expected_label(self, part: object) -> Label | None:
        """The label of the run of `part` that begins now."""
        found = self._labels.pop(id(part), None)
        return found[1] if found is not None and found[0] is part else None

    def origin(self, function: object, name: str) -> Frame | None:
        """Where a function is written."""
        return stage_records.origin(function, name, self._show)

    def line(self, frame: FrameType) -> Frame:
        """The line that `frame` is at."""
        return Frame(
            stage_records.shown_path(frame.f_code.co_filename, self._show), frame.f_lineno, frame.f_code.co_name
        )

    def step_of(
        self,
        part: object,
        method: str,
        function: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> StageStep:
        """The call of a method, which is `function`, of a part of a model: its framework adds what it knows besides."""
        cls = type(part)
        name = stage_records.short(cls)
        given = list(stage_records.arguments(function, (part, *args), kwargs))[1:]
        return StageStep(
            type=name,
            callable=f"{name}.{method}",
            part=part,
            source=self.origin(function, cls.__qualname__),
            input=tuple((n, stage_records.describe_unmapped(value)) for n, value in given),
        )

    def run_stage(
        self,
        step: StageStep,
        function: Callable[..., object],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        once: bool = False,
    ) -> object:
        """The result of `function(*args, **kwargs)`, which is the stage `step`.

        With `once`, what was evaluated already with equal arguments is not evaluated again.
        """
        if not self.is_mine():
            return function(*args, **(kwargs or {}))
        stage = self.open(step, sys._getframe(1))
        if self.runner is not None:
            try:
                with self._apart(stage):
                    return self.runner(stage, function, args, kwargs or {})
            finally:
                self.close(stage)
                self._siblings().clear()
        key: Hashable = None
        try:
            if once:
                result, key = self._once.call(function, args, kwargs or {}, forget=stage.forget)
            else:
                result = function(*args, **(kwargs or {}))
        finally:
            self.close(stage)
        stage.output = stage_records.describe_unmapped(result)
        self._recall(stage, key)
        return result

    def open(self, step: StageStep, frame: FrameType | None) -> OpenStage:
        """A stage begins, called from `frame`."""
        stage = self._open_stage(step, frame)
        self._stack.append(stage)
        if self.flops:
            stage.scope = _scope(scope_name(stage.number))
            stage.scope.__enter__()
        return stage

    def close(self, stage: OpenStage) -> None:
        """It is over. One without an output did not come to its end."""
        while self._stack:
            ended = self._stack.pop()
            ended.scope.__exit__(None, None, None)
            if ended is stage:
                break
        self.traced |= stage.traced
        if stage.traced and self._renewals is not None:
            # A jitted function, or the body of a loop: when it is called with another module like this one, JAX
            # shall not recall what it traced here.
            self._renewals.enter_context(fresh_traces())  # until the attempt is over
            self._once.under = functools.partial(fresh_traces, self._name)

    def make(self, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """The result of a construction, which is not run again if it repeats earlier ones."""
        if self.runner is not None or not self.is_mine():
            return function(*args, **kwargs)
        return self._once.make(function, args, kwargs)

    def note_rebuilt(self, part: object) -> None:
        """The innermost stage runs with `part`: JAX may have rebuilt it, and so those inside of it."""
        stage = self.top()
        if stage is not None and stage.part is not part:
            stage.part, stage.model_paths = part, ModelPaths(part, stage.lies)

    def _apart(self, stage: OpenStage) -> contextlib.AbstractContextManager[None]:
        """Around a whole model: what JAX traced inside of one of another kind has the names that parts have there."""
        if len(self._stack) > 1 or stage.model_paths is None:
            return contextlib.nullcontext()
        kind = tuple((place, type(part)) for place, part in stage.model_paths.modules.items())
        number = self._kinds.setdefault(kind, len(self._kinds))
        return fresh_traces(f"model-{number}") if number else contextlib.nullcontext()

    def _recall(self, stage: OpenStage, key: Hashable) -> None:
        """What ran inside an equal stage ran inside this one, if JAX had no need to look again.

        The latest into which JAX looked is the one that it has in its caches.
        """
        if key is None:
            return
        if stage.children:
            self._by_key[key] = stage
            return
        earlier = self._by_key.setdefault(key, stage)
        stage.children = [child.move(earlier.path, stage.path) for child in earlier.children]

    def _open_stage(self, step: StageStep, frame: FrameType | None) -> OpenStage:
        parent, siblings = self.top(), self._siblings()
        found = around(frame, lambda f: f.f_code is StageRecorder.run_stage.__code__)
        stage_records.drop_retraced(siblings, found)
        lies = step.path
        if lies is None and parent is None and self.runner is not None and not self._places.roots:
            lies = ""  # a program calls whole models
        elif lies is None and is_module(step.part):
            lies = self._places.find(step.part, self._stack, [each.size for each in found])
        path = lies or ""
        if step.label is not None:
            path = f"{parent.path}.{step.label.name}".lstrip(".") if parent is not None else step.label.name
        lies = path if lies is None else lies
        model_paths = ModelPaths(step.part, lies) if is_module(step.part) else None
        stage = OpenStage(next(self._numbers), step, lies, path, found, model_paths)
        if model_paths is not None and self.runner is None and not self._places.have(lies):
            stage.held = parameters(
                step.part, self.stacks.with_stacks
            )  # now: afterwards nobody knows of what it is a slice
        siblings.append(stage)
        stage.traced = is_traced(
            frame, lambda f: f.f_code in (StageRecorder.run_stage.__code__, StageMemo.repeat.__code__)
        )
        stage.jitted = parent is not None and is_jitted(frame, lambda f: f.f_code is StageRecorder.run_stage.__code__)
        return stage

    def _siblings(self) -> list[OpenStage]:
        parent = self.top()
        return parent.children if parent is not None else self._top

    def _count(self, stage: OpenStage) -> tuple[int, int]:
        if stage.step.count is not None:
            return stage.step.count()
        if not is_module(stage.part):
            return 0, 0
        return self._places.count(stage)


class StagePlaces:
    """The models that are known by a name, and how often each place in them was taken."""

    def __init__(self) -> None:
        self.roots: list[ModelPaths] = []
        self._times_taken: Counter[str] = Counter()

    def know(self, name: str, model: object) -> None:
        """What is called from outside may be a part of this."""
        model_paths = ModelPaths(model, name)
        if model_paths.modules:
            self.roots.append(model_paths)

    def have(self, place: str) -> bool:
        """Whether a known model has a part there."""
        return any(place in root.modules for root in self.roots)

    def find(self, part: object, around: Sequence[OpenStage], sizes: Sequence[str]) -> str:
        """Where `part` lies, which runs inside of the stages `around` it, mapped over axes of these sizes."""
        holders = [(each.model_paths, each.taken) for each in reversed(around) if each.model_paths is not None]
        holders += [(model_paths, self._times_taken) for model_paths in self.roots]
        # The part itself, anywhere, is better than one like it nearby.
        for model_paths, taken in holders:
            found = model_paths.place(part)
            if found is not None:
                taken[found] += 1
                return found
        for holder in reversed(around):
            like = holder.model_paths.alike(part, holder.taken, sizes) if holder.model_paths is not None else None
            if like is not None:
                holder.taken[like[2]] += 1
                return like[2]
        likely = [like for a in self.roots if (like := a.alike(part, self._times_taken, sizes)) is not None]
        if likely:
            found = min(likely, key=lambda rank: rank[:2])[2]
            self._times_taken[found] += 1
            return found
        above = around[-1].path if around else ""
        return f"{above}.{type(part).__name__}()".lstrip(".")

    def count(self, stage: OpenStage) -> tuple[int, int]:
        """What the part holds as it lies in its model: under `vmap` and `scan`, that which ran has a share of it."""
        for model_paths in self.roots:
            if stage.lies in model_paths.modules:
                return parameters(model_paths.modules[stage.lies])
        return stage.held or parameters(stage.part)


class StagedFramework(Framework):
    """A framework whose calls of modules are stages."""

    def record_stages(self, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
        """Meanwhile each call of a module is a stage that `watch` is told of."""
        return contextlib.nullcontext()

    def run_template(self, pair: object, watch: Watch | None) -> Function | None:
        """What runs a pair (init, apply) of which `apply` is no function, but several; None if it is none of its."""
        return None


@contextlib.contextmanager
def record_stages(watch: StageRecorder) -> Iterator[None]:
    """Meanwhile `watch` is told of the stages of all that are loaded."""
    with contextlib.ExitStack() as stack:
        for each in _staged_frameworks():
            stack.enter_context(each.record_stages(watch))
        yield


def record_stages_of(module: str, watch: StageRecorder) -> contextlib.AbstractContextManager[None]:
    """Meanwhile `watch` is told of the stages of the framework whose module this is."""
    framework = framework_of_module(module)
    return framework.record_stages(watch) if isinstance(framework, StagedFramework) else contextlib.nullcontext()


def run_template(pair: object, watch: Watch | None) -> Function | None:
    """What runs a pair (init, apply) of which `apply` is no function, but several, if a framework knows how."""
    return next(filter(None, (each.run_template(pair, watch) for each in _staged_frameworks())), None)


def _staged_frameworks() -> Iterator[StagedFramework]:
    return (each for each in loaded_frameworks() if isinstance(each, StagedFramework))
