"""`shapecheck check --watch`: the same check again, whenever a file changes that it may depend on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from shapecheck.cli.terminal import CLEAN, say
from shapecheck.config import Config, ConfigError
from shapecheck.verdicts.baseline import BaselineError
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.spawn import Start

_FORBIDDEN = ("fix", "diff", "update_baseline", "output_file")


def watch(
    paths: Sequence[Path],
    options: Mapping[str, object],
    configure: Callable[[], Config],
    check_once: Callable[[Start], object],
) -> int:
    """Check now and after each change, until Ctrl-C, which is how it is meant to end.

    What is wrong in between (a configuration that is half written) is said, and the watch goes on.
    """
    for name in _FORBIDDEN:
        if options[name]:
            raise click.UsageError(f"--watch and --{name.replace('_', '-')} exclude each other")
    from shapecheck.commands.file_watcher import FileWatcher  # noqa: PLC0415 - only who asks for it pays for it

    try:
        # One process keeps JAX imported, from which all workers are forked.
        with ForkServers() as servers:
            config = configure()
            while True:
                watched = config
                with FileWatcher(paths, watched) as watcher:
                    while config == watched:  # else other files may matter
                        _once(lambda: check_once(servers.start))
                        changed = watcher.wait()
                        if sys.stdout.isatty():
                            click.clear()
                        say(f"Changed: {_names(changed)}\n")
                        config = _reread(configure, config)
    except KeyboardInterrupt:
        say("\n")
        return CLEAN


def _once(check: Callable[[], object]) -> None:
    try:
        check()
    except (ConfigError, BaselineError) as error:
        say(f"Error: {error}\n{getattr(error, 'remedy', '')}".rstrip() + "\n")
    except click.UsageError as error:
        say(f"Error: {error.format_message()}\n")
    say("Watching for changes; Ctrl-C ends it.\n")


def _reread(configure: Callable[[], Config], config: Config) -> Config:
    """The configuration as it is now, else the last that could be read: the next check says what is wrong with it."""
    try:
        return configure()
    except ConfigError:
        return config


def _names(changed: frozenset[str]) -> str:
    names = sorted(Path(path).name for path in changed)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
