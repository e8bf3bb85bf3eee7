"""Runs the tests of one file by itself, and says as JSON what became of them: in the user's interpreter.

It is a script of its own: what the file does not import must not be there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import sys
import traceback


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


if __name__ == "__main__":
    del sys.path[0]  # our own folder
    _provide_shapecheck()
    answer = json.dumps(main(sys.argv[1]))
    with open(sys.argv[2], "w", encoding="utf-8") as stream:
        stream.write(answer)
