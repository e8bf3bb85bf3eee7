"""`%load_ext shapecheck`: checks in an IPython session, a notebook or a terminal, and the magic that switches them.

It works by what IPython has for extensions: https://ipython.readthedocs.io/en/stable/config/extensions/
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, NoReturn

from shapecheck.runtime.cell_transform import CellTransformer
from shapecheck.runtime.check_session import CheckSession, forget_traces
from shapecheck.runtime.errors import CheckError, NonFinite, ShapeMismatch
from shapecheck.runtime.excepthook import without_ours
from shapecheck.runtime.patch_functions import PatchedFunctions, has_probes
from shapecheck.runtime.runtime_options import (
    RuntimeOptions,
    absolute_paths,
    checking_options,
    from_environment,
)
from shapecheck.runtime.unchecked_functions import EARLIER, has_unchecked


class Extension:
    """The checks of one shell: cells that it runs, and files of the user's that it imports, from now on.

    If the environment has asked for them, files that are imported already are checked too.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        configured = from_environment(os.environ)
        self._session = CheckSession(configured or RuntimeOptions(root=os.getcwd()))
        self._everything = configured is not None
        self._cells = CellTransformer(shell, self._session, self._cannot)
        self._catching = self._loaded = False

    def load(self) -> None:
        """Begin."""
        if self._loaded:  # by the environment, and by the user besides
            return
        self._loaded = True
        shell, cells = self.shell, self._cells
        shell.input_transformers_post.append(cells.note)
        shell.ast_transformers.insert(0, cells)
        shell.events.register("pre_run_cell", cells.begin)
        shell.events.register("post_run_cell", cells.end)
        shell.events.register("post_run_cell", self._look_back)

        def shapecheck(line: str) -> None:
            self._do(line)

        shapecheck.__doc__ = usage()
        shell.register_magic_function(shapecheck)
        self._switch(on=True)
        try:
            if self._everything:
                PatchedFunctions(self._session.probing)
        except CheckError as error:
            self._cannot(error)

    def _look_back(self, result: object) -> None:
        """Tell of what has no checks, once the cell is over that has loaded us: its own functions have none."""
        self.shell.events.unregister("post_run_cell", self._look_back)
        try:
            known = {cell.file for cell in self._cells.known}
            if self._cells.on and has_unchecked(self.shell, known, self._session.client):
                sys.stderr.write(f"shapecheck: {EARLIER}\n")
        except CheckError as error:
            self._cannot(error)

    def unload(self) -> None:
        """End, and leave nothing behind but what functions need that have probes."""
        self._loaded = False
        shell, cells = self.shell, self._cells
        self._switch(on=False)
        shell.input_transformers_post.remove(cells.note)
        cells.leave()
        shell.events.unregister("pre_run_cell", cells.begin)
        shell.events.unregister("post_run_cell", cells.end)
        with contextlib.suppress(ValueError):  # it has been called
            shell.events.unregister("post_run_cell", self._look_back)
        shell.magics_manager.magics["line"].pop("shapecheck", None)

    def _do(self, line: str) -> None:
        """The magic."""
        from IPython.core.error import UsageError  # noqa: PLC0415 - IPython calls this

        try:
            requested = read_line(line, self._session.options)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if requested is not None:
            self._switch(on=requested is not False)
        if isinstance(requested, RuntimeOptions):
            try:
                self._change(requested)
            except ValueError as error:  # what this process lacks
                raise UsageError(str(error)) from None
        sys.stdout.write(f"shapecheck: {options_line(self._session.options) if self._cells.on else 'off'}\n")

    def _change(self, options: RuntimeOptions) -> None:
        try:
            self._session.change(options)
        finally:
            forget_traces()
            self._catch()
        if options.prints or options.shows or options.numerics:  # more than the probes that functions have
            PatchedFunctions(self._session.probing, self._cells.known, has_probes)

    def _switch(self, *, on: bool) -> None:
        if on == self._cells.on:
            return
        self._cells.on = on
        if on:
            self._session.start()
            self._catch()
        else:
            self._let_go()
            self._session.stop()
            if self._session.watches:
                forget_traces()

    def _cannot(self, error: CheckError) -> None:
        """Without our own process nothing can be checked. The notebook goes on."""
        self._switch(on=False)
        sys.stderr.write(f"shapecheck: {error}\nNothing is checked; `%shapecheck on` tries again.\n")

    def _catch(self) -> None:
        """Show what checks raise, not what JAX makes of it in a compiled function, and none of our frames."""
        if not self.shell.custom_exceptions or self._catching:  # else somebody else shows errors
            kinds = (Exception,) if self._session.watches else (ShapeMismatch, NonFinite)
            self.shell.set_custom_exc(kinds, self._show)
            self._catching = True

    def _let_go(self) -> None:
        if self._catching:
            self.shell.set_custom_exc((), None)
            self._catching = False

    def _show(
        self,
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        plain = self._session.failures.plain(error)
        if isinstance(plain, (ShapeMismatch, NonFinite)):
            trace = without_ours(trace)
        shell.showtraceback((type(plain), plain, trace), tb_offset=tb_offset, running_compiled_code=True)


class _ProcessState:
    """The extension of the shell of this process, which is kept for when it is loaded again."""

    extension: Extension | None = None


def load(shell: object) -> None:
    """Begin with the checks of a shell; functions that have some from before take part again."""
    if _ProcessState.extension is None or _ProcessState.extension.shell is not shell:
        _ProcessState.extension = Extension(shell)
    _ProcessState.extension.load()


def unload(shell: object) -> None:
    """End them."""
    if _ProcessState.extension is not None and _ProcessState.extension.shell is shell:
        _ProcessState.extension.unload()


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
