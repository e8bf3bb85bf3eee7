"""What the worker can do for its parent: import a module, list entries, evaluate one."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec

import jax

from shapecheck.evaluate.framework_protocol import is_abstract
from shapecheck.evaluate.global_state import GlobalState, differences, jax_settings
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, explain, line_in
from shapecheck.evaluate.jax_internals import has_computed, keep_own_traces
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import HANDLE, raise_own
from shapecheck.evaluate.playground import copy_for_writing, link_again, playground
from shapecheck.evaluate.probes import disable_typecheckers
from shapecheck.evaluate.probes.attribute_access import read_attribute
from shapecheck.evaluate.probes.monkeypatch import is_in_place, subclasses
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.user_caches import let_pass_unhashable
from shapecheck.evaluate.process_damage import ProcessDamage
from shapecheck.evaluate.read_only_disk import install_guard, read_only
from shapecheck.evaluate.scratch_folders import lasting_folder
from shapecheck.evaluate.session import standard_streams
from shapecheck.evaluate.session.call_session import CallSession
from shapecheck.evaluate.session.comparison_session import ComparisonSession
from shapecheck.evaluate.session.entry_session import EntrySession
from shapecheck.evaluate.session.parameter_specs import ParameterSpecs
from shapecheck.evaluate.session.sample_session import SampleSession
from shapecheck.evaluate.session.target_context import TargetContext
from shapecheck.evaluate.session.template_session import TemplateSession
from shapecheck.evaluate.session.test_session import TestSession
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.model import Call, Evaluation
from shapecheck.worker.messages.entry_messages import (
    AskImportEffects,
    EvaluateEntry,
    ImportAhead,
    ImportedFiles,
    ImportedModule,
    ImportEffects,
    ImportModule,
    ListEntries,
    ListFiles,
)
from shapecheck.worker.messages.plans import ModulePlan
from shapecheck.worker.messages.protocol import (
    Answer,
    Bug,
    ModuleStart,
    Ready,
    Reply,
    RequestFor,
    Send,
    Serve,
    Startup,
    WorkerMessage,
)
from shapecheck.worker.messages.suite_messages import (
    CollectedTests,
    CollectTests,
    EndTests,
    RunTest,
    TestFiles,
    TestLimits,
)
from shapecheck.worker.messages.target_messages import (
    AskInventedIntegers,
    CollectModel,
    CompareModels,
    EvaluateTemplate,
    SampleInputs,
    WriteCall,
)

_OLDEST_JAX = (0, 5)
_MOST_ANSWERS = 5  # to one request: each time on copies of what it would have changed before


class TooOldError(Exception):
    """The user's JAX has no sound symbolic shapes."""


class UnknownRequestError(Exception):
    """The parent asks for what this worker does not do: they are of two versions."""


Fields = ParamSpec("Fields")


