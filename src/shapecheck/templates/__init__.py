"""The stages of a model as a template: what it holds, and how it is shown.

A running program uses this too, where nobody may have installed rich: only `template_views` needs it.
"""

from shapecheck.templates.filter_stages import down_to, filter_matching, fold_repeats
from shapecheck.templates.template_object import Template, of_runs

__all__ = ["Template", "down_to", "filter_matching", "fold_repeats", "of_runs"]
