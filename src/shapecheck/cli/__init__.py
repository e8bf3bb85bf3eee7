"""The command line: the only place that prints or exits."""

from __future__ import annotations

import importlib
import io
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from shapecheck import __version__
from shapecheck.cli.terminal import CLEAN, FAILED, INTERRUPTED, say, say_bugs
from shapecheck.config import ConfigError
from shapecheck.verdicts import baseline

# Each stands in the module of its name; one that does not run is not imported.
COMMANDS = (
    "annotate",
    "check",
    "claims",
    "clean",
    "compare",
    "explain",
    "instrument",
    "lsp",
    "merge",
    "reproduce",
    "run",
    "sample",
    "template",
)


_RULE = re.compile(r"[sS][cC]\d+")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # not click's own main(): that takes any broken pipe, also one to the worker, for a reader who went away
    try:
        with command.make_context("shapecheck", list(sys.argv[1:] if args is None else args)) as context:
            return int(command.invoke(context) or CLEAN)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return FAILED
    except ConfigError as error:
        say(f"Error: {error}\n{error.remedy}".rstrip() + "\n")
        return FAILED
    except baseline.BaselineError as error:
        say(f"Error: {error}\n")
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        say("\nInterrupted.\n")
        return INTERRUPTED
    except Exception:  # the last resort: our own bug must neither look like findings nor like a clean run
        say_bugs([traceback.format_exc()])
        return FAILED


class LazyGroup(click.Group):
    """A group that imports a command when it runs, and in which `shapecheck pkg/` means `shapecheck check pkg/`.

    (The pattern is that of click's documentation: https://click.palletsprojects.com/en/stable/complex/)
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of this name, if there is one."""
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(f"shapecheck.cli.{cmd_name}_command"), cmd_name)
        return cast("click.Command", found)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what names no command for the paths of a check."""
        if not args:
            say(self.get_help(ctx) + "\n")
            ctx.exit(FAILED)  # a script whose list of paths came out empty has checked nothing
        if args[0] == "help" and not Path("help").exists():
            args = _of_help(args[1:])
        if args[0] not in COMMANDS and args[0] not in ("-h", "--help", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


def _of_help(topic: list[str]) -> list[str]:
    """What `shapecheck help check` and `shapecheck help SC201` stand for."""
    if not topic:
        return ["--help"]
    if topic[0] not in COMMANDS and not _RULE.fullmatch(topic[0]):
        import difflib  # noqa: PLC0415  # most names are right

        near = difflib.get_close_matches(topic[0], COMMANDS, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"There is no command {topic[0]!r}, and no rule has that name.{meant}")
    return [topic[0], "--help"] if topic[0] in COMMANDS else ["explain", *topic]


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="shapecheck", message="%(prog)s %(version)s")
def command() -> None:
    """Check the shapes that JAX code claims, for every size, before anything runs.

    Claims are jaxtyping annotations, comments such as `# (batch, seq, d_model)`, and docstrings. Models and functions
    are evaluated abstractly (jax.eval_shape) in a process of their own: nothing computes, no accelerator is needed.

    \b
      shapecheck src/                      check a package
      shapecheck model.py train.py         check some files
      shapecheck src/ --select SC201       only wrong comments
      shapecheck claims src/               list what would be checked, without importing anything
      shapecheck annotate model.py         show the evaluated shapes as comments for the source
      shapecheck instrument src/           write checks for the running program into the source
      shapecheck explain SC201             what a rule means, with examples
      shapecheck help check                all options of a check

    \b
    Every claim ends in one of three ways, and the summary counts each:
      verified     it holds, for all sizes or for the sizes seen
      mismatched   it is wrong in every sensible reading: a finding
      unreached    it could not be evaluated, with the reason
    (A comment that may not be a shape is tentative: it can be verified, and is only reported with --strict-comments.)

    \b
    Exit code: 0 clean, 1 findings, 2 could not do its job (usage, configuration, our own bug).

    \b
    Configuration: [tool.shapecheck] in the nearest pyproject.toml that has it, upwards from the first path.
    Suppress a finding with `# shapecheck: ignore[SC201]` on its line, or a file with `# shapecheck: ignore-file`.
    """
