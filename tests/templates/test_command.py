"""`shapecheck template TARGET`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import shapecheck
from shapecheck.cli import main
from shapecheck.evaluate.inputs.project.user_examples import ExampleError, ShapeText, read_argument
from shapecheck.evaluate.stages.debug_batch import batch

MAKE = """

def make(width: int = 5):
    return Net(4, width, key=jax.random.PRNGKey(0))


class Config:
    def __init__(self, width: int, depth: int = 1):
        self.width = width


def configured(cfg: Config, seed: int = 0):
    return Net(4, cfg.width, key=jax.random.PRNGKey(seed))


VERSION = 3
"""


@pytest.fixture
def model(net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(net + MAKE)
    Path("broken.py").write_text("raise ValueError('not today')\n")


@pytest.mark.parametrize(
    ("args", "root", "hidden"),
    [
        (["net.py:Net", "--init", "d_in=4,d_model=6"], "f32[batch,4]", "f32[6]"),
        (["net:Net", "--init", "d_in=4", "--init", "d_model=6", "--arg", "f32[8 4]"], "f32[8,4]", "f32[6]"),
        (["net.py:Net", "--init", "d_in=4,d_model=6", "--arg", "x=@batch.npy"], "f32[7,4]", "f32[6]"),
        (["net.py:make"], "f32[batch,4]", "f32[5]"),
        (["net.py:configured", "--init", "cfg.width=6,cfg.depth=2,seed=1"], "f32[batch,4]", "f32[6]"),
    ],
)
def test_a_target_is_evaluated(
    args: list[str], root: str, hidden: str, model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("batch.npy", np.zeros((7, 4)))
    assert main(["template", *args, "--format", "json"]) == 0
    told = capsys.readouterr()
    assert "Made up" not in told.err or "make" in args[0]
    found = json.loads(told.out)
    (stage,) = found["stages"]
    assert (stage["type"], stage["input"]["x"], stage["source"]) == ("Net", root, {"path": "net.py", "line": 15})
    assert [(c["path"], c["output"]) for c in stage["children"]] == [("hidden", hidden), ("out", "f32[3]")]
    assert found["total"]["stages"] == 3
    assert found["total"]["param_bytes"] == 4 * found["total"]["params"]


UNIONS = """
from jaxtyping import Array, Float, Int, Shaped

def pick(
    x: Float[Array, "n d"] | Int[Array, " n"],
    y: Shaped[Array, "*any"],
    z: Float[Array, " n"] | None = None,
    w: Float[Array, " n"] | float = 1.0,
):
    return x
