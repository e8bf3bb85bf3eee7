"""`shapecheck annotate`: what evaluation proved, as comments or annotations in the source."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from shapecheck.cli.config_options import config_flags, config_options
from shapecheck.cli.terminal import CLEAN, FAILED, deliver, require_paths, say, say_bugs, stop_on_signals
from shapecheck.config import load
from shapecheck.report import progress

if TYPE_CHECKING:
    from shapecheck.claims.value_sites import Style
    from shapecheck.commands.annotate import AnnotatedFile, AnnotateResult


_MOST_TROUBLES = 5


class _AnnotateOptions(TypedDict):
    style: Style
    only: tuple[str, ...]
    write: bool
    config_file: Path | None
    quiet: bool


@click.command(short_help="Write evaluated shapes into the source, as comments or annotations.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option(
    "--style",
    type=click.Choice(["comments", "annotations"]),
    default="comments",
    help="Comments behind assignments, or jaxtyping annotations of parameters and results.  [default: comments]",
)
@click.option("--only", multiple=True, metavar="GLOB", help="Only these functions: 'GPT.*', encode (repeatable).")
@click.option("--write", is_flag=True, help="Change the files. Without it, a diff is shown and nothing changes.")
@config_options
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def annotate(paths: tuple[Path, ...], **options: Unpack[_AnnotateOptions]) -> int:
    """Write the shapes that evaluation proved into the source, where nothing is claimed yet.

    Files are evaluated as `check` evaluates them: what calls a function, be it a test, an example or a model with
    annotations, shows the shapes in it. A shape is written if it is the same in all calls, in names that claims, sizes
    or the arguments of the evaluation bind there; the comments are round or square as the file's own are.

    \b
      shapecheck annotate model.py                             show what would be written, as a diff
      shapecheck annotate model.py --write                     write comments: y = x @ w  # (batch, d_out)
      shapecheck annotate model.py --style annotations         def f(x: Float[Array, "batch d_in"]) -> ...
      shapecheck annotate src/ --only 'GPT.*' --only encode    only some functions

    Exit code: 0 done, 2 a file was left alone, there was no time for all (--budget), or another error.
    """
    from shapecheck.commands import annotate as command  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands import file_changes  # noqa: PLC0415  # nor for this

    require_paths(paths)
    config = load(list(paths), file=options["config_file"], flags=config_flags(options))
    request = command.AnnotateRequest(options["style"], options["only"])
    with progress.Bar(sys.stderr) as bar, stop_on_signals():
        result = command.annotate(paths, config, request, progress=bar)
    files = result.files
    if options["write"]:
        files = tuple(map(_write, files))
        result = replace(result, files=files)
    else:
        deliver("".join(map(file_changes.diff, files)), None)
    for file in result.files:
        if file.problem:
            say(f"{file.path} is left alone: {file.problem}\n")
    for path, reason in sorted(result.unread.items()):
        say(f"Not read: {path}: {reason}\n")
    for reason, count in sorted(result.troubles.items())[:_MOST_TROUBLES]:
        say(f"Not evaluated{f' ({count} times)' if count > 1 else ''}: {reason}\n")
    if len(result.troubles) > _MOST_TROUBLES:
        say(f"Not evaluated: {len(result.troubles) - _MOST_TROUBLES} more, which `shapecheck check` shows\n")
    if result.cut:
        say(
            f"Nothing is written: there was no time for {result.cut} of the calls, which may show other shapes. "
            "--budget SECONDS allows more.\n"
        )
        return FAILED
    if not options["quiet"]:
        say(_summary(result, write=options["write"], style=options["style"]))
    if result.bugs:
        say_bugs(result.bugs)
    return FAILED if result.bugs or any(file.problem for file in result.files) else CLEAN


def _write(file: AnnotatedFile) -> AnnotatedFile:
    """Write a file; what somebody has edited meanwhile is left alone, and says so."""
    from shapecheck.commands import file_changes  # noqa: PLC0415  # --help shall not wait for it

    if file.after == file.before:
        return file
    try:
        file_changes.write(file)
    except file_changes.ChangedFileError:
        problem = "it has changed since it was read; run annotate again"
        return replace(file, after=file.before, written=0, problem=problem)
    return file


def _summary(result: AnnotateResult, *, write: bool, style: str) -> str:
    changed = sum(file.after != file.before for file in result.files)
    count = sum(file.written for file in result.files)
    verb = "Wrote" if write else "Would write"
    files = f"{changed} file{'s' * (changed != 1)}"
    done = f"{verb} {count} {style if count != 1 else style[:-1]} in {files}, of {result.places} places without a claim"
    more = "" if write or not count else "; --write writes them"
    others = sorted(result.others.items(), key=lambda each: (-each[1], each[0]))
    listed = "".join(f"{number:5}  {reason}\n" for reason, number in others)
    return f"{done}{more}\n" + (f"Nothing is said of the others:\n{listed}" if listed else "")
