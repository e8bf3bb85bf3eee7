"""The line magic: `%shapecheck --numerics outputs`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from shapecheck.runtime.runtime_options import (
    RuntimeOptions,
    absolute_paths,
    checking_options,
)

_ABOUT = """Say what is checked in this session, by all options together: what is not named goes back to its default.
Functions and modules that have checks already take part. Without anything, it tells how things are."""
_EXAMPLES = """examples:
  %load_ext shapecheck                  check cells that run, and files of yours that are imported, from now on
  %shapecheck --warn                    tell, and go on
  %shapecheck --numerics outputs        which stage, or which claimed value, gave the first NaN or infinity?
  %shapecheck --print 'blocks*' --print grad:scores
  %shapecheck off                       no checks, until %shapecheck on
  %unload_ext shapecheck"""

_WARN: Final = {"failing": "warn"}


class _MagicParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise ValueError, and do not end the process."""
        raise ValueError(f"%shapecheck: {message}\n\n{self.format_help()}")


def usage() -> str:
    """What `%shapecheck?` shows."""
    return _parser().format_help()


def read_line(line: str, options: RuntimeOptions) -> RuntimeOptions | bool | None:
    """The options that a line asks for, where `options` say where the user's files are.

    True and False switch checks on and off, as they were; None is no change. Raises ValueError for what there is not,
    with a list of what there is.
    """
    parser = _parser()
    try:
        words = shlex.split(line)
        given = vars(parser.parse_args(words))
        switch, warn = given.pop("switch"), given.pop("warn")
        if len(words) == (switch is not None):
            return bool(switch == "on") if words else None
        if switch == "off":
            raise ValueError("off goes with no other option")
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        given.update(_WARN if warn else {})
        return RuntimeOptions(root=options.root, python=options.python, **absolute_paths(given))
    except ValueError as error:
        text = str(error)
        raise ValueError(text if parser.prog in text else f"{parser.prog}: {text}") from None


def options_line(options: RuntimeOptions) -> str:
    """The options as a line."""
    return " ".join(_words(options)) or "shapes only"


def _words(options: RuntimeOptions) -> Iterator[str]:
    for each in checking_options():
        value = getattr(options, each.field)
        if value == each.default:
            continue
        if isinstance(value, bool):
            yield f"--{'no-' if each.default else ''}{each.flag}"
        for one in value if isinstance(value, tuple) else () if isinstance(value, bool) else (value,):
            yield f"--{each.flag} {shlex.quote(one)}"


def _parser() -> _MagicParser:
    parser = _MagicParser(
        "%shapecheck",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("switch", nargs="?", choices=("on", "off"), help="Whether there are checks at all.")
    for each in checking_options():
        more: dict[str, Any] = {"choices": each.choices or None, "metavar": each.shown or None}
        if isinstance(each.default, bool):
            more = {"action": argparse.BooleanOptionalAction}
        elif isinstance(each.default, tuple):
            more["action"] = "append"
        default = [] if isinstance(each.default, tuple) else each.default
        parser.add_argument(f"--{each.flag}", dest=each.field, default=default, help=each.help, **more)
    parser.add_argument("--warn", action="store_true", help="The same as --on-failure warn.")
    return parser
