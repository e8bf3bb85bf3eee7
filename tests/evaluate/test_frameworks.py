"""What we know of a framework stands in one file: no other names one, and a new one needs no other."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shapecheck
from shapecheck.evaluate.framework_protocol import all_frameworks, framework_facts, module_names

PACKAGE = Path(shapecheck.__file__).parent
FOLDER = PACKAGE / "evaluate" / "frameworks"
WORDS = {part for name in module_names() for part in name.split(".")} | {"eqx", "hk"}
# Nothing here has to be changed for a new framework.
NAMED_ELSEWHERE = {
    "cli/instrument_command.py": "says what is written into the user's file",
    "rewrite/inserted_imports.py": "writes calls of equinox.error_if into the user's file",
    "rewrite/value_checks.py": "writes calls of equinox.error_if into the user's file",
}


def code_words(file: Path) -> Iterator[str]:
    """The words of names and texts in the code of a file, without docstrings and comments."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield from re.findall("[a-z]+", node.value.lower())
        for field in ("id", "attr", "name", "arg", "module"):
            yield from re.findall("[a-z]+", str(getattr(node, field, "")).lower())


def test_no_other_file_names_a_framework() -> None:
    outside = [file for file in PACKAGE.rglob("*.py") if FOLDER not in file.parents]
    named = {file.relative_to(PACKAGE).as_posix() for file in outside if WORDS & set(code_words(file))}
    assert named == set(NAMED_ELSEWHERE)


def test_each_framework_stands_where_its_module_stands() -> None:
    assert {each.module for each in all_frameworks()} == module_names() >= {"equinox", "flax.linen", "haiku"}


@pytest.mark.parametrize("attribute", ["variables", "distributions", "without_effects"])
def test_what_is_stated_is_read_without_an_import(attribute: str) -> None:
    assert (
        framework_facts(attribute) == {text for each in all_frameworks() for text in getattr(each, attribute)} != set()
    )


TOY = '''
import jax


class Module:
    """Its attributes that are numbers or texts are static, and all others its leaves."""

    def __init_subclass__(cls):
        def flatten(module):
            own = vars(module)
            static = tuple((name, value) for name, value in own.items() if isinstance(value, (int, str)))
            names = tuple(name for name in own if name not in dict(static))
            return [own[name] for name in names], (names, static)

        def unflatten(names, leaves):
            module = object.__new__(cls)
            vars(module).update({**dict(names[1]), **dict(zip(names[0], leaves))})
            return module

        jax.tree_util.register_pytree_node(cls, flatten, unflatten)
'''
PROTOCOL = '''
"""Toy modules, for a test."""

import contextlib
import functools

from shapecheck.evaluate.probes.monkeypatch import patch_attribute, subclasses
from shapecheck.evaluate.stages.stage_records import StageStep, arguments, describe_unmapped, short
from shapecheck.evaluate.stages.stage_recorder import StagedFramework


class ToyFramework(StagedFramework):
    is_pytree = True
    has_parts = True
    variables = ("TOYNET_",)
    without_effects = ("toynet", "toynet.Module")

    @contextlib.contextmanager
    def record_stages(self, watch):
        with contextlib.ExitStack() as stack:
            for cls in subclasses(self.module_class()):  # monkeypatch: there is no hook
                if "__call__" in vars(cls):
                    stack.enter_context(patch_attribute(cls, "__call__", stage_call(watch, vars(cls)["__call__"])))
            yield


def stage_call(watch, call):
    @functools.wraps(call)
    def call_as_stage(module, *args):
        name = short(type(module))
        given = tuple((n, describe_unmapped(value)) for n, value in list(arguments(call, (module, *args), {}))[1:])
        source = watch.origin(call, name)
        step = StageStep(type=name, callable=name, part=module, source=source, path=None, input=given)
        return watch.run_stage(step, call, (module, *args))

    return call_as_stage


FRAMEWORK = ToyFramework("toynet")
'''
MODEL = """
import jax.numpy as jnp
import toynet


class Layer(toynet.Module):
    def __init__(self, n_in: int, n_out: int):
        self.weight = jnp.zeros((n_out, n_in))

    def __call__(self, x):
        return self.weight @ x


class Net(toynet.Module):
    def __init__(self, n_in: int, hidden: int):
        self.layers = [Layer(n_in, hidden), Layer(hidden, n_in)]

    def __call__(self, x):  # x: (n_in,)
        for layer in self.layers:
            x = layer(x)
        h = self.layers[0](x)  # shape: (n_in,)
        return h
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A copy of the checker, the files of a framework beside it, and a model; returns the model's folder."""
    ours = tmp_path / "checker" / "shapecheck"
    shutil.copytree(PACKAGE, ours, ignore=shutil.ignore_patterns("__pycache__"))
    library, model = tmp_path / "library" / "toynet.py", tmp_path / "project" / "net.py"
    for file, text in ((library, TOY), (model, MODEL)):
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    return model.parent


def run(folder: Path, *arguments: str) -> str:
    paths = os.pathsep.join(str(folder.parent / name) for name in ("checker", "library"))
    command = [sys.executable, "-m", "shapecheck", *arguments]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_one_file_makes_a_framework_known(toy: Path) -> None:
    check = ("check", "net.py", "--no-cache", "--output-format", "json")
    before = json.loads(run(toy, *check))
    assert {entry["origin"] for entry in before["entries"]} == {"function"}

    ours = toy.parent / "checker" / "shapecheck" / "evaluate" / "frameworks"
    (ours / "toynet.py").write_text(PROTOCOL, encoding="utf-8")
    after = json.loads(run(toy, *check))
    assert {(entry["origin"], entry["target"]) for entry in after["entries"]} == {
        ("model", "net:Net"),
        ("model", "net:Layer"),
    }
    (finding,) = after["findings"]
    assert (finding["code"], finding["line"]) == ("SC201", 21)
    assert finding["message"].startswith("comment says (n_in,), but h is")
    paths = {"PYTHONPATH": os.fspath(toy.parent / "checker")}
    ask = "from shapecheck.evaluate import framework_protocol as p; print('TOYNET_' in p.framework_facts('variables'))"
    said = subprocess.run([sys.executable, "-c", ask], env={**os.environ, **paths}, capture_output=True, check=True)
    assert said.stdout == b"True\n"
    tree = run(toy, "template", "net.py:Net", "--arg", "f32[n_in]")
    assert re.findall(r"layers\[\d\]", tree) == ["layers[0]", "layers[1]", "layers[0]"]
