"""`shapecheck.check`: what the command finds, as values; nothing is printed, and nothing ends the process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shapecheck.commands.check_inputs import CheckInputs, read_inputs
from shapecheck.commands.checked_project import CheckedProject, check_inputs
from shapecheck.commands.notebook_places import claims_in_cells
from shapecheck.config import Config, ConfigError, load
from shapecheck.config.config_keywords import table_values
from shapecheck.model import Finding, JudgedClaim, Report, Summary, UnreachedClaim
from shapecheck.report import FORMATS, summary
from shapecheck.verdicts.baseline import BaselineError
from shapecheck.verdicts.judged_claims import judged_claims

if TYPE_CHECKING:
    from shapecheck.templates import Template


class CheckRunError(Exception):
    """The check could not do its job; the message says why, and what to do about it.

    Where it came to a `report` all the same, as with an example that is wrong by itself, this is what was found.
    """

    def __init__(self, message: str, report: CheckReport | None = None) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What a check found; iterating gives the findings, by path, line, column and code.

    `claims` are all claims, each with its verdict, what its names are bound to and what that assumes. `python` is the
    interpreter that evaluated; "" if nothing had to be evaluated.
    """

    findings: tuple[Finding, ...]
    claims: tuple[JudgedClaim, ...]
    unreached: tuple[UnreachedClaim, ...]
    summary: Summary
    python: str = ""
    _whole: Report = field(repr=False)
    _config: Config = field(repr=False)

    def __iter__(self) -> Iterator[Finding]:
        """The findings."""
        return iter(self.findings)

    def __len__(self) -> int:
        """How many findings there are, notes included."""
        return len(self.findings)

    def __bool__(self) -> bool:
        """True: a report without findings is one all the same."""
        return True

    def __str__(self) -> str:
        """The text that the command prints: the findings, and what became of the claims."""
        texts = (FORMATS["full"](self._whole), summary.render(self._whole))
        return "\n".join(filter(None, texts)).rstrip("\n")

    @property
    def ok(self) -> bool:
        """Whether there is no finding but notes, as the command's exit code 0 says."""
        return all(finding.severity == "note" for finding in self.findings)

    def to_json(self) -> str:
        """The text that `--output-format json` prints."""
        return FORMATS["json"](self._whole)

    def to_sarif(self) -> str:
        """The text that `--output-format sarif` prints."""
        return FORMATS["sarif"](self._whole)

    def template(
        self, target: str, *, init: str | Sequence[str] = (), args: str | Sequence[str] = (), flops: bool = False
    ) -> Template:
        """The stages of a model, as `shapecheck template TARGET` shows them, with the configuration of this check.

        `target` is `path/file.py:name` or `pkg.mod:name`; `init` and `args` are what `--init` and `--arg` take, one
        text or several: `report.template("model.py:GPT", init="d_model=48", args=["i32[batch seq]"])`. It is evaluated
        now, and nothing computes. Raises CheckRunError where the command ends with exit code 2.
        """
        # most reports are asked for no template
        from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415
        from shapecheck.commands.template import find  # noqa: PLC0415

        request = TargetRequest(target=target, init=_texts(init), args=_texts(args), flops=flops)
        try:
            return find(request, self._config).template
        except ConfigError as error:
            raise CheckRunError(f"{error}\n{error.remedy}".rstrip()) from error


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def check_paths(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: str | os.PathLike[str] | None,
    options: Mapping[str, object],
) -> CheckReport:
    """Check files and folders as the command does; raises CheckRunError for what keeps it from its job."""
    checked = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]
    try:
        if not checked:  # a list that came out empty by mistake shall not look like a clean run
            raise ConfigError("there is no path to check")
        for path in checked:
            if not path.exists():
                raise ConfigError(f"there is no file or folder {str(path)!r}")
        settings = load(checked, file=None if config is None else Path(config), flags=table_values(options))
        inputs = read_inputs(checked, settings)
        project = check_inputs(inputs, settings, inputs.rerun(settings) if settings.cache else None)
    except ConfigError as error:
        raise CheckRunError(f"{error}\n{error.remedy}".rstrip()) from error
    except BaselineError as error:
        raise CheckRunError(str(error)) from error
    found = _as_report(project, inputs, settings)
    if project.report.bugs:
        text = "this is a bug of shapecheck, please report it, with what is above the line of the error:"
        raise CheckRunError("\n".join((text, *project.report.bugs)), found)
    if project.report.broken:
        raise CheckRunError("\n".join(project.report.broken), found)
    return found


def _as_report(project: CheckedProject, inputs: CheckInputs, config: Config) -> CheckReport:
    judged, whole = project.judgement, project.report
    claims = judged_claims(project.modules, judged.verdicts, judged.sure, judged.reasons)
    return CheckReport(
        findings=whole.findings,
        claims=tuple(claims_in_cells(claims, inputs.notebooks)),
        unreached=whole.unreached,
        summary=whole.summary,
        python=whole.python,
        _whole=whole,
        _config=config,
    )
