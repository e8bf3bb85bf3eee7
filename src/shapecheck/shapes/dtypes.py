"""jaxtyping's dtype categories by name, and the words for dtypes in comments.

The tables are those of jaxtyping 0.3.11: a dtype that it does not list (`float8_e4m3`, `int1`, ...) belongs to none of
its categories but `Shaped`, and `float4_e2m1fn` belongs to categories without a class of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

_BOOLS = frozenset({"bool"})
_UINTS = frozenset({"uint2", "uint4", "uint8", "uint16", "uint32", "uint64"})
_INTS = frozenset({"int2", "int4", "int8", "int16", "int32", "int64"})
_SMALL_FLOATS: Mapping[str, str] = {
    "Float8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "Float8e4m3fn": "float8_e4m3fn",
    "Float8e4m3fnuz": "float8_e4m3fnuz",
    "Float8e5m2": "float8_e5m2",
    "Float8e5m2fnuz": "float8_e5m2fnuz",
}
_FLOATS = frozenset({*_SMALL_FLOATS.values(), "float4_e2m1fn", "bfloat16", "float16", "float32", "float64"})
_COMPLEXES = frozenset({"complex64", "complex128"})
_KEY = "prng_key"

_CLASS_OF: Mapping[str, str] = {
    **{name: f"UInt{name[4:]}" for name in _UINTS},
    **{name: f"Int{name[3:]}" for name in _INTS},
    **{name: f"Complex{name[7:]}" for name in _COMPLEXES},
    **{name: f"Float{name[5:]}" for name in ("float16", "float32", "float64")},
    **{actual: name for name, actual in _SMALL_FLOATS.items()},
    "bfloat16": "BFloat16",
}

DTYPES: Mapping[str, frozenset[str] | None] = {
    "Bool": _BOOLS,
    "UInt": _UINTS,
    "Int": _INTS,
    "Integer": _UINTS | _INTS,
    "Float": _FLOATS,
    "Complex": _COMPLEXES,
    "Inexact": _FLOATS | _COMPLEXES,
    "Real": _FLOATS | _UINTS | _INTS,
    "Num": _UINTS | _INTS | _FLOATS | _COMPLEXES,
    "Shaped": None,
    "Key": frozenset({_KEY}),
    **{name: frozenset({actual}) for actual, name in _CLASS_OF.items()},
}
"""The dtypes that each of jaxtyping's classes accepts; None for every one."""


def short_dtype(name: str) -> str:
    """The name as JAX prints it in small print: `f32`, `bf16`, `u8`."""
    for long, letter in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, letter)
    return name


_WORDS: Mapping[str, str] = {
    **_CLASS_OF,
    **{short_dtype(name): kind for name, kind in _CLASS_OF.items()},
    **{f"s{bits}": f"Int{bits}" for bits in (4, 8, 16, 32, 64)},  # as XLA prints them
    "pred": "Bool",
    "bool": "Bool",
    "bool_": "Bool",
    "boolean": "Bool",
    "complex": "Complex",
    "float": "Float",
    "int": "Int",
    "integer": "Integer",
    "uint": "UInt",
    # "labels (batch,), ints"
    "bools": "Bool",
    "booleans": "Bool",
    "floats": "Float",
    "ints": "Int",
    "integers": "Integer",
}
_MODULES = ("jax.numpy.", "jnp.", "numpy.", "np.")


def dtype_matches(claimed: str, actual: str) -> bool:
    """Whether jaxtyping's class `claimed` (or "" for any) accepts the JAX dtype `actual`.

    Raises `KeyError` if jaxtyping has no such class.
    """
    accepted = DTYPES[claimed] if claimed else None
    return accepted is None or _plain(actual) in accepted


def comment_dtype(prefix: str) -> str | None:
    """jaxtyping's class for a dtype word (`f32`, `int32`, `jnp.bfloat16`, `Float`); None if it is no dtype word."""
    for module in _MODULES:
        prefix = prefix.removeprefix(module)
    return prefix if prefix in DTYPES else _WORDS.get(prefix)


def _plain(actual: str) -> str:
    """The name that jaxtyping goes by: all kinds of keys are one, and so are both names of NumPy's bool."""
    if actual.startswith("key<"):
        return _KEY
    return "bool" if actual == "bool_" else actual
