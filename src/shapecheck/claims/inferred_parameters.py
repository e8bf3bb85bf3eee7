"""What the claims in a function say of the parameters that nobody describes.

Of `h = x @ params["w"]  # (batch, hidden)` x is an array (batch, n), and the weights are (n, hidden), whatever n is. So
the shapes of all values are unified from both ends: from the claims back to what is computed with, and on from there.
Only what is sure in NumPy's own terms is used (products, reductions, transpositions, indexing, arithmetic), each once,
in the order of the code; but for one habit: who multiplies by a parameter from the right means a matrix. Evaluation
takes another shape where that does not fit.
"""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.claims.unified_axes import (
    AxesByText,
    UnifiedAxis,
    UnifiedShape,
    UnifiedValue,
    broadcast,
    new_axes,
    unify,
)
from shapecheck.model import Claim, InferredParameter, Site
from shapecheck.model.parameter_parts import ParameterParts
from shapecheck.shapes import AnyDim, is_variadic, parse_spec
from shapecheck.syntax.scopes import Function, Tables, name_chain

_PER_ELEMENT = (
    "abs absolute exp expm1 log log1p log2 sqrt rsqrt square sign sin cos tan tanh sinh cosh arctan floor ceil round"
    " clip nan_to_num asarray array astype negative reciprocal stop_gradient relu relu6 gelu silu swish sigmoid"
    " softplus elu leaky_relu selu hard_tanh log_sigmoid softmax log_softmax copy erf lgamma inv pinv cumsum cumprod"
    " sort flip roll zeros_like ones_like isnan isfinite logical_not conj real imag"
)
_PER_PAIR = "maximum minimum add subtract multiply divide power mod logical_and logical_or greater less equal arctan2"
_PER_AXIS = "sum mean max min std var prod norm amax amin median any all logsumexp argmax argmin nanmean nansum"
_ELEMENTWISE: Final = frozenset(_PER_ELEMENT.split())
_BINARY: Final = frozenset(_PER_PAIR.split())
_REDUCING: Final = frozenset(_PER_AXIS.split())
_MOST_LOOKS: Final = 50_000  # at expressions of one function: machines write long ones
_PRODUCTS: Final = frozenset({"dot", "matmul"})


@dataclass(frozen=True)
class _ClaimedAxes:
    """The axes that claims give to expressions and to variables, by where they stand, and to results."""

    values: dict[tuple[int, int], Sequence[str]]
    variables: Mapping[tuple[str, int, int], Sequence[str]]
    returned: Mapping[int, Sequence[str]]  # by scope
    parameters: Mapping[tuple[int, str], Sequence[str]]


@dataclass
class _LocalFunction:
    """The parameters of a function inside of the one that is read, and what it gives, part by part."""

    parameters: Sequence[UnifiedValue]
    results: Sequence[UnifiedValue] = ()


def inferred_parameters(tables: Tables, claims: Sequence[Claim], sites: Sequence[Site]) -> Iterator[InferredParameter]:
    """The parameters of all functions with claims, as far as these say what they are."""
    by_scope: dict[int, list[tuple[Claim, Site]]] = {}
    for claim in claims:
        if len(claim.sites) == 1 and not (claim.select or claim.readings or claim.loose or claim.group is not None):
            site = sites[claim.sites[0]]
            by_scope.setdefault(_outermost_function(tables, site.scope), []).append((claim, site))
    for scope, found in by_scope.items():
        node = tables.nodes[scope]
        if isinstance(node, Function):
            with contextlib.suppress(RecursionError):  # a sum of a thousand terms
                reader = _FunctionReader(node, scope, tables, _claimed_axes(found))
                yield from [InferredParameter(scope, *each) for each in reader.specs()]


def _outermost_function(tables: Tables, scope: int) -> int:
    """The function that a scope stands in, through those inside of it; a scope itself if that is no function."""
    while (parent := tables.scopes[scope].parent) is not None and isinstance(tables.nodes[parent], Function):
        scope = parent
    return scope


