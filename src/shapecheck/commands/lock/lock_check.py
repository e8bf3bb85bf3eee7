"""The lock against what is: a finding for each difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shapecheck.commands.lock.lock_evaluation import LockEvaluator, as_locked
from shapecheck.commands.lock.lock_paths import lock_request
from shapecheck.commands.target_request import TargetGoneError, TargetRequest
from shapecheck.commands.template import EvaluatedTemplate
from shapecheck.config import Config, ConfigError
from shapecheck.files import shown_path
from shapecheck.model import EntryResult, Finding, Frame, LockCounts
from shapecheck.rules import RULES
from shapecheck.templates.fold import StageLocation, unfold_locations
from shapecheck.templates.lockfile import LockedTemplate, sources
from shapecheck.templates.template_diff import Drift, drift, wholes
from shapecheck.verdicts.messages import line_span

Progress = Callable[[str, int, int], None]
_CODES = {"changed": "SC501", "added": "SC502", "removed": "SC503"}


@dataclass(kw_only=True)
class LockCheck:
    """What a check of the lock has shown. `broken` are targets that cannot be evaluated, and why.

    `files`, `sites` and `python` are what the evaluations depend on.
    """

    counts: LockCounts
    findings: list[Finding] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    entries: list[EntryResult] = field(default_factory=list)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    sites: set[str] = field(default_factory=set)
    python: str = ""

    @property
    def complete(self) -> bool:
        """Whether all targets came to their end, so that it is known what they depend on."""
        return all(entry.status == "ok" for entry in self.entries)

    def text(self, file: Path) -> tuple[str, ...]:
        """The lines of a file, for excerpts."""
        name = shown_path(file)
        if name not in self.lines:
            try:
                self.lines[name] = tuple(file.read_bytes().decode("utf-8-sig", "replace").splitlines())
            except OSError:
                self.lines[name] = ()
        return self.lines[name]


def check(
    lock: Path, templates: Sequence[LockedTemplate], config: Config, progress: Progress | None = None
) -> LockCheck:
    """Evaluate the targets of `templates`, which are those of the lock or some of them, and compare."""
    result = LockCheck(counts=LockCounts(shown_path(lock)))
    stages = 0
    requests = [lock_request(kept, lock) for kept in templates]
    evaluated = LockEvaluator(config).each(requests)
    for number, (kept, again) in enumerate(zip(templates, requests, strict=True)):
        if progress is not None:
            progress(f"evaluating {kept.target}", number, len(templates))
        found = next(evaluated)
        status, reason = ("failed", str(found)) if isinstance(found, ConfigError) else ("ok", "")
        if isinstance(found, TargetGoneError):
            result.findings.append(_missing_target_finding(kept, lock, reason, result))
        elif isinstance(found, ConfigError):
            remedy = f"or delete its part of {shown_path(lock)}"
            result.broken.append(
                f"{shown_path(lock)}:{kept.head}: {kept.target} cannot be evaluated: {reason} ({remedy})"
            )
        else:
            stages += found.template.count
            result.findings += _findings(kept, again, found, lock, result)
            result.files.update(found.files)
            result.sites.update(found.sites)
            result.python = found.python
        result.entries.append(EntryResult(kept.target, "lock", "symbolic", status, reason))
    failed = len(result.broken)
    result.counts = LockCounts(shown_path(lock), len(templates) - failed, stages, len(result.findings), failed)
    return result


def _findings(
    kept: LockedTemplate, again: TargetRequest, found: EvaluatedTemplate, lock: Path, result: LockCheck
) -> Iterator[Finding]:
    frames = sources(found.template, _own(found, lock))
    for each in drift(kept, as_locked(again, found)):
        code = _CODES[each.kind]
        place, _ = next(unfold_locations([(each.place, None)]))
        frame = _frame(place, frames)
        number = kept.line(place)
        path, line = (Path(frame.path), frame.line) if frame is not None else (lock, number)
        name = str(each.place) or each.type
        details = [f"{part.name} was {part.was}, is {part.now}" for part in each.parts[1:]]
        details.append(f"in {kept.target}, kept in {shown_path(lock)}:{number}")
        was, now = _change_texts(each)
        part = each.parts[0].name if each.parts else ""
        message = RULES[code].message.format(stage=name, part=part, was=was, now=now)
        span = line_span(result.text(path), line)
        yield Finding(
            code=code,
            severity=RULES[code].severity,
            path=shown_path(path),
            span=span,
            message=message,
            details=tuple(details),
            claimed=was,
            observed=now,
            stage=str(each.place),
        )


def _frame(place: StageLocation, frames: Mapping[StageLocation, Frame]) -> Frame | None:
    """The line to show: that of the stage, or of what is around it, where one that is gone has been."""
    around = (StageLocation(path) for path in reversed(list(wholes(place.path))))
    return next((frames[one] for one in (place, *around) if one in frames), None)


def _change_texts(each: Drift) -> tuple[str, str]:
    """What was, and what is."""
    if each.kind == "changed":
        return each.parts[0].was, each.parts[0].now
    inside = f" with {each.inside} stage{'s' * (each.inside != 1)} inside" if each.inside else ""
    text = f"{each.type} {each.shapes}{inside}"
    return ("", text) if each.kind == "added" else (text, "")


def _missing_target_finding(kept: LockedTemplate, lock: Path, reason: str, result: LockCheck) -> Finding:
    rule = RULES["SC503"]
    was = f"{len(kept.each())} stages"
    message = rule.message.format(stage=kept.target, was=was)
    span = line_span(result.text(lock), kept.head)
    return Finding(
        code=rule.code,
        severity=rule.severity,
        path=shown_path(lock),
        span=span,
        message=message,
        details=(reason,),
        claimed=was,
        stage="",
    )


def _own(found: EvaluatedTemplate, lock: Path) -> Mapping[str, str]:
    """The files of the project that have stages: as the worker names them, and absolute."""
    own: dict[str, str] = {}
    for stage in found.template:
        name = stage.source.path if stage.source is not None else ""
        if name and name not in own and (lock.parent / name).is_file():
            own[name] = str(lock.parent / name)
    return own
