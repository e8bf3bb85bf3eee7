"""`shapecheck sample`, and the commands that take what it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shapecheck.cli import main

SOURCE = """\
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class GPT(eqx.Module):
    embed: eqx.nn.Embedding
    positions: Array

    def __init__(self, vocab: int = 101, d_model: int = 32, *, key: PRNGKeyArray):
        self.embed = eqx.nn.Embedding(vocab, d_model, key=key)
        self.positions = jnp.zeros((64, d_model))

    def __call__(self, tokens: Int[Array, "batch seq"], mask: Bool[Array, "batch seq"], *, key: PRNGKeyArray):
        x = jax.vmap(jax.vmap(self.embed))(tokens) + self.positions[: tokens.shape[1]]
        return jnp.where(mask[..., None], x, 0)


class Batch(NamedTuple):
    observed: Float[Array, "batch 5"]
    labels: Int[Array, "batch"]


def loss(batch: Batch, weight: Float[Array, "5 7"]) -> Float[Array, ""]:
    return ((batch.observed @ weight) * jax.nn.one_hot(batch.labels, 7)).mean()


def tables(parts: dict[str, Float[Array, "batch 5"]], pair: tuple[Float[Array, "batch"], Float[Array, "3"]]):
    return sum(part.sum() for part in parts.values()) + pair[0].sum() + pair[1].sum()


def variadic(left: Float[Array, "m k"], *rest):
    return left @ rest[0]


def product(left: Float[Array, "m k"], right: Float[Array, "k n"]) -> Float[Array, "m n"]:
    return left @ right
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(SOURCE)


def contents(file: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: (archive[name].dtype.name, archive[name].shape) for name in archive.files}


def test_a_model_gets_tokens_below_its_vocabulary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "--batch", "3", "--size", "seq=40", "m.py:GPT"]) == 0
    assert contents("batch.npz") == {"tokens": ("int32", (3, 40)), "mask": ("bool", (3, 40))}
    tokens = np.load("batch.npz")["tokens"]
    assert tokens.min() >= 0
    assert 50 < tokens.max() < 101
    written = capsys.readouterr()
    assert written.out.splitlines() == [
        "Wrote batch.npz, seed 0",
        "  tokens  int32[3,40]  0 .. 100",
        "  mask    bool[3,40]   true or false",
    ]
    assert written.err == "Not in the file: key, a random key.\n"


def test_the_same_seed_gives_the_same_file_and_another_does_not() -> None:
    for file, seed in (("a.npz", "1"), ("b.npz", "1"), ("c.npz", "2")):
        assert main(["sample", "m.py:loss", "--seed", seed, "--output", file]) == 0
    first, second, other = (Path(name).read_bytes() for name in ("a.npz", "b.npz", "c.npz"))
    assert first == second != other


@pytest.mark.parametrize(
    ("target", "arrays"),
    [
        ("loss", {"batch.observed": (2, 5), "batch.labels": (2,), "weight": (5, 7)}),
        ("tables", {"parts.a": (2, 5), "pair.0": (2,), "pair.1": (3,)}),
    ],
)
def test_what_is_nested_comes_back_in_template_and_compare(
    target: str, arrays: dict[str, tuple[int, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", f"m.py:{target}"]) == 0
    assert {name: shape for name, (_, shape) in contents("batch.npz").items()} == arrays
    assert main(["template", f"m.py:{target}", "--data", "batch.npz"]) == 0
    assert "f32[2,5]" in capsys.readouterr().out
    assert main(["compare", f"m.py:{target}", f"m.py:{target}", "--data", "batch.npz"]) == 0
    compared = capsys.readouterr()
    assert "Equal: 1 stage" in compared.out
    assert compared.err == ""


def test_tables_have_the_keys_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(
        "own.npz",
        **{"parts.x": np.ones((4, 5)), "parts.y": np.ones((4, 5)), "pair.0": np.ones(4), "pair.1": np.ones(3)},
    )
    assert main(["template", "m.py:tables", "--data", "own.npz"]) == 0
    assert "parts={x=f32[4,5], y=f32[4,5]}, pair=(f32[4], f32[3])" in capsys.readouterr().out


def test_arguments_without_names_go_by_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "m.py:variadic", "--arg", "f32[2 3]", "--arg", "f32[3 4]"]) == 0
    assert list(contents("batch.npz")) == ["left", "rest.0"]
    assert main(["template", "m.py:variadic", "--data", "batch.npz"]) == 0
    assert "-> f32[2,4]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("batch.observed", "batch.labels", "weights"),
            "has no parameter 'weights'; did you mean 'weight'?; it takes batch, weight",
        ),
        (
            ("batch.observed", "batch.label", "weight"),
            "batch is a Batch with batch.observed, batch.labels; did you mean 'labels'?",
        ),
        (("batch.observed", "batch.labels"), "own.npz has no weight, as loss takes"),
        (("batch", "batch.labels", "weight"), "the file has batch, and batch.labels too"),
    ],
)
def test_names_that_do_not_fit_are_an_error(
    names: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = {"batch.observed": (2, 5), "weight": (5, 7), "weights": (5, 7)}
    np.savez("own.npz", **{name: np.ones(shapes.get(name, (2,)), np.float32) for name in names})
    assert main(["template", "m.py:loss", "--data", "own.npz"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["m.py:loss", "--size", "batsh=3"], "no axis is called 'batsh'; did you mean 'batch'?"),
        (["m.py:product", "--batch", "2"], "arguments have the axes k, m, n; --size k=2 sets one of these"),
        (["m.py:loss", "--size", "seq"], "--size seq: the form is NAME=N"),
        (["m.py:loss", "--output", "x.txt"], "the name of such a file ends in .npz"),
        (
            ["m.py:GPT", "--size", "seq=80"],
            "it cannot be evaluated: Incompatible shapes for broadcasting: shapes=[(2, 80, 32), (64, 32)] (m.py:18)\n",
        ),
    ],
)
def test_what_would_change_nothing_or_cannot_be_is_an_error(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", *args]) == 2
    assert message in capsys.readouterr().err
    assert not list(Path().glob("*.npz"))


def test_a_batch_that_is_there_is_not_written_over_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("batch.npz").write_bytes(b"mine")
    assert main(["sample", "m.py:loss"]) == 2
    assert "--output batch.npz writes over it" in capsys.readouterr().err
    assert Path("batch.npz").read_bytes() == b"mine"
