"""What constants determine is computed for real where Python asks for it, and nothing else is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import export

from shapecheck.evaluate.probes import constant_values
from shapecheck.evaluate.probes.constant_values import eval_shape

ROWS = jax.ShapeDtypeStruct((5, 3), jnp.float32)
GRID = jnp.array([[2, 3], [4, 5]])

ASKED = {
    "an element of a module's array": lambda x: int(GRID[0, 1]),
    "literals": lambda x: int(jnp.array([1, 3]).max()),
    "a condition": lambda x: 3 if (GRID > 4).any() else 0,
    "a float": lambda x: round(float(jnp.sqrt(jnp.float32(9.0)))),
    "a list": lambda x: (jnp.arange(3) + 1).tolist()[-1],
    "numpy": lambda x: int(jax.device_get(jnp.arange(4)).max()),
    "what an operation gives that changes nothing": lambda x: int(jnp.meshgrid(jnp.arange(4))[0].max()),
    "an index": lambda x: range(10)[jnp.arange(4)[-1]],
    "beside what has no value": lambda x: (x.sum(), int(GRID[0, 1]))[1],
    "what depends on a size": lambda x: int(jnp.arange(x.shape[1]).sum()),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_constants_have_values(ask):
    found = []
    eval_shape(lambda x: found.append(ask(x)), ROWS)
    assert found == [3]


@pytest.mark.parametrize("transform", [jax.vmap, lambda f: jax.grad(lambda row: f(row).sum())])
def test_under_transformations_that_trace_nothing(transform):
    found = []

    def one(row):
        found.append(int(GRID[0, 1]))
        return row

    eval_shape(transform(one), jax.ShapeDtypeStruct((3,), jnp.float32) if transform is not jax.vmap else ROWS)
    assert found == [3]


def test_what_is_traced_is_always_ready():
    def timed(x):
        y = x.sum(0).block_until_ready()
        y.copy_to_host_async()
        return jax.block_until_ready(y)

    assert eval_shape(timed, ROWS).shape == ROWS.shape[1:]
    with pytest.raises(AttributeError, match="block_until_ready"):  # as ever, where nothing is evaluated by us
        jax.eval_shape(timed, ROWS)


NOT_KNOWN = {
    "what is given": lambda x: int(x[0, 0]),
    "what depends on it": lambda x: bool((x > GRID[0, 0]).any()),
    "inside of jit, where the running program has none either": jax.jit(lambda x: int(GRID[0, 1])),
    "what is large": lambda x: int(jnp.arange(30_000).max()),
    "a loop that nobody knows the length of": lambda x: int(jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)),
}


@pytest.mark.parametrize("ask", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_has_no_value(ask):
    with pytest.raises((jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)):
        eval_shape(ask, ROWS)


def test_free_sizes_have_none():
    (rows,) = export.symbolic_shape("n")
    with pytest.raises(jax.errors.ConcretizationTypeError):
        eval_shape(lambda x: int(jnp.zeros(x.shape[0]).sum()), jax.ShapeDtypeStruct((rows,), jnp.float32))


def test_nothing_calls_back():
    called = []

    def host():
        called.append(1)
        return GRID[0, 0]

    with pytest.raises(jax.errors.ConcretizationTypeError):
        eval_shape(lambda x: int(jax.pure_callback(host, jax.ShapeDtypeStruct((), GRID.dtype))), ROWS)
    assert called == []


NOT_ASKED = {
    "another dtype": lambda x: x + jnp.arange(3),
    "the same dtype": lambda x: x + jnp.ones(3),
    "an array of an array": lambda x: jnp.array(jnp.ones(3)) * x,
    "under vmap": jax.vmap(lambda row: row + jnp.ones(3)),
    "under grad": lambda x: jax.grad(lambda row: (row + jnp.ones(3)).sum())(x[0]),
    "a place for it": lambda x: jax.device_put(jnp.ones(3)),
}


@pytest.mark.parametrize("ask", NOT_ASKED.values(), ids=NOT_ASKED)
def test_nothing_is_computed_unless_somebody_asks(ask, monkeypatch):
    computed = []
    monkeypatch.setattr(constant_values.ConstantValues, "_compute", lambda self, operation: computed.append(operation))
    eval_shape(ask, ROWS)
    assert computed == []


def test_jax_is_as_before():
    before = dict(vars(jax.core.Tracer))
    eval_shape(lambda x: int(GRID[0, 1]), ROWS)
    assert dict(vars(jax.core.Tracer)) == before


CASES = {
    "constants.py": """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

GRID = jnp.array([[2, 3], [4, 5]])

def tiled(x: Float[Array, "n d"]) -> Float[Array, "n 3"]:
    return x[:, :1].repeat(int(GRID[0, 1]), axis=1)

def wrong(x: Float[Array, "n d"]) -> Float[Array, "n 4"]:  ~SC203
    return x[:, :1].repeat(int(GRID[0, 1]), axis=1)

def chosen(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    if (GRID > 4).any():
        x = x.sum(1)
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(CASES)


def test_claims_of_what_constants_determine(folder):
    assert folder.cases["constants.py"].as_marked()


def test_nothing_was_made_up_for_them(folder):
    assert folder.report.summary.verified_on_invention == 0
