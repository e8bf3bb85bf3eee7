"""How two models differ, stage by stage: what is known of it, and how it is shown."""

from shapecheck.comparison.comparison import FORMATS, Comparison

__all__ = ["FORMATS", "Comparison"]
