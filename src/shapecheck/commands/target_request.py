"""A target as people name it on the command line, and a worker that can run it."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shapecheck import claims
from shapecheck.commands.module_plans import plan
from shapecheck.config import Config, ConfigError
from shapecheck.files import interpreter
from shapecheck.worker.messages.plans import ConfiguredExample, ModulePlan, WorkerSettings
from shapecheck.worker.messages.protocol import Startup
from shapecheck.worker.spawn import Start
from shapecheck.worker.worker_client import RequestTimeoutError, Worker, WorkerEndedError, WorkerError

_SHAPE = re.compile(r"(?<![\w'\"])\w+\[[^\[\]]*\]")
_NAME = re.compile(r"[^\W\d]\w*\Z")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_FORM = "the form is path/file.py:name or pkg.mod:name"


class TargetGoneError(ConfigError):
    """There is no such file, or it has no such name any more."""


class UnevaluatedError(ConfigError):
    """A target cannot be evaluated as it is asked for."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


@dataclass(frozen=True, kw_only=True)
class TargetRequest:
    """A target, with `--init` and `--arg` as they are written. `made` are numbers that were made up for it before.

    Paths are relative to `folder`, where it is evaluated. With `flops` it is counted what each stage costs. `data` is a
    file of arrays by the names of arguments, or "". The command `shows` it.
    """

    target: str
    init: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)
    made: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    flops: bool = False
    data: str = ""
    shows: str = "template"

    @property
    def file(self) -> Path | None:
        """The file of the target, None if it is installed; raises ConfigError if the text names no target."""
        where, _, name = self.target.rpartition(":")
        if not where or not name:
            raise ConfigError(f"{self.target!r} names no model: {_FORM}")
        return _file(where, self.folder)

    @property
    def command(self) -> list[str]:
        """What shows this template, for somebody to change."""
        given = (("--init", self.init), ("--arg", self.args), ("--data", (self.data,) if self.data else ()))
        return [
            "shapecheck",
            self.shows,
            self.target,
            *(part for flag, texts in given for t in texts for part in (flag, t)),
        ]


@dataclass(frozen=True)
class OpenTarget:
    """A worker that can run a target: with what is `given` to that, and the plan of its file, if it is the user's."""

    worker: Worker
    given: ConfiguredExample
    plan: ModulePlan | None


@contextlib.contextmanager
def open_target(
    request: TargetRequest, config: Config, start: Start | None = None, shown: str = ""
) -> Iterator[OpenTarget]:
    """A worker for a target meanwhile, in a process that is started so. Its errors become ConfigError.

    Messages have its name, or what is `shown` for it.
    """
    plan, given = _plan_target(request, config)
    settings = WorkerSettings(memory=config.memory, sizes=dict(config.sizes), made=dict(request.made))
    with (
        _worker_errors_as_config(shown or request.target),
        _start_worker(request, [plan] if plan is not None else [], settings, config, start) as worker,
    ):
        yield OpenTarget(worker, given, plan)


def _plan_target(request: TargetRequest, config: Config) -> tuple[ModulePlan | None, ConfiguredExample]:
    """What the worker has to know of the target's file, if it is the user's own, and what it shall call."""
    file = request.file
    where, _, name = request.target.rpartition(":")
    plan = _plan(file, request.folder, config) if file else None
    call = f"{plan.name if plan is not None else where}:{name}"
    args, kwargs = _parse_arguments(request.args)
    given = ConfiguredExample(
        call=call, init=dict(_pairs(request.init)) or None, args=args, kwargs=kwargs, data=request.data
    )
    return plan, given


@contextlib.contextmanager
def _worker_errors_as_config(target: str) -> Iterator[None]:
    """Errors of workers meanwhile become ConfigError."""
    try:
        yield
    except (WorkerEndedError, RequestTimeoutError) as error:
        raise ConfigError(f"{target} {error.reason}\n{error.tail}".rstrip()) from error
    except WorkerError as error:
        raise ConfigError(str(error)) from error


def _start_worker(
    request: TargetRequest,
    plans: Sequence[ModulePlan],
    settings: WorkerSettings,
    config: Config,
    start: Start | None,
) -> Worker:
    """A worker of the first interpreter that has JAX, in a process that is started so."""
    problem: WorkerError | None = None
    for python in candidates(request, config):
        try:
            startup = Startup(plans=tuple(plans), settings=settings, culprits={})
            return Worker(python, startup, cwd=request.folder, start=start)
        except WorkerError as error:
            problem = problem or error
    raise problem or WorkerError("There is no Python interpreter; name one with --python.")


def candidates(request: TargetRequest, config: Config) -> list[str]:
    """The interpreters to try for a target."""
    file = request.file
    return interpreter.candidates(str(config.python) if config.python else None, [file] if file is not None else [])


def pairs(texts: Sequence[str]) -> tuple[str, ...]:
    """Each `name=value` of `--init` by itself."""
    return tuple(part.strip() for text in texts for part in _split_arguments(text))


def _plan(file: Path, folder: Path, config: Config) -> ModulePlan:
    absolute = Path(os.path.normpath(file.absolute()))
    shown = absolute.relative_to(folder).as_posix() if absolute.is_relative_to(folder) else absolute.as_posix()
    return plan(file, claims.read_module(shown, file.read_bytes()), config)


def _file(where: str, folder: Path) -> Path | None:
    """The file that a path or a module's name means, in the folder or its `src`; None if it is elsewhere."""
    if where.endswith(".py"):
        if not (folder / where).is_file():
            raise TargetGoneError(f"There is no file {where!r}.")
        return folder / where
    parts = Path(*where.split("."))
    for root in (folder, folder / "src"):
        for path in (root / parts.with_suffix(".py"), root / parts / "__init__.py"):
            if path.is_file():
                return path
    return None


def _parse_arguments(arguments: Sequence[str]) -> tuple[tuple[object, ...], dict[str, object]]:
    """Positional and named arguments: `f32[batch 28 28]`, `3`, `x=f32[8]`, `@batch.npz`."""
    positional: list[object] = []
    named: dict[str, object] = {}
    for text in arguments:
        name, sign, value = text.partition("=")
        if sign and _NAME.match(name.strip()):
            named[name.strip()] = _value(value)
        elif named:
            raise ConfigError(f"--arg {text}: arguments without a name come first")
        else:
            positional.append(_value(text))
    return tuple(positional), named


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, object]]:
    for text in texts:
        for part in _split_arguments(text):
            name, sign, value = part.partition("=")
            if not sign or not _DOTTED.match(name.strip()):
                raise ConfigError(f"--init {part.strip()}: the form is name=value, as in d_model=48,cfg.depth=12")
            yield name.strip(), _value(value)


def _split_arguments(text: str) -> list[str]:
    """By the commas in front of a name; not by those inside of brackets and quotes."""
    return re.split(r",(?=\s*[^\W\d][\w.]*\s*=)", text)


def _value(text: str) -> object:
    """A literal of Python, in which shapes may stand without quotes; else the text itself."""
    text = text.strip()
    for literal in (text, _SHAPE.sub(r"'\g<0>'", text)) if text[:1] in ("(", "[", "{") else (text,):
        with contextlib.suppress(ValueError, SyntaxError):
            return ast.literal_eval(literal)
    return text
