"""What a module begins by importing, before anything else of its body runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from shapecheck.worker.messages.plans import ModulePlan


def leading_imports(plan: ModulePlan) -> Iterator[str]:
    """The imports at the top of a planned file, as `pkg` and `pkg:part`; none of a file that Python cannot parse.

    Up to the first statement that is no import: what it does, such as to set a variable of the environment, may matter
    to imports behind it.
    """
    try:
        data = plan.source.encode("latin-1") if plan.source else Path(plan.file).read_bytes()
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError):
        return
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            module = _absolute(statement, plan)
            if module and module != "__future__":
                yield from (module if alias.name == "*" else f"{module}:{alias.name}" for alias in statement.names)
        elif number or not isinstance(statement, ast.Expr):  # a docstring may come first
            return


def _absolute(statement: ast.ImportFrom, plan: ModulePlan) -> str:
    if not statement.level:
        return statement.module or ""
    parts = plan.name.split(".")
    is_package = Path(plan.file).name == "__init__.py"
    package = parts[: len(parts) - statement.level + is_package]
    return ".".join((*package, *((statement.module,) if statement.module else ())))
