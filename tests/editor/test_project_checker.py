"""Runs over texts that are not saved: what they import again, and that they say what a fresh run says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.editor.project_checker import (
    OpenDocument,
    ProjectChecker,
    RunOutcome,
    encode,
    leading_imports,
    preloadable,
)
from shapecheck.editor.run_processes import RunCancelledError, RunProcesses
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.messages.plans import ModulePlan
from shapecheck.worker.spawn import Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")

# A module can leave nothing in its project: beside it, it makes a folder each time that it is imported.
SLOW = """\
import tempfile
from pathlib import Path
import jax.numpy as jnp
tempfile.mkdtemp(dir=f"{Path(__file__).parent}_imports")
TABLE = jnp.zeros  # made while it is imported
import jax
PAIR = jax.eval_shape(lambda: jnp.zeros((2, 3)))  # shape: (2, 3)

def double(x):
    return x + x  # shape: (n, 3)
"""
MODEL = """\
from jaxtyping import Array, Float
from slow import double


def f(x: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    return double(x)  # (n, 3)
"""


@pytest.fixture
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectChecker]:
    monkeypatch.chdir(tmp_path)
    tmp_path.with_name(f"{tmp_path.name}_imports").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n")
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "model.py").write_text(MODEL)
    checker = ProjectChecker(tmp_path)
    try:
        yield checker
    finally:
        checker.close()


def run(checker: ProjectChecker, **texts: str) -> RunOutcome:
    documents = [
        OpenDocument(checker.folder / f"{name}.py", text, 1, (checker.folder / f"{name}.py").read_text() != text)
        for name, text in texts.items()
    ]
    outcome = checker.run("edited", documents, RunProcesses(), lambda label, done, total: None)
    checker.wait()
    return outcome


def said(outcome: RunOutcome) -> dict[str, tuple[str, list[tuple[str, int]]]]:
    assert outcome.problem == ""
    return {r.path: (r.status, [(f.code, f.span.line) for f in r.findings]) for r in outcome.results}


def imports(checker: ProjectChecker) -> int:
    return len(list(checker.folder.with_name(f"{checker.folder.name}_imports").iterdir()))


def test_an_edit_imports_its_own_module_and_not_those_that_it_imports(checker: ProjectChecker) -> None:
    good = {"model.py": ("verified 3 of 3", [])}
    assert said(run(checker, model=MODEL)) == good
    assert said(run(checker, model=MODEL + "# 1\n")) == good
    before = imports(checker)
    for number in range(2, 4):
        assert said(run(checker, model=MODEL + f"# {number}\n")) == good
    assert imports(checker) == before
    wrong = MODEL.replace("double(x)  #", "double(x).T  #")
    assert said(run(checker, model=wrong)) == {"model.py": ("verified 1 of 3", [("SC203", 5), ("SC201", 6)])}
    assert imports(checker) == before

    (checker.folder / "slow.py").write_text(SLOW.replace("return x + x", "return (x + x).T"))
    assert said(run(checker, model=MODEL + "# 4\n")) == {"model.py": ("verified 1 of 3", [("SC203", 5), ("SC201", 6)])}
    assert imports(checker) > before


def test_what_an_unedited_module_says_of_itself_is_still_known(checker: ProjectChecker) -> None:
    expected = {"model.py": ("verified 3 of 3", []), "slow.py": ("verified 2 of 2", [])}
    for number in range(4):
        assert said(run(checker, model=MODEL + f"# {number}\n", slow=SLOW)) == expected


def test_a_module_that_goes_without_the_edited_one_is_imported_anew(checker: ProjectChecker) -> None:
    (checker.folder / "slow.py").write_text(
        SLOW + "\ntry:\n    import model\nexcept ImportError:\n    def double(x):\n        return x.T\n"
    )
    for number in range(3):
        assert said(run(checker, model=MODEL + f"# {number}\n"))["model.py"][1] == []


def test_it_says_what_a_fresh_run_says(checker: ProjectChecker) -> None:
    wrong = MODEL.replace("(n, 3)", "(3, n)")
    for number in range(3):
        outcome = run(checker, model=wrong + f"# {number}\n", slow=SLOW)
    texts = {"model.py": wrong + "# 2\n", "slow.py": SLOW}
    for name, text in texts.items():
        (checker.folder / name).write_text(text)
    fresh = check([Path("model.py"), Path("slow.py")], load([Path()], flags={"cache": False}))
    assert [f for r in outcome.results for f in r.findings] == list(fresh.findings)
    assert sum(len(r.claims) for r in outcome.results) == fresh.summary.total


def test_a_cancelled_run_ends_its_processes(checker: ProjectChecker) -> None:
    processes = RunProcesses()
    document = OpenDocument(checker.folder / "model.py", MODEL + "# edited\n", 1, True)

    def cancel(label: str, done: int, total: int) -> None:
        if label.startswith("importing"):
            processes.cancel()

    with pytest.raises(RunCancelledError):
        checker.run("edited", [document], processes, cancel)


def test_what_is_excluded_is_not_checked(checker: ProjectChecker) -> None:
    (checker.folder / "pyproject.toml").write_text('[tool.shapecheck]\nexclude = ["model.py"]\n')
    assert said(run(checker, model=MODEL)) == {}


def test_scripts_wait_until_the_file_is_saved(checker: ProjectChecker) -> None:
    (checker.folder / "train.py").write_text("import model\n")
    (checker.folder / "pyproject.toml").write_text('[[tool.shapecheck.example]]\nscript = "train.py"\n')
    seen: list[str] = []

    def note(label: str, done: int, total: int) -> None:
        seen.append(label)

    typed = OpenDocument(checker.folder / "model.py", MODEL + "# typed\n", 1, True)
    checker.run("edited", [typed], RunProcesses(), note)
    assert not any("train.py" in label for label in seen)
    saved = OpenDocument(checker.folder / "model.py", MODEL, 2, False)
    checker.run("project", [saved], RunProcesses(), note)
    assert any("train.py" in label for label in seen)


def test_imports_at_the_top_up_to_the_first_other_statement(tmp_path: Path) -> None:
    text = (
        '"""Doc."""\nfrom __future__ import annotations\nimport a.b, c\nfrom .d import e, f\nfrom .. import g\n'
        "from h import *\nimport os\nos.environ['X'] = '1'\nimport late\n"
    )
    (tmp_path / "m.py").write_text(text)
    file = os.fspath(tmp_path / "m.py")
    plan = ModulePlan(file=file, path="m.py", root="", name="pkg.sub.m", scopes=(), sites=())
    assert list(leading_imports(plan)) == ["a.b", "c", "pkg.sub.d:e", "pkg.sub.d:f", "pkg:g", "h", "os"]


def test_libraries_are_preloaded_only_where_they_are_imported() -> None:
    assert set(preloadable(b"import equinox as eqx\nfrom flax import nnx\n# import optax\n")) == {"equinox", "flax.nnx"}


def test_a_text_is_encoded_as_it_declares() -> None:
    assert encode("# -*- coding: latin-1 -*-\n# é\n").endswith(b"# \xe9\n")
    assert encode("# é\n") == "# é\n".encode()


def test_what_was_seen_before_needs_no_process(checker: ProjectChecker, monkeypatch: pytest.MonkeyPatch) -> None:
    first = said(run(checker, model=MODEL))
    other = ProjectChecker(checker.folder)

    def refuse(self: ForkServers, python: str, cwd: Path) -> Process:
        raise AssertionError("a process was started")

    monkeypatch.setattr(ForkServers, "start", refuse)
    try:
        assert said(run(other, model=MODEL)) == first
    finally:
        other.close()


def test_what_was_typed_is_not_kept_for_the_next_session(checker: ProjectChecker) -> None:
    run(checker, model=MODEL)
    cache = checker.folder / ".shapecheck_cache"
    before = {file.name for file in cache.iterdir()}
    run(checker, model=MODEL + "# typed, and perhaps never saved\n")
    assert {file.name for file in cache.iterdir()} == before
