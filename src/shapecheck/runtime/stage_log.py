"""The stage log of a running program: `--log`, a record for each stage that ends."""

from __future__ import annotations

import logging
import logging.handlers
import sys
from typing import Final

import jax
import numpy as np

from shapecheck.evaluate.stages.value_taps import Arrays, Sink
from shapecheck.runtime.runtime_options import STDERR

LOGGER: Final = logging.getLogger("shapecheck.run")
_LARGEST: Final = 10_000_000  # bytes of one file
_KEPT: Final = 3  # files that were full before it
_FORM: Final = "%(asctime)s [%(levelname)s] %(name)s\n%(message)s\n"


def write_to(path: str) -> logging.Handler:
    """Write records to stderr (`-`), or to a file: it is put aside when it is large, and lost when it is old.

    Returns the handler.
    """
    handler: logging.Handler
    if path == STDERR:
        handler = logging.StreamHandler()
    else:
        handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=_LARGEST, backupCount=_KEPT, encoding="utf-8", delay=True
        )
    handler.setFormatter(logging.Formatter(_FORM))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    return handler


def log_sink(record: str, rank: int) -> Sink:
    """A sink that logs a stage: `record` says which. `rank` is that of its first output, without mapped axes."""

    def receive(shapes: list[tuple[int, ...]], parts: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> None:
        mapped = shapes[0][: len(shapes[0]) - rank]
        batch = f"  Batch: {' x '.join(map(str, mapped))}\n" if mapped else ""
        LOGGER.info("%s\n%s  Memory: %s", record, batch, _memory())

    return Sink(_first, receive)


def _first(outs: Arrays, ins: Arrays) -> list[jax.Array]:
    """One number, so that the record is not written before the stage has run."""
    return [outs[0].reshape(-1)[0]]


def _memory() -> str:
    """The most memory that the process had so far."""
    if sys.platform == "win32":
        return "unknown"
    import resource  # noqa: PLC0415 - not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{peak / (1 << 20 if sys.platform == 'darwin' else 1 << 10):.0f} MiB at most"
