"""Two targets compared: the texts on the command line -> a worker for each -> how their stages differ.

`HEAD~1:model.py:GPT` is evaluated in a copy of the repository at that revision.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shapecheck.commands import suggestions
from shapecheck.commands.target_request import OpenTarget, TargetRequest, UnevaluatedError, open_target
from shapecheck.comparison import Comparison
from shapecheck.config import Config, ConfigError
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.model import Tolerance
from shapecheck.worker.messages.target_messages import CollectedModel, CollectModel, CompareModels


@contextlib.contextmanager
def at_revision(request: TargetRequest) -> Iterator[TargetRequest]:
    """The target without its revision, in a folder that has it as it was; one without a revision as it is.

    The folder is gone afterwards; the repository is only read. Raises ConfigError for what git does not know.
    """
    revision, sign, target = _split_revision(request.target)
    if not sign:
        yield request
        return
    top = Path(_git(request.folder, "rev-parse", "--show-toplevel").decode().strip())
    try:
        _git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except ConfigError:
        raise ConfigError(f"{request.target}: git knows no revision {revision!r}") from None
    archive = _git(top, "archive", "--format=tar", f"{revision}^{{tree}}")
    inside = request.folder.resolve().relative_to(top.resolve())
    with scratch_folder() as name:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(name, filter="tar")
        folder = Path(name).resolve() / inside
        if not folder.is_dir():
            raise ConfigError(f"{request.target}: there was no folder {inside.as_posix()!r} at {revision}")
        yield replace(request, target=target, folder=folder)


def _split_revision(target: str) -> tuple[str, str, str]:
    """Revision, whether there is one, and the target by itself."""
    where, _, name = target.rpartition(":")
    revision, sign, path = where.rpartition(":")
    return revision, sign, f"{path}:{name}"


def _git(folder: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"a revision is read by git, which cannot be started: {error.strerror}") from error
    if done.returncode:
        text = done.stderr.decode(errors="replace").strip().splitlines()
        raise ConfigError(f"git {' '.join(words)}: {text[0] if text else f'exit status {done.returncode}'}")
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What is compared, and how. `batch` is a file of inputs, or ""; `rules` give paths of `a` their names in `b`."""

    a: TargetRequest
    b: TargetRequest
    batch: str = ""
    seed: int = 0
    rules: Mapping[str, str] = field(default_factory=dict)
    tolerance: Tolerance = field(default_factory=Tolerance)

    @property
    def command(self) -> list[str]:
        """What compares the two so, for somebody to change."""
        both = [text for text in self.a.init if text in self.b.init]
        own = [(flag, t) for flag, w in (("--init-a", self.a), ("--init-b", self.b)) for t in w.init if t not in both]
        given = [*(("--init", t) for t in both), *own, *(("--arg", t) for t in self.a.args)]
        given += [("--inputs", self.batch)] if self.batch else []
        given += [("--map", f"{old}={new}") for old, new in self.rules.items()]
        return ["shapecheck", "compare", self.a.target, self.b.target, *(part for pair in given for part in pair)]


@dataclass(frozen=True)
class InventedInputs:
    """What nobody gave to a target: integers of its constructor, and inputs in words."""

    target: str
    integers: Mapping[str, int]
    inputs: Sequence[str]


def compare(request: CompareRequest, config: Config) -> tuple[Comparison, tuple[InventedInputs, InventedInputs]]:
    """Run both, each in a process of its own, and compare them. Raises ConfigError, with the remedy, if that fails.

    What was made up for the first is given to the second; but if that has inputs of its own, or alone tells what it
    takes, those are given to both. What stages give is in files, which are gone afterwards.
    """
    with scratch_folder() as folder, contextlib.ExitStack() as stack:
        files = str(Path(folder, "a")), str(Path(folder, "b"))
        with _open_side(request.a, {}, config) as opened:
            one = _collect_runs(opened, {}, request, config, *files)
        says = bool(request.batch or request.a.args)
        lacks = one.refusal is not None and bool(one.refusal.missing) and not one.refusal.constructing
        waits = lacks and not says
        if not waits:
            _check(one, request, request.a)
        made = {"integers": one.made} if one.made else {}
        opened = stack.enter_context(_open_side(request.b, made, config))
        passed_on = {} if says or waits else one.inputs or {}
        two = _collect_runs(opened, passed_on, request, config, *files[::-1], borrowed_invented=bool(one.invented))
        if waits and two.refusal is not None and two.refusal.missing:
            _check(one, request, request.a)
        _check(two, request, request.b, one.given)
        if waits or (two.own and two.inputs):
            made = {"integers": two.made} if waits and two.made else made
            with _open_side(request.a, made, config) as other:
                one = _collect_runs(other, two.inputs or {}, request, config, *files)
            _check(one, request, request.a, two.given)
        question = CompareModels(a=one.runs, b=two.runs, files=files, rules=request.rules, tolerance=request.tolerance)
        answer = opened.worker.ask(question, config.timeout)
    if answer.found is None:
        raise ConfigError(answer.error)
    sides = tuple(InventedInputs(w.target, ran.made, ran.invented) for w, ran in ((request.a, one), (request.b, two)))
    try:
        return Comparison.of(request.a.target, request.b.target, answer.found, request.tolerance), (sides[0], sides[1])
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _check(answer: CollectedModel, request: CompareRequest, side: TargetRequest, given: Sequence[str] = ()) -> None:
    """Raise UnevaluatedError for a model that could not be run, `given` in words what the other one takes."""
    refusal = answer.refusal
    if refusal is None:
        return
    is_first = side is request.a
    text, flag = refusal.error, "--init-a" if is_first else "--init-b"
    if given and not refusal.missing:
        remedy = suggestions.other_layout((request.b if is_first else request.a).target, given)
    else:
        remedy = suggestions.suggest_for_refusal(request.command, refusal, answer.made, answer.places, flag)
        if answer.invented and not refusal.missing:
            remedy = f"{remedy}\nMade-up inputs: {', '.join(answer.invented)}. --arg, --inputs give others.".lstrip()
    raise UnevaluatedError(f"{side.target}: {text}", remedy)


@contextlib.contextmanager
def _open_side(side: TargetRequest, made: Mapping[str, Mapping[str, int]], config: Config) -> Iterator[OpenTarget]:
    with at_revision(side) as there, open_target(replace(there, made=made), config, shown=side.target) as opened:
        yield opened


def _collect_runs(
    opened: OpenTarget,
    borrowed: Mapping[str, object],
    request: CompareRequest,
    config: Config,
    file: str,
    other: str,
    *,
    borrowed_invented: bool = False,
) -> CollectedModel:
    batch = str(Path(request.batch).absolute()) if request.batch else ""
    question = CollectModel(
        given=replace(opened.given, borrowed=borrowed, borrowed_invented=borrowed_invented and bool(borrowed)),
        seconds=config.timeout,
        batch=batch,
        file=file,
        other=other,
        seed=request.seed,
    )
    return opened.worker.ask(question, config.timeout)
