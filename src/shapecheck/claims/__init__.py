"""What the source claims: the shapes that its annotations, comments and docstrings state.

Nothing here imports or runs the user's code, nor loads JAX.
"""

from shapecheck.claims.imported_aliases import Project
from shapecheck.claims.module_claims import claims_json, read_module, read_notebook_context

__all__ = ["Project", "claims_json", "read_module", "read_notebook_context"]
