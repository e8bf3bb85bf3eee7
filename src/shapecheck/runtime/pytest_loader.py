"""Files of tests, whose asserts pytest rewrites while it loads them."""

from __future__ import annotations

import ast
import importlib.abc
from collections.abc import Callable
from types import ModuleType

# There is no public way into what pytest compiles. Both names are as old as pytest 5.
from _pytest.assertion.rewrite import AssertionRewritingHook, rewrite_asserts

from shapecheck.evaluate.own_errors import HANDLE

WithProbes = Callable[[bytes, str, dict[str, object]], "ast.Module | None"]


class RewritingLoader(importlib.abc.Loader):
    """Compiles a file of tests with its probes, and lets pytest rewrite its asserts. No bytecode is written or read."""

    def __init__(self, inner: AssertionRewritingHook, path: str, with_probes: WithProbes) -> None:
        self._inner, self._path, self._with_probes = inner, path, with_probes

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which is pytest's from then on."""
        __tracebackhide__ = True  # by pytest, where the module cannot be imported
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        with open(self._path, "rb") as stream:
            source = stream.read()
        names: dict[str, object] = {}
        tree = self._with_probes(source, self._path, names)
        vars(module).update(names)
        if tree is None:
            self._inner.exec_module(module)
            return
        tree = ast.fix_missing_locations(_Details().visit(tree))
        rewrite_asserts(tree, source, self._path, self._inner.config)
        exec(compile(tree, self._path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the tests themselves


class _Details(ast.NodeTransformer):
    """Where an assert fails, pytest shows each call in it: of a probe only the value, which any other node gets."""

    _asserting = False

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Look for probes in it."""
        self._asserting = True
        self.generic_visit(node)
        self._asserting = False
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Put a probe of an assert where pytest does not look: the compiler leaves nothing of the condition."""
        self.generic_visit(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if self._asserting and isinstance(owner, ast.Name) and owner.id == HANDLE:
            return ast.copy_location(ast.IfExp(ast.Constant(True), node, ast.Constant(None)), node)
        return node
