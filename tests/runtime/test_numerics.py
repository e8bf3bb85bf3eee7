"""Values that are not finite are named where they arise, whatever JAX makes of the function that gives them."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapecheck

TEXT = """
import jax
import jax.numpy as jnp
import equinox as eqx
from jaxtyping import Array, Float


class Log(eqx.Module):
    shift: Array

    def __call__(self, x):
        shifted = x - self.shift
        return jnp.log(shifted)


class Model(eqx.Module):
    first: eqx.nn.Linear
    logs: list[Log]

    def __init__(self):
        self.first = eqx.nn.Identity()
        self.logs = [Log(jnp.array(-100.0)), Log(jnp.array(1.0))]

    def __call__(self, x):
        x = self.first(x)
        for log in self.logs:
            x = log(x)
        return x.sum()


def root(x: Float[Array, " n"]) -> Float[Array, " n"]:
    y = jnp.sqrt(x)  # (n,)
    return y * 2
"""
BAD = jnp.array([3.0, -99.0, 4.0])  # the second is 0 after the first logarithm, and below 0 after the second

WAYS: dict[str, Any] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(f)(x[:, None]),
    "jit of vmap": lambda f: jax.jit(lambda x: jax.vmap(f)(x[:, None])),
    "scan": lambda f: jax.jit(lambda x: jax.lax.scan(lambda c, row: (c, f(row[None])), None, x)[1]),
    "map in vmap": lambda f: jax.jit(jax.vmap(lambda r: jax.lax.map(f, r[None, None]))),
    "grad": lambda f: jax.jit(jax.grad(f)),
    "checkpoint": lambda f: jax.jit(jax.grad(jax.checkpoint(f))),
    "cond": lambda f: jax.jit(lambda x: jax.lax.cond(x[0] > 0, f, lambda x: x.sum(), x)),
    "while": lambda f: jax.jit(
        lambda x: jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(x)), (0, 0.0))[1]
    ),
    "filter_jit": eqx.filter_jit,
    "cond in a mapped loop": lambda f: jax.jit(lambda x: jax.vmap(_some_turns(f), (0, None))(jnp.arange(1), x).sum()),
}


def _some_turns(f: Any) -> Any:
    def turn(x: Any, count: Any, _: None) -> Any:
        return count + 1, jax.lax.cond(count < 1, f, lambda x: x.sum(), x)

    return lambda count, x: jax.lax.scan(functools.partial(turn, x), count, None, length=2)[1].sum()


def of(model: Any) -> Any:
    """The call of a model as a function, which JAX can hash."""

    def call(x: Any) -> Any:
        return model(x)

    return call


def told(load: Any, error: BaseException) -> str:
    """What `shapecheck run` shows of an error."""
    return str(load.session.failures.plain(error))


@pytest.mark.parametrize("way", WAYS)
def test_the_stage_that_gave_the_first_is_named(load: Any, way: str) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",))
    with pytest.raises(Exception) as caught:
        model = module.Model()
        jax.block_until_ready(WAYS[way](of(model))(BAD))
    said = told(load, caught.value)
    assert said.startswith("stage logs[1] (Log at ")
    assert "called at " in said and "1 NaN" in said
    assert "given x " in said and "given self.shift" in said


@pytest.mark.parametrize("way", WAYS)
def test_what_is_finite_stays_as_it_is_but_for_rounding(load: Any, way: str) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs", "grads"), prints=("nothing",))
    model, x = module.Model(), jnp.array([300.0, 500.0, 400.0])
    seen = WAYS[way](of(model))(x)
    load.session.stop()
    plain = WAYS[way](of(model))(x)
    assert seen.dtype == plain.dtype and seen.weak_type == plain.weak_type
    np.testing.assert_allclose(seen, plain, rtol=1e-6)  # XLA fuses other operations


def test_a_claimed_value_is_named_with_its_line_and_what_it_was_made_of(load: Any) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",))
    with pytest.raises(Exception) as caught:
        jax.jit(module.root)(jnp.array([1.0, 4.0, -1.0, -2.0]))
    said = told(load, caught.value)
    assert "the value at " in said and ":32 in root is not finite" in said
    assert "output [4], the first at [2]: 2 NaN" in said
    assert "given x [4]: -2 .. 4" in said


def test_mapped_axes_stand_in_front_of_the_index(load: Any) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",))
    with pytest.raises(Exception) as caught:
        jax.jit(jax.vmap(module.root))(jnp.array([[1.0, 4.0], [2.0, -1.0]]))
    assert "output [2,2] (1 mapped in front), the first at [1, 1]: 1 NaN" in told(load, caught.value)


MASKED = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def masked(scores: Float[Array, "t t"], mask):
    scores = jnp.where(mask, scores, -jnp.inf)  # (t, t)
    return jax.nn.softmax(scores)


def added(scores: Float[Array, "t t"], mask):
    scores = scores + jnp.log(mask * 1.0)  # (t, t)
    scores = jnp.log(scores)  # (t, t)
    return scores


def marked(x: Float[Array, "t"], there):
    x = jnp.where(there, jnp.exp(x), jnp.nan)  # (t,)
    return x
"""


