"""Functions of modules that a reloader keeps up with their files, and does not import anew.

Since IPython 9, `%autoreload` compiles the functions that have changed, and gives them their code: it has no probes.
Functions of which a comment alone has changed it leaves alone.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Final

from shapecheck.runtime.import_hook import ProbeInserter
from shapecheck.runtime.patch_functions import has_probes

_RELOADER: Final = "IPython.extensions.autoreload"
_EQUAL: Final = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount")
_OPTIMIZED: Final = 1  # `inspect.CO_OPTIMIZED`: the code of a function, and not of a class


class ReloadedFunctions:
    """Gives functions the probes of the text that their file has now, where they do what it says."""

    def __init__(self, probing: ProbeInserter) -> None:
        self._probing = probing
        self._times: dict[str, int] = {}
        self._texts: dict[str, bytes] = {}  # what was looked at last
        self._plain: dict[CodeType, CodeType] = {}  # the same function without probes

    def follow(self) -> None:
        """Look for files that have changed, if there is a reloader."""
        if _RELOADER not in sys.modules:
            return
        for module, file in self._probing.modules():
            if not has_probes(module):
                continue
            try:
                time = os.stat(file).st_mtime_ns
                if self._times.get(file) != time:
                    self._times[file] = time
                    with open(file, "rb") as stream:
                        self._look(module, file, stream.read())
            except (OSError, SyntaxError, ValueError):  # somebody edits it, and the functions are as they were
                continue

    def _look(self, module: ModuleType, file: str, text: bytes) -> None:
        before = self._texts.get(file) or self._probing.latest(file)
        self._texts[file] = text
        if text == before:
            return
        self._code_with_probes(file, before, {})
        names: dict[str, object] = {}
        codes = self._code_with_probes(file, text, names)
        vars(module).update(names)
        for function in [each for each in gc.get_objects() if type(each) is FunctionType]:
            if function.__globals__ is vars(module):
                self._renew(function, codes)

    def _code_with_probes(self, file: str, text: bytes, names: dict[str, object]) -> list[CodeType]:
        """The code of all functions, with what probes there are; it is known from then on what they are without."""
        tree = self._probing.tree(text, file, names)
        plain = list(_functions(compile(text, file, "exec", dont_inherit=True)))
        probed = plain if tree is None else list(_functions(compile(tree, file, "exec", dont_inherit=True)))
        self._plain.update(zip(probed, plain, strict=True))
        return probed

    def _renew(self, function: FunctionType, codes: list[CodeType]) -> None:
        own = self._plain.get(function.__code__)
        for code in codes:
            if code.co_name == function.__name__ and _is_same(
                own or function.__code__, self._plain[code], indented=own is None
            ):
                function.__code__ = code  # monkeypatch: as the reloader itself does it
                return


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The code of all functions and methods, in the order of the text; those inside of functions are made anew."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_flags & _OPTIMIZED:
                yield each
            else:
                yield from _functions(each)


def _is_same(one: CodeType, other: CodeType, *, indented: bool) -> bool:
    """Whether two functions do the same. The reloader may have `indented` what stands on several lines."""
    same = all(getattr(one, name) == getattr(other, name) for name in _EQUAL)
    if not same or len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _is_same(a, b, indented=indented)
        if isinstance(a, CodeType) and isinstance(b, CodeType)
        else _constant(a, indented) == _constant(b, indented)
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )


def _constant(value: object, indented: bool) -> tuple[type, str]:
    return type(value), " ".join(value.split()) if indented and isinstance(value, str) else repr(value)
