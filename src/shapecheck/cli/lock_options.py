"""What `shapecheck template` does with the lock: `--write-lock`, `--check-lock` and `--diff`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from shapecheck.cli.terminal import CLEAN, FAILED, FINDINGS, deliver, say, use_color
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import Config, ConfigError
from shapecheck.model import Finding, Report, Summary
from shapecheck.report import FORMATS, summary

_COLORS = {"head": "bold", "was": "red", "now": "green"}


@dataclass(frozen=True, kw_only=True)
class LockRequest:
    """What the command line says."""

    target: str | None
    init: tuple[str, ...]
    arguments: tuple[str, ...]
    config: Config
    output_file: Path | None
    color: str

    @property
    def lock(self) -> Path:
        """The lock of the target's project."""
        from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415  # --help shall not wait for it

        file = TargetRequest(target=self.target).file if self.target is not None else None
        return lock_file(self.config, file.parent if file is not None else Path())


def write(request: LockRequest) -> int:
    """Keep the template of a target, or those of all that are kept."""
    from shapecheck.commands.lock import lock_write  # noqa: PLC0415  # as above

    if request.target is None and (request.init or request.arguments):
        raise click.UsageError("--init and --arg are for one TARGET")
    lock_write.write(request.lock, request.target, request.init, request.arguments, request.config, say)
    say(f"Wrote {_shown_path(request.lock)}\n")
    return CLEAN


def check(request: LockRequest) -> int:
    """Tell how a target, or all that are kept, differ from the lock."""
    from shapecheck.commands.lock import lock_check, lock_paths  # noqa: PLC0415  # as above

    lock, target, config = request.lock, request.target, request.config
    if request.init or request.arguments:
        raise click.UsageError("--check-lock takes --init and --arg from the lock; --write-lock changes them there")
    kept = lock_paths.read_lock(lock)
    if target is not None:
        name = lock_paths.relative_target(target, lock)
        found = [each for each in kept if each.target == name]
    else:
        name, found = "any template", list(kept)
    if not found:
        how = f"`shapecheck template {target or 'TARGET'} --write-lock` does so"
        raise ConfigError(f"{_shown_path(lock)} does not keep {name} yet: {how}")
    checked = lock_check.check(lock, found, config)
    findings, suppressed, baselined = _select_findings(checked.findings, config)
    sources = tuple((path, lines) for path, lines in sorted(checked.lines.items()))
    report = Report(
        findings=findings,
        summary=Summary(),
        unreached=(),
        entries=tuple(checked.entries),
        suppressed=suppressed,
        baselined=baselined,
        sources=sources,
    )
    color = request.color == "always" if request.output_file is not None else use_color(request.color, sys.stdout)
    deliver(FORMATS[config.output_format](report, color=color), request.output_file)
    say(summary.of_lock(checked.counts, color=use_color(request.color, sys.stderr)))
    for text in checked.broken:
        say(f"Error: {text}\n")
    return FAILED if checked.broken else FINDINGS if findings else CLEAN


def diff(one: str, other: str, request: LockRequest) -> int:
    """Tell how two templates differ."""
    from shapecheck.commands.lock.lock_diff import differences  # noqa: PLC0415  # as above

    lines = differences(one, other, request.init, request.arguments, request.lock, request.config)
    color = request.color == "always" if request.output_file is not None else use_color(request.color, sys.stdout)
    deliver("".join(f"{_paint(text, kind) if color else text}\n" for text, kind in lines), request.output_file)
    if not lines:
        say("No difference\n")
    return FINDINGS if lines else CLEAN


def _paint(text: str, kind: str) -> str:
    color = _COLORS.get(kind)
    return click.style(text, bold=True) if color == "bold" else click.style(text, fg=color)


def _select_findings(findings: Sequence[Finding], config: Config) -> tuple[tuple[Finding, ...], int, int]:
    """The findings to show, as `check` shows them, and how many ignore comments and the baseline keep back."""
    from shapecheck import claims  # noqa: PLC0415  # as above
    from shapecheck.commands import suppress  # noqa: PLC0415  # as above
    from shapecheck.verdicts import baseline  # noqa: PLC0415  # as above

    files = sorted({finding.path for finding in findings if finding.path.endswith(".py")})
    modules = [claims.read_module(path, Path(path).read_bytes()) for path in files]
    outcome = suppress.apply(findings, modules, config)
    kept, known = tuple(sorted(outcome.findings, key=lambda f: (f.path, f.span.line, f.code, f.message))), 0
    if config.baseline is not None:
        kept, known = baseline.filter(kept, {module.path: module.lines for module in modules}, config.baseline)
    return kept, outcome.suppressed, known


def _shown_path(file: Path) -> str:
    from shapecheck.files import shown_path  # noqa: PLC0415  # --help shall not wait for what looks for files

    return shown_path(file)
