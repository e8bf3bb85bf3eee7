"""What operations of JAX cost, an estimate from the shapes alone; and what each stage of an evaluation costs.

The rules are those of XLA's own cost analysis
(https://github.com/openxla/xla/blob/main/xla/service/hlo_cost_analysis.cc): a multiply-add counts two, what works
element by element counts one for each element of its result, whatever its dtype. Otherwise than there `exp` and its
kin, which XLA tells apart as "transcendentals", count one too; conversions of dtypes nothing; and kernels that reach
into the padding all that they reach, as PyTorch's counters have it. Data that only moves and random bits cost nothing,
nor does what is not known here: kernels of others' making, callbacks, communication.

Every stage runs in a named scope with its number, and JAX notes with each equation in which scopes it came about. It
notes so of the equations of derivatives too: `transpose(jvp(...))` stands around the scope of what they derive from.
The equations of a jaxpr inside of another, a loop's body or a jitted function, know only the scopes inside of it (in
JAX 0.5 to 0.12, but for what its flag `jax_remat3` traces), and belong to the stages of the outer equation besides.
`eqn.source_info` is JAX's own: where it is not there, all counts for the whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
from jax import export

from shapecheck.evaluate.jax_internals import operation_of

if TYPE_CHECKING:
    from jax.extend.core import JaxprEqn, Literal, Var


Flops = Any
"""A number of operations: an integer, or a symbolic dim's kin where free sizes enter."""


def operations(equation: JaxprEqn) -> Flops:
    """What an equation costs, but for the jaxprs inside of it."""
    count = _COUNTED.get(equation.primitive.name)
    return count(equation) if count is not None else 0


