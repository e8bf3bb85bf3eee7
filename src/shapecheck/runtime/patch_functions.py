"""Probes in functions that exist already: their code is exchanged, and given back."""

from __future__ import annotations

import ast
import functools
import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Final

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.runtime.cell_source import Cell
from shapecheck.runtime.import_hook import ProbeInserter

_Key = tuple[str, int]
_NONE: Final = object()

Only = Callable[[ModuleType], bool]


def _any(module: ModuleType) -> bool:
    return True


def has_probes(module: ModuleType) -> bool:
    """Whether a module has probes, of whichever session."""
    return HANDLE in vars(module)


class PatchedFunctions:
    """The functions of the user's loaded modules, and those of cells that have probes already, until `undo`.

    Not those that are running, nor closures over variables of functions that have probes: these have none until they
    are made anew. Nor do classes that exist observe their fields. Of the modules, `only` some.
    """

    def __init__(self, probing: ProbeInserter, cells: Sequence[Cell] = (), only: Only = _any) -> None:
        self._before: list[tuple[FunctionType, CodeType]] = []
        self._names: list[tuple[dict[str, object], dict[str, object]]] = []  # variables, and what they were
        codes: dict[str, dict[_Key, CodeType]] = {}
        for module, file in probing.modules():
            found = self._code_with_probes(probing, module, file) if only(module) else None
            if found is not None:
                codes[os.path.realpath(file)] = dict(_inside(found))
        for cell in cells:
            self._give_cell(probing, cell, codes)
        if codes:
            self._exchange(codes)

    def undo(self) -> None:
        """Give all functions their own code back: the end of the monkeypatch."""
        for function, code in self._before:
            function.__code__ = code
        for variables, names in reversed(self._names):
            for name, value in names.items():
                if value is _NONE:
                    variables.pop(name, None)
                else:
                    variables[name] = value
        self._before, self._names = [], []

    def _give_cell(self, probing: ProbeInserter, cell: Cell, codes: dict[str, dict[_Key, CodeType]]) -> None:
        """Its functions have probes, which get another handle; those that can be found get all that is new."""
        names: dict[str, object] = {}
        tree = probing.cell(cell, names)
        if tree is None:
            return
        self._give(cell.variables, names)
        if cell.file:
            code = compile(tree, cell.file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            codes[os.path.realpath(cell.file)] = dict(_inside(code))

    def _give(self, variables: dict[str, object], names: Mapping[str, object]) -> None:
        self._names.append((variables, {name: variables.get(name, _NONE) for name in names}))
        variables.update(names)

    def _code_with_probes(self, probing: ProbeInserter, module: ModuleType, file: str) -> CodeType | None:
        names: dict[str, object] = {}
        try:
            with open(file, "rb") as stream:
                source = stream.read()
            tree = probing.tree(source, file, names)
        except (OSError, SyntaxError):  # changed since it was loaded
            return None
        if tree is None:
            return None
        self._give(vars(module), names)
        code: CodeType = compile(tree, file, "exec", dont_inherit=True)
        return code

    def _exchange(self, codes: Mapping[str, Mapping[_Key, CodeType]]) -> None:
        real = functools.cache(os.path.realpath)  # of few files, in which JAX alone has thousands of functions
        for function in [each for each in gc.get_objects() if type(each) is FunctionType]:
            own = function.__code__
            new = codes.get(real(own.co_filename), {}).get((own.co_name, own.co_firstlineno))
            if new is not None and new.co_freevars == own.co_freevars:
                self._before.append((function, own))
                function.__code__ = new  # monkeypatch: whoever imported the function by its name has it, too


def _inside(code: CodeType) -> Iterator[tuple[_Key, CodeType]]:
    """The code of all functions."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_name, each.co_firstlineno), each
            yield from _inside(each)
