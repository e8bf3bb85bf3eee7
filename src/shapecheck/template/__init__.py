"""The stages of a model as a template: what it holds, and how it is shown."""

from shapecheck.template.tree import Template
from shapecheck.template.views import FORMATS

__all__ = ["FORMATS", "Template"]
