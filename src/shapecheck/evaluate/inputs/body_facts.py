"""What the body of a function asks of its arguments: how many axes, which of them are equal, what kind of number.

Where nothing describes an argument its code mostly does: `b, t, c = x.shape`, `assert x.ndim == 2`,
`chex.assert_rank([x, y], [1, 2])`, `jnp.einsum("ij,jk->ik", x, y)`, `x[:, None, :]`. Only source is read, nothing is
called; a parameter that is bound again is read up to there.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType

Axis = tuple[str, int]
"""A parameter, and the number of one of its axes from the front."""

_KINDS: Mapping[str, str] = {"float": "Float", "floating": "Float", "int": "Int", "integer": "Int", "bool": "Bool"}
_ARRAY_MODULES = frozenset({"jnp", "np", "numpy", "lax", "jsp", "onp"})
_ARRAY_ATTRIBUTES = frozenset(
    {"shape", "ndim", "dtype", "T", "mT", "at", "astype", "reshape", "sum", "mean", "transpose"}
)
_EINOPS = frozenset({"rearrange", "reduce", "repeat"})
_KEEPING = frozenset({"asarray", "array", "astype", "stop_gradient", "lax_stop_gradient", "nan_to_num"})
_REDUCING = frozenset(
    {
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "var",
        "std",
        "argmax",
        "argmin",
        "softmax",
        "log_softmax",
        "logsumexp",
        "cumsum",
    }
    | {"concatenate", "squeeze", "take", "take_along_axis", "flip", "sort", "argsort", "norm", "any", "all", "median"}
)


@dataclass
class BodyFact:
    """What the body asks of one parameter.

    `ranks` are the numbers of axes that it admits, the first one first, none if it says nothing; `least` is what it
    needs at least. `names` are those that it gives to axes, `dtype` is one of jaxtyping's, or "". `texts` are those
    that it compares the parameter with, `parts` the number of variables that it unpacks it into.
    """

    ranks: tuple[int, ...] = ()
    least: int = 0
    names: dict[int, str] = field(default_factory=dict)
    dtype: str = ""
    is_array: bool = False
    texts: tuple[str, ...] = ()
    parts: int = 0

    def admit(self, ranks: Sequence[int]) -> None:
        """Only these numbers of axes; those that contradict what is known say nothing."""
        both = tuple(rank for rank in self.ranks if rank in ranks) if self.ranks else tuple(ranks)
        self.ranks = both or self.ranks
        self.is_array = True

    def need(self, axes: int) -> None:
        """At least so many axes."""
        self.least = max(self.least, axes)
        self.is_array = True


@dataclass(frozen=True)
class BodyFacts:
    """What a body asks of its parameters, and the sets of axes that it takes to be equal."""

    parameters: Mapping[str, BodyFact]
    equal_axes: Sequence[frozenset[Axis]] = ()
    equal_shapes: Sequence[frozenset[str]] = ()


NO_FACTS = BodyFacts({})


def facts_of(function: Callable[..., object]) -> BodyFacts:
    """What the source of a function says of its parameters; nothing where there is no source."""
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
    inner = inspect.unwrap(own) if callable(own) else own
    inner = getattr(inner, "__func__", inner)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType):
        return NO_FACTS
    if code not in _kept:  # a class is constructed anew for each attempt
        _kept[code] = _read_function(inner)
    return _kept[code]


_kept: dict[CodeType, BodyFacts] = {}


def _read_function(inner: Callable[..., object]) -> BodyFacts:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inner))).body[0]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):  # of what stands for its module
        return NO_FACTS
    if not isinstance(tree, ast.FunctionDef):
        return NO_FACTS
    return _Reader(tree, getattr(inner, "__globals__", {})).read_body()


def names_of_check(function: Callable[..., object], line: int) -> frozenset[str] | None:
    """The variables that decide whether the function comes to a line of its file: those of the statement there, and of
    all conditions around it. None if the line is not one of this function.
    """
    inner = inspect.unwrap(function)
    inner = getattr(inner, "__func__", inner)
    try:
        lines, first = inspect.getsourcelines(inner)
        tree: ast.AST = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):  # of what stands for its module
        return None
    found: set[str] = set()
    node: ast.AST | None = tree
    statement = None
    while node is not None:
        own = line - first + 1
        inside = [each for each in _statements(node) if each.lineno <= own <= (each.end_lineno or each.lineno)]
        node = inside[0] if inside else None
        if isinstance(node, (ast.If, ast.While, ast.For)):
            found |= _read_names(node.iter if isinstance(node, ast.For) else node.test)
        statement = node or statement
    if statement is None:
        return None
    return frozenset(found | (_read_names(statement) if not isinstance(statement, ast.Raise) else set()))


class _Reader:
    """Reads one function, statement by statement."""

    def __init__(self, tree: ast.FunctionDef, module: Mapping[str, object]) -> None:
        self._tree, self._module = tree, module
        arguments = tree.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self._facts = {name: BodyFact() for name in names}
        self._live = set(names)
        self._axes: list[frozenset[Axis]] = []
        self._shapes: list[frozenset[str]] = []

    def read_body(self) -> BodyFacts:
        """All that it says."""
        self._block(self._tree.body)
        return BodyFacts(self._facts, self._axes, self._shapes)

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._read_nested(statement)
            return
        for expression in _own_expressions(statement):
            self._expression(expression)
        if isinstance(statement, ast.Assert):
            self._condition(statement.test)
        elif isinstance(statement, ast.If) and _raises(statement.body):
            self._refusal(statement.test)
        elif isinstance(statement, ast.Assign):
            self._assignment(statement)
        for block in _blocks(statement):
            self._block(block)
        self._live -= _bound_again(statement)

    def _read_nested(self, inner: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """What is inside reads the parameters too, but for those of its own of the same name."""
        own: set[str] = set()
        if not isinstance(inner, ast.ClassDef):
            arguments = inner.args
            own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            own |= {
                node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
        before, self._live = self._live, self._live - own
        for statement in inner.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr):
                    self._node(node)
        self._live = before

    def _expression(self, expression: ast.expr) -> None:
        for node in ast.walk(expression):
            if isinstance(node, ast.expr):
                self._node(node)

    def _node(self, node: ast.expr) -> None:
        if isinstance(node, ast.Attribute) and node.attr in _ARRAY_ATTRIBUTES and (fact := self._fact(node.value)):
            fact.is_array = True
        elif isinstance(node, ast.Subscript):
            self._subscript(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                if fact := self._fact(side):
                    fact.need(1)
        elif isinstance(node, ast.Compare):
            self._compared_texts(node)
        elif isinstance(node, ast.Call):
            self._call(node)

    def _compared_texts(self, node: ast.Compare) -> None:
        fact = self._fact(node.left)
        if fact is None:
            return
        for other in node.comparators:
            parts = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
            fact.texts = tuple(dict.fromkeys([*fact.texts, *filter(None, map(_text, parts))]))

    def _subscript(self, node: ast.Subscript) -> None:
        index = node.slice
        shaped = self._shape_of(node.value)
        if shaped is not None:  # x.shape[2], x.shape[-2:]
            number = _integer(index)
            if number is None and isinstance(index, ast.Slice):
                number = (
                    _integer(index.lower) if _integer(index.lower) is not None else (_integer(index.upper) or 1) - 1
                )
            if number is not None:
                self._facts[shaped].need(number + 1 if number >= 0 else -number)
            return
        fact = self._fact(node.value)
        if fact is None:
            return
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(_text(part) for part in parts):  # of a table of arrays
            return
        axes = [part for part in parts if not _is_new_axis(part) and not _is_ellipsis(part)]
        if isinstance(index, ast.Tuple) or _is_new_axis(index) or any(isinstance(part, ast.Slice) for part in parts):
            fact.need(len(axes))

    def _call(self, node: ast.Call) -> None:
        name, module = _called_name(node.func)
        if name == "einsum" and node.args:
            self._einsum(node)
        elif name in _EINOPS and len(node.args) > 1:
            self._einops(node)
        elif name.startswith("assert_"):
            self._checker(name.removeprefix("assert_"), node)
        elif name in ("transpose", "swapaxes", "moveaxis"):
            self._permutation(name, node)
        elif module in _ARRAY_MODULES or module.endswith((".numpy", ".lax", ".nn")):
            for argument in node.args[:2]:
                if (fact := self._fact(argument)) and name not in (
                    "full",
                    "zeros",
                    "ones",
                    "arange",
                    "broadcast_shapes",
                ):
                    fact.is_array = True
        if name in _REDUCING:
            self._reduction(node)

    def _reduction(self, node: ast.Call) -> None:
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        given = self._fact(receiver) if receiver is not None else None
        array = given or (self._fact(node.args[0]) if node.args else None)
        axis = next((each.value for each in node.keywords if each.arg == "axis"), None)
        if axis is None and len(node.args) > (given is None):
            axis = node.args[int(given is None)]
        numbers = [_integer(each) for each in (axis.elts if isinstance(axis, ast.Tuple) else [axis])]
        for number in numbers:
            if array is not None and number is not None:
                array.need(number + 1 if number >= 0 else -number)

    def _permutation(self, name: str, node: ast.Call) -> None:
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        array = self._fact(receiver) if receiver is not None else None
        rest = node.args
        if array is None and node.args:
            array, rest = self._fact(node.args[0]), node.args[1:]
        rest = [*rest, *(each.value for each in node.keywords if each.arg == "axes")]
        if array is None or not rest:
            return
        parts = rest[0].elts if len(rest) == 1 and isinstance(rest[0], (ast.Tuple, ast.List)) else rest
        numbers = [_integer(part) for part in parts]
        whole = [number for number in numbers if number is not None]
        if name == "transpose" and len(whole) == len(numbers):
            array.admit((len(whole),))
        elif whole:
            array.need(max(number + 1 if number >= 0 else -number for number in whole))

    def _einsum(self, node: ast.Call) -> None:
        text = _text(node.args[0])
        inputs = text.replace(" ", "").partition("->")[0].split(",") if text else []
        letters: dict[str, set[Axis]] = {}
        for labels, operand in zip(inputs, node.args[1:], strict=False):
            name = self._name(operand)
            if name is None:
                continue
            if not labels.isalpha():
                self._facts[name].need(sum(map(str.isalpha, labels)))
                continue
            self._facts[name].admit((len(labels),))
            for number, letter in enumerate(labels):
                letters.setdefault(letter, set()).add((name, number))
        self._axes += [frozenset(axes) for axes in letters.values() if len(axes) > 1]

    def _einops(self, node: ast.Call) -> None:
        name, text = self._name(node.args[0]), _text(node.args[1])
        if name is None or not text:
            return
        tokens = _tokens(text.partition("->")[0])
        if "..." in tokens:
            self._facts[name].need(len(tokens) - 1)
            return
        self._facts[name].admit((len(tokens),))
        for number, token in enumerate(tokens):
            if token.isidentifier():
                self._facts[name].names.setdefault(number, token)

    def _checker(self, what: str, node: ast.Call) -> None:
        """The assertions of chex, and of whoever calls theirs the same."""
        if not node.args:
            return
        first, second = node.args[0], node.args[1] if len(node.args) > 1 else None
        keyword = next((each.value for each in node.keywords if each.arg and each.arg.startswith("expected")), None)
        expected = second if second is not None else keyword
        several = isinstance(first, (ast.List, ast.Tuple))
        arrays = list(first.elts) if isinstance(first, (ast.List, ast.Tuple)) else [first]
        if what in ("equal_shape", "equal_rank", "equal_shape_prefix", "equal_shape_suffix"):
            names = [name for each in arrays if (name := self._name(each)) is not None]
            for name in names:
                self._facts[name].is_array = True
            if what == "equal_shape" and len(names) > 1:
                self._shapes.append(frozenset(names))
        elif what == "scalar":
            for each in node.args:
                if fact := self._fact(each):
                    fact.admit((0,))
        elif expected is None:
            return
        elif what in ("rank", "shape", "type"):
            listed = expected.elts if isinstance(expected, (ast.List, ast.Tuple)) else None
            for number, each in enumerate(arrays):
                # One for all, or a list of one for each; a shape is a tuple itself.
                apiece = several and listed is not None and (what != "shape" or _holds_tuples(listed))
                own = listed[number] if apiece and listed is not None and number < len(listed) else expected
                if (name := self._name(each)) is not None:
                    self._note_expected(what, name, own)

    def _note_expected(self, what: str, name: str, expected: ast.expr) -> None:
        fact = self._facts[name]
        if what == "type":
            fact.dtype = fact.dtype or self._dtype(expected)
        elif what == "rank":
            options = expected.elts if isinstance(expected, (ast.Set, ast.List, ast.Tuple)) else [expected]
            ranks = [number for each in options if (number := self._constant(each)) is not None]
            if ranks:
                fact.admit(sorted(ranks, reverse=True))
        elif isinstance(expected, (ast.Tuple, ast.List)):
            self._note_shape(name, expected.elts)

    def _note_shape(self, name: str, dims: Sequence[ast.expr]) -> None:
        """A shape written out, of which names stand for sizes."""
        if any(isinstance(dim, ast.Starred) or _is_ellipsis(dim) for dim in dims):
            self._facts[name].need(len(dims) - 1)
            return
        self._facts[name].admit((len(dims),))
        for number, dim in enumerate(dims):
            constant = self._constant(dim)
            if constant is not None:
                self._facts[name].names.setdefault(number, str(constant))
            elif isinstance(dim, ast.Name) and dim.id not in self._facts:
                self._facts[name].names.setdefault(number, dim.id)

    def _assignment(self, statement: ast.Assign) -> None:
        """`b, t, *rest = x.shape`, `h, c = state`."""
        target, shaped = statement.targets[0], self._shape_of(statement.value)
        if (whole := self._fact(statement.value)) is not None and isinstance(target, (ast.Tuple, ast.List)):
            whole.parts = len(target.elts)
        if shaped is None or not isinstance(target, (ast.Tuple, ast.List)):
            return
        fact = self._facts[shaped]
        if any(isinstance(each, ast.Starred) for each in target.elts):
            fact.need(len(target.elts) - 1)
            return
        fact.admit((len(target.elts),))
        for number, each in enumerate(target.elts):
            if isinstance(each, ast.Name) and each.id.strip("_"):
                fact.names.setdefault(number, each.id)

    def _condition(self, test: ast.expr) -> None:
        """What holds from here on."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for each in test.values:
                self._condition(each)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._refusal(test.operand)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            self._comparison(test.left, test.ops[0], test.comparators[0])

    def _refusal(self, test: ast.expr) -> None:
        """What does not hold from here on: `if x.ndim != 2: raise ...`."""
        opposite: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
            ast.NotEq: ast.Eq, ast.NotIn: ast.In, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt
        }  # fmt: skip
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            for each in test.values:
                self._refusal(each)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._condition(test.operand)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in opposite:
            self._comparison(test.left, opposite[type(test.ops[0])](), test.comparators[0])

    def _comparison(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> None:
        ranked = self._rank_of(left)
        if ranked is not None:
            number = self._constant(right)
            if isinstance(how, ast.Eq) and number is not None:
                self._facts[ranked].admit((number,))
            elif isinstance(how, ast.In) and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                options = [each for part in right.elts if (each := self._constant(part)) is not None]
                self._facts[ranked].admit(sorted(options, reverse=True))
            elif isinstance(how, (ast.GtE, ast.Gt)) and number is not None:
                self._facts[ranked].need(number + isinstance(how, ast.Gt))
            return
        shaped, other = self._shape_of(left), self._shape_of(right)
        if shaped is None or not isinstance(how, ast.Eq):
            return
        if other is not None:
            self._shapes.append(frozenset({shaped, other}))
        elif isinstance(right, (ast.Tuple, ast.List)):
            self._note_shape(shaped, right.elts)

    def _name(self, node: ast.expr | None) -> str | None:
        """The parameter that an expression is, as it was given."""
        return node.id if isinstance(node, ast.Name) and node.id in self._live else None

    def _fact(self, node: ast.expr | None) -> BodyFact | None:
        name = self._name(node)
        return self._facts[name] if name is not None else None

    def _shape_of(self, node: ast.expr) -> str | None:
        """The parameter whose shape an expression is: `x.shape`, `jnp.shape(x)`."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self._name(node.value)
        if isinstance(node, ast.Call) and _called_name(node.func)[0] == "shape" and len(node.args) == 1:
            return self._name(node.args[0])
        return None

    def _rank_of(self, node: ast.expr) -> str | None:
        """The parameter whose number of axes an expression is: `x.ndim`, `jnp.ndim(x)`, `len(x.shape)`."""
        if isinstance(node, ast.Attribute) and node.attr == "ndim":
            return self._name(node.value)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            called = _called_name(node.func)[0]
            return (
                self._name(node.args[0])
                if called == "ndim"
                else self._shape_of(node.args[0])
                if called == "len"
                else None
            )
        return None

    def _constant(self, node: ast.expr) -> int | None:
        """A number, also by the name of one of the module's."""
        if isinstance(node, ast.Name):
            value = self._module.get(node.id)
            return value if type(value) is int else None
        return _integer(node)

    def _dtype(self, node: ast.expr) -> str:
        options = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
        name = _called_name(options[0])[0] if options else ""
        return _KINDS.get(name.rstrip("0123456789").rstrip("_"), "")


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside of one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _read_names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are not those of the blocks inside of it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _bound_again(statement: ast.stmt) -> set[str]:
    """The names that a statement binds to something else: not `x = jnp.asarray(x)`."""
    stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if isinstance(statement, ast.Assign) and len(stored) == 1 and isinstance(statement.value, ast.Call):
        call, (name,) = statement.value, stored
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        same = [each for each in (receiver, *call.args[:1]) if isinstance(each, ast.Name) and each.id == name]
        if same and _called_name(call.func)[0] in _KEEPING:
            return set()
    return stored


def _raises(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _called_name(function: ast.expr) -> tuple[str, str]:
    """The last name of what is called, and what stands before it: `jnp`, `jax.numpy`."""
    if isinstance(function, ast.Name):
        return function.id, ""
    if isinstance(function, ast.Attribute):
        last, before = _called_name(function.value)
        return function.attr, f"{before}.{last}" if before else last
    return "", ""


def _integer(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _integer(node.operand)
        return -number if number is not None else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_new_axis(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    return _called_name(node)[0] == "newaxis"


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _holds_tuples(nodes: Sequence[ast.expr]) -> bool:
    return bool(nodes) and all(isinstance(node, (ast.Tuple, ast.List)) for node in nodes)


def _tokens(pattern: str) -> list[str]:
    """The axes on one side of an einops pattern: a group in parentheses is one."""
    found: list[str] = []
    depth = 0
    for part in pattern.replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            found.append("()")
        elif part != ")" and not depth:
            found.append(part)
        depth += {"(": 1, ")": -1}.get(part, 0)
    return found
