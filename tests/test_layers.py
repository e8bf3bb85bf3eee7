"""The folder listing tells how data flows: who may import whom, and what importing us may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shapecheck

PACKAGE = Path(shapecheck.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# layer -> the layers it may import; "" is the package's face
ALLOWED = {
    "": {"stage", "templates", "runtime", "comparison", "facts"},  # when asked for
    "facts": {"facts"},
    "atomic": set(),
    "differences": set(),
    "meant": set(),
    "remedies": set(),
    "cache": {"cache", "atomic"},
    "shapes": {"shapes"},
    "files": {"files"},
    "source": {"source", "shapes", "facts"},
    "rewrite": {"rewrite", "source", "shapes", "facts", "meant"},
    "stage": {"stage", "shapes", "facts"},
    "check": {"check", "shapes", "facts", "atomic", "config"},
    "report": {"report", "check", "facts", ""},
    "config": {"config", "check", "report"},
    "rerun": {"cache", "config", "facts", "stage"},
    "module_reader": {"files", "source", "facts", "config", ""},
    "plans": {"files", "stage", "shapes", "facts", "config"},
    "locking": {
        "locking",
        "files",
        "templating",
        "templates",
        "rerun",
        "stage",
        "check",
        "facts",
        "config",
        "cache",
        "atomic",
    },
    "fixing": {"differences", "atomic", "config", "facts"},
    "evaluating": {"locking", "files", "stage", "check", "facts", "config"},
    "pipeline": {"module_reader", "evaluating", "locking", "plans", "rerun", "files", "source", "facts", "config"},
    "templates": {"templates", "facts"},
    "comparison": {"comparison", "facts"},
    "comparing": {"comparison", "remedies", "templating", "revisions", "stage", "facts", "config"},
    "revisions": {"templating", "config"},
    "templating": {"remedies", "files", "plans", "source", "stage", "templates", "facts", "config"},
    "runtime": {"runtime", "stage", "templates", "facts", "meant"},
    "referee": {"module_reader", "source", "shapes", "check", "report", "plans", "files", "stage", "facts", "config"},
    "cli": {
        "cli",
        "differences",
        "runtime",
        "comparison",
        "comparing",
        "module_reader",
        "templates",
        "templating",
        "locking",
        "pipeline",
        "fixing",
        "rerun",
        "rewrite",
        "files",
        "source",
        "check",
        "report",
        "facts",
        "config",
        "atomic",
        "cache",
        "",
    },
    "__main__": {"cli"},
}
# rooms of stage/, each of which may import those before it
STAGE = ("limits", "protocol", "global_state", "observe", "search", "staging", "comparing", "tests", "process")
WORKER_THIRD_PARTY = {"jax", "numpy", "pytest"}


def layer(file: Path) -> str:
    first = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Each imported module as a dotted name, and whether only type checkers see it."""
    tree = ast.parse(file.read_bytes())
    typing_only = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ("shapecheck", *file.relative_to(PACKAGE).parts[:-1])
            base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            name = f"{base}{node.module or ''}".rstrip(".")
            if name == "shapecheck":
                yield from ((f"shapecheck.{alias.name}", id(node) in typing_only) for alias in node.names)
            else:
                yield name, id(node) in typing_only


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(file: Path) -> None:
    for name, typing_only in imports(file):
        if name.startswith("shapecheck") and not typing_only:
            target = name.split(".")[1] if "." in name else ""
            target = target if target in ALLOWED else ""
            assert target in ALLOWED[layer(file)], f"{layer(file)} may not import {name}"


@pytest.mark.parametrize("file", [f for f in FILES if layer(f) == "stage"], ids=lambda f: f.name)
def test_imports_go_one_way_inside_stage(file: Path) -> None:
    room = file.relative_to(PACKAGE / "stage").parts[0].removesuffix(".py")
    for name, _ in imports(file):
        if name.startswith("shapecheck.stage."):
            target = name.split(".")[2]
            assert STAGE.index(target) <= STAGE.index(room), f"{room} may not import {name}"


@pytest.mark.parametrize("file", [f for f in FILES if layer(f) in ("stage", "shapes", "facts")], ids=lambda f: f.name)
def test_what_runs_in_the_worker_needs_only_jax(file: Path) -> None:
    for name, _ in imports(file):
        top = name.split(".")[0]
        assert top in {"shapecheck", *sys.stdlib_module_names, *WORKER_THIRD_PARTY}, f"{name} may not be there"


@pytest.mark.parametrize("module", ["shapecheck", "shapecheck.cli", "shapecheck.pipeline"])
def test_importing_us_loads_no_jax_and_no_libcst(module: str) -> None:
    code = f"import sys, {module}; print(sorted(m for m in ('jax', 'numpy', 'libcst', 'equinox') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_face_imports_only_the_standard_library() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import shapecheck; shapecheck.example"
    command = [sys.executable, "-I", "-S", "-c", code, str(PACKAGE.parent)]
    assert subprocess.run(command, check=False).returncode == 0
