"""What a shape is: dims, the spec that they form, and the one canonical text of both.

The canonical text is jaxtyping's own (`*batch seq 2*d`), extended by what comments need: several variadic dims, names
with primes (`T'`), and names that only the code can tell (`self.n`, `x.shape[0]`, `len(x)`) without braces. Reading
the canonical text back (`parse_spec`) gives an equal spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from shapecheck.shapes.expressions import Expression, divisors, exponents, names

PREFIXES = "#*_?"
"""What may stand before a dim: broadcastable, variadic, anonymous, one for each leaf of a tree."""


@dataclass(frozen=True)
class AnyDim:
    """One axis of any size: `_`, or `_name`, where the name says nothing but what is meant."""

    label: str = ""

    def __str__(self) -> str:
        return f"_{self.label}"


@dataclass(frozen=True)
class AnyDims:
    """Any number of axes of any size: `...`, or `*_name`."""

    label: str = ""

    def __str__(self) -> str:
        return f"*_{self.label}" if self.label else "..."


@dataclass(frozen=True)
class FixedDim:
    """One axis of a fixed size: `3`, `#3`, `name=3`."""

    size: int
    broadcastable: bool = False
    label: str | None = None

    def __str__(self) -> str:
        return f"{_prefix(self.broadcastable, self.label)}{self.size}"


@dataclass(frozen=True)
class NamedDim:
    """One axis whose size is bound to a name: `b`; `#b` may also be 1; `?b` has one size for each leaf of a tree."""

    name: str
    broadcastable: bool = False
    per_leaf: bool = False
    label: str | None = None

    def __str__(self) -> str:
        return f"{_prefix(self.broadcastable, self.label, per_leaf=self.per_leaf)}{self.name}"


@dataclass(frozen=True)
class VariadicDim:
    """Any number of axes whose sizes are bound to a name: `*b`, `*#b`, `*?b`."""

    name: str
    broadcastable: bool = False
    per_leaf: bool = False
    label: str | None = None

    def __str__(self) -> str:
        text = f"*{_prefix(self.broadcastable, self.label, per_leaf=self.per_leaf)}{self.name}"
        return "#*" if text == "*#" else text  # an axis without a name may not end with #


@dataclass(frozen=True)
class SymbolicDim:
    """One axis whose size is computed from names that are bound elsewhere: `2*d`, `{self.n}`."""

    expression: Expression
    broadcastable: bool = False
    label: str | None = None

    def __str__(self) -> str:
        text = str(self.expression)
        # Without parentheses `d` would bind, and the underscore of `_d+1` would be read as a prefix.
        if is_name(text) or text[0] in PREFIXES:
            text = f"({text})"
        return f"{_prefix(self.broadcastable, self.label)}{text}"


@dataclass(frozen=True)
class RepeatedDim:
    """Axes of one size, one after the other: `d, ..., d` (one or more), or as many as `times` says: `(d)^(n-1)`."""

    dim: FixedDim | NamedDim | SymbolicDim
    times: Expression | None = None

    def __str__(self) -> str:
        return f"{self.dim}:{'' if self.times is None else self.times}"


Dim = AnyDim | AnyDims | FixedDim | NamedDim | VariadicDim | SymbolicDim | RepeatedDim


@dataclass(frozen=True)
class Spec:
    """A shape pattern: its dims, in order."""

    dims: tuple[Dim, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Every name that is used, in order and once each: also inside expressions, also dotted ones."""
        return self._used_names

    def free_names(self) -> tuple[str, ...]:
        """The names that stand alone as a dim, single or variadic, so that a value can bind them; once each."""
        return self._lone_names

    def variadic_names(self) -> tuple[str, ...]:
        """The names that stand for any number of axes, once each."""
        return _unique(dim.name for dim in self.dims if isinstance(dim, VariadicDim))

    def divisors(self) -> tuple[int, ...]:
        """The whole numbers greater than one by which something is divided, in order and once each."""
        found = (n for dim in self.dims if isinstance(dim, SymbolicDim) for n in divisors(dim.expression))
        return tuple(dict.fromkeys(found))

    def exponents(self) -> tuple[str, ...]:
        """The names of which something is a power, as L is of `2**L`, in order and once each."""
        return _unique(n for dim in self.dims if isinstance(dim, SymbolicDim) for n in exponents(dim.expression))

    def rank(self) -> int | None:
        """How many axes the value must have; None if a variadic dim leaves that open."""
        return None if any(is_variadic(dim) for dim in self.dims) else len(self.dims)

    def __str__(self) -> str:
        return " ".join(map(str, self.dims))

    # A spec is shared by all who parse its text, and each claim asks for its names at each call that is judged.

    @cached_property
    def _used_names(self) -> tuple[str, ...]:
        return _unique(name for dim in self.dims for name in _names(dim))

    @cached_property
    def _lone_names(self) -> tuple[str, ...]:
        single = (dim.dim if isinstance(dim, RepeatedDim) else dim for dim in self.dims)
        return _unique(dim.name for dim in single if isinstance(dim, (NamedDim, VariadicDim)))


def print_spec(spec: Spec) -> str:
    """The canonical text of a spec, which `parse_spec` reads back to an equal one."""
    return str(spec)


def is_variadic(dim: Dim) -> bool:
    """Whether the dim stands for any number of axes."""
    return isinstance(dim, (AnyDims, VariadicDim, RepeatedDim))


def is_name(text: str) -> bool:
    """Whether the text can name a dim: an identifier, with primes if one likes (`T'`)."""
    return text.rstrip("'").isidentifier()


def _names(dim: Dim) -> Iterator[str]:
    if isinstance(dim, (NamedDim, VariadicDim)):
        yield dim.name
    elif isinstance(dim, SymbolicDim):
        yield from names(dim.expression)
    elif isinstance(dim, RepeatedDim):
        yield from _names(dim.dim)
        yield from () if dim.times is None else names(dim.times)


def _unique(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in found if name))


def _prefix(broadcastable: bool, label: str | None, *, per_leaf: bool = False) -> str:
    return ("#" if broadcastable else "") + ("?" if per_leaf else "") + ("" if label is None else f"{label}=")
