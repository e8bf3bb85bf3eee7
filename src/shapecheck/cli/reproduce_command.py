"""`shapecheck reproduce`: a finding as a test that fails alone."""

from __future__ import annotations

import re
from pathlib import Path

import click

from shapecheck.cli.terminal import CLEAN, deliver, say
from shapecheck.config import ConfigError, interpreter, load

_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(:\d+)?(:(?P<code>SC\d{3}))?$")


@click.command(short_help="Write a test that fails with a finding, alone.")
@click.argument("where", metavar="PATH:LINE[:CODE]|REPORT|FAILURE")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="[default: stdout]")
@click.option("--timeout", type=float, metavar="SECONDS", help="For each evaluation and run.  [default: 60]")
@click.option("--python", metavar="PATH", help="The interpreter that your code runs in.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def reproduce(
    where: str, output: Path | None, timeout: float | None, python: str | None, config_file: Path | None
) -> int:
    """Write a small test that fails with a finding, and passes once the claim or the code is right.

    PATH:LINE is a finding as a check prints it; REPORT is what --output-format json wrote, of which the first finding
    is taken. The function that the line stands in is called by itself, else what called it, with arguments made as
    `shapecheck template` makes them. The test is run: it is written only if it fails with this very finding, with the
    smallest sizes that still do.

    FAILURE is what `shapecheck run --save-failure` wrote. Of the calls that failed, the innermost that fails alone is
    taken, with the fewest examples of its batch that do; where values matter, they are in a file beside the test.

    \b
      shapecheck reproduce pkg/attn.py:41
      shapecheck reproduce pkg/attn.py:41:SC203 --output tests/test_attn_41.py
      shapecheck reproduce out/failure.json --output test_nan.py
      shapecheck src/ --output-format json > report.json; shapecheck reproduce report.json

    A shape error of JAX's (SC301, SC305) needs only jax and your package. What a claim says is known to shapecheck, so
    that a test of a claim imports that too. The test has the sizes, the dtypes, and the seed of the random keys.
    """
    from shapecheck.commands import reproduce as reproduction  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands.saved_failure import read_failure, reproduce_failure  # noqa: PLC0415

    if output is not None and not output.parent.is_dir():
        raise click.UsageError(f"--output {output}: there is no folder {str(output.parent)!r}")
    flags = {"python": python and interpreter(python, Path.cwd(), "--python"), "timeout": timeout}
    place = _PLACE.match(where)
    path = Path(place["path"]) if place is not None else Path(where)
    if not path.is_file():
        raise click.UsageError(f"There is no file {str(path)!r}. The form is PATH:LINE, or a report in JSON.")
    config = load([path], file=config_file, flags=flags)
    if place is None and (saved := read_failure(path)) is not None:
        deliver(reproduce_failure(saved, config, output), output)
        return CLEAN
    reason = ""
    if place is None:
        found = reproduction.findings_in_report(path)
        wanted = found
    else:
        line, code = int(place["line"]), place["code"]
        checked = reproduction.check_file(path, config)
        found, reason = checked.findings, checked.reason(line)
        wanted = tuple(each for each in found if each.line == line and each.code == (code or each.code))
    if not wanted:
        known = ", ".join(each.place for each in found)
        others = f"Findings are at: {known}" if known else reason and f"No claim can be false there yet: {reason}"
        raise ConfigError(f"{where} has no finding that a call can show. {others or 'The check has no findings.'}")
    if len(wanted) > 1:
        say(f"Taken: {wanted[0].place}. There are besides: {', '.join(each.place for each in wanted[1:])}\n")
    deliver(reproduction.reproduce(wanted[0], config), output)
    if output is not None:
        say(f"Wrote {output}, which fails with {wanted[0].code} {wanted[0].message}\n")
    return CLEAN
