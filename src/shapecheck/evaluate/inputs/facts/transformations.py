"""Functions that make another function of one, by their names: those of JAX, and as frameworks call theirs."""

from __future__ import annotations

from shapecheck.evaluate.framework_protocol import loaded_frameworks

_HANDING_ON = frozenset(
    {"grad", "value_and_grad", "jit", "checkpoint", "remat", "jacfwd", "jacrev", "jacobian", "hessian"}
)
_CALLING = frozenset({"jvp", "vjp", "linearize"})  # they call a function with the arguments behind it
_MAPPING = frozenset({"vmap"})


def is_transformation(name: str) -> bool:
    """Whether what it makes of a function calls that, and does nothing else with it."""
    return _plain_name(name) in _HANDING_ON | _MAPPING


def hands_on_arguments(name: str) -> bool:
    """Whether what it makes of a function gives that the same arguments, with all of their axes."""
    return _plain_name(name) in _HANDING_ON


def calls_function(name: str) -> bool:
    """Whether it calls the function that is its first argument, or makes what does."""
    return _plain_name(name) in _HANDING_ON | _CALLING


def _plain_name(name: str) -> str:
    """What JAX calls it."""
    for each in loaded_frameworks():
        name = name.removeprefix(each.transforming_prefix)
    return name
