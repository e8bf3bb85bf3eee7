"""A fork server whose workers raise an error where they are told to: `python fault_worker.py NUMBER_OF_SOCKET`.

The file that SHAPECHECK_FAULT names holds what to do: the function, the request of the parent's under way and the
error, or where to record the functions that run, with the requests that they run for. It is removed when the error is
raised, so that each fault happens once in all processes of a run; beside it stands from then on the stack on which that
was.

Each function of ours begins with a call that looks whether it is the one. It is compiled into the modules as they are
imported, once for all runs: a trace function would be asked at each call of JAX's functions, too.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.machinery
import json
import os
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MET = "__shapecheck_fault__"
_requests = ["start"]
_PRELOADED = ("equinox", "pytest")  # of the project's, once for all runs


class _Faults(ast.NodeTransformer):
    """Puts the call at the beginning of each function."""

    def __init__(self, file: str) -> None:
        self._file = file

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Change a function, and those in it."""
        self.generic_visit(node)
        line = min([node.lineno, *(each.lineno for each in node.decorator_list)])  # as in `co_firstlineno`
        where = [ast.Constant(each) for each in (self._file, line, node.name)]
        call = ast.Expr(ast.Call(ast.Name(_MET, ast.Load()), where, []))
        first = node.body[0]
        documented = ast.get_docstring(node, clean=False) is not None
        for made in ast.walk(call):
            ast.copy_location(made, first)
        node.body.insert(int(documented), call)
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    """Imports modules of ours so changed."""

    def get_code(self, fullname: str) -> types.CodeType:
        """The changed code, of which nothing is kept."""
        file = self.get_filename(fullname)
        tree = ast.parse(Path(file).read_bytes(), file)
        return compile(_Faults(file).visit(tree), file, "exec", dont_inherit=True)


class _Finder:
    """Finds our modules for that loader."""

    @staticmethod
    def find_spec(name: str, path: Any, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Where a module of ours is."""
        if name.partition(".")[0] != "shapecheck":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(name, spec.origin)
        return spec


def _arm(plan_file: Path) -> None:
    if not plan_file.exists():
        return
    plan = json.loads(plan_file.read_text())
    met = _recording(plan["record"]) if "record" in plan else _raising(plan, plan_file)
    vars(builtins)[_MET] = met


def _raising(plan: dict[str, Any], plan_file: Path) -> Callable[..., None]:
    wanted, line, under = plan["function"]
    error = getattr(builtins, plan["error"])

    def met(file: str, number: int, name: str) -> None:
        if number == line and file == wanted and _requests[-1] == under and plan_file.exists():
            from shapecheck.evaluate.read_only_disk import writable

            with writable():
                plan_file.with_suffix(".stack").write_text("".join(traceback.format_stack(sys._getframe(1))))
                plan_file.unlink()
            raise error("a fault that was put here")

    # The name of its module tells that the error is raised in shapecheck, and not in the user's code.
    names = {**globals(), "__name__": "shapecheck.fault"}
    return types.FunctionType(met.__code__, names, closure=met.__closure__)


def _recording(record: str) -> Callable[..., None]:
    seen: set[tuple[str, int, str]] = set()
    out = open(record, "a", buffering=1)  # noqa: SIM115 - as long as the process

    def met(file: str, number: int, name: str) -> None:
        where = (file, number, _requests[-1])
        if where not in seen:
            seen.add(where)
            out.write(json.dumps([file, number, name, _requests[-1]]) + "\n")

    return met


def _note_requests() -> None:
    """Know which request is being answered; one may come while another is."""
    from shapecheck.evaluate.session.worker_session import WorkerSession

    answer = WorkerSession.answer

    def noting(session: WorkerSession, request: object) -> object:
        _requests.append(type(request).__name__)
        try:
            return answer(session, request)
        finally:
            _requests.pop()

    WorkerSession.answer = noting  # type: ignore[method-assign]


def main() -> None:
    """Fork workers, and be one in each of them."""
    vars(builtins)[_MET] = lambda file, line, name: None
    sys.meta_path.insert(0, _Finder)
    from shapecheck.evaluate.session.fork_child import fork_workers
    from shapecheck.evaluate.session.worker_main import main as serve

    _note_requests()
    for name in _PRELOADED:
        importlib.import_module(name)
    from _pytest.config import default_plugins

    for name in default_plugins:
        importlib.import_module(f"_pytest.{name}")
    for name in ("collect_tests", "run_test", "run_script"):
        importlib.import_module(f"shapecheck.evaluate.suites.{name}")
    if fork_workers(int(sys.argv.pop())):
        _arm(Path(os.environ["SHAPECHECK_FAULT"]))
        serve()


if __name__ == "__main__":
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent.resolve()]
    main()
