"""The command line: the only place that prints or exits."""

from __future__ import annotations

import difflib
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import click

from shapecheck import __version__, cache
from shapecheck.atomic import write_text
from shapecheck.check import baseline
from shapecheck.check.rules import RULES, Rule, as_code, nearest_code
from shapecheck.config import Config, ConfigError, interpreter, load
from shapecheck.facts import Module, Report
from shapecheck.report import FORMATS, progress, statistics, summary

_CLEAN, _FINDINGS, _FAILED, _INTERRUPTED = 0, 1, 2, 130


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # not click's own main(): that takes any broken pipe, also one to the worker, for a reader who went away
    try:
        with command.make_context("shapecheck", list(sys.argv[1:] if args is None else args)) as context:
            return int(command.invoke(context) or _CLEAN)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return _FAILED
    except (ConfigError, baseline.BaselineError) as error:
        _say(f"Error: {error}\n")
        return _FAILED
    except (KeyboardInterrupt, click.Abort):
        _say("\nInterrupted.\n")
        return _INTERRUPTED
    except Exception:  # the last resort: our own bug must neither look like findings nor like a clean run
        python = ".".join(str(number) for number in sys.version_info[:3])
        _say(traceback.format_exc())
        _say(f"\nThis is a bug in shapecheck {__version__} (Python {python}). Please report it with the text above.\n")
        return _FAILED


