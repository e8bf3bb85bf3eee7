"""Static shape checks for JAX: annotations, comments and docstrings, held against abstract evaluation.

Importing this package imports nothing but the standard library, so production code may use `example`
wherever it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import Unpack

    from shapecheck.commands.check_report import CheckReport, CheckRunError
    from shapecheck.comparison import Comparison
    from shapecheck.config.config_keywords import CheckOptions
    from shapecheck.runtime.errors import NonFinite, ShapeMismatch
    from shapecheck.runtime.runtime_checks import ImportHook
    from shapecheck.templates import Template

__version__ = "0.1.0"
__all__ = [
    "CheckReport",
    "CheckRunError",
    "NonFinite",
    "ShapeMismatch",
    "__version__",
    "check",
    "compare",
    "example",
    "install_import_hook",
    "runtime_checks",
    "template",
]

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


def check(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ".",
    *,
    config: str | os.PathLike[str] | None = None,
    **options: Unpack[CheckOptions],
) -> CheckReport:
    """Check a file or folder, or several, as the command `shapecheck check` does.

    `config` is a file to read in place of the nearest pyproject.toml with `[tool.shapecheck]`; `options` are those of
    that table, with underscores, and win over it: `check("src", select=["SC2"], tests=False)`. Iterating over the
    result gives the findings; its `claims` have each claim with its verdict, bindings and assumptions; its `template`
    gives the stages of a model in these files. Nothing is printed; your code runs in a process of its own. Raises
    CheckRunError where the command ends with exit code 2.
    """
    from shapecheck.commands.check_report import check_paths  # noqa: PLC0415 - not for examples

    return check_paths(paths, config, options)


def compare(
    a: Callable[..., object],
    b: Callable[..., object],
    *args: object,
    rtol: float | None = None,
    atol: float | None = None,
    map: Mapping[str, str] | None = None,
    **kwargs: object,
) -> Comparison:
    """Call two models with the same arguments, as they are, jitted or not, and compare their stages one by one.

    `b` is the reference: equal is what differs by no more than `atol + rtol * |b|`, which is, unless you say so, what
    rounding brings about. `map` gives stages of `a` the names that they have in `b`:
    `{"blocks": "layers", "blocks[*].attn": "layers[*].attention"}`. Raises ValueError for what cannot be compared.
    """
    from shapecheck.comparison import Comparison  # noqa: PLC0415 - as below
    from shapecheck.evaluate.live.live_comparison import compare, title  # noqa: PLC0415
    from shapecheck.model import Tolerance  # noqa: PLC0415

    tolerance = Tolerance(rtol, atol)
    compared = compare(a, b, args, kwargs, map or {}, tolerance)
    return Comparison.of(title(a), title(b), compared, tolerance)


def template(model: object, *args: object, flops: bool | None = None, **kwargs: object) -> Template:
    """The stages of `model(*args, **kwargs)` with their shapes; nothing computes.

    Arguments may be arrays, `jax.ShapeDtypeStruct`, or jaxtyping types such as `Float[Array, "batch 48"]`, whose names
    are free dims. Arguments that are left out are made up from what the model's signature says of them. Raises
    ValueError for what cannot be evaluated.

    With `flops=True` it is estimated what each stage costs, as by `shapecheck template --flops`. `flops` is not given
    to the model: one that has such a parameter itself raises ValueError, and goes into a function that gives it.
    """
    from shapecheck.evaluate.live.live_template import check_parameter_names, evaluate, problems, title  # noqa: PLC0415 - not for examples
    from shapecheck.templates import of_runs  # noqa: PLC0415

    with problems():
        if flops is not None:
            check_parameter_names(model, "flops")
        return of_runs(title(model), evaluate(model, args, kwargs, flops=bool(flops)))


def runtime_checks(
    *packages: str,
    shapes: bool = True,
    numerics: str | Sequence[str] = (),
    prints: str | Sequence[str] = (),
    log: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    show: str | Sequence[str] = (),
    show_output: str | os.PathLike[str] | None = None,
    on_failure: str = "raise",
    nan_only: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> AbstractContextManager[None]:
    """Check what runs in a `with` block: functions of `packages`, or of all files under `root` (the working directory).

    `shapes` holds each call against its claims, and raises `ShapeMismatch`. `numerics` ("outputs", "grads", "ops")
    looks for NaN and infinity in what stages and claimed values give, in their gradients, or in every operation, and
    raises `NonFinite`; with `nan_only` it lets infinity pass, as masks hold it. `prints` are globs of stages
    (`blocks[0].*`) and variables (`function.x`), or `grad:` and such a glob; `log` is a file for a record of each
    stage ("-" is stderr), or several. `show` are globs of what is drawn into the HTML page `show_output`. With
    `on_failure="warn"` a failure is logged, with "breakpoint" the debugger opens. JAX traces functions anew in the
    block, and after it. Raises ValueError for unknown options.
    """
    from shapecheck.runtime import runtime_checks  # noqa: PLC0415 - not to mark examples only

    return runtime_checks.runtime_checks(
        runtime_checks.options_of(
            packages,
            root,
            shapes=shapes,
            numerics=numerics,
            prints=prints,
            log=log,
            show=show,
            show_output=show_output,
            on_failure=on_failure,
            nan_only=nan_only,
        )
    )


def install_import_hook(
    *packages: str,
    shapes: bool = True,
    numerics: str | Sequence[str] = (),
    prints: str | Sequence[str] = (),
    log: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    show: str | Sequence[str] = (),
    show_output: str | os.PathLike[str] | None = None,
    on_failure: str = "raise",
    nan_only: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> ImportHook:
    """Check whatever is imported from now on, of `packages` or of all files under `root`; as `runtime_checks`.

    The result's `uninstall()` ends it, as does the end of a `with` block; modules that were imported keep their checks.
    """
    from shapecheck.runtime import runtime_checks  # noqa: PLC0415 - not to mark examples only

    return runtime_checks.ImportHook(
        runtime_checks.options_of(
            packages,
            root,
            shapes=shapes,
            numerics=numerics,
            prints=prints,
            log=log,
            show=show,
            show_output=show_output,
            on_failure=on_failure,
            nan_only=nan_only,
        )
    )


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Make this package a plugin: `pytest -p shapecheck`."""
    from shapecheck.runtime.pytest_plugin import add_options  # noqa: PLC0415 - pytest may not be there

    add_options(parser, pluginmanager)


def load_ipython_extension(ipython: object) -> None:
    """Check the cells that run, and the user's files that are imported, from now on: `%load_ext shapecheck`."""
    from shapecheck.notebooks import extension  # noqa: PLC0415 - not to mark examples only

    extension.load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """Check them no more: `%unload_ext shapecheck`."""
    from shapecheck.notebooks import extension  # noqa: PLC0415 - likewise

    extension.unload(ipython)


def __getattr__(name: str) -> Any:
    if name in ("CheckRunError", "CheckReport"):
        from shapecheck.commands import check_report  # noqa: PLC0415 - not to mark examples only

        return getattr(check_report, name)
    if name in ("NonFinite", "ShapeMismatch"):
        from shapecheck.runtime import errors  # noqa: PLC0415 - not to mark examples only

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if os.environ.get("SHAPECHECK_DEBUG"):  # the user asks for checks
    from shapecheck.runtime.autostart import begin_on_import

    begin_on_import()
