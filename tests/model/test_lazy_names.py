"""The names of `shapecheck.model`, each of which is imported when it is asked for."""

from __future__ import annotations

import pytest

from shapecheck import model


def test_names_of_the_model_are_imported_from_the_files_that_have_them() -> None:
    for name in model._FILE_OF:
        assert hasattr(model, name), name
    with pytest.raises(AttributeError, match="has no attribute 'Kitchen'"):
        model.Kitchen  # noqa: B018
