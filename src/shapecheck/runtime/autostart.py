"""The checks of a whole program, which its environment asks for; each of its processes has its own."""

from __future__ import annotations

import atexit
import os
import runpy
import sys

from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.errors import CheckError
from shapecheck.runtime.patch_functions import PatchedFunctions
from shapecheck.runtime.runtime_options import from_environment
from shapecheck.runtime.unchecked_functions import current_shell


class _Program:
    """The session of this process."""

    session: CheckSession | None = None


def begin() -> CheckSession | None:
    """Check this process as the environment asks, from now to its end; None if it asks for nothing.

    A variable with a value that is none ends the process, with status 2.
    """
    if _Program.session is None:
        try:
            options = from_environment(os.environ)
            if options is None:
                return None
            session = _Program.session = CheckSession(options)
        except (ValueError, CheckError) as error:
            sys.stderr.write(f"shapecheck: {error}\n")
            raise SystemExit(2) from None
        session.start()
        session.failures.watch(debug=options.pdb)
        atexit.register(session.stop)
        if "--multiprocessing-fork" in sys.argv:
            _watch_main(session)
    return _Program.session


def begin_on_import() -> None:
    """The same, for a program that imports us with the variables set. Our own commands are none.

    Where IPython runs the program, this is the extension's affair: the program is its cells.
    """
    command = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    if command == "shapecheck" or sys.orig_argv[1:3] == ["-m", "shapecheck"]:
        return
    shell = current_shell()
    if shell is not None:
        shell.extension_manager.load_extension("shapecheck")
        return
    session = begin()
    if session is not None:
        PatchedFunctions(session.probing)


def _watch_main(session: CheckSession) -> None:
    """A spawned process runs the program's script again, under another name."""
    run_path = runpy.run_path

    def run_path_with_probes(
        path_name: str, init_globals: dict[str, object] | None = None, run_name: str | None = None
    ) -> dict[str, object]:
        if run_name != "__mp_main__" or not os.path.isfile(path_name):
            return run_path(path_name, init_globals, run_name)
        with open(path_name, "rb") as stream:
            source = stream.read()
        names: dict[str, object] = {
            "__name__": run_name,
            "__file__": path_name,
            "__builtins__": sys.modules["builtins"],
        }
        exec(session.code(source, path_name, names), names)  # noqa: S102 - the program itself
        return names

    runpy.run_path = run_path_with_probes  # monkeypatch: `multiprocessing` runs the script by it
