"""How two models differ, stage by stage: what is known of it, and how it is shown."""

from shapecheck.comparison.comparison import Comparison
from shapecheck.comparison.comparison_views import FORMATS

__all__ = ["FORMATS", "Comparison"]
