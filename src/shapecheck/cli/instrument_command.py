"""`shapecheck instrument`: the claims as checks in the source, shown as a diff or written, and taken out again."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shapecheck.cli.terminal import CLEAN, FAILED, deliver, require_paths, say, use_color
from shapecheck.commands.file_changes import unified_diff
from shapecheck.config import load
from shapecheck.files.atomic_write import write_bytes

if TYPE_CHECKING:
    from shapecheck.rewrite import RewriteOptions, RewriteOutcome, SkippedClaim

_COLORS = {"+": "\033[32m", "-": "\033[31m", "@": "\033[36m"}


@dataclass(kw_only=True)
class _RewriteCounts:
    """What a run did, over all files."""

    changed: int = 0
    checked: int = 0
    partly: int = 0
    already: int = 0
    values: int = 0
    left: list[tuple[str, SkippedClaim]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, path: str, outcome: RewriteOutcome) -> None:
        self.checked += outcome.checked
        self.partly += outcome.partly
        self.already += outcome.already
        self.values += outcome.values
        self.left += [(path, left) for left in outcome.left]


@click.command(short_help="Write run-time checks into the source, and take them out.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--shapes", is_flag=True, help="Check claims by jaxtyping (the default, without any of these options).")
@click.option("--numerics", is_flag=True, help="Raise where a claimed value is NaN or infinite (equinox.error_if).")
@click.option("--breakpoint", "stop", is_flag=True, help="Open JAX's debugger where a claimed value is not finite.")
@click.option("--nan-only", is_flag=True, help="For these two: let infinity pass, which is meant where masks hold it.")
@click.option(
    "--print", "prints", multiple=True, metavar="GLOB", help="Print variables: x, f.x, Model.f.x, 'f.*' (repeatable)."
)
@click.option("--write", is_flag=True, help="Change the files. Without it, a diff is shown and nothing changes.")
@click.option("--remove", is_flag=True, help="Take out exactly what was inserted (with --write; else show the diff).")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Leave out excluded files even if named.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-v", "--verbose", is_flag=True, help="List each claim for which nothing was inserted, with the reason.")
def instrument(
    paths: tuple[Path, ...],
    *,
    shapes: bool,
    numerics: bool,
    stop: bool,
    nan_only: bool,
    prints: tuple[str, ...],
    write: bool,
    remove: bool,
    force_exclude: bool | None,
    config_file: Path | None,
    color: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """Write what is claimed in files and folders into their source, as checks that the running program makes.

    Annotated functions get jaxtyping's decorator; annotated variables, comments and docstrings become assertions.
    The checks need jax, equinox, jaxtyping and beartype, and nothing of shapecheck. Each inserted line ends with
    `# shapecheck: inserted`; no other line changes. Each run inserts what its own options say, in place of what an
    earlier run inserted.

    \b
      shapecheck instrument src/                          show a diff
      shapecheck instrument src/ --write                  insert checks of shapes
      shapecheck instrument src/ --numerics --write       instead, stop at the first value that is not finite
      shapecheck instrument model.py --print 'forward.*'  print all variables of functions called forward
      shapecheck instrument src/ --remove --write         give the files back as they were
      shapecheck instrument - --print loss < train.py     the text comes on stdin, the result goes to stdout

    A claim is left alone where it can be read in more than one way, or where its value has no name: -v lists those.

    Exit code: 0 done, 2 a file was left alone (merge conflict, syntax that Python or libcst refuses) or another error.
    """
    from shapecheck.rewrite import RewriteOptions  # noqa: PLC0415  # as in `check`

    if remove and (shapes or numerics or stop or prints):
        raise click.UsageError("--remove takes out everything that was inserted; it goes without the other checks")
    if nan_only and not (numerics or stop):
        raise click.UsageError("--nan-only goes with --numerics or --breakpoint: nothing else looks for NaN")
    requested = RewriteOptions(shapes or not (numerics or stop or prints), numerics, stop, prints, nan_only)
    options = None if remove else requested
    tally = _RewriteCounts()
    if Path("-") in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` (stdin) cannot be mixed with other paths")
        result = _rewrite("<stdin>", sys.stdin.buffer.read(), options, tally)
        if result is not None:
            sys.stdout.buffer.write(result)
            sys.stdout.buffer.flush()
    else:
        require_paths(paths)
        config = load(paths, file=config_file, flags={"force_exclude": force_exclude})
        from shapecheck import files  # noqa: PLC0415  # as above

        colored = use_color(color, sys.stdout)
        unread: files.UnreadPaths = {}
        for file in files.discover(paths, config.exclude, config.root, named_too=config.force_exclude, unread=unread):
            _file(file, files.shown_path(file), options, tally, write=write, colored=colored)
        tally.failed += [f"{path}: {reason}" for path, reason in sorted(unread.items())]
    if not quiet:
        say(_summary(tally, options, write=write or Path("-") in paths, verbose=verbose))
    for text in tally.failed:
        say(f"Error: {text}\n")
    return FAILED if tally.failed else CLEAN


def _file(
    file: Path, shown: str, options: RewriteOptions | None, tally: _RewriteCounts, *, write: bool, colored: bool
) -> None:
    try:
        data = file.read_bytes()
        result = _rewrite(shown, data, options, tally)
        if result is None or result == data:
            return
        if write:
            write_bytes(file, result)
        else:
            deliver(_diff(data, result, shown, colored=colored), None)
        tally.changed += 1
    except OSError as error:
        tally.failed.append(
            f"{shown}: cannot be {'read' if error.filename == str(file) else 'written'}: {error.strerror}"
        )


def _rewrite(shown: str, data: bytes, options: RewriteOptions | None, tally: _RewriteCounts) -> bytes | None:
    from shapecheck.rewrite import RewriteError, instrument, remove  # noqa: PLC0415  # as in `check`

    try:
        if options is None:
            return remove(shown, data)
        result = instrument(shown, data, options)
    except RewriteError as error:
        tally.failed.append(f"{shown} is left alone: {error}")
        return None
    tally.add(shown, result.outcome)
    return result.data


def _diff(old: bytes, new: bytes, shown: str, *, colored: bool) -> str:
    """A unified diff, as people read it."""
    before, after = (_lines(data) for data in (old, new))
    result = []
    for text in unified_diff(before, after, shown):
        paint = _COLORS.get(text[0], "") if colored and not text.startswith(("+++", "---")) else ""
        result.append(f"{paint}{text[:-1]}\033[0m\n" if paint else text)
    return "".join(result)


def _lines(data: bytes) -> Sequence[str]:
    from shapecheck.rewrite import readable  # noqa: PLC0415  # as in `check`

    text = readable(data).replace("\r\n", "\n").replace("\r", "\n")
    return io.StringIO(text).readlines()


def _summary(tally: _RewriteCounts, options: RewriteOptions | None, *, write: bool, verbose: bool) -> str:
    done = "changed" if write else "would change; --write changes them"
    lines = [f"{_count(tally.changed, 'file')} {done}\n"] if tally.changed or not write else []
    if options is not None and options.shapes:
        partly = f" ({tally.partly} in part: an axis that may mean several sizes is left open)" if tally.partly else ""
        lines.append(f"{_count(tally.checked, 'claim')} checked{partly}, {len(tally.left)} not\n")
        lines += [f"{_count(tally.already, 'claim')} of functions that are jaxtyped already\n"] if tally.already else []
    if options is not None and (options.numerics or options.breakpoint or options.prints):
        lines.append(f"{_count(tally.values, 'value')} watched or printed\n")
    if verbose:
        lines += [f"  {path}:{left.line}: {left.what}: {left.reason}\n" for path, left in tally.left]
    else:
        reasons = Counter(f"{left.what}: {left.reason}" for _, left in tally.left)
        lines += [f"  {count:>4}  {reason}\n" for reason, count in reasons.most_common()]
    return "".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