"""


@pytest.mark.parametrize(
    "arguments", [("f32[3 4]", "bool[2]"), ("i32[5]", "f32[]", "z=f32[5]"), ("[3 4]", "u8[1]", "w=i32[]")]
)
def test_what_an_annotation_leaves_open_is_taken(
    arguments: tuple[str, ...], model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("unions.py").write_text(UNIONS)
    options = [word for text in arguments for word in ("--arg", text)]
    assert main(["template", "unions.py:pick", *options]) == 0, capsys.readouterr().err
    assert main(["template", "unions.py:pick", "--arg", "i32[3 4]", "--arg", "f32[]"]) == 2
    assert 'x: Float[Array, "n d"] | Int[Array, "n"]' in capsys.readouterr().err


def test_files_of_batches_give_shapes(tmp_path: Path) -> None:
    np.save(tmp_path / "batch.npy", np.zeros((7, 4), np.float16))
    np.savez(tmp_path / "batch.npz", x=np.zeros((7, 4)))
    np.savez(tmp_path / "two.npz", x=np.zeros((7, 4)), y=np.zeros(3, int))
    header = json.dumps({"x": {"dtype": "BF16", "shape": [7, 4], "data_offsets": [0, 56]}}).encode()
    (tmp_path / "batch.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(56))
    found = {file.name: batch(str(file)) for file in sorted(tmp_path.iterdir())}
    two = found.pop("two.npz")
    assert isinstance(two, dict)
    assert {name: shape.spec for name, shape in two.items()} == {"x": "7 4", "y": "3"}
    dtypes = {name: (shape.dtype, shape.spec) for name, shape in found.items() if isinstance(shape, ShapeText)}
    assert dtypes == {
        "batch.npy": ("Float16", "7 4"),
        "batch.npz": ("Float32", "7 4"),
        "batch.safetensors": ("BFloat16", "7 4"),
    }
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    with pytest.raises(ExampleError, match=r"its header cannot be read \(JAX has no object\)"):
        batch(str(tmp_path / "objects.npy"))


@pytest.mark.parametrize("text", ["f32[4", "f33[4]", "f32[4 +]", "f32[-1 4]"])
def test_what_is_no_shape_is_told(text: str) -> None:
    with pytest.raises(ExampleError, match="is not a shape"):
        read_argument(text)


def test_what_cannot_be_called_is_told() -> None:
    with pytest.raises(ValueError, match="is of type int, which cannot be called"):
        shapecheck.template(3)


def test_an_installed_model(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "in_size=3,out_size=2,width_size=4,depth=1"
    assert main(["template", "equinox.nn:MLP", "--init", sizes, "--arg", "f32[3]", "--format", "markdown"]) == 0
    assert "| `layers[1]` | Linear | `f32[4]` | `f32[2]` | 10 |" in capsys.readouterr().out


def test_the_tree_of_a_made_up_model(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "net.py:Net"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("net.py:Net  with batch\n└── Net  f32[batch,")
    assert "├── hidden Linear vmap(batch)  f32[" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["net.py"], "'net.py' names no model: the form is path/file.py:name or pkg.mod:name"),
        (["nets.py:Net"], "There is no file 'nets.py'."),
        (["net.py:Nett"], "net has no 'Nett'; did you mean 'Net'?"),
        (["broken.py:Net"], "importing broken raised ValueError: not today"),
        (["no.such.module:Net"], "importing no.such.module raised ModuleNotFoundError: No module named 'no'"),
        (["net.py:Net", "--init", "width=3"], "Net has no parameter 'width'"),
        (["net.py:configured", "--init", "cfg.widht=3"], "Config has no parameter 'widht'; did you mean 'width'?"),
        (["net.py:configured", "--init", "conf.width=3"], "configured has no parameter 'conf'"),
        (["net.py:Net", "--init", "d_in"], "--init d_in: the form is name=value"),
        (["net.py:Net", "--init", "cfg.=3"], "--init cfg.=3: the form is name=value"),
        (["net.py:Net", "--arg", "@batch.csv"], "@batch.csv: .csv is not .npy, .npz, .safetensors"),
        (["net.py:Net", "--filter", "nets"], "--filter: net.py:Net has no stage with such a path as 'nets'"),
        (["net.py:Net", "--init", "d_in=4,d_model=6", "--arg", "f32[8 5]"], "net.py:Net cannot be evaluated: "),
        (
            ["net.py:Net", "--init", "d_in=4,d_model=6", "--arg", "f32[4]"],
            'the argument x = f32[4] does not fit x: Float[Array, "batch d_in"], as Net.__call__ annotates it: '
            "it has 1 axis, and not 2",
        ),
        (
            ["net.py:Net", "--init", "d_in=4,d_model=6", "--arg", "x=i32[*lead 4]"],
            'the argument x = i32[*lead 4] does not fit x: Float[Array, "batch d_in"], as Net.__call__ annotates it: '
            "its dtype is no Float",
        ),
    ],
)
def test_what_is_wrong_is_told(args: list[str], message: str, model: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", *args]) == 2
    assert f"Error: {message}" in capsys.readouterr().err


def test_defaults_stay_as_they_are_and_what_is_made_up_is_told(
    net: str, model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("deep.py").write_text(net.replace("d_in: int, d_model: int, *, key", "d_in: int, d_model: int = 20, *, key"))
    assert main(["template", "deep.py:Net", "--format", "markdown"]) == 0
    told = capsys.readouterr()
    assert "| `hidden vmap(batch)` | Linear | `f32[48]` | `f32[20]` |" in told.out
    assert "Made up, for nobody gave them: d_in=48." in told.err


TWO = """

class Two(Net):
    def __init__(self, d_in: int, d_model: int, kind, *, key: PRNGKeyArray):
        super().__init__(d_in, d_model, key=key)

    def __call__(self, x, table):
        return super().__call__(x) + table["bias"]


class Halves(eqx.Module):
    net: Net

    def __init__(self, d_whole: int, d_half: int, *, key: PRNGKeyArray):
        self.net = Net(d_half, d_whole, key=key)

    def __call__(self, x: Float[Array, "batch d_whole"]) -> Array:
        return self.net(x)


def make_two(d_in, d_model):
    return Net(d_in, d_model, key=jax.random.PRNGKey(0)), None


class Never(eqx.Module):
    net: Net

    def __init__(self, d_big: int, d_small: int, *, key: PRNGKeyArray):
        self.net = Net(d_big + (d_big == d_small), 4, key=key)

    def __call__(self, x: Float[Array, "batch d_small"]) -> Array:
        return self.net(x)


def needs_values():
    return Net(int(jax.random.randint(jax.random.PRNGKey(0), (), 3, 9)), 4, key=jax.random.PRNGKey(0))


class Holder:
    def __init__(self):
        self.forward = make_two


HOLDER = Holder()


def make_nothing(size):
    return lambda x: x


class Rows(Net):
    def __init__(self, d_in: int, d_model: int, *, key: PRNGKeyArray):
        super().__init__(d_in, d_model, key=key)

    def __call__(self, x, w):
        return jax.vmap(lambda a, b: self.hidden(a) + b)(x, w)


class Carries(Net):
    def __init__(self, d_in: int, d_model: int, *, key: PRNGKeyArray):
        super().__init__(d_in, d_model, key=key)

    def __call__(self, x):
        return jax.lax.scan(lambda c, _: (jax.numpy.ones(self.hidden.in_features), None), x, None, length=3)


def drop(tokens, keep_mask, train, deterministic):
    return tokens * (2 if train else 1) * (3 if not deterministic else 1)


