"""Tests evaluated abstractly: statements that only a real run can execute are stepped over.

Inside the functions of a test file, in effect,

    assert jnp.allclose(y, 1)           try: assert jnp.allclose(y, 1)
                                        except BaseException:
                                            if not __shapecheck_step__.over("assert"): raise

and likewise for expression statements such as `np.testing.assert_allclose(y, z)`. A block that expects an error
(`with pytest.raises(...)`) is not observed, since what it does is wrong on purpose, and it may find none. Neither is
what led to an exception in the body of a `try` that has handlers for it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Sequence, Set
from typing import Literal, TypeVar

from shapecheck.evaluate.probes.recorder import Recorder

STEP = "__shapecheck_step__"

Kind = Literal["assert", "shapes", "expression", "raises"]

# In words that all ways to write a name have in common: numpy's are `assert_raises` and `assert_warns`.
_EXPECTING = re.compile(
    r"(assert|check|expect)?(raises|throws|warns)(regex|withliteralmatch|withpredicatematch|exc|group)?"
    r"|assert(no)?(logs|warnings)|deprecatedcall|suppress"
)
# The types of what such calls return: `@pytest.mark.parametrize("outcome", [nullcontext(), pytest.raises(TypeError)])`.
_OUTCOMES = frozenset(
    [
        "RaisesContext",  # before pytest 8.4
        "RaisesExc",
        "RaisesGroup",
        "WarningsChecker",
        "_AssertRaisesContext",
        "_AssertWarnsContext",
        "suppress",
    ]
)


BUG = "bug"
"""The kind of an error of our own, which is no test's."""


class StepHandle:
    """What a test module knows as `__shapecheck_step__` while it is no test: a handle that makes things unobserved."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._expecting: list[bool] = []  # of each block around, whether it expects an error

    def expect(self, begins: bool, *managers: object) -> None:
        """A block that expects an error begins or ends; with `managers`, one that does if they do."""
        if begins:
            self._expecting.append(not managers or any(type(m).__name__ in _OUTCOMES for m in managers))
        elif self._expecting:
            self._expecting.pop()
        self.recorder.active = not any(self._expecting)

    def over(self, kind: Kind) -> bool:
        """Whether the exception under way comes from evaluating abstractly, so that the statement is passed over."""
        return False

    def make_unobserved(self, make: Callable[[], object]) -> object:
        """What a function makes, of which nothing is observed: it is as it should not be."""
        before, self.recorder.active = self.recorder.active, False
        try:
            return make()
        finally:
            self.recorder.active = before


class Steps(StepHandle):
    """The handle that a test module knows by that name where it is a test."""

    def __init__(
        self,
        recorder: Recorder,
        kind_of: Callable[[BaseException], str],
        checkpoint: Callable[[], Callable[[], None]] = lambda: lambda: None,
    ) -> None:
        super().__init__(recorder)
        self._kind_of, self._checkpoint = kind_of, checkpoint
        self.abstract = False  # a test for real steps over nothing
        self.trusts_shapes = True  # an assertion about shapes alone, which fails, is taken for what it says
        self._passed = False  # some statement was passed over: what it was to change is not changed
        # Of each `try` around, how many calls there were before, and what takes back what else is noted of later ones.
        self._attempts: list[tuple[int, Callable[[], None]]] = []

    def reset(self, *, abstract: bool, trusts_shapes: bool = True) -> None:
        """A test begins."""
        self.abstract, self.trusts_shapes, self._passed = abstract, trusts_shapes, False
        self._expecting, self._attempts = [], []
        self.recorder.active = True

    def over(self, kind: Kind) -> bool:
        """Whether the exception under way comes from evaluating abstractly, so that the statement is passed over."""
        error = sys.exc_info()[1]
        passed = self.abstract and error is not None and self._is_ours(kind, error)
        if passed and error is not None:
            self._passed |= kind != "raises"
            self.recorder.interrupt(error, goes_on=kind in ("assert", "shapes"))  # these change nothing
        return passed

    def _is_ours(self, kind: Kind, error: BaseException) -> bool:
        if kind == "raises":
            # What was expected did not come: pytest's own Failed is no Exception.
            # Or it is JAX that refuses what a checker, which is off here, would have refused before.
            is_refusal = type(error).__name__ == "Failed" or self._kind_of(error) == "shape"
            return bool(self._expecting) and self._expecting[-1] and (is_refusal or self._asks_for_values(error))
        if not isinstance(error, Exception) or self._kind_of(error) == BUG:
            return False
        if kind == "shapes" and isinstance(error, AssertionError) and self.trusts_shapes and not self._passed:
            return False
        if kind == "expression" and isinstance(error, AssertionError) and self._attempts:
            return False  # a handler is there for what the code refuses
        # Other errors of an assertion come from looking into what is abstract; but shapes are what we are after.
        return self._asks_for_values(error) or (kind in ("assert", "shapes") and self._kind_of(error) != "shape")

    def _asks_for_values(self, error: BaseException) -> bool:
        return isinstance(error, AssertionError) or self._kind_of(error) == "value"

    def attempt(self, begins: bool) -> None:
        """The body of a `try` begins or ends."""
        if begins:
            self._attempts.append((len(self.recorder.calls), self._checkpoint()))
        elif self._attempts:
            self._attempts.pop()

    def withdraw(self) -> None:
        """The body of a `try` raised what somebody is prepared for: forget what it did."""
        if self.abstract and self._attempts:
            before, take_back = self._attempts[-1]
            del self.recorder.calls[before:]
            take_back()


def with_steps(tree: ast.Module, *, everywhere: bool = False, in_docs: bool = False) -> ast.Module:
    """Wrap the statements of all functions in `tree`, or all statements: those of a script, or those `in_docs`."""
    wrapped: ast.Module = _Wrapper(everywhere or in_docs, shows_errors=in_docs or not everywhere).visit(tree)
    return _with_tables_apart(wrapped)


def with_refusals_apart(tree: ast.Module) -> ast.Module:
    """Make what a test does to see it refused unobserved, where its functions are evaluated and not the test."""
    wrapped: ast.Module = _RefusalsApart(everywhere=False, shows_errors=False).visit(tree)
    return _with_tables_apart(wrapped)


def _with_tables_apart(tree: ast.Module) -> ast.Module:
    """Make what a test is given to refuse unobserved: `@pytest.mark.parametrize("bad", [Record(...)])`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list:
            refused = _refused_parameters(node)
            node.decorator_list = [_with_table_apart(each, refused) for each in node.decorator_list]
    return ast.fix_missing_locations(tree)


