"""The loader of the user's files, in a check and in a running program alike: it compiles each with its probes."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.machinery
import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any, Protocol


class ProbedFile(Protocol):
    """One file on its way in: which probes it gets, and what is done around its body."""

    @property
    def file(self) -> str:
        """What its code calls it."""

    @property
    def unsaved_text(self) -> bytes:
        """Its text, where that is not the one on the disk."""

    def tree(self, source: bytes, names: dict[str, object]) -> ast.Module | None:
        """The probed syntax tree, and in `names` what the module has to know; None if nothing is to be looked at."""

    def recall(self, source: bytes, names: dict[str, object]) -> CodeType | None:
        """What `keep` was given for this text, with `names` as `tree` fills them; None if there is no such code."""

    def keep(self, source: bytes, code: CodeType) -> None:
        """Take the code that a text was compiled to."""

    def execute(self, module: ModuleType, run: Callable[[ModuleType], None]) -> None:
        """Compile and run the module's body, which `run` does."""


class ProbedLoader(importlib.machinery.SourceFileLoader):
    """Compiles a file with its probes, in the way of the `inner` loader that would else have done it.

    No bytecode is written, and none is read.
    """

    def __init__(self, fullname: str, path: str, probed: ProbedFile, inner: Any = None) -> None:
        super().__init__(fullname, path)
        self._probed, self._inner = probed, inner
        self._code: CodeType | None = None
        self.names: dict[str, object] = {}  # what the module has to know before it runs

    def get_source(self, fullname: str) -> str | None:
        """The text as it was compiled."""
        text = self._probed.unsaved_text
        return importlib.util.decode_source(text) if text else super().get_source(fullname)

    def get_code(self, fullname: str) -> CodeType | None:
        """The probed code. Transformations of other tools, such as jaxtyping's import hook, come on top."""
        if self._code is not None:
            return self._code
        source, file = self._probed.unsaved_text or self.get_data(self.path), self._probed.file
        code = self._probed.recall(source, self.names)
        if code is not None:
            return code
        tree = self._probed.tree(source, self.names)
        if tree is None:
            code = self._inner.get_code(fullname)
        elif self._inner is None or type(self._inner) is importlib.machinery.SourceFileLoader:
            code = self._compile(tree, source, file)
            self._probed.keep(source, code)
        else:
            with _compile_as(file, tree):
                code = self._inner.source_to_code(source, file)
        return code

    def _compile(self, tree: ast.Module, source: bytes, file: str) -> CodeType:
        try:
            code: CodeType = compile(tree, file, "exec", dont_inherit=True)
        except SyntaxError:
            self.source_to_code(source, file)  # raises what only the compiler minds: `return` in a module
            raise
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        __tracebackhide__ = True  # by pytest, where it cannot be imported
        self._probed.execute(module, self._run)

    def _run(self, module: ModuleType) -> None:
        __tracebackhide__ = True
        self._code = self.get_code(module.__name__)
        vars(module).update(self.names)
        super().exec_module(module)


_compiling = threading.RLock()


@contextlib.contextmanager
def _compile_as(path: str, tree: ast.Module) -> Iterator[None]:
    """A monkeypatch: meanwhile, who parses the file at `path` gets `tree`. All import hooks have that in common."""
    compile_ = builtins.compile
    thread = threading.get_ident()

    def compile_tree(source: Any, filename: Any, mode: str, flags: int = 0, *args: Any, **kwargs: Any) -> Any:
        ours = threading.get_ident() == thread and os.fspath(filename) == path
        if ours and flags & ast.PyCF_ONLY_AST and not isinstance(source, ast.AST):
            return tree
        source = tree if ours and not isinstance(source, ast.AST) else source
        return compile_(source, filename, mode, flags, *args, **kwargs)

    with _compiling:
        builtins.compile = compile_tree
        try:
            yield
        finally:
            builtins.compile = compile_
