"""Attributes of the user's objects may raise when they are read, where the program itself never reads them."""

from __future__ import annotations

from shapecheck.evaluate.probes.attribute_access import UNREADABLE, class_names, own_names, read_attribute

RAISING = """
import operator
import jax.numpy as jnp
from jaxtyping import Array, Float

class Late:
    w: Float[Array, "d k"] ~unreached
    v: Float[Array, "d"]

    def __init__(self, d: int):
        self.v = jnp.zeros((d,))

    def __getattr__(self, name):
        raise RuntimeError(f"{name}: call setup() first")

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b"]:
        return x @ self.v

    def wrong(self, x: Float[Array, "b d"]) -> Float[Array, "d"]: ~SC203
        return x @ self.v

class InC:
    w: Float[Array, "d"] ~unreached
    w = property(operator.itemgetter("w"))

    def __init__(self, d: int):
        self.d = d

    def wrong(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
        return x.T

class Uncounted:
    def __len__(self): raise ValueError
    def __iter__(self): raise ValueError
    def __bool__(self): raise ValueError
    def __eq__(self, other): raise ValueError
    def __hash__(self): raise ValueError
    @property
    def shape(self): raise ValueError
    @property
    def dtype(self): raise ValueError

class Holder:
    w: Float[Array, "d"]

    def __init__(self, d: int):
        self.w = jnp.zeros((d,))
        self.other = Uncounted()

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]:
        y = x + self.w  # (b, d)
        return y

    def wrong(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
        return (x + self.w).T

class Registry(type):
    def __getattr__(cls, name):
        raise KeyError(name) ~SC302

class Registered(metaclass=Registry):
    def __init__(self, d: int):
        self.d = d

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
        return x
"""
# Objects at the top of a module that stand for what is loaded later, and whatever they are asked for, have it not.
PROXIES = """
import functools
import jax.numpy as jnp
from jaxtyping import Array, Float

class Lazy:
    def __getattr__(self, name):
        raise RuntimeError(f"{name}: not loaded")

    def __call__(self, *args):
        raise RuntimeError("not loaded")

class Anything:
    def __getattr__(self, name):
        return self

    def __call__(self, *args):
        return self

make_params, forward = Lazy(), Lazy()
init_params, create_state = Anything(), Anything()

class Params:
    def __init__(self, d: int):
        self.w = jnp.zeros((d, 4))

def uses(params, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    return forward(params, x)

def made(params: Params, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x @ params.w

@functools.wraps(forward, assigned=())
def wrapped(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    return x.T
"""


def test_the_rest_of_such_a_class_is_judged(check_folder):
    folder = check_folder({"raising.py": RAISING, "proxies.py": PROXIES})
    assert folder.cases["raising.py"].as_marked()
    assert not folder.report.bugs
    assert [each for each in folder.cases["proxies.py"].actual if each[1] != "SC302"] == folder.cases[
        "proxies.py"
    ].expected
    reasons = {each.reason for each in folder.report.unreached}
    assert any("__getattr__ is to raise AttributeError" in reason for reason in reasons)


def test_an_attribute_that_cannot_be_read_is_none():
    class Odd:
        there = None

        @property
        def broken(self):
            raise KeyError("broken")

        def __getattribute__(self, name):
            if name == "__dict__":
                raise ValueError
            return object.__getattribute__(self, name)

    odd = Odd()
    odd.own = 3
    assert read_attribute(odd, "there") is None
    assert read_attribute(odd, "broken") is read_attribute(odd, "absent") is UNREADABLE
    assert own_names(odd) == {"own": 3}
    assert own_names(3) == {}
    assert class_names(Odd)["there"] is None