def dearer(one: Flops, other: Flops) -> Flops:
    """The greater of two numbers; where they cannot be compared the text has `max(one, other)`."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return jax.core.max_dim(one, other)


def is_counted(name: str) -> bool:
    """Whether a primitive has a rule of its own."""
    return name in _COUNTED


def _shape(variable: Var | Literal) -> tuple[Flops, ...]:
    return tuple(getattr(variable.aval, "shape", ()))


def _input(equation: JaxprEqn) -> Flops:
    """One for each element that goes in."""
    return math.prod(_shape(equation.invars[0]))


def _output(equation: JaxprEqn) -> Flops:
    """One for each element that comes out."""
    return math.prod(_shape(equation.outvars[0]))


def _reduction_flops(equation: JaxprEqn) -> Flops:
    """Of n elements that become one, n - 1."""
    return _input(equation) - _output(equation)


def _dot(equation: JaxprEqn) -> Flops:
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = _shape(equation.invars[0])
    return 2 * _output(equation) * math.prod(left[axis] for axis in contracted)


def _ragged_dot(equation: JaxprEqn) -> Flops:
    """Each row meets the matrix of its group only."""
    right = _shape(equation.invars[1])
    numbers = equation.params.get("ragged_dot_dimension_numbers")
    bound: set[int] = set(range(len(right) - 1))  # before JAX 0.6 there was one form
    if numbers is not None:
        (_, contracted), (_, batch) = numbers.dot_dimension_numbers
        bound = {*contracted, *batch, *numbers.rhs_group_dimensions}
    return 2 * _input(equation) * math.prod(size for axis, size in enumerate(right) if axis not in bound)


def _convolution(equation: JaxprEqn) -> Flops:
    """Each element of the result takes a kernel over the features of its group; the zeros of a dilation are none.

    So the derivative of a strided convolution costs what the convolution does.
    """
    _, features, *space = equation.params["dimension_numbers"].rhs_spec
    kernel = _shape(equation.invars[1])
    each = kernel[features] * math.prod(kernel[axis] for axis in space)
    return 2 * _output(equation) * each // math.prod(equation.params["lhs_dilation"])


def _window(equation: JaxprEqn) -> Flops:
    return _output(equation) * math.prod(equation.params["window_dimensions"])


def _window_back(equation: JaxprEqn) -> Flops:
    """The derivative of a maximum looks for it again, in the window of each element that comes back."""
    return _input(equation) * math.prod(equation.params["window_dimensions"])


def _updates(equation: JaxprEqn) -> Flops:
    return math.prod(_shape(equation.invars[2]))


def _fft(equation: JaxprEqn) -> Flops:
    """5 n log2(n), half of it for real numbers (http://www.fftw.org/speed/method.html)."""
    lengths = tuple(equation.params["fft_lengths"])
    kind = str(equation.params["fft_type"]).upper()
    is_complex = kind.rpartition(".")[2] in ("FFT", "IFFT", "0", "1")
    rows = math.prod(_shape(equation.invars[0])[: -len(lengths)])
    return rows * _n_log_n(math.prod(lengths), 5) // (1 if is_complex else 2)


def _sort(equation: JaxprEqn) -> Flops:
    shape = _shape(equation.invars[0])
    length = shape[equation.params["dimension"]]
    return math.prod(shape[: equation.params["dimension"]]) * (
        _n_log_n(length, 1) * math.prod(shape[equation.params["dimension"] + 1 :])
    )


def _top_k(equation: JaxprEqn) -> Flops:
    k = equation.params["k"]
    return _input(equation) * (max(1, math.ceil(math.log2(k))) if isinstance(k, int) and k > 0 else 1)


def _n_log_n(n: Flops, factor: int) -> Flops:
    """A symbolic `n` has a logarithm with a name: `log2_seq`."""
    if not export.is_symbolic_dim(n):
        return round(factor * n * math.log2(n)) if n > 0 else 0
    name = re.sub(r"\W+", "_", f"log2_{n}").rstrip("_")
    (logarithm,) = export.symbolic_shape(name, scope=n.scope)
    return factor * n * logarithm


# Golub and Van Loan, Matrix Computations: flops for an m x n matrix, m >= n.
_FACTORED: Mapping[str, Callable[[Flops, Flops], Flops]] = {
    "cholesky": lambda m, n: n**3 // 3,
    "lu": lambda m, n: n * n * (3 * m - n) // 3,
    "qr": lambda m, n: 4 * n * n * (3 * m - n) // 3,  # with its Q
    "geqrf": lambda m, n: 2 * n * n * (3 * m - n) // 3,
    "householder_product": lambda m, n: 2 * n * n * (3 * m - n) // 3,
    "svd": lambda m, n: 14 * m * n * n + 8 * n**3,
    "eigh": lambda m, n: 9 * n**3,
    "eig": lambda m, n: 25 * n**3,
    "schur": lambda m, n: 25 * n**3,
    "hessenberg": lambda m, n: 10 * n**3 // 3,
    "tridiagonal": lambda m, n: 4 * n**3 // 3,
}


def _factorization_flops(equation: JaxprEqn) -> Flops:
    *batch, rows, columns = _shape(equation.invars[0])
    m, n = dearer(rows, columns), jax.core.min_dim(rows, columns)
    return math.prod(batch) * _FACTORED[equation.primitive.name](m, n)


def _triangular_solve(equation: JaxprEqn) -> Flops:
    return _shape(equation.invars[0])[-1] * math.prod(_shape(equation.invars[1]))


def _tridiagonal_solve(equation: JaxprEqn) -> Flops:
    return 8 * math.prod(_shape(equation.invars[3]))


def _each(names: str, count: Callable[[JaxprEqn], Flops]) -> Iterable[tuple[str, Callable[[JaxprEqn], Flops]]]:
    return ((name, count) for name in names.split())


_COUNTED: Mapping[str, Callable[[JaxprEqn], Flops]] = dict(
    [
        *_each(
            """
            abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp clz cos
            cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a igammac
            integer_pow is_finite le le_to lgamma log log1p log2 logistic lt lt_to max min mul mulhi ne neg nextafter
            not one_minus_square or polygamma polynomial population_count pow regularized_incomplete_beta rem round
            rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh
            xor zeta
            """,
            _output,
        ),
        *_each(
            """
            argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
            """,
            _reduction_flops,
        ),
        *_each("approx_top_k cumlogsumexp cummax cummin cumprod cumsum", _input),
        *_each("scatter-add scatter-max scatter-min scatter-mul scatter-sub", _updates),
        *_each("reduce_window reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add", _window),
        *_each("select_and_scatter select_and_scatter_add", _window_back),
        *_each("ragged_dot ragged_dot_general", _ragged_dot),
        *_each(" ".join(_FACTORED), _factorization_flops),
        ("dot_general", _dot),
        ("conv_general_dilated", _convolution),
        ("fft", _fft),
        ("sort", _sort),
        ("top_k", _top_k),
        ("triangular_solve", _triangular_solve),
        ("tridiagonal_solve", _tridiagonal_solve),
    ]
)


REUSED = "shapecheck#reused"
"""The scope in which a jaxpr is traced that several equations may hold: of what is around, it knows one place only."""

_SCOPE = re.compile(r"shapecheck#(\d+|reused)")


def scope_name(number: int) -> str:
    """The name of the scope in which the stage with this number runs."""
    return f"shapecheck#{number}"


@dataclass
class _PartCost:
    """What a piece of an evaluation costs in all, and each stage inside of it.

    A stage is known by its number and the jaxpr that it came about in: from its caches JAX puts one jaxpr into several
    equations, and what the stage costs is what one of them does. Jaxprs of derivatives are others, and add to it.
    """

    flops: Flops = 0
    inside: dict[tuple[int, int], _PartCost] = field(default_factory=dict)

    def times(self, number: object) -> _PartCost:
        return _PartCost(self.flops * number, {key: part.times(number) for key, part in self.inside.items()})

    def of(self, number: int) -> list[_PartCost]:
        return [part for (other, _), part in self.inside.items() if other == number]


@dataclass(frozen=True)
class Cost:
    """What a stage costs: its share in a jaxpr and in those of its derivatives. `anywhere` has all stages' shares."""

    parts: Sequence[_PartCost]
    anywhere: Mapping[int, Sequence[_PartCost]]

    @property
    def flops(self) -> int | str:
        """The number of operations, as text where free sizes enter."""
        found = sum(part.flops for part in self.parts)
        return str(found) if export.is_symbolic_dim(found) else int(found)

    def stage(self, number: int) -> Cost:
        """What the stage with this number costs, which ran inside of this one."""
        found = [each for part in self.parts for each in part.of(number)]
        return Cost(found or self.anywhere.get(number, ()), self.anywhere)


def cost(jaxpr: object) -> Cost:
    """What a whole evaluation costs: loops as often as they run, of branches the dearest, `while` loops one turn."""
    whole = _count_flops(jaxpr, {})
    anywhere: dict[int, Sequence[_PartCost]] = {}
    todo = [whole]
    for part in todo:  # which grows
        for number, _ in part.inside:
            anywhere.setdefault(number, part.of(number))
        todo += part.inside.values()
    return Cost([whole], anywhere)


def _count_flops(jaxpr: Any, known: dict[int, _PartCost]) -> _PartCost:
    """What a jaxpr costs. `known` has those that were counted before."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)  # a closed one
    home = id(jaxpr)
    if home not in known:
        whole = _PartCost()
        for equation in jaxpr.eqns:
            found = _equation(equation, known)
            whole.flops += found.flops
            around: list[tuple[int | None, _PartCost]] = [(None, whole)]
            for number in _stages(equation):
                part = around[-1][1].inside.setdefault((number, home), _PartCost())
                part.flops += found.flops
                around.append((number, part))
            _put_inside(around, found.inside)
        known[home] = whole
    return known[home]


def _put_inside(
    around: Sequence[tuple[int | None, _PartCost]], inside: Mapping[tuple[int, int], _PartCost], depth: int = -1
) -> None:
    """Put what an equation holds into the stages `around` it, into the innermost one at first.

    With the flag `jax_remat3` (JAX 0.12) what it holds knows the scopes around the equation besides its own: such a
    stage is the one around, and what stands in it belongs there.
    """
    for key, part in inside.items():
        same = next((place for place, (number, _) in enumerate(around) if number == key[0]), None)
        if same is None:
            around[depth][1].inside.setdefault(key, part)
        else:
            _put_inside(around, part.inside, same)


def _equation(equation: JaxprEqn, known: dict[int, _PartCost]) -> _PartCost:
    name, params = operation_of(equation)
    if is_counted(name):
        return _PartCost(operations(equation))
    parts = [_count_flops(jaxpr, known) for jaxpr in _jaxprs(name, params)]
    flops = sum(part.flops for part in parts)
    if name == "cond":
        flops = 0
        for part in parts:
            flops = dearer(flops, part.flops)
    whole = _PartCost(flops)
    for part in parts:
        for key, inner in part.inside.items():
            whole.inside.setdefault(key, inner)
    times = _times(name, params)
    return whole if isinstance(times, int) and times == 1 else whole.times(times)


def _jaxprs(name: str, params: Mapping[str, Any]) -> Iterator[object]:
    """Those inside of an equation, whatever its primitive calls them."""
    if name == "custom_linear_solve":  # whose others tell how to solve and to derive it
        params = {"solve": params["jaxprs"].solve}
    for value in params.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(each, "eqns"):
                yield each


def _times(name: str, params: Mapping[str, object]) -> object:
    """How often what is inside of an equation runs: on how many devices, too."""
    if name == "scan":
        return params["length"]
    if name == "shard_map":
        return getattr(params["mesh"], "size", 1)
    if name == "xla_pmap":
        return params["global_axis_size"]
    if name == "pallas_call":
        grid = getattr(params.get("grid_mapping"), "grid", ())
        return math.prod(size for size in grid if isinstance(size, int))
    return 1


def _stages(equation: JaxprEqn) -> list[int]:
    """The numbers of the stages around an equation in its jaxpr, outermost first."""
    found: list[int] = []
    for text in _SCOPE.findall(str(getattr(equation.source_info, "name_stack", ""))):
        if text == "reused":
            found = []
            continue
        number = int(text)
        # That of a recomputation starts anew from the outermost scope; no stage is inside of itself.
        found = [*found[: found.index(number)], number] if number in found else [*found, number]
    return found
