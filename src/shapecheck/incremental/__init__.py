"""What earlier runs found out, kept in a folder that anyone may delete at any time.

`Store` keeps texts under names. Whether what a text was computed from is still the same is decided by `content` for
whole files, and by a `DependencyGraph` of their summaries for the names that a piece of code can reach.
"""

from shapecheck.incremental.cache_store import Store, clean
from shapecheck.incremental.content_hash import content
from shapecheck.incremental.dependency_graph import DependencyGraph, GraphFile
from shapecheck.incremental.environment_key import environment, ourselves
from shapecheck.incremental.graph_view import GraphView
from shapecheck.incremental.module_summary import ModuleSummary, surface

__all__ = [
    "DependencyGraph",
    "GraphFile",
    "GraphView",
    "ModuleSummary",
    "Store",
    "clean",
    "content",
    "environment",
    "ourselves",
    "surface",
]
