"""Import of the user's modules in the worker: under the user's names, probed on the way in, each once."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import io
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType

from shapecheck.evaluate.global_state import GlobalState
from shapecheck.evaluate.own_errors import HANDLE, RefusalError
from shapecheck.evaluate.probes import disable_typecheckers
from shapecheck.evaluate.probes.ast_probes import instrument
from shapecheck.evaluate.probes.attribute_access import read_attribute
from shapecheck.evaluate.probes.failed_imports import FailedImports
from shapecheck.evaluate.probes.own_errors_in_handlers import pass_own_errors_on
from shapecheck.evaluate.probes.probe_runtime import ModuleProbe
from shapecheck.evaluate.probes.probed_loader import ProbedLoader
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.sibling_modules import SiblingModules
from shapecheck.evaluate.probes.tolerate_concrete import STEP, StepHandle, Steps, with_refusals_apart, with_steps
from shapecheck.evaluate.process_damage import ProcessDamage
from shapecheck.model import FunctionKey, is_test_file
from shapecheck.worker.messages.entry_messages import AbsentImport
from shapecheck.worker.messages.plans import ModulePlan


class CulpritImportError(ImportError, RefusalError):
    """Raised in place of a module whose import ended an earlier worker process."""


class PlanImporter(importlib.abc.MetaPathFinder):
    """Finds modules as Python does, and compiles the planned ones with probes.

    Several import roots may hold modules of one name (`a/model.py` and `b/model.py`). Only one root is active at a
    time: its folder stands first on `sys.path`, and modules of other roots that it would shadow are put aside.
    """

    def __init__(
        self,
        plans: Sequence[ModulePlan],
        recorder: Recorder,
        culprits: Mapping[str, str],
        announce: Callable[[str], None],
        global_state: GlobalState,
        damage: ProcessDamage,
    ) -> None:
        self.plans: dict[str, ModulePlan] = {p.file: p for p in plans}
        self.recorder = recorder
        self.culprits = culprits
        self.announce = announce
        self.global_state = global_state
        self.damage = damage
        self.loaded: dict[str, ModuleType] = {}  # by file
        self.executing: list[str] = []
        self.compiled: dict[str, _CompiledFile] = {}  # by file
        self.failed_imports = FailedImports(lambda: bool(self.executing))
        self.siblings = SiblingModules(lambda: self.plans, self._is_own)
        self.refused_to: set[str] = set()  # files whose bodies imported a culprit, directly or not
        self.aside: dict[str, dict[str, ModuleType]] = {}
        self.ran: set[FunctionKey] = set()  # (path, scope) of functions that ran while modules were imported
        self.cwd = os.getcwd()
        self.steps: Steps | None = None
        self.tests: tuple[str, ...] = ()  # folders and files of tests, resolved, whose statements are stepped over
        self.root = ""
        self.tops = _top_names(plans)

    def renew(self, plans: Sequence[ModulePlan], culprits: Mapping[str, str]) -> None:
        """Take other plans; raises ValueError where a module is loaded that was planned otherwise."""
        new = {plan.file: plan for plan in plans}
        for file in self.loaded:
            if file in self.plans and new.get(file) != self.plans[file]:
                raise ValueError(f"{file} was imported by another plan")
        self.plans, self.culprits, self.tops = new, culprits, _top_names(plans)
        importlib.invalidate_caches()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The standard path search, with the loader changed for planned files."""
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        is_unknown = found is None and path is None and fullname not in sys.builtin_module_names
        spec = self.siblings.find(fullname) if is_unknown else self.siblings.known_as(fullname, found)
        as_it_is = None if spec is found else spec  # nobody else finds what lies beside the file that imports it
        if spec is None or spec.origin is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return as_it_is
        file = os.path.realpath(spec.origin)
        plan = self.plans.get(file)
        # Only packages have modules inside, and to look for them costs more than most imports do.
        is_again = spec.submodule_search_locations is not None and _left_behind(fullname)
        if plan is None and not (is_again or self.is_test(file) or self.failed_imports.concern(file)):
            return as_it_is
        plan = plan or self.plan_without_claims(file, fullname)
        spec.loader = ProbedLoader(fullname, spec.origin, PlannedFile(self, plan))
        return spec

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterator[importlib.metadata.Distribution]:
        """What `importlib.metadata` asks all finders for."""
        return self.failed_imports.find_distributions(context.name)

    def is_test(self, file: str) -> bool:
        """Whether a file (resolved) is one of tests, or stands beside them."""
        return any(file == test or file.startswith(test + os.sep) for test in self.tests)

    def plan_without_claims(self, file: str, name: str) -> ModulePlan:
        """A file that claims nothing that is checked: a test."""
        return ModulePlan(file=file, path=self.shown_path(file), root="", name=name, scopes=(), sites=())

    def shown_path(self, file: str) -> str:
        """The path as reports show it."""
        file = os.path.realpath(file)
        known = self.plans.get(file)
        if known is not None:
            return known.path
        return os.path.relpath(file, self.cwd) if file.startswith(self.cwd + os.sep) else file

    def add_root(self, root: str) -> None:
        """Let modules of `root` be imported too, without another root's giving way."""
        self.root = root
        if root in sys.path:
            sys.path.remove(root)
        sys.path.insert(0, root)

    def load(self, plan: ModulePlan) -> ModuleType:
        """Import the module of `plan`, once, and without packages that are absent; raises what its import raises."""
        known = self.loaded.get(plan.file)
        if known is not None:
            return known
        self.activate(plan.root)
        self.siblings.serve(plan.file)
        while True:
            try:
                return self._load(plan)
            except Exception as error:
                if not self.admits_another(error):
                    raise

    def admits_another(self, error: Exception) -> bool:
        """Whether an import that ended in an error may come further when it is begun again, without what is absent."""
        return not isinstance(error, CulpritImportError) and self.failed_imports.admit(error, self._is_own)

    def _is_own(self, file: str) -> bool:
        """Whether a file (resolved) is checked, is one of tests, or stands beside files that are checked."""
        beside = any(file.startswith(root + os.sep) for root in self.tops) or self.is_test(file)
        return file in self.plans or (beside and "site-packages" not in file and "dist-packages" not in file)

    def absent_from(self, plan: ModulePlan) -> tuple[AbsentImport, ...]:
        """What was imported without by the module of `plan`."""
        return self.failed_imports.absent_from(plan.file, self.loaded.get(plan.file))

    def problems_of_tests(self) -> Iterator[str]:
        """What files of tests were imported without, each name once a file."""
        for file in filter(self.is_test, self.failed_imports.files()):
            absent = (each for each in self.failed_imports.absent_from(file) if not each.instead)
            for name, each in {each.name: each for each in absent}.items():
                yield f"{self.shown_path(file)}: it needs {name}, which {each.why}; what needs it was not evaluated"

    def _load(self, plan: ModulePlan) -> ModuleType:
        module: ModuleType | None = None
        try:
            module = importlib.import_module(plan.name)
        except ModuleNotFoundError as error:
            # A name that cannot be imported (`v1.2.py`, a script without ending, a file not saved yet) is no reason.
            if isinstance(error, importlib.metadata.PackageNotFoundError):
                raise
            if error.name is None or not f"{plan.name}.".startswith(f"{error.name}."):
                raise
        if module is None or plan.file not in self.loaded:
            # The name leads nowhere, or elsewhere (an installed package, an unusual layout): load by location.
            module = self._load_from_file(plan)
        return self.loaded.get(plan.file, module)

    def _load_from_file(self, plan: ModulePlan) -> ModuleType:
        name = plan.name if plan.name not in sys.modules else f"_shapecheck_{len(self.loaded)}_{plan.name}"
        loader = ProbedLoader(name, plan.file, PlannedFile(self, plan))
        spec = importlib.util.spec_from_file_location(name, plan.file, loader=loader)
        if spec is None or spec.loader is None:
            raise ImportError(f"no module can be made of {plan.path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module

    def activate(self, root: str) -> None:
        """Make `root` the active one; it stays so, as its modules may import more while they run."""
        if root == self.root:
            return
        self._put_aside(root)
        with self.global_state.let_changes_last():
            self.add_root(root)
        importlib.invalidate_caches()

    def _put_aside(self, root: str) -> None:
        """Take modules of other roots out of `sys.modules` where `root` has its own of that name."""
        mine = self.tops.get(root, set())
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in mine:  # before anything is asked of the disk, for thousands of modules
                continue
            file = read_attribute(module, "__file__", None)
            plan = self.plans.get(os.path.realpath(file)) if isinstance(file, str) else None
            if plan is not None and plan.root != root:
                self.aside.setdefault(plan.root, {})[name] = sys.modules.pop(name)
        sys.modules.update(self.aside.pop(root, {}))


def _top_names(plans: Sequence[ModulePlan]) -> dict[str, set[str]]:
    """The first parts of the names of modules, by their roots."""
    found: dict[str, set[str]] = {}
    for plan in plans:
        found.setdefault(plan.root, set()).add(plan.name.split(".", 1)[0])
    return found


def _importing_files() -> Iterator[str]:
    """The files whose bodies are being run at this moment."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield os.path.realpath(frame.f_code.co_filename)
        frame = frame.f_back


def _note_lines(file: str, source: bytes) -> None:
    """Have whoever asks for the source of a function get the text that was compiled, which may not be saved yet.

    What has no time of its own is never read from the disk instead.
    """
    try:
        lines = io.StringIO(importlib.util.decode_source(source)).readlines()
    except (SyntaxError, UnicodeError):  # the compiler says so
        return
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[file] = (len(source), None, lines, file)


def _bind_submodules(package: ModuleType) -> None:
    """Give a package those of its modules that an import which failed has left behind.

    Python binds them once, when they are loaded, to the package of that time.
    """
    for name, module in _left_behind(package.__name__).items():
        vars(package).setdefault(name, module)


def _left_behind(package: str) -> dict[str, ModuleType]:
    """The modules right inside of a package that are loaded already."""
    start = f"{package}."
    inside = ((name[len(start) :], module) for name, module in list(sys.modules.items()) if name.startswith(start))
    return {name: module for name, module in inside if "." not in name and module}


@dataclass(frozen=True)
class _CompiledFile:
    """The code of a file with its probes, and all that it was made from."""

    code: CodeType
    made_from: tuple[object, ...]


@dataclass(frozen=True)
class PlannedFile:
    """One file that is imported to be checked, or beside such files."""

    importer: PlanImporter
    plan: ModulePlan

    @property
    def file(self) -> str:
        """What its code calls it."""
        return self.plan.file

    @property
    def unsaved_text(self) -> bytes:
        """Its text, where that is not the one on the disk."""
        return self.plan.source.encode("latin-1")

    def tree(self, source: bytes, names: dict[str, object]) -> ast.Module:
        """The source with probes around the planned sites."""
        importer, plan = self.importer, self.plan
        _note_lines(plan.file, source)
        tree = pass_own_errors_on(instrument(source, plan.file, plan.scopes, plan.sites))
        tree = importer.failed_imports.replace_in(tree, plan.file)
        self._name_probes(names)
        if importer.steps is not None and importer.is_test(plan.file):
            return with_steps(tree)
        return with_refusals_apart(tree) if is_test_file(plan.file) else tree

    def _name_probes(self, names: dict[str, object]) -> None:
        importer, plan = self.importer, self.plan
        names[HANDLE] = ModuleProbe(importer.recorder, plan.path, plan.scopes, plan.sites)
        names[STEP] = importer.steps if importer.steps is not None else StepHandle(importer.recorder)

    def recall(self, source: bytes, names: dict[str, object]) -> CodeType | None:
        """The code of an import that failed, as each further one of that module would compile it again."""
        kept = self.importer.compiled.get(self.plan.file)
        if kept is None or kept.made_from != self._made_from(source):
            return None
        _note_lines(self.plan.file, source)
        self._name_probes(names)
        return kept.code

    def keep(self, source: bytes, code: CodeType) -> None:
        """Remember the code, in case the import fails."""
        self.importer.compiled[self.plan.file] = _CompiledFile(code, self._made_from(source))

    def _made_from(self, source: bytes) -> tuple[object, ...]:
        importer, file = self.importer, self.plan.file
        has_steps = importer.steps is not None and importer.is_test(file)
        return source, self.plan, importer.failed_imports.replaced_in(file), has_steps

    def execute(self, module: ModuleType, run: Callable[[ModuleType], None]) -> None:
        """Run the module body; remember which file is running, so that a crash can be laid at its door."""
        importer, recorder = self.importer, self.importer.recorder
        if self.plan.file in importer.culprits:
            importer.refused_to |= set(_importing_files())
            raise CulpritImportError(importer.culprits[self.plan.file])
        importer.failed_imports.serve(module, self.plan.file)
        recorder.paths.setdefault(self.plan.file, self.plan.path)
        importer.loaded[self.plan.file] = module
        importer.executing.append(self.plan.path)
        importer.announce(self.plan.path)
        before, recorder.touched = recorder.touched, set()
        fit = importer.damage.values()
        named = {name: getattr(module, name) for name in ("__name__", "__file__")}
        _bind_submodules(module)
        try:
            with importer.global_state.let_changes_last():
                run(module)
        except BaseException:
            importer.loaded.pop(self.plan.file, None)
            if sys.modules.get(named["__name__"]) is module:  # pytest's `importlib` mode would find it there again
                del sys.modules[named["__name__"]]
            raise
        finally:
            importer.damage.verify(fit)
            for attribute, text in named.items():  # which the module may have set, or deleted
                if not isinstance(vars(module).get(attribute), str):
                    vars(module)[attribute] = text
            disable_typecheckers.stand_aside_where_loaded()
            # What the import ran, all evaluations depend on, and not just the one that happened to import it.
            importer.ran |= {(path, scope) for path, scope in recorder.touched if scope}
            recorder.touched = before
            importer.executing.pop()
            importer.announce(importer.executing[-1] if importer.executing else "")
