"""The folder listing tells how data flows: who may import whom, and what importing us may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import shapecheck

PACKAGE = Path(shapecheck.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# From the data to the commands: each room may import itself and those before it.
ORDER = (
    "model",
    "shapes",
    "files",
    "syntax",
    "rules",
    "verdicts",
    "report",
    "config",
    "claims",
    "rewrite",
    "templates",
    "comparison",
    "worker.messages",
    "evaluate.limits",
    "evaluate.parse_python",
    "evaluate.own_errors",
    "evaluate.landlock",
    "evaluate.read_only_disk",
    "evaluate.playground",
    "evaluate.scratch_folders",
    "evaluate.leftover_processes",
    "evaluate.framework_protocol",
    "evaluate.global_state",
    "evaluate.process_damage",
    "evaluate.jax_internals",
    "evaluate.probes",
    "evaluate.inputs.facts",
    "evaluate.inputs.trials",
    "evaluate.inputs.project",
    "evaluate.inputs.synthesis",
    "evaluate.search",
    "evaluate.stages",
    "evaluate.frameworks",
    "evaluate.compare",
    "evaluate.suites",
    "evaluate.session",
    "evaluate.live",
    "worker",
    "incremental",
    "runtime",
    "notebooks",
    "commands",
    "editor",
    "cli",
    "__main__",
)
# What runs in the user's interpreter: there is JAX, and nothing that the checker needs for itself.
IN_THE_WORKER = ("model", "shapes", "worker.messages", "evaluate")
WORKER_THIRD_PARTY = {"jax", "numpy", "pytest"}


def dotted(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(file): file for file in FILES}


def room(module: str) -> str:
    """The innermost room of a module; "" is the package's face, which imports nothing until it is asked."""
    inner = module.partition(".")[2]
    while inner and inner not in ORDER:
        inner = inner.rpartition(".")[0]
    return inner


@cache
def imports(file: Path) -> tuple[str, ...]:
    """Each imported module as a dotted name: also those that only type checkers see, which a reader needs as well."""
    return tuple(_read_imports(file))


def _read_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = file.relative_to(PACKAGE.parent).parts[:-1]
            base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            base = f"{base}{node.module or ''}".rstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


def test_each_room_has_its_place_in_the_order() -> None:
    assert {module for module in MODULES if not room(module)} == {
        "shapecheck",
        "shapecheck.evaluate",
        "shapecheck.evaluate.inputs",
    }
    folders = {".".join(file.parent.relative_to(PACKAGE).parts) for file in FILES} - {"", "runtime.site"}
    assert {folder for folder in folders if folder not in ORDER} == {
        "evaluate",
        "evaluate.inputs",
        "evaluate.frameworks.flax",
        "commands.lock",
    }


@pytest.mark.parametrize("module", [m for m in MODULES if room(m)])
def test_imports_go_one_way(module: str) -> None:
    here = room(module)
    for name in imports(MODULES[module]):
        if name in MODULES and room(name):
            assert ORDER.index(room(name)) <= ORDER.index(here), f"{here} may not import {name}"


def test_no_modules_know_each_other_in_a_circle() -> None:
    graph = {module: {name for name in imports(file) if name in MODULES} for module, file in MODULES.items()}
    del graph["shapecheck"]  # the face imports what it shows when it is asked
    while leaves := {m for m, targets in graph.items() if not targets & graph.keys() - {m}}:
        graph = {m: targets for m, targets in graph.items() if m not in leaves}
    assert not graph


@pytest.mark.parametrize("module", [m for m in MODULES if m.removeprefix("shapecheck.").startswith(IN_THE_WORKER)])
def test_what_runs_in_the_worker_needs_only_jax(module: str) -> None:
    for name in imports(MODULES[module]):
        top = name.split(".")[0]
        assert top in {"shapecheck", *sys.stdlib_module_names, *WORKER_THIRD_PARTY}, f"{name} may not be there"
        if top == "shapecheck" and room(name):
            assert room(name).startswith(IN_THE_WORKER), f"{name} does not run in the user's interpreter"


@pytest.mark.parametrize("module", ["shapecheck", "shapecheck.cli", "shapecheck.commands.check"])
def test_importing_us_loads_no_jax_and_no_libcst(module: str) -> None:
    code = f"import sys, {module}; print(sorted(m for m in ('jax', 'numpy', 'libcst', 'equinox') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_face_imports_only_the_standard_library() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import shapecheck; shapecheck.example"
    command = [sys.executable, "-I", "-S", "-c", code, str(PACKAGE.parent)]
    assert subprocess.run(command, check=False).returncode == 0
