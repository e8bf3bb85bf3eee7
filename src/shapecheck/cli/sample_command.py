"""`shapecheck sample`: a small batch of arrays that fits a target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shapecheck.cli.terminal import CLEAN, deliver, say
from shapecheck.config import interpreter, load

_DEFAULT = Path("batch.npz")


@click.command(short_help="Write a small batch of arrays that fits a model or function.")
@click.argument("target")
@click.option(
    "--batch", type=click.IntRange(1), metavar="N", help="The size of the axis called batch, or b.  [default: 2]"
)
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="The size of any other axis, by its name.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Other numbers.  [default: 0]")
@click.option(
    "--init", multiple=True, metavar="NAME=VALUE,...", help="Arguments of the constructor or factory: d_model=48."
)
@click.option(
    "--arg", "arguments", multiple=True, metavar="SHAPE", help="The shape of an argument, in order or by NAME=."
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="[default: a new batch.npz]"
)
@click.option("--timeout", type=float, metavar="SECONDS", help="For the evaluation.  [default: 60]")
@click.option("--python", metavar="PATH", help="The interpreter that your code runs in.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read this file, not a pyproject.toml.")
def sample(
    target: str,
    batch: int | None,
    sizes: tuple[str, ...],
    seed: int,
    init: tuple[str, ...],
    arguments: tuple[str, ...],
    output: Path | None,
    timeout: float | None,
    python: str | None,
    config_file: Path | None,
) -> int:
    """Write a file of arrays for the arguments of TARGET, with the shapes and dtypes that it takes.

    TARGET is what `shapecheck template` takes: path/file.py:name or pkg.mod:name. It is evaluated abstractly, as there:
    nothing computes. Floats are normal, masks true and false, and integers are less than what they index: tokens less
    than the vocabulary, labels less than the number of classes. The same seed gives the same file, byte for byte.

    \b
      shapecheck sample --batch 2 model.py:loss
      shapecheck sample --batch 2 --size seq=16 pkg.model:GPT --init d_model=48 --output debug.npz
      shapecheck template model.py:loss --data batch.npz                 with these shapes
      shapecheck compare HEAD~1:model.py:loss model.py:loss --data batch.npz     with these numbers

    The names in the file are those of the parameters: `tokens`; `batch.tokens` for an entry or a field of `batch`, and
    `pair.0` for the first of a sequence. Random keys, models and switches are no data, and are not in it. In a test, or
    in a script that `shapecheck run` takes as any other:

    \b
      data = np.load("batch.npz")
      loss(model, data["tokens"], key=jax.random.key(0))
    """
    from shapecheck.commands import sample as samples  # noqa: PLC0415  # --help shall not wait for it
    from shapecheck.commands.target_request import TargetRequest  # noqa: PLC0415

    file = output or _DEFAULT
    if output is None and file.exists():
        raise click.UsageError(f"{file} is there already; --output {file} writes over it")
    if file.suffix != ".npz":
        raise click.UsageError(f"--output {file}: the name of such a file ends in .npz")
    if not file.parent.is_dir():
        raise click.UsageError(f"--output {file}: there is no folder {str(file.parent)!r}")
    flags = {"python": python and interpreter(python, Path.cwd(), "--python"), "timeout": timeout}
    where = Path(target.rpartition(":")[0])
    config = load([where if where.is_file() else Path()], file=config_file, flags=flags)
    asked = samples.SampleRequest(
        target=TargetRequest(target=target, init=init, args=arguments, shows="sample"),
        seed=seed,
        batch=batch or 0,
        sizes=dict(_sizes(sizes)),
    )
    found = samples.sample(asked, config, file)
    if found.made:
        made_up = ", ".join(f"{name}={size}" for name, size in sorted(found.made.items()))
        say(f"Made up, for nobody gave them: {made_up}. --init chooses others.\n")
    if found.omitted:
        say(f"Not in the file: {'; '.join(found.omitted)}.\n")
    shapes = [f"{each.dtype}[{','.join(map(str, each.shape))}]" for each in found.arrays]
    wide, long = max(len(each.name) for each in found.arrays), max(map(len, shapes))
    rows = [
        f"  {each.name:{wide}}  {shape:{long}}  {each.values}\n"
        for each, shape in zip(found.arrays, shapes, strict=True)
    ]
    deliver(f"Wrote {file}, seed {seed}\n{''.join(rows)}", None)
    return CLEAN


def _sizes(texts: Sequence[str]) -> Sequence[tuple[str, int]]:
    found = []
    for text in (part for each in texts for part in each.split(",")):
        name, sign, size = text.partition("=")
        if not sign or not size.strip().isdigit():
            raise click.UsageError(f"--size {text}: the form is NAME=N, as in seq=16")
        found.append((name.strip(), int(size)))
    return found