def test_what_the_source_says_itself_is_no_failure(load: Any) -> None:
    module = load(MASKED, numerics=("outputs",))
    mask, scores = jnp.tril(jnp.ones((3, 3), bool)), jnp.ones((3, 3))
    assert jnp.isfinite(jax.jit(module.masked)(scores, mask)).all()
    assert jnp.isnan(jax.jit(module.marked)(jnp.zeros(3), mask[0]))[1]
    with pytest.raises(Exception) as caught:
        jax.jit(module.masked)(scores * jnp.nan, mask)
    assert "output [3,3], the first at [0, 0]: 6 NaN" in told(load, caught.value)
    with pytest.raises(Exception) as caught:
        jax.jit(module.marked)(jnp.full(3, 1000.0), mask[0])
    assert "output [3], the first at [0]: 1 infinite" in told(load, caught.value)


def test_infinity_passes_where_nan_alone_is_looked_for(load: Any) -> None:
    module, mask = load(MASKED, numerics=("outputs",)), jnp.tril(jnp.ones((3, 3), bool))
    with pytest.raises(Exception) as caught:
        module.added(jnp.ones((3, 3)), mask)
    assert "3 infinite\n" in told(load, caught.value)
    assert "--nan-only" in told(load, caught.value)
    module = load(MASKED, numerics=("outputs",), nan_only=True)
    with pytest.raises(Exception) as caught:
        module.added(jnp.ones((3, 3)), mask)
    said = told(load, caught.value)
    assert ":14 in added is not finite\n  output [3,3], the first at [0, 1]: 3 NaN\n" in said
    assert "given scores [3,3]: 1, 3 not finite" in said
    assert "--nan-only" not in said


def test_a_gradient_that_is_not_finite_is_laid_at_the_door_of_what_made_it(load: Any) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs", "grads"))

    def loss(x: Any) -> Any:
        return module.root(module.root(x + 1) - 2).sum()

    for way in (jax.grad(loss), jax.jit(jax.grad(loss)), jax.jit(jax.vmap(jax.grad(lambda x: loss(x[None]))))):
        with pytest.raises(Exception) as caught:
            jax.block_until_ready(way(jnp.array([0.0, 3.0])))
        said = told(load, caught.value)
        assert said.startswith("the gradient with respect to the value at ") and "1 infinite" in said


def test_gradients_alone_let_values_pass(load: Any) -> None:
    module = load(TEXT, shapes=False, numerics=("grads",))
    assert jnp.isnan(jax.jit(module.root)(jnp.array([-1.0]))).all()


def test_outside_of_compiled_functions_the_error_itself_is_raised(load: Any) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",))
    with pytest.raises(shapecheck.NonFinite, match="root is not finite"):
        module.root(jnp.array([-1.0]))


