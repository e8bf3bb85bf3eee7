"""`shapecheck run`: a program with checks switched on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shapecheck.cli.terminal import require_paths
from shapecheck.config import ConfigError, interpreter
from shapecheck.runtime.monitor_outputs import missing_writer
from shapecheck.runtime.runtime_options import RuntimeOptions, absolute_paths, option_specs, to_environment

_LAUNCH = "import sys; from shapecheck.runtime.run_main import launch; launch(sys.argv[1:])"


class _RunCommand(click.Command):
    """Leaves what stands behind `-m MODULE` to the module, as Python does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = list(args)
        options = [option for option in self.params if getattr(option, "is_flag", False)]
        flags = {name for option in options for name in (*option.opts, *option.secondary_opts)}
        index = 0
        while index < len(args) and args[index].startswith("-") and args[index] != "--":
            if args[index] == "--monitor" and _begins_program(args[index + 1 : index + 2]):
                args[index] = "--monitor=*"  # its glob may be left out
            given = args[index]
            index += 1 if given in flags or "=" in given or given[:2] == "-m" != given else 2
            if given[:2] == "-m" and index <= len(args):
                return super().parse_args(ctx, [*args[:index], "--", *args[index:]])
        return super().parse_args(ctx, args)


def _begins_program(following: list[str]) -> bool:
    """Whether what stands behind an option is no value of it: another option, or the script."""
    return not following or following[0].startswith("-") or Path(following[0]).is_file()


def _with_check_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of the checks."""
    for each in reversed([each for each in option_specs() if each.help]):
        flag, default = f"--{each.flag}", each.default
        many = isinstance(default, tuple)
        text = f"{each.help}  [default: {'on' if default is True else default}]" if default else each.help
        command = click.option(
            f"{flag}/--no-{each.flag}" if default is True else flag,
            each.field,
            is_flag=isinstance(default, bool),
            multiple=many,
            default=None if many else default,
            type=click.Choice(each.choices) if each.choices else _kind(default),
            metavar=each.shown or None,
            help=text,
        )(command)
    return command


def _kind(default: object) -> click.IntRange | None:
    return click.IntRange(1) if isinstance(default, int) and not isinstance(default, bool) else None


@click.command(
    cls=_RunCommand,
    short_help="Run a program with its claims checked.",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@_with_check_options
@click.option("--warn", is_flag=True, help="The same as --on-failure warn.")
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter that your code runs in.  [default: that of the active environment, or of the project's]",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGS]...")
def run(
    module: str | None, warn: bool, python: str | None, program: tuple[str, ...], failing: str, **given: Any
) -> int:
    """Run a Python program with checks, its source untouched.

    Arguments, exit status, signals, tracebacks and line numbers are those of `python SCRIPT ARGS...`. Only files of
    your own project are checked: those in the nearest folder with a pyproject.toml or a repository, upwards from the
    script, without installed packages. When the program fails, the arrays in each of your frames are shown.

    \b
      shapecheck run train.py --steps 10
      shapecheck run -m pkg.train --steps 10
      shapecheck run --warn train.py                 tell, and go on
      shapecheck run --numerics outputs train.py     where does the first NaN arise?
      shapecheck run --log stages.log --log - train.py      a record of each stage, in a file and on stderr
      shapecheck run --show '*attn*' train.py        pictures of these stages' arrays, in an HTML page
      shapecheck run --monitor train.py              norms of parameters, gradients, updates, every 10 steps
      shapecheck run --monitor 'blocks*' --monitor-file log.jsonl train.py
      shapecheck run --save-failure out train.py     then: shapecheck reproduce out/failure.json
    """
    if module is None and not program:
        raise click.UsageError("Missing argument 'SCRIPT', or -m MODULE.")
    if module is None:
        require_paths([Path(program[0])])
    if (failing == "breakpoint" or given["pdb"]) and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("--pdb and --on-failure breakpoint need a terminal, and there is none")
    from shapecheck import files  # noqa: PLC0415 - not for other commands
    from shapecheck.files.interpreter import candidates  # noqa: PLC0415 - likewise

    start = Path(program[0]).resolve().parent if module is None else Path.cwd()
    named = str(interpreter(python, Path.cwd(), "--python")) if python else None
    try:
        options = RuntimeOptions(
            root=str(files.project_root(start) or start),
            python=sys.executable,
            failing="warn" if warn else failing,
            **absolute_paths(given),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    chosen = candidates(named, [start])[0]
    if options.monitor_board:
        _require_writer(chosen)
    what = ["-m", module, *program] if module is not None else list(program)
    return _replace_process([chosen, "-X", "faulthandler", "-c", _LAUNCH, *what], {**os.environ, **_variables(options)})


def _require_writer(python: str) -> None:
    """Raise ConfigError where the program's interpreter cannot write for TensorBoard."""
    if subprocess.run([python, "-c", "import tensorboardX"], capture_output=True, check=False).returncode:
        raise ConfigError(missing_writer(python))


def _variables(options: RuntimeOptions) -> dict[str, str]:
    site = Path(__file__).parents[1] / "runtime" / "site"
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**to_environment(options), "PYTHONPATH": path}


def _replace_process(command: list[str], environment: dict[str, str]) -> int:
    """Let the program take this process's place, so that signals and the exit status are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if os.name == "nt":
            return subprocess.call(command, env=environment)
        os.execve(command[0], command, environment)  # noqa: S606 - no shell, and what the user named
    except OSError as error:
        raise ConfigError(f"{command[0]}: {error.strerror}; --python names an interpreter") from error
