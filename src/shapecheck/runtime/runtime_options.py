"""What is to be checked, and where: as arguments, and as environment variables for the processes of a program."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NUMERICS: Final = ("outputs", "grads", "ops")
FAILING: Final = ("raise", "warn", "breakpoint")
SWITCH: Final = "SHAPECHECK_DEBUG"
PROGRAM_ONLY: Final = ("pdb", "save", "monitor", "monitor_every", "monitor_file", "monitor_board")
"""Options for programs, which begin and end: neither for tests nor for the cells of a notebook."""
STDERR: Final = "-"
PAGE: Final = "shapecheck-show.html"
_PATHS: Final = ("FILE", "FOLDER")


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """One of the options, as command lines offer it: the field that it fills, and what that is without it."""

    field: str
    default: object
    flag: str
    help: str
    choices: tuple[str, ...]
    shown: str
    separator: str

    @property
    def variable(self) -> str:
        """Of the environment."""
        return f"SHAPECHECK_{self.flag.replace('-', '_').upper()}"


def _option(
    default: object, flag: str, text: str = "", choices: tuple[str, ...] = (), shown: str = "", separator: str = ","
) -> Any:
    names = {"flag": flag, "help": text, "choices": choices, "shown": shown, "separator": separator}
    return dataclasses.field(default=default, metadata=names)


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """`root` is the folder whose files are the user's own, if there is one. `python` runs our own side.

    Those with a help text are described once, here: for `shapecheck run`, for pytest, and for the environment.
    """

    root: str = _option("", "root")
    shapes: bool = _option(True, "shapes", "Hold every call against its claims.")
    numerics: tuple[str, ...] = _option(
        (),
        "numerics",
        "Look for NaN and infinity: in what stages and claimed values give; in their gradients; in every operation.",
        NUMERICS,
    )
    nan_only: bool = _option(False, "nan-only", "Let infinity pass, which is meant where masks hold it.")
    prints: tuple[str, ...] = _option(
        (), "print", "Print stages or variables as they are computed; of grad:GLOB the gradients.", shown="GLOB"
    )
    log: tuple[str, ...] = _option(
        (), "log", "Write a record of each stage that runs; - is stderr.", shown="FILE", separator=os.pathsep
    )
    shows: tuple[str, ...] = _option(
        (),
        "show",
        "Draw stages or variables into an HTML page, with matplotlib; of grad:GLOB the gradients.",
        shown="GLOB",
    )
    show_output: str = _option("", "show-output", f"Where the page of --show goes, if not to {PAGE}.", shown="FILE")
    failing: str = _option("raise", "on-failure", "What happens when a check fails.", FAILING)
    save: str = _option(
        "",
        "save-failure",
        "Save what the program was given where it fails, for `shapecheck reproduce`.",
        shown="FOLDER",
    )
    monitor: str = _option(
        "",
        "monitor",
        "Watch training: norms and ranges of parameters, gradients, updates, stages; of all, or those of such a path.",
        shown="[GLOB]",
    )
    monitor_every: int = _option(10, "monitor-every", "At every Nth step.", shown="N")
    monitor_file: str = _option("", "monitor-file", "Write a line of JSON for each such step.", shown="FILE")
    monitor_board: str = _option(
        "", "monitor-tensorboard", "Write them for TensorBoard, by tensorboardX.", shown="FOLDER"
    )
    include: tuple[str, ...] = _option(
        (), "include", "Check this package too, although it is not yours.", shown="PACKAGE"
    )
    python: str = _option("", "python")
    pdb: bool = _option(False, "pdb", "Open the debugger where the program fails.")

    def __post_init__(self) -> None:
        wrong = [each for each in self.numerics if each not in NUMERICS]
        if wrong:
            raise ValueError(f"numerics: {wrong[0]!r} is none of {', '.join(NUMERICS)}")
        if self.nan_only and not self.numerics:
            raise ValueError("nan_only: without numerics nothing looks for NaN")
        if self.failing not in FAILING:
            raise ValueError(f"on_failure: {self.failing!r} is none of {', '.join(FAILING)}")
        if self.monitor_every < 1:
            raise ValueError(f"monitor_every: {self.monitor_every} is no number of steps")
        if (self.monitor_file or self.monitor_board) and not self.monitor:
            raise ValueError("monitor: a file for what is watched needs --monitor too")
        if self.show_output and not self.shows:
            raise ValueError("show_output: without show nothing is drawn")
        files = [("log", file) for file in self.log if file != STDERR]
        single = {"show_output": self.show_output, "monitor_file": self.monitor_file}
        for name, file in [*files, *((name, file) for name, file in single.items() if file)]:
            folder = os.path.dirname(os.path.abspath(file))
            if not os.path.isdir(folder):
                raise ValueError(f"{name}: there is no folder {folder}")
            if os.path.isdir(file):
                raise ValueError(f"{name}: {file} is a folder")


def absolute_paths(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as somebody gave them in this folder, so that they mean the same in another one."""
    log = tuple(file if file == STDERR else os.path.abspath(file) for file in given["log"])
    page = given["show_output"] or (PAGE if given["shows"] else "")
    single = {**given, "show_output": page}
    names = [each.field for each in option_specs() if each.shown in _PATHS and each.field != "log"]
    paths = {name: os.path.abspath(single[name]) for name in names if single.get(name)}
    return {**given, "log": log, "show_output": "", **paths}


