"""`shapecheck compare`: two models, stage by stage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shapecheck.cli.terminal import CLEAN, FINDINGS, deliver, say, use_color
from shapecheck.config import interpreter, load

if TYPE_CHECKING:
    from shapecheck.commands.compare import InventedInputs


@click.command(short_help="Compare two models stage by stage: shapes, then values.")
@click.argument("a")
@click.argument("b")
@click.option("--init", multiple=True, metavar="NAME=VALUE,...", help="Arguments of both constructors or factories.")
@click.option("--init-a", multiple=True, metavar="NAME=VALUE,...", help="Those of A's alone.")
@click.option("--init-b", multiple=True, metavar="NAME=VALUE,...", help="Those of B's alone.")
@click.option(
    "--arg", "arguments", multiple=True, metavar="SHAPE", help="An argument of both calls, in order or by NAME=."
)
@click.option(
    "--inputs",
    "--data",
    "batch",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The arguments: .npz or .safetensors by name, as `shapecheck sample` writes them, .npy the only one.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of keys and made-up inputs.  [default: 0]")
@click.option("--map", "renames", multiple=True, metavar="OLD=NEW", help="A's stages OLD... are B's NEW...")
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance.  [default: the dtype's rounding]")
@click.option("--atol", type=click.FloatRange(0), help="Absolute tolerance.  [default: the size's share]")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", help="[default: table]")
@click.option("--output-file", type=click.Path(path_type=Path), help="Write to a file, not to stdout.")
@click.option("--timeout", type=float, metavar="SECONDS", help="For each model.  [default: 60]")
@click.option("--python", metavar="PATH", help="The interpreter that your code runs in.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.  [default: auto]"
)
def compare(
    a: str,
    b: str,
    init: tuple[str, ...],
    init_a: tuple[str, ...],
    init_b: tuple[str, ...],
    arguments: tuple[str, ...],
    batch: str | None,
    seed: int,
    renames: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    form: str,
    output_file: Path | None,
    timeout: float | None,
    python: str | None,
    config_file: Path | None,
    color: str,
) -> int:
    """Run two models on the same inputs, on the CPU, and tell where they part. B is the reference.

    A and B are targets as `shapecheck template` has them, path/file.py:name or pkg.mod:name; in front of one may stand
    a revision of your repository, which is read by git. Each runs in a process of its own, so both may be called the
    same.

    \b
      shapecheck compare HEAD~1:model.py:GPT model.py:GPT           before and after an edit
      shapecheck compare old/model.py:GPT new/model.py:GPT          two checkouts
      shapecheck compare port.py:make reference.py:make --inputs batch.npz
      shapecheck compare port.py:GPT gpt.py:GPT --map blocks=layers --map "blocks[*].attn=layers[*].attention"

    Both are constructed with the same key, that of --seed; where their constructors make other parameters of it, name
    functions that return models with the right ones. Inputs that nobody gives are made up for A and given to B: normal
    numbers, integers from 0 to 7. --arg takes shapes, as in f32[8 48], and values, as in @batch.npy.

    Stages are matched by their paths. Equal is what differs by no more than atol + rtol * |b|; NaN equals NaN, and
    integers have to be the same. rtol is 1e-5 for float32, 2e-2 for bfloat16, 2e-3 for float16 and 1e-7 for float64;
    atol the same share of the root mean square of b where the two differ, and 1e-8. The stage that is named last is the
    first that gives something else for the same inputs: what differs inside of it was given something else already.

    Stages may lay out their axes otherwise, as NHWC and CHW do, if what the whole model gives is then the same.

    \b
    Exit code: 0 equal, 1 different, 2 they could not be compared.
    """
    from shapecheck.commands.compare import CompareRequest  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands.compare import compare as compared  # noqa: PLC0415
    from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415
    from shapecheck.comparison import FORMATS  # noqa: PLC0415
    from shapecheck.model import Tolerance  # noqa: PLC0415

    rules = dict(_renames(renames))
    flags = {"python": python and interpreter(python, Path.cwd(), "--python"), "timeout": timeout}
    where = Path(b.rpartition(":")[0])
    config = load([where if where.is_file() else Path()], file=config_file, flags=flags)
    sides = [
        TargetRequest(target=target, init=(*init, *own), args=arguments) for target, own in ((a, init_a), (b, init_b))
    ]
    found, made = compared(
        CompareRequest(
            a=sides[0], b=sides[1], batch=batch or "", seed=seed, rules=rules, tolerance=Tolerance(rtol, atol)
        ),
        config,
    )
    for each in made:
        _print_comparison(each, seed)
    shown = color == "always" if output_file is not None else use_color(color, sys.stdout)
    deliver(f"{FORMATS[form](found, color=shown)}\n", output_file)
    return CLEAN if found.equal else FINDINGS


def _renames(texts: Sequence[str]) -> Sequence[tuple[str, str]]:
    found = []
    for text in texts:
        old, sign, new = text.partition("=")
        if not sign:
            raise click.UsageError(f"--map {text}: the form is old=new, as in blocks=layers")
        found.append((old.strip(), new.strip()))
    return found


def _print_comparison(made: InventedInputs, seed: int) -> None:
    if made.integers:
        sizes = ", ".join(f"{name}={size}" for name, size in sorted(made.integers.items()))
        say(f"Made up for {made.target}: {sizes}. --init chooses others.\n")
    if made.inputs:
        say(f"Made-up inputs of {made.target}, seed {seed}: {', '.join(made.inputs)}. --arg, --inputs give others.\n")
