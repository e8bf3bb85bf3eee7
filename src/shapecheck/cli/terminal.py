"""What the commands share: paths that must exist, where texts go, and the exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

from shapecheck import __version__

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
_MOST_BUGS = 3  # tracebacks that are shown: where there are many, they tell the same


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let a signal that asks the process to end raise SystemExit in the body, so that nothing is left behind."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


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


def say_bugs(tracebacks: Sequence[str]) -> None:
    """Show bugs of ours, and ask for a report: they must look neither like findings nor like a clean run."""
    for text in tracebacks[:_MOST_BUGS]:
        say(f"\n{text}")
    more = len(tracebacks) - _MOST_BUGS
    also = f"({more} more like {'this' if more == 1 else 'these'}) " if more > 0 else ""
    python = ".".join(str(number) for number in sys.version_info[:3])
    say(f"\n{also}This is a bug in shapecheck {__version__} (Python {python}). Please report it with the text above.\n")
