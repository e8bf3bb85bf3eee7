"""What is evaluated after an edit: what it concerns and no more, and that this says what a fresh run says."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shapecheck.editor.project_checker import OpenDocument, ProjectChecker, RunOutcome
from shapecheck.editor.run_processes import RunProcesses
from shapecheck.worker.messages.entry_messages import EvaluateEntry
from shapecheck.worker.messages.protocol import Reply, RequestFor
from shapecheck.worker.worker_client import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each run starts JAX anew")

MODEL = """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

SCALES = {"small": 1, "large": 4}


def helper(x):
    return x * SCALES["large"]


def first(x: Float[Array, "n d"]) -> Float[Array, "d n"]:
    y = helper(x)  # (n, d)
    return y.T  # (d, n)


class Layer:
    def __init__(self, width: int):
        self.w = jnp.ones((width, 3))

    def __call__(self, x: Float[Array, "b width"]) -> Float[Array, "b 3"]:
        y = x @ self.w  # (b, 3)
        return y


def second(x: Float[Array, "n d"], y: Float[Array, "d k"]):
    z = jnp.einsum("nd,dk->nk", x, y)  # (n, k)
    return z.sum(0)  # (n,)
"""
LAYER = "Layer.__call__"


class Editing:
    """One document, edited without being saved, and what was evaluated for each of its texts."""

    def __init__(self, folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.text, self.typed, self.evaluated = folder, text, text, set[str]()
        self.checker = ProjectChecker(folder)
        ask = Worker.ask

        def noted(worker: Worker, request: RequestFor[Reply], limit: float) -> Reply:
            if isinstance(request, EvaluateEntry):
                self.evaluated.add(request.key.rpartition(":")[2])
            return ask(worker, request, limit)

        monkeypatch.setattr(Worker, "ask", noted)

    def run(self, text: str) -> RunOutcome:
        self.evaluated = set()
        document = OpenDocument(self.folder / "model.py", text, 1, text != self.text)
        outcome = self.checker.run("edited", [document], RunProcesses(), lambda label, done, total: None)
        assert outcome.problem == ""
        return outcome

    def begin(self) -> RunOutcome:
        """Open the document: in the test itself, for pytest says in the environment where it is."""
        outcome = self.run(MODEL)
        assert self.evaluated == {"first", "second", LAYER}
        return outcome

    def after(self, old: str, new: str) -> set[str]:
        """What one more edit has evaluated."""
        assert self.typed.count(old) == 1, old
        self.typed = self.typed.replace(old, new)
        self.run(self.typed)
        return self.evaluated


@pytest.fixture
def editing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Editing]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n")
    (tmp_path / "model.py").write_text(MODEL)
    editing = Editing(tmp_path, MODEL, monkeypatch)
    try:
        yield editing
    finally:
        editing.checker.close()


def shown(outcome: RunOutcome) -> list[object]:
    return [
        (r.path, r.findings, sorted((c.span.line, c.verdict) for c in r.claims), sorted(r.values.items()))
        for r in outcome.results
    ]


def test_only_what_ran_through_an_edited_function_is_evaluated(editing: Editing) -> None:
    editing.begin()
    assert editing.after("x @ self.w ", "2 * x @ self.w ") == {LAYER}
    assert editing.after("return x * SCALES", "return 3 * x * SCALES") == {"first"}
    assert editing.after("    z = jnp", "    unused = 1\n    z = jnp") == {"second"}
    assert editing.after('"large": 4', '"large": 5') == {"first", "second", LAYER}


CONFIGURED = MODEL.replace(
    "\n\nclass Layer:\n    def __init__(self, width: int):\n",
    "\n\n@dataclass\nclass Sizes:\n    width: int\n    depth: int = 3\n\n\n"
    "class Layer:\n    def __init__(self, sizes: Sizes):\n        width = sizes.width\n",
).replace("import jax\n", "from dataclasses import dataclass\n\nimport jax\n", 1)


def test_what_takes_its_sizes_from_a_dataclass_depends_on_its_fields_and_not_on_all_of_the_file(
    editing: Editing,
) -> None:
    editing.typed = CONFIGURED
    editing.run(CONFIGURED)
    assert LAYER in editing.evaluated
    assert LAYER not in editing.after("return x * SCALES", "return 3 * x * SCALES")
    assert LAYER in editing.after("depth: int = 3", "depth: int = 4")


def test_comments_and_layout_cost_no_evaluation(editing: Editing) -> None:
    before = editing.begin()
    for old, new in [
        ("import jax\n", "import jax  # as ever\n"),
        ("\n\nclass Layer", "\n\n# a layer\n\n\nclass Layer"),
        ("x @ self.w  #", "x  @  self.w  #"),
        ("    return z.sum", "\n    # over all\n    return z.sum"),
    ]:
        outcome = editing.run(MODEL.replace(old, new))
        assert editing.evaluated == set(), new
        (result,), (known,) = outcome.results, before.results
        assert result.status == known.status
        (finding,) = result.findings
        assert finding.span.line == MODEL.replace(old, new)[: MODEL.replace(old, new).index("(n,)")].count("\n") + 1


def test_what_one_call_may_leave_for_another_ties_them_together(editing: Editing) -> None:
    kept = MODEL.replace('return x * SCALES["large"]', 'SCALES["seen"] = 1\n    return x * SCALES["large"]')
    reading = kept.replace("    z = jnp", '    w = SCALES["small"]\n    z = jnp')
    editing.run(reading)
    editing.run(reading.replace('SCALES["seen"] = 1', 'SCALES["seen"] = 2'))
    assert {"first", "second"} <= editing.evaluated


def test_source_is_read_as_it_is_typed(editing: Editing) -> None:
    wrong = MODEL.replace("x @ self.w ", "x @ self.w.T @ x ")
    (saved,) = editing.run(wrong).results
    editing.checker.close()
    editing.checker = ProjectChecker(editing.folder)  # which remembers nothing
    shutil.rmtree(editing.folder / ".shapecheck_cache", ignore_errors=True)
    (typed,) = editing.run("\n\n\n" + wrong).results
    details = {f.code: (f.observed, f.details) for f in saved.findings if f.code == "SC301"}
    assert details["SC301"][0].startswith("x: float32")
    assert {f.code: (f.observed, f.details) for f in typed.findings if f.code == "SC301"} == details


def random_edit(text: str, chance: random.Random) -> str:
    """The text with one line edited: its comment, its layout, an operator, a number, the order of its dims."""
    lines = text.split("\n")
    number = chance.randrange(len(lines))
    line = lines[number]
    indent = re.match(r"\s*", line)
    assert indent is not None
    ways = [
        line if "#" in line or not line else line + "  # a remark",
        "\n" + line,
        f"{indent.group()}# a remark\n{line}",
        re.sub(r" ([*@]) ", lambda found: " + " if found.group(1) == "*" else " * ", line, count=1),
        re.sub(r"\b[34]\b", "5", line),
        re.sub(r"# \((\w), (\w)\)", r"# (\2, \1)", line),
        line.replace(".T", ""),
        line.replace("    y = ", "    unused = 0\n    y = ") if line.startswith("    y = ") else line,
    ]
    lines[number] = chance.choice(ways)
    return "\n".join(lines)


def test_random_edits_end_as_fresh_runs_do(editing: Editing) -> None:
    editing.begin()
    chance, text, saved = random.Random(19), MODEL, 0  # noqa: S311 - nothing secret
    fresh = ProjectChecker(editing.folder)
    try:
        for _ in range(12):
            text = random_edit(text if chance.random() < 0.7 else MODEL, chance)
            found = editing.run(text)
            few, saved_checker = len(editing.evaluated), editing.checker
            fresh._memory = None
            shutil.rmtree(editing.folder / ".shapecheck_cache", ignore_errors=True)
            editing.checker = fresh
            anew = editing.run(text)
            editing.checker = saved_checker
            saved += len(editing.evaluated) - few
            assert shown(found) == shown(anew), text
    finally:
        fresh.close()
    assert saved > 0
