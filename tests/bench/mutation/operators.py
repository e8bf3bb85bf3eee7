"""What people get wrong in code about shapes: each operator finds its places in a function and proposes edits.

An operator is a generator over one node; `code_mutants` runs them over the functions that may be changed. Edits that
leave the shapes as they were (an axis of a softmax, say) are of no use and cost a run of the tests, so they are not
proposed; what remains equivalent is dropped by the judge.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from mutation.mutants import Edit, Mutant, Source

Proposals = Iterator[list[Edit]]
Operator = Callable[[Source, ast.expr], Proposals]

REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "prod", "argmax", "argmin", "any", "all", "var", "std", "logsumexp", "norm", "median"}
    | {"amax", "amin", "nansum", "nanmean"}
)
JOINS = {"concatenate": 1, "concat": 1, "stack": 1, "split": 2, "array_split": 2}  # where the axis stands
ARRAYS = frozenset({"zeros", "ones", "full", "empty", "normal", "uniform", "truncated_normal"})
LAYERS = re.compile(r"Linear|Conv|Dense|Embed|Norm|MLP|Mlp|LSTM|GRU|Pool|PReLU|Perceptron|Attention")
PATTERNS = frozenset({"rearrange", "repeat", "reduce"})  # of einops
OTHERS = frozenset({"math", "random", "jr", "jrandom", "builtins", "itertools"})  # whose functions have no axes
MODULES = frozenset({"jnp", "np", "numpy", "lax", "jax", "linalg", "nn", "xnp", "mx"})


def _name(call: ast.expr) -> str:
    """The last part of what is called, or "" where that is not about arrays."""
    if not isinstance(call, ast.Call):
        return ""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return str(getattr(function, "id", ""))
    return "" if function.attr not in ARRAYS and _root(function) in OTHERS else function.attr


def _root(function: ast.Attribute) -> str:
    """What stands before the last dot."""
    before = function.value
    return before.attr if isinstance(before, ast.Attribute) else str(getattr(before, "id", ""))


def _is_method(call: ast.Call) -> bool:
    """Whether an array's method is called, and not a function of a module."""
    return isinstance(call.func, ast.Attribute) and _root(call.func) not in MODULES


def _argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    plain = call.args[: position + 1]
    if len(plain) > position and not any(isinstance(each, ast.Starred) for each in plain):
        return plain[position]
    return None


def _integer(node: ast.expr | None) -> int | None:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _other_axes(axis: int) -> list[int]:
    """The next axis inwards, and the other end."""
    return list(dict.fromkeys([axis + 1 if axis >= 0 else axis - 1, 0 if axis == -1 else -1]))


def _swaps(source: Source, nodes: Sequence[ast.expr]) -> Proposals:
    """Neighbours that change places."""
    for a, b in itertools.pairwise(nodes):
        if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred) and source.of(a) != source.of(b):
            yield [source.put(a, source.of(b)), source.put(b, source.of(a))]


def _elements(call: ast.Call, position: int, *names: str) -> list[ast.expr]:
    """The parts of a shape or of a permutation that stand as a tuple or as arguments of their own."""
    first = _argument(call, position, *names)
    if isinstance(first, ast.Tuple | ast.List):
        return list(first.elts)
    return list(call.args[position:]) if len(call.args) > position + 1 else []


def _without(source: Source, nodes: Sequence[ast.expr], index: int) -> list[Edit]:
    """The edit that takes one of several parts out, with its comma."""
    if index + 1 < len(nodes):
        return [Edit(start=source.start(nodes[index]), end=source.start(nodes[index + 1]), text="")]
    return [Edit(start=source.end(nodes[index - 1]), end=source.end(nodes[index]), text="")]


def reduction_axis(source: Source, node: ast.expr) -> Proposals:
    """`jnp.sum(x, axis=1)` over another axis; of several axes, one less."""
    if isinstance(node, ast.Call) and _name(node) in REDUCTIONS:
        axis = _argument(node, 0 if _is_method(node) else 1, "axis")
        value = _integer(axis)
        if axis is not None and value is not None:
            yield from ([source.put(axis, str(other))] for other in _other_axes(value))
        if isinstance(axis, ast.Tuple) and len(axis.elts) > 2:
            yield from (_without(source, axis.elts, index) for index in range(len(axis.elts)))


