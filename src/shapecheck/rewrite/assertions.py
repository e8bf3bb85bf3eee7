"""Comments and docstrings as assertions: of values that turn out to be arrays, since they may be something else."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from shapecheck.claims.annotation_names import Names
from shapecheck.claims.axis_words import words
from shapecheck.model import Claim
from shapecheck.rewrite.claim_targets import ClaimTarget
from shapecheck.rewrite.insertion import Insertion, NoPlaceError
from shapecheck.rewrite.jaxtyping_checks import AHEAD, OUTSIDE, JaxtypingChecks
from shapecheck.rewrite.rewrite_plan import FilePlan, RewriteOutcome
from shapecheck.rewrite.shape_strings import ShapeString, UnclearError
from shapecheck.rewrite.signature_checks import never_checked
from shapecheck.shapes import parse_spec
from shapecheck.syntax.scopes import Function, dotted_name, last_name

_FUNCTIONS = {
    "jax.numpy": words(
        """
        abs absolute add all any arange argmax argmin argsort array asarray broadcast_to clip concatenate convolve cos
        cosh cross cumprod cumsum diag diff divide dot einsum exp expand_dims expm1 eye full full_like hstack identity
        inner isfinite isnan kron linspace log log1p logaddexp matmul max maximum mean median min minimum moveaxis
        multiply ones ones_like outer pad power prod ravel reciprocal repeat reshape roll sign sin sinh sort sqrt
        square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose
        tril triu var vdot vecdot vstack zeros zeros_like
        """
    ),
    "jax.nn": words("elu gelu leaky_relu log_sigmoid log_softmax one_hot relu sigmoid silu softmax softplus swish"),
    "jax.random": words("bernoulli categorical choice normal permutation randint truncated_normal uniform"),
}


def is_array(value: ast.expr, names: Names) -> bool:
    """Whether an expression is a call of one of JAX's functions that always return one array."""
    if not isinstance(value, ast.Call):
        return False
    first, _, rest = (dotted_name(value.func) or "").partition(".")
    if first not in names.imported:
        return False
    origin = ".".join(part for part in (*names.imported[first], rest) if part)
    module, _, function = origin.rpartition(".")
    if function == "where":
        return module == "jax.numpy" and len(value.args) == 3  # of one argument it gives a tuple
    return function in _FUNCTIONS.get(module, ())


# With 64 bits switched off JAX narrows the dtype, and that is not the comment's fault.
_EITHER_WIDTH = {"Float64": "Float", "Int64": "Int", "UInt64": "UInt", "Complex128": "Complex"}
_MAKES_SEVERAL = frozenset(["split", "array_split", "unstack", "meshgrid", "hsplit", "vsplit", "dsplit"])


class AssertionRewrite:
    """Writes the comments and docstrings of one file as code."""

    def __init__(self, file: FilePlan, contracts: JaxtypingChecks, outcome: RewriteOutcome) -> None:
        self.file = file
        self.contracts = contracts
        self.outcome = outcome
        comment_claims = [claim for claim in file.module.claims if claim.notation in ("comment", "docstring")]
        self.count = Counter(claim.scope for claim in comment_claims)
        self.comment_claims = comment_claims

    def run(self) -> None:
        """All comments and docstrings of the file."""
        done: set[int] = set()
        for claim in self.comment_claims:
            if claim.group is not None and claim.group in done:
                continue
            members = [claim]
            if claim.group is not None:
                done.add(claim.group)
                members = [other for other in self.comment_claims if other.group == claim.group]
            try:
                self._claims(members)
            except (NoPlaceError, UnclearError) as error:
                self.outcome.leave(members, str(error))

    def _claims(self, members: Sequence[Claim]) -> None:
        claim = members[0]
        if not all(each.sure for each in members):
            raise UnclearError("it is tentative: perhaps it is no shape")
        if any(each.readings for each in members):
            raise UnclearError("it may mean several shapes")
        if any(each.select for each in members):
            raise UnclearError("it describes a part of a value")
        target = self.file.targets.of(claim)
        function = target.function
        if not isinstance(function, Function):
            raise NoPlaceError(OUTSIDE)
        if any(each.sites != claim.sites for each in members):
            raise UnclearError("its alternatives are about different values")
        shapes = [self._shape(each, target, function) for each in members]
        if len(shapes) > 1 and len({_rank(shape) for shape in shapes} - {None}) < len(shapes):
            raise UnclearError("jaxtyping would take the first of its alternatives that fits, meant or not")
        names = list(self._elements(claim, target))
        if reason := never_checked(function):
            raise NoPlaceError(reason)
        kinds = [self._kind(each, shape) for each, shape in zip(members, shapes, strict=True)]
        kind = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
        rank = AHEAD if isinstance(target.statement, ast.Return) else 0
        statement = target.statement
        plain = isinstance(statement, ast.Assign) and target.name and is_array(statement.value, self.file.names)
        unless = "" if plain else f"not isinstance({{}}, {self.file.needs.typing_name('Array')}) or "
        texts = [f"assert {unless.format(name)}isinstance({name}, {kind})" for name in names]
        self.contracts.insert(function, [Insertion(target.spot, text, rank) for text in texts])
        self.outcome.checked += len(members)
        self.outcome.partly += len(members) if any(shape.partly for shape in shapes) else 0

    def _shape(self, claim: Claim, target: ClaimTarget, function: Function) -> ShapeString:
        signature = self.contracts.checked[id(function)]
        entering = target.statement is function
        inside = function.body[0] if entering else target.statement
        spec = parse_spec(claim.spec)
        return self.file.dims.shape(spec, signature, inside, self.count[claim.scope], entering=entering)

    def _kind(self, claim: Claim, shape: ShapeString) -> str:
        dtype = self.file.needs.typing_name(_EITHER_WIDTH.get(claim.dtype, claim.dtype) or "Shaped")
        return f"{dtype}[{self.file.needs.typing_name('Array')}, {shape.literal}]"

    def _elements(self, claim: Claim, target: ClaimTarget) -> Iterator[str]:
        """The variables that a claim describes: one, or each of those that a tuple of arrays is unpacked into."""
        statement = target.statement
        into = statement.targets[-1] if isinstance(statement, ast.Assign) else None
        if not claim.each and target.name:
            yield target.name
        elif isinstance(statement, ast.Assign) and isinstance(into, ast.Tuple) and _is_several(statement.value):
            for element in into.elts:
                if not isinstance(element, ast.Name):
                    raise UnclearError("it describes several values, of which not all have names")
                yield element.id
        else:
            raise UnclearError("it may describe a value or each element of it")


def _rank(shape: ShapeString) -> int | None:
    """The number of axes, where it is fixed."""
    axes = shape.text.split(" ")
    return None if any(axis.startswith(("...", "*")) for axis in axes) else len(axes)


def _is_several(value: ast.expr) -> bool:
    """Whether an expression plainly gives several values, and not one array that is unpacked."""
    if isinstance(value, ast.Call):
        return last_name(value.func) in _MAKES_SEVERAL
    return isinstance(value, ast.Tuple | ast.List | ast.GeneratorExp | ast.ListComp)
