"""Tests evaluated abstractly: statements that only a real run can execute are stepped over.

Inside the functions of a test file, in effect,

    assert jnp.allclose(y, 1)           try: assert jnp.allclose(y, 1)
                                        except BaseException:
                                            if not __shapecheck_step__.over("assert"): raise

and likewise for expression statements such as `np.testing.assert_allclose(y, z)`. A block that expects an error
(`with pytest.raises(...)`) is not observed, since what it does is wrong on purpose, and it may find none.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Literal, TypeVar

from shapecheck.stage.observe.recorder import Recorder

STEP = "__shapecheck_step__"

Kind = Literal["assert", "expression", "raises"]

_EXPECTING = frozenset(
    [
        "raises",
        "warns",
        "deprecated_call",
        "assertRaises",
        "assertRaisesRegex",
        "assertRaisesWithLiteralMatch",
        "assertRaisesWithPredicateMatch",
        "assertWarns",
        "assertWarnsRegex",
        "assertLogs",
        "assertNoLogs",
    ]
)


class Steps:
    """The handle that a test module knows as `__shapecheck_step__`."""

    def __init__(self, recorder: Recorder, kind_of: Callable[[BaseException], str]) -> None:
        self.recorder, self._kind_of = recorder, kind_of
        self.abstract = False  # a test for real steps over nothing
        self.count = 0
        self._expecting = 0

    def reset(self, *, abstract: bool) -> None:
        """A test begins."""
        self.abstract, self.count, self._expecting = abstract, 0, 0
        self.recorder.active = True

    def over(self, kind: Kind) -> bool:
        """Whether the exception under way comes from evaluating abstractly, so that the statement is passed over."""
        error = sys.exc_info()[1]
        passed = self.abstract and error is not None and self._is_ours(kind, error)
        self.count += passed
        return passed

    def _is_ours(self, kind: Kind, error: BaseException) -> bool:
        if kind == "raises":
            # What was expected did not come: pytest's own Failed is no Exception.
            return type(error).__name__ == "Failed" or self._asks_for_values(error)
        if not isinstance(error, Exception):
            return False
        # Other errors of an assertion come from looking into what is abstract; but shapes are what we are after.
        return self._asks_for_values(error) or (kind == "assert" and self._kind_of(error) != "shape")

    def _asks_for_values(self, error: BaseException) -> bool:
        return isinstance(error, AssertionError) or self._kind_of(error) == "value"

    def expect(self, begins: bool) -> None:
        """A block that expects an error begins or ends."""
        self._expecting += 1 if begins else -1
        self.recorder.active = self._expecting == 0


def with_steps(tree: ast.Module, *, everywhere: bool = False) -> ast.Module:
    """Wrap the statements of all functions in `tree`, or all statements: those of a script."""
    return ast.fix_missing_locations(_Wrapper(everywhere).visit(tree))  # type: ignore[no-any-return]


_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)


class _Wrapper(ast.NodeTransformer):
    """One walk over one module. Statements outside of functions run on import, where nothing is abstract."""

    def __init__(self, everywhere: bool) -> None:
        self.depth = int(everywhere)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Go into a function."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Go into a function."""
        return self._function(node)

    def _function(self, node: _Function) -> _Function:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """An assertion may look at values."""
        return _wrapped(node, "assert") if self.depth else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """So may a statement that is there for its effect alone."""
        if not self.depth or isinstance(node.value, ast.Constant) or _suspends(node):
            return node
        if isinstance(node.value, ast.Call) and len(node.value.args) > 1 and _expects(node.value):
            return _wrapped(node, "raises")  # self.assertRaises(ValueError, f, x)
        # A probe is no statement of the user's.
        if isinstance(node.value, ast.Call) and _name(node.value).startswith("__shapecheck"):
            return node
        return _wrapped(node, "expression")

    def visit_With(self, node: ast.With) -> ast.stmt:
        """`with pytest.raises(...)`."""
        self.generic_visit(node)
        if self.depth and any(isinstance(i.context_expr, ast.Call) and _expects(i.context_expr) for i in node.items):
            return node if _suspends(node) else _wrapped(node, "raises")
        return node


def _wrapped(node: ast.stmt, kind: Kind) -> ast.stmt:
    asked = ast.UnaryOp(ast.Not(), _call("over", kind))
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [ast.If(asked, [ast.Raise()], [])])
    body: list[ast.stmt] = [node]
    final: list[ast.stmt] = []
    if kind == "raises":
        body.insert(0, ast.Expr(_call("expect", True)))
        final.append(ast.Expr(_call("expect", False)))
    result = ast.Try(body, [handler], [], final)
    for part in ast.walk(result):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return result


def _call(method: str, argument: Kind | bool) -> ast.Call:
    function = ast.Attribute(ast.Name(STEP, ast.Load()), method, ast.Load())
    return ast.Call(function, [ast.Constant(argument)], [])


def _expects(call: ast.Call) -> bool:
    return _name(call).rpartition(".")[2] in _EXPECTING


def _name(call: ast.Call) -> str:
    names: list[str] = []
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
    return ".".join(reversed(names))


def _suspends(node: ast.stmt) -> bool:
    """Whether control leaves in the middle: what comes back through a `yield` is not this statement's."""
    return any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(node))
