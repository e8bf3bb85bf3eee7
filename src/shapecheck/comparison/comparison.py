"""A comparison as its users hold it: two models' stages side by side, with the ways to show them."""

from __future__ import annotations

from shapecheck.comparison.compared_models import ComparedModels
from shapecheck.comparison.comparison_views import as_json, as_text


class Comparison(ComparedModels):
    """What became of comparing two models. `str(comparison)` is the text for a terminal."""

    def to_json(self) -> str:
        """JSON, version 1."""
        return as_json(self)

    def __str__(self) -> str:
        return as_text(self)
