"""What earlier runs found out, kept in a folder that anyone may delete at any time.

`Store` keeps texts under names. Whether what a text was computed from is still the same is told by `content` for whole
files, and by a `Graph` of their surfaces for the names that a piece of code can reach.
"""

from .environment import environment, ourselves
from .fingerprints import content
from .leaning import Graph, Source
from .store import Store, clean
from .surface import Surface, surface
from .views import View

__all__ = [
    "Graph",
    "Source",
    "Store",
    "Surface",
    "View",
    "clean",
    "content",
    "environment",
    "ourselves",
    "surface",
]
