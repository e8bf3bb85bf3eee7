"""Examples that the user wrote: in the code by the decorator, and as tables of the configuration."""

from __future__ import annotations

import sys

import pytest

from shapecheck import claims
from shapecheck.worker.messages.plans import ConfiguredExample, ModulePlan, WorkerSettings
from shapecheck.worker.supervisor import Limits, Supervisor

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from shapecheck import example
"""

CASES = {
    "decorated.py": """
def project(x, w):
    y = x @ w  # (n, m)
    z = y.T  # (n, m)  ~SC201
    return y

@example
def free_and_concrete():
    return project, Float[Array, "n 6"], jnp.zeros((6, 4))
""",
    "statics.py": """
def pick(x, i, times, mode="drop"):
    z = x[i]  # (k, d)
    y = jnp.repeat(z, times, axis=0)  # (3*k, d)
    return y  # (k, d)  ~SC201

@example
def three_times():
    return pick, Float[Array, "n d"], Int[Array, "k"], 3, "clip"
""",
    "model.py": """
class Net(eqx.Module):
    w: Array
    def __init__(self, spec: str, d: int):
        a, b = spec.split("x")
        self.w = jnp.zeros((d, int(a) * int(b)))
    def __call__(self, x, mask):
        y = x @ self.w  # (b, s, classes)
        z = y * mask[..., None]  # (b, classes, s)  ~SC201
        return z

@example
def small():
    return Net("3x4", 5), Float[Array, "b s 5"], Float[Array, "b s"]
""",
    # nothing computes: the arrays would take a terabyte
    "huge.py": """
def double(x):
    return x * 2  # (n, m)

@example
def huge():
    return double, jnp.zeros((500_000, 500_000))
""",
    "does_not_fit.py": """
def project(x, w):
    return x @ w ~SC301

@example
def wrong_inner():
    return project, Float[Array, "n 6"], Float[Array, "5 m"]
""",
    # one finding, not one for all that follows from it
    "misfit.py": """
def double(
    x: Float[Array, "a b"], ~SC202
) -> Float[Array, "a b"]: ~unreached
    y = x * 2  # (a, b) ~unreached
    return y

@example
def three_axes():
    return double, Float[Array, "a b c"]
""",
    "configured.py": """
class Net(eqx.Module):
    w: Array
    def __init__(self, spec: str, d: int):
        self.w = jnp.zeros((d, int(spec)))
    def __call__(self, x, *, scale=1.0):
        y = x @ self.w * scale  # (b, s, classes)
        return y  # (b, classes, s)  ~SC201
    def score(self, x, flag):
        assert flag is True
        return x @ self.w  # (7, b)  ~SC201

def free(x, *, steps):
    for _ in range(steps):
        x = jnp.concatenate([x, x])
    return x  # (8*n, 6)
""",
}

CONFIG = """
[[tool.shapecheck.example]]
call = "configured:Net"
init = { spec = "7", d = 5 }
args = ["f32[b s 5]"]
kwargs = { scale = 2.0 }

[[tool.shapecheck.example]]
call = "configured:Net"
init = { spec = "7", d = 5 }
method = "score"
args = ["f32[b, 5]", true]

