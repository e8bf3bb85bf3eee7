"""What checks in the running program cost a jitted training step, beside the same step without them.

    python tests/bench/bench_runtime.py --rounds 9

The model is fixtures/gpt without its wrong comments, trained by optax.adam. Each variant is compiled once, with its
checks; then the steps of all variants take turns in one process. The loop is one of Python, whose functions have
claims, so that there is something to check outside of `jit` as well.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

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
    return step


def main() -> None:
    """Print the ratios, medians with the range."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--sizes", type=int, nargs=4, default=(8, 64, 4, 128), metavar=("BATCH", "SEQ", "LAYERS", "WIDTH")
    )
    parser.add_argument("--steps", type=int, default=20, help="a round")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(right(GPT.read_text("utf-8")), "utf-8")
        Path(folder, "loop.py").write_text(LOOP, "utf-8")
        sys.path.insert(0, folder)
        steps = {"bare": step_of(folder, arguments.sizes, None)}
        steps |= {name: step_of(folder, arguments.sizes, options) for name, options in VARIANTS.items()}
        times: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(arguments.rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                for _ in range(arguments.steps):
                    step()
                times[name].append((time.perf_counter() - start) / arguments.steps)
    print(f"bare: {1000 * statistics.median(times['bare']):.1f} ms a step, {jax.default_backend()}")
    aims = {"shapes": "1.02", "outputs": "1.5"}
    for name in VARIANTS:
        each = [ours / bare for ours, bare in zip(times[name], times["bare"], strict=True)]
        aim = f" (aim: at most {aims[name]})" if name in aims else ""
        print(f"{name}: {statistics.median(each):.3f} [{min(each):.3f}..{max(each):.3f}]{aim}")


if __name__ == "__main__":
    main()
