"""What we change in Python, JAX and frameworks is found by the word; names of JAX's inside stand in one file."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shapecheck
from shapecheck.evaluate.probes import monkeypatch as table

PACKAGE = Path(shapecheck.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
# Data of Python's that is there to be set, and attributes by name of what is our own.
SETTINGS = ("os.environ", *(f"sys.{name}" for name in ("argv", "dont_write_bytecode", "modules", "path", "std")))
SETTERS = ("setattr", "set_attr", "patch_attribute", "__setattr__")
OWN_ATTRIBUTES = {
    "runtime/lazy_probe.py": "itself",
    "evaluate/global_state.py": "settings, which their owners let anybody set",
    "evaluate/frameworks/haiku.py": "settings, which Haiku lets anybody set",
    "evaluate/probes/ast_probes.py": "the tree of the user's code that we compile",
    "evaluate/suites/run_script.py": "the names of the probes, in a module that we load",
    "evaluate/session/standard_streams.py": "the worker's own streams",
    "evaluate/stages/field_functions.py": "a copy of the user's module",
    "evaluate/stages/staged_models.py": "a copy of the user's spec",
}


@functools.cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def foreign_names(tree: ast.Module) -> set[str]:
    """The names under which a file has imported what is not ours."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(
                (a.asname or a.name).partition(".")[0] for a in node.names if not a.name.startswith("shapecheck")
            )
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("shapecheck"):
            names.update(a.asname or a.name for a in node.names)
    return names


def patches(tree: ast.AST, foreign: set[str]) -> Iterator[int]:
    """The lines that set an attribute of something foreign, the code of a function, or an attribute by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in SETTERS:
            yield node.lineno
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name | ast.Subscript):  # most are, and unparsing takes long
                continue
            text = ast.unparse(target)
            root = re.split(r"[.\[]", text, maxsplit=1)[0]
            is_foreign = isinstance(target, ast.Attribute) and root in foreign and not text.startswith(SETTINGS)
            if is_foreign or text.endswith(".__code__"):
                yield node.lineno


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_each_monkeypatch_is_called_one_and_stands_in_the_table(file: Path) -> None:
    text, path = file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix()
    tree, lines = tree_of(file), text.splitlines()
    outer = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    functions = [n for n in (*outer, *(m for c in outer for m in c.body)) if isinstance(n, ast.FunctionDef)]
    found = list(patches(tree, foreign_names(tree))) if path not in OWN_ATTRIBUTES else []
    for line in found if file != Path(table.__file__) else ():
        around = [lines[f.lineno - 1 : f.end_lineno] for f in functions if f.lineno <= line <= (f.end_lineno or 0)]
        assert "monkeypatch" in str(around), f"{path}:{line}"
    said = re.search(r"\bmonkeypatch\b(?! import)", text.replace("probes.monkeypatch", "")) is not None
    # What a framework needs stands in its one file, and nowhere else.
    if said and file != Path(table.__file__) and not path.startswith("evaluate/frameworks/"):
        assert f" {path.removeprefix('evaluate/')} " in (table.__doc__ or "")


def test_the_table_names_files_that_have_a_monkeypatch() -> None:
    paths = re.findall(r"\S+\.py", table.__doc__ or "")
    assert len(paths) > 15
    for path in paths:
        (file,) = [each for each in (PACKAGE / path, PACKAGE / "evaluate" / path) if each.is_file()]
        assert "monkeypatch" in file.read_text(encoding="utf-8").replace("probes.monkeypatch", "")


def private_names(tree: ast.Module) -> Iterator[str]:
    """Modules, attributes and texts by which a file reaches into JAX."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            names = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                if re.match(r"jaxlib\b|jax\.(_src|interpreters)\b", module) or (
                    module.startswith("jax") and any(name.startswith("_") for name in names)
                ):
                    yield module
        elif isinstance(node, ast.Attribute) and re.match(r"_[a-z]|interpreters", node.attr):
            if re.match(r"(jax|jnp)\.(\w+\.)*(_[a-z]|interpreters)", ast.unparse(node)):
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "_src" in node.value:
            yield node.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_names_of_the_inside_of_jax_stand_in_one_file(file: Path) -> None:
    found = [name for name in private_names(tree_of(file)) if "haiku" not in name]  # a framework has its own
    if file.name == "jax_internals.py":
        assert found
    else:
        assert found == []
