"""What the source claims: which files there are, and the shapes that their annotations, comments and docstrings state.

Nothing here imports or runs the user's code, nor loads JAX.
"""

from shapecheck.source.claims import claims_json, read_module
from shapecheck.source.discovery import ModuleName, discover, module_name, shown
from shapecheck.source.testfiles import find_tests

__all__ = ["ModuleName", "claims_json", "discover", "find_tests", "module_name", "read_module", "shown"]
