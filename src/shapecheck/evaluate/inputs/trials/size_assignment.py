"""Sizes for the free dims of one attempt: symbolic variables of `jax.export`, or distinct unlikely numbers."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import export

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.runtime_annotations import free_names
from shapecheck.evaluate.own_errors import RefusalError
from shapecheck.model import Mode
from shapecheck.shapes import (
    AnyDim,
    AnyDims,
    FixedDim,
    NamedDim,
    SymbolicDim,
    VariadicDim,
    further_name,
    is_variadic,
    parse_spec,
)
from shapecheck.shapes.expressions import MAX_BITS, Binary, BracedExpression, Expression, FunctionCall, Int, Name, Unary

# Free dims lie in this range. The bounds let JAX decide what would otherwise be inconclusive (`x[:3]`, `h - 2 >= 0`,
# a table of 1024 positions cut to the length of the sequence), and `== 1` soundly.
SMALLEST, LARGEST = 8, 1024

# Numbers for free dims: primes that the constructor's sizes do not have, times what heads, patches and halves divide.
# No two pools share a number: a claim that holds because two sizes are equal by chance would count as verified. The
# first one ascends and the second descends, so that `x[:n]` is seen with either of two sizes as the smaller one.
SIZE_VARIANTS: tuple[tuple[int, ...], ...] = (
    tuple(4 * p for p in (17, 19, 23, 29, 31, 59, 61, 67, 71, 73, 79, 83)),
    tuple(4 * p for p in (113, 109, 107, 103, 101, 97, 89, 53, 47, 43, 41, 37)),
    (976, 784, 880, 560, 400, *(8 * p for p in (67, 71, 73, 79, 83, 89, 97))),
    tuple(4 * p for p in (127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181)),
)
CONSTRUCTOR_VARIANT = 3
"""The pool for arrays that are given to constructors."""

DIVISIBLE, DIVISIBLE_TOO, SQUARES = 4, 5, 6
"""More pools, for code that takes only some sizes: multiples of all that it may divide by, and powers of four."""

LARGE, LARGE_TOO = 7, 8
"""Pools for code that takes only sizes from some on: `top_k(x, 16)` of what is left of an axis in blocks of 64."""

CHEAP, CHEAP_TOO = 9, 10
"""Pools for runs with values, where the usual sizes take too long to compute."""

_EXPONENTS = (5, 4, 6, 3)  # sizes that powers stay numbers of axes with
_PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)
_DIVIDES = 240  # what is divided by in any case: 3 and 4, and the first integers that are made up, 48 and 80
_LARGEST_MULTIPLE = 5040
_LARGER = 64
_FEWER = {CHEAP: (20, 28, 44, 52, 12, 36, 60), CHEAP_TOO: (50, 42, 30, 22, 18, 14, 10)}
_COUNTS_AXES = re.compile(r"(?:spatial_)?n_?dims?|n(?:um)?_(?:spatial_)?dims?|nd")
_FEW = (9, 11, 13, 10, 7, 14, 21, 22, 33, 39)  # below a limit


_SPELLED = re.compile(
    r"(?P<base>[^\W\d]\w*?)_(?P<sign>minus|plus)_?(?P<number>\d+|one)|(?P<letter>[A-Za-z])(?P<step>[mp])(?P<by>\d)"
)


class Size(Protocol):
    """A size of an axis, an int or a symbolic dim: it takes part in arithmetic with others."""

    def __mul__(self, other: int, /) -> Size: ...
    def __neg__(self) -> Size: ...


_TOO_LARGE = "more than an axis can have, with the sizes that were chosen"


def _power(base: Size, exponent: Size) -> Size:
    if isinstance(exponent, int) and exponent > MAX_BITS:
        raise OverflowError(f"it is {_TOO_LARGE}")
    power: Size = operator.pow(base, exponent)
    return power


_BINARY: Mapping[str, Callable[[Size, Size], Size]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
}
_DTYPES = {
    "Float": "float32",
    "Inexact": "float32",
    "Real": "float32",
    "Num": "float32",
    "Shaped": "float32",
    "Int": "int32",
    "Integer": "int32",
    "UInt": "uint32",
    "Complex": "complex64",
}


_WIDE = {"float32": "float64", "int32": "int64", "complex64": "complex128"}

# What leaves the kind of number open.
_OPEN_DTYPES = frozenset({"", "Shaped", "Num", "Real", "Inexact"})


STACKED = "stacked"  # the size of the axis that a stack of records has in front


class UnknownSizeError(RefusalError):
    """A spec says a size in terms of something that is not known before the call."""


@dataclass(frozen=True)
class Substitution:
    """Free names that this attempt ties together: name -> a size, or text over other names such as "2*half"."""

    ties: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{name}={text}" for name, text in self.ties)


_INDEPENDENT = Substitution()

_ANONYMOUS = 32  # axes that have no name, or one of an inner call or instance alone
_OF_NO_NAME = "axis"
UNNAMED = ("dim0", "dim1", "dim2")
"""What the axes of `...` are called here: nobody else names them."""


@dataclass
class InventedSizes:
    """Numbers that nobody gave. Where an earlier evaluation had some, they are taken again: what is made up for a
    name shall not depend on which other names there are. `chosen` are the `integers` of this one, `places` where a
    constructor takes them: `cfg.depth`. `own` are sizes of the model, which others shall not have; None where that does
    not matter. Free names take theirs from the `pool` first, if there is one; `used` are the names that arrays had.
    """

    integers: Mapping[str, int] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    own: set[int] | None = None
    pool: tuple[int, ...] = ()
    used: set[str] = field(default_factory=set)


class SizeAssignment:
    """What each dim name stands for in one attempt.

    `known` are sizes known from the constructor, by fields or by the configuration; all other names are free. Names are
    handed out as they are met, so `prepare` must have seen the specs before symbols are asked for. The sizes of some
    names are `multiples` of a number, those of others at most their `limits`. What no array of the call itself has may
    have the size `of_argument`, an integer with its name; else `choose_inner` may have another size for a name that
    only arrays inside of arguments have. Where `own_sizes` says so, those of a further instance of one class have names
    of their own.
    """

    def __init__(
        self,
        mode: Mode,
        known: Mapping[str, int],
        specs: Iterable[str],
        substitution: Substitution = _INDEPENDENT,
        variant: int = 0,
        rank: int = 1,
        made: InventedSizes | None = None,
        divisors: Iterable[int] = (),
        multiples: Iterable[tuple[str, int]] = (),
        limits: Iterable[tuple[str, int]] = (),
    ) -> None:
        self.mode, self._variant = mode, variant
        self.made = made or InventedSizes()
        self.known = dict(known)
        self.ties = dict(substitution.ties)
        self.variadic_rank = rank
        self.guessed_dtypes: list[str] = []  # arrays whose dtype could as well be another
        self._sizes: dict[str, Size] = {}
        self._given_sizes: set[int] = set()
        self.used: dict[str, Size] = {}
        self.has_inner_arrays, self._depth = False, 0  # whether instances among the arguments have some
        self.inner_specs: list[str] = []  # of arrays inside of arguments, which have names of their own, tied or not
        self.computed: dict[int, SymbolicDim] = {}  # those that follow from others, by their sizes
        self._inner: dict[str, None] = {}  # these names
        self.choose_inner: Callable[[str, int], int] | None = None
        self.of_argument: Callable[[str], tuple[str, int] | None] = lambda name: None
        self.named_after: dict[str, str] = {}  # names that have the size of an integer among the arguments
        self.of_defaults: dict[str, int] = {}  # names that have the size of an axis of a default
        self.own_sizes: Callable[[], bool] = lambda: False
        self._made_classes: set[type] = set()
        self.stacks = 0  # how many records are being made that stand for several
        self._further: list[str] = []  # the places of further instances of a class, while their arrays are made
        self._of_calls: Mapping[str, str] = {}  # names that are a call's own, while an array is made that it describes
        self.of_callees: dict[str, Size] = {}  # such names, as far as they are free
        specs = tuple(specs)
        free = [n for n in free_names(specs) if n not in self.known]
        self.free = tuple(n for n in free if n not in self.ties)
        self._tied_inside = self.ties.keys() - {*free, *self.known, *UNNAMED}
        if mode == "symbolic":
            self._sizes.update(_symbols((*free, *_anonymous()), tuple(limits)))
        else:
            before = self.made.dims if variant == 0 else {}
            taken = {*before.values(), *(self.made.own or ())}
            usual = self.made.pool if variant == 0 and self.made.pool else _pool(variant, divisors)
            pool = [size for size in usual if size not in taken]
            # Tied names too: the others keep their sizes, which else might be the very one that a name is tied to.
            names = [n for n in (*free, *_anonymous()) if n not in before]
            self._sizes.update(zip(names, _endless(pool), strict=False))
            powers = [n for n in dict.fromkeys(n for text in specs for n in parse_spec(text).exponents()) if n in names]
            self._sizes.update({n: _EXPONENTS[(i + variant) % len(_EXPONENTS)] for i, n in enumerate(powers)})
            self._sizes.update(before)
            counts = {n for text in specs for n in _counts_of_axes(text) if n in self._sizes} if rank else set[str]()
            self._sizes.update(dict.fromkeys(counts, rank))
        for name, factor in multiples:
            if name in self._sizes:
                self._sizes[name] *= factor
        for name, limit in limits if mode == "sized" else ():
            self._limit(name, limit, variant)
        for name in self.free:
            base, relation = _spelled_relation(name)
            if base and (base in self.known or base in self._sizes):
                self._sizes[name] = evaluate(parse_spec(f"({relation})").dims[0], self._size)
        self._anonymous = iter(_anonymous()[3:])  # the first three are the axes of variadic dims

    def _limit(self, name: str, limit: int, variant: int) -> None:
        """Have a size below the limit, if there is one that nothing else has."""
        taken = {*self._sizes.values(), *self.known.values()}
        below = [size for size in _FEW if size < limit and size not in taken]
        size = self._sizes.get(name)
        if below and isinstance(size, int) and size >= limit:
            self._sizes[name] = below[variant % len(below)]

    @contextlib.contextmanager
    def within(self, cls: type, place: str) -> Iterator[None]:
        """Meanwhile the arrays of an instance in this place are made."""
        is_further = cls in self._made_classes
        self._made_classes.add(cls)
        self._depth += 1
        if is_further:
            self._further.append(place)
        try:
            yield
        finally:
            self._depth -= 1
            if is_further:
                self._further.pop()

    @contextlib.contextmanager
    def as_callees_say(self, names: Iterable[tuple[str, str]]) -> Iterator[None]:
        """Meanwhile an array is made that a function describes which is called: these names are that call's own."""
        before, self._of_calls = self._of_calls, dict(names)
        try:
            yield
        finally:
            self._of_calls = before

    def know(self, name: str, size: int) -> None:
        """Fix a name that was free until now."""
        self.known[name] = size
        self._given_sizes.add(size)

    def tie(self, name: str, text: str) -> None:
        """Let a free name have the size that an expression over other names has, unless these follow from it."""
        if closes_circle((name, text), self.ties):
            return
        self.ties.setdefault(name, text)
        self.free = tuple(each for each in self.free if each != name)

    def may_know(self, name: str) -> bool:
        """Whether a name has a size before the call; an attribute has one that is known."""
        return name.isidentifier() or name in self.known or name.rpartition(".")[2] in self.known

    def shared_names(self, constructor: SizeAssignment) -> tuple[tuple[str, str], ...]:
        """The names that arrays given to the constructor have too, with the sizes that they had there.

        Those of `...` are among them: what a class leaves open in the same place is mostly the same.
        """
        unnamed = [n for n in UNNAMED if n in self.used]
        used = ((n, constructor.used.get(n)) for n in (*self.free, *self.ties, *unnamed) if n not in self.known)
        return tuple((n, str(size)) for n, size in used if type(size) is int)

    def free_among(self, sizes: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
        """Those of names that are free here, as text."""
        free = {*self.free, *self.ties} - self.known.keys()
        return tuple((name, str(size)) for name, size in sizes.items() if name in free)

    def used_sizes(self) -> tuple[tuple[str, str], ...]:
        """The names that arrays have, with their numbers."""
        return tuple((name, str(size)) for name, size in self.used.items() if type(size) is int)

    def tied_sizes(self) -> set[int]:
        """The numbers that dims were tied to."""
        return {int(text) for text in self.ties.values() if text.isdigit()} | self._given_sizes

    def size(self, name: str) -> Size:
        """The size of a name: an int or a symbolic dim. Raises UnknownSizeError."""
        place = self._of_calls.get(name) or "_".join(self._further)
        if place and name.isidentifier() and name not in self.known and self.own_sizes():
            own = further_name(name, place)
            return self._note_of_callee(name, own)
        return self._note_of_callee(name, name)

    def _note_of_callee(self, word: str, name: str) -> Size:
        size = self._note_used(name)
        if word in self._of_calls and name in self._sizes and name not in self.ties:
            self.of_callees[name] = size
        return size

    def stack_length(self) -> Size:
        """How many records those stand for that are made as several."""
        return self._note_used(STACKED)

    def _note_used(self, name: str) -> Size:
        self.used[name] = size = self._size(name)
        self.made.used.add(name)
        return size

    def _size(self, name: str) -> Size:
        if name in self.known:
            return self.known[name]
        if name in self.ties:
            return evaluate(parse_spec(f"({self.ties[name]})").dims[0], self._note_used)
        if name not in self.free and (argument := self.of_argument(name)) is not None:
            if name != argument[0]:
                self.named_after[name] = argument[0]
            return argument[1]
        if name in self._sizes:
            return self._sizes[name]
        last = name.rpartition(".")[2]
        if last in self.known:
            return self.known[last]
        if not name.isidentifier():
            raise UnknownSizeError(f"the size of {name} is not known before the call")
        size = self._sizes[next(self._anonymous, f"dim{_ANONYMOUS - 1}")]
        self._sizes[name] = self.choose_inner(name, size) if self.choose_inner and isinstance(size, int) else size
        self._inner[name] = None
        return self._sizes[name]

    def array(self, spec: str, dtype: str, name: str) -> jax.ShapeDtypeStruct:
        """An abstract array as `spec` describes it; `dtype` is a jaxtyping name or ""."""
        dims: list[Size] = [self.stack_length()] if self.stacks else []
        parsed = parse_spec(spec)
        for exponent in parsed.exponents() if self.mode == "sized" else ():
            if exponent.isidentifier() and not {exponent} & {*self.known, *self.ties, *self._sizes}:
                self._sizes[exponent] = _EXPONENTS[(len(self._inner) + self._variant) % len(_EXPONENTS)]
                self._inner[exponent] = None
        for dim in parsed.dims:
            if isinstance(dim, AnyDims):
                dims += [self.size(each) for each in UNNAMED[: self.variadic_rank]]
            elif isinstance(dim, VariadicDim):
                dims += [self.size(each) for each in self._axes(dim.name)]
            elif isinstance(dim, AnyDim):
                dims.append(self._sizes[next(self._anonymous, f"dim{_ANONYMOUS - 1}")])
            else:
                dims.append(evaluate(dim, self.size))
                if isinstance(dim, SymbolicDim) and type(dims[-1]) is int:
                    self.computed[dims[-1]] = dim
        self.has_inner_arrays |= self._depth > 0
        inside = self._inner.keys() | self._tied_inside
        leaves_open = self._depth > 0 and any(isinstance(dim, AnyDims) for dim in parsed.dims)
        if leaves_open or any(name in inside or f"{name}0" in inside for name in parsed.names()):
            self.inner_specs.append(spec)
        if dtype in ("Key", "PRNGKeyArray"):
            return jax.ShapeDtypeStruct(tuple(dims), self.key(typed=True).dtype)
        if dtype in _OPEN_DTYPES:
            self.guessed_dtypes.append(name)
        return jax.ShapeDtypeStruct(tuple(dims), jnp.dtype(concrete_dtype(dtype, name)))

    def _axes(self, name: str) -> list[str]:
        """The names of the axes of a variadic dim. Of one axis that a plain dim has the name of too, it is that one."""
        plain = self.variadic_rank == 1 and (name in self.known or name in self._sizes)
        # `Float[Array, "*"]` has no name for its axes.
        return [name] if plain else [f"{name or _OF_NO_NAME}{i}" for i in range(self.variadic_rank)]

    def key(self, *, typed: bool) -> jax.ShapeDtypeStruct:
        """An abstract random key: new style if the annotation says so, else the `uint32[2]` of `PRNGKey`."""
        if typed:
            key: jax.ShapeDtypeStruct = jax.eval_shape(jax.random.key, jax.ShapeDtypeStruct((), jnp.uint32))
            return key
        return jax.ShapeDtypeStruct((2,), jnp.uint32)

    def chosen_sizes(self) -> tuple[tuple[str, str], ...]:
        """What was chosen for each name that arrays were made of, as text for messages."""
        names = dict.fromkeys([*self.free, *self._inner, *(each for each in UNNAMED if each not in self.ties)])
        free = [(n, str(self._sizes[n])) for n in names if n in self.used and n not in self.known]
        return tuple(free + [(n, t) for n, t in self.ties.items() if n not in self.known])


def closes_circle(tie: tuple[str, str], ties: Mapping[str, str]) -> bool:
    """Whether a name would be tied to itself, by way of others."""
    todo, seen = [tie[1]], set[str]()
    while todo:
        names = set(re.findall(r"[^\W\d]\w*", todo.pop()))
        if tie[0] in names:
            return True
        todo += [ties[name] for name in names & ties.keys() - seen]
        seen |= names
    return False


def _endless(pool: Sequence[int]) -> Iterator[int]:
    """The sizes of a pool, and further ones in steps that keep them even, none of them twice."""
    seen: set[int] = set()
    for turn in itertools.count():
        for size in (each + 16 * turn for each in pool):
            if size not in seen:
                seen.add(size)
                yield size


def _counts_of_axes(spec: str) -> Iterator[str]:
    """The names in a shape that say how many axes its variadic dim stands for: `(ndim, *spatial_shape)`."""
    dims = parse_spec(spec).dims
    if any(map(is_variadic, dims)):
        yield from (dim.name for dim in dims if isinstance(dim, NamedDim) and _COUNTS_AXES.fullmatch(dim.name))


def _spelled_relation(name: str) -> tuple[str, str]:
    """The other name that a name is spelled after, and how: `steps_minus_1` is `steps-1`, `Nm1` `N-1`; else nothing."""
    found = _SPELLED.fullmatch(name)
    if found is None:
        return "", ""
    if found["letter"]:
        return found["letter"], f"{found['letter']}{'-' if found['step'] == 'm' else '+'}{found['by']}"
    number = found["number"] if found["number"].isdigit() else "1"
    return found["base"], f"{found['base']}{'-' if found['sign'] == 'minus' else '+'}{number}"


def concrete_dtype(dtype: str, name: str) -> str:
    """A dtype that the jaxtyping name admits; "" goes by the parameter's name.

    Where it leaves the bits open, and the user's modules have set `jax_enable_x64`, it has as many as JAX would take.
    """
    if dtype and dtype not in _DTYPES:
        return dtype.lower()
    usual = _DTYPES[dtype] if dtype else name_hints.array_dtype(name)
    wide = _WIDE.get(usual, usual)
    return str(jax.dtypes.canonicalize_dtype(wide)) if wide != usual else usual


def evaluate(dim: object, size: Callable[[str], Size]) -> Size:
    """The size of a single dim, as an int or a symbolic dim."""
    if isinstance(dim, FixedDim):
        return dim.size
    if isinstance(dim, NamedDim):
        return size(dim.name)
    if isinstance(dim, SymbolicDim):
        try:
            found = _compute(dim.expression, size)
        except ArithmeticError as error:  # `n%0`
            raise UnknownSizeError(f"{dim} cannot be computed: {error}") from None
        if isinstance(found, int) and found.bit_length() > MAX_BITS:
            raise UnknownSizeError(f"{dim} cannot be computed: it is {_TOO_LARGE}")
        return found
    raise UnknownSizeError(f"{dim} is not one axis")


def known_size(dim: object, sizes: Mapping[str, int]) -> Size | None:
    """The size of a dim by those of names; None where a name has none, or nothing can be computed."""
    try:
        return evaluate(dim, lambda name: sizes[name])
    except (UnknownSizeError, KeyError):
        return None


def _compute(expression: Expression, size: Callable[[str], Size]) -> Size:
    if isinstance(expression, Int):
        return expression.value
    if isinstance(expression, Name):
        return size(expression.text)
    if isinstance(expression, BracedExpression):
        return _compute(expression.inner, size)
    if isinstance(expression, Unary) and expression.operator == "-":
        return -_compute(expression.operand, size)
    if isinstance(expression, Binary) and expression.operator in _BINARY:
        return _BINARY[expression.operator](_compute(expression.left, size), _compute(expression.right, size))
    if isinstance(expression, FunctionCall) and expression.function in ("max", "min"):
        pick: Callable[..., Size] = max if expression.function == "max" else min
        return pick(*(_compute(a, size) for a in expression.arguments))
    raise UnknownSizeError(f"{expression} cannot be computed before the call")


def substitutions(names: Sequence[str], sizes: Sequence[int], *, relations: bool) -> Iterator[Substitution]:
    """Ties to try when independent names do not evaluate: the most general first.

    With `sizes` of a constructor: each name one of them, then pairs of names. With `relations`: two names equal, one
    twice, half, or one more than the other.
    """
    if relations:
        for a, b in itertools.combinations(names, 2):
            yield Substitution(((b, a),))
        for a, b in itertools.permutations(names, 2):
            yield from (Substitution(((b, f"{text.format(a)}"),)) for text in ("2*{}", "{}+1", "{}-1"))
        if len(names) > 2:
            equal = tuple((n, names[0]) for n in names[1:])
            yield Substitution(equal)
            for name, _ in equal:
                yield from (
                    Substitution(tuple((n, text if n == name else names[0]) for n, _ in equal))
                    for text in (f"2*{names[0]}", f"{names[0]}+1", f"{names[0]}//2")
                )
    for name in names:
        yield from (Substitution(((name, str(size)),)) for size in sizes)
    for a, b in itertools.combinations(names, 2):
        for first, second in itertools.product(sizes, repeat=2):
            yield Substitution(((a, str(first)), (b, str(second))))


def _pool(variant: int, divisors: Iterable[int]) -> tuple[int, ...]:
    """The numbers of a variant; `divisors` are those that the code may divide sizes by."""
    if variant == SQUARES:
        return (64, 256, 1024, 16, 4096, 144, 400, 576, 900, 1600)  # no larger: NumPy may make matrices of them
    if variant in _FEWER:
        return _FEWER[variant]
    if variant in (LARGE, LARGE_TOO):
        return tuple(_LARGER * size for size in SIZE_VARIANTS[variant - LARGE])
    if variant not in (DIVISIBLE, DIVISIBLE_TOO):
        return SIZE_VARIANTS[variant % len(SIZE_VARIANTS)]
    multiple = _DIVIDES
    for divisor in sorted({d for d in divisors if d > 2}):
        together = math.lcm(multiple, divisor)
        multiple = together if together <= _LARGEST_MULTIPLE else multiple
    primes = (*_PRIMES[6::-1], *_PRIMES[7:]) if variant == DIVISIBLE_TOO else _PRIMES
    return tuple(multiple * prime for prime in primes)


def _anonymous() -> list[str]:
    return [f"dim{i}" for i in range(_ANONYMOUS)]


@functools.lru_cache(64)  # JAX parses each constraint and derives from it, and attempts repeat the names
def _symbols(names: Sequence[str], limits: Sequence[tuple[str, int]]) -> Mapping[str, Size]:
    """A symbolic dim for each name, all of one scope. Names that JAX cannot read are spelled so that it can."""
    most = dict(limits)
    spelled: dict[str, str] = {}
    for name in names:
        text = re.sub(r"\W", "_", name.replace("'", "_prime"))
        while text in spelled.values() or text in ("mod", "floordiv", "max", "min"):
            text += "_"
        spelled[name] = text
    bounds = [f"{t} >= {SMALLEST}" for t in spelled.values()]
    bounds += [f"{text} <= {most.get(name, LARGEST)}" for name, text in spelled.items()]
    scope = export.SymbolicScope(bounds)
    dims = export.symbolic_shape(", ".join(spelled.values()), scope=scope)
    return dict(zip(spelled, dims, strict=False))
