"""Code for several devices is evaluated on one CPU that pretends to have some; what devices lack is no shape error."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.trials.multiples import with_multiples
from shapecheck.worker import spawn

HEAD = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxtyping import Array, Float
try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map
"""

CASES = {
    # how many devices there are is no matter of shapes, nor is what they are laid out as
    "too_many.py": """
def laid_out(x: Float[Array, "b d"]):  ~unreached
    devices = np.array(jax.devices())
    grid = devices.reshape(5, 7)  ~SC302
    return x + len(grid)

def at_once(x: Float[Array, "b d"]):  ~unreached
    return x + len(np.reshape(jax.devices(), (5, 7)))  ~SC302

def of_numbers(x: Float[Array, "b d"]):  ~unreached
    return x + len(np.reshape(np.arange(8), (5, 7)))  ~SC301
""",
    "module_level.py": """
mesh = jax.make_mesh((4, 2), ("data", "model"))
created = Mesh(mesh_utils.create_device_mesh((2, 4)), ("data", "model"))

def summed(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    return x.sum(-1)

def placed(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    y = jax.lax.with_sharding_constraint(x, NamedSharding(created, P("data", None)))  # (b, d)
    return y.sum(-1)
""",
    # Flax asks for a mesh where it is to put variables on devices
    "annotated.py": """
from flax import nnx

class Layer(nnx.Module):
    def __init__(self, d: int, *, rngs: nnx.Rngs):
        make = nnx.with_partitioning(nnx.initializers.xavier_uniform(), (None, "model"))
        self.linear = nnx.Linear(d, 4 * d, kernel_init=make, rngs=rngs)

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]:  ~SC203
        return self.linear(x)
""",
    "in_functions.py": """
def placed(x: Float[Array, "b d"]) -> Float[Array, "d"]:  ~SC203
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    y = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("data", "model")))  # (b, d)
    return y.sum(-1)

def mapped(x: Float[Array, "b d"], w: Float[Array, "d e"]) -> Float[Array, "b e"]:
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
    def local(x, w):
        return jax.lax.psum(x @ w, "model")
    specs = (P("data", "model"), P("model", None))
    out = shard_map(local, mesh=mesh, in_specs=specs, out_specs=P("data", None))(x, w)  # (b, e)
    wrong = out.T  # (b, e)  ~SC201
    return out

def misfit(x: Float[Array, "b 4"]) -> Float[Array, "b 2"]: ~unreached
    mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
    y = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("data", None)))  # (b, 4)  ~unreached
    return y @ jnp.ones((5, 2))  ~SC301
""",
    # what a mesh splits is a multiple of its axes, whatever they are
    "split.py": """
mesh = Mesh(np.array(jax.devices()[:7]), ("data",))

def mapped(x: Float[Array, "b d"], w: Float[Array, "d e"]) -> Float[Array, "b e"]:
    def local(x, w):
        y = jax.lax.all_to_all(x, "data", 1, 0, tiled=True)
        return jax.lax.all_to_all(y, "data", 0, 1, tiled=True) @ w
    out = shard_map(local, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))(x, w)  # (b, e)
    return out

def turned(x: Float[Array, "b d"]) -> Float[Array, "b d"]:  ~SC203
    return shard_map(lambda x: x.T, mesh=mesh, in_specs=P("data"), out_specs=P("data"))(x)

def fixed(x: Float[Array, "10 d"]) -> Float[Array, "10 d"]:  ~unreached
    return shard_map(lambda x: -x, mesh=mesh, in_specs=P("data"), out_specs=P("data"))(x)  ~SC302
""",
    # Neither is a shape error.
    "complaints.py": """
def too_many(x: Float[Array, "b 4"]) -> Float[Array, "b"]: ~unreached
    mesh = jax.make_mesh((4096, 2), ("data", "model"))  ~SC302
    return x.sum(-1)

def unknown_axis(x: Float[Array, "b 4"]) -> Float[Array, "b"]: ~unreached
    mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
    y = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("nowhere")))  ~SC302
    return y.sum(-1)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_meshes_can_be_built(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_symbols_are_multiples_of_what_splits_them(folder) -> None:
    split = [
        each for each in folder.report.verified if each.path == "split.py" and each.claim != 'Float[Array, "10 d"]'
    ]
    assert {each.how for each in split} == {"all sizes"}


@pytest.mark.parametrize(
    ("message", "multiples"),
    [
        ("(of size batch) to mesh axis 'data' (of size 4), but 4 does not evenly divide batch\n\nMore.", {"b": 4}),
        ("(of size 4*batch) ..., but 6 does not evenly divide 4*batch", {"b": 6}),
        ("but 4 does not evenly divide 76", {"d": 4}),
        ("but 8 does not evenly divide 152", {"d": 8}),
        ("The size of all_to_all split_axis (d) has to be divisible by the size of the named axis data (2)", {"d": 2}),
        ("tiled reduce_scatter operand scatter dimension size 75 must be divisible by shard_count 4", {}),
        ("cannot reshape array of shape (76,) into (4, 5)", {}),
    ],
)
def test_what_a_mesh_cannot_split_names_the_multiples(message, multiples) -> None:
    chosen = [("b", "batch"), ("d", "76"), ("d", "d")]
    assert dict(with_multiples(message, chosen, (), ())) == multiples


def test_multiples_of_two_meshes_are_multiples_of_both() -> None:
    assert with_multiples("but 6 does not evenly divide 4*b", [("b", "4*b")], (), (("b", 4),)) == (("b", 12),)


def test_the_way_to_more_devices_is_told(folder) -> None:
    reasons = [each.reason for each in folder.report.unreached if "4096" in each.reason]
    assert reasons
    assert all("--xla_force_host_platform_device_count" in reason for reason in reasons)


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"',
        'jax.config.update("jax_num_cpu_devices", 3)',
    ],
)
def test_what_the_users_code_sets_counts(check_folder, setting: str) -> None:
    text = f"""
import os
import jax
{setting}
NUMBER = jax.device_count()

def f(x: "array of three"):
    '''Add.

    Args:
        x: array of shape (n,).
    '''
    if NUMBER == 3:
        y = x + 1  # (n, n)  ~SC201
"""
    assert check_folder({"m.py": text}).cases["m.py"].as_marked()


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        (None, f"--xla_force_host_platform_device_count={spawn.DEVICES}"),
        ("--xla_dump_to=x", f"--xla_dump_to=x --xla_force_host_platform_device_count={spawn.DEVICES}"),
        ("--xla_force_host_platform_device_count=512", "--xla_force_host_platform_device_count=512"),
    ],
)
def test_the_users_number_of_devices_wins(monkeypatch: pytest.MonkeyPatch, flags: str | None, given: str) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if flags is not None:
        monkeypatch.setenv("XLA_FLAGS", flags)
    assert spawn.environment("")["XLA_FLAGS"] == given
