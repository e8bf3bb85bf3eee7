"""Whose modules have probes, and how they get along with other import hooks."""

from __future__ import annotations

import builtins
import importlib
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import jaxtyping
import pytest

import shapecheck
from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.runtime_options import RuntimeOptions

WRONG = """
from jaxtyping import Array, Float

def f(x: Float[Array, "n n"]):
    return x
"""


def test_jaxtyping_s_own_hook_works_on_top(load: Any, tmp_path: Path) -> None:
    load("import jax\n")
    Path("typed.py").write_text(WRONG, "utf-8")
    before = builtins.compile
    with jaxtyping.install_import_hook("typed", "beartype.beartype"):
        typed: Any = importlib.import_module("typed")
    try:
        assert builtins.compile is before
        with pytest.raises(jaxtyping.TypeCheckError):
            typed.f("no array")
        with pytest.raises((shapecheck.ShapeMismatch, jaxtyping.TypeCheckError)):
            typed.f(jnp.ones((2, 3)))
        assert "__shapecheck__" in vars(typed)
    finally:
        del sys.modules["typed"]


def test_installed_packages_and_other_folders_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = tmp_path / "own", tmp_path / "own" / ".venv" / "lib" / "site-packages"
    others.mkdir(parents=True)
    (others / "somebodys.py").write_text(WRONG, "utf-8")
    monkeypatch.syspath_prepend(str(others))
    for include, found in (((), False), (("somebodys",), True)):
        session = CheckSession(RuntimeOptions(root=str(own), include=include))
        session.start()
        try:
            module = importlib.import_module("somebodys")
            assert ("__shapecheck__" in vars(module)) is found
        finally:
            session.stop()
            sys.modules.pop("somebodys", None)


def test_no_bytecode_with_probes_is_left_behind(load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    load(WRONG)
    assert list(tmp_path.rglob("*.pyc")) == []


def test_a_module_without_claims_is_as_ever(load: Any) -> None:
    module = load("def f(x):\n    return x\n")
    assert module.f(3) == 3
    assert module.f.__code__.co_names == ()


def test_an_import_hook_from_python_is_for_what_it_names_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names = ("checked_one", "not_named", "after_it")
    for name in names:
        (tmp_path / f"{name}.py").write_text(WRONG, "utf-8")
    try:
        with shapecheck.install_import_hook("checked_one", "after_it"):
            checked: Any = importlib.import_module("checked_one")
            others: list[Any] = [importlib.import_module("not_named")]
        others.append(importlib.import_module("after_it"))
        with pytest.raises(shapecheck.ShapeMismatch):
            checked.f(jnp.ones((2, 3)))
        for each in others:
            each.f(jnp.ones((2, 3)))
    finally:
        for name in names:
            sys.modules.pop(name, None)


def test_functions_that_exist_are_checked_in_a_block_and_as_before_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = WRONG + "\nimport jax\n\n@jax.jit\ndef g(x: Float[Array, 'n n']):\n    return x.sum()\n"
    (tmp_path / "loaded_before.py").write_text(text, "utf-8")
    module: Any = importlib.import_module("loaded_before")
    try:
        module.g(jnp.ones((2, 3)))  # compiled, so that JAX recalls it
        code = module.f.__code__
        for function in (module.f, module.g):
            with pytest.raises(shapecheck.ShapeMismatch), shapecheck.runtime_checks(root=tmp_path):
                function(jnp.ones((2, 3)))
        assert module.f.__code__ is code
        module.f(jnp.ones((2, 3)))
        module.g(jnp.ones((2, 3)))
    finally:
        del sys.modules["loaded_before"]


def test_a_module_that_is_loaded_again_has_its_new_claims_and_older_functions_their_own(
    load: Any, tmp_path: Path
) -> None:
    before = "def f(x):\n    y = x.T  # shape: (a, b, c)\n    return y\n"
    module = load(before)
    old, file = module.f, Path(module.__file__)
    file.write_text("import jax\n\n\ndef g(x):\n    z = x.T  # shape: (a,)\n    w = x  # shape: (a, b)\n", "utf-8")
    importlib.invalidate_caches()
    importlib.reload(module)
    for function, line, says in ((module.g, 5, "(a,)"), (old, 2, "(a, b, c)"), (module.g, 5, "(a,)")):
        with pytest.raises(shapecheck.ShapeMismatch) as caught:
            function(jnp.ones((2, 3)))
        assert str(caught.value).startswith(f"{file.name}:{line}:"), caught.value
        assert f"comment says {says}" in str(caught.value)
        assert caught.value.path == file.name
    file.write_text(before, "utf-8")
    importlib.reload(module)
    assert module.f(jnp.ones((2, 3, 4))).shape == (4, 3, 2)


def test_what_a_block_imports_is_the_hook_s_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "imported_inside.py").write_text(WRONG, "utf-8")
    try:
        with shapecheck.install_import_hook():
            with shapecheck.runtime_checks():
                module: Any = importlib.import_module("imported_inside")
                with pytest.raises(shapecheck.ShapeMismatch):
                    module.f(jnp.ones((2, 3)))
            with pytest.raises(shapecheck.ShapeMismatch):
                module.f(jnp.ones((2, 3)))
    finally:
        sys.modules.pop("imported_inside", None)
