"""`shapecheck compare A B`, as it is typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from shapecheck.cli import main
from shapecheck.evaluate.compare.comparison_inputs import read_arrays
from shapecheck.evaluate.inputs.project.user_examples import ExampleError, fit_arguments

PORT = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Port(eqx.Module):
    first: eqx.nn.Linear
    out: eqx.nn.Linear

    def __call__(self, inputs, scale=1.0):
        return jax.vmap(self.out)(jax.nn.relu(jax.vmap(self.first)(inputs))) * scale


def port():
    import net

    model = net.Net(key=jax.random.PRNGKey(3))
    return Port(model.hidden, model.out)
"""
NET = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, d_in: int = 4, d_model: int = 6, *, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.hidden = eqx.nn.Linear(d_in, d_model, key=k1)
        self.out = eqx.nn.Linear(d_model, 3, key=k2)

    def __call__(self, x: Float[Array, "batch d_in"]) -> Float[Array, "batch 3"]:
        return jax.vmap(self.out)(jax.nn.relu(jax.vmap(self.hidden)(x)))


def net():
    return Net(key=jax.random.PRNGKey(3))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET)
    Path("port.py").write_text(PORT)


def test_an_edit_is_compared_with_what_was_committed(folder: None, capsys: pytest.CaptureFixture[str]) -> None:
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]
    for words in (["init", "-q"], ["add", "net.py"], commit):
        subprocess.run(["git", *words], check=True)
    Path("net.py").write_text(NET.replace("jax.nn.relu", "jax.nn.gelu"))
    assert main(["compare", "HEAD:net.py:Net", "net.py:Net", "--format", "json"]) == 1
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert {s["path"]: s["equal"] for s in found["stages"]} == {"": False, "hidden": True, "out": False}
    assert found["conclusion"].startswith("First divergent stage: the whole (net.py:15). Its inputs and its parameters")
    assert "Made-up inputs of HEAD:net.py:Net, seed 0: x float32[68,4] normal" in told.err
    assert main(["compare", "HEAD~9:net.py:Net", "net.py:Net"]) == 2
    assert "Error: HEAD~9:net.py:Net: git knows no revision 'HEAD~9'" in capsys.readouterr().err


def test_a_port_takes_the_inputs_of_a_file_under_its_own_names(
    folder: None, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("batch.npz", x=np.ones((2, 4)))
    asked = ["compare", "port.py:port", "net.py:net", "--inputs", "batch.npz", "--map", "first=hidden"]
    assert main([*asked, "--color", "always"]) == 0
    told = capsys.readouterr()
    assert "Equal: 3 stages within" in told.out
    assert "Made" not in told.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["net.py", "net.py:Net"], "'net.py' names no model"),
        (["net.py:Net", "net.py:Net", "--map", "hidden"], "--map hidden: the form is old=new"),
        (["HEAD:net.py:Net", "net.py:Net"], "git rev-parse --show-toplevel: fatal: not a git repository"),
        (["net.py:Net", "net.py:Net", "--arg", "f32[2 5]"], "contracting dimensions to have the same shape"),
    ],
)
def test_what_is_wrong_is_told(args: list[str], message: str, folder: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *args]) == 2
    assert message in capsys.readouterr().err


def test_inputs_of_one_callable_are_those_of_another() -> None:
    def port(inputs: int, attention_mask: int = 0, *, key: int = 0) -> None: ...

    assert fit_arguments(port, [], {}, {"x": 1, "key": 2}) == ([], {"inputs": 1, "key": 2})
    assert fit_arguments(port, [], {}, {"attention_mask": 3, "x": 1}) == ([], {"inputs": 1, "attention_mask": 3})
    assert fit_arguments(port, [5], {}, {"x": 1}) == ([], {"attention_mask": 1})
    assert fit_arguments(lambda x: None, [], {}, {"y": 1, "key": 2}) == ([], {"x": 1})
    with pytest.raises(ExampleError, match=r"port\(inputs.* does not take all 3 inputs \(a, b, c\)"):
        fit_arguments(port, [], {}, {"a": 1, "b": 2, "c": 3})


def test_files_of_inputs_give_values(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    header = json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    values = np.asarray([1.5, -2], np.float32)
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + values.tobytes())
    assert {name: array.tolist() for name, array in read_arrays(str(tmp_path / "x.npy")).items()} == {"": [0, 1, 2]}
    assert read_arrays(str(tmp_path / "x.safetensors"))["x"].tolist() == [1.5, -2]
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    with pytest.raises(ExampleError, match="cannot be read: Object arrays cannot be loaded"):
        read_arrays(str(tmp_path / "objects.npy"))
