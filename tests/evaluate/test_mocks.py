"""What a test's mocks give proves nothing; what the project's own code gives beside them does, in another test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock as renamed
from unittest.mock import Mock as Stub

import pytest

from shapecheck.evaluate.inputs.facts.mocks import uses_mocks

MODEL = """
import jax.numpy as jnp


class Model:
    def __init__(self, decode):
        self.decode = decode

    def predict(self, inputs, beams: int = 1):
        '''inputs: array of shape (batch, time)'''
        # scores: (batch, beams)
        scores = self.decode(inputs, beams)
        return scores

    def half(self, inputs):
        '''inputs: array of shape (batch, time)'''
        return jnp.concatenate([inputs, inputs])  # (batch, time)


def decode(inputs, beams):
    return jnp.zeros((inputs.shape[0], beams))
"""
MOCKED = """
from unittest import mock

import jax.numpy as jnp
from model import Model, decode


def test_predict():
    made = mock.Mock()
    made.return_value = jnp.zeros((2, 2))
    Model(made).predict(jnp.ones((2, 4)))
"""
PLAIN = """
import jax.numpy as jnp
from model import Model, decode


def test_half():
    Model(decode).predict(jnp.ones((2, 4)))
    Model(decode).half(jnp.ones((2, 4)))
"""


def test_what_a_mock_gives_denies_no_claim(check_folder) -> None:
    folder = check_folder({"model.py": MODEL, "test_mocked.py": MOCKED})
    assert [each.message for each in folder.report.findings if "scores" in each.message] == []
    reasons = [each.reason for each in folder.report.unreached if each.path == "model.py"]
    assert "it fails, but only in tests that put mocks in place of what gives it its shape" in reasons


IN_A_CLASS = """
import unittest
from unittest import mock

import jax.numpy as jnp
import numpy as np
from model import Model


class PredictTest(unittest.TestCase):
    def test_predict(self):
        made = mock.Mock()
        made.return_value = jnp.zeros((2, 2))
        found = Model(made).predict(jnp.ones((2, 4)))
        rows = jnp.sum(found, 1)  # (2,)
        if np.asarray(rows)[0] > 0:
            found = found + 1
"""


def test_nor_where_a_test_is_evaluated_as_a_function(check_folder) -> None:
    folder = check_folder({"model.py": MODEL, "test_in_a_class.py": IN_A_CLASS})
    assert [each.message for each in folder.report.findings if "scores" in each.message] == []


def test_beside_it_tests_without_mocks_count(check_folder) -> None:
    folder = check_folder({"model.py": MODEL, "test_mocked.py": MOCKED, "test_plain.py": PLAIN})
    errors = [each.message for each in folder.report.findings if each.severity == "error"]
    assert len(errors) == 1
    assert errors[0].startswith("comment says (batch, time), but the returned value is")


def _of_an_image() -> None:
    patch = _ones(2)
    mock = patch.patch
    assert mock


def _given(mocker: object) -> None:
    assert mocker


def _imported_inside() -> None:
    from unittest.mock import Mock as Made

    assert Made()


def _inside_of_a_function() -> None:
    def make() -> object:
        return renamed.Mock()

    assert make()


def _of_another_name() -> None:
    assert Stub()


@renamed.patch("os.getcwd")
def _decorated(given: object) -> None:
    assert given


def _ones(size: int) -> Any:
    return size


@pytest.mark.parametrize("test", [_given, _imported_inside, _inside_of_a_function, _of_another_name, _decorated])
def test_a_test_takes_mocks_by_whatever_name(test: Callable[..., None]) -> None:
    assert uses_mocks(test)


def test_a_part_of_an_image_is_none() -> None:
    assert not uses_mocks(_of_an_image)
