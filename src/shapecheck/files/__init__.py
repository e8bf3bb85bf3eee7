"""Which files there are: those to check, what each is called when it is imported, and where the tests lie."""

from shapecheck.files.discovery import (
    ModuleName,
    UnreadPaths,
    discover,
    module_name,
    project_root,
    read_failure,
    shown_path,
)
from shapecheck.files.test_files import find_tests

__all__ = [
    "ModuleName",
    "UnreadPaths",
    "discover",
    "find_tests",
    "module_name",
    "project_root",
    "read_failure",
    "shown_path",
]
