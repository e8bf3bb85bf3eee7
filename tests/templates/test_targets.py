"""What can be evaluated, and with what: models and functions in all the forms that they come in."""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, PRNGKeyArray

import shapecheck
from shapecheck.cli import main
from shapecheck.model import ArrayValue
from shapecheck.templates import Template

Rows = Callable[[Template], dict[str, str]]
KEY = jax.random.PRNGKey(0)
X = jax.ShapeDtypeStruct((3,), "float32")
MLP = eqx.nn.MLP(3, 2, 8, 1, key=KEY)
LINEAR = eqx.nn.Linear(3, 3, key=KEY)


class Auto(eqx.Module):
    encoder: eqx.nn.MLP
    decoder: eqx.nn.Linear

    def encode(self, x: Array) -> Array:
        return self.encoder(x)


AUTO = Auto(MLP, eqx.nn.Linear(2, 3, key=KEY))


def paths(template: Template) -> list[str]:
    """Of modules alone."""
    return [stage.path for stage in template if stage.params]


@eqx.filter_jit
def jitted(model: eqx.nn.Linear, x: Array) -> Array:
    return model(x)


def parted(model: eqx.nn.Linear, x: Array) -> Array:
    arrays, static = eqx.partition(model, eqx.is_array)
    return eqx.combine(arrays, static)(x)


@pytest.mark.parametrize(
    ("target", "args", "expected"),
    [
        (jitted, (LINEAR, X), ["model"]),
        (eqx.filter_value_and_grad(lambda model, x: model(x).sum()), (LINEAR, X), ["model"]),
        (eqx.filter_jit(eqx.filter_vmap(LINEAR)), (jnp.zeros((7, 3)),), [""]),
        (jax.vmap(LINEAR), (jnp.zeros((7, 3)),), [""]),
        (AUTO.encode, (X,), ["", "encoder", "encoder.layers[0]", "encoder.layers[1]"]),
        (LINEAR.__call__, (X,), [""]),
        (parted, (LINEAR, X), ["model"]),
        (
            lambda models, x: models["a"](models["b"][0](x)),
            ({"a": LINEAR, "b": (LINEAR,)}, X),
            ["models['b'][0]", "models['a']"],
        ),
        (lambda models, x: models["a"](x), ({"a": LINEAR, "b": MLP}, X), ["models['a']"]),
    ],
)
def test_models_have_their_places_however_they_are_given(target: Any, args: Any, expected: list[str]) -> None:
    assert paths(shapecheck.template(target, *args)) == expected


class Carry(NamedTuple):
    mu: Array
    count: Array


def test_containers_of_arguments_stay_what_they_are() -> None:
    def step(model: eqx.nn.Linear, carry: Carry, name: str) -> Carry:
        assert name == "layer[0]"  # no shape
        return carry._replace(mu=model(carry.mu))

    carry = Carry(jnp.zeros(3), jnp.zeros((), int))
    assert paths(shapecheck.template(step, LINEAR, carry, "layer[0]")) == ["model"]