def make_number(size):
    return size
"""


@pytest.mark.parametrize(
    ("args", "remedies"),
    [
        (["Two"], ["--init kind=..."]),
        (
            ["Two", "--init", "kind=1"],
            [
                "--init kind=1 --arg 'table=f32[batch 48]' (or a value: "
            ],  # x goes to the base class, which says what it is
        ),
        (["make_nothing"], ["--arg 'size=f32[batch 48]'", "--init size=..."]),
        (["make_nothing", "--init", "size=3"], ["make_nothing --init size=3 --arg 'x=f32[batch 48]'"]),
        (["make_number", "--init", "size=3"], ["is of type int, which is no model"]),
        (["Never"], ["d_big=48, d_small=80. Another size may fit: shapecheck template two.py:Never --init d_big=80"]),
        (["Never", "--init", "d_big=4,d_small=5"], ["Free sizes are batch: --arg gives an argument other sizes."]),
        (["needs_values"], ["it needs values: call it in the module, as in `MODEL = make()`"]),
        (["HOLDER"], ["which cannot be called; name what can be, two:HOLDER.forward for example"]),
        (["Net", "--arg", "f32[7 4]"], ["d_in=48, d_model=80. Another size", "--arg 'f32[7 4]' --init d_in=4"]),
        (
            ["Net", "--arg", "f32[]"],
            ["Made up, for nobody gave them: d_in=48, d_model=80. --init and --arg choose"],
        ),
        (["Two", "--init", "kind=1", "--arg", "x=f32[7 48]", "--arg", "table={}"], ["KeyError: 'bias'"]),
        # what the first line of JAX's message only announces
        (
            ["Rows", "--arg", "f32[7 48]", "--arg", "f32[8 80]"],
            [
                "array axes to be mapped: one axis had size 7: axis 0 of argument",
                "d_model=80. --init and --arg choose others.",  # a place is no size
            ],
        ),
        (["Carries", "--arg", "f32[20]"], ["has type float32[20] but", "--init d_in=20"]),
    ],
)
def test_what_cannot_be_evaluated_has_a_remedy(
    net: str, args: list[str], remedies: list[str], model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.py").write_text(net + TWO)
    assert main(["template", f"two.py:{args[0]}", *args[1:]]) == 2
    told = capsys.readouterr().err
    assert [remedy for remedy in remedies if remedy not in told] == []


def test_what_has_the_name_of_an_array_needs_no_remedy(
    net: str, model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.py").write_text(net + TWO)
    assert main(["template", "two.py:drop"]) == 0
    assert "drop  tokens=i32[dim3], keep_mask=bool[dim4] -> i32[dim3]" in capsys.readouterr().out


def test_what_is_true_or_false_by_its_name_need_not_be_given(
    net: str, model: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.py").write_text(net + TWO)
    assert main(["template", "two.py:drop", "--arg", "i32[n]", "--arg", "bool[n]", "--format", "markdown"]) == 0
    assert "| `i32[n]` |" in capsys.readouterr().out


def test_equal_sizes_that_are_made_up_are_told(net: str, model: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.py").write_text(net + TWO)
    assert main(["template", "two.py:Halves"]) == 0
    assert "Made up, for nobody gave them: d_half=48, d_whole=48." in capsys.readouterr().err


def test_a_random_key_is_an_argument(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("noise.py").write_text("import jax\n\n\ndef noise(x, k):\n    return x + jax.random.normal(k, x.shape)\n")
    assert main(["template", "noise.py:noise", "--arg", "f32[n]", "--arg", "k=key[]", "--format", "markdown"]) == 0
    told = capsys.readouterr()
    assert "`x=f32[n], k=key<fry>[]`" in told.out
    assert told.err == ""


def test_what_was_made_up_to_find_a_factory_is_not_told(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("embed.py").write_text("def embed(tokens, n_heads):\n    return tokens[..., None] * n_heads\n")
    assert main(["template", "embed.py:embed", "--arg", "i32[T]", "--arg", "f32[]"]) == 0
    assert capsys.readouterr().err == ""


PAIRS = """\
def both(pair, table):
    return pair[0] @ table["w"], pair[1]


def fails(width: int = 3):
    raise RuntimeError("not today")


def contracted(x):
    y = x @ x
    return y
"""


def test_shapes_stand_in_containers_without_quotes(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pairs.py").write_text(PAIRS)
    pair = ["--arg", "(f32[4 5], f32[n])", "--arg", "{'w': f32[5 6]}"]
    assert main(["template", "pairs.py:both", *pair, "--format", "markdown"]) == 0
    assert "(f32[4,6], f32[n])" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("fails", "called with all that it needs, raised RuntimeError: not today"),
        ("contracted", "(pairs.py:10, in contracted; with x: float32[3, 4])"),
    ],
)
def test_what_fails_says_where(target: str, said: str, model: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pairs.py").write_text(PAIRS)
    assert main(["template", f"pairs.py:{target}", "--arg", "f32[3 4]"]) == 2
    assert said in capsys.readouterr().err
