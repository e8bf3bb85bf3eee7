"""What a template costs beside the bare evaluation of the same model: time for 12 and 96 layers, memory for 70 billion.

    python tests/bench/bench_template.py --rounds 7

The model is fixtures/gpt. Bare is `eqx.filter_eval_shape` of the constructor, then of the call; ours is
`shapecheck.template` of a function that constructs the model, with the same argument. Both forget JAX's caches first,
and take turns in one process. Memory is the peak of a process each (`ru_maxrss`).
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GPT = Path(__file__).parents[2] / "fixtures" / "gpt" / "model.py"
# Layers, heads and width: 1 million parameters with a vocabulary of 1000, and 70 billion.
SIZES = {"1M": (2, 4, 192, 1000), "70B": (80, 64, 8512, 50304)}


def model() -> Any:
    """The fixture as a module."""
    spec = importlib.util.spec_from_file_location("gpt_fixture", GPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpt_fixture"] = module
    spec.loader.exec_module(module)
    return module


def timed(function: Callable[[], Any]) -> float:
    """Seconds for a call that finds nothing in JAX's caches."""
    import jax

    jax.clear_caches()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def ratios(layers: int, rounds: int) -> list[tuple[float, float]]:
    """Seconds of ours and of the bare evaluation, round by round; the first round warms up and is left out."""
    import equinox as eqx
    import jax

    import shapecheck

    gpt = model()
    tokens = jax.ShapeDtypeStruct((16,), "int32")

    def construct() -> Any:
        return gpt.GPT(gpt.Config(n_layer=layers), key=jax.random.PRNGKey(0))

    def bare() -> None:
        eqx.filter_eval_shape(lambda m, x: m(x), eqx.filter_eval_shape(construct), tokens)

    def ours() -> None:
        assert len(list(shapecheck.template(construct, tokens))) > 9 * layers

    return [(timed(ours), timed(bare)) for _ in range(rounds + 1)][1:]


def peak(size: str) -> float:
    """MiB that the template of a model of this size takes at most, in this process."""
    import jax

    import shapecheck

    gpt = model()
    layers, heads, width, words = SIZES[size]
    config = gpt.Config(vocab_size=words, n_layer=layers, n_head=heads, n_embd=width)
    found = shapecheck.template(
        lambda: gpt.GPT(config, key=jax.random.PRNGKey(0)), jax.ShapeDtypeStruct((16,), "int32")
    )
    print(f"{found.params:,} parameters")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the ratios, medians with the range."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peak", choices=list(SIZES), help="only the memory of this one (how the others are run)")
    arguments = parser.parse_args()
    if arguments.peak:
        print(peak(arguments.peak))
        return
    for layers, aim in ((12, 1.0), (96, 0.4)):
        found = ratios(layers, arguments.rounds)
        each = [ours / bare for ours, bare in found]
        ours, bare = (statistics.median(times) for times in zip(*found, strict=True))
        spread = f"{statistics.median(each):.2f} [{min(each):.2f}..{max(each):.2f}]"
        print(f"{layers} layers: {spread} of the bare evaluation, {ours:.2f} s of {bare:.2f} s (aim: at most {aim})")
    peaks = {}
    for size in SIZES:
        command = [sys.executable, __file__, "--peak", size]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        peaks[size] = float(said[-1])
        print(f"{size}: {said[0]}, peak {peaks[size]:.0f} MiB")
    print(f"70B against 1M: {peaks['70B'] / peaks['1M']:.3f} (aim: at most 1.1)")


if __name__ == "__main__":
    main()
