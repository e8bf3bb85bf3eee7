"""A script that the user gave as an example: run as `__main__`, abstractly, for as long as its time allows."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Literal

from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, explain
from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.own_errors import HANDLE, is_own
from shapecheck.evaluate.playground import playground
from shapecheck.evaluate.probes.ast_probes import instrument
from shapecheck.evaluate.probes.constant_values import eval_shape
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.probe_runtime import ModuleProbe
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.tolerate_concrete import STEP, Steps, with_steps
from shapecheck.evaluate.probes.user_caches import forget
from shapecheck.evaluate.read_only_disk import read_only
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.model import Evaluation, Failure
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan


def run_script(
    entry: EntryPlan, file: str, argv: Sequence[str], limit: float, importer: PlanImporter, steps: Steps
) -> Evaluation:
    """Run the script once under `jax.eval_shape`. What it showed until its end, or that of its time, counts.

    Raises ExampleError if there is no such script, or it is no Python.
    """
    recorder = importer.recorder
    plan = importer.plans.get(os.path.realpath(file)) or importer.plan_without_claims(
        os.path.realpath(file), "__main__"
    )
    recorder.paths.setdefault(plan.file, plan.path)
    run = _main(plan, recorder, steps)
    recorder.begin()
    forget()
    steps.reset(abstract=True)
    importer.activate(plan.root or os.path.dirname(plan.file))
    error = _run_guarded(run, [file, *argv], limit)
    failure = _failure(error, recorder, limit)
    status: Literal["ok", "stopped"] = "ok" if failure is None else "stopped"
    reason = failure.message if failure is not None else ""
    return Evaluation(
        target=entry.target,
        origin=entry.origin,
        path=entry.path,
        line=entry.line,
        mode="sized",
        status=status,
        reason=reason,
        calls=recorder.finish(),
        failure=failure,
    )


def _main(plan: ModulePlan, recorder: Recorder, steps: Steps) -> Callable[[], None]:
    """The script with its probes; its statements are stepped over as those of tests are, outside of functions too."""
    try:
        with open(plan.file, "rb") as stream:
            source = stream.read()
        tree = with_steps(instrument(source, plan.file, plan.scopes, plan.sites), everywhere=True)
        code = compile(tree, plan.file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        raise ExampleError(f"script = {plan.path!r}: {describe_error(error)}") from None

    def run_main() -> None:
        with main_module(plan.file) as module:
            setattr(module, HANDLE, ModuleProbe(recorder, plan.path, plan.scopes, plan.sites))
            setattr(module, STEP, steps)
            exec(code, vars(module))  # noqa: S102 - the user asks for this script to be run

    return run_main


def _run_guarded(run: Callable[[], None], argv: Sequence[str], limit: float) -> BaseException | None:
    folder = os.path.dirname(os.path.abspath(argv[0]))
    try:
        with as_program(argv, limit, [folder], first_path=os.path.dirname(argv[0])):
            eval_shape(run, of_sizes=True)
    except SystemExit as error:
        return None if error.code in (None, 0) else error
    except BaseException as error:  # scripts may raise anything
        if is_own(error) and not isinstance(error, TimeLimitError):
            raise
        return error
    return None


@contextlib.contextmanager
def main_module(file: str) -> Iterator[ModuleType]:
    """An empty module, which is the program's main one meanwhile."""
    module = ModuleType("__main__")
    module.__file__ = file
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.modules["__main__"] = before


@contextlib.contextmanager
def as_program(
    argv: Sequence[str], limit: float, project: Sequence[str], *, first_path: str | None = None, alone: bool = False
) -> Iterator[None]:
    """Let the body run as a program does: with arguments, in a folder to write to, and with an end.

    It cannot write to the working directory and the folders of the `project`; `alone` it starts no process either.
    """
    home, before = os.getcwd(), (sys.argv, list(sys.path))
    with scratch_folder() as folder:
        try:
            os.chdir(playground(home, os.path.join(folder, "here")))
            sys.argv = list(argv)
            if first_path is not None:
                sys.path.insert(0, first_path)
            with time_limit(limit), read_only(folder, [home, *project], alone=alone):
                yield
        finally:
            sys.argv, sys.path[:] = before
            os.chdir(home)


def _failure(error: BaseException | None, recorder: Recorder, limit: float) -> Failure | None:
    if error is None:
        return None
    if isinstance(error, TimeLimitError):
        return Failure(kind="other", message=f"it took longer than {limit:g} s (--test-timeout)", frame=None)
    failure = explain(error, recorder)
    return failure if failure.kind != "other" else dataclasses.replace(failure, message=describe_error(error))
