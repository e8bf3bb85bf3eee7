"""What the project's own calls write out, for parameters that nothing else describes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.evaluate.inputs.project.call_sites import (
    CallingText,
    CallSites,
    UnknownValueError,
    WrittenArray,
    written_value,
)
from shapecheck.model import Report


def pool(x, size, mode="max"):
    """Stands for a function of the project."""


class Pooler:
    """Stands for a class of the project."""

    def __init__(self, size, *, mode):
        """Take two settings."""


def values(text: str, parameter: str, function: Callable[..., object] = pool) -> list[object]:
    top = __name__.partition(".")[0]
    return list(CallSites(lambda: [CallingText("x.py", f"import {top}\n{text}")]).values(function, parameter))


def test_literals_by_place_and_by_name() -> None:
    assert values("pool(x, 2, mode='mean')", "size") == [2]
    assert values("m.pool(x, (2, 3), mode='mean')", "mode") == ["mean"]
    assert values("pool(x, size={'a': [1, -2.5]})", "size") == [{"a": [1, -2.5]}]
    assert values("Pooler(7, mode='mean')", "size", Pooler) == [7]
    assert values("pool(*xs, 2)\npool(x, **options)\npool(x, len(y))", "size") == []


def test_what_a_call_leaves_out_is_not_known() -> None:
    assert values("pool(x, 2)", "mode") == []


def test_variables_that_are_bound_once_and_defaults_of_callers() -> None:
    assert values("n = 3\npool(x, n)", "size") == [3]
    assert values("n = 3\nn = 4\npool(x, n)", "size") == []
    assert values("for n in (1, 2):\n    pool(x, n)", "size") == []
    assert values("def run(x, n=5):\n    return pool(x, n)", "size") == [5]
    assert values("n = 3\ndef run(x, n):\n    return pool(x, n)", "size") == []
    assert values("n = 3\ndef run(x):\n    return pool(x, n)", "size") == [3]
    assert values("a = b\nb = a\npool(x, a)", "size") == []


def test_a_partial_application_is_a_call() -> None:
    assert values("jax.vmap(functools.partial(pool, size=2, mode='mean'))(x)", "mode") == ["mean"]


def test_arrays_have_as_many_axes_as_is_written() -> None:
    assert values("x = jnp.ones((2, 8, 4))\npool(x, 2)", "x") == [WrittenArray(3, sizes=(2, 8, 4))]
    assert values("pool(jax.random.normal(key, shape=(2, 8)), 2)", "x") == [WrittenArray(2, sizes=(2, 8))]
    assert values("pool(jax.random.randint(key, (2,), 0, 9), 2)", "x") == [WrittenArray(1, "Int", (2,))]
    assert values("pool(jnp.zeros(shape), 2)", "x") == []


def test_calls_that_say_most_come_first_and_each_value_once() -> None:
    assert values("pool(x, 2)\npool(x, 3, mode='mean')\npool(y, 2)", "size") == [3, 2]


def test_a_name_that_two_functions_have_says_nothing() -> None:
    assert values("def pool(a, size): ...\ndef other():\n    def pool(b, size): ...\npool(x, 2)", "size") == []


def settled(text: str) -> dict[str, int]:
    top = __name__.partition(".")[0]
    sites = CallSites(lambda: [CallingText("x.py", f"import {top}\n{text}")])
    return dict(sites.settled_integers(Pooler))


def test_integers_on_which_all_calls_agree_that_leave_others_open() -> None:
    assert settled("def f(n):\n    return Pooler(n, mode=4)") == {"mode": 4}
    assert settled("def f(n):\n    return Pooler(n, mode=4), Pooler(2 * n, mode=4)") == {"mode": 4}
    assert settled("def f(n):\n    return Pooler(n, mode=4), Pooler(n, mode=3)") == {}
    assert settled("Pooler(64, mode=4)") == {}
    assert settled("n = 64\nPooler(n, mode=4)") == {}
    assert settled("def f(n):\n    return Pooler(n, mode='max')") == {}


def test_nothing_is_run() -> None:
    with pytest.raises(UnknownValueError):
        written_value(ast.parse("__import__('os').getpid()", mode="eval").body, {})


MODEL = """\
import jax.numpy as jnp
from jaxtyping import Array, Float