class _Group(click.Group):
    """A group in which `shapecheck pkg/` means `shapecheck check pkg/`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            _say(self.get_help(ctx) + "\n")
            ctx.exit(_FAILED)  # a script whose list of paths came out empty has checked nothing
        if args[0] not in self.commands and args[0] not in ("-h", "--help", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shapecheck", message="%(prog)s %(version)s")
def command() -> None:
    """Check the shapes that JAX code claims, for every size, before anything runs.

    Claims are jaxtyping annotations, comments such as `# (batch, seq, d_model)`, and docstrings. Models and functions
    are evaluated abstractly (jax.eval_shape) in a process of their own: nothing computes, no accelerator is needed.

    \b
      shapecheck src/                      check a package
      shapecheck model.py train.py         check some files
      shapecheck src/ --select SC201       only wrong comments
      shapecheck claims src/               list what would be checked, without importing anything
      shapecheck explain SC201             what a rule means, with examples
      shapecheck check --help              all options of a check

    \b
    Every claim ends in one of three ways, and the summary counts each:
      verified     it holds, for all sizes or for the sizes seen
      mismatched   it is wrong in every sensible reading: a finding
      unreached    it could not be evaluated, with the reason
    (A comment that may not be a shape is tentative: it can be verified, and is only reported with --strict-comments.)

    \b
    Exit code: 0 clean, 1 findings, 2 could not do its job (usage, configuration, our own bug).

    \b
    Configuration: [tool.shapecheck] in the nearest pyproject.toml that has it, upwards from the first path.
    Suppress a finding with `# shapecheck: ignore[SC201]` on its line, or a file with `# shapecheck: ignore-file`.
    """


@command.command(short_help="Check files and folders (the default command).")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), help=f"Of the findings.  [default: {Config.output_format}]"
)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the findings to a file, not to stdout.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules: SC201, or SC2 for all that begin so.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these rules. The longer beginning of a code wins.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Leave out excluded files even if named.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Do not report the findings recorded in this file.")
@click.option("--update-baseline", is_flag=True, help="Record the present findings in the baseline, and exit with 0.")
@click.option("--strict-comments/--no-strict-comments", default=None, help="Report tentative comments too.")
@click.option(
    "--fail-on-unreached/--no-fail-on-unreached",
    default=None,
    help="Exit with 1 if a claim is unreached, or a file cannot be parsed.",
)
@click.option(
    "--report-unused-ignores/--no-report-unused-ignores", default=None, help="Report needless ignore comments."
)
@click.option("--show-unreached", is_flag=True, help="List each unreached claim with its reason.")
@click.option("--statistics", "show_statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if there are findings.")
@click.option("--python", metavar="PATH", help="The interpreter that your code runs in.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help=f"For one import or entry.  [default: {Config.timeout:g}]",
)
@click.option("--no-tests", is_flag=True, help="Do not evaluate your tests.")
@click.option(
    "--test-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help=f"For one test.  [default: {Config.test_timeout:g}]",
)
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help=f"For the whole run; what it cuts is told.  [default: {Config.budget:g}]",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep the results of earlier runs.")
@click.option("--jobs", type=click.IntRange(0), metavar="N", help="Workers side by side.  [default: one a core]")
@click.option(
    "--memory",
    type=click.FloatRange(0, min_open=True),
    metavar="GIB",
    help=f"For the worker process.  [default: {Config.memory:g}]",
)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option(
    "--stdin-filename", metavar="NAME", help="The name of the file whose text comes on stdin, for the path `-`."
)
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-v", "--verbose", is_flag=True, help="Tell what was evaluated, and let your code print.")
def check(paths: tuple[Path, ...], **options: Any) -> int:
    """Check the claims in files and folders against abstract evaluation.

    Without PATH, that is the working directory. Findings go to stdout, everything else to stderr. Flags win over
    [tool.shapecheck] of pyproject.toml.

    \b
      shapecheck check src/ --output-format github
      shapecheck check src/ --baseline shapes.json --update-baseline
      shapecheck check - --stdin-filename src/model.py < src/model.py
      shapecheck check src/ --python .venv/bin/python

    Exit code: 0 clean, 1 findings (notes do not count), 2 could not do its job.
    """
    paths = paths or (Path(),)
    stdin = _stdin(paths, options["stdin_filename"])
    config = _config(paths, options)
    file = options["output_file"]
    if file is not None and not file.absolute().parent.is_dir():
        raise click.UsageError(f"--output-file: there is no folder {file.parent}")
    update = options["update_baseline"]
    if update and config.baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE, or `baseline` in [tool.shapecheck]")
    from shapecheck import pipeline  # noqa: PLC0415  # --help and --version shall not wait for it

    with progress.Bar(sys.stderr) as bar:
        files = () if stdin is not None else paths
        settings = replace(config, baseline=None) if update else config
        report = pipeline.check(files, settings, progress=bar, stdin=stdin, echo=options["verbose"])
    if options["verbose"]:
        _say(_story(config, report))
    if update and config.baseline is not None and not report.broken:
        count = baseline.write(report.findings, dict(report.sources), config.baseline)
        _say(f"Recorded {count} finding{'s' * (count != 1)} in {config.baseline}\n")
        return _CLEAN
    _tell(report, config, options)
    for text in report.broken:  # last, where it is seen
        _say(f"Error: {text}\n")
    if report.broken:
        return _FAILED
    return _CLEAN if options["exit_zero"] else _exit_code(report, config)


def _tell(report: Report, config: Config, options: dict[str, Any]) -> None:
    """The findings, then what there is to say of the run."""
    choice, file = options["color"], options["output_file"]
    color = choice == "always" if file is not None else _wants_color(choice, sys.stdout)
    _deliver(FORMATS[config.output_format](report, color=color), file)
    closing = statistics.render(report) if options["show_statistics"] else ""
    closing += summary.render(
        report,
        show_unreached=options["show_unreached"],
        quiet=options["quiet"],
        color=_wants_color(choice, sys.stderr),
    )
    apart = closing and report.findings and config.output_format == "full" and file is None
    _say(f"\n{closing}" if apart else closing)


@command.command(short_help="List what would be checked, without importing anything.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="[default: text]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def claims(paths: tuple[Path, ...], output_format: str, config_file: Path | None) -> int:
    """List the claims in files and folders, as parsed, without importing anything."""
    from shapecheck import source  # noqa: PLC0415  # as in `check`

    _need(paths)
    config = load(paths, file=config_file)
    modules = []
    for file in source.discover(paths, config.exclude, config.root, named_too=config.force_exclude):
        try:
            modules.append(source.read_module(source.shown(file), file.read_bytes()))
        except OSError as error:
            raise ConfigError(f"{source.shown(file)}: cannot be read: {error.strerror}") from error
    if output_format == "json":
        _deliver(json.dumps(source.claims_json(modules), indent=2) + "\n", None)
    else:
        _deliver("".join(_claim_lines(modules)), None)
        for module in modules:
            for problem in module.problems:
                _say(f"{module.path}:{problem.span.line}:{problem.span.column}: {problem.message}\n")
        count = sum(len(module.claims) for module in modules)
        _say(f"{count} claim{'s' * (count != 1)} in {len(modules)} file{'s' * (len(modules) != 1)}\n")
    return _CLEAN


@command.command(short_help="Remove what earlier runs left behind.")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path))
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def clean(paths: tuple[Path, ...], config_file: Path | None) -> int:
    """Remove the cache of the project that PATH (else the working directory) belongs to."""
    from shapecheck import rerun  # noqa: PLC0415  # as in `check`

    _need(paths)
    folder = load(paths, file=config_file).root / rerun.FOLDER
    _say(f"Removed {folder}\n" if cache.clean(folder) else f"There is no cache in {folder}\n")
    return _CLEAN


@command.command(short_help="Say what a rule means, or list all rules.")
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Say what a rule means, with a bad and a good example; without CODE, list all rules."""
    if code is None:
        _deliver("".join(f"{rule.code}  {rule.severity:<7}  {rule.name}\n" for rule in RULES.values()), None)
        return _CLEAN
    rule = RULES.get(as_code(code) or "")
    if rule is None:
        several = [each for each in RULES if each.startswith(code.upper())] if code else []
        hint = f"did you mean one of {', '.join(several)}?" if several else f"did you mean {nearest_code(code)!r}?"
        raise click.UsageError(f"There is no rule {code!r}; {hint}")
    _deliver(_explanation(rule), None)
    return _CLEAN