def test_warn_tells_what_arises_and_not_what_follows(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",), failing="warn")
    function = jax.jit(lambda x: module.root(module.root(x)))
    for _ in range(3):
        assert jnp.isnan(function(jnp.array([-1.0]))).all()
    jax.effects_barrier()
    assert caplog.text.count("not finite\n") == 1


def test_gradients_that_are_made_of_what_was_told_are_not_told(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs", "grads"), failing="warn")
    model = module.Model()
    step = jax.jit(jax.grad(of(model)))
    for _ in range(2):
        jax.block_until_ready(step(BAD))
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        f"stage logs[1] (Log at {module.__name__}.py:13)"
    ]
    load.session.stop()
    assert "What is not finite was passed on " in caplog.text


def test_a_gradient_that_becomes_so_elsewhere_later_is_told(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    module = load(
        """
        import jax.numpy as jnp

        def first(x):
            z = x * 1  # shape: (n,)
            return jnp.sqrt(z)

        def second(x):
            z = x * 1  # shape: (n,)
            return jnp.sqrt(z)
        """,
        numerics=("grads",),
        failing="warn",
    )
    grad = jax.jit(jax.grad(lambda x, shift: module.second(module.first(x) + shift).sum()))
    for x, shift in ((4.0, -9.0), (4.0, -9.0), (0.0, 1.0), (0.0, 1.0)):
        jax.block_until_ready(grad(jnp.array([x]), shift))
    told = [record.message.partition("\n")[0].partition(" is not finite")[0] for record in caplog.records]
    value = f"the gradient with respect to the value at {module.__name__}.py"
    assert told == [f"{value}:9 in second", f"{value}:5 in first"]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64"])
def test_nothing_is_promoted(load: Any, dtype: str, capfd: pytest.CaptureFixture[str]) -> None:
    module = load(TEXT, shapes=False, numerics=("outputs",), prints=("logs*",))
    with jax.numpy_dtype_promotion("strict"), jax.enable_x64(True):
        log = module.Log(jnp.zeros(1, dtype))
        assert jax.jit(jax.vmap(of(log)))(jnp.ones((2, 3), dtype)).dtype == dtype
        with pytest.raises(Exception) as caught:
            jax.block_until_ready(jax.jit(of(log))(jnp.zeros(3, dtype)))
    assert "3 infinite" in told(load, caught.value)


def test_integers_and_empty_arrays_are_no_matter(load: Any) -> None:
    module = load(
        """
        import jax.numpy as jnp
        from jaxtyping import Array, Int, Float

        def f(i: Int[Array, " n"], x: Float[Array, " m"]):
            j = i * 2  # (n,)
            y = x * 2  # (m,)
            return j, y
        """,
        numerics=("outputs", "grads"),
    )
    jax.jit(module.f)(jnp.arange(3), jnp.zeros(0))


NAMED = """
import jax.numpy as jnp
import equinox as eqx
from jaxtyping import Array, Float

def both(x):
    return x * 2, jnp.sqrt(x)

def unpacked(x):
    a, (b, c) = x * 1, both(x)  # a (n,), c (n,)
    return a + b + c

def in_place(x):
    x -= 0  # (n,)
    x **= 0.5  # (n,)
    return x

def in_a_loop(x):
    for row in [x, jnp.sqrt(x)]:  # (n,)
        last = row
    return last

def marked(x):
    z = jnp.sqrt(x)
    # z: (n,)
    return z * 2

class Pair(eqx.Module):
    p: Array
    q: Array

    def __init__(self, x):
        self.p, self.q = both(x)  # (n,), (n,)

def as_fields(x):
    return Pair(x).q

def global_names(x):
    global seen
    seen, last = both(x)  # (n,), (n,)
    return last + seen * 0
"""


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        ("unpacked", "c"),
        ("in_place", "x"),
        ("in_a_loop", "row"),
        ("marked", "z"),
        ("as_fields", "self.q"),
        ("global_names", "last"),
    ],
)
def test_claims_of_named_variables_are_looked_at_too(load: Any, function: str, variable: str) -> None:
    module = load(NAMED, numerics=("outputs", "grads"))
    call = getattr(module, function)
    good, bad = jnp.array([4.0, 9.0]), jnp.array([4.0, -1.0])
    for way in (lambda f: f, jax.jit, lambda f: jax.jit(jax.vmap(f, axis_size=1, in_axes=None))):
        np.testing.assert_allclose(jnp.squeeze(way(call)(good)), call(good))
        with pytest.raises(Exception) as caught:
            jax.block_until_ready(way(call)(bad))
        said = told(load, caught.value)
        assert said.startswith(f"the value of {variable} at ")
        assert f"  {variable} [2], the first at [1]: 1 NaN" in said
    with pytest.raises(Exception) as caught:
        jax.grad(lambda x: jnp.sqrt(call(x)).sum())(jnp.zeros(2))
    assert f"the gradient with respect to the value of {variable} at " in told(load, caught.value)


def test_what_is_compiled_once_for_several_stages_is_told_of_all_of_them(load: Any) -> None:
    module = load(
        TEXT
        + """
@jax.jit
def apply(log, x):
    return log(x)

class Jitted(Model):
    alone: Log

    def __init__(self):
        super().__init__()
        self.logs += [eqx.nn.Identity()]
        self.alone = Log(jnp.array([0.0]))

    def __call__(self, x):
        for log in self.logs[:2]:
            x = apply(log, x)
        return apply(self.alone, x).sum()
""",
        numerics=("outputs",),
    )
    model = module.Jitted()
    for x, named in ((BAD, "stage logs[0] or logs[1] (Log at "), (BAD.at[1].set(-95.0), "stage alone (Log at ")):
        with pytest.raises(Exception) as caught:
            jax.block_until_ready(jax.jit(of(model))(x))
        assert told(load, caught.value).startswith(named)


