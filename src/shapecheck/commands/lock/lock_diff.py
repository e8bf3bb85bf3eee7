"""Two templates side by side: targets, or what locks keep of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shapecheck.commands.lock.lock_evaluation import LockEvaluator, as_locked
from shapecheck.commands.lock.lock_paths import named_request, read_lock, relative_target
from shapecheck.commands.template import EvaluatedTemplate
from shapecheck.config import Config, ConfigError
from shapecheck.files import shown_path
from shapecheck.templates.lockfile import LockedTemplate
from shapecheck.templates.template_diff import Drift, drift

Line = tuple[str, str]
"""A line without its end, and what it is: "head", "stage", "was", "now"."""


def differences(
    one: str, other: str, init: Sequence[str], args: Sequence[str], lock: Path, config: Config
) -> list[Line]:
    """What differs between two of: `model.py:GPT`, `old/shapes.lock`, `old/shapes.lock#model.py:GPT`.

    A target that stands against a lock is made as the lock says, where that keeps it.
    """
    first, second = _side(one), _side(other)
    lines: list[Line] = []
    for was, now in _match_sides(one, other, first, second, init, args, lock, config):
        found = drift(was, now) if was is not None and now is not None else []
        if found or was is None or now is None:
            lines.append((f"--- {_side_name(was, one)}", "head"))
            lines.append((f"+++ {_side_name(now, other)}", "head"))
        for each in found:
            lines += _lines(each)
    return lines


def _side(text: str) -> tuple[LockedTemplate, ...] | None:
    """What a lock keeps; None for a target."""
    name, _, target = text.partition("#")
    file = Path(name)
    if not file.is_file() or name.endswith(".py"):
        return None
    kept = read_lock(file)
    found = tuple(each for each in kept if target in ("", each.target))
    if not found:
        has = f"{', '.join(each.target for each in kept) or 'nothing'}"
        raise ConfigError(f"{text}: there is no {target!r} in it, but {has}" if target else f"{text} keeps no template")
    return found


def _match_sides(
    one: str,
    other: str,
    first: tuple[LockedTemplate, ...] | None,
    second: tuple[LockedTemplate, ...] | None,
    init: Sequence[str],
    args: Sequence[str],
    lock: Path,
    config: Config,
) -> Iterator[tuple[LockedTemplate | None, LockedTemplate | None]]:
    evaluate = _TargetEvaluation(init, args, lock, config)
    if first is None and second is None:
        was, now = evaluate(one, other)
        yield was, now
    elif first is None and second is not None:
        kept = _same(one, second, other, lock)
        yield evaluate(one, kept=kept)[0], kept
    elif first is not None and second is None:
        kept = _same(other, first, one, lock)
        yield kept, evaluate(other, kept=kept)[0]
    elif first is not None and second is not None:
        if "#" in one and "#" in other:
            yield first[0], second[0]
            return
        names = sorted({each.target for each in (*first, *second)})
        for name in names:
            pair = [next((each for each in side if each.target == name), None) for side in (first, second)]
            yield pair[0], pair[1]


class _TargetEvaluation:
    """Evaluates the sides that are targets."""

    def __init__(self, init: Sequence[str], args: Sequence[str], lock: Path, config: Config) -> None:
        self._init, self._args, self._lock = init, args, lock
        self._evaluator = LockEvaluator(config)

    def __call__(self, *targets: str, kept: LockedTemplate | None = None) -> tuple[LockedTemplate, ...]:
        requests = [named_request(target, self._init, self._args, kept, self._lock) for target in targets]
        return tuple(
            as_locked(one, _unwrap(each)) for one, each in zip(requests, self._evaluator.each(requests), strict=True)
        )


def _unwrap(found: EvaluatedTemplate | ConfigError) -> EvaluatedTemplate:
    if isinstance(found, ConfigError):
        raise found
    return found


def _same(target: str, kept: Sequence[LockedTemplate], text: str, lock: Path) -> LockedTemplate:
    """What a lock keeps of a target, or else the only one that it keeps."""
    name = relative_target(target, lock)
    found = next((each for each in kept if each.target == name), kept[0] if len(kept) == 1 else None)
    if found is None:
        raise ConfigError(f"{text} has no {name!r}: say which one as {text}#{kept[0].target}")
    return found


def _side_name(side: LockedTemplate | None, text: str) -> str:
    if side is None:
        return "(nothing)"
    name = text.partition("#")[0]
    return f"{side.target}  ({shown_path(Path(name))})" if name != side.target and Path(name).is_file() else side.target


def _lines(each: Drift) -> Iterator[Line]:
    name = f"{each.place}  {each.type}" if str(each.place) else each.type
    if each.kind == "changed":
        yield f"  {name}", "stage"
        for part in each.parts:
            yield f"-   {part.name}  {part.was}", "was"
            yield f"+   {part.name}  {part.now}", "now"
        return
    sign, kind = ("-", "was") if each.kind == "removed" else ("+", "now")
    inside = f"  with {each.inside} stage{'s' * (each.inside != 1)} inside" if each.inside else ""
    yield f"{sign} {name}  {each.shapes}{inside}", kind
