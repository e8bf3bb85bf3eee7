"""What runs say of files, each kept with the text that it looked at; and how the texts differ from that now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shapecheck.commands.checked_project import CheckedProject
from shapecheck.editor.line_places import LinePlace, line_places
from shapecheck.editor.positions import MovedLines
from shapecheck.model import Evaluation, Finding, JudgedClaim, Module, Value, arrays_in
from shapecheck.verdicts.judged_claims import format_shapes, judged_claims
from shapecheck.verdicts.whole_sizes import whole_sizes


@dataclass(frozen=True, kw_only=True)
class ShownValue:
    """A value that evaluation showed: where it stands, its shapes with free names and sizes, and the stage it is in.

    `whole` says that the call went on to its end with symbols for sizes: then the shape is proved.
    """

    place: LinePlace
    shapes: str
    function: str
    stage: str
    whole: bool
    sizes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileResult:
    """The findings, claims and values of a file. `version` is that of the document, None for what lay on the disk.

    `unread` is what a later run said of a later text that Python cannot parse; all else is of the text before that.
    """

    path: str
    lines: tuple[str, ...]
    version: int | None
    module: Module
    findings: tuple[Finding, ...]
    claims: tuple[JudgedClaim, ...]
    values: Mapping[int, tuple[ShownValue, ...]]  # by line
    models: frozenset[str] = frozenset()  # the classes that were evaluated as whole models
    unread: FileResult | None = None

    @property
    def verified_count(self) -> int:
        """How many claims are verified."""
        return sum(claim.verdict == "verified" for claim in self.claims)

    @property
    def status(self) -> str:
        """How many claims are verified, in words."""
        words = f"verified {self.verified_count} of {len(self.claims)}" if self.claims else "no shape claims"
        return f"Python cannot read this; before, {words}" if self.unread is not None else words


def file_results(project: CheckedProject, texts: Mapping[str, bytes], versions: Mapping[str, int]) -> list[FileResult]:
    """The results of all files of a run; `texts` are those of the files whose values are to be shown."""
    judged = project.judgement
    claims: dict[str, list[JudgedClaim]] = {}
    for claim in judged_claims(project.modules, judged.verdicts, judged.sure, judged.reasons):
        claims.setdefault(claim.path, []).append(claim)
    findings: dict[str, list[Finding]] = {}
    for finding in project.report.findings:
        findings.setdefault(finding.path, []).append(finding)
    models: dict[str, frozenset[str]] = {}
    for evaluation in (each for run in judged.runs for each in run if each.origin == "model" and each.status == "ok"):
        name = evaluation.target.partition(":")[2]
        models[evaluation.path] = models.get(evaluation.path, frozenset()) | {name}
    return [
        FileResult(
            path=path,
            lines=module.lines,
            version=versions.get(path),
            module=module,
            findings=tuple(findings.get(path, ())),
            claims=tuple(claims.get(path, ())),
            values=_values(module, texts[path], judged.runs) if path in texts else {},
            models=models.get(path, frozenset()),
        )
        for path, module in project.modules.items()
    ]


def _values(module: Module, text: bytes, runs: Sequence[Sequence[Evaluation]]) -> dict[int, tuple[ShownValue, ...]]:
    """The values of each line: of each place and stage the first that was seen, with symbols if it ever was."""
    places = line_places(module, text)
    found: dict[int, dict[tuple[int, str], ShownValue]] = {}
    for evaluation in sorted((each for run in runs for each in run), key=_trust):
        size = whole_sizes(evaluation)
        for site, value, stage, complete in _observations(evaluation, module.path):
            place = places.get(site)
            if place is None or not any(arrays_in(value)):
                continue
            shown = ShownValue(
                place=place,
                shapes=format_shapes(value, size),
                function=module.scopes[module.sites[site].scope].qualname,
                stage=stage,
                whole=complete and evaluation.mode == "symbolic" and evaluation.status == "ok",
                sizes=evaluation.sizes if evaluation.mode == "sized" else (),
            )
            found.setdefault(place.line, {}).setdefault((site, shown.stage), shown)
    return {line: tuple(shown.values()) for line, shown in found.items()}


def _trust(evaluation: Evaluation) -> tuple[bool, bool]:
    """Those with symbols first, and of these the ones that came to their end."""
    return evaluation.mode != "symbolic", evaluation.status != "ok"


def _observations(evaluation: Evaluation, path: str) -> Iterator[tuple[int, Value, str, bool]]:
    for call in evaluation.calls:
        if call.path == path:
            for observation in call.observations:
                yield observation.site, observation.value, call.stage, call.complete


class WorkspaceResults:
    """The last results of each file, by its path as runs show it."""

    def __init__(self) -> None:
        self._results: dict[str, FileResult] = {}
        self._moved: dict[tuple[str, bool], tuple[Sequence[str], Sequence[str], MovedLines]] = {}

    def take(self, results: Iterable[FileResult], folder: Path | None, *, cut: bool = False) -> set[str]:
        """Keep what a run gave, and return the paths of which something new is known.

        After a run over all of a `folder`, what is not in it is gone. A text that nobody can parse, as while it is
        typed, says nothing of what its lines mean: for these the earlier result holds, where they are as they were.
        Nor does a run that was `cut` take back what an earlier one has verified of the same text.
        """
        new = {result.path: result for result in results}
        gone = {
            path for path in set(self._results) - set(new) if folder and Path(path).absolute().is_relative_to(folder)
        }
        for path, result in new.items():
            known = self._results.get(path)
            if known is None:
                self._results[path] = result
            elif known.module.parsed and not result.module.parsed:
                self._results[path] = replace(known, version=result.version, unread=result)
            elif cut and known.lines == result.lines and known.verified_count > result.verified_count:
                self._results[path] = replace(known, version=result.version, unread=None)
            else:
                self._results[path] = result
        for path in gone:
            del self._results[path]
        return set(new) | gone

    def get(self, path: str) -> FileResult | None:
        """What is known of a file."""
        return self._results.get(path)

    def movement(self, result: FileResult, lines: Sequence[str]) -> MovedLines:
        """Where the lines that were looked at stand in the present text."""
        slot = (result.path, result.module.parsed)  # for a text that cannot be parsed stands beside the one before it
        kept = self._moved.get(slot)
        if kept is None or kept[0] is not result.lines or kept[1] is not lines:
            kept = (result.lines, lines, MovedLines(result.lines, lines))
            self._moved[slot] = kept
        return kept[2]