OPS = {"max": jnp.max, "mean": jnp.mean}

def table():
    return OPS

def pool(x: Float[Array, "b t d"], spec, how):
    y = x.reshape(x.shape[0], -1, spec["size"], x.shape[2])  # shape: (b, n, k, d)
    return table()[how](y, axis=2)  # shape: (b, n, d)

class Mixer:
    def __init__(self, dim: int, heads: int):
        if dim % 7 or dim > 40:
            raise ValueError("the dim is unfit")
        self.w = jnp.ones((dim, heads))

    def __call__(self, x: Float[Array, "n dim"]) -> Float[Array, "n heads"]:
        return x @ self.w
"""
README = """\
```python
import pkg.model
data = load()
pkg.model.pool(data, {"size": 1}, how="max")
m = pkg.model.Mixer(21, heads=3, name=data)
```
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    monkeypatch.chdir(tmp_path)

    def check_files(files: Mapping[str, str], *, cache: bool = False) -> Report:
        for name, text in {"pyproject.toml": "[tool.shapecheck]", "pkg/__init__.py": "", **files}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return check([Path("pkg")], load([Path("pkg")], flags={"cache": cache}))

    return check_files


def test_what_calls_write_out_lets_functions_and_models_run(run: Callable[..., Report]) -> None:
    report = run({"pkg/model.py": MODEL, "README.md": README})
    assert (report.summary.unreached, len(report.findings)) == (0, 0)
    assert report.summary.verified_on_invention == report.summary.verified
    assert run({"pkg/model.py": MODEL, "README.md": "# Nothing"}).summary.verified == 0


def test_one_call_proves_nothing_against_a_claim_and_two_that_agree_do(run: Callable[..., Report]) -> None:
    wrong = MODEL.replace("(b, n, d)", "(b, d, n)")
    assert not run({"pkg/model.py": wrong, "README.md": README}).findings
    two = README.replace("m = ", 'pkg.model.pool(data, {"size": 2}, how="mean")\nm = ')
    found = run({"pkg/model.py": wrong, "README.md": two}).findings
    assert [(each.code, each.span.line) for each in found] == [("SC201", 11)]


def test_an_edit_of_a_call_is_seen(run: Callable[..., Report]) -> None:
    files = {"pkg/model.py": MODEL, "README.md": README, "pkg/use.py": "from pkg import model\n"}
    assert run(files, cache=True).summary.unreached == 0
    assert run({**files, "README.md": README.replace("21", "22")}, cache=True).summary.unreached == 2
    use = "from pkg import model\n\ndef build():\n    return model.Mixer(28, heads=2)\n"
    files |= {"README.md": README.replace("21", "n"), "pkg/use.py": use}
    assert run(files, cache=True).summary.unreached == 0


WIDENED = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float

class FeedForward(eqx.Module):
    up: eqx.nn.Linear

    def __init__(self, dim, mult, *, key):
        self.up = eqx.nn.Linear(dim, dim * mult, key=key)

    def __call__(self, x):  # (T, D) -> (T, 4*D)
        return jax.vmap(self.up)(x)  # (T, 4*D)
"""


def test_a_number_that_all_callers_give_is_no_error_of_the_class(run: Callable[..., Report]) -> None:
    use = "from pkg.model import FeedForward\n\ndef build(dim, key):\n    return FeedForward(dim, {}, key=key)\n"
    codes = {}
    for name, text in {"four": use.format(4), "three": use.format(3), "one among many": "FeedForward(8, 4)"}.items():
        codes[name] = {each.code for each in run({"pkg/model.py": WIDENED, "pkg/use.py": text}).findings}
    assert codes == {"four": set(), "three": {"SC201"}, "one among many": {"SC201"}}
