"""What earlier runs found out, kept in a folder that anyone may delete at any time.

`Store` keeps texts under names, `content` and `skeleton` tell whether what a text was computed from is still the same.
"""

from .environment import environment
from .fingerprints import content, skeleton
from .store import Store, clean

__all__ = ["Store", "clean", "content", "environment", "skeleton"]
