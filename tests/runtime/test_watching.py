"""Stages and variables in numbers while the program runs, and a record of each stage in a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

TEXT = """
import jax
import jax.numpy as jnp
import equinox as eqx


class Scale(eqx.Module):
    by: float

    def __call__(self, x):
        scaled = x * self.by
        return scaled


class Model(eqx.Module):
    blocks: list[Scale]

    def __init__(self):
        self.blocks = [Scale(2.0), Scale(3.0)]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x.sum()
"""


def of(model: Any) -> Any:
    """The call of a model as a function, which JAX can hash."""

    def call(x: Any) -> Any:
        return model(x)

    return call


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    jax.effects_barrier()
    return capfd.readouterr().err.splitlines()


@pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_stages_that_match_are_printed(load: Any, capfd: pytest.CaptureFixture[str], way: Any) -> None:
    module = load(TEXT, prints=("blocks[1]",))
    model = module.Model()
    jax.block_until_ready(way(of(model))(jnp.array([1.0, 2.0])))
    (line,) = printed(capfd)
    assert line.startswith("stage blocks[1] (Scale at ")
    assert line.endswith(" f32[2]  6 .. 12  mean 9  norm 13.4164")


def test_under_vmap_a_line_tells_of_all_examples(load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    module = load(TEXT, prints=("blocks[*]",))
    model = module.Model()
    jax.block_until_ready(jax.jit(jax.vmap(model))(jnp.ones((4, 2))))
    first, second = printed(capfd)
    assert "f32[4,2]  2  mean 2" in first and "f32[4,2]  6  mean 6" in second


def test_variables_are_printed_and_their_gradients(load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    module = load(TEXT, prints=("Scale.__call__.scaled", "grad:scaled"))
    model = module.Model()
    jax.block_until_ready(jax.jit(jax.grad(of(model)))(jnp.array([1.0, 2.0])))
    lines = printed(capfd)
    values = [(line.startswith("gradient of Scale.__call__.scaled"), line.split("  ")[1]) for line in lines]
    assert sorted(values) == [(False, "2 .. 4"), (False, "6 .. 12"), (True, "1"), (True, "3")]


def test_the_log_has_a_record_of_each_stage_that_ran(
    load: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "stages.log"
    module = load(TEXT, log=(str(log), "-"))
    model = module.Model()
    run = jax.jit(jax.vmap(model))
    for _ in range(2):
        jax.block_until_ready(run(jnp.ones((4, 2))))
    load.session.stop()
    text = log.read_text("utf-8")
    records = text.strip().split("\n\n")
    assert [record.count("Callable: Scale(by=") for record in records] == [1, 1, 0, 1, 1, 0]
    assert 'Stage: "blocks[0]"' in records[0] and "Model type: Model" in records[0]
    assert "x = f32[2]" in records[0] and "Batch: 4" in records[0] and "MiB" in records[0]
    assert capfd.readouterr().err == text and not (tmp_path / "-").exists()


def test_a_glob_that_matches_nothing_prints_nothing_and_is_told(
    load: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    module = load(TEXT, prints=("blocks[7]", "blocks[0]", "grad:nobody.*", "grad:blocks[0]"))
    module.Model()(jnp.ones(2))
    assert {line.split()[1] for line in printed(capfd)} == {"blocks[0]"}
    load.session.stop()
    said = [record.message for record in caplog.records]
    assert len(said) == 3
    assert said[0].startswith("--print blocks[7]: no stage and no variable of that name has run; there is blocks[")
    assert said[1].startswith("--print grad:nobody.*: ")
    assert said[2] == "--print grad:blocks[0]: it has run, but no gradient with respect to it was computed"


@pytest.mark.parametrize(("numerics", "claim", "count"), [("outputs", "", 1), ("outputs", "# (n,)", 0), ("ops", "", 0)])
def test_that_there_was_nothing_to_look_for_nan_in_is_told(
    load: Any, caplog: pytest.LogCaptureFixture, numerics: str, claim: str, count: int
) -> None:
    text = f"def f(x):\n    n, = x.shape\n    y = x * 2  {claim}\n    return y\n"
    load(text, numerics=(numerics,)).f(jnp.ones(3))
    load.session.stop()
    said = [record.message for record in caplog.records if "nothing was looked at" in record.message]
    assert len(said) == count


def test_stages_of_flax_nnx(load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("flax")
    module = load(
        """
        from flax import nnx

        class Net(nnx.Module):
            def __init__(self):
                self.up = nnx.Linear(2, 3, rngs=nnx.Rngs(0))

            def __call__(self, x):
                return self.up(x)
        """,
        prints=("up", "Net"),
    )
    module.Net()(jnp.ones((4, 2)))
    first, second = printed(capfd)
    assert first.startswith("stage up (Linear at ") and second.startswith("stage Net at ")


def test_nothing_is_looked_at_after_the_end(load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    module = load(
        """
        import jax.numpy as jnp
        from jaxtyping import Array, Float

        def root(x: Float[Array, " n"]) -> Float[Array, " n"]:
            y = jnp.sqrt(x)  # (n,)
            return y
        """,
        numerics=("outputs",),
        prints=("root.y",),
    )
    load.session.stop()
    assert jnp.isnan(module.root(jnp.array([-1.0]))).all()
    assert printed(capfd) == []
