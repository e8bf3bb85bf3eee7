"""What the commands share: paths that must exist, where texts go, and the exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


def require_paths(paths: Sequence[Path]) -> None:
    """Raise UsageError for a path that is neither a file nor a folder."""
    root = click.get_current_context().find_root()
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else ()
    for path in paths:
        if not path.exists():
            import difflib  # noqa: PLC0415  # most paths are there

            near = difflib.get_close_matches(str(path), commands, n=1)
            hint = f" Did you mean the command {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no file or folder {str(path)!r}.{hint}")
        if not (path.is_file() or path.is_dir()):  # a pipe would keep us waiting, and nobody could import it
            raise click.UsageError(f"{str(path)!r} is neither a file nor a folder; `-` reads the text from stdin")


def use_color(choice: str, stream: TextIO) -> bool:
    """What --color says, else NO_COLOR, else FORCE_COLOR, else whether the stream is a terminal that has colours."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def deliver(text: str, file: Path | None) -> None:
    """Write findings to the file, or to stdout; a reader of stdout who went away is no error."""
    if file is not None:
        from shapecheck.files.atomic_write import write_text  # noqa: PLC0415  # most runs write to the terminal

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


def say(text: str) -> None:
    """Write to stderr."""
    click.echo(text, nl=False, err=True, color=True)
