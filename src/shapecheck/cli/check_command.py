"""`shapecheck check`: the options, the run, and what is reported of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from shapecheck.cli.config_options import BLOB, chosen_shard, config_flags, config_options, sole_shard
from shapecheck.cli.report_output import ReportOptions, say_closing, say_outcome
from shapecheck.cli.terminal import CLEAN, deliver, require_paths, say, stop_on_signals, use_color
from shapecheck.config import Config, load
from shapecheck.model import Report
from shapecheck.report import FORMATS, progress

if TYPE_CHECKING:
    from shapecheck.commands.fix import FixedFile
    from shapecheck.worker.shard_split import Shard
    from shapecheck.worker.spawn import Start

_WHOLE = (
    "a shard has no whole to fix, record or compare, and no stdin to share: leave out --shard (TEST_SHARD_INDEX), "
    "--output-format blob, or --fix, --diff, --update-baseline and `-`"
)


class _CheckFlags(ReportOptions):
    """What `check` takes besides what `Config` declares."""

    shard: str | None
    fix: bool
    unsafe_fixes: bool
    diff: bool
    update_baseline: bool
    config_file: Path | None
    stdin_filename: str | None
    watch_files: bool
    verbose: bool


@click.command(short_help="Check files and folders (the default command).")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path, allow_dash=True))
@config_options
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the findings to a file, not to stdout.")
@click.option(
    "--shard",
    metavar="I/N",
    help="Do the I-th of N parts, each on a machine of its own.  [default: as Bazel's TEST_SHARD_INDEX says]",
)
@click.option("--fix", is_flag=True, help="Write the fixes of findings that have one into the files.")
@click.option("--unsafe-fixes", is_flag=True, help="Let --fix and --diff change annotations too.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, in place of the findings.")
@click.option("--update-baseline", is_flag=True, help="Record the present findings in the baseline, and exit with 0.")
@click.option("--show-unreached", is_flag=True, help="List each unreached claim with its reason.")
@click.option("--show-assumptions", is_flag=True, help="List what each verified claim rests on that you did not give.")
@click.option("--statistics", "show_statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if there are findings.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option(
    "--stdin-filename", metavar="NAME", help="The name of the file whose text comes on stdin, for the path `-`."
)
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
@click.option("--watch", "watch_files", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Tell what was evaluated, and what your code prints: each line once, and no more than 100.",
)
def check(paths: tuple[Path, ...], **options: Unpack[_CheckFlags]) -> int:
    """Check the claims in files and folders against abstract evaluation.

    Without PATH, that is the working directory. Findings go to stdout, everything else to stderr. Flags win over
    [tool.shapecheck] of pyproject.toml.

    \b
      shapecheck check src/ --output-format github
      shapecheck check src/ --baseline shapes.json --update-baseline
      shapecheck check src/ --diff                 what --fix would write
      shapecheck check src/ --watch
      shapecheck check - --stdin-filename src/model.py < src/model.py
      shapecheck check src/ --python .venv/bin/python
      shapecheck check src/ --shard 1/4 --output-format blob --output-file r1.blob

    What is evaluated: your examples ([[tool.shapecheck.example]]), your tests (--no-tests), models and functions by
    what describes their arguments; then doctests, Python blocks of the README and docs, example scripts and `__main__`
    blocks, as far as they may reach what is still unreached (--no-snippets). The README tells more, under "Where inputs
    come from".

    A shard takes its part of the tests, models and functions, by the seconds that they took before; what it leaves to
    others is counted. `shapecheck merge r*.blob` gives the findings of all: what one shard alone finds is provisional.

    Packages with a [tool.shapecheck] each are checked one by one, each by its own settings and in its own environment
    (`python` in its table, else the virtual environment nearby), and reported together: shapecheck libs/*
    A shard of them takes its part of each.

    --fix rewrites comments and docstrings that are false for every sensible reading, in their own notation, and
    early formatting in jax.debug.print. Annotations are code, so it takes --unsafe-fixes too. Where several claims
    agree against the code, the code may be what is wrong: the finding says so, and nothing is written.

    Exit code: 0 clean, 1 findings (notes do not count), 2 could not do its job.
    """
    paths = paths or (Path(),)
    stdin = _stdin(paths, options["stdin_filename"])
    if options["watch_files"]:
        if stdin is not None:
            raise click.UsageError("--watch has no file to watch where the text comes on stdin")
        from shapecheck.cli.watch_mode import watch  # noqa: PLC0415  # only who asks for it pays for it

        return watch(
            paths, options, lambda: _config(paths, options), lambda start: _check_once(paths, None, options, start)
        )
    return _check_once(paths, stdin, options)


def _check_once(
    paths: tuple[Path, ...],
    stdin: tuple[str, bytes] | None,
    options: _CheckFlags,
    start: Start | None = None,
) -> int:
    config = _config(paths, options)
    file = options["output_file"]
    if file is not None and not file.absolute().parent.is_dir():
        raise click.UsageError(f"--output-file: there is no folder {file.parent}")
    update = options["update_baseline"]
    if update and config.baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE, or `baseline` in [tool.shapecheck]")
    shard = chosen_shard(options["shard"])
    _sensible(options, stdin)
    if shard is not None or config.output_format == BLOB:
        if stdin is not None or update or options["fix"] or options["diff"]:
            raise click.UsageError(_WHOLE)
        return _check_shard(_packages(paths, options), shard or sole_shard(), options)
    packages = [(config, paths)] if stdin is not None else _packages(paths, options)
    if update and len({each.baseline for each, _ in packages}) > 1:
        raise click.UsageError("these packages have a baseline each: --update-baseline with one of them at a time")
    parts = _run_checks(packages, stdin, options, start)
    report = _join([each for _, each in parts])
    if options["fix"] and (done := _fix(report, unsafe=options["unsafe_fixes"])):
        parts = _run_checks(packages, stdin, options)  # what is left, where it stands now
        report = _join([each for _, each in parts])
        say(done)
    if options["verbose"]:
        say("".join(_story(settings, each) for settings, each in parts))
    if update and config.baseline is not None and not (report.broken or report.bugs):
        from shapecheck.verdicts import baseline  # noqa: PLC0415  # as above

        count = baseline.write(report.findings, dict(report.sources), config.baseline)
        say(f"Recorded {count} finding{'s' * (count != 1)} in {config.baseline}\n")
        return CLEAN
    _print_report(report, config, options, stdin)
    return say_outcome(report, config, exit_zero=options["exit_zero"], parts=parts)


def _check_shard(packages: Sequence[tuple[Config, Sequence[Path]]], shard: Shard, options: _CheckFlags) -> int:
    """Do one part of the check of each package.

    What a blob hands on is judged by the merge, so that findings do not fail the shard.
    """
    from shapecheck.commands import blob  # noqa: PLC0415  # most runs are whole
    from shapecheck.commands import shard as sharding  # noqa: PLC0415

    lines, parts = [], []
    for number, (config, paths) in enumerate(packages, 1):
        with progress.Bar(sys.stderr) as bar, stop_on_signals():
            part, report = sharding.check_shard(
                paths,
                config,
                shard,
                package=number,
                packages=len(packages),
                progress=bar,
                echo=options["verbose"],
            )
        lines.append(blob.dump(part))
        parts.append((config, report))
    if options["verbose"]:
        say("".join(_story(settings, each) for settings, each in parts))
    config, report = packages[0][0], _join([each for _, each in parts])
    if config.output_format != BLOB:
        _print_report(report, config, options, None)
        return say_outcome(report, config, exit_zero=options["exit_zero"], parts=parts)
    deliver("".join(lines), options["output_file"])
    say_closing(report, BLOB, options)
    return say_outcome(report, config, exit_zero=True)


def _packages(paths: tuple[Path, ...], options: _CheckFlags) -> list[tuple[Config, tuple[Path, ...]]]:
    """The paths by the configuration that is theirs."""
    if len(paths) == 1 or options["config_file"] is not None:
        return [(_config(paths, options), paths)]
    from shapecheck.commands.packages import by_configuration  # noqa: PLC0415  # most runs are of one package

    return by_configuration(paths, lambda path: _config([path], options))


def _join(reports: Sequence[Report]) -> Report:
    if len(reports) == 1:
        return reports[0]
    from shapecheck.commands.packages import join_reports  # noqa: PLC0415  # most runs are of one package

    return join_reports(reports)


def _run_checks(
    packages: Sequence[tuple[Config, Sequence[Path]]],
    stdin: tuple[str, bytes] | None,
    options: _CheckFlags,
    start: Start | None = None,
) -> list[tuple[Config, Report]]:
    """The report of each package; one whose baseline is to be written again is checked without it."""
    found = []
    for config, paths in packages:
        settings = replace(config, baseline=None) if options["update_baseline"] else config
        found.append((config, _run_check(paths, settings, stdin, options, start)))
    return found


def _run_check(
    paths: Sequence[Path],
    config: Config,
    stdin: tuple[str, bytes] | None,
    options: _CheckFlags,
    start: Start | None = None,
) -> Report:
    from shapecheck.commands import check  # noqa: PLC0415  # --help and --version shall not wait for it

    with progress.Bar(sys.stderr) as bar, stop_on_signals():
        files = () if stdin is not None else paths
        return check.check(files, config, progress=bar, stdin=stdin, echo=options["verbose"], start=start)


def _sensible(options: _CheckFlags, stdin: tuple[str, bytes] | None) -> None:
    """Refuse combinations that nobody can mean."""
    if options["fix"] and options["diff"]:
        raise click.UsageError("--fix and --diff exclude each other: one writes the changes, the other shows them")
    if options["unsafe_fixes"] and not (options["fix"] or options["diff"]):
        raise click.UsageError("--unsafe-fixes says what --fix writes or --diff shows; give one of them with it")
    if options["fix"] and stdin is not None:
        raise click.UsageError("--fix has no file to write where the text comes on stdin; --diff prints the changes")


def _fix(report: Report, *, unsafe: bool) -> str:
    """Write all fixes; what to say of it, if there were any."""
    from shapecheck.commands import file_changes, fix  # noqa: PLC0415  # only who asks for it pays for it

    files = list(fix.fixes(report, unsafe=unsafe))
    fixed = [file for file in files if not file.problem]
    for file in fixed:
        file_changes.write(file)
    count = sum(len(file.findings) for file in fixed)
    left = 0 if unsafe else sum(bool(finding.fix) and finding.unsafe_fix for finding in report.findings)
    more = f"{left} more can be fixed in annotations, with --unsafe-fixes\n" if left else ""
    done = f"Fixed {count} finding{'s' * (count != 1)} in {', '.join(file.path for file in fixed)}\n" if fixed else ""
    return _left_alone(files) + done + more


def _left_alone(files: Sequence[FixedFile]) -> str:
    return "".join(f"{file.path} is left alone: {file.problem}\n" for file in files if file.problem)


def _diff(report: Report, stdin: tuple[str, bytes] | None, *, unsafe: bool) -> str:
    from shapecheck.commands import file_changes, fix  # noqa: PLC0415  # as above

    files = list(fix.fixes(report, None if stdin is None else stdin[1], unsafe=unsafe))
    say(_left_alone(files))
    return "".join(map(file_changes.diff, files))


def _print_report(report: Report, config: Config, options: _CheckFlags, stdin: tuple[str, bytes] | None) -> None:
    """The findings, or what would mend them, then what there is to say of the run."""
    choice, file = options["color"], options["output_file"]
    color = choice == "always" if file is not None else use_color(choice, sys.stdout)
    if options["diff"]:
        deliver(_diff(report, stdin, unsafe=options["unsafe_fixes"]), None)
    if file is not None or not options["diff"]:
        deliver(FORMATS[config.output_format](report, color=color), file)
    say_closing(report, config.output_format, options)


def _config(paths: Sequence[Path], options: _CheckFlags) -> Config:
    named = options["stdin_filename"]
    return load([Path(named)] if named else paths, file=options["config_file"], flags=config_flags(options))


def _stdin(paths: Sequence[Path], name: str | None) -> tuple[str, bytes] | None:
    """The name and text of the file that comes on stdin, if `-` says so; else make sure that all paths exist."""
    if Path("-") not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename needs the path `-`")
        require_paths(paths)
        return None
    if len(paths) > 1:
        raise click.UsageError("`-` (stdin) cannot be mixed with other paths")
    if name is None:
        raise click.UsageError("`-` (stdin) needs --stdin-filename, which tells the package that the text belongs to")
    return name, sys.stdin.buffer.read()


def _story(config: Config, report: Report) -> str:
    lines = [f"configuration: {config.file or 'none found'}\n"]
    lines += [f"interpreter: {report.python}\n"] if report.python else []
    for entry in report.entries:
        reason = f": {entry.reason}" if entry.reason else ""
        lines.append(f"{entry.status:<8} {entry.target} ({entry.origin}, {entry.mode}){reason}\n")
    lines += [f"left     {target} (to another shard)\n" for target in report.shard.left_targets] if report.shard else []
    return "".join(lines)
