"""One grammar of dim expressions for all notations, by recursive descent. Nothing is ever evaluated as Python.

The notations differ only in what else they allow, which a `Dialect` says:

- annotations are jaxtyping's: identifiers, ints, Python's arithmetic and bit operators, `min`, `max`, and braces.
  Inside braces stand attribute chains (`{self.n}`), subscripts by ints (`{x.shape[0]}`), `{x.ndim}`, `{len(x)}`,
  ints and arithmetic on these; their values come from whoever evaluates, under just that text as the name.
- canonical text also has primed names, and such chains without braces.
- comments also have `2C` for `2*C`, `^` for a power, and typographic signs (`×`, `·`, `−`, `…`).
- JAX prints symbolic dims with `^`, `floordiv(a, b)` and `mod(a, b)`.

Everything is linear in the length of the text, and the depth of nesting is bounded.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import lru_cache

from shapecheck.shapes.dialects import BITS, BRACES, COMMENT, JAX, Dialect, SpecError, Token, tokenize
from shapecheck.shapes.expressions import (
    FUNCTIONS,
    PRECEDENCE,
    Binary,
    BracedExpression,
    Expression,
    FunctionCall,
    Int,
    Name,
    Unary,
)

# More than any dim that a person writes, and little enough for Python's own recursion.
MAX_TOKENS = 128
MAX_DEPTH = 24

_JAX_OPERATORS = {"floordiv": "//", "mod": "%"}


@lru_cache(maxsize=4096)
def parse_dim(text: str) -> Expression:
    """Read a dim as JAX prints it: `48`, `4*d`, `floordiv(h - 1, 2) + 1`, `b^2*s - 3`. Raises `SpecError`."""
    return parse_expression(text, JAX)


def parse_comment_dim(text: str) -> Expression:
    """Read a dim as prose and comments write it: `H * D`, `n//2`. Raises `SpecError`."""
    return parse_expression(text, COMMENT)


def parse_expression(text: str, dialect: Dialect) -> Expression:
    """Read one expression of a dialect. Raises `SpecError`."""
    return parse_tokens(tokenize(text, dialect, limit=MAX_TOKENS), dialect)


def parse_tokens(tokens: Sequence[Token], dialect: Dialect) -> Expression:
    """Read one expression from tokens, all of them. Raises `SpecError`."""
    if len(tokens) > MAX_TOKENS:
        raise SpecError("the expression is too long")
    return _ExpressionParser(tokens, dialect).parse()


class _ExpressionParser:
    """Recursive descent over tokens. An instance reads one expression and is thrown away."""

    def __init__(self, tokens: Sequence[Token], dialect: Dialect) -> None:
        self._tokens = tokens
        self._dialect = dialect
        self._next = 0
        self._depth = 0

    def parse(self) -> Expression:
        expression = self._binary(1)
        if self._next < len(self._tokens):
            raise SpecError(f"unexpected {self._tokens[self._next].text!r}")
        return expression

    def _peek(self) -> str:
        return self._tokens[self._next].text if self._next < len(self._tokens) else ""

    def _take(self, *expected: str) -> bool:
        if self._peek() in expected and self._next < len(self._tokens):
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise SpecError(f"{text!r} is missing")

    def _binary(self, level: int) -> Expression:
        """Operators that bind at least as tightly as `level`, grouped to the left."""
        left = self._unary()
        while True:
            operator = self._operator()
            own = PRECEDENCE.get(operator, 0)
            if own < level or operator == "**":
                return left
            self._next += 1
            left = Binary(operator, left, self._binary(own + 1))

    def _operator(self) -> str:
        """The operator that comes next, as Python writes it, or an empty text."""
        text = self._peek()
        if text == "×":
            return "*"
        if text == "^" and self._dialect.caret:
            return "**"
        return text if text in PRECEDENCE and (self._dialect.bits or text not in BITS) else ""

    def _unary(self) -> Expression:
        sign = self._peek()
        if sign in {"-", "+"} or (sign == "~" and self._dialect.bits):
            self._next += 1
            self._enter()
            operand = self._unary()
            self._depth -= 1
            return Unary(sign, operand)
        return self._power()

    def _power(self) -> Expression:
        base = self._atom()
        if self._operator() == "**":
            self._next += 1
            self._enter()
            exponent = self._unary()
            self._depth -= 1
            return Binary("**", base, exponent)
        if isinstance(base, Int) and self._dialect.comment and self._is_juxtaposed():
            return Binary("*", base, self._power())
        return base

    def _is_juxtaposed(self) -> bool:
        """Whether a name or a bracket follows without a space, as in `2C` and `4(p-1)`."""
        if self._next == len(self._tokens) or self._tokens[self._next - 1].kind != "number":
            return False
        kinds = [token.kind for token in self._tokens[self._next : self._next + 2]]
        is_factor = kinds[0] == "name" or (self._peek() == "(" and kinds[1:] == ["name"])  # `37(14)` has an error
        return is_factor and not self._is_spaced()

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SpecError("the expression is nested too deeply")

    def _atom(self) -> Expression:
        if self._next == len(self._tokens):
            raise SpecError("the expression ends too early")
        token = self._tokens[self._next]
        self._next += 1
        if token.kind == "number":
            return Int(int(token.text))
        if token.kind == "name":
            return self._name(token.text)
        if token.text == "(":
            return self._group(")")
        if token.text == "{" and self._dialect.braces:
            outer, self._dialect = self._dialect, BRACES
            inner = self._group("}")
            self._dialect = outer
            return BracedExpression(inner)
        raise SpecError(f"unexpected {token.text!r}")

    def _group(self, end: str) -> Expression:
        self._enter()
        inner = self._binary(1)
        self._depth -= 1
        self._expect(end)
        return inner

    def _name(self, name: str) -> Expression:
        if keyword.iskeyword(name) and (not self._dialect.keywords or name in {"None", "True", "False"}):
            raise SpecError(f"{name!r} is a word of Python's own")
        if self._peek() == "(":
            return self._call(name)
        return Name(self._path(name) if self._dialect.paths else name)

    def _path(self, text: str) -> str:
        """The rest of an attribute chain with subscripts by ints, as canonical text."""
        while True:
            if self._is_spaced():
                return text  # so that `e.g. heads` is no path
            if self._take("."):
                text += f".{self._take_kind('name')}"
            elif self._take("["):
                sign = "-" if self._take("-") else ""
                text += f"[{sign}{int(self._take_kind('number'))}]"
                self._expect("]")
            else:
                return text

    def _is_spaced(self) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].spaced

    def _take_kind(self, kind: str) -> str:
        if self._next == len(self._tokens) or self._tokens[self._next].kind != kind or self._is_spaced():
            raise SpecError(f"a {kind} is missing")
        self._next += 1
        return self._tokens[self._next - 1].text

    def _call(self, function: str) -> Expression:
        self._expect("(")
        if function == "len" and self._dialect.paths:
            path = self._path(self._take_kind("name"))
            self._expect(")")
            return Name(f"len({path})")
        if function not in self._dialect.functions:
            raise SpecError(f"calls of {function!r} are not evaluated")
        self._enter()
        arguments = [self._binary(1)]
        while self._take(","):
            arguments.append(self._binary(1))
        self._depth -= 1
        self._expect(")")
        return _make_call(function, tuple(arguments))


def _make_call(function: str, arguments: tuple[Expression, ...]) -> Expression:
    least, most = (2, 2) if function in _JAX_OPERATORS else FUNCTIONS[function]
    if not least <= len(arguments) <= most:
        raise SpecError(f"{function}() does not take {len(arguments)} arguments")
    if function in _JAX_OPERATORS:
        return Binary(_JAX_OPERATORS[function], *arguments)
    return FunctionCall(function, arguments)
