"""`shapecheck clean`: what earlier runs left behind goes."""

from __future__ import annotations

from pathlib import Path

import click

from shapecheck.cli.terminal import CLEAN, require_paths, say
from shapecheck.config import load


@click.command(short_help="Remove what earlier runs left behind.")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path))
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def clean(paths: tuple[Path, ...], config_file: Path | None) -> int:
    """Remove the cache of the project that PATH (else the working directory) belongs to.

    Temporary folders of runs that were killed go with it.
    """
    from shapecheck.evaluate.scratch_folders import sweep  # noqa: PLC0415  # as in `check`
    from shapecheck.incremental import rerun  # noqa: PLC0415  # as in `check`
    from shapecheck.incremental.cache_store import clean as remove_cache  # noqa: PLC0415

    require_paths(paths)
    folder = load(paths, file=config_file).root / rerun.FOLDER
    number = sweep()
    if number:
        say(f"Removed {number} temporary folder{'s' * (number != 1)} of runs that were killed\n")
    say(f"Removed {folder}\n" if remove_cache(folder) else f"There is no cache in {folder}\n")
    return CLEAN
