"""`shapecheck template`: the stages of one model, and what the lock keeps of it."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shapecheck.cli.terminal import CLEAN, FAILED, FINDINGS, deliver, say, use_color
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import Config, ConfigError, interpreter, load
from shapecheck.model import Finding, Report, Summary
from shapecheck.report import FORMATS, summary

if TYPE_CHECKING:
    from shapecheck.templates import Template


_MANY = 40  # stages, which no terminal shows at once


@click.command(short_help="Show the stages of a model, with their shapes.")
@click.argument("target", required=False)
@click.option(
    "--init",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Arguments of the constructor or factory, and of its config: cfg.depth=2.",
)
@click.option(
    "--arg", "arguments", multiple=True, metavar="SHAPE", help="An argument of the call, in order or by NAME=."
)
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The shapes of all arguments, by name: what `shapecheck sample` wrote, .npz or .safetensors.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tree", "log", "json", "html", "markdown"]),
    default="tree",
    help="A tree; a log record for each stage; JSON; a page to search; a table.  [default: tree]",
)
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Only N levels below the whole.")
@click.option("--filter", "glob", metavar="GLOB", help="Only stages with such a path, and those around them.")
@click.option(
    "--collapse/--no-collapse", default=None, help="Fold equal neighbours.  [default: on a terminal, if there are many]"
)
@click.option(
    "--flops", is_flag=True, help="Estimate the arithmetic operations of each stage, and of the whole: see above."
)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write to a file, not to stdout; a log to both.")
@click.option("--write-lock", is_flag=True, help="Keep the template in shapes.lock. Without TARGET: all that are kept.")
@click.option("--check-lock", is_flag=True, help="Compare with shapes.lock, and exit with 1 if there is a difference.")
@click.option(
    "--diff", "pair", nargs=2, metavar="A B", help="Compare two targets or locks (old/shapes.lock, ...#model.py:GPT)."
)
@click.option("--python", metavar="PATH", help="The interpreter that your code runs in.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
def template(
    target: str | None,
    init: tuple[str, ...],
    arguments: tuple[str, ...],
    data: str | None,
    form: str,
    depth: int | None,
    glob: str | None,
    collapse: bool | None,
    flops: bool,
    output_file: Path | None,
    write_lock: bool,
    check_lock: bool,
    pair: tuple[str, str] | None,
    python: str | None,
    config_file: Path | None,
    color: str,
) -> int:
    """Show every stage of a model: its path, type, input, output and parameters. Nothing computes.

    TARGET is path/file.py:name or pkg.mod:name, where the name is that of a module class, an example, an instance, a
    function that returns a model or (model, *args), or any other function. What is not said is made up from the
    annotations, comments and names of parameters.

    \b
      shapecheck template model.py:GPT
      shapecheck template pkg.model:ViT --init d_model=48,depth=12 --arg "f32[batch 3 28 28]"
      shapecheck template pkg.model:ViT --arg @batch.npz        .npy, .npz, .safetensors: only headers are read
      shapecheck template pkg.model:loss --data batch.npz       all arguments, as `shapecheck sample` writes them
      shapecheck template pkg.model:ViT --arg "x=f32[3 28 28]" --arg "key=key[]"    by name; a random key
      shapecheck template pkg.model:make_model --format json
      shapecheck template model.py:GPT --flops --arg "i32[8 512]"
      shapecheck template model.py:GPT --init d_model=48 --write-lock
      shapecheck template --diff /tmp/old.lock model.py:GPT

    --flops: a multiply-add counts two, any other operation on an element one, be it exp or a comparison; moving data
    and random bits count nothing (XLA counts so, with exp and its kin apart). A stage counts for all that it runs
    under, vmap and scan, with its derivatives; of branches the dearest counts, and of while loops one turn. Nothing
    that a compiler could leave out is left out. Free sizes enter as text: 18432*batch.
    """
    if (write_lock, check_lock, pair is not None).count(True) > 1 or (pair is not None and target is not None):
        raise click.UsageError("only one of --write-lock, --check-lock and --diff A B, which has no other TARGET")
    lock_only = write_lock or check_lock or pair is not None
    if target is None and not lock_only:
        raise click.UsageError("Missing argument 'TARGET'.")
    if lock_only and (form != "tree" or depth is not None or glob is not None or collapse or flops or data):
        raise click.UsageError(
            "--data, --format, --depth, --filter, --collapse and --flops are for showing a template, not for locks"
        )
    flags = {"python": python and interpreter(python, Path.cwd(), "--python")}
    where = Path((target or "").rpartition(":")[0])
    config = load([where if where.is_file() else Path()], file=config_file, flags=flags)
    lock_request = _LockRequest(
        target=target, init=init, arguments=arguments, config=config, output_file=output_file, color=color
    )
    if pair is not None:
        return _show_difference(*pair, lock_request)
    if target is None or lock_only:
        return _write_lock(lock_request) if write_lock else _check_lock(lock_request)
    from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands.template import find  # noqa: PLC0415
    from shapecheck.templates import down_to, filter_matching, fold_repeats  # noqa: PLC0415
    from shapecheck.templates.template_views import FORMATS  # noqa: PLC0415

    target_request = TargetRequest(target=target, init=tuple(init), args=tuple(arguments), data=data or "", flops=flops)
    evaluated = find(target_request, config)
    if evaluated.integers:
        made_up = ", ".join(f"{name}={size}" for name, size in sorted(evaluated.integers.items()))
        say(f"Made up, for nobody gave them: {made_up}. --init and --arg choose others.\n")
    found = evaluated.template
    if collapse or (collapse is None and form == "tree" and sys.stdout.isatty() and found.count > _MANY):
        found = fold_repeats(found)
    found = filter_matching(found, glob) if glob is not None else found
    if glob is not None and not found.stages:
        raise click.UsageError(f"--filter: {target} has no stage with such a path as {glob!r}")
    found = down_to(found, depth) if depth is not None else found
    if form == "log":
        text = _log_text(found)
        if output_file is not None:
            deliver(text, output_file)
        deliver(text, None)  # in either case: it is a log, which people read there
    else:
        shown = color == "always" if output_file is not None else use_color(color, sys.stdout)
        deliver(FORMATS[form](found, color=shown), output_file)
    return CLEAN


def _log_text(found: Template) -> str:
    """What a handler for the records of the stages writes."""
    from shapecheck.templates import log_records  # noqa: PLC0415  # as above

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter(log_records.FORM))
    level = log_records.LOGGER.level
    log_records.LOGGER.addHandler(handler)
    log_records.LOGGER.setLevel(logging.INFO)
    try:
        log_records.emit(found)
    finally:
        log_records.LOGGER.removeHandler(handler)
        log_records.LOGGER.setLevel(level)
    return stream.getvalue()


_COLORS = {"head": "bold", "was": "red", "now": "green"}


@dataclass(frozen=True, kw_only=True)
class _LockRequest:
    """What the command line says."""

    target: str | None
    init: tuple[str, ...]
    arguments: tuple[str, ...]
    config: Config
    output_file: Path | None
    color: str

    @property
    def lock(self) -> Path:
        """The lock of the target's project."""
        from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415  # --help shall not wait for it

        file = TargetRequest(target=self.target).file if self.target is not None else None
        return lock_file(self.config, file.parent if file is not None else Path())


