"""All checks of one process, switched on and off together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Final

from shapecheck.evaluate.framework_protocol import framework_of_module, module_names
from shapecheck.evaluate.jax_internals import keep_debug_hook
from shapecheck.evaluate.probes.recorder import OpenCall
from shapecheck.model import Site
from shapecheck.runtime import import_hook
from shapecheck.runtime.call_checks import CallChecker
from shapecheck.runtime.excepthook import ErrorReporter, no_other_record, users_frame
from shapecheck.runtime.judge_client import JudgeClient
from shapecheck.runtime.monitor_outputs import open_outputs
from shapecheck.runtime.runtime_options import RuntimeOptions
from shapecheck.runtime.show_page import require_matplotlib
from shapecheck.runtime.sigint import putting_off
from shapecheck.runtime.watched_names import ValueOrigin, chain_value

if TYPE_CHECKING:
    from shapecheck.evaluate.stages.stage_recorder import StageRecorder
    from shapecheck.runtime.stage_checks import StageChecks
    from shapecheck.runtime.training_monitor import TrainingMonitor

_MONITORED: Final = frozenset({"jax", "optax"})  # they have what a step is made of, as some frameworks have


@contextlib.contextmanager
def _debug_nans(*, nan_only: bool) -> Iterator[None]:
    """JAX looks at each operation itself: https://docs.jax.dev/en/latest/debugging/flags.html.

    Its variables say so to all threads. To this one it is said again: what the program makes of the flags for all
    threads (`jax.config.update("jax_debug_nans", args.debug)`) is not what the checks were asked for.
    """
    import jax  # noqa: PLC0415 - asked for by name

    infinity = contextlib.nullcontext() if nan_only else jax.debug_infs(True)
    with keep_debug_hook(), jax.debug_nans(True), infinity:
        yield


def forget_traces() -> None:
    """Let JAX trace functions anew: what is compiled has the checks of its time, or none."""
    if "jax" in sys.modules:
        import jax  # noqa: PLC0415 - only where the program has it

        jax.clear_caches()


def _require(options: RuntimeOptions) -> None:
    """Raise ValueError for what this process lacks."""
    if options.shows:
        require_matplotlib()


class CheckSession:
    """Checks as `options` say, from `start` to `stop`. `client` asks the judge for the claims.

    Raises ValueError for options that this process cannot meet.
    """

    def __init__(self, options: RuntimeOptions, client: JudgeClient | None = None) -> None:
        _require(options)
        self.client = client or JudgeClient(options.python)
        self.checking = CallChecker(self.client)
        self.probing = import_hook.ProbeInserter(options.root, options.include, self.client, self.checking)
        self._do(options)
        self.failures = ErrorReporter(self.probing, options.save)
        self._finder = import_hook.Finder(self.probing, self._enter, _MONITORED if options.monitor else ())
        self._frameworks = contextlib.ExitStack()
        self._entered: set[str] = set()

    def _do(self, options: RuntimeOptions) -> None:
        self.options = options
        taps = bool({"outputs", "grads"} & set(options.numerics))
        globs = (*options.prints, *options.shows)
        self.watches = bool(taps or globs or options.log or options.monitor)
        self._outputs = open_outputs(options.monitor_file, options.monitor_board) if options.monitor else []
        self.checking.do(self._value if taps else None, shapes=options.shapes, warn=options.failing == "warn")
        watch, returned = self._variable if globs else None, self._note_return if taps else None
        self.probing.look_for(options.root, options.include, globs, watch, returned)

    def change(self, options: RuntimeOptions) -> None:
        """Check as other options say, what has probes already as well. Raises what was not reported yet."""
        _require(options)
        try:
            self._let_go()
        finally:
            self._do(options)
            self._listen()

    def start(self) -> None:
        """Put probes into whatever is imported from now on."""
        self.checking.off = False
        import_hook.install(self._finder)
        self._listen()

    def _listen(self) -> None:
        if self.watches:
            self._frameworks.enter_context(putting_off())
        announced = {"jax", *module_names(), *(_MONITORED if self.options.monitor else ())}
        for name in sorted(announced & sys.modules.keys()):
            self._enter(name)

    def ignore_imports(self) -> None:
        """Put probes into no more modules. Those that have some keep them."""
        import_hook.uninstall(self._finder)

    def stop(self) -> None:
        """Put in no more. Modules that have probes keep them, and nobody listens."""
        self.ignore_imports()
        self.checking.off = True
        try:
            self._let_go()
        finally:
            self.client.close()

    def _let_go(self) -> None:
        """Watch the frameworks' stages no more."""
        self._frameworks.close()
        self._entered.clear()
        try:
            self.wait()
            if "jax" in sys.modules and self.watches:
                self._stages.close()
        finally:
            for made in ("_stages", "_watch", "_monitor"):
                self.__dict__.pop(made, None)

    def wait(self) -> None:
        """Wait for callbacks, so that nothing is lost. Raises what they find, unless it was reported already."""
        if "jax" not in sys.modules or not self.watches:
            return
        import jax  # noqa: PLC0415 - the program has it

        try:
            jax.effects_barrier()
            self._stages.arrive()
        except Exception as error:
            self.failures.raise_unless_reported(error)

    def code(self, source: bytes, file: str, names: dict[str, object]) -> CodeType:
        """The code of a script, for a module with these names."""
        tree = self.probing.tree(source, file, names) if self.probing.is_own(file) else None
        code: CodeType = compile(source if tree is None else tree, file, "exec", dont_inherit=True)
        return code

    @cached_property
    def _stages(self) -> StageChecks:
        from shapecheck.runtime.stage_checks import StageChecks  # noqa: PLC0415 - it imports JAX

        no_other_record()
        return StageChecks(self.options, self.probing, self.failures.not_finite, self._monitor)

    @cached_property
    def _monitor(self) -> TrainingMonitor | None:
        if not self.options.monitor:
            return None
        from shapecheck.runtime.training_monitor import TrainingMonitor  # noqa: PLC0415 - it imports JAX

        monitor = TrainingMonitor(self.options.monitor, self.options.monitor_every, self._outputs)
        self._frameworks.callback(monitor.close)
        return monitor

    @cached_property
    def _watch(self) -> StageRecorder:
        from shapecheck.evaluate.stages.stage_recorder import StageRecorder  # noqa: PLC0415 - it imports JAX

        parameter = self._stages.parameter if "grads" in self.options.numerics else None
        watch = StageRecorder((), self.probing.shown_path, runner=self._stages.run_stage, parameter=parameter)
        return self._frameworks.enter_context(watch)

    def _value(self, opened: OpenCall, site: Site, value: object) -> object:
        frame = users_frame(sys._getframe(1))
        line, variables = (frame.f_lineno, frame.f_locals) if frame is not None else (0, {})
        known = self.probing.operands[opened.probe.path]
        made = known.returns.get(line) if site.kind == "return" else known.sites.get(site.index)
        made = made or ValueOrigin()
        given = {name: chain_value(variables, name) for name in made.names}
        return self._stages.value(opened, site, value, given, line, made.intended)

    def _variable(self, name: str, line: int, value: object) -> object:
        if self.checking.off or "jax" not in sys.modules:
            return value
        return self._stages.variable(name, line, value)

    def _note_return(self, line: int, value: object) -> object:
        if not self.checking.off and "_watch" in self.__dict__ and (frame := users_frame(sys._getframe(1))) is not None:
            self._stages.note_return(frame, line)
        return value

    def _enter(self, name: str) -> None:
        """JAX or a framework has been loaded: let it look at operations, watch its steps and its stages."""
        if name in self._entered:
            return
        self._entered.add(name)
        if name == "jax" and "ops" in self.options.numerics:
            self._frameworks.enter_context(_debug_nans(nan_only=self.options.nan_only))
        is_framework = name in module_names()
        if self._monitor is not None and (
            name in _MONITORED or (is_framework and framework_of_module(name).applies_updates)
        ):
            from shapecheck.runtime import monitor_patches  # noqa: PLC0415 - it imports JAX

            self._frameworks.enter_context(monitor_patches.patch(name, self._monitor, self.probing.is_own))
        if self.watches and is_framework:
            from shapecheck.evaluate.stages.stage_recorder import record_stages_of  # noqa: PLC0415 - it imports JAX

            self._frameworks.enter_context(record_stages_of(name, self._watch))
