"""`shapecheck merge`: one report of all shards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Unpack

import click

from shapecheck.cli.report_output import ReportOptions, say_closing, say_outcome
from shapecheck.cli.terminal import deliver, require_paths, say, use_color
from shapecheck.config import folder_or_url
from shapecheck.report import FORMATS


class _MergeOptions(ReportOptions):
    output_format: str | None
    baseline: Path | None
    fail_on_unreached: bool | None
    cache_dir: str | None


@click.command(short_help="Join what the shards of a check have left into one report.")
@click.argument("blobs", nargs=-1, required=True, metavar="BLOB...", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(list(FORMATS)), help="Of the findings.  [default: as configured]")
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the findings to a file, not to stdout.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Do not report the findings recorded in this file.")
@click.option("--fail-on-unreached/--no-fail-on-unreached", default=None, help="Exit with 1 if a claim is unreached.")
@click.option(
    "--cache-dir", metavar="DIR|URL", help="Join here what the shards have in their caches, for the next run."
)
@click.option("--show-unreached", is_flag=True, help="List each unreached claim with its reason.")
@click.option("--show-assumptions", is_flag=True, help="List what each verified claim rests on that you did not give.")
@click.option("--statistics", "show_statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if there are findings.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def merge(blobs: tuple[Path, ...], **options: Unpack[_MergeOptions]) -> int:
    """Join what the shards of a check have left: the report is that of a check on one machine, byte for byte.

    Each shard writes a blob; merge needs all of them, and neither your sources nor JAX. A claim is verified if any
    shard verifies it and none contradicts it; what no shard reached is unreached, with the reason.

    \b
      shapecheck check src/ --shard 1/2 --output-format blob --output-file r1.blob     on one machine
      shapecheck check src/ --shard 2/2 --output-format blob --output-file r2.blob     on another
      shapecheck merge r1.blob r2.blob                                                 the findings
      shapecheck merge r*.blob --output-format sarif --output-file shapecheck.sarif    for code scanning

    It refuses, and says why, if a shard is missing, or if two are of another commit, other files, versions, settings or
    paths. Settings are those of the shards; --baseline is looked for where merge runs.

    Shards without a file system or URL in common, each with a cache of its own (--cache-dir), carry in their blobs what
    that has: with --cache-dir here too, merge joins it, and the next run with this cache evaluates what has changed.

    Exit code: 0 clean, 1 findings (notes do not count), 2 could not do its job.
    """
    from shapecheck.commands import merge as merging  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands.packages import join_reports  # noqa: PLC0415  # nor for this

    require_paths(blobs)
    packages = merging.read_packages(blobs)
    parts = []
    for shards in packages:
        config = merging.merge_config(
            shards,
            output_format=options["output_format"],
            baseline=options["baseline"] and options["baseline"].absolute(),
            fail_on_unreached=options["fail_on_unreached"],
        )
        parts.append((config, merging.merge(shards, config)))
    if options["cache_dir"] is not None:
        place, of_all = folder_or_url(options["cache_dir"], Path.cwd()), [blob for each in packages for blob in each]
        say(merging.keep_cache(of_all, place, parts[0][0].root))
    config, report = parts[0][0], join_reports([each for _, each in parts])
    file, choice = options["output_file"], options["color"]
    color = choice == "always" if file is not None else use_color(choice, sys.stdout)
    deliver(FORMATS[config.output_format](report, color=color), file)
    say_closing(report, config.output_format, options)
    return say_outcome(report, config, exit_zero=options["exit_zero"], parts=parts)
