"""What checks in the running program cost a jitted training step, beside the same step without them.

    python tests/bench/bench_runtime.py --pairs 400

The model is fixtures/gpt without its wrong comments, trained by optax.adam. Each variant is compiled once, with its
checks; then single steps of all variants take turns in one process, and what is told is the median of their ratios to
the bare step beside them, with an interval of 95 %. `bare again` is a second one without checks, compiled last: where
its interval does not hold 1, the machine is too busy to tell. The loop is one of Python, whose functions have claims,
so that there is something to check outside of `jit` as well.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import shapecheck

GPT = Path(__file__).parents[2] / "fixtures" / "gpt" / "model.py"
LOOP = """
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

import model as gpt


def loss_of(model: gpt.GPT, tokens: Int[Array, "batch seq"]) -> Float[Array, ""]:
    logits = jax.vmap(model)(tokens[:, :-1])  # (batch, seq-1, vocab)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])  # (batch, seq-1)
    return losses.mean()


def make(batch, seq, layers, width):
    config = gpt.Config(n_layer=layers, n_head=4, n_embd=width, vocab_size=512, block_size=seq)
    model = gpt.GPT(config, key=jax.random.PRNGKey(0))
    optimiser = optax.adam(1e-3)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def update(model, state, tokens):
        loss, grads = eqx.filter_value_and_grad(loss_of)(model, tokens)
        updates, state = optimiser.update(grads, state)
        return eqx.apply_updates(model, updates), state, loss

    def step(tokens: Int[Array, "batch seq"]) -> Float[Array, ""]:
        nonlocal model, state
        model, state, loss = update(model, state, tokens)  # loss: ()
        return jax.block_until_ready(loss)

    tokens = jax.random.randint(jax.random.PRNGKey(1), (batch, seq), 0, 512)
    return lambda: step(tokens)
"""
VARIANTS: dict[str, dict[str, Any]] = {
    "shapes": {},
    "outputs": {"shapes": False, "numerics": "outputs"},
    "grads": {"shapes": False, "numerics": "grads"},
}
AIMS = {"shapes": "1.02", "outputs": "1.5"}
_BLOCK = 10  # rows


def right(text: str) -> str:
    """The fixture without its mistakes, which would be found."""
    text = text.replace('Float[Array, "vocab_size"]', 'Float[Array, "T vocab_size"]')
    return re.sub(r"  # .*  # E: SC\d+", "", text)


def step_of(folder: str, sizes: Sequence[int], options: dict[str, Any] | None) -> Callable[[], Any]:
    """A training step of a model of its own, which has run once. The checks that it was compiled with stay in it."""
    for name in ("model", "loop"):
        sys.modules.pop(name, None)
    if options is None:
        import loop

        step: Callable[[], Any] = loop.make(*sizes)
        step()
        return step
    hook = shapecheck.install_import_hook(root=folder, **options)
    import loop

    step = loop.make(*sizes)
    step()
    hook.uninstall()
    hook._session._frameworks.close()  # the stages of the next variants are none of its own
    return step


def times_of(steps: Mapping[str, Callable[[], Any]], pairs: int) -> dict[str, np.ndarray[Any, Any]]:
    """Seconds of each single step, all variants in each row, in an order of its own.

    So what slows the machine down for longer than some steps slows all variants down, and none runs always behind
    the same other one.
    """
    found = {name: np.empty(pairs) for name in steps}
    order, shuffled = list(steps), random.Random(0)  # noqa: S311 - no secret
    gc.collect()
    gc.disable()  # its pauses are many steps long, and belong to none
    try:
        for row in range(pairs):
            shuffled.shuffle(order)
            for name in order:
                start = time.perf_counter()
                steps[name]()
                found[name][row] = time.perf_counter() - start
    finally:
        gc.enable()
    return found


def ratio(ours: np.ndarray[Any, Any], bare: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    """The median of the rows' ratios, and its bootstrapped interval of 95 %.

    Rows are drawn in blocks of neighbours, which other load on the machine makes alike.
    """
    each = ours / bare
    generator, block = np.random.default_rng(0), min(_BLOCK, len(each))
    starts = generator.integers(0, len(each) - block + 1, (2000, max(1, len(each) // block)))
    drawn = each[(starts[..., None] + np.arange(block)).reshape(len(starts), -1)]
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return float(np.median(each)), float(low), float(high)


def main() -> None:
    """Print the ratios, medians with their intervals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=400, help="steps of each variant that are compared")
    parser.add_argument(
        "--sizes", type=int, nargs=4, default=(8, 64, 4, 128), metavar=("BATCH", "SEQ", "LAYERS", "WIDTH")
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(right(GPT.read_text("utf-8")), "utf-8")
        Path(folder, "loop.py").write_text(LOOP, "utf-8")
        sys.path.insert(0, folder)
        variants = {"bare": None, **VARIANTS, "bare again": None}
        steps = {name: step_of(folder, arguments.sizes, options) for name, options in variants.items()}
        times_of(steps, 10)  # until all is warm
        times = times_of(steps, arguments.pairs)
    print(f"bare: {1000 * np.median(times['bare']):.1f} ms a step, {jax.default_backend()}")
    for name in ["bare again", *VARIANTS]:  # first, what the method itself is worth
        middle, low, high = ratio(times[name], times["bare"])
        aim = f" (aim: at most {AIMS[name]})" if name in AIMS else ""
        print(f"{name}: {middle:.3f} [{low:.3f}..{high:.3f}]{aim}")


if __name__ == "__main__":
    main()
