"""Templates to show, with everything in them that a stage can have, and how templates are compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.model import ArrayValue, Frame, OtherValue, Stage, TreeValue, Value
from shapecheck.templates import Template
from shapecheck.templates.template_views import FORMATS

BAD = '</script><script>document.title = "owned"</script><img src=x onerror="document.title=1">&lt;'

NET = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Net(eqx.Module):
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, d_in: int, d_model: int, *, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.hidden = eqx.nn.Linear(d_in, d_model, key=k1)
        self.out = eqx.nn.Linear(d_model, 3, key=k2)

    def __call__(self, x: Float[Array, "batch d_in"]) -> Float[Array, "batch 3"]:
        return jax.vmap(self.out)(jax.nn.relu(jax.vmap(self.hidden)(x)))
"""


def array(*shape: str, dtype: str = "float32") -> ArrayValue:
    return ArrayValue(dtype, shape)


def record(kind: str, **parts: Value) -> TreeValue:
    return TreeValue("node", kind, tuple(parts), tuple(parts.values()))


def stage(path: str, kind: str, output: Value, *children: Stage, **changes: object) -> Stage:
    """A stage to vary: it takes `x: f32[batch,48]`."""
    values: dict[str, object] = {
        "label": path.rpartition(".")[2],
        "callable": f"{kind}.__call__",
        "call": 0,
        "under": (),
        "input": (("x", array("batch", "48")), ("key", array("2", dtype="uint32"))),
        "state": (),
        "params": sum(child.params for child in children),
        "param_bytes": sum(child.param_bytes for child in children),
        "source": Frame("pkg/model.py", 12, f"{kind}.__call__"),
    }
    return Stage(path=path, type=kind, output=output, children=children, **{**values, **changes})  # type: ignore[arg-type]


def template(*stages: Stage, target: str = "pkg/model.py:Net", dims: tuple[tuple[str, str], ...] = ()) -> Template:
    whole = Template(target, dims, stages, 0)
    return Template(target, dims, stages, sum(1 for _ in whole))


@pytest.fixture
def body() -> Template:
    """A staged model in the manner of feedbax: owners, states, intervenors, operations, a scan, a second call."""
    net = record("NetworkState", hidden=array("50"), output=array("6"), encoding=OtherValue("NoneType"))
    mechanics = record("MechanicsState", plant=record("PlantState", skeleton=array("2"), muscles=array("6", "4")))
    delayed = TreeValue("tuple", "tuple", ("0",), (array("4"),))
    state = record("SimpleFeedbackState", mechanics=mechanics, net=net, feedback=delayed)

    cell = stage("step.net.hidden", "GRUCell", array("50"), params=13_500, param_bytes=54_000, flops=27_000)
    first = stage(
        "step.net",
        "SimpleStagedNetwork",
        net,
        cell,
        owner="SimpleFeedback",
        state=(("state", net),),
        intervenors=("CurlField", "AddNoise"),
        flops="2*batch*13500",
    )
    again = stage("step.net", "SimpleStagedNetwork", net, call=1, params=13_500, param_bytes=54_000)
    channel = stage("step.feedback", "Channel", array("4"), owner="SimpleFeedback", under=("vmap(3)",))
    step = stage(
        "step", "SimpleFeedback", state, channel, first, again, under=("scan(100)",), state=(("state", state),)
    )
    odd = stage("heads['a.b']", "<lambda>", TreeValue("list", "list", ("0",), (array(),)), label="a|`b`", source=None)
    whole = stage("", "Iterator", state, step, odd, label="", input=(("input", array("batch", "4*d")),))
    return template(whole, dims=(("batch", "batch"), ("d", "7")))


@pytest.fixture
def hostile() -> Template:
    """Every text that comes from the user's code is a page of its own."""
    inside = stage(
        BAD,
        BAD,
        record(BAD, **{BAD: array(BAD, dtype=BAD)}),
        callable=BAD,
        under=(BAD,),
        input=((BAD, array("n")),),
        state=((BAD, OtherValue(BAD)),),
        owner=BAD,
        intervenors=(BAD,),
        flops=BAD,
        source=Frame(BAD, 1, BAD),
    )
    return template(stage("", BAD, array("n"), inside), target=BAD, dims=((BAD, BAD),))


@pytest.fixture
def many() -> Template:
    """2,001 stages."""
    shape = array("batch", "48")

    def leaf(path: str) -> Stage:
        return stage(path, "Linear", shape, params=100, param_bytes=400)

    def block(path: str) -> Stage:
        attn, mlp = f"{path}.attn", f"{path}.mlp"
        parts = (
            leaf(f"{path}.ln1"),
            stage(attn, "Attention", shape, leaf(f"{attn}.qkv"), leaf(f"{attn}.proj")),
            leaf(f"{path}.ln2"),
            stage(mlp, "MLP", shape, leaf(f"{mlp}.up"), leaf(f"{mlp}.act"), leaf(f"{mlp}.down")),
        )
        return stage(path, "Block", shape, *parts)

    blocks = [block(f"blocks[{index}]") for index in range(200)]
    return template(stage("", "Net", shape, *blocks), dims=(("batch", "batch"),))


@pytest.fixture
def shown() -> Callable[[Template], dict[str, str]]:
    """Place and type -> input and output, as the table for a pull request shows them."""

    def rows(template: Template) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in FORMATS["markdown"](template).splitlines():
            cells = [cell.strip(" `") for cell in line.split("|")]
            if line.startswith("| `"):
                found[f"{cells[1]}: {cells[2]}"] = f"{cells[3]} -> {cells[4]}"
        return found

    return rows


@pytest.fixture
def net() -> str:
    """The source of a model of two layers."""
    return NET
