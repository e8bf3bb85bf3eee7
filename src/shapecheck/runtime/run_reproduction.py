"""Runs the tests of a file by itself, and writes as JSON what became of them: in the user's interpreter.

It is a script of its own: what the file does not import must not be there, but for JAX, which each of them imports.
It reads requests from its input, `[file, answer, output]` in a line, and runs each in a process that it forks, so that
JAX is imported once for all; where none can be forked safely it runs the first one itself, and ends.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import runpy
import sys
import traceback
import warnings


def main(file: str) -> dict[str, object]:
    """Run all functions `test_...` of a file: the first error with the lines that it came through, outermost first.

    The `phase` tells whether a test raised it, or the import of what they call.
    """
    phase = "import"
    try:
        names = runpy.run_path(file)
        phase = "test"
        for name, value in names.items():
            if name.startswith("test_"):
                value()
    except BaseException as error:  # whatever it raises is the answer
        frames = traceback.extract_tb(error.__traceback__)
        return {
            "phase": phase,
            "error": type(error).__name__,
            "text": str(error),
            "code": getattr(error, "code", ""),
            "path": os.path.realpath(getattr(error, "path", "") or ""),
            "line": getattr(error, "line", 0),
            "lines": [(os.path.realpath(frame.filename), frame.lineno) for frame in frames],
        }
    return {"phase": phase, "error": ""}


def _provide_shapecheck() -> None:
    """Let the file import the shapecheck that wrote it, which need not be installed here."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "shapecheck", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is not None and spec.loader is not None:
        module = sys.modules["shapecheck"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def _request() -> list[str]:
    """The next request, in a process that is there for it alone; it ends when there is none any more."""
    while line := sys.stdin.readline():
        if sys.platform != "linux":
            return _accept(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads: JAX has none before it computes
            pid = os.fork()
        if not pid:
            return _accept(line)
        os.waitpid(pid, 0)
        print("ended", flush=True)
    sys.exit()


def _accept(line: str) -> list[str]:
    """Take a request: what is printed goes where it says, and nothing can be read."""
    file, answer, output = json.loads(line)
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, os.devnull, os.O_WRONLY),
        (2, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    return [file, answer]


if __name__ == "__main__":
    del sys.path[0]  # our own folder
    with contextlib.suppress(ImportError):  # the file says so itself
        importlib.import_module("jax.numpy")
    file, answer_file = _request()
    _provide_shapecheck()
    answer = json.dumps(main(file))
    with open(answer_file, "w", encoding="utf-8") as stream:
        stream.write(answer)
