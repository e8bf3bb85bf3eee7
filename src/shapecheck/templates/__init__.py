"""The stages of a model as a template: what it holds, and how it is shown."""

from shapecheck.templates.parts import down_to, folded, matching
from shapecheck.templates.tree import Template, of_runs
from shapecheck.templates.views import FORMATS

__all__ = ["FORMATS", "Template", "down_to", "folded", "matching", "of_runs"]
