"""What a test makes to see it refused is wrong on purpose: in a loop, or in a table of parameters."""

from __future__ import annotations

import pytest

RECORDS = """
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Record(NamedTuple):
    values: Float[Array, "n d"]  {mark}
    weights: Float[Array, "n"]


def use(record):
    if record.values.shape[0] != record.weights.shape[0]:
        raise ValueError("lengths")
    return record.weights @ record.values
"""
TESTS = {
    "loop": """
import jax.numpy as jnp
import pytest
from records import Record, use


def test_refused():
    good = Record(jnp.ones((4, 3)), jnp.ones(4))
    use(good)
    bad = (good._replace(values=jnp.ones(4)), Record(jnp.ones(5), jnp.ones(4)))
    for each in bad:
        with pytest.raises(ValueError, match="lengths"):
            use(each)
""",
    "table": """
import jax.numpy as jnp
import pytest
from records import Record, use


@pytest.mark.parametrize(("record", "message"), [(Record(jnp.ones(5), jnp.ones(4)), "lengths")])
def test_refused(record, message):
    with pytest.raises(ValueError, match=message):
        use(record)


def test_used():
    use(Record(jnp.ones((4, 3)), jnp.ones(4)))
""",
}
USED = """
import jax.numpy as jnp
from records import Record, use


def test_used():
    use(Record(jnp.ones(4), jnp.ones(4)))
"""


# Comments make functions of tests, besides, which are evaluated as such.
CLAIMING = """
import jax.numpy as jnp
import pytest


def load(values, rows, columns):
    n_rows, n_columns = int(rows.shape[0]), int(columns.shape[0])
    array = jnp.asarray(values)
    if array.shape != (n_rows, n_columns):
        raise ValueError("shape")
    return array


class TestLoad:
    def test_loaded(self):
        values = load(jnp.ones((4, 3)), jnp.arange(4), jnp.arange(3))  # shape: (3, 4) ~SC201
        assert values.ndim == 2

    def test_refused(self):
        good = load(jnp.ones((4, 3)), jnp.arange(4), jnp.arange(3))  # shape: (4, 3)
        with pytest.raises(ValueError, match="shape"):
            load(good.T, jnp.arange(4), jnp.arange(3))
        assert good.ndim == 2
"""


@pytest.mark.parametrize("name", TESTS)
def test_what_is_made_to_be_refused_denies_no_claim(check_folder, name: str) -> None:
    folder = check_folder({"records.py": RECORDS.format(mark=""), "test_records.py": TESTS[name]})
    assert folder.cases["records.py"].as_marked()


def test_what_is_made_to_be_used_does(check_folder) -> None:
    folder = check_folder({"records.py": RECORDS.format(mark="~SC205"), "test_records.py": USED})
    assert folder.cases["records.py"].as_marked()


def test_a_test_with_claims_may_refuse_too(check_folder) -> None:
    folder = check_folder({"test_records.py": CLAIMING})
    assert folder.cases["test_records.py"].as_marked()
