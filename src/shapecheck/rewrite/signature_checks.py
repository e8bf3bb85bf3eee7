"""What the annotations of a function's signature bind and what can be made of them: a decorator, or assertions.

beartype checks every annotation of a function that it decorates, also those that say nothing of shapes: `n: int` is
false of a traced number, `rate: float` of the number 1, and neither program is wrong. So the whole signature is left
to it only where nothing but jaxtyping speaks there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from shapecheck.claims.annotation_names import Names
from shapecheck.claims.axis_words import words
from shapecheck.model import Claim
from shapecheck.rewrite.insertion_points import is_docstring
from shapecheck.shapes import NamedDim, SymbolicDim, VariadicDim, parse_spec
from shapecheck.shapes.expressions import Binary, BracedExpression, Expression, FunctionCall, Name, Unary
from shapecheck.syntax.scopes import Function, arguments, dotted_name, is_generator

# Names of jaxtyping that say nothing that beartype could hold against a correct program.
_HARMLESS = words("PRNGKeyArray PyTree ScalarLike ArrayLike Any object")
_NO_CODE = words("overload abstractmethod no_type_check")


@dataclass(frozen=True)
class FunctionClaims:
    """A function with what its annotations claim.

    `parameters` gives for each parameter the claims of its annotation, `returned` those of the return. `bound_names`
    are the names of dims that surely have a size once the parameters are checked, `leading_names` the first in one.
    """

    node: Function
    parameters: Mapping[str, tuple[Claim, ...]]
    returned: tuple[Claim, ...]
    names: Names

    @property
    def bound_names(self) -> frozenset[str]:
        """The names that surely have a size once the parameters were checked."""
        return frozenset(name for _, claim in self._certain_parameters() for name in _single(claim))

    @property
    def leading_names(self) -> frozenset[str]:
        """The names of the first axes of parameters."""
        dims = (parse_spec(claim.spec).dims[:1] for claims in self.parameters.values() for claim in claims)
        return frozenset(dim.name for each in dims for dim in each if isinstance(dim, NamedDim))

    @property
    def describes_all(self) -> bool:
        """Whether each parameter has an annotation, so that no axis enters unseen."""
        return bool(self.parameters) and all(
            argument.annotation is not None or argument.arg in ("self", "cls") for argument in arguments(self.node)
        )

    def _certain_parameters(self) -> Iterator[tuple[ast.arg, Claim]]:
        """Parameters that are always one array, with its claim."""
        optional = _defaults(self.node)
        starred = {id(a) for a in (self.node.args.vararg, self.node.args.kwarg)}
        for argument in arguments(self.node):
            claims = self.parameters.get(argument.arg, ())
            alone = len(claims) == 1 and argument.arg not in optional and id(argument) not in starred
            if not alone or not isinstance(argument.annotation, ast.Subscript):
                continue
            if self.names.array_class(argument.annotation.value) is not None:
                yield argument, claims[0]

    def first_unbound_name(self) -> str:
        """A name that jaxtyping would need before anything binds it; "" if there is none."""
        known: set[str] = set()
        sure = {id(claim) for _, claim in self._certain_parameters()}
        for argument in arguments(self.node):
            for claim in self.parameters.get(argument.arg, ()):
                missing = self.first_missing_name(claim, known)
                if missing:
                    return missing
                if id(claim) in sure:
                    known.update(_single(claim))
        return next((missing for claim in self.returned if (missing := self.first_missing_name(claim, known))), "")

    def first_missing_name(self, claim: Claim, known: Iterable[str]) -> str:
        """A name that the claim's arithmetic needs and that is not among the known ones."""
        parameters = {argument.arg for argument in arguments(self.node)}
        for dim in parse_spec(claim.spec).dims:
            for name, braced in _used_names(dim.expression) if isinstance(dim, SymbolicDim) else ():
                head = name.removeprefix("len(").partition(".")[0].partition("[")[0].rstrip(")")
                if name not in known and not (braced and head in parameters):
                    return name
        return ""

    def speaks_only_of_arrays(self) -> bool:
        """Whether beartype may have the whole signature: jaxtyping's types only, and defaults that fit them."""
        defaults = _defaults(self.node)
        for argument in arguments(self.node):
            default = defaults.get(argument.arg)
            if argument.annotation is None:
                continue
            none = isinstance(default, ast.Constant) and default.value is None
            if default is not None and not (none and self._admits_none(argument.annotation)):
                return False
            if not self._harmless(argument.annotation):
                return False
        returns = self.node.returns
        return returns is None or self._harmless(returns, tuples=True)

    def _harmless(self, node: ast.expr, *, tuples: bool = False) -> bool:
        if isinstance(node, ast.Constant):
            return node.value is None
        if isinstance(node, ast.BinOp):
            return self._harmless(node.left, tuples=tuples) and self._harmless(node.right, tuples=tuples)
        if isinstance(node, ast.Subscript):
            array = self.names.array_class(node.value)
            if array is not None:
                return array.certain
            name = self.names.original(node.value)
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if name == "PyTree":
                return all(self._harmless(each) or isinstance(each, ast.Constant) for each in inner)
            if name in ("Optional", "Union") or (tuples and name in ("tuple", "Tuple")):
                return all(self._harmless(each, tuples=tuples) for each in inner)
            return False
        if isinstance(node, ast.Name) and node.id in self.names.aliases:
            return self._harmless(self.names.aliases[node.id], tuples=tuples)
        return dotted_name(node) is not None and self.names.original(node) in _HARMLESS

    def _admits_none(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self._admits_none(node.left) or self._admits_none(node.right)
        if isinstance(node, ast.Constant):
            return node.value is None
        return isinstance(node, ast.Subscript) and self.names.original(node.value) == "Optional"


def default(function: Function, parameter: str) -> ast.expr | None:
    """The default of a parameter."""
    return _defaults(function).get(parameter)


def never_checked(function: Function) -> str:
    """Why nothing that jaxtyping checks in calls of this function could be trusted; "" if nothing speaks against it."""
    if isinstance(function, ast.AsyncFunctionDef) or is_generator(function):
        return (
            "jaxtyping's names live as long as a call, and that of a generator or coroutine ends before its body runs"
        )
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (dotted_name(called) or "").rpartition(".")[2] in _NO_CODE:
            return "the function is only a declaration"
    body = function.body[1:] if is_docstring(function.body[0]) else function.body
    if all(isinstance(s, ast.Pass | ast.Raise) or _is_dots(s) for s in body):
        return "the function has no body"
    return ""


def is_jaxtyped(function: Function) -> bool:
    """Whether the function has jaxtyping's decorator already."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (dotted_name(called) or "").rpartition(".")[2] == "jaxtyped":
            return True
    return False


def expression_names(expression: Expression) -> set[str]:
    """The names in an expression."""
    return {name for name, _ in _used_names(expression)}


def divides(expression: Expression) -> bool:
    """Whether an expression divides, so that it presupposes sizes for which that comes out even."""
    if isinstance(expression, Binary):
        return expression.operator in ("/", "//", "%") or divides(expression.left) or divides(expression.right)
    if isinstance(expression, FunctionCall):
        return expression.function in ("ceil", "floor", "round", "int") or any(map(divides, expression.arguments))
    if isinstance(expression, Unary):
        return divides(expression.operand)
    return isinstance(expression, BracedExpression) and divides(expression.inner)


def _used_names(expression: Expression, *, braced: bool = False) -> Iterator[tuple[str, bool]]:
    if isinstance(expression, Name):
        yield expression.text, braced
    elif isinstance(expression, BracedExpression):
        yield from _used_names(expression.inner, braced=True)
    elif isinstance(expression, Unary):
        yield from _used_names(expression.operand, braced=braced)
    elif isinstance(expression, Binary):
        yield from _used_names(expression.left, braced=braced)
        yield from _used_names(expression.right, braced=braced)
    elif isinstance(expression, FunctionCall):
        for argument in expression.arguments:
            yield from _used_names(argument, braced=braced)


def _single(claim: Claim) -> Iterator[str]:
    """The names that a claim binds to one axis, whatever its size."""
    for dim in parse_spec(claim.spec).dims:
        if isinstance(dim, NamedDim) and not dim.broadcastable and not dim.per_leaf:
            yield dim.name


def variadic(claims: Iterable[Claim]) -> frozenset[str]:
    """The names that stand for several axes in some of the claims."""
    dims = (dim for claim in claims for dim in parse_spec(claim.spec).dims)
    return frozenset(dim.name for dim in dims if isinstance(dim, VariadicDim))


def _defaults(function: Function) -> dict[str, ast.expr]:
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    given = dict(zip((a.arg for a in positional[len(positional) - len(args.defaults) :]), args.defaults, strict=True))
    given.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
    return given


def _is_dots(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and value.value is Ellipsis