def transpose(source: Source, node: ast.expr) -> Proposals:
    """Axes in another order: `.T`, `transpose`, `swapaxes`, `moveaxis`, the right side of `rearrange`."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield [Edit(start=source.end(node.value), end=source.end(node), text="")]
    if not isinstance(node, ast.Call):
        return
    name, first = _name(node), 0 if _is_method(node) else 1
    if name in ("transpose", "permute_dims"):
        yield from _swaps(source, _elements(node, first, "axes"))
    elif name in ("swapaxes", "moveaxis"):
        for position, names in ((first, ("axis1", "source")), (first + 1, ("axis2", "destination"))):
            axis = _argument(node, position, *names)
            value = _integer(axis)
            if axis is not None and value is not None:
                yield from ([source.put(axis, str(other))] for other in _other_axes(value))
    elif name in PATTERNS and len(node.args) > 1:
        yield from _pattern_swaps(source, node.args[1], re.compile(r"\([^)]*\)|[^\s()]+"))


def _pattern_swaps(source: Source, node: ast.expr, token: re.Pattern[str], most: int = 3) -> Proposals:
    """Neighbours behind the arrow of a pattern that change places."""
    text = source.of(node)
    if not isinstance(node, ast.Constant) or "->" not in text or "\n" in text or text[0] not in "\"'":
        return
    begin = text.index("->") + 2
    found = [m for m in token.finditer(text, begin, len(text) - 1) if m[0].strip()]
    for a, b in list(itertools.pairwise(found))[:most]:
        if a[0] != b[0]:
            swapped = text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]
            yield [source.put(node, swapped)]


def einsum_output(source: Source, node: ast.expr) -> Proposals:
    """The output of an einsum: two letters swapped, or one left out."""
    if isinstance(node, ast.Call) and _name(node) == "einsum" and node.args:
        pattern = next((a for a in (node.args[0], node.args[-1]) if "->" in source.of(a)), node.args[0])
        spaced = re.search(r"\w\s+\w", source.of(pattern).partition("->")[2]) is not None
        token = re.compile(r"\w+" if spaced else r"\w")
        yield from _pattern_swaps(source, pattern, token)
        text = source.of(pattern)
        if isinstance(pattern, ast.Constant) and "->" in text and "\n" not in text:
            letters = list(token.finditer(text, text.index("->") + 2, len(text) - 1))
            yield from ([source.put(pattern, text[: m.start()] + text[m.end() :])] for m in letters[:1])


def reshape_factors(source: Source, node: ast.expr) -> Proposals:
    """Parts of a new shape swapped, or a product that lacks a factor."""
    if not (isinstance(node, ast.Call) and _name(node) == "reshape"):
        return
    parts = _elements(node, 0 if _is_method(node) else 1, "shape", "newshape")
    yield from _swaps(source, parts)
    for part in parts:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult | ast.FloorDiv):
            yield [source.put(part, source.of(part.left))]


def keepdims(source: Source, node: ast.expr) -> Proposals:
    """`keepdims` the other way round, or where there was none."""
    if not (isinstance(node, ast.Call) and _name(node) in REDUCTIONS):
        return
    kept = next((k.value for k in node.keywords if k.arg == "keepdims"), None)
    if isinstance(kept, ast.Constant):
        yield [source.put(kept, str(not kept.value))]
    elif kept is None and _argument(node, 0 if _is_method(node) else 1, "axis") is not None:
        last = max(source.end(each) for each in [*node.args, *node.keywords])
        yield [Edit(start=last, end=last, text=", keepdims=True")]


def new_axis(source: Source, node: ast.expr) -> Proposals:
    """`[:, None]` at another place or gone, `expand_dims` and `squeeze` of another axis."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        places = [n for n, part in enumerate(parts) if source.of(part) in ("None", "jnp.newaxis", "np.newaxis")]
        if places and len(parts) > 1:
            yield from (e for e in _swaps(source, parts) if any("None" in p.text or "newaxis" in p.text for p in e))
            yield _without(source, parts, places[0])
        elif places:
            yield [Edit(start=source.end(node.value), end=source.end(node), text="")]
    elif isinstance(node, ast.Call) and _name(node) in ("expand_dims", "squeeze"):
        axis = _argument(node, 0 if _is_method(node) else 1, "axis")
        value = _integer(axis)
        if axis is not None and value is not None:
            yield from ([source.put(axis, str(other))] for other in _other_axes(value))


