"""A stage that gives what is not finite is named with the line of its `return`."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest


def told(load: Any, error: BaseException) -> str:
    """What `shapecheck run` shows of an error."""
    return str(load.session.failures.plain(error))


RETURNING = """
import equinox as eqx
import jax.numpy as jnp


class Way(eqx.Module):
    is_log: bool

    @eqx.filter_jit
    def __call__(self, x):
        if self.is_log:
            return jnp.log(x)
        y = jnp.sqrt(x)
        return (
            y
        )


class Model(eqx.Module):
    ways: list[Way]
    last: eqx.nn.Lambda

    def __call__(self, x):
        for way in self.ways:
            x = way(x)
        return self.last(x)
"""


@pytest.mark.parametrize(("ways", "line"), [([True], 12), ([False], 14), ([True, False], 14)])
def test_the_line_is_that_of_the_return_and_not_of_the_function(load: Any, ways: list[bool], line: int) -> None:
    module = load(RETURNING, shapes=False, numerics=("outputs",))
    model = module.Model([module.Way(each) for each in ways], eqx.nn.Lambda(jnp.abs))
    assert jnp.isfinite(model(jnp.array([3.0, 4.0]))).all()
    for call in (model, eqx.filter_jit(model)):
        with pytest.raises(Exception) as caught:
            jax.block_until_ready(call(jnp.array([-1.0 if len(ways) == 1 else 0.5, 4.0])))
        assert f"(Way at {module.__name__}.py:{line}), called at {module.__name__}.py:25 gave" in told(
            load, caught.value
        )


COMPILED = """
import dis
import equinox as eqx
import jax.numpy as jnp


def compiled(x):
    return x


assert not any("shapecheck" in str(each.argval) for each in dis.get_instructions(compiled))  # what Numba would read


@eqx.filter_jit
def root(x):
    def inner(x):
        return x

    x = inner(x)
    return jnp.sqrt(x)


model = eqx.nn.Sequential([eqx.nn.Lambda(root)])
"""


def test_functions_that_others_may_compile_stay_as_they_are_and_have_their_line(load: Any) -> None:
    module = load(COMPILED, shapes=False, numerics=("outputs",))
    assert jnp.isfinite(module.model(jnp.ones(2))).all()
    with pytest.raises(Exception) as caught:
        module.model(jnp.array([-1.0]))
    assert f"(root at {module.__name__}.py:20)" in told(load, caught.value)


def test_of_installed_code_the_line_is_that_of_the_function(load: Any) -> None:
    module = load(RETURNING, shapes=False, numerics=("outputs",))
    with pytest.raises(Exception) as caught:
        module.Model([], eqx.nn.Lambda(jnp.log))(jnp.array([-1.0]))
    assert "stage last.fn (log at jax/" in told(load, caught.value)
