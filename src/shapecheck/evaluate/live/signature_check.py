"""A function held against a signature, `b t d, d e -> b t e`, for sizes that have nothing to do with each other.

It is evaluated abstractly, in the process of the user's test: several times, with other sizes each time, and with none,
one and two axes for a variadic dim. What holds for all of them is no coincidence of sizes.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from shapecheck.evaluate.inputs.trials.size_assignment import Size, UnknownSizeError, concrete_dtype, evaluate
from shapecheck.shapes import (
    AnyDim,
    AnyDims,
    Bindings,
    Spec,
    SpecError,
    VariadicDim,
    comment_dtype,
    dtype_matches,
    match,
    parse_spec,
    sample_sizes,
    short_dtype,
)

_SAMPLES = 3  # assignments of different sizes
_ARRAY = re.compile(r"(?P<dtype>[\w.]+)\s*\[(?P<dims>.*)\]|(?P<plain>.*)", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"
_ARROW = "->"


class SignatureError(ValueError):
    """A signature that cannot be read, or says too little; the text says what to write."""


@dataclass(frozen=True)
class _ArraySpec:
    """One array of a signature: jaxtyping's class for its dtype, "" for any, and its dims."""

    text: str
    dtype: str
    spec: Spec

    def struct(self, sizes: Mapping[str, int], axes: int, unnamed: Iterator[int]) -> jax.ShapeDtypeStruct:
        """It as an argument, with so many axes for each variadic dim, and the next of the `unnamed` sizes for `_`."""
        shape: list[Size] = []
        for dim in self.spec.dims:
            if isinstance(dim, AnyDims):
                shape += [sizes[f"...{index}"] for index in range(axes)]
            elif isinstance(dim, VariadicDim):
                shape += [sizes[f"*{dim.name}{index}"] for index in range(axes)]
            elif isinstance(dim, AnyDim):
                shape.append(next(unnamed))
            else:
                shape.append(evaluate(dim, lambda name: _size(sizes, name)))
        if self.dtype == "Key":
            return jax.ShapeDtypeStruct(tuple(shape), jax.eval_shape(jax.random.key, 0).dtype)
        return jax.ShapeDtypeStruct(tuple(shape), jnp.dtype(concrete_dtype(self.dtype or "Float", "")))


@dataclass(frozen=True)
class _Signature:
    """What a signature says: its arrays, in order."""

    arguments: tuple[_ArraySpec, ...]
    results: tuple[_ArraySpec, ...]

    def names(self) -> Iterator[str]:
        """All names that need sizes, those of the axes of variadic dims among them."""
        for array in self.arguments:
            yield from (name for name in array.spec.names() if name not in array.spec.variadic_names())
            yield from (f"*{name}{index}" for name in array.spec.variadic_names() for index in range(2))
        yield from ("...0", "...1")
        unnamed = [dim for array in self.arguments for dim in array.spec.dims if isinstance(dim, AnyDim)]
        yield from (f"_{index}" for index in range(len(unnamed)))

    def structs(self, sizes: Mapping[str, int], axes: int) -> list[jax.ShapeDtypeStruct]:
        """The arguments. Raises SignatureError for a dim that is no size before the call."""
        unnamed = (sizes[f"_{index}"] for index in itertools.count())
        try:
            return [array.struct(sizes, axes, unnamed) for array in self.arguments]
        except UnknownSizeError as error:
            raise SignatureError(str(error)) from None

    def variadic(self) -> bool:
        """Whether the number of axes of some argument is open."""
        return any(array.spec.rank() is None for array in self.arguments)


def contradiction(function: Callable[..., object], signature: str, keywords: Mapping[str, object]) -> str:
    """What a function gives that its signature denies, with the sizes that show it; "" if all of it holds.

    `keywords` are handed on as they are. What the function raises for sizes of the signature is raised. Raises
    SignatureError for a signature that cannot be read.
    """
    __tracebackhide__ = True
    parsed = _parse(signature)
    call = functools.partial(function, **keywords)
    names = list(dict.fromkeys(parsed.names()))
    samples = sample_sizes(names, _SAMPLES)
    taken = {size for leaf in jax.tree_util.tree_leaves(function) for size in getattr(leaf, "shape", ())}
    for axes in (1, 0, 2) if parsed.variadic() else (1,):
        for index in range(_SAMPLES):
            sizes = _apart({name: samples[name][index] for name in names}, taken)
            arguments = parsed.structs(sizes, axes)
            found = _compare(_evaluate(call, arguments, signature), parsed, arguments, sizes, signature)
            if found:
                return found
    return _with_ones(call, parsed, names, signature)


