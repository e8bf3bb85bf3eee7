"""What the source claims: the shapes that its annotations, comments and docstrings state.

Nothing here imports or runs the user's code, nor loads JAX.
"""

from shapecheck.source.claims import claims_json, read_module
from shapecheck.source.following import Project
from shapecheck.source.surroundings import read_surroundings

__all__ = ["Project", "claims_json", "read_module", "read_surroundings"]
