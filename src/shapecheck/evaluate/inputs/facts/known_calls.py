"""What calls of well-known functions ask of their arguments: einsum, einops, the assertions of chex, reductions."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from shapecheck.evaluate.inputs.facts.parameter_facts import (
    Axis,
    ParameterFacts,
    called_name,
    literal_integer,
    literal_text,
)

_KINDS: Mapping[str, str] = {"float": "Float", "floating": "Float", "int": "Int", "integer": "Int", "bool": "Bool"}
_ARRAY_MODULES = frozenset({"jnp", "np", "numpy", "lax", "jsp", "onp"})
_EINOPS = frozenset({"rearrange", "reduce", "repeat"})
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
_JOINING = frozenset({"concatenate", "concat"})
_OF_MATRICES = frozenset(
    {"eigh", "eigvalsh", "eig", "eigvals", "inv", "pinv", "cholesky", "det", "slogdet", "svd", "qr", "solve", "lstsq"}
)
_CONVOLVING = frozenset({"conv_general_dilated", "conv_with_general_padding", "conv", "conv_transpose"})


class KnownCalls:
    """Reads the calls in one function."""

    def __init__(self, known: ParameterFacts) -> None:
        self._known = known

    def note_call(self, node: ast.Call) -> None:
        """Note what a call says."""
        name, module = called_name(node.func)
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
                if (fact := self._known.fact(argument)) and name not in (
                    "full",
                    "zeros",
                    "ones",
                    "arange",
                    "broadcast_shapes",
                ):
                    fact.is_array = True
        if name in _REDUCING:
            self._reduction(node)
        if name in _JOINING:
            self._concatenation(node)
        if name in _CONVOLVING and module.endswith("lax"):
            self._convolution(node)
        first = self._known.fact(node.args[0]) if node.args else None
        if first is not None and name in _OF_MATRICES and module.endswith("linalg"):
            first.need(2)
        elif first is not None and name == "pad" and len(node.args) > 1:
            widths = node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else []
            if widths and all(isinstance(each, (ast.Tuple, ast.List)) for each in widths) and len(widths) > 1:
                first.admit((len(widths),))

    def _concatenation(self, node: ast.Call) -> None:
        """What is joined along an axis has that axis, each of it."""
        pieces = node.args[0] if node.args else None
        axis = next(
            (each.value for each in node.keywords if each.arg == "axis"), node.args[1] if node.args[1:] else None
        )
        number = literal_integer(axis)
        for piece in pieces.elts if isinstance(pieces, (ast.Tuple, ast.List)) else ():
            fact = self._known.fact(piece)
            if fact is not None:
                fact.is_array = True
                fact.need_axis(number or 0)

    def _convolution(self, node: ast.Call) -> None:
        """What is convolved and the kernel have as many axes as a layout has letters, or two more than strides."""
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        strides = given.get("window_strides", given.get("strides", node.args[2] if node.args[2:] else None))
        layouts = given.get("dimension_numbers")
        texts = map(literal_text, layouts.elts if isinstance(layouts, (ast.Tuple, ast.List)) else ())
        letters = next(filter(None, texts), "")
        axes = len(letters) or (len(strides.elts) + 2 if isinstance(strides, (ast.Tuple, ast.List)) else 0)
        for operand in (*node.args[:2], *(given[name] for name in ("lhs", "rhs") if name in given)) if axes else ():
            if fact := self._known.fact(operand):
                fact.admit((axes,))

    def _reduction(self, node: ast.Call) -> None:
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        given = self._known.fact(receiver) if receiver is not None else None
        array = given or (self._known.fact(node.args[0]) if node.args else None)
        axis = next((each.value for each in node.keywords if each.arg == "axis"), None)
        if axis is None and len(node.args) > (given is None):
            axis = node.args[int(given is None)]
        numbers = [literal_integer(each) for each in (axis.elts if isinstance(axis, ast.Tuple) else [axis])]
        for number in numbers:
            if array is not None and number is not None:
                array.need_axis(number)

    def _permutation(self, name: str, node: ast.Call) -> None:
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        array = self._known.fact(receiver) if receiver is not None else None
        rest = node.args
        if array is None and node.args:
            array, rest = self._known.fact(node.args[0]), node.args[1:]
        rest = [*rest, *(each.value for each in node.keywords if each.arg == "axes")]
        if array is None or not rest:
            return
        parts = rest[0].elts if len(rest) == 1 and isinstance(rest[0], (ast.Tuple, ast.List)) else rest
        numbers = [literal_integer(part) for part in parts]
        whole = [number for number in numbers if number is not None]
        if name == "transpose" and len(whole) == len(numbers):
            array.admit((len(whole),))
        else:
            for number in whole:
                array.need_axis(number)

    def _einsum(self, node: ast.Call) -> None:
        text = literal_text(node.args[0])
        inputs = text.replace(" ", "").partition("->")[0].split(",") if text else []
        letters: dict[str, set[Axis]] = {}
        for labels, operand in zip(inputs, node.args[1:], strict=False):
            name = self._known.name(operand)
            if name is None:
                continue
            if not labels.isalpha():
                self._known.facts[name].need(sum(map(str.isalpha, labels)))
                continue
            self._known.facts[name].admit((len(labels),))
            for number, letter in enumerate(labels):
                letters.setdefault(letter, set()).add((name, number))
        self._known.axes += [frozenset(axes) for axes in letters.values() if len(axes) > 1]

    def _einops(self, node: ast.Call) -> None:
        name, text = self._known.name(node.args[0]), literal_text(node.args[1])
        if name is None or not text:
            return
        tokens = _tokens(text.partition("->")[0])
        if "..." in tokens:
            self._known.facts[name].need(len(tokens) - 1)
            return
        fact = self._known.facts[name]
        fact.admit((len(tokens),))
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        for number, axis in enumerate(tokens):
            size = self._known.constant(given[axis]) if axis in given else None
            if axis.isdigit() or size is not None:
                fact.names.setdefault(number, axis if size is None else str(size))
            elif axis.isidentifier():
                fact.letters.setdefault(number, axis)

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
            names = [name for each in arrays if (name := self._known.name(each)) is not None]
            for name in names:
                self._known.facts[name].is_array = True
            if what == "equal_shape" and len(names) > 1:
                self._known.shapes.append(frozenset(names))
        elif what == "scalar":
            for each in node.args:
                if fact := self._known.fact(each):
                    fact.admit((0,))
        elif expected is None:
            return
        elif what in ("rank", "shape", "type"):
            listed = expected.elts if isinstance(expected, (ast.List, ast.Tuple)) else None
            for number, each in enumerate(arrays):
                # One for all, or a list of one for each; a shape is a tuple itself.
                apiece = several and listed is not None and (what != "shape" or _holds_tuples(listed))
                own = listed[number] if apiece and listed is not None and number < len(listed) else expected
                if (name := self._known.name(each)) is not None:
                    self._note_expected(what, name, own)

    def _note_expected(self, what: str, name: str, expected: ast.expr) -> None:
        fact = self._known.facts[name]
        if what == "type":
            fact.dtype = fact.dtype or _dtype(expected)
        elif what == "rank":
            options = expected.elts if isinstance(expected, (ast.Set, ast.List, ast.Tuple)) else [expected]
            ranks = [number for each in options if (number := self._known.constant(each)) is not None]
            if ranks:
                fact.admit(sorted(ranks, reverse=True))
        elif isinstance(expected, (ast.Tuple, ast.List)):
            self._known.note_shape(name, expected.elts)


def _dtype(node: ast.expr) -> str:
    options = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    name = called_name(options[0])[0] if options else ""
    return _KINDS.get(name.rstrip("0123456789").rstrip("_"), "")


def _holds_tuples(nodes: Sequence[ast.expr]) -> bool:
    return bool(nodes) and all(isinstance(node, (ast.Tuple, ast.List)) for node in nodes)


def _tokens(pattern: str) -> list[str]:
    """The axes on one side of an einops pattern: a group in parentheses is one, and has size 1 if it is empty."""
    found: list[str] = []
    depth = 0
    for part in re.sub(r"\(\s*\)", "1", pattern).replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            found.append("()")
        elif part != ")" and not depth:
            found.append(part)
        depth += {"(": 1, ")": -1}.get(part, 0)
    return found
