"""How sizes follow from others, as a file writes it: `x+u` among the axes of an array, `where T = F * hop` in words."""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tokenize
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.namesakes import are_of_two_kinds, is_extent, is_side
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.evaluate.inputs.trials.size_assignment import known_size
from shapecheck.shapes import Dim, NamedDim, SpecError, SymbolicDim, is_variadic, parse_spec
from shapecheck.shapes.equations import OPERATOR, TERM, equations_in

_SPACED = rf"[ \t]?{OPERATOR}[ \t]?"
_AXIS = re.compile(rf"(?<![\w.\])])(?:[A-Za-z_]\w*{_SPACED}|\d+[ \t]?\*[ \t]?){TERM}(?:{_SPACED}{TERM})*")
_QUOTIENT = re.compile(r"(?<![\w.\])])[A-Za-z_]\w*\s*//\s*[A-Za-z_]\w*")
_OF_SELF = re.compile(r"(?<![\w.\])*/])self\.[A-Za-z_]\w*(?:\s*\*\s*self\.[A-Za-z_]\w*)+(?![\w.\[(])")
_SQUARE = re.compile(r"([^\W\d]\w*)(?:\*\1|\*\*2)")
_NAME = re.compile(r"[^\W\d]\w*")
_MOST = 200  # of one file


class WrittenRelation:
    """An expression over names, and what is said to be equal to it, or "" for any axis.

    It may be one that code computes of a model's own integers, which an axis that counts data does not follow: nor what
    is for each head, `dim // heads`.
    """

    def __init__(self, name: str, text: str, dim: SymbolicDim, *, of_model: bool = False) -> None:
        self.name, self.text, self.of_model, self._dim = name, text, of_model, dim

    def may_be_of(self, name: str) -> bool:
        """Whether it may be what an axis of this name comes to: an image's height is no size times itself."""
        names = _NAME.findall(self.text)
        if not self.name and is_side(name) and _SQUARE.fullmatch(self.text):
            return False
        if (self.of_model and is_extent(name)) or are_of_two_kinds(name, names):
            return False
        return self.name in ("", name) and name not in names

    def size(self, sizes: Mapping[str, int]) -> int | None:
        """What it comes to; None where a name has no size."""
        found = known_size(self._dim, sizes)
        return found if type(found) is int else None


def written_relations(function: Callable[..., object] | None) -> tuple[WrittenRelation, ...]:
    """Those of a function's file."""
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if not isinstance(module, types.ModuleType):
        return ()
    note_module_read(module)
    if module not in _kept:  # each tie that is tried asks for them
        try:
            _kept[module] = _parse_relations(inspect.getsource(module))
        except (OSError, TypeError):
            _kept[module] = ()
    return _kept[module]


_kept: WeakKeyDictionary[types.ModuleType, tuple[WrittenRelation, ...]] = WeakKeyDictionary()


def _parse_relations(source: str) -> tuple[WrittenRelation, ...]:
    found: dict[tuple[str, str], WrittenRelation] = {}
    for name, text, of_model in _texts(source):
        plain = re.sub(r"\b(?:self|cfg|config|c)\.", "", text).replace(" ", "")
        if len(found) == _MOST or (name, plain) in found or "." in plain:
            continue
        try:
            dims = parse_spec(f"({plain})").dims
        except SpecError:
            continue
        if len(dims) == 1 and isinstance(dims[0], SymbolicDim):
            found[(name, plain)] = WrittenRelation(name, plain, dims[0], of_model=of_model)
    return tuple(found.values())


def _texts(source: str) -> Iterator[tuple[str, str, bool]]:
    """The equations of a file, quotients of integers, and what else comments and texts have that may be axes.

    Last the products of a model's integers that its code computes, which are told apart.
    """
    for line in source.splitlines():
        yield from ((name, text, False) for name, text in equations_in(line))
        yield from (("", each.group(), False) for each in _QUOTIENT.finditer(line))
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, SyntaxError):
        tokens = []
    for token in tokens:
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield from (("", each.group(), False) for each in _AXIS.finditer(token.string))
    yield from (("", each.group(), True) for line in source.splitlines() for each in _OF_SELF.finditer(line))