_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)


def _made_for_errors(function: _Function) -> set[str]:
    """The variables that a function makes by calls, and takes nowhere but where it expects an error.

    Or each item of which it takes there alone: `for bad in (f(x), g(x)): with pytest.raises(...): use(bad)`.
    """
    expecting = _expecting_nodes(function)
    made: list[str] = []
    loops: list[ast.For] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Call) for each in ast.walk(node.value)):
            made += [each.id for each in node.targets if isinstance(each, ast.Name)]
        if isinstance(node, ast.For):
            loops.append(node)
    read = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    for loop in loops:
        taken = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
        if all(node in expecting for node in read if node.id in taken):
            expecting.update(ast.walk(loop.iter))
    refused = {node.id for node in read if node in expecting}
    return {name for name in refused if made.count(name) == 1} - {node.id for node in read if node not in expecting}


def _expecting_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[ast.AST]:
    """All that stands where a function expects an error."""
    expecting: set[ast.AST] = set()
    for node in ast.walk(function):
        is_block = isinstance(node, ast.With) and any(
            isinstance(item.context_expr, ast.Call) and _expects(item.context_expr) for item in node.items
        )
        if is_block or (isinstance(node, ast.Call) and len(node.args) > 1 and _expects(node)):
            expecting.update(ast.walk(node))
    return expecting