class Stateful(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __init__(self) -> None:
        self.norm = eqx.nn.BatchNorm(3, "batch", mode="batch")

    def __call__(self, x: Array, state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        return self.norm(x, state)


def test_a_state_may_be_given_or_left_out() -> None:
    assert paths(shapecheck.template(Stateful(), X)) == ["", "norm"]
    model, state = eqx.nn.make_with_state(Stateful)()
    assert paths(shapecheck.template(model, X, state)) == ["", "norm"]
    assert paths(shapecheck.template(model, X, state=state)) == ["", "norm"]


class Noisy(eqx.Module):
    drop: eqx.nn.Dropout

    def __call__(self, x: Array, *, key: PRNGKeyArray) -> Array:
        return self.drop(x, key=key)


def test_what_is_left_out_is_made_up() -> None:
    assert [stage.path for stage in shapecheck.template(Noisy(eqx.nn.Dropout()), X)] == ["", "drop"]


class Noting(eqx.Module):
    """Puts what it sees into a list."""

    layer: eqx.nn.Linear

    def __call__(self, x: Array, seen: list[Array]) -> Array:
        seen.append(self.layer(x))
        return seen[-1]


class Outside(eqx.Module):
    layer: eqx.nn.Linear

    def __call__(self, x: Array) -> Array:
        noted.append(self.layer(x))
        return noted[-1]


noted: list[Array] = []


def twice(model: Noting, x: Array) -> Array:
    first: list[Array] = []
    second: list[Array] = []
    model(x, first)
    model(x, second)
    return first[0] - second[0]


def counted(model: Outside, x: Array) -> Array:
    noted.clear()
    return sum((model(x) for _ in range(4)), jnp.zeros(3)) + noted[3]


@pytest.mark.parametrize(("function", "model"), [(twice, Noting(LINEAR)), (counted, Outside(LINEAR))])
def test_what_models_note_elsewhere_is_there(function: Any, model: eqx.Module) -> None:
    """Though equal calls are not evaluated again."""
    template = shapecheck.template(function, model, X)
    assert template["model"].output.shape == ("3",)  # type: ignore[union-attr]


def test_all_branches_are_shown() -> None:
    def choose(a: eqx.nn.Linear, b: eqx.nn.Linear, x: Array) -> Array:
        return jax.lax.cond(x.sum() > 0, lambda x: a(x), lambda x: b(x), x)  # noqa: PLW0108

    template = shapecheck.template(choose, LINEAR, eqx.nn.Linear(3, 3, key=KEY), X)
    assert [(stage.path, stage.under) for stage in template] == [("a", ("cond",)), ("b", ("cond",))]


class Table(eqx.Module):
    """Takes sequences that are no longer than its table."""

    rows: Array
    layer: eqx.nn.Linear

    def __init__(self, width: int, longest: int) -> None:
        self.rows, self.layer = jnp.zeros((longest, width)), eqx.nn.Linear(width, 976, key=KEY)

    def __call__(self, x: Array) -> Array:
        if len(self.rows) == 400:
            x = x + sum(range(x.shape[1]))  # no symbol goes here
        return jax.vmap(jax.vmap(self.layer))(x + self.rows[: x.shape[1]])


@pytest.mark.parametrize(
    ("own", "sizes"),
    [
        ((32, 64), {"batch": "batch", "seq": "seq"}),  # any up to 64
        ((16, 17), {"batch": "batch", "seq": "seq"}),
        ((68, 400), {"batch": "76", "seq": "92"}),
    ],
)
def test_free_sizes_are_none_of_the_models_own(own: tuple[int, int], sizes: dict[str, str]) -> None:
    model = Table(*own)
    template = shapecheck.template(model, Float[Array, f"batch seq {model.rows.shape[1]}"])
    assert dict(template.dims) == sizes


def test_a_size_is_what_its_multiple_has_to_be() -> None:
    class Patches(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x: Array) -> Array:
            return jax.vmap(self.layer, in_axes=1)(jnp.concatenate([x] * 16))

    found = shapecheck.template(Patches(eqx.nn.Linear(48, 5, key=KEY)), Float[Array, "channels n"])
    assert dict(found.dims) == {"channels": "3", "n": "n"}


def test_the_condition_of_a_loop_is_shown_too() -> None:
    def loop(a: eqx.nn.Linear, b: eqx.nn.Linear, x: Array) -> Any:  # the count is of another type after a turn
        return jax.lax.while_loop(lambda c: b(c[0]) > 0, lambda c: (a(c[0]), c[1] + c[0][0]), (x, 0))

    template = shapecheck.template(loop, LINEAR, eqx.nn.Linear(3, "scalar", key=KEY), X)
    assert [(stage.path, stage.under) for stage in template] == [("b", ("while_loop",)), ("a", ("while_loop",))]


@jax.jit
def applied(model: eqx.nn.Linear, x: Array) -> Array:
    return model(x)


@jax.checkpoint
def remembered(model: eqx.nn.Linear, x: Array) -> Array:
    return model(x)


def scanned(model: eqx.nn.Linear, x: Array) -> Array:
    return jax.lax.scan(turn, (model, x), None, length=3)[0][1]


def turn(carry: tuple[eqx.nn.Linear, Array], _: None) -> tuple[tuple[eqx.nn.Linear, Array], None]:
    model, x = carry
    return (model, model(x)), None


@pytest.mark.parametrize("how", [applied, remembered, scanned])
def test_what_jax_recalls_is_seen_again(how: Any) -> None:
    """One function, called with two models that JAX cannot tell apart."""
    template = shapecheck.template(lambda a, b, x: how(b, how(a, x)), LINEAR, eqx.nn.Linear(3, 3, key=KEY), X)
    assert [stage.path for stage in template] == ["a", "b"]
    assert "shapecheck" not in jax.jit(lambda x: 2 * x).lower(1.0).as_text()  # as before


def test_a_model_that_is_called_twice_has_its_parameters_once() -> None:
    assert shapecheck.template(lambda m, x: m(m(x)), LINEAR, X).params == 12


def test_a_function_without_stages_is_one(shown: Rows) -> None:
    def double(x: Array) -> Array:
        return jnp.concatenate([x, x])

    name = "test_a_function_without_stages_is_one"
    assert list(shown(shapecheck.template(double, X)).values()) == ["f32[3] -> f32[6]"], name


def test_a_loop_that_jax_traces_twice_under_vmap_is_shown_once() -> None:
    """What it carries is an integer at first, and then is not."""

    def total(model: eqx.nn.Linear, xs: Array) -> Array:
        def one(x: Array) -> Array:
            return jax.lax.scan(lambda sums, _: (sums + model(x).sum(), None), 0, None, length=5)[0]

        return jax.vmap(one)(xs)

    found = shapecheck.template(total, LINEAR, jnp.zeros((7, 3)))
    assert [(stage.path, stage.under, stage.call) for stage in found] == [("model", ("vmap(7)", "scan(5)"), 0)]


def test_a_method_of_what_a_function_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("auto.py").write_text(
        "import equinox as eqx\nimport jax\n\n\n"
        "class Auto(eqx.Module):\n    decoder: eqx.nn.Linear\n\n"
        "    def decode(self, z):\n        return self.decoder(z)\n\n\n"
        "def make():\n    return Auto(eqx.nn.Linear(2, 3, key=jax.random.PRNGKey(0)))\n"
    )
    assert main(["template", "auto.py:make.decode", "--arg", "f32[2]", "--format", "markdown"]) == 0
    assert "| `decoder` | Linear | `f32[2]` | `f32[3]` | 9 |" in capsys.readouterr().out
    assert main(["template", "auto.py:make", "--arg", "f32[2]"]) == 2
    assert "name a method, auto:make.decode for example" in capsys.readouterr().err
    assert main(["template", "auto.py:make.dekode", "--arg", "f32[2]"]) == 2
    assert "Auto has no dekode; name a method, auto:make.decode for example" in capsys.readouterr().err


TASK = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Task(eqx.Module):
    weight: jax.Array

    def evaluate(self, net, x):
        return (net(x) * self.weight).sum()


class Trainer:
    def loss(self, net, x):
        return net(x).sum()


def net():
    return eqx.nn.Linear(2, 3, key=jax.random.PRNGKey(0))


def method():
    return Task(jnp.ones(3)).evaluate, net(), jnp.ones(2)


def function():
    def loss(net, x):
        return net(x).sum()

    return loss, net(), jnp.ones(2)


def elsewhere():
    return Trainer().loss, net(), jnp.ones(2)


def closed():
    nets = {"q": net()}

    @eqx.filter_jit
    def inner(x):
        return nets["q"](x) + NET(x)

    def loss(x):
        return inner(x).sum()

    return loss, jnp.ones(2)


NET = net()


@jax.jit
def helper(x):
    return NET(x)


def through():
    def loss(x):
        return helper(x).sum()

    return loss, jnp.ones(2)


def pair(x):  # of functions, which is what `scan` of a library's takes, and no call
    return jnp.tanh, jnp.sin
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("method", [("", "Task"), ("net", "Linear")]),
        ("function", [("net", "Linear")]),
        ("elsewhere", [("net", "Linear")]),
        ("closed", [("nets['q']", "Linear"), ("NET", "Linear")]),
        ("through", [("NET", "Linear")]),
    ],
)
def test_a_function_may_make_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str, expected: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text(TASK)
    assert main(["template", f"task.py:{target}", "--format", "json"]) == 0
    template = Template.from_json(capsys.readouterr().out)
    assert [(stage.path, stage.type) for stage in template] == expected
    assert template[expected[-1][0]].output == ArrayValue("float32", ("3",))