def _write_lock(request: _LockRequest) -> int:
    """Keep the template of a target, or those of all that are kept."""
    from shapecheck.commands.lock import lock_write  # noqa: PLC0415  # as above

    if request.target is None and (request.init or request.arguments):
        raise click.UsageError("--init and --arg are for one TARGET")
    lock_write.write(request.lock, request.target, request.init, request.arguments, request.config, say)
    say(f"Wrote {_shown_path(request.lock)}\n")
    return CLEAN


def _check_lock(request: _LockRequest) -> int:
    """Tell how a target, or all that are kept, differ from the lock."""
    from shapecheck.commands.lock import lock_check, lock_paths  # noqa: PLC0415  # as above

    lock, target, config = request.lock, request.target, request.config
    if request.init or request.arguments:
        raise click.UsageError("--check-lock takes --init and --arg from the lock; --write-lock changes them there")
    kept = lock_paths.read_lock(lock)
    if target is not None:
        name = lock_paths.relative_target(target, lock)
        found = [each for each in kept if each.target == name]
    else:
        name, found = "any template", list(kept)
    if not found:
        how = f"`shapecheck template {target or 'TARGET'} --write-lock` does so"
        raise ConfigError(f"{_shown_path(lock)} does not keep {name} yet: {how}")
    checked = lock_check.check(lock, found, config)
    findings, suppressed, baselined = _select_findings(checked.findings, config)
    sources = tuple((path, lines) for path, lines in sorted(checked.lines.items()))
    report = Report(
        findings=findings,
        summary=Summary(),
        unreached=(),
        entries=tuple(checked.entries),
        suppressed=suppressed,
        baselined=baselined,
        sources=sources,
    )
    color = request.color == "always" if request.output_file is not None else use_color(request.color, sys.stdout)
    deliver(FORMATS[config.output_format](report, color=color), request.output_file)
    say(summary.of_lock(checked.counts, color=use_color(request.color, sys.stderr)))
    for text in checked.broken:
        say(f"Error: {text}\n")
    return FAILED if checked.broken else FINDINGS if findings else CLEAN


def _show_difference(one: str, other: str, request: _LockRequest) -> int:
    """Tell how two templates differ."""
    from shapecheck.commands.lock.lock_diff import differences  # noqa: PLC0415  # as above

    lines = differences(one, other, request.init, request.arguments, request.lock, request.config)
    color = request.color == "always" if request.output_file is not None else use_color(request.color, sys.stdout)
    deliver("".join(f"{_paint(text, kind) if color else text}\n" for text, kind in lines), request.output_file)
    if not lines:
        say("No difference\n")
    return FINDINGS if lines else CLEAN


def _paint(text: str, kind: str) -> str:
    color = _COLORS.get(kind)
    return click.style(text, bold=True) if color == "bold" else click.style(text, fg=color)


def _select_findings(findings: Sequence[Finding], config: Config) -> tuple[tuple[Finding, ...], int, int]:
    """The findings to show, as `check` shows them, and how many ignore comments and the baseline keep back."""
    from shapecheck import claims  # noqa: PLC0415  # as above
    from shapecheck.commands import suppress  # noqa: PLC0415  # as above
    from shapecheck.verdicts import baseline  # noqa: PLC0415  # as above

    files = sorted({finding.path for finding in findings if finding.path.endswith(".py")})
    modules = [claims.read_module(path, Path(path).read_bytes()) for path in files]
    outcome = suppress.apply(findings, modules, config)
    kept, known = tuple(sorted(outcome.findings, key=lambda f: (f.path, f.span.line, f.code, f.message))), 0
    if config.baseline is not None:
        kept, known = baseline.filter(kept, {module.path: module.lines for module in modules}, config.baseline)
    return kept, outcome.suppressed, known


def _shown_path(file: Path) -> str:
    from shapecheck.files import shown_path  # noqa: PLC0415  # --help shall not wait for what looks for files

    return shown_path(file)
