"""What an abstract method, or a Protocol, claims is held against what overrides it."""

from __future__ import annotations

import pytest

HEAD = """
from __future__ import annotations
import abc
from typing import Protocol
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

SCORER = """
class Scorer(abc.ABC):
    @abc.abstractmethod
    def score(self, x: Array) -> Array:
        \"\"\"The score.

        Args:
            x: array of shape (n, d)

        Returns:
            array of shape (n,)  ~{mark}
        \"\"\"
"""

CASES = {
    "abstract.py": """
class Pool(eqx.Module):
    @abc.abstractmethod
    def pool(
        self, x: Float[Array, "n d"]
    ) -> Float[Array, "n"]: ... ~SC203

    @property
    @abc.abstractmethod
    def scale(self) -> Float[Array, "2"]: ...

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n"]:
        return self.pool(x) * self.scale.sum()

class Sum(Pool):
    def pool(self, y):
        return y.sum(1)

    @property
    def scale(self):
        return jnp.zeros(2)

class Wrong(Pool):
    def pool(self, x):
        return x.sum(0)

    @property
    def scale(self):
        return jnp.ones(2)
""",
    # an override that says something else is held against that alone
    "own.py": """
class Norm(abc.ABC):
    @abc.abstractmethod
    def norm(
        self, x: Float[Array, "n d"]
    ) -> Float[Array, "n"]: ... ~unreached

    @abc.abstractmethod
    def both(self, x: Float[Array, "n d"]) -> Float[Array, "n"]: ...

class Whole(Norm):
    def norm(self, x: Float[Array, "n d"]) -> Float[Array, ""]:
        return jnp.sqrt((x**2).sum())

    def both(self, x: Float[Array, "a b"]) -> Float[Array, "a"]:
        return x.sum(-1)
""",
    "prose.py": """
class Gain(abc.ABC):
    @abc.abstractmethod
    def gain(self, x):
        \"\"\"The gain.

        Args:
          x: array of shape (n, d)

        Returns:
          array of shape (n,)  ~unreached
        \"\"\"

class Total(Gain):
    def gain(self, x: Float[Array, "n d"]):
        return x.sum()
""",
    # what has no words of its own is what the base's docstring says
    "documented.py": SCORER.format(mark="SC207")
    + """
class OfColumns(Scorer):
    def score(self, x: Array) -> Array:
        return x.sum(0)

class OfRows(Scorer):
    def score(self, x: Array) -> Array:
        return x.sum(1)
""",
    "own_words.py": SCORER.format(mark="unreached")
    + """
class OfAll(Scorer):
    def score(self, x: Array) -> Array:
        \"\"\"The sum of all of them.\"\"\"
        return x.sum()
""",
    # Python calls these by itself, for whatever is done with a class or an instance
    "special.py": """
class Meta(type):
    def __hash__(cls):
        return hash(cls.__name__)

    def __eq__(cls, other):
        return cls is other

class Base(metaclass=Meta):
    pass

class Wrapped(Base):
    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def __eq__(self, other):
        return self.__class__ is other.__class__

    def double(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return 2 * x
""",
    "protocol.py": """
class Scorer(Protocol):
    def score(self, x: Float[Array, "n d"]) -> Float[Array, ""]: ...
    def unused(self, x: Float[Array, "n d"]) -> Float[Array, ""]: ... ~unreached

class Mean(Scorer):
    def score(self, x):
        return x.mean()
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_of_declarations(folder, name):
    assert folder.cases[name].as_marked()


def test_the_message_names_what_overrides_it(folder):
    (finding,) = folder.cases["abstract.py"].findings
    assert finding.message == 'annotation says Float[Array, "n"], but the returned value is (d,)'
    assert finding.details[-1].startswith("overridden by Wrong.pool (")
