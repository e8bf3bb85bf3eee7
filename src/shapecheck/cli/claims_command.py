"""`shapecheck claims`: what would be checked, as it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shapecheck.cli.terminal import CLEAN, deliver, require_paths, say
from shapecheck.config import ConfigError, load
from shapecheck.model import Module

if TYPE_CHECKING:
    from shapecheck.files import UnreadPaths


@click.command(short_help="List what would be checked, without importing anything.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="[default: text]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def claims(paths: tuple[Path, ...], output_format: str, config_file: Path | None) -> int:
    """List the claims in files and folders, as parsed, without importing anything."""
    from shapecheck.claims import claims_json  # noqa: PLC0415  # as in `check`
    from shapecheck.commands.check_inputs import read_texts  # noqa: PLC0415
    from shapecheck.commands.module_reader import ModuleReader  # noqa: PLC0415

    require_paths(paths)
    config = load(paths, file=config_file)
    unread: UnreadPaths = {}
    texts = read_texts(paths, config, unread)
    reader = ModuleReader(config, {})
    modules = [reader.read_file(file, data, shown) for shown, (file, data) in texts.items()]
    if unread and not modules:
        raise ConfigError("\n".join(f"{path}: {reason}" for path, reason in sorted(unread.items())))
    for path, reason in sorted(unread.items()):
        say(f"Not read: {path}: {reason}\n")
    if output_format == "json":
        deliver(json.dumps(claims_json(modules), indent=2) + "\n", None)
    else:
        deliver("".join(_claim_lines(modules)), None)
        for module in modules:
            for problem in module.problems:
                say(f"{module.path}:{problem.span.line}:{problem.span.column}: {problem.message}\n")
        count = sum(len(module.claims) for module in modules)
        say(f"{count} claim{'s' * (count != 1)} in {len(modules)} file{'s' * (len(modules) != 1)}\n")
    return CLEAN


def _claim_lines(modules: Sequence[Module]) -> list[str]:
    lines = []
    for module in modules:
        for claim in module.claims:
            place = f"{claim.path}:{claim.span.line}:{claim.span.column}"
            tentative = "" if claim.sure else " (tentative)"
            lines.append(f"{place}: {claim.notation} {claim.target}: {claim.dtype}[{claim.spec}]{tentative}\n")
    return lines