def _evaluate(call: Callable[..., object], arguments: Sequence[jax.ShapeDtypeStruct], signature: str) -> object:
    """What a function gives; what it raises says for which shapes, where Python has notes (3.11)."""
    __tracebackhide__ = True
    try:
        return jax.eval_shape(call, *arguments)
    except Exception as error:  # the function's own, of any kind
        if sys.version_info >= (3, 11):
            error.add_note(f"This is what it raises for {', '.join(map(_show, arguments))}, by {signature!r}.")
        raise


def _with_ones(call: Callable[..., object], parsed: _Signature, names: Sequence[str], signature: str) -> str:
    """Sizes of one, where `squeeze` and broadcasting do something else. A function may refuse them, as too small."""
    sizes = dict.fromkeys(names, 1)
    arguments = parsed.structs(sizes, 1)
    if any(size < 1 for argument in arguments for size in argument.shape):
        return ""
    try:
        result = jax.eval_shape(call, *arguments)
    except Exception:  # the function's own, of any kind
        return ""
    return _compare(result, parsed, arguments, sizes, signature)


def _compare(
    result: object,
    parsed: _Signature,
    arguments: Sequence[jax.ShapeDtypeStruct],
    sizes: Mapping[str, int],
    signature: str,
) -> str:
    __tracebackhide__ = True
    given = ", ".join(map(_show, arguments))
    leaves = jax.tree_util.tree_leaves(result)
    if len(leaves) != len(parsed.results):
        return f"{signature}: for {given} it gives {_count(leaves)}, not {len(parsed.results)}"
    bindings = Bindings()
    for array, argument in zip(parsed.arguments, arguments, strict=True):
        bindings = match(array.spec, _sizes_of(argument), bindings, defer=True).bindings
    for array, leaf in zip(parsed.results, leaves, strict=True):
        found = match(array.spec, _sizes_of(leaf), bindings, defer=True)
        if found.reason == "unbound":
            raise SignatureError(f"{signature}: nothing says the size of a name in {array.text}")
        if not found.ok or not dtype_matches(array.dtype, str(leaf.dtype)):
            return f"{signature}: for {given} it gives {_show(leaf)}, not {array.text}{_where(array.spec, bindings)}"
        bindings = found.bindings
    return ""


def _where(spec: Spec, bindings: Bindings) -> str:
    """The sizes that the names of a result have."""
    known = [f"{name}={bindings.single[name][0]}" for name in spec.names() if name in bindings.single]
    return f" ({', '.join(known)})" if known else ""


def _count(leaves: Sequence[object]) -> str:
    return "one array" if len(leaves) == 1 else f"{len(leaves)} arrays"


def _show(array: jax.ShapeDtypeStruct) -> str:
    return f"{short_dtype(str(array.dtype))}[{','.join(map(str, array.shape))}]"


def _size(sizes: Mapping[str, int], name: str) -> int:
    if name not in sizes:
        raise SignatureError(f"the size of {name} is not known: only names of dims can be in a signature")
    return sizes[name]


def _sizes_of(array: jax.ShapeDtypeStruct) -> tuple[tuple[int], ...]:
    """A shape as matching takes it: one sample of each size."""
    return tuple((size,) for size in array.shape)


def _apart(sizes: Mapping[str, int], taken: set[int]) -> dict[str, int]:
    """The sizes, moved on where the function's own arrays have them."""
    found: dict[str, int] = {}
    for name, wanted in sizes.items():
        free = (size for size in itertools.count(wanted) if size not in taken and size not in found.values())
        found[name] = next(free)
    return found


def _parse(signature: str) -> _Signature:
    """Read a signature. Raises SignatureError."""
    arguments, arrow, results = signature.partition(_ARROW)
    if not arrow or _ARROW in results:
        raise SignatureError(f"{signature!r}: write the arguments, an arrow and the results: 'b t d, d e -> b t e'")
    return _Signature(_arrays(arguments, signature), _arrays(results, signature))


def _arrays(text: str, signature: str) -> tuple[_ArraySpec, ...]:
    found: list[_ArraySpec] = []
    for part in _parts(text):
        read = _ARRAY.fullmatch(part.strip())
        word = read["dtype"] if read is not None else None
        dims = read["dims"] if word and read is not None else part.strip()
        dtype = comment_dtype(word) if word else ""
        if word and word.lower() == "key":
            dtype = "Key"
        if dtype is None:
            raise SignatureError(f"{signature!r}: {word} is no dtype; write float32, int32, bool, key or the like")
        try:
            found.append(_ArraySpec(part.strip(), dtype, parse_spec("" if dims == "()" else dims)))
        except SpecError as error:
            raise SignatureError(f"{signature!r}: {part.strip()!r} is no shape: {error}") from None
    return tuple(found)


def _parts(text: str) -> Iterator[str]:
    """The text cut at commas outside of brackets."""
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == "," and not depth:
            yield text[start:index]
            start = index + 1
    if text.strip():
        yield text[start:]
