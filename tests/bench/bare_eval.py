"""Import one model file and evaluate its `GPT` by bare `jax.eval_shape`: what `bench_check.py` compares with.

With `--probes on|off` it times the evaluation alone, the file compiled with our probes or without, and prints seconds.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp


def load(path: Path, probed: bool) -> ModuleType:
    """The file as a module, with our probes compiled in or untouched."""
    if probed:
        from shapecheck import claims
        from shapecheck.evaluate.own_errors import HANDLE
        from shapecheck.evaluate.probes.ast_probes import instrument
        from shapecheck.evaluate.probes.probe_runtime import ModuleProbe
        from shapecheck.evaluate.probes.recorder import Recorder

        found = claims.read_module(str(path), path.read_bytes())
        tree: Any = instrument(path.read_bytes(), str(path), found.scopes, found.sites)
        handle = {HANDLE: ModuleProbe(Recorder({str(path): "model.py"}), "model.py", found.scopes, found.sites)}
    else:
        tree, handle = path.read_text(), {}
    module = ModuleType("model")
    sys.modules["model"] = module
    vars(module).update(handle)
    exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - a fixture of ours
    return module


def evaluate(module: ModuleType) -> None:
    """Construct the GPT and call it, abstractly."""
    names = inspect.signature(module.GPT).parameters
    config = next((v for n, v in vars(module).items() if n.endswith("Config")), None)

    def run(tokens: jax.Array) -> Any:
        key = jax.random.PRNGKey(0)
        model = module.GPT(config(), key=key) if config and "config" in names else module.GPT(key=key)
        return model(tokens)

    eqx.filter_eval_shape(run, jax.ShapeDtypeStruct((64,), jnp.int32))


def main() -> None:
    """Evaluate once, or several times with the clock running."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--probes", choices=["on", "off"])
    arguments = parser.parse_args()
    module = load(arguments.file, arguments.probes == "on")
    if arguments.probes is None:
        evaluate(module)
        return
    best = float("inf")
    for _ in range(5):
        jax.clear_caches()
        start = time.perf_counter()
        evaluate(module)
        best = min(best, time.perf_counter() - start)
    print(f"{best:.6f}")


if __name__ == "__main__":
    main()
