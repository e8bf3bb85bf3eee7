"""A fork server whose workers raise an error where they are told to: `python fault_worker.py NUMBER_OF_SOCKET`.

The file that SHAPECHECK_FAULT names holds what to do: the function and the error, or where to record the functions
that run. It is removed when the error is raised, so that each fault happens once in all processes of a run.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any


def _arm(plan_file: Path) -> None:
    if not plan_file.exists():
        return
    plan = json.loads(plan_file.read_text())
    if "record" in plan:
        sys.settrace(_recording(plan["record"], plan["package"]))
        return
    sys.settrace(_raising(tuple(plan["function"]), getattr(builtins, plan["error"]), plan_file))


def _raising(function: tuple[str, int], error: type[Exception], plan_file: Path) -> Any:
    def trace(frame: Any, event: str, argument: object) -> None:
        code = frame.f_code
        if (code.co_filename, code.co_firstlineno) == function:
            sys.settrace(None)
            plan_file.unlink()
            raise error("a fault that was put here")

    # The name of its module tells that the error is raised in shapecheck, and not in the user's code.
    names = {**globals(), "__name__": "shapecheck.fault"}
    return types.FunctionType(trace.__code__, names, closure=trace.__closure__)


def _recording(file: str, package: str) -> Any:
    seen: set[tuple[str, int]] = set()
    out = open(file, "a", buffering=1)  # noqa: SIM115 - as long as the process

    def trace(frame: Any, event: str, argument: object) -> None:
        code = frame.f_code
        where = (code.co_filename, code.co_firstlineno)
        if where not in seen:
            seen.add(where)
            if code.co_filename.startswith(package):
                out.write(json.dumps([*where, code.co_name]) + "\n")

    return trace


def main() -> None:
    """Fork workers, and be one in each of them."""
    from shapecheck.evaluate.session.fork_child import fork_workers
    from shapecheck.evaluate.session.worker_main import main as serve

    for name in ("equinox", "pytest"):  # of the project's, once for all runs
        importlib.import_module(name)
    if fork_workers(int(sys.argv.pop())):
        _arm(Path(os.environ["SHAPECHECK_FAULT"]))
        serve()


if __name__ == "__main__":
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent.resolve()]
    main()
