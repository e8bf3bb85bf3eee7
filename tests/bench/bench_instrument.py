"""Instrument whole packages and take it back: byte for byte, and with the same shapes in between.

    python tests/bench/bench_instrument.py            the fixtures, and the installed equinox, optax and diffrax
    python tests/bench/bench_instrument.py FOLDER...  these

Then an instrumented copy of equinox is imported, and its layers are evaluated abstractly beside the original ones.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from shapecheck.claims import read_module
from shapecheck.rewrite import RewriteError, RewriteOptions, instrument, remove

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "shapes": RewriteOptions(shapes=True),
    "numerics": RewriteOptions(numerics=True, breakpoint=True),
    "everything": RewriteOptions(shapes=True, numerics=True, breakpoint=True, prints=("*",)),
}
LAYERS = """
import equinox as eqx, jax, jax.numpy as jnp
key = jax.random.PRNGKey(0)
f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
nn = eqx.nn
cases = {
    "Linear": (lambda: nn.Linear(3, 4, key=key), [f32(3)]),
    "MLP": (lambda: nn.MLP(3, 4, 8, 2, key=key), [f32(3)]),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, key=key), [f32(3, 16)]),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, stride=2, key=key), [f32(3, 17, 18)]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, key=key), [f32(3, 7, 8)]),
    "GRUCell": (lambda: nn.GRUCell(3, 4, key=key), [f32(3), f32(4)]),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4, key=key), [f32(3), (f32(4), f32(4))]),
    "LayerNorm": (lambda: nn.LayerNorm(5), [f32(5)]),
    "RMSNorm": (lambda: nn.RMSNorm(5), [f32(5)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 6), [f32(6, 5)]),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(2, 6, key=key), [f32(5, 6), f32(7, 6), f32(7, 6)]),
    "RotaryPositionalEmbedding": (lambda: nn.RotaryPositionalEmbedding(6), [f32(5, 6)]),
    "Embedding": (lambda: nn.Embedding(9, 4, key=key), [jax.ShapeDtypeStruct((), jnp.int32)]),
    "PReLU": (lambda: nn.PReLU(), [f32(5)]),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, 2), [f32(3, 8, 8)]),
    "AvgPool1d": (lambda: nn.AvgPool1d(2, 2), [f32(3, 8)]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(3), [f32(2, 8, 8)]),
    "Dropout": (lambda: nn.Dropout(inference=True), [f32(5)]),
}
print(eqx.__file__.count("copy"))
for name, (make, arguments) in cases.items():
    for way in (lambda f: f, eqx.filter_jit):
        print(name, eqx.filter_eval_shape(lambda *a: way(make())(*a), *arguments))
"""


def main() -> None:
    """Round trips, then the shapes."""
    named = [Path(argument) for argument in sys.argv[1:]]
    folders = named or [ROOT / "fixtures", *(installed(name) for name in ("equinox", "optax", "diffrax"))]
    print("package files seconds checked partly left identical")
    for folder in folders:
        print(folder.name, *round_trips(folder))
    if not named:
        print("equinox, instrumented:", same_shapes(installed("equinox")))


def installed(package: str) -> Path:
    """The folder of an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed")
    return Path(spec.origin).parent


def round_trips(folder: Path) -> tuple[object, ...]:
    """Insert and take out, for each file and each set of options."""
    started, count, total = time.perf_counter(), 0, Counter[str]()
    for file in sorted(folder.rglob("*.py")):
        data = file.read_bytes()
        for name, options in OPTIONS.items():
            try:
                result = instrument(file.name, data, options)
            except RewriteError as error:
                print(f"  {file}: {error}")
                continue
            same = remove(file.name, result.data) == data
            again = instrument(file.name, result.data, options).data == result.data
            claims = [claim.spec for claim in read_module("m.py", data).claims]
            total["bad"] += not (same and again and claims == [c.spec for c in read_module("m.py", result.data).claims])
            compile(result.data, str(file), "exec", dont_inherit=True)
            if name == "shapes":
                total.update(
                    checked=result.outcome.checked, partly=result.outcome.partly, left=len(result.outcome.left)
                )
        count += 1
    seconds = f"{time.perf_counter() - started:.1f}"
    return count, seconds, total["checked"], total["partly"], total["left"], "no" if total["bad"] else "yes"


def same_shapes(package: Path) -> str:
    """Whether the layers of an instrumented copy give the shapes that the original ones give."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy", package.name)
        shutil.copytree(package, copy)
        shutil.copytree(package, Path(folder, "plain", package.name))
        for file in copy.rglob("*.py"):
            file.write_bytes(instrument(file.name, file.read_bytes(), OPTIONS["shapes"]).data)
        told = [layers(Path(folder, name)) for name in ("plain", "copy")]
        lines = [text.splitlines() for text in told]
        same = lines[0][1:] == lines[1][1:] and (lines[0][0], lines[1][0]) == ("0", "1")
        return f"{len(lines[1]) - 1} evaluations, {'the same shapes' if same else 'OTHER SHAPES'}"


def layers(folder: Path) -> str:
    """What the layers of the equinox in a folder give."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", LAYERS]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=folder).stdout


if __name__ == "__main__":
    main()
