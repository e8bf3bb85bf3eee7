"""What is to be checked, and where: as arguments, and as environment variables for the processes of a program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NUMERICS: Final = ("outputs", "grads", "ops")
FAILING: Final = ("raise", "warn", "breakpoint")
SWITCH: Final = "SHAPECHECK_DEBUG"


@dataclass(frozen=True)
class Options:
    """`root` is the folder whose files are the user's own, `include` names packages beside them.

    `numerics` are of `NUMERICS`. `prints` are globs of stages and variables. `python` runs our own side. With `pdb`, a
    debugger opens where the program fails.
    """

    root: str
    shapes: bool = True
    numerics: tuple[str, ...] = ()
    prints: tuple[str, ...] = ()
    log: str = ""
    failing: str = "raise"
    include: tuple[str, ...] = ()
    python: str = ""
    pdb: bool = False

    def __post_init__(self) -> None:
        wrong = [each for each in self.numerics if each not in NUMERICS]
        if wrong:
            raise ValueError(f"numerics: {wrong[0]!r} is none of {', '.join(NUMERICS)}")
        if self.failing not in FAILING:
            raise ValueError(f"on_failure: {self.failing!r} is none of {', '.join(FAILING)}")
        if self.log and not os.path.isdir(os.path.dirname(os.path.abspath(self.log))):
            raise ValueError(f"log: there is no folder {os.path.dirname(os.path.abspath(self.log))}")


def to_environment(options: Options) -> dict[str, str]:
    """The variables that say the same."""
    debug = {"JAX_DEBUG_NANS": "True", "JAX_DEBUG_INFS": "True"} if "ops" in options.numerics else {}
    return {
        **debug,  # JAX's own: https://docs.jax.dev/en/latest/debugging/flags.html
        SWITCH: "True",
        "SHAPECHECK_ROOT": options.root,
        "SHAPECHECK_SHAPES": str(options.shapes),
        "SHAPECHECK_NUMERICS": ",".join(options.numerics),
        "SHAPECHECK_PRINT": ",".join(options.prints),
        "SHAPECHECK_LOG": options.log,
        "SHAPECHECK_ON_FAILURE": options.failing,
        "SHAPECHECK_INCLUDE": ",".join(options.include),
        "SHAPECHECK_PYTHON": options.python,
        "SHAPECHECK_PDB": str(options.pdb),
    }


def from_environment(variables: Mapping[str, str]) -> Options | None:
    """What the variables ask for; None if they switch nothing on. Raises ValueError for what they may not hold."""
    if not _truth(variables, SWITCH, default=False):
        return None
    return Options(
        variables.get("SHAPECHECK_ROOT") or os.getcwd(),
        _truth(variables, "SHAPECHECK_SHAPES", default=True),
        _list(variables, "SHAPECHECK_NUMERICS"),
        _list(variables, "SHAPECHECK_PRINT"),
        variables.get("SHAPECHECK_LOG", ""),
        variables.get("SHAPECHECK_ON_FAILURE") or "raise",
        _list(variables, "SHAPECHECK_INCLUDE"),
        variables.get("SHAPECHECK_PYTHON", ""),
        _truth(variables, "SHAPECHECK_PDB", default=False),
    )


def _list(variables: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in variables.get(name, "").split(",") if part.strip())


def _truth(variables: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = variables.get(name, "").strip().lower()
    if text in ("", "0", "false", "no", "off"):
        return default if text == "" else False
    if text in ("1", "true", "yes", "on"):
        return True
    raise ValueError(f"{name}={variables[name]}: expected True or False")