def test_a_pair_of_functions_is_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text(TASK)
    assert main(["template", "task.py:pair", "--arg", "f32[2]", "--format", "json"]) == 0
    assert [stage.type for stage in Template.from_json(capsys.readouterr().out)] == ["pair"]


@pytest.mark.parametrize(
    ("target", "said"),
    [(AUTO, "Auto has no __call__; name a method, Auto.encode"), (Auto, "Auto has no __call__")],
)
def test_a_model_that_cannot_be_called_says_what_can(target: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shapecheck.template(target, X)


def test_what_fails_in_hand_names_the_line_and_its_arrays() -> None:
    def added(x: Array, y: Array) -> Array:
        z = jnp.concatenate([x, x])
        return z + y

    line = added.__code__.co_firstlineno + 2
    place = rf"test_targets.py:{line}, in .*added; with z: float32\[6\], y: float32\[4\]\)$"
    for model in (added, lambda x, y: jax.vmap(added)(x[None], y[None])):
        with pytest.raises(ValueError, match=rf"cannot be evaluated: .* \(.*{place}"):
            shapecheck.template(model, X, jnp.zeros(4))
    with pytest.raises(ValueError, match=r"cannot be evaluated: dot_general [^/]* got \(3,\) and \(4,\)\.$"):
        shapecheck.template(LINEAR, jnp.zeros(4))  # on no line of the user's


def test_a_notebooks_cells_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As IPython has them in its tracebacks."""
    file = tmp_path / "2463.py"
    file.write_text("def double(x):\n    return x + x[:n]\n")
    compiler = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]") if name == str(file) else None)
    shell = SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    cell = runpy.run_path(str(file), {"n": 3})
    source = shapecheck.template(cell["double"], X).stages[0].source
    assert source is not None and (source.path, source.line) == ("In[3]", 1)
    cell = runpy.run_path(str(file), {"n": 2})
    with pytest.raises(ValueError, match=r"\(In\[3\]:2, in double; with x: float32\[3\]\)$"):
        shapecheck.template(cell["double"], X)


def test_a_method_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "auto.py").write_text(
        "import equinox as eqx\nimport jax\n\n\n"
        "class Auto(eqx.Module):\n"
        "    encoder: eqx.nn.Linear\n\n"
        "    def __init__(self, width: int, *, key):\n"
        "        self.encoder = eqx.nn.Linear(3, width, key=key)\n\n"
        "    def encode(self, x):\n"
        "        return self.encoder(x)\n"
    )
    target = f"{tmp_path}/auto.py:Auto.encode"
    assert main(["template", target, "--init", "width=5", "--arg", "f32[3]", "--format", "markdown"]) == 0
    assert "| `encoder` | Linear | `f32[3]` | `f32[5]` |" in capsys.readouterr().out


class Interrupted(eqx.Module):
    def __call__(self, x: Array) -> Array:
        raise KeyboardInterrupt


def test_ctrl_c_ends_it_and_leaves_nothing_behind() -> None:
    before = vars(eqx.nn.Linear)["__call__"]
    with pytest.raises(KeyboardInterrupt):
        shapecheck.template(Interrupted(), X)
    assert vars(eqx.nn.Linear)["__call__"] is before


def test_threads_do_not_meet() -> None:
    before, scope = vars(eqx.nn.Linear)["__call__"], jax.named_scope
    found: list[int] = []

    def evaluate() -> None:
        found.append(shapecheck.template(MLP, X).count)

    threads = [threading.Thread(target=evaluate) for _ in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        jax.eval_shape(MLP, X)  # by other threads, meanwhile
    for thread in threads:
        thread.join()
    assert found == [5] * 6
    assert vars(eqx.nn.Linear)["__call__"] is before
    assert jax.named_scope is scope
