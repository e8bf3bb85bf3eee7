"""A finding as a test that fails alone: its place -> a call of what it stands in -> the smallest sizes that show it."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shapecheck.commands.reproduction_file import Reproduction, ReproductionOutcome, ReproductionRunner, render
from shapecheck.commands.target_request import OpenTarget, TargetRequest, UnevaluatedError, open_target
from shapecheck.config import Config, ConfigError
from shapecheck.worker.messages.target_messages import WriteCall, WrittenCall

_RAISED = ("SC301", "SC305")  # what JAX itself raises
_CLAIMED = ("SC2",)
_SWITCH = re.compile(r"with ((?:self\.)?[A-Za-z_]\w*) = (True|False|given|'[^']*')")
_CALLER = re.compile(r"called from ([\w.<>]+) \((.+):\d+\)")
_SMALL = (1, 2, 3)
_FIRST = (2, 3, 5, 7, 11, 13)


@dataclass(frozen=True, kw_only=True)
class ReportedFinding:
    """A finding as a report has it, and the functions that it was seen in a call of: `path:qualified.name`.

    `switches` are the arguments that it needs to be set, as Python writes them.
    """

    code: str
    path: str
    line: int
    message: str
    callers: tuple[str, ...] = ()
    switches: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """As the command takes it."""
        return f"{self.path}:{self.line}:{self.code}"


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    """What a check of one file finds there that a call can show, by line; and why claims of it were not reached."""

    findings: tuple[ReportedFinding, ...]
    unreached: Mapping[int, str]

    def reason(self, line: int) -> str:
        """Why nothing is known of a line, or else of the file's first claim that was not reached; "" if all were."""
        return self.unreached.get(line) or next(iter(self.unreached.values()), "")


def check_file(path: Path, config: Config) -> CheckedFile:
    """Check one file for findings that a call can show."""
    from shapecheck.commands.check import check  # noqa: PLC0415 - a report has it already

    found = check([path], replace(config, baseline=None))
    findings = tuple(
        ReportedFinding(
            code=each.code,
            path=each.path,
            line=each.span.line,
            message=each.message,
            callers=tuple(f"{m[2]}:{m[1]}" for line in each.details for m in _CALLER.finditer(line)),
            switches=_switches(each.details),
        )
        for each in found.findings
        if is_reproducible(each.code)
    )
    return CheckedFile(findings=findings, unreached={each.line: each.reason for each in found.unreached})


def is_reproducible(code: str) -> bool:
    """Whether a call can show findings of a rule."""
    return code in _RAISED or code.startswith(_CLAIMED)


def _switches(details: Iterable[str]) -> dict[str, str]:
    """The arguments that the details of a finding say were set: `with causal = True`."""
    return {m[1]: m[2] for m in map(_SWITCH.fullmatch, details) if m is not None}


def findings_in_report(file: Path) -> tuple[ReportedFinding, ...]:
    """The findings of a report that `--output-format json` wrote. Raises ConfigError for anything else."""
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))["findings"]
        found = [
            ReportedFinding(
                code=each["code"],
                path=each["path"],
                line=int(each["line"]),
                message=each["message"],
                switches=_switches(map(str, each.get("details", ()))),
            )
            for each in listed
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file} is no report that `shapecheck --output-format json` wrote: {error}") from None
    return tuple(each for each in found if is_reproducible(each.code))


@dataclass
class _CallAttempt:
    """One function to call, in a worker of its own."""

    finding: ReportedFinding
    opened: OpenTarget
    config: Config
    runner: ReproductionRunner
    is_hidden: bool = False  # by other claims, which fail first

    def write(self, sizes: Mapping[str, int]) -> WrittenCall:
        request = WriteCall(
            given=self.opened.given,
            seconds=self.config.timeout,
            sizes=sizes,
            untied=self.finding.code in _RAISED,
            switches=self.finding.switches,
        )
        return self.opened.worker.ask(request, self.config.timeout)

    def text(self, call: WrittenCall) -> str:
        return render(
            Reproduction(
                what=f"{self.finding.code} {self.finding.message}",
                place=f"{self.finding.path}:{self.finding.line}",
                root=self.opened.plan.root if self.opened.plan is not None else "",
                call=call,
                checked=self.opened.plan.name
                if self.opened.plan is not None and self.finding.code not in _RAISED
                else "",
                hooked=self.finding.code == "SC205",
                said=f"{self.finding.code} {self.finding.message.partition(', but ')[0]}" if self.is_hidden else "",
            )
        )

    def run(self, call: WrittenCall) -> ReproductionOutcome:
        return self.runner.run(self.text(call))

    def is_shown(self, outcome: ReproductionOutcome) -> bool:
        """Whether an error is the finding: a mismatch at its place, or an error that its line raised."""
        finding = self.finding
        if self.is_hidden:
            return outcome.phase == "test" and outcome.error == "AssertionError"
        if finding.code not in _RAISED:
            return outcome.is_mismatch(finding.code, finding.path, finding.line)
        path = os.path.realpath(finding.path)
        own = [line for file, line in outcome.lines if file == path]
        return outcome.phase == "test" and own[-1:] == [finding.line]


