"""What a report ends with on the terminal, for all commands that give one: its summary, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from shapecheck.cli.terminal import CLEAN, FAILED, FINDINGS, say, say_bugs, use_color
from shapecheck.config import Config
from shapecheck.model import Report
from shapecheck.report import summary


class ReportOptions(TypedDict):
    """What the commands that give a report let people choose of it."""

    output_file: Path | None
    show_unreached: bool
    show_assumptions: bool
    show_statistics: bool
    exit_zero: bool
    color: str
    quiet: bool


def say_closing(report: Report, output_format: str, options: ReportOptions) -> None:
    """Say on stderr what there is to say of the run."""
    closing = summary.statistics(report) if options["show_statistics"] else ""
    closing += summary.render(
        report,
        show_unreached=options["show_unreached"],
        show_assumptions=options["show_assumptions"],
        quiet=options["quiet"],
        color=use_color(options["color"], sys.stderr),
    )
    apart = closing and report.findings and output_format == "full" and options["output_file"] is None
    say(f"\n{closing}" if apart else closing)


def say_outcome(report: Report, config: Config, *, exit_zero: bool, parts: Sequence[tuple[Config, Report]] = ()) -> int:
    """Say what could not be done, last, where it is seen; the exit code.

    Of several `parts` each has settings of its own.
    """
    for text in report.broken:
        say(f"Error: {text}\n")
    if report.bugs:
        say_bugs(report.bugs)
    if report.broken or report.bugs:
        return FAILED
    if exit_zero:
        return CLEAN
    return max(_exit_code(each, settings) for settings, each in parts or [(config, report)])


def _exit_code(report: Report, config: Config) -> int:
    if any(finding.severity != "note" for finding in report.findings):
        return FINDINGS
    # What one shard does not reach may be what another does.
    counts = report.summary
    uncounted = report.unparsed or report.unread
    unreached = report.shard is None and (counts.unreached > counts.unreached_declarations or uncounted)
    return FINDINGS if config.fail_on_unreached and unreached else CLEAN