def _explanation(rule: Rule) -> str:
    head = f"{rule.code} {rule.name} ({rule.severity})\n\n{click.wrap_text(rule.why, 100)}\n\n    {rule.message}\n"
    examples = (("Gives it", rule.bad), ("Gives nothing", rule.good))
    return head + "".join(f"\n{title}:\n\n{_indented(text)}" for title, text in examples)


def _indented(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


def _config(paths: Sequence[Path], options: dict[str, Any]) -> Config:
    names: tuple[str, ...] = (
        "output_format",
        "force_exclude",
        "strict_comments",
        "fail_on_unreached",
        "report_unused_ignores",
    )
    names += ("timeout", "test_timeout", "budget", "jobs", "memory")
    flags = {name: options[name] for name in names}
    for name in ("select", "ignore"):
        codes = tuple(code.strip() for text in options[name] for code in text.split(",") if code.strip())
        flags[name] = codes or None
    flags["cache"] = False if options["no_cache"] else None
    flags["tests"] = () if options["no_tests"] else None
    flags["baseline"] = options["baseline"] and options["baseline"].absolute()
    flags["python"] = options["python"] and interpreter(options["python"], Path.cwd(), "--python")
    named = options["stdin_filename"]
    return load([Path(named)] if named else paths, file=options["config_file"], flags=flags)


def _stdin(paths: Sequence[Path], name: str | None) -> tuple[str, bytes] | None:
    """The name and text of the file that comes on stdin, if `-` says so; else make sure that all paths exist."""
    if Path("-") not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename needs the path `-`")
        _need(paths)
        return None
    if len(paths) > 1:
        raise click.UsageError("`-` (stdin) cannot be mixed with other paths")
    if name is None:
        raise click.UsageError("`-` (stdin) needs --stdin-filename, which tells the package that the text belongs to")
    return name, sys.stdin.buffer.read()


def _need(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists():
            near = difflib.get_close_matches(str(path), command.commands, n=1)
            hint = f" Did you mean the command {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no file or folder {str(path)!r}.{hint}")
        if not (path.is_file() or path.is_dir()):  # a pipe would keep us waiting, and nobody could import it
            raise click.UsageError(f"{str(path)!r} is neither a file nor a folder; `-` reads the text from stdin")


def _exit_code(report: Report, config: Config) -> int:
    if any(finding.severity != "note" for finding in report.findings):
        return _FINDINGS
    return _FINDINGS if config.fail_on_unreached and (report.summary.unreached or report.unparsed) else _CLEAN


def _story(config: Config, report: Report) -> str:
    lines = [f"configuration: {config.file or 'none found'}\n"]
    lines += [f"interpreter: {report.python}\n"] if report.python else []
    for entry in report.entries:
        reason = f": {entry.reason}" if entry.reason else ""
        lines.append(f"{entry.status:<8} {entry.target} ({entry.origin}, {entry.mode}){reason}\n")
    return "".join(lines)


def _claim_lines(modules: Sequence[Module]) -> list[str]:
    lines = []
    for module in modules:
        for claim in module.claims:
            place = f"{claim.path}:{claim.span.line}:{claim.span.column}"
            tentative = "" if claim.sure else " (tentative)"
            lines.append(f"{place}: {claim.notation} {claim.target}: {claim.dtype}[{claim.spec}]{tentative}\n")
    return lines


def _wants_color(choice: str, stream: TextIO) -> bool:
    """What --color says, else NO_COLOR, else FORCE_COLOR, else whether the stream is a terminal that has colours."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _deliver(text: str, file: Path | None) -> None:
    """Write findings to the file, or to stdout; a reader of stdout who went away is no error."""
    if file is not None:
        try:
            write_text(file, text)
        except OSError as error:
            raise click.UsageError(f"--output-file: {file} cannot be written: {error.strerror}") from error
        return
    try:
        click.echo(text, nl=False, color=True)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit, which must not fail a second time
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    click.echo(text, nl=False, err=True, color=True)
