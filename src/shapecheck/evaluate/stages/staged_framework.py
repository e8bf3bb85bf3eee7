"""What the recorder of stages asks of a framework, beside what all of the evaluation asks of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from shapecheck.evaluate.framework_protocol import Framework, Function, framework_of_module, loaded_frameworks
from shapecheck.evaluate.probes.recorder import Watch
from shapecheck.evaluate.stages.stage_recorder import StageRecorder


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
