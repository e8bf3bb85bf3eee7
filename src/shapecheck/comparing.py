"""Two targets compared: the texts on the command line -> a worker for each -> how their stages differ."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shapecheck.comparison import Comparison
from shapecheck.config import Config, ConfigError
from shapecheck.revisions import at_revision
from shapecheck.stage.process.client import Worker
from shapecheck.templating import Wanted, planned, started, telling


@dataclass(frozen=True)
class Asked:
    """What is compared, and how. `batch` is a file of inputs, or ""; `rules` give paths of `a` their names in `b`."""

    a: Wanted
    b: Wanted
    batch: str = ""
    seed: int = 0
    rules: Mapping[str, str] = field(default_factory=dict)
    rtol: float = 1e-5
    atol: float = 1e-8


@dataclass(frozen=True)
class Made:
    """What nobody gave to a target: integers of its constructor, and inputs in words."""

    target: str
    integers: Mapping[str, int]
    inputs: Sequence[str]


def compare(asked: Asked, config: Config) -> tuple[Comparison, tuple[Made, Made]]:
    """Run both, each in a process of its own, and compare them. Raises ConfigError, with the remedy, if that fails.

    What was made up for the first is given to the second. What stages give is in files, which are gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="shapecheck-") as folder, contextlib.ExitStack() as stack:
        files = str(Path(folder, "a")), str(Path(folder, "b"))
        with _started(asked.a, {}, config) as (worker, wanted):
            one = _collected(worker, wanted, {}, asked, config, *files)
        made = {"integers": one["made"]} if one["made"] else {}
        worker, wanted = stack.enter_context(_started(asked.b, made, config))
        passed_on = {} if asked.batch or asked.a.args else one["inputs"] or {}
        two = _collected(worker, wanted, passed_on, asked, config, *files[::-1])
        with telling(asked.b.target):
            found = worker.ask(
                "compared",
                config.timeout,
                a=one["ran"],
                b=two["ran"],
                files=files,
                rules=asked.rules,
                rtol=asked.rtol,
                atol=asked.atol,
            )
    if isinstance(found, Mapping):
        raise ConfigError(str(found["error"]))
    sides = tuple(Made(w.target, ran["made"], ran["told"]) for w, ran in ((asked.a, one), (asked.b, two)))
    try:
        return Comparison.of(asked.a.target, asked.b.target, found, asked.rtol, asked.atol), (sides[0], sides[1])
    except ValueError as error:
        raise ConfigError(str(error)) from None


@contextlib.contextmanager
def _started(wanted: Wanted, made: Mapping[str, Any], config: Config) -> Iterator[tuple[Worker, Wanted]]:
    settings: dict[str, Any] = {"memory": config.memory, "sizes": dict(config.sizes), "made": dict(made)}
    with at_revision(wanted) as there:
        plans, _ = planned(there, config)
        with telling(wanted.target):
            worker = started(there, plans, settings, config)
        with worker:
            yield worker, there


def _collected(
    worker: Worker,
    wanted: Wanted,
    likewise: Mapping[str, Any],
    asked: Asked,
    config: Config,
    file: str,
    other: str,
) -> Mapping[str, Any]:
    _, given = planned(wanted, config)
    batch = str(Path(asked.batch).absolute()) if asked.batch else ""
    with telling(wanted.target):
        answer: Mapping[str, Any] = worker.ask(
            "collect",
            config.timeout,
            given=replace(given, likewise=likewise),
            seconds=config.timeout,
            batch=batch,
            file=file,
            other=other,
            seed=asked.seed,
        )
    if "error" in answer:
        raise ConfigError(f"{wanted.target}: {answer['error']}")
    return answer
