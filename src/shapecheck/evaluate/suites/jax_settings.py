"""JAX's settings as the files of tests leave them on import.

Where only some of the files are imported, tests must still find what the others have set: the precision, say.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import jax

from shapecheck.evaluate.framework_protocol import framework_facts

Settings = Mapping[str, bool | int | float | str | None]

_PREFIXES = ("JAX_", "XLA_")


def settings() -> Settings:
    """All settings by name, environment variables included."""
    found = {f"config:{n}": v for n, v in jax.config.values.items() if isinstance(v, bool | int | float | str | None)}
    prefixes = (*_PREFIXES, *framework_facts("variables"))
    return {**found, **{f"environ:{n}": v for n, v in os.environ.items() if n.startswith(prefixes)}}


def changed_settings(before: Settings) -> Settings:
    """What differs from before."""
    return {name: value for name, value in settings().items() if name not in before or before[name] != value}


def put_back(values: Settings) -> None:
    """Set what was set."""
    for name, value in values.items():
        kind, _, key = name.partition(":")
        if kind == "environ":
            os.environ[key] = str(value)
        else:
            with contextlib.suppress(Exception):  # what another JAX lacks, or sets only once
                jax.config.update(key, value)
