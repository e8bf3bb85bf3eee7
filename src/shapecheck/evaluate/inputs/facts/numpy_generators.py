"""Parameters that take a generator of NumPy's random numbers, as their annotation or the methods called on them tell.

`rng` is a key of JAX as often, or an object of the user's: a `size` that is given by its name tells, or a method that
nothing else has, https://numpy.org/doc/stable/reference/random/.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import is_variable
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING
from shapecheck.model.parameter_parts import Part

_OF_BOTH = frozenset(
    {"normal", "uniform", "choice", "permutation", "shuffle", "standard_normal", "exponential", "binomial", "poisson"}
    | {"beta", "gamma", "dirichlet", "laplace", "multinomial", "multivariate_normal", "random", "lognormal"}
)
_OF_GENERATORS = frozenset({"integers", "permuted", "spawn"})
_OF_STATES = frozenset({"randn", "rand", "randint", "random_sample", "seed"})
_DEPTH = 3  # functions that hand it on to each other
_SEED = 0


def numpy_generator(function: Callable[..., object], parameter: str, annotation: object) -> object:
    """A generator, or the older `RandomState`, for a parameter that takes one; None for any other."""
    for cls in (np.random.Generator, np.random.RandomState):
        if annotation is cls:
            return _make(is_old=cls is np.random.RandomState)
    if annotation is not MISSING and annotation is not Any:
        return None
    calls = _calls_of_methods(function, parameter, _DEPTH)
    called = set(calls)
    if not called or not called <= _OF_BOTH | _OF_GENERATORS | _OF_STATES:
        return None
    is_numpys = bool(called & (_OF_GENERATORS | _OF_STATES)) or any(calls.values())
    return _make(is_old=bool(called & _OF_STATES)) if is_numpys else None


def _calls_of_methods(function: Callable[..., object], parameter: str, depth: int) -> dict[str, bool]:
    """The methods that a function, and those that it hands a parameter on to, call on it: whether with a `size=`."""
    source = function_parts(function)
    if source is None:
        return {}
    found: dict[str, bool] = {}
    for node in ast.walk(source.tree):
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(method, ast.Attribute) and is_variable(method.value, parameter):
            has_size = any(each.arg == "size" for each in node.keywords)
            found[method.attr] = found.get(method.attr, False) or has_size
    for inner, name in source.receivers(Part(parameter)) if depth else ():
        for name_of, has_size in _calls_of_methods(inner, name, depth - 1).items():
            found[name_of] = found.get(name_of, False) or has_size
    return found


def _make(*, is_old: bool) -> object:
    return np.random.RandomState(_SEED) if is_old else np.random.default_rng(_SEED)