def quotients_of_dims(function: Callable[..., object], specs: Mapping[str, str]) -> Iterator[WrittenRelation]:
    """The quotients of axes of arguments that a function computes by names of its own: `groups = qh // kh`.

    `b, t, qh, d = query.shape` says which they are, by the `specs` of the parameters. What an axis is split into is
    such a quotient, too: that of `q` in `q.reshape(groups, -1, d)`.
    """
    source = defining_source(function)
    nodes = list(ast.walk(source.tree)) if source is not None else []
    dims: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            dims.update(_unpacked_dims(node.targets[0], node.value, specs))

    def name_of(node: ast.expr) -> str:
        return dims.get(node.id, "") if isinstance(node, ast.Name) else _dim_of(node, specs)

    for node in nodes:
        names = ("", "")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            names = name_of(node.left), name_of(node.right)
        elif isinstance(node, ast.Call):
            names = _split_axis(node, specs, name_of)
        if all(names) and names[0] != names[1]:
            text = "//".join(names)
            dim = parse_spec(f"({text})").dims[0]
            if isinstance(dim, SymbolicDim):
                yield WrittenRelation("", text, dim)


def _split_axis(node: ast.Call, specs: Mapping[str, str], name_of: Callable[[ast.expr], str]) -> tuple[str, str]:
    """The one axis that a reshape of an argument splits, and what into how many parts: else two empty names."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"):
        return "", ""
    array, *sizes = (node.func.value, *node.args)
    if len(sizes) > 1 and isinstance(sizes[0], ast.Name) and sizes[0].id in specs:  # `jnp.reshape(x, shape)`
        array, *sizes = sizes
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple):
        sizes = sizes[0].elts
    own = parse_spec(specs.get(array.id, "")).dims if isinstance(array, ast.Name) else ()
    before = [dim.name if isinstance(dim, NamedDim) else "" for dim in own]
    rest = [each for each in sizes if ast.unparse(each) != "-1"]
    after = [name_of(each) for each in rest]
    if len(rest) + 1 != len(sizes) or not all((*before, *after)):
        return "", ""
    split = [name for name in before if name not in after]
    parts = [name for name in after if name not in before]
    return (split[0], parts[0]) if len(split) == len(parts) == 1 else ("", "")


def _unpacked_dims(target: ast.expr, value: ast.expr, specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that an assignment gives the sizes of an argument's axes, and what its claim calls these."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _unpacked_dims(one, other, specs)
    if isinstance(target, ast.Name) and (name := _dim_of(value, specs)):
        yield target.id, name
    own = _dims_of_shape(value, specs)
    if isinstance(target, ast.Tuple) and len(target.elts) == len(own):
        for variable, dim in zip(target.elts, own, strict=True):
            if isinstance(variable, ast.Name) and isinstance(dim, NamedDim):
                yield variable.id, dim.name


def _dim_of(node: ast.expr, specs: Mapping[str, str]) -> str:
    """What the axis is called whose size an expression is, `x.shape[2]`; "" if that is not said."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    own = _dims_of_shape(node.value, specs) if isinstance(node, ast.Subscript) else ()
    if not isinstance(index, ast.Constant) or type(index.value) is not int or not 0 <= index.value < len(own):
        return ""
    dim = own[index.value]
    return dim.name if isinstance(dim, NamedDim) else ""


def _dims_of_shape(node: ast.expr, specs: Mapping[str, str]) -> Sequence[Dim]:
    """The dims of the argument whose shape an expression is, `x.shape`; none where that leaves open how many."""
    if not (isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name)):
        return ()
    own = parse_spec(specs.get(node.value.id, "")).dims
    return () if any(map(is_variadic, own)) else own
