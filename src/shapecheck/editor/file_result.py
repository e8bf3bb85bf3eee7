"""What a run says of one file, kept with the text that it looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.commands.checked_project import CheckedProject
from shapecheck.editor.line_places import LinePlace, line_places
from shapecheck.model import Evaluation, Finding, JudgedClaim, Module, Value, arrays_in
from shapecheck.verdicts.judged_claims import format_shapes, judged_claims


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
        for site, value, stage, complete in _observations(evaluation, module.path):
            place = places.get(site)
            if place is None or not any(arrays_in(value)):
                continue
            shown = ShownValue(
                place=place,
                shapes=format_shapes(value),
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