[[tool.shapecheck.example]]
call = "configured.py:free"
args = ["f32[n 6]"]
kwargs = { steps = 3 }
"""


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()}, CONFIG)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("configured.py", "model.py")])
def test_claims_are_verified_and_wrong_ones_found(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


@pytest.mark.parametrize("name", ["configured.py", "model.py"])
def test_models_that_nobody_can_construct_are_reached(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


SPEC = {"spec": "7"}
NET, FREE = "configured:Net", "configured:free"

# what is wrong with a table -> what its error says
WRONG = {
    "configured:Nett": ({}, "call = 'configured:Nett': configured has no 'Nett'; did you mean 'Net'?"),
    "configure:Net": ({}, "no checked file is the module 'configure'; did you mean 'configured'?"),
    "init": ({"call": NET, "init": {"spec": "7", "dd": 5}}, "Net has no parameter 'dd'; did you mean 'd'?"),
    "method": ({"call": NET, "init": SPEC, "method": "scores"}, "Net has no method 'scores'; did you mean 'score'?"),
    "bracket": ({"call": FREE, "args": ("f32[b 5",)}, "'f32[b 5' is not a shape: write it as \"f32[batch seq 48]\""),
    "dtype": ({"call": FREE, "args": ("float99[b 5]",)}, "'float99[b 5]' is not a shape: write it as"),
    "dims": ({"call": FREE, "args": ("f32[b 5 +]",)}, "'f32[b 5 +]' is not a shape ("),
    "too few": (
        {"call": NET, "init": SPEC},
        "do not fit Net.__call__(self, x, *, scale=1.0): missing a required argument: 'x'",
    ),
    "too many": ({"call": NET, "init": SPEC, "args": (1, 2)}, "scale=1.0): too many positional arguments"),
    "keyword": (
        {"call": NET, "init": SPEC, "args": (1,), "kwargs": {"scal": 1}},
        "Net.__call__ has no parameter 'scal'; did you mean 'scale'?",
    ),
    "constructor": (
        {"call": NET, "init": {"spec": "seven"}, "args": (1,)},
        "constructing Net with made-up arguments raised ValueError",
    ),
    "no class": ({"call": FREE, "init": {}, "args": (1,)}, "init is for classes, and 'configured:free' names none"),
}

# what is wrong with a decorated function -> what its error says
BROKEN = {
    "raises": ("():\n    raise RuntimeError('no data')", "raises raised RuntimeError: no data"),
    "no_tuple": ("():\n    return Float[Array, 'n']", "no_tuple must return (callable, *args), not "),
    "bad_shape": ("():\n    return double, Float[Array, '*n *m']", "bad_shape raised ValueError: "),
    "too_many": ("():\n    return double, 1, 2", "the arguments do not fit double(x): too many positional arguments"),
    "parameters": ("(x):\n    return double, x", "parameters must take no arguments"),
}


@pytest.fixture(scope="module")
def reasons(tmp_path_factory):
    """What one worker says of all wrong examples, each by itself."""
    folder = tmp_path_factory.mktemp("wrong")
    decorated = "".join(f"@example\ndef {name}{text}\n\n" for name, (text, _) in BROKEN.items())
    (folder / "configured.py").write_text(HEAD + CASES["configured.py"].replace("~SC201", ""))
    (folder / "decorated.py").write_text(f"{HEAD}\ndef double(x):\n    return x * 2\n\n{decorated}")
    plans = []
    for file in sorted(folder.iterdir()):
        module = claims.read_module(file.name, file.read_bytes())
        plans.append(
            ModulePlan(
                file=str(file),
                path=file.name,
                root=str(folder),
                name=file.stem,
                scopes=module.scopes,
                sites=module.sites,
            )
        )
    tables = tuple(ConfiguredExample(**{"call": name, **table}) for name, (table, _) in WRONG.items())
    settings = WorkerSettings(memory=8, examples=tables, config_file="pyproject.toml")
    supervisor = Supervisor(plans, [p.path for p in plans], settings, limits=Limits(), cwd=folder)
    runs = [run[0] for run in supervisor.run([sys.executable]).runs]
    assert {r.status for r in runs if r.origin in ("config", "example")} == {"failed"}
    configured = dict(zip(WRONG, (r.reason for r in runs if r.origin == "config"), strict=True))
    return configured | {r.target.partition(":")[2]: r.reason for r in runs if r.origin == "example"}


@pytest.mark.parametrize("name", [*WRONG, *BROKEN])
def test_a_wrong_example_is_told_with_what_to_change(reasons, name: str) -> None:
    assert {**WRONG, **BROKEN}[name][1] in reasons[name]


def test_a_wrong_example_is_told_beside_what_the_others_show(check_folder) -> None:
    text = (
        f"{HEAD}\ndef double(x):\n    return x * 2  # shape: (n, m)\n\n"
        "@example\ndef broken():\n    raise OSError('no data')\n\n"
        "@example\ndef fine():\n    return double, Float[Array, 'n']\n"
    )
    report = check_folder({"cases.py": text}, "[[tool.shapecheck.example]]\ncall = 'cases:doubel'").report
    assert [f.code for f in report.findings] == ["SC201"]
    assert "cases.py:10: cases:broken: broken raised OSError: no data" in report.broken
    assert any("example 1 (cases:doubel)" in b and "did you mean 'double'" in b for b in report.broken)
    assert len(report.broken) == 2


_KEEPS_NO_SIZE = """
import equinox as eqx
import jax


class Head(eqx.Module):
    out: eqx.nn.Linear

    def __init__(self, d_model, *, key):
        self.out = eqx.nn.Linear(d_model, 3, key=key)

    def __call__(self, x):
        h = jax.vmap(self.out)(x)  # shape: (seq, d_model) ~SC201
        y = jax.vmap(self.out)(x)  # shape: (seq, colours)
        return h + y
"""


def test_an_example_gives_comments_the_constructor_s_sizes(check_folder) -> None:
    config = '[[tool.shapecheck.example]]\ncall = "model:Head"\ninit = {d_model = 48}\nargs = ["f32[seq 48]"]'
    folder = check_folder({"model.py": _KEEPS_NO_SIZE}, config)
    assert folder.cases["model.py"].as_marked()
    (finding,) = folder.cases["model.py"].findings
    assert "d_model=48 (d_model in Head.__init__)" in " ".join(finding.details)
    # Nothing says what `colours` is: the comment holds, but not as one whose sizes were all compared.
    summary = folder.report.summary
    assert (summary.verified, summary.verified_for_all_sizes, summary.verified_loosely) == (1, 0, 1)
    assert folder.report.loose[0].reason == "nothing else binds colours"


def test_a_table_of_shapes_is_an_argument(check_folder) -> None:
    text = """
def apply(params, xs):
    h = xs[0] @ params["w"] + params["b"]  # shape: (b, d)
    wrong = xs[1] @ params["w"]  # shape: (d, b) ~SC201
    return h, wrong
"""
    config = """
[[tool.shapecheck.example]]
call = "cases:apply"
args = [{w = "f32[48 d]", b = "f32[d]"}, ["f32[b 48]", "f32[b 48]"]]
"""
    assert check_folder({"cases.py": text}, config).cases["cases.py"].as_marked()