def option_specs() -> Iterator[OptionSpec]:
    """All options, in the order of their fields."""
    for field in dataclasses.fields(RuntimeOptions):
        yield OptionSpec(field=field.name, default=field.default, **field.metadata)


def checking_options() -> list[OptionSpec]:
    """All but what a program alone can be asked for: pytest and IPython have debuggers of their own, and no steps."""
    return [each for each in option_specs() if each.help and each.field not in PROGRAM_ONLY]


def to_environment(options: RuntimeOptions) -> dict[str, str]:
    """The variables that say the same."""
    own = ["JAX_DEBUG_NANS", *([] if options.nan_only else ["JAX_DEBUG_INFS"])] if "ops" in options.numerics else []
    said = {each.variable: _text(getattr(options, each.field), each.separator) for each in option_specs()}
    # JAX's own: https://docs.jax.dev/en/latest/debugging/flags.html
    return {**dict.fromkeys([*own, SWITCH], "True"), **said}


def from_environment(variables: Mapping[str, str]) -> RuntimeOptions | None:
    """What the variables ask for; None if they switch nothing on. Raises ValueError for what they may not hold."""
    if not _truth(variables, SWITCH, default=False):
        return None
    given: dict[str, Any] = {each.field: _value(variables, each) for each in option_specs()}
    try:
        return RuntimeOptions(**absolute_paths({**given, "root": given["root"] or os.getcwd()}))
    except ValueError as error:  # which speaks of arguments
        name, _, reason = str(error).partition(": ")
        raise ValueError(f"SHAPECHECK_{name.upper()}: {reason}") from None


def _text(value: bool | int | str | tuple[str, ...], separator: str) -> str:
    return separator.join(value) if isinstance(value, tuple) else str(value)


def _value(variables: Mapping[str, str], option: OptionSpec) -> bool | int | str | tuple[str, ...]:
    if isinstance(option.default, bool):
        return _truth(variables, option.variable, default=option.default)
    text = variables.get(option.variable, "")
    if isinstance(option.default, int):
        if text and not text.isdigit():
            raise ValueError(f"{option.variable}={text}: expected a number")
        return int(text) if text else option.default
    if isinstance(option.default, tuple):
        return tuple(part.strip() for part in text.split(option.separator) if part.strip())
    return text or str(option.default)


def _truth(variables: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = variables.get(name, "").strip().lower()
    if text in ("", "0", "false", "no", "off"):
        return default if text == "" else False
    if text in ("1", "true", "yes", "on"):
        return True
    raise ValueError(f"{name}={variables[name]}: expected True or False")