@pytest.mark.parametrize("whole", [lambda call: call, jax.jit], ids=["apart", "in one function"])
def test_what_is_compiled_once_for_two_models_has_the_name_of_each(load: Any, whole: Any) -> None:
    module = load(
        TEXT
        + """
@jax.jit
def apply(log, x):
    return log(x)

class First(eqx.Module):
    encoder: Log
    def __call__(self, x):
        return apply(self.encoder, x)

class Second(eqx.Module):
    decoder: Log
    def __call__(self, x):
        return apply(self.decoder, x)
""",
        numerics=("outputs",),
    )
    first, second = module.First(module.Log(-jnp.ones(1))), module.Second(module.Log(2 * jnp.ones(1)))
    call = whole(lambda first, second, x: second(first(x)))
    with pytest.raises(Exception) as caught:
        jax.block_until_ready(call(first, second, jnp.ones(3)))
    assert told(load, caught.value).startswith("stage decoder (Log at ")
    with pytest.raises(Exception) as caught:
        jax.block_until_ready(call(first, second, -jnp.ones(3)))
    assert told(load, caught.value).startswith("stage encoder (Log at ")


PARAMETERS = """
import haiku as hk
import jax.numpy as jnp
import equinox as eqx
from flax import linen, nnx
from jax import Array

class OfEquinox(eqx.Module):
    scale: Array

    def __call__(self, x):
        return x * jnp.sqrt(self.scale)

class OfLinen(linen.Module):
    @linen.compact
    def __call__(self, x):
        return x * jnp.sqrt(self.param("scale", linen.initializers.zeros, (2,)))

class OfHaiku(hk.Module):
    def __call__(self, x):
        return x * jnp.sqrt(hk.get_parameter("scale", [2], init=jnp.zeros))

class OfNnx(nnx.Module):
    def __init__(self):
        self.scale, self.seen = nnx.Param(jnp.zeros(2)), nnx.Variable(jnp.zeros(2))

    def __call__(self, x):
        self.seen[...] += x
        return x * jnp.sqrt(self.scale[...])
"""


def of_equinox(module: Any, x: Any) -> Any:
    eqx.filter_jit(eqx.filter_grad(lambda model: model(x).sum()))(module.OfEquinox(jnp.zeros(2)))


def of_linen(module: Any, x: Any) -> Any:
    model = module.OfLinen()
    jax.jit(jax.grad(lambda held: model.apply(held, x).sum()))(model.init(jax.random.PRNGKey(0), x))


def of_haiku(module: Any, x: Any) -> Any:
    model = module.hk.without_apply_rng(module.hk.transform(lambda x: module.OfHaiku()(x).sum()))
    jax.jit(jax.grad(model.apply))(model.init(jax.random.PRNGKey(0), x), x)


def of_nnx(module: Any, x: Any) -> Any:
    model, nnx = module.OfNnx(), module.nnx
    nnx.jit(nnx.grad(lambda model: model(x).sum()))(model)
    np.testing.assert_array_equal(model.seen[...], x)  # what it changes in itself stays


@pytest.mark.parametrize("of_framework", [of_equinox, of_linen, of_haiku, of_nnx])
def test_a_parameter_whose_gradient_alone_is_not_finite_is_named(
    load: Any, of_framework: Any, caplog: pytest.LogCaptureFixture
) -> None:
    module = load(PARAMETERS, numerics=("grads",), failing="warn")
    of_framework(module, jnp.array([1.0, 2.0]))
    jax.effects_barrier()
    [record] = caplog.records
    assert record.message.startswith("the gradient with respect to ") and "scale of stage " in record.message
    assert record.message.endswith("gradient [2], the first at [0]: 2 infinite")


def test_a_state_of_equinox_is_not_used_up(load: Any) -> None:
    module = load(
        """
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        class Counting(eqx.Module):
            index: eqx.nn.StateIndex

            def __init__(self):
                self.index = eqx.nn.StateIndex(jnp.array(0.0))

            def __call__(self, x, state):
                return x + state.get(self.index), state.set(self.index, state.get(self.index) + 1)

        class Twice(eqx.Module):
            part: Counting

            def __call__(self, x, state):
                x, state = self.part(x, state)
                return self.part(x, state=state)
        """,
        numerics=("outputs", "grads"),
    )
    model, state = eqx.nn.make_with_state(lambda: module.Twice(module.Counting()))()
    for _ in range(2):
        x, state = eqx.filter_jit(model)(jnp.array(1.0), state)
    assert float(x) == 6.0
    x, state = model(x, state)
    assert float(x) == 15.0