def _claimed_axes(claims: Sequence[tuple[Claim, Site]]) -> _ClaimedAxes:
    values: dict[tuple[int, int], Sequence[str]] = {}
    variables: dict[tuple[str, int, int], Sequence[str]] = {}
    returned: dict[int, Sequence[str]] = {}
    parameters: dict[tuple[int, str], Sequence[str]] = {}
    for claim, site in claims:
        dims = parse_spec(claim.spec).dims
        if any(map(is_variadic, dims)):
            continue
        texts = ["" if isinstance(dim, AnyDim) else str(dim) for dim in dims]
        if site.kind == "return":
            returned[site.scope] = texts
        elif site.kind == "param":
            parameters[site.scope, site.name] = texts
        elif site.kind == "value" and site.position is not None:
            values[site.position.line, site.position.column] = texts
        elif site.kind == "name" and site.position is not None and site.when != "before":
            variables[site.name, site.position.line, site.position.column] = texts
    return _ClaimedAxes(values, variables, returned, parameters)


class _FunctionReader:
    """Reads one function, statement by statement."""

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: int, tables: Tables, claimed: _ClaimedAxes
    ) -> None:
        self._node, self._scope, self._tables, self._claimed = node, scope, tables, claimed
        self._functions: dict[str, _LocalFunction] = {}
        self._left = _MOST_LOOKS
        self._results: list[UnifiedValue] = []  # of the function that is read
        self._axes_by_text = AxesByText()
        self._parts = ParameterParts(node)
        arguments = node.args
        own = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._taken: dict[str, UnifiedValue] = {
            each.arg: UnifiedValue(of_parameters=True) for each in own
        }  # parameters, and parts of them
        for name, value in self._taken.items():
            said = claimed.parameters.get((scope, name))
            value.axes = self._axes_by_text.shape(said) if said is not None else None
        self._variables: dict[str, UnifiedValue] = dict(self._taken)
        self._guessed: dict[str, UnifiedShape] = {}  # parameters that may be numbers as well

    def specs(self) -> Iterator[tuple[str, str, bool]]:
        """The specs of what is known, by the texts of parameters and parts, and whether each is a guess."""
        self._block(self._node.body)
        made = Counter[str]()
        texts: dict[UnifiedAxis, str] = {}
        for name, value in self._taken.items():
            if value.is_loose and value.contradicted:
                self._guessed[name] = []  # a number
                value.axes = None
        known = [(name, value.axes, False) for name, value in self._taken.items() if value.axes]
        known += [(name, axes, True) for name, axes in self._guessed.items() if self._taken[name].axes is None]
        for name, axes, is_guess in known:
            for axis in (each.root() for each in axes):
                if axis not in texts and not axis.text:
                    made[name] += 1
                texts.setdefault(axis, axis.text or f"{_stem(name)}_{made[name]}")
            yield name, " ".join(texts[axis.root()] for axis in axes), is_guess

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, Function):
            self._local_function(statement)
            return
        if isinstance(statement, ast.ClassDef):
            return
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value, statement)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value, statement)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            operation = ast.BinOp(ast.Name(statement.target.id, ast.Load()), statement.op, statement.value)
            self._assign(statement.target, ast.copy_location(operation, statement.value), statement)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self._return(statement.value)
        elif isinstance(statement, ast.Expr):
            self._find(statement.value)
        for name in ("body", "orelse", "finalbody"):
            self._block(getattr(statement, name, ()))

    def _local_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Read a function inside of this one, where it stands: it uses the variables around it."""
        around = self._variables, self._scope, self._results
        own = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        found = _LocalFunction([UnifiedValue(of_parameters=True) for _ in own])
        self._scope = self._tables.scope_of.get((node.lineno, node.col_offset), self._scope)
        self._variables, self._results = {**self._variables, **dict(zip(own, found.parameters, strict=True))}, []
        self._block(node.body)
        found.results = self._results
        self._variables, self._scope, self._results = around
        self._functions[node.name] = found

    def _return(self, value: ast.expr) -> None:
        if isinstance(value, ast.Tuple):
            self._results = [self._find(each) for each in value.elts]
        else:
            self._results = [self._find(value, self._shape(self._claimed.returned.get(self._scope)))]

    def _assign(self, target: ast.expr, value: ast.expr, statement: ast.stmt) -> None:
        if isinstance(target, ast.Tuple):
            self._unpack(target, value, statement)
            return
        name = ".".join(name_chain(target) or ())
        claimed = self._claimed.variables.get((name, statement.lineno, statement.col_offset))
        found = self._find(value, self._shape(claimed))
        if isinstance(target, ast.Name):
            self._variables[target.id] = found

    def _unpack(self, target: ast.Tuple, value: ast.expr, statement: ast.stmt) -> None:
        names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
        if isinstance(value, ast.Attribute) and value.attr == "shape" and all(names):
            self._find(value.value, self._axes_by_text.shape([name.strip("_") and name for name in names]))
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._assign(one, other, statement)
        else:
            part = self._parts.part(value)
            parts = self._several(value) if part is None else ()
            for number, name in enumerate(names):
                if part is not None and not part.mapped:  # `h, c = carry`
                    taken = self._taken.setdefault(str(part.inner(number)), UnifiedValue(of_parameters=True))
                    self._variables[name] = taken
                else:
                    self._variables[name] = parts[number] if number < len(parts) else UnifiedValue()

    def _several(self, value: ast.expr) -> Sequence[UnifiedValue]:
        """The results of a call that gives several: of a scan the last carry, and what each turn gives."""
        if not isinstance(value, ast.Call):
            return ()
        name, _, arguments = self._call(value)
        if name != "scan" or len(arguments) < 3 or not isinstance(arguments[0], ast.Name):
            self._find(value)
            return ()
        function = self._functions.get(arguments[0].id)
        if function is None or len(function.parameters) != 2 or len(function.results) != 2:
            return ()
        carry, item = function.parameters
        time = UnifiedAxis()
        carry.take(function.results[0].axes)
        carry.take(self._find(arguments[1], carry.axes).axes)
        rows = self._find(arguments[2], None if item.axes is None else [time, *item.axes]).axes
        time = rows[0] if rows else time
        given = function.results[1].axes
        return carry, UnifiedValue(None if given is None else [time, *given])

    def _shape(self, texts: Sequence[str] | None) -> UnifiedShape | None:
        return None if texts is None else self._axes_by_text.shape(texts)

    def _find(self, node: ast.expr, wanted: UnifiedShape | None = None) -> UnifiedValue:
        """What is known of an expression, which has the axes that are `wanted`, as far as these are known."""
        self._left -= 1
        if self._left < 0:
            return UnifiedValue()
        # The whole of `a @ b @ c` begins where its first part does, and comes first.
        claimed = self._claimed.values.pop((node.lineno, node.col_offset), None) if hasattr(node, "lineno") else None
        if wanted is None and claimed is not None and not isinstance(node, ast.Name):
            wanted = self._axes_by_text.shape(claimed)
        found = self._variable(node)
        if found is None:
            found = self._find_computed(node, wanted)
        found.take(wanted)
        return found

    def _variable(self, node: ast.expr) -> UnifiedValue | None:
        """The value of a variable, or of a part of a parameter."""
        if isinstance(node, ast.Name):
            return self._variables.get(node.id, UnifiedValue())
        part = self._parts.part(node) if isinstance(node, (ast.Subscript, ast.Call)) else None
        if part is not None and part.keys and all(isinstance(key, str) for key in part.keys):
            return self._taken.setdefault(str(part), UnifiedValue(of_parameters=True))
        return None

    def _find_computed(self, node: ast.expr, wanted: UnifiedShape | None) -> UnifiedValue:
        if isinstance(node, ast.Constant):
            return UnifiedValue([]) if isinstance(node.value, (int, float, complex)) else UnifiedValue()
        if isinstance(node, ast.UnaryOp):
            return self._find(node.operand, wanted)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.MatMult):
                return self._product(node.left, node.right, wanted)
            return self._elementwise([node.left, node.right], wanted)
        if isinstance(node, ast.Attribute) and node.attr in ("inf", "nan", "pi", "e"):
            return UnifiedValue([])
        if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            return self._transpose(node, wanted)
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Name):
                return self._gather(node, node.slice, wanted)
            return self._index(node, wanted)
        if isinstance(node, ast.Call):
            return self._function(node, wanted)
        return UnifiedValue()

    def _transpose(self, node: ast.Attribute, wanted: UnifiedShape | None) -> UnifiedValue:
        if node.attr == "mT":
            inner = [*wanted[:-2], wanted[-1], wanted[-2]] if wanted is not None and len(wanted) > 1 else None
            found = self._find(node.value, inner).axes
            return UnifiedValue([*found[:-2], found[-1], found[-2]] if found is not None and len(found) > 1 else None)
        found = self._find(node.value, wanted[::-1] if wanted is not None else None).axes
        return UnifiedValue(found[::-1] if found is not None else None)

    def _product(self, left: ast.expr, right: ast.expr, wanted: UnifiedShape | None) -> UnifiedValue:
        one, other = self._find(left), self._find(right)
        if wanted is not None:
            self._guess_factors(left, right, one, other, len(wanted))
            one, other = self._find(left, one.axes), self._find(right, other.axes)
        if not one.axes or not other.axes:
            return UnifiedValue(is_product=True)
        inner = other.axes[-2] if len(other.axes) > 1 else other.axes[-1]
        one.axes[-1].unify(inner)
        front = one.axes[:-1] if len(one.axes) >= len(other.axes) else [*other.axes[:-2], *one.axes[:-1][-1:]]
        return UnifiedValue([*front, *other.axes[-1:]] if len(other.axes) > 1 else front, is_product=True)

    def _guess_factors(
        self, left: ast.expr, right: ast.expr, one: UnifiedValue, other: UnifiedValue, axes: int
    ) -> None:
        """How many axes two factors have whose product has so many."""
        if one.axes is None and other.axes is None:
            if axes == 1:  # a matrix by a vector, or the other way round
                is_matrix = _is_matrix(left) or not _is_matrix(right)
                one.axes, other.axes = new_axes(2 if is_matrix else 1), new_axes(1 if is_matrix else 2)
            else:
                one.axes, other.axes = new_axes(max(axes, 1)), new_axes(min(axes, 2) or 1)
        elif one.axes is None and other.axes:
            one.axes = new_axes(axes + 1 if len(other.axes) == 1 else axes)
        elif other.axes is None and one.axes:
            other.axes = new_axes(1 if axes < len(one.axes) else 2)

    def _elementwise(self, nodes: Sequence[ast.expr], wanted: UnifiedShape | None) -> UnifiedValue:
        """What is computed element by element.

        Both of `y - mu` are arrays if nothing else is there to be one. The `scale` of `scale * x.sum()` may be none.
        """
        values = [self._find(node) for node in nodes]
        of_parameters = all(value.of_parameters or value.axes == [] for value in values)
        is_product = any(each.is_product for each in values)
        if wanted is not None:
            unknown = [value for value in values if value.axes is None and not value.of_parameters]
            names = [{each.id for each in ast.walk(node) if isinstance(each, ast.Name)} for node in nodes]
            alone = [own for own, value in zip(names, values, strict=True) if value.of_parameters]
            if len(names) == 2 and alone and not names[0].isdisjoint(names[1]):
                unknown = []  # in `x - x.mean(1)` either may have all axes
            for node, value in zip(nodes, values, strict=True):
                if value.axes is not None:
                    value.contradicted |= not broadcast(value.axes, wanted)
                elif value.is_product or of_parameters or _has_new_axis(node) or unknown == [value]:
                    self._find(node, wanted)
                    value.is_loose = of_parameters
                elif value.of_parameters:
                    self._guess(node, wanted[-1:] if is_product and not _is_matrix(node) else wanted)
            return UnifiedValue(list(wanted), is_product=is_product)
        known = [each.axes for each in values if each.axes is not None]
        longest = max(known, key=len, default=None)
        for node, value in zip(nodes, values, strict=True):
            if longest is not None and value.axes is not None:
                broadcast(value.axes, longest)
            elif longest and value.of_parameters:
                self._guess(node, longest)
        both = list(longest) if longest is not None and len(known) == len(values) else None
        return UnifiedValue(both, of_parameters=of_parameters and both is None, is_product=is_product)

    def _guess(self, node: ast.expr, axes: UnifiedShape) -> None:
        """What is the only parameter here, beside what is an array already, may have these axes, or be a number.

        Beside an axis of one, as in `mass[:, None] * x`, it has one of any size.
        """
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        alone = [name for name in names if name in self._taken and self._variables.get(name) is self._taken[name]]
        has_parts = any(text.startswith((f"{name}[", f"{name}(")) for name in alone for text in self._taken)
        if len(alone) == 1 and not has_parts and self._taken[alone[0]].axes is None:
            self._guessed.setdefault(alone[0], [UnifiedAxis() if each.root().text == "1" else each for each in axes])

    def _index(self, node: ast.Subscript, wanted: UnifiedShape | None) -> UnifiedValue:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) == 2 and isinstance(parts[0], ast.Constant) and parts[0].value is Ellipsis:
            return self._index_last(node, _index_kind(parts[1]), wanted)
        kinds = [_index_kind(part) for part in parts]
        if "other" in kinds:
            return UnifiedValue()
        named = sum(kind != "new" for kind in kinds)
        value = self._find(node.value)
        if value.axes is None and wanted is not None:
            rest = len(wanted) - sum(kind != "one" for kind in kinds)
            value.take(self._find(node.value, new_axes(named + rest)).axes if rest >= 0 else None)
        if value.axes is None or len(value.axes) < named:
            return UnifiedValue()
        left = list(value.axes)
        found: UnifiedShape = []
        for kind in kinds:
            if kind == "new":
                found.append(UnifiedAxis("1"))
                continue
            axis = left.pop(0)
            if kind != "one":
                found.append(axis if kind == "all" else UnifiedAxis())
        return UnifiedValue([*found, *left])

    def _index_last(self, node: ast.Subscript, kind: str, wanted: UnifiedShape | None) -> UnifiedValue:
        """`x[..., 0]`, `x[..., :3]`, `x[..., None]`."""
        inner: UnifiedShape | None = None
        if wanted is not None and kind != "other":
            inner = list(wanted[:-1] if kind in ("some", "new") else wanted)
            inner += [UnifiedAxis()] if kind in ("some", "one") else []
        found = self._find(node.value, inner).axes
        if found is None or kind == "other" or (kind != "new" and not found):
            return UnifiedValue()
        ends: Mapping[str, UnifiedShape] = {"new": [*found, UnifiedAxis("1")], "one": found[:-1], "all": found}
        return UnifiedValue(ends.get(kind, [*found[:-1], UnifiedAxis()]))

    def _gather(self, node: ast.Subscript, index: ast.Name, wanted: UnifiedShape | None) -> UnifiedValue:
        """`nodes[senders]`: how many axes the one has follows from those of the other; else it is a guess."""
        rows, array = self._variable(index), self._find(node.value)
        if rows is None or not rows.of_parameters or rows.axes == []:
            return UnifiedValue()
        if wanted is not None and array.axes and rows.axes is None and len(wanted) >= len(array.axes):
            self._find(index, wanted[: len(wanted) - len(array.axes) + 1])
        elif wanted is not None and array.axes is None and rows.axes and len(wanted) >= len(rows.axes):
            array.take(self._find(node.value, [UnifiedAxis(), *wanted[len(rows.axes) :]]).axes)
        elif wanted and array.axes is None and rows.axes is None:
            self._guess(index, wanted[:1])
            self._guess(node.value, [UnifiedAxis(), *wanted[1:]])
            return UnifiedValue(list(wanted))
        if not array.axes or rows.axes is None:
            return UnifiedValue()
        return UnifiedValue([*rows.axes, *array.axes[1:]])

    def _function(self, node: ast.Call, wanted: UnifiedShape | None) -> UnifiedValue:
        name, receiver, arguments = self._call(node)
        operands = [*([receiver] if receiver is not None else []), *arguments]
        if name in _ELEMENTWISE and operands:
            return self._find(operands[0], wanted)
        if name in _BINARY and len(operands) == 2:
            return self._elementwise(operands, wanted)
        if name == "where" and len(operands) == 3:
            return self._elementwise(operands[1:], wanted)
        if name in _PRODUCTS and len(operands) == 2:
            return self._product(operands[0], operands[1], wanted)
        if name in _REDUCING and operands:
            return self._reduce(node, operands, wanted)
        if name == "transpose" and operands:
            return self._permute(operands, wanted)
        if name == "outer" and len(operands) == 2:
            ends = ([wanted[0]], [wanted[1]]) if wanted is not None and len(wanted) == 2 else (new_axes(1), new_axes(1))
            both = [self._find(each, axes).axes for each, axes in zip(operands, ends, strict=True)]
            return UnifiedValue([axis for each in both for axis in each or ()])
        if isinstance(node.func, ast.Name) and (function := self._functions.get(name)) is not None:
            return self._call_local(function, arguments)
        if name == "solve" and len(operands) == 2:
            return self._solve(operands[0], operands[1], wanted)
        if name.startswith("segment_") and len(operands) > 1:
            return self._segments(operands, wanted)
        if isinstance(node.func, ast.Call) and (mapped := self._vmap(node, wanted)) is not None:
            return mapped
        if name == "einsum" and len(operands) > 1:
            return self._einsum(operands, wanted)
        for each in operands:
            self._find(each)
        return UnifiedValue()

    def _call_local(self, function: _LocalFunction, arguments: Sequence[ast.expr]) -> UnifiedValue:
        """A call of a function inside of this one, which may be called with other sizes each time."""
        fresh: dict[UnifiedAxis, UnifiedAxis] = {}

        def renew(axes: UnifiedShape) -> UnifiedShape:
            return [fresh.setdefault(axis.root(), UnifiedAxis()) for axis in axes]

        for value, argument in zip(function.parameters, arguments, strict=False):
            found = self._find(argument, None if value.axes is None else renew(value.axes))
            if value.axes is not None and found.axes is not None and len(found.axes) == len(value.axes):
                fresh.update((axis.root(), own) for axis, own in zip(value.axes, found.axes, strict=True))
        if len(function.results) != 1 or function.results[0].axes is None:
            return UnifiedValue()
        return UnifiedValue(renew(function.results[0].axes))

    def _solve(self, matrix: ast.expr, right: ast.expr, wanted: UnifiedShape | None) -> UnifiedValue:
        found = self._find(right, wanted)
        side = [found.axes[0], found.axes[0]] if found.axes else new_axes(2)
        square = self._find(matrix, side).axes
        if square is not None and len(square) == 2:
            square[0].unify(square[1])
        return UnifiedValue(found.axes)

    def _segments(self, operands: Sequence[ast.expr], wanted: UnifiedShape | None) -> UnifiedValue:
        data = self._find(operands[0], [UnifiedAxis(), *wanted[1:]] if wanted else None)
        if not data.axes:
            return UnifiedValue()
        self._find(operands[1], data.axes[:1])
        return UnifiedValue([UnifiedAxis(), *data.axes[1:]])

    def _vmap(self, node: ast.Call, wanted: UnifiedShape | None) -> UnifiedValue | None:
        """`jax.vmap(f)(x)` of a function inside of this one: each argument has an axis more, and so has the result."""
        outer, _, given = self._call(node.func) if isinstance(node.func, ast.Call) else ("", None, [])
        if outer not in ("vmap", "filter_vmap") or len(given) != 1 or not isinstance(given[0], ast.Name):
            return None
        function = self._functions.get(given[0].id)
        if function is None or (isinstance(node.func, ast.Call) and node.func.keywords):
            return None
        front = wanted[0] if wanted else UnifiedAxis()
        for value, argument in zip(function.parameters, node.args, strict=False):
            self._find(argument, None if value.axes is None else [front, *value.axes])
        results = [each.axes for each in function.results]
        if len(results) != 1 or results[0] is None:
            return UnifiedValue()
        return UnifiedValue([front, *results[0]])

    @staticmethod
    def _call(node: ast.Call) -> tuple[str, ast.expr | None, list[ast.expr]]:
        """The name of what is called, the array whose method it is, if it is one, and the arguments."""
        function = node.func
        if isinstance(function, ast.Name):
            return function.id, None, node.args
        if not isinstance(function, ast.Attribute):
            return "", None, node.args
        chain = name_chain(function.value)
        is_module = chain is not None and chain[0] in ("jnp", "jax", "np", "numpy", "nn", "lax", "jsp", "scipy")
        return function.attr, None if is_module else function.value, node.args

    def _reduce(self, node: ast.Call, operands: Sequence[ast.expr], wanted: UnifiedShape | None) -> UnifiedValue:
        axis, keeps = None, False
        for each in node.keywords:
            if each.arg == "axis":
                axis = each.value
            keeps |= each.arg == "keepdims" and isinstance(each.value, ast.Constant) and each.value.value is True
        axis = operands[1] if axis is None and len(operands) > 1 else axis
        numbers = _integers(axis)
        if axis is None:
            self._find(operands[0])
            return UnifiedValue([])
        if numbers is None:
            self._find(operands[0])
            return UnifiedValue()
        inner: UnifiedShape | None = None
        if wanted is not None:
            rank = len(wanted) if keeps else len(wanted) + len(numbers)
            places = {number % rank for number in numbers} if rank else set()
            given = iter(wanted)
            inner = []
            for place in range(rank):
                if place not in places:
                    inner.append(next(given))
                else:
                    inner.append(UnifiedAxis())
                    _ = next(given) if keeps else None
        found = self._find(operands[0], inner).axes
        if found is None or any(not -len(found) <= number < len(found) for number in numbers):
            return UnifiedValue()
        places = {number % len(found) for number in numbers}
        if keeps:
            return UnifiedValue([UnifiedAxis("1") if place in places else axis for place, axis in enumerate(found)])
        return UnifiedValue([axis for place, axis in enumerate(found) if place not in places])

    def _permute(self, operands: Sequence[ast.expr], wanted: UnifiedShape | None) -> UnifiedValue:
        order = _integers(ast.Tuple(list(operands[1:]), ast.Load())) if len(operands) > 2 else None
        order = _integers(operands[1]) if len(operands) == 2 else order
        if len(operands) == 1:
            found = self._find(operands[0], wanted[::-1] if wanted is not None else None).axes
            return UnifiedValue(found[::-1] if found is not None else None)
        if order is None or sorted(order) != list(range(len(order))):
            self._find(operands[0])
            return UnifiedValue()
        inner: UnifiedShape = new_axes(len(order))
        if wanted is not None and len(wanted) == len(order):
            for place, axis in zip(order, wanted, strict=True):
                inner[place] = axis
        found = self._find(operands[0], inner).axes
        return UnifiedValue(
            [found[place] for place in order] if found is not None and len(found) == len(order) else None
        )

    def _einsum(self, operands: Sequence[ast.expr], wanted: UnifiedShape | None) -> UnifiedValue:
        pattern = operands[0]
        text = (
            pattern.value.replace(" ", "")
            if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)
            else ""
        )
        inputs, arrow, output = text.partition("->")
        letters = inputs.split(",")
        if not arrow or "." in text or len(letters) != len(operands) - 1:
            return UnifiedValue()
        axes: dict[str, UnifiedAxis] = {}
        for one, node in zip(letters, operands[1:], strict=True):
            self._find(node, [axes.setdefault(letter, UnifiedAxis()) for letter in one])
        found = [axes.setdefault(letter, UnifiedAxis()) for letter in output]
        if wanted is not None and len(wanted) == len(found):
            unify(zip(found, wanted, strict=True))
        return UnifiedValue(found)


def _has_new_axis(node: ast.expr) -> bool:
    """Whether it is `x[:, None]`, which has as many axes as what it meets, as a rule."""
    parts = node.slice if isinstance(node, ast.Subscript) else None
    return any(_index_kind(each) == "new" for each in (parts.elts if isinstance(parts, ast.Tuple) else [parts]) if each)


def _index_kind(part: ast.expr) -> str:
    """ "all" of an axis, "some" of it, "one" element, a "new" axis, or something "other"."""
    if isinstance(part, ast.Slice):
        return "all" if part.lower is None and part.upper is None and part.step is None else "some"
    if isinstance(part, ast.Constant):
        return "new" if part.value is None else "one" if type(part.value) is int else "other"
    if isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.Constant):
        return "one"
    return "new" if isinstance(part, ast.Attribute) and part.attr == "newaxis" else "other"


def _integers(node: ast.expr | None) -> list[int] | None:
    """The numbers that an axis argument has, written out."""
    try:
        value: object = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    if type(value) is int:
        return [value]
    is_list = isinstance(value, (tuple, list)) and all(type(each) is int for each in value)
    return list(value) if is_list and isinstance(value, (tuple, list)) else None


def _is_matrix(node: ast.expr) -> bool:
    """Whether the name of a factor is that of a matrix: a capital, or weights."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return True
    name = node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return isinstance(node.slice.value, str)  # params["w"]
    return name[:1].isupper() or name.lower().startswith(("w", "mat", "kernel", "adj"))


def _stem(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name).strip("_") or "axis"