def _count_threads() -> int:
    """The threads of this process, those of libraries too, where the system tells them."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


@functools.cache  # of a thousand files of libraries, whose places forks know from the process that they come from
def _real_path(file: str) -> str:
    return os.path.realpath(file)


def _join_calls(earlier: tuple[Call, ...], later: tuple[Call, ...]) -> tuple[Call, ...]:
    """Calls of two recordings as those of one: their numbers are apart."""
    first = max((call.number for call in earlier), default=-1) + 1
    if not first:
        return later
    moved = (
        replace(call, number=call.number + first, parent=call.parent + first if call.parent is not None else None)
        for call in later
    )
    return (*earlier, *moved)


def _handler(
    request: Callable[Fields, RequestFor[Reply]], answer: Callable[Fields, Reply]
) -> tuple[object, Callable[..., object]]:
    """A request's class with what answers it: it takes the request's fields, and returns its reply."""
    return request, answer


def _target_handlers(context: TargetContext) -> dict[object, Callable[..., object]]:
    """What answers requests about what the user named; a check has none."""
    templates, comparisons = TemplateSession(context), ComparisonSession(context)
    return dict(
        (
            _handler(EvaluateTemplate, templates.evaluate),
            _handler(AskInventedIntegers, templates.invented_integers),
            _handler(CollectModel, comparisons.collect),
            _handler(CompareModels, comparisons.compare),
            _handler(WriteCall, CallSession(context).write),
            _handler(SampleInputs, SampleSession(context).sample),
        )
    )


class WorkerSession:
    """The state of one worker: the import hook, the recorder, and the parts that answer requests."""

    def __init__(self, opening: Startup, send: Send, serve: Serve) -> None:
        plans = opening.plans
        if tuple(int(p) for p in jax.__version__.split(".")[:2]) < _OLDEST_JAX:
            raise TooOldError(f"its JAX is {jax.__version__}, and 0.5 or newer is needed")
        # Whole tracebacks: the user's own line must be found among JAX's frames.
        jax.config.update("jax_traceback_filtering", "off")
        disable_typecheckers.stand_aside()
        let_pass_unhashable()
        install_guard()  # before what is in place is written down
        keep_own_traces(lambda names: HANDLE in names)
        self._threads = _count_threads()
        self._send, self._serve = send, serve
        self.recorder = Recorder({p.file: p.path for p in plans})
        self.global_state = GlobalState()
        self.damage = ProcessDamage(self._say, is_in_place)
        self.importer = PlanImporter(
            plans,
            self.recorder,
            opening.culprits,
            lambda path: self._say(ModuleStart(path=path)),
            self.global_state,
            self.damage,
        )
        self._made: set[str] = set()  # in temporary folders, by the code
        self._scratch = ""  # where code writes that would write where the user is
        self._before = jax_settings()
        self._own_files = functools.lru_cache(1)(self._find_own_files)  # after each test the same, as a rule
        self._module_runs: dict[str, Evaluation] = {}  # what the bodies of modules observed, by path
        self._ahead: tuple[Call, ...] = ()
        self._take_plans(opening)
        sys.meta_path.insert(0, self.importer)
        sys.path.append(os.getcwd())
        # What a script beside a package imports is the package, and not its checkout's folder of the same name.
        sys.path += sorted({p.root for p in plans if "." in p.name} - set(sys.path))

    def begin_anew(self, opening: Startup, send: Send, serve: Serve) -> None:
        """Serve another parent in a fork of the process that began: what it had imported stays so.

        Raises ValueError where that was planned otherwise.
        """
        self._send, self._serve = send, serve
        self.importer.renew(opening.plans, opening.culprits)
        self.recorder.paths.update({p.file: p.path for p in opening.plans})
        self._take_plans(opening)

    def _take_plans(self, opening: Startup) -> None:
        """Make all that looks things up in the plans."""
        settings = opening.settings
        self.plans = {p.path: p for p in opening.plans}
        self.recorder.claimed_shapes = {(p.path, each.site): each for p in opening.plans for each in p.shapes}
        self.recorder.claimed_parameters = {(p.path, each.site): each for p in opening.plans for each in p.parameters}
        self.recorder.claimed_fields = {(p.path, each.site): each for p in opening.plans for each in p.fields}
        self._described = ParameterSpecs(self.importer, self.recorder, self.plans)
        self._generaliser = Generaliser(
            self.importer, self.recorder, self._described, settings.sizes, self._described.claimed_names
        )
        self._suite = TestSession(self.importer, self.recorder, self._generaliser, self._note_bug)
        self._context = context = TargetContext(
            importer=self.importer,
            recorder=self.recorder,
            settings=settings,
            described=self._described,
            subclasses=self._subclasses,
        )
        entries = EntrySession(
            context, self.plans, self._described, self._generaliser, self._suite.steps, self.global_state, self._say
        )
        self._handlers = dict(
            (
                _handler(ImportModule, self.import_module),
                _handler(ImportAhead, self.import_ahead),
                _handler(ListEntries, entries.list_entries),
                _handler(AskImportEffects, self.import_effects),
                _handler(ListFiles, self.files),
                _handler(CollectTests, self.collect_tests),
                _handler(RunTest, self._suite.run_test),
                _handler(EvaluateEntry, entries.evaluate),
            )
        )

    def ready(self) -> Ready:
        """Who evaluates."""
        return Ready(python=platform.python_version(), jax=jax.__version__, executable=sys.executable)

    def answer(self, request: object) -> object:
        """The reply to a request. Raises UnknownRequestError for what none is answered to."""
        if type(request) not in self._handlers:
            self._handlers = {**_target_handlers(self._context), **self._handlers}
        handler = self._handlers.get(type(request))
        if handler is None:
            raise UnknownRequestError(f"no worker answers {type(request).__name__}")
        answer = functools.partial(handler, **vars(request))
        if isinstance(request, EvaluateEntry | ImportModule | ImportAhead):
            return self._answer_guarded(answer, alone=isinstance(request, EvaluateEntry))
        with read_only(os.devnull, self._project()):
            return answer()

    def _answer_guarded(self, answer: Callable[[], object], *, alone: bool) -> object:
        """The reply to what imports or evaluates: code that would write where the user is writes elsewhere instead."""
        home = folder = self.importer.cwd
        elsewhere = ""
        copied: list[str] = []
        for _ in range(_MOST_ANSWERS):
            scratch = self._scratch if elsewhere else os.devnull
            with read_only(scratch, self._project(), alone=alone, made_only=True, made=self._made) as limits:
                reply = self._answer_in(folder, answer)
            if isinstance(reply, ImportedModule) and not reply.error:  # it went on without what it would have written
                break
            is_first = not elsewhere
            if is_first:
                if not any(each.name.startswith(home + os.sep) for each in limits.refused):
                    break
                self._scratch = self._scratch or lasting_folder()
                folder = elsewhere = playground(home, os.path.join(self._scratch, "here"))
            new = copy_for_writing(home, elsewhere, limits.refused)
            copied += new
            if not (new or is_first):
                break
        if alone:  # what functions write is not for others to read
            link_again(home, elsewhere, copied)
        return reply

    def _answer_in(self, folder: str, answer: Callable[[], object]) -> object:
        """The reply to a request, given in a folder; the working directory afterwards is the user's again."""
        os.chdir(folder)
        try:
            return answer()
        finally:
            with contextlib.suppress(OSError):  # a folder that somebody has removed
                os.chdir(self.importer.cwd)

    def _project(self) -> list[str]:
        return [self.importer.cwd, *{plan.root for plan in self.plans.values() if plan.root}]

    def import_module(self, *, path: str) -> ImportedModule:
        """Import one planned file. What its body observed (module-level claims) comes back as an evaluation."""
        plan = self.plans[path]
        if plan.file in self.importer.loaded and path in self._module_runs:  # in the process that this one is a fork of
            absent = self.importer.absent_from(plan)
            return ImportedModule(evaluation=self._module_runs[path], absent=absent)
        self.recorder.begin()
        try:
            self.importer.load(plan)
        except TimeLimitError:
            raise
        except BaseException as error:  # a module body may raise anything
            raise_own(error)
            line, stopped = line_in(error, plan.file), self._shape_error(plan, error)
            return ImportedModule(error=describe_error(error), line=line, evaluation=stopped)
        finally:
            standard_streams.renew()
        calls = _join_calls(self._ahead, self.recorder.finish())
        self._ahead = ()
        absent = self.importer.absent_from(plan)
        if not any(c.observations for c in calls):
            return ImportedModule(absent=absent)
        self._module_runs[path] = found = Evaluation(
            target=plan.name, origin="module", path=path, line=1, mode="sized", status="ok", reason="", calls=calls
        )
        return ImportedModule(evaluation=found, absent=absent)

    def _shape_error(self, plan: ModulePlan, error: BaseException) -> Evaluation | None:
        """What a module's body showed, if it ended in a shape error: whoever imports it gets that. Else None.

        Where something that is imported is absent, what stands in its place may be what does not fit.
        """
        failure = explain(error, self.recorder) if not any(self.importer.failed_imports.files()) else None
        if failure is None or failure.kind != "shape" or failure.frame is None:
            return None
        return Evaluation(
            target=plan.name,
            origin="module",
            path=plan.path,
            line=1,
            mode="sized",
            status="stopped",
            reason=failure.message,
            calls=self.recorder.finish(),
            failure=failure,
        )

    def import_ahead(self, *, path: str, names: tuple[str, ...]) -> ImportedModule:
        """Import what a file begins by importing; what fails does so again when the file itself is imported."""
        self.importer.activate(self.plans[path].root)
        self.recorder.begin()
        try:
            for name in names:
                module, _, part = name.partition(":")
                try:
                    loaded = importlib.import_module(module)
                    if part and not hasattr(loaded, part):
                        importlib.import_module(f"{module}.{part}")
                except (Exception, SystemExit) as error:
                    raise_own(error)
        finally:
            standard_streams.renew()
        self._ahead = _join_calls(self._ahead, self.recorder.finish())
        return ImportedModule()

    def is_forkable(self) -> bool:
        """Whether a fork of this process is as good as it: without threads, and nothing that went without a culprit."""
        files = {read_attribute(module, "__file__", None) for module in list(sys.modules.values())}
        loaded = {_real_path(file) for file in files if isinstance(file, str)}
        return not (has_computed() or _count_threads() > self._threads or loaded & self.importer.refused_to)

    def _say(self, message: WorkerMessage) -> None:
        self._send(message)

    def collect_tests(
        self, *, tests: tuple[str, ...], scratch: str, limits: TestLimits, part: TestFiles | None = None
    ) -> CollectedTests:
        """Collect tests, perhaps only a part of them.

        The answer comes from inside pytest's run, which lasts until the parent says `EndTests`.
        """

        def serve(reply: CollectedTests) -> None:
            self._send(Answer(reply=reply))
            self._serve(EndTests)

        return self._suite.collect(tests, scratch, limits, part, serve)

    def files(self, *, known: int) -> ImportedFiles:
        """The project's files that were imported, those whose functions ran meanwhile, and where packages lie.

        A process of a cluster is asked after each task, and mostly nothing is new since the state that is `known`.
        """
        modules = dict(sys.modules)
        state = hash(
            (tuple(modules), tuple(map(id, modules.values())), len(self.importer.ran), tuple(map(str, sys.path)))
        )
        if state == known:
            return ImportedFiles(loaded=(), ran=(), sites=(), state=state)
        sites = sorted({p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")})
        outside = (*sites, os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
        files = (read_attribute(module, "__file__", None) for module in modules.values())
        imported = tuple(f for f in files if isinstance(f, str) and f.endswith(".py"))
        loaded = self._own_files(imported, outside, frozenset(plan.file for plan in self.plans.values()))
        ran = sorted({path for path, _ in self.importer.ran})
        return ImportedFiles(loaded=loaded, ran=tuple(ran), sites=tuple(sites), state=state)

    @staticmethod
    def _find_own_files(files: tuple[str, ...], outside: tuple[str, ...], planned: frozenset[str]) -> tuple[str, ...]:
        """Those of the files that are the project's."""
        elsewhere = tuple(folder + os.sep for folder in outside)
        real = {_real_path(file) for file in files}
        return tuple(sorted(file for file in real if file in planned or not file.startswith(elsewhere)))

    def import_effects(self) -> ImportEffects:
        """The functions that ran while modules were imported, and the settings of JAX that this has changed."""
        return ImportEffects(ran=self._suite.import_functions(), settings=differences(self._before, jax_settings()))

    def _note_bug(self, error: BaseException) -> None:
        """Tell the parent of a bug of ours that pytest has caught."""
        self._send(Bug(text="".join(traceback.format_exception(error)), ends=False))

    def _subclasses(self, cls: type) -> list[type]:
        """Concrete subclasses, those of the checked files first."""
        names = {m.__name__ for m in self.importer.loaded.values()}
        concrete = (each for each in subclasses(cls) if each is not cls and not is_abstract(each))
        return sorted(concrete, key=lambda each: each.__module__ not in names)