def reproduce(finding: ReportedFinding, config: Config) -> str:
    """A test that fails with the finding. Raises ConfigError, with what was tried, if no call alone shows it."""
    tried: list[str] = []
    for target in dict.fromkeys(_targets(finding)):
        found = _reproduce_by(TargetRequest(target=target, shows="template"), finding, config)
        if not isinstance(found, ReproductionOutcome):
            return found
        tried.append(f"  {target} {found.summary}")
    raise UnevaluatedError(
        f"No call alone shows {finding.place}. Tried:\n" + "\n".join(tried or ["  nothing: it stands in no function"]),
        "What is raised first has to be put right, or reproduced, before. Arguments that nothing describes need an "
        "annotation or a comment.",
    )


def _reproduce_by(target: TargetRequest, finding: ReportedFinding, config: Config) -> str | ReproductionOutcome:
    """The test that calls one function; or what that does instead."""
    with open_target(target, config) as opened, ReproductionRunner(opened.worker.python, config.timeout) as runner:
        attempt = _CallAttempt(finding, opened, config, runner)
        call = attempt.write({})
        if call.error:
            return ReproductionOutcome(error="", text=f"cannot be called: {call.error}")
        outcome = attempt.run(call)
        if (
            outcome.error == "ShapeMismatch"
            and not attempt.is_shown(outcome)
            and finding.code not in ("SC205", *_RAISED)
        ):
            attempt.is_hidden = True
            outcome = attempt.run(call)
        return attempt.text(_shrink(attempt, call)) if attempt.is_shown(outcome) else outcome


def _shrink(attempt: _CallAttempt, call: WrittenCall) -> WrittenCall:
    """The same with the smallest sizes that show it: all at once first, then one by one."""

    def shows(sizes: Mapping[str, int]) -> WrittenCall | None:
        smaller = attempt.write(sizes)
        return smaller if not smaller.error and attempt.is_shown(attempt.run(smaller)) else None

    names = sorted(call.sizes, key=lambda name: -call.sizes[name])
    if not names or len(names) > len(_FIRST):
        return call
    best, sizes = call, dict(call.sizes)
    few = dict(zip(names, _FIRST, strict=False))
    if (found := shows(few)) is not None:
        best, sizes = found, few
    for name in names:
        for size in (each for each in _SMALL if each < sizes[name]):
            smaller = {**sizes, name: size}
            if (found := shows(smaller)) is not None:
                best, sizes = found, smaller
                break
    return best


def _targets(finding: ReportedFinding) -> Iterator[str]:
    """What may be called: the function that the line stands in, what called it, its class."""
    name, cls = enclosing_function(Path(finding.path).read_text(encoding="utf-8"), finding.line)
    if name and name.rpartition(".")[2] != "__init__":
        yield f"{finding.path}:{name}"
    for caller in finding.callers:
        if "<" not in caller:
            yield caller.removesuffix(".__call__")
    if cls:
        yield f"{finding.path}:{cls}"


def enclosing_function(source: str, line: int) -> tuple[str, str]:
    """The outermost function around a line, behind its classes, and these classes: "" where there are none."""
    classes: list[str] = []
    body: Sequence[ast.stmt] = ast.parse(source).body
    while True:
        inside = (each for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef))
        found = next((each for each in inside if _first_line(each) <= line <= (each.end_lineno or 0)), None)
        if not isinstance(found, ast.ClassDef):
            return ".".join([*classes, found.name]) if found is not None else "", ".".join(classes)
        classes.append(found.name)
        body = found.body


def _first_line(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])