def _refused_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters of a test that it takes nowhere but where it expects an error."""
    expecting = _expecting_nodes(function)
    read = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    parameters = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    refused = {node.id for node in read if node in expecting} & parameters
    return refused - {node.id for node in read if node not in expecting}


class _Wrapper(ast.NodeTransformer):
    """One walk over one module. Statements outside of functions run on import, where nothing is abstract."""

    def __init__(self, everywhere: bool, *, shows_errors: bool) -> None:
        self.depth = int(everywhere)
        self.shows_errors = shows_errors
        self.bad: set[str] = set()  # variables that are made to be refused

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Go into a function."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Go into a function."""
        return self._function(node)

    def _function(self, node: _Function) -> _Function:
        around, self.bad = self.bad, _made_for_errors(node)
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        self.bad = around
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """`bad = Mesh(...)` above `with pytest.raises(ValueError): pack(bad)` is as wrong on purpose as that."""
        is_bad = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id in self.bad
        return _wrap_statement(node, "raises") if self.depth and is_bad else node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """An assertion may look at values."""
        kind: Kind = "shapes" if _is_about_shapes(node.test) else "assert"
        return _wrap_statement(node, kind) if self.depth else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """So may a statement that is there for its effect alone."""
        if not self.depth or isinstance(node.value, ast.Constant) or _suspends(node):
            return node
        if isinstance(node.value, ast.Call) and len(node.value.args) > 1 and _expects(node.value):
            return _wrap_statement(node, "raises")  # self.assertRaises(ValueError, f, x)
        # A probe is no statement of the user's.
        if isinstance(node.value, ast.Call) and _name(node.value).startswith("__shapecheck"):
            return node
        asserts = isinstance(node.value, ast.Call) and _name(node.value).rpartition(".")[2].startswith("assert")
        kind: Kind = "shapes" if asserts and _is_about_shapes(node.value) else "assert" if asserts else "expression"
        return _wrap_statement(node, kind)

    def visit_With(self, node: ast.With) -> ast.stmt:
        """`with pytest.raises(...)`."""
        self.generic_visit(node)
        if not self.depth or _suspends(node):
            return node
        managers = [item.context_expr for item in node.items]
        if any(isinstance(manager, ast.Call) and _expects(manager) for manager in managers):
            return _wrap_statement(node, "raises")
        names = [manager for manager in managers if isinstance(manager, ast.Name)]
        return _wrap_statement(node, "raises", names) if names else node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        """`try: f(wrong)`, `except TypeError: pass`. In scripts, handlers are there for accidents."""
        self.generic_visit(node)
        if self.depth and self.shows_errors and node.handlers and not any(map(_suspends, node.body)):
            begin, end = ast.Expr(_call("attempt", True)), ast.Expr(_call("attempt", False))
            withdrawing: list[ast.stmt] = [ast.Expr(_call("withdraw")), ast.Raise()]
            handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, withdrawing)
            node.body = [_copy_position(ast.Try([begin, *node.body], [handler], [], [end]), node.body[0])]
        return node


class _RefusalsApart(_Wrapper):
    """The blocks and calls that expect an error, alone."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """An assertion is the function's own."""
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """So is a statement that is there for its effect, where it expects no error."""
        is_call = isinstance(node.value, ast.Call) and len(node.value.args) > 1 and _expects(node.value)
        return super().visit_Expr(node) if is_call else node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        """What handlers are there for is not known of a function."""
        self.generic_visit(node)
        return node


def _with_table_apart(decorator: ast.expr, refused: Set[str]) -> ast.expr:
    """`parametrize("bad", [f(x)])` of a test that is to refuse them, where `f(x)` is made unobserved."""
    is_table = isinstance(decorator, ast.Call) and _name(decorator).rpartition(".")[2] == "parametrize"
    if not is_table or not isinstance(decorator, ast.Call) or not decorator.args:
        return decorator
    names = decorator.args[0]
    words = {
        word.strip()
        for each in ast.walk(names)
        if isinstance(each, ast.Constant)
        for word in str(each.value).split(",")
    }
    if not words & refused:
        return decorator
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    decorator.args[1:] = [
        ast.copy_location(_call("make_unobserved", ast.Lambda(nothing, each)), each) for each in decorator.args[1:]
    ]
    return decorator


def _wrap_statement(node: ast.stmt, kind: Kind, managers: Sequence[ast.Name] = ()) -> ast.stmt:
    not_over = ast.UnaryOp(ast.Not(), _call("over", kind))
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [ast.If(not_over, [ast.Raise()], [])])
    body: list[ast.stmt] = [node]
    final: list[ast.stmt] = []
    if kind == "raises":
        named = [ast.Name(manager.id, ast.Load()) for manager in managers]
        body.insert(0, ast.Expr(_call("expect", True, *named)))
        final.append(ast.Expr(_call("expect", False)))
    return _copy_position(ast.Try(body, [handler], [], final), node)


def _copy_position(made: ast.stmt, node: ast.stmt) -> ast.stmt:
    """What was made, where it is not the user's own, at the place of `node`."""
    for part in ast.walk(made):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


def _call(method: str, *arguments: Kind | bool | ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(STEP, ast.Load()), method, ast.Load())
    return ast.Call(function, [a if isinstance(a, ast.expr) else ast.Constant(a) for a in arguments], [])


def _is_about_shapes(asserted: ast.expr) -> bool:
    """Whether an assertion looks at nothing but shapes: `x.shape == (n, 3)`, `assert_shape(x, (n, 3))`."""
    if isinstance(asserted, ast.Call):
        if _name(asserted).rpartition(".")[2] in ("assert_shape", "assert_rank"):
            return True
        compared = asserted.args[:2]
    else:
        compared = [asserted.left, *asserted.comparators] if isinstance(asserted, ast.Compare) else []
    return any(isinstance(each, ast.Attribute) and each.attr == "shape" for each in compared)


def _expects(call: ast.Call) -> bool:
    plain = _name(call).rpartition(".")[2].replace("_", "").lower()
    return _EXPECTING.fullmatch(plain) is not None


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
