"""Static shape checks for JAX: annotations, comments and docstrings, held against abstract evaluation.

Importing this package imports nothing but the standard library, so production code may use `example`
wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from shapecheck.templates import Template

__version__ = "0.1.0"
__all__ = ["__version__", "example", "template"]

_F = TypeVar("_F", bound=Callable[[], object])


def example(function: _F) -> _F:
    """Mark a function of no arguments that returns `(callable, *args)` as an example for the checker.

    It is evaluated abstractly, so `jnp.zeros((8, 512))` costs nothing. An argument may also be a jaxtyping type such
    as `Int[Array, "batch seq"]`: it becomes an abstract array, and its names become free dims. Raises TypeError for
    anything but a plain function.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(
            "@shapecheck.example goes, without brackets, on a function of no arguments "
            f"that returns (callable, *args); not on {function!r}"
        )
    function.__dict__["__shapecheck_example__"] = True
    return function


def template(model: Any, *args: Any, **kwargs: Any) -> Template:
    """The stages of `model(*args, **kwargs)` with their shapes; nothing computes.

    Arguments may be arrays, `jax.ShapeDtypeStruct`, or jaxtyping types such as `Float[Array, "batch 48"]`, whose names
    are free dims. Arguments that are left out are made up from what the model's signature says of them. Raises
    ValueError for what cannot be evaluated.
    """
    from shapecheck.stage.staging.live import evaluate, problems, title  # noqa: PLC0415 - not to mark examples only
    from shapecheck.templates import of_runs  # noqa: PLC0415

    with problems():
        return of_runs(title(model), evaluate(model, args, kwargs))