def mapped_axes(source: Source, node: ast.expr) -> Proposals:
    """`in_axes` and `out_axes` of a vmap."""
    if not (isinstance(node, ast.Call) and _name(node) in ("vmap", "filter_vmap")):
        return
    for position, name in ((1, "in_axes"), (2, "out_axes")):
        axes = _argument(node, position, name)
        if axes is None:
            continue
        for axis in axes.elts if isinstance(axes, ast.Tuple | ast.List) else [axes]:
            text = source.of(axis)
            others = {"0": ["1", "None"], "1": ["0"], "None": ["0"], "-1": ["0"]}.get(text, [])
            yield from ([source.put(axis, other)] for other in others)


def joined_axis(source: Source, node: ast.expr) -> Proposals:
    """Another axis of `concatenate`, `stack`, `split`; one of the first two instead of the other."""
    if not (isinstance(node, ast.Call) and _name(node) in JOINS):
        return
    name = _name(node)
    axis = _argument(node, JOINS[name], "axis")
    value = _integer(axis)
    if axis is not None and value is not None:
        yield from ([source.put(axis, str(other))] for other in _other_axes(value))
    elif axis is None and len(node.args) >= JOINS[name] and not node.keywords:
        last = source.end(node.args[-1])
        yield [Edit(start=last, end=last, text=", axis=-1")]
    other = {"concatenate": "stack", "stack": "concatenate"}.get(name)
    if other and isinstance(node.func, ast.Attribute):
        end = source.end(node.func)
        yield [Edit(start=end - len(name), end=end, text=other)]


def layer_size(source: Source, node: ast.expr) -> Proposals:
    """A layer's sizes swapped, or one of them wrong; the shape of a parameter in another order."""
    if not isinstance(node, ast.Call):
        return
    name = _name(node)
    if name in ARRAYS:
        shape = _argument(node, 1 if name in ("normal", "uniform", "truncated_normal") else 0, "shape")
        if isinstance(shape, ast.Tuple):
            yield from _swaps(source, shape.elts)
    elif LAYERS.search(name) and name[:1].isupper():
        sizes = [a for a in node.args[:2] if isinstance(a, ast.Name | ast.Attribute | ast.BinOp | ast.Constant)]
        sizes += [
            k.value
            for k in node.keywords
            if re.search(r"(features|size|channels|dim|shape)$", k.arg or "")
            and isinstance(k.value, ast.Name | ast.Attribute | ast.BinOp | ast.Constant)
        ]
        if len(sizes) > 1:
            yield from _swaps(source, sizes[:2])
        for size in sizes[:2]:
            if not (isinstance(size, ast.Constant) and not isinstance(size.value, int)):
                yield [source.put(size, f"2 * ({source.of(size)})")]


def swapped_operands(source: Source, node: ast.expr) -> Proposals:
    """`b @ a` for `a @ b`, and its kin."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield [source.put(node.left, source.of(node.right)), source.put(node.right, source.of(node.left))]
    elif isinstance(node, ast.Call) and _name(node) in ("matmul", "dot", "tensordot", "outer", "kron"):
        if len(node.args) >= 2 and not _is_method(node):
            yield from _swaps(source, node.args[:2])
    elif isinstance(node, ast.Call) and _name(node) == "einsum" and len(node.args) == 3:
        yield from _swaps(source, [each for each in node.args if "->" not in source.of(each)])


OPERATORS: dict[str, Operator] = {
    "reduction axis": reduction_axis,
    "transpose": transpose,
    "einsum output": einsum_output,
    "reshape factors": reshape_factors,
    "keepdims": keepdims,
    "new axis": new_axis,
    "in_axes/out_axes": mapped_axes,
    "joined axis": joined_axis,
    "layer size": layer_size,
    "swapped operands": swapped_operands,
}


def code_mutants(source: Source, functions: Collection[str], builders: Collection[str] = ()) -> Iterator[Mutant]:
    """All mutants in the functions of these names; in `builders` (constructors) of layers' sizes only."""
    seen: set[str] = set()
    for name, function in sorted(source.functions().items(), key=lambda item: -item[1].lineno):  # inner ones first
        whole = name in functions or any(name.startswith(f"{outer}.") for outer in functions)
        if not whole and name not in builders:
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.expr):
                    continue
                for operator, propose in OPERATORS.items():
                    if not whole and operator != "layer size":
                        continue
                    for edits in propose(source, node):
                        mutant = source.mutant(operator, name, node.lineno, edits)
                        same = "" if mutant is None else f"{mutant.line}{mutant.after}"
                        if mutant is not None and same not in seen:
                            seen.add(same)
                            yield mutant
