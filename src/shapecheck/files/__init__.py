"""Which files there are: those to check, what each is called when it is imported, where the tests lie, and the docs."""

from shapecheck.files.discovery import (
    ModuleName,
    UnreadPaths,
    discover,
    module_name,
    project_root,
    read_failure,
    shown_path,
)
from shapecheck.files.snippet_files import find_snippet_files
from shapecheck.files.test_files import find_tests

__all__ = [
    "ModuleName",
    "UnreadPaths",
    "discover",
    "find_snippet_files",
    "find_tests",
    "module_name",
    "project_root",
    "read_failure",
    "shown_path",
]
