"""The user's program, run with checks as Python runs it without them: `__main__`, `sys.argv`, `sys.path`, status."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from types import CodeType
from typing import NoReturn

from shapecheck.evaluate.probes.probed_loader import ProbedLoader
from shapecheck.runtime.autostart import begin
from shapecheck.runtime.check_session import CheckSession


def launch(program: Sequence[str]) -> None:
    """Run `program`: a script and its arguments, or `-m`, a module's name and its arguments.

    What the environment asks for is checked. The calling module becomes the program's `__main__`.
    """
    session = begin()
    if session is None:
        raise RuntimeError("the environment does not say what is to be checked")
    names: dict[str, object] = sys.modules["__main__"].__dict__
    code = _module(program[1:], names, session) if program[0] == "-m" else _script(program, names, session)
    try:
        exec(code, names)  # noqa: S102 - the program itself
    except SystemExit:
        session.wait()
        raise
    session.wait()  # here, and not at exit: what is found only now must not leave a status of success


def _script(program: Sequence[str], names: dict[str, object], session: CheckSession) -> CodeType:
    file = program[0]
    sys.argv[:] = list(program)
    _first_on_path(os.path.dirname(os.path.realpath(file)))
    try:
        with open(file, "rb") as stream:
            source = stream.read()
    except OSError as error:
        _refuse(f"can't open file {os.path.abspath(file)!r}: {error.strerror}", 2)
    _reset_main(names, __file__=os.path.abspath(file))
    return session.code(source, os.path.abspath(file), names)


def _module(program: Sequence[str], names: dict[str, object], session: CheckSession) -> CodeType:
    name = program[0]
    sys.argv[:] = ["-m", *program[1:]]
    _first_on_path(os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        _refuse(f"Error while finding module specification for {name!r} ({error})", 1)
    loader: object = spec.loader if spec is not None else None
    code = loader.get_code(name) if hasattr(loader, "get_code") else None
    if spec is None or not isinstance(code, CodeType):
        _refuse(f"No module named {name}", 1)
    sys.argv[0] = str(spec.origin)
    _reset_main(names, __package__=spec.parent, __loader__=loader, __spec__=spec, __file__=spec.origin)
    if isinstance(loader, ProbedLoader):
        names.update(loader.names)
    return code


def _first_on_path(folder: str) -> None:
    if sys.path and sys.path[0] == "":  # where `python -c` looks
        del sys.path[0]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, folder)


def _reset_main(names: dict[str, object], **own: object) -> None:
    """What `__main__` knows when it begins."""
    empty = dict.fromkeys(["__doc__", "__package__", "__loader__", "__spec__", "__cached__"])
    names.clear()
    names.update({"__name__": "__main__", **empty, "__builtins__": sys.modules["builtins"], **own})


def _refuse(text: str, status: int) -> NoReturn:
    """End as Python itself does."""
    sys.stderr.write(f"{sys.executable}: {text}\n")
    raise SystemExit(status)
