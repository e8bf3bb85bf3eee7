"""Names that JAX and NumPy have taken away, with what goes by another name today.

Research code stays as it was written. What only was renamed is given its new name, and said; what behaves otherwise
today is none of these. Sources: the change logs of JAX (0.3 to 0.6) and of NumPy (1.20 to 2.0).
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator, Mapping

_TREES = ("flatten", "leaves", "map", "reduce", "structure", "transpose", "unflatten")

_RENAMED: Mapping[str, str] = {
    **{f"jax.tree_{name}": f"jax.tree_util.tree_{name}" for name in _TREES},
    "jax.tree_multimap": "jax.tree_util.tree_map",
    "jax.tree_util.tree_multimap": "jax.tree_util.tree_map",
    "jax.config.config": "jax.config",
    "jax.random.KeyArray": "jax.Array",
    "jax.random.PRNGKeyArray": "jax.Array",
    "jax.numpy.DeviceArray": "jax.Array",
    "jax.interpreters.xla.DeviceArray": "jax.Array",
    "jax.linear_util": "jax.extend.linear_util",
    "jax.experimental.stax": "jax.example_libraries.stax",
    "jax.experimental.optimizers": "jax.example_libraries.optimizers",
    "jax.experimental.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.pjit.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.maps.Mesh": "jax.sharding.Mesh",
    "jax.nn.normalize": "jax.nn.standardize",
    "jax.numpy.trapz": "jax.scipy.integrate.trapezoid",
    "jax.numpy.in1d": "jax.numpy.isin",
    "jax.numpy.round_": "jax.numpy.round",
    "jax.numpy.row_stack": "jax.numpy.vstack",
    "jax.numpy.product": "jax.numpy.prod",
    "jax.numpy.cumproduct": "jax.numpy.cumprod",
    "jax.numpy.alltrue": "jax.numpy.all",
    "jax.numpy.sometrue": "jax.numpy.any",
    **{f"numpy.{name}": f"builtins.{name}" for name in ("int", "float", "bool", "complex", "object", "str")},
    "numpy.float_": "numpy.float64",
    "numpy.complex_": "numpy.complex128",
    "numpy.unicode_": "numpy.str_",
    "numpy.Inf": "numpy.inf",
    "numpy.Infinity": "numpy.inf",
    "numpy.NaN": "numpy.nan",
    "numpy.in1d": "numpy.isin",
    "numpy.trapz": "numpy.trapezoid",
    "numpy.round_": "numpy.round",
    "numpy.row_stack": "numpy.vstack",
    "numpy.product": "numpy.prod",
    "numpy.cumproduct": "numpy.cumprod",
    "numpy.alltrue": "numpy.all",
    "numpy.sometrue": "numpy.any",
}


def find_renamed(name: str) -> tuple[str, object] | None:
    """What goes by another name today, and that name; None if nothing does."""
    new = _RENAMED.get(name)
    try:
        return (new.removeprefix("builtins."), pkgutil.resolve_name(new)) if new is not None else None
    except (ImportError, AttributeError):  # an older version
        return None


def uses_of_renamed(tree: ast.Module) -> Iterator[ast.Attribute]:
    """The attributes in a file that are such names, by what it imports: `jnp.product` of `import jax.numpy as jnp`."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(
                (a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                for a in node.names
            )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.update((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = ast.unparse(node).partition(".")
            if f"{modules.get(root, '')}.{rest}" in _RENAMED:
                yield node
