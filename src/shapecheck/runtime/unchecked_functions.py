"""Functions of a notebook's cells that claim something, and that nobody checks."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import types
import warnings
from collections.abc import Container, Sequence
from typing import Any, Final

from shapecheck.runtime.cell_names import context_statements
from shapecheck.runtime.cell_source import Cell
from shapecheck.runtime.cell_transform import CellTransformer
from shapecheck.runtime.judge_client import JudgeClient

EARLIER: Final = (
    "functions that are defined already are not checked, though there are claims in their cells: run these again"
)
_NEVER: Final = (
    "shapecheck: functions that are defined in cells of this notebook are not checked. `%load_ext shapecheck`, before "
    "they are defined, does that"
)


def current_shell() -> Any:
    """The shell of IPython that runs this process; None if there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def has_unchecked(shell: Any, known: Container[str], client: JudgeClient) -> bool:
    """Whether there are functions whose cells claim something, of which none is `known`: what Python calls its code."""
    for file in _files(shell.user_global_ns):
        named = getattr(shell.compile, "format_code_name", lambda file: None)(file)
        text = "".join(linecache.getlines(file))
        if file in known or named is None or not text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        mentioned = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        if (
            client.read_cell(f"{named[1]} before", text, context_statements(text, mentioned, shell.user_ns)).plan
            is not None
        ):
            return True
    return False


class _WarnOnce:
    """Once is enough."""

    yet = False


def remind(known: Container[str], client: JudgeClient) -> None:
    """Say once in a process that cells are not checked, if there are any, and if it matters."""
    shell = current_shell() if not _WarnOnce.yet else None
    if shell is not None and has_unchecked(shell, known, client):
        _WarnOnce.yet = True
        warnings.warn(_NEVER, stacklevel=4)


def known_cells() -> Sequence[Cell]:
    """The cells that have probes."""
    found = [each for each in getattr(current_shell(), "ast_transformers", ()) if isinstance(each, CellTransformer)]
    return found[0].known if found else ()


def _files(variables: dict[str, object]) -> set[str]:
    """What Python calls the code of the functions that share these variables."""
    functions = (each for each in gc.get_objects() if type(each) is types.FunctionType)
    own = (function for function in functions if function.__globals__ is variables)
    # Since Python 3.13 a cell that runs is a function too.
    return {function.__code__.co_filename for function in own if function.__name__ != "<module>"}
