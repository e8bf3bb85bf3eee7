"""Which files there are: those to check, what each is called when it is imported, and where the tests lie."""

from shapecheck.files.discovery import ModuleName, discover, module_name, project_root, shown_path
from shapecheck.files.test_files import find_tests

__all__ = ["ModuleName", "discover", "find_tests", "module_name", "project_root", "shown_path"]
