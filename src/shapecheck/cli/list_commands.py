"""The commands that evaluate nothing: `claims`, `explain` and `clean`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from shapecheck import incremental
from shapecheck.cli.terminal import CLEAN, deliver, require_paths, say
from shapecheck.config import ConfigError, load
from shapecheck.model import Module
from shapecheck.rules import RULES, Rule, as_code, nearest_code


@click.command(short_help="List what would be checked, without importing anything.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="[default: text]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def claims(paths: tuple[Path, ...], output_format: str, config_file: Path | None) -> int:
    """List the claims in files and folders, as parsed, without importing anything."""
    from shapecheck import claims, files  # noqa: PLC0415  # as in `check`
    from shapecheck.claims.module_reader import ModuleReader  # noqa: PLC0415

    require_paths(paths)
    config = load(paths, file=config_file)
    modules = []
    reader = ModuleReader(config, {})
    for file in files.discover(paths, config.exclude, config.root, named_too=config.force_exclude):
        try:
            modules.append(reader.read_file(file, file.read_bytes()))
        except OSError as error:
            raise ConfigError(f"{files.shown_path(file)}: cannot be read: {error.strerror}") from error
    if output_format == "json":
        deliver(json.dumps(claims.claims_json(modules), indent=2) + "\n", None)
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


@click.command(short_help="Say what a rule means, or list all rules.")
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Say what a rule means, with a bad and a good example; without CODE, list all rules."""
    if code is None:
        deliver("".join(f"{rule.code}  {rule.severity:<7}  {rule.name}\n" for rule in RULES.values()), None)
        return CLEAN
    rule = RULES.get(as_code(code) or "")
    if rule is None:
        several = [each for each in RULES if each.startswith(code.upper())] if code else []
        hint = f"did you mean one of {', '.join(several)}?" if several else f"did you mean {nearest_code(code)!r}?"
        raise click.UsageError(f"There is no rule {code!r}; {hint}")
    deliver(_explanation(rule), None)
    return CLEAN


def _explanation(rule: Rule) -> str:
    head = f"{rule.code} {rule.name} ({rule.severity})\n\n{click.wrap_text(rule.why, 100)}\n\n    {rule.message}\n"
    examples = [("Gives it", rule.bad), ("Gives nothing", rule.good)]
    if rule.lock:
        examples.append(("Where shapes.lock has", rule.lock))
    return head + "".join(f"\n{title}:\n\n{_indent(text)}" for title, text in examples)


def _indent(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


@click.command(short_help="Remove what earlier runs left behind.")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path))
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def clean(paths: tuple[Path, ...], config_file: Path | None) -> int:
    """Remove the cache of the project that PATH (else the working directory) belongs to."""
    from shapecheck.incremental import rerun  # noqa: PLC0415  # as in `check`

    require_paths(paths)
    folder = load(paths, file=config_file).root / rerun.FOLDER
    say(f"Removed {folder}\n" if incremental.clean(folder) else f"There is no cache in {folder}\n")
    return CLEAN
