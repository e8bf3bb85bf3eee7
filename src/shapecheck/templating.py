"""The template of one target: the text on the command line -> a worker -> its stages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shapecheck import source
from shapecheck.config import Config, ConfigError
from shapecheck.facts import Evaluation
from shapecheck.plans import plan
from shapecheck.stage.process import interpreter
from shapecheck.stage.process.client import Worker, WorkerEndedError, WorkerError
from shapecheck.stage.protocol import ConfiguredExample, ModulePlan
from shapecheck.templates import Template, of_runs

_NAME = re.compile(r"[^\W\d]\w*\Z")
_FORM = "the form is path/file.py:name or pkg.mod:name"


def evaluate(target: str, init: Sequence[str], arguments: Sequence[str], config: Config) -> Template:
    """Evaluate a target with its stages. Raises ConfigError, with the remedy, for what cannot be evaluated."""
    where, _, name = target.rpartition(":")
    if not where or not name:
        raise ConfigError(f"{target!r} names no model: {_FORM}")
    file = _file(where)
    planned = plan(file, source.read_module(source.shown(file), file.read_bytes()), config) if file else None
    given = ConfiguredExample(
        f"{planned.name if planned is not None else where}:{name}", dict(_pairs(init)), *_given(arguments)
    )
    settings: Mapping[str, Any] = {"memory": config.memory, "sizes": dict(config.sizes)}
    found = interpreter.candidates(str(config.python) if config.python else None, [file] if file is not None else [])
    try:
        runs = _ask(found, [planned] if planned is not None else [], settings, given, config.timeout)
    except WorkerEndedError as error:
        raise ConfigError(f"{target} {error.reason}\n{error.tail}".rstrip()) from error
    except WorkerError as error:
        raise ConfigError(str(error)) from error
    try:
        return of_runs(target, runs)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _ask(
    found: Sequence[str],
    plans: Sequence[ModulePlan],
    settings: Mapping[str, Any],
    given: ConfiguredExample,
    limit: float,
) -> Sequence[Evaluation]:
    problem: WorkerError | None = None
    for python in found:
        try:
            worker = Worker(python, plans, settings, {}, cwd=Path.cwd())
        except WorkerError as error:
            problem = problem or error
            continue
        with worker:
            answer = worker.ask("template", limit, given=given, seconds=limit)
        if isinstance(answer, Mapping):
            raise ConfigError(str(answer["error"]))
        return tuple(answer)
    raise problem or WorkerError("There is no Python interpreter; name one with --python.")


def _file(where: str) -> Path | None:
    """The file that a path or a module's name means, in the working directory or its `src`; None if it is elsewhere."""
    if where.endswith(".py"):
        if not Path(where).is_file():
            raise ConfigError(f"There is no file {where!r}.")
        return Path(where)
    parts = Path(*where.split("."))
    for root in (Path(), Path("src")):
        for path in (root / parts.with_suffix(".py"), root / parts / "__init__.py"):
            if path.is_file():
                return path
    return None


def _given(arguments: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments: `f32[batch 28 28]`, `3`, `x=f32[8]`, `@batch.npz`."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for text in arguments:
        name, sign, value = text.partition("=")
        if sign and _NAME.match(name.strip()):
            named[name.strip()] = _value(value)
        elif named:
            raise ConfigError(f"--arg {text}: arguments without a name come first")
        else:
            positional.append(_value(text))
    return tuple(positional), named


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for text in texts:
        # Commas inside of brackets and quotes do not part the names.
        for part in re.split(r",(?=\s*[^\W\d]\w*\s*=)", text):
            name, sign, value = part.partition("=")
            if not sign or not _NAME.match(name.strip()):
                raise ConfigError(f"--init {part.strip()}: the form is name=value, as in d_model=48,depth=12")
            yield name.strip(), _value(value)


def _value(text: str) -> Any:
    """A literal of Python, else the text itself."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
