"""What the parts of a session share that run what the user named: how it is found, what models are, how it is run."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from shapecheck.evaluate.inputs.project.entries import nearest
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.synthesis.made_integers import DEFAULTS_FIRST
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes, UnknownSizeError
from shapecheck.evaluate.inputs.trials.trial import CallSpec
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import Recorder, Watch
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.evaluate.session.parameter_specs import ParameterSpecs
from shapecheck.evaluate.stages import named_scopes, stage_records
from shapecheck.evaluate.stages.stage_recorder import Runner, StageRecorder, record_stages
from shapecheck.worker.messages.plans import EntryPlan, WorkerSettings


class NameGoneError(ExampleError):
    """The module is there, and has no such name."""


def resolve_target(call: str, importer: PlanImporter, *, installed: bool = False) -> object:
    """Import the module and look the name up; with `installed`, of other modules than the planned ones too.

    Raises ExampleError for what is not there, with the nearest name that is: NameGoneError if only the name is missing.
    """
    where, _, name = call.rpartition(":")
    plan = next((p for p in importer.plans.values() if where in (p.name, p.path)), None)
    if plan is not None:
        importer.activate(plan.root)
        module = _import_for_target(where, lambda: importer.load(plan))
    elif installed:
        module = _import_for_target(where, lambda: importlib.import_module(where))
    else:
        near = nearest(where, [p.name for p in importer.plans.values()]) or ' (the form is "pkg.mod:name")'
        raise ExampleError(f"no checked file is the module {where!r}{near}")
    value: object = module
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            near = nearest(part, [n for n in vars(module) if not n.startswith("_")])
            raise NameGoneError(f"{where} has no {name!r}{near}")
    return value


def target(call: str, importer: PlanImporter) -> tuple[object, object]:
    """What a target names, which may lie in an installed module, and of a method its class.

    Of a method of what a function makes it is the function, and the method's name. Else the second is None.
    """
    holder, _, method = call.rpartition(".")
    try:
        found = resolve_target(call, importer, installed=True)
    except NameGoneError:
        factory = resolve_target(holder, importer, installed=True) if ":" in holder else None
        if not inspect.isfunction(factory):
            raise
        return factory, method
    return found, resolve_target(holder, importer, installed=True) if ":" in holder else None


def _import_for_target(where: str, load: Callable[[], ModuleType]) -> ModuleType:
    try:
        return load()
    except TimeLimitError:
        raise
    except BaseException as error:  # a module body may raise anything
        if is_own(error):
            raise
        raise ExampleError(f"importing {where} raised {describe_error(error)}") from None


USER_ERRORS = (CannotSynthesiseError, UnknownSizeError, ExampleError)
"""What is wrong with a request, and the user can mend."""


@dataclass(frozen=True, kw_only=True)
class TargetContext:
    """The project as a session sees it: what may be imported, what comments say, which classes there are."""

    importer: PlanImporter
    recorder: Recorder
    settings: WorkerSettings
    described: ParameterSpecs
    subclasses: Callable[[type], Sequence[type]]

    def models(
        self,
        made: InventedSizes,
        *,
        sizes: Mapping[str, int] | None = None,
        constructions: tuple[int, ...] = DEFAULTS_FIRST,
        build: Callable[[LazyCall], object] | None = None,
    ) -> Models:
        """What constructs models; `sizes` go before those of the configuration."""
        pinned = {**self.settings.sizes, **(sizes or {})}
        hints = self.described.hints
        return Models(self.recorder, pinned, self.described, self.subclasses, made, constructions, build, hints=hints)

    def invented_before(self, own: set[int] | None = None) -> InventedSizes:
        """Sizes that are made up, beginning with those that an earlier evaluation made up."""
        made = self.settings.made
        return InventedSizes(made.get("integers", {}), made.get("dims", {}), own=own)

    def find(self, call: str, watch: StageRecorder) -> tuple[object, object]:
        """What `call` names, and its owner; functions that it decorates while it is imported are stages."""
        with named_scopes.record_stages(watch):
            return target(call, self.importer)

    def search(self, call: str, spec: CallSpec, seconds: float, origin: str = "template") -> EntrySearch:
        """The search for sizes with which it runs."""
        whole = origin == "compare"
        entry = EntryPlan(key=origin, target=call, origin=origin, path="", line=1, scope=None, whole=whole)
        return EntrySearch(entry, spec, self.recorder, seconds)

    @contextlib.contextmanager
    def watch_with(self, watch: StageRecorder) -> Iterator[None]:
        """While it is entered, `watch` sees each stage, and claims see nothing."""
        with watch, named_scopes.record_stages(watch), self.recorder.pause():
            self.recorder.watch = watch
            self.recorder.begin()
            try:
                yield
            finally:
                self.recorder.watch = Watch()


class ArgumentRecorder(StageRecorder):
    """Records stages, and with which arguments the first call from outside is made: `given`, once it `was_called`.

    `parameters` are how many of its first arguments are no data; `settle` is handed what the call results in.
    """

    def __init__(
        self,
        show: Callable[[str], str],
        *,
        runner: Runner | None = None,
        settle: Callable[[object], object] = lambda result: result,
    ) -> None:
        super().__init__((record_stages,), show, runner=runner)
        self.given: dict[str, object] = {}
        self.was_called = False
        self.parameters = 0
        self._settle = settle

    def method(self, function: Callable[..., object]) -> Callable[..., object]:
        """As it is called, with what it is given in mind."""
        return self._note_call(super().method(function), function, 1)

    def function(self, function: Callable[..., object]) -> Callable[..., object]:
        """As it is called, with what it is given in mind."""
        return self._note_call(super().function(function), function, 0)

    def _note_call(
        self, called: Callable[..., object], function: Callable[..., object], own: int
    ) -> Callable[..., object]:
        def note_and_call(*args: object, **kwargs: object) -> object:
            if not self.was_called:
                self.was_called = True
                self.given = dict(list(stage_records.arguments(function, args, kwargs))[own + self.parameters :])
            return self._settle(called(*args, **kwargs))

        return note_and_call
