"""The benchmark of mutants, on a made-up package: its operators, its judge, and what it counts as detected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from bench_mutants import Package, claimed_lines, elsewhere
from mutation import detection, tables
from mutation.fork_server import ForkServer
from mutation.judge import CleanTests, Project, judge
from mutation.mutants import Mutant, Source
from mutation.operators import OPERATORS, code_mutants
from mutation.pick_tests import pytest_collection_modifyitems
from mutation.proof import evidence, is_shape_error
from mutation.stale_claims import stale_mutants

SRC = Path(__file__).parents[2] / "src"

MADE_UP = dedent('''\
    import jax
    import jax.numpy as jnp


    def attend(q, k, weights):
        """Scores: array of shape (time, keys)."""
        heads = q.reshape(q.shape[0], 2, q.shape[1] // 2)  # (time, head, width)
        both = jnp.concatenate([heads, heads], axis=0).transpose(1, 0, 2)
        total = jnp.sum(both, axis=1, keepdims=True)
        scores = jnp.einsum("td,sd->ts", q, k) / total[:, None].sum()
        mapped = jax.vmap(jnp.add, in_axes=(0, None))(scores, weights)
        return mapped @ jnp.ones((k.shape[0], q.shape[0]))


    def left_out(x):
        return x.T
    ''')


def mutants_of(text: str, *functions: str) -> dict[str, set[str]]:
    """What each operator makes of a text's lines."""
    made: dict[str, set[str]] = {}
    for mutant in code_mutants(Source("m.py", text), functions):
        made.setdefault(mutant.operator, set()).add(mutant.after)
    return made


def test_each_operator_finds_its_place_and_no_other_function_changes() -> None:
    made = mutants_of(MADE_UP, "attend")
    assert made.keys() == OPERATORS.keys()
    assert "both = jnp.concatenate([heads, heads], axis=1).transpose(1, 0, 2)" in made["joined axis"]
    assert "both = jnp.concatenate([heads, heads], axis=0).transpose(0, 1, 2)" in made["transpose"]
    assert "total = jnp.sum(both, axis=2, keepdims=True)" in made["reduction axis"]
    assert "total = jnp.sum(both, axis=1, keepdims=False)" in made["keepdims"]
    assert 'scores = jnp.einsum("td,sd->st", q, k) / total[:, None].sum()' in made["einsum output"]
    assert 'scores = jnp.einsum("td,sd->ts", k, q) / total[:, None].sum()' in made["swapped operands"]
    assert 'scores = jnp.einsum("td,sd->ts", q, k) / total[None, :].sum()' in made["new axis"]
    assert "mapped = jax.vmap(jnp.add, in_axes=(1, None))(scores, weights)" in made["in_axes/out_axes"]
    assert "return mapped @ jnp.ones((q.shape[0], k.shape[0]))" in made["layer size"]
    reshaped = made["reshape factors"]
    assert "heads = q.reshape(q.shape[0], 2, q.shape[1])  # (time, head, width)" in reshaped
    assert "heads = q.reshape(2, q.shape[0], q.shape[1] // 2)  # (time, head, width)" in reshaped
    assert not any("x.T" in line for lines in made.values() for line in lines)


def test_mutants_keep_every_line_and_survive_the_way_through_json() -> None:
    for mutant in code_mutants(Source("m.py", MADE_UP), ["attend"]):
        changed = mutant.applied(MADE_UP).splitlines()
        assert len(changed) == len(MADE_UP.splitlines())
        assert [n for n, line in enumerate(changed, 1) if line != MADE_UP.splitlines()[n - 1]] == [mutant.line]
        assert Mutant.from_json(mutant.as_json()) == mutant


def test_positions_count_bytes_where_the_syntax_tree_does() -> None:
    made = mutants_of('def f(x):\n    return ("größe", x.sum(axis=0))\n', "f")
    assert made["reduction axis"] == {'return ("größe", x.sum(axis=1))', 'return ("größe", x.sum(axis=-1))'}


def test_functions_that_have_no_axes_stay_as_they_are() -> None:
    text = "def f(x, key):\n    a, b = jax.random.split(key, 2)\n    return math.prod(x), einsum(x, a, 'i, i ->')\n"
    assert mutants_of(text, "f") == {"swapped operands": {"return math.prod(x), einsum(a, x, 'i, i ->')"}}


def test_constructors_lose_layer_sizes_only() -> None:
    text = "class M:\n    def __init__(self, n, m):\n        self.a = Linear(n, m)\n        self.b = n @ m\n"
    made = list(code_mutants(Source("m.py", text), [], ["M.__init__"]))
    assert {m.operator for m in made} == {"layer size"}
    assert {m.after for m in made} == {
        "self.a = Linear(m, n)",
        "self.a = Linear(2 * (n), m)",
        "self.a = Linear(n, 2 * (m))",
    }


@pytest.mark.parametrize(
    ("line", "notation", "spec", "column", "expected"),
    [
        (
            "    y = x  # (b, t, 3)",
            "comment",
            "b t 3",
            14,
            {"y = x  # (t, b, 3)", "y = x  # (b, 3, t)", "y = x  # (t, 3)", "y = x  # (b, t, 4)"},
        ),
        (
            '    y: Float[Array, "b 2*t"] = x',
            "annotation",
            "b 2*t",
            8,
            {'y: Float[Array, "2*t b"] = x', 'y: Float[Array, "2*t"] = x'},
        ),
    ],
)
def test_claims_go_stale(line: str, notation: str, spec: str, column: int, expected: set[str]) -> None:
    text = f"def f(x):\n{line}\n    return y\n"
    claim = {"path": "m.py", "line": 2, "column": column, "notation": notation, "spec": spec, "scope": "f"}
    assert {m.after for m in stale_mutants(Source("m.py", text), [claim])} == expected


def test_a_stale_name_is_another_of_the_same_scope() -> None:
    text = "def f(x, y):\n    a = x  # (b, t)\n    c = y  # (s,)\n"
    claims: list[dict[str, Any]] = [
        {"path": "m.py", "line": 2, "column": 14, "notation": "comment", "spec": "Float b t", "scope": "f"},
        {"path": "m.py", "line": 3, "column": 14, "notation": "comment", "spec": "s", "scope": "f"},
    ]
    made = {m.after for m in stale_mutants(Source("m.py", text), claims)}
    assert {"a = x  # (s, t)", "a = x  # (b, s)", "c = y  # (b,)"} <= made


def error(**changes: Any) -> dict[str, Any]:
    """An error as the plugin describes it: JAX's, called from the package."""
    frames = [["tests/test_a.py", 3], ["pkg/a.py", 7]]
    bases = ["TypeError", "Exception"]
    text = "add got incompatible shapes for broadcasting: (3,), (4,)."
    return {"type": "TypeError", "bases": bases, "text": text, "frames": frames, "own": False, **changes}


def test_only_errors_about_shapes_raised_from_the_package_count() -> None:
    assert is_shape_error(error(), "pkg")
    assert not is_shape_error(error(own=True), "pkg")  # the package's own `raise`
    assert not is_shape_error(error(frames=[["tests/test_a.py", 3]]), "pkg")  # the test's own line
    assert not is_shape_error(error(frames=[["pkg/a_test.py", 3]]), "pkg")
    assert not is_shape_error(error(bases=["AssertionError", "Exception"]), "pkg")
    assert not is_shape_error(error(text="unsupported operand"), "pkg")


def test_what_tests_of_the_clean_copy_contradict_is_no_evidence() -> None:
    known = {"path": "pkg/a.py", "line": 4, "code": "SC201", "message": "old"}
    new = {"path": "pkg/a.py", "line": 5, "code": "SC201", "message": "new"}
    records = [{"test": "t", "outcome": "failed", "contradictions": [known, new], "error": error()}]
    shown = evidence(records, "pkg", frozenset({("pkg/a.py", 4, "SC201")}))
    assert [(fact["kind"], fact["line"]) for fact in shown] == [("contradicted", 5), ("raised", 7)]
    old = [{**records[0], "contradictions": [known], "error": None}]
    assert evidence(old, "pkg", frozenset({("pkg/a.py", 4, "SC201")})) == []


def test_tests_of_several_functions_come_before_more_parameters_of_one() -> None:
    seconds = {"t::a[0]": 1.0, "t::a[1]": 1.1, "t::b": 5.0, "t::slow": 40.0}
    clean = CleanTests(seconds=seconds, ran={"pkg/a.py": {3: list(seconds)}}, contradicted=frozenset())
    assert clean.choose("pkg/a.py", range(3, 4), 3, 30) == ["t::a[0]", "t::b"]
    assert clean.choose("pkg/a.py", range(3, 4), 4, 90) == ["t::a[0]", "t::b", "t::slow", "t::a[1]"]
    assert clean.choose("pkg/a.py", range(4, 5), 3, 30) == []


def test_the_quickest_tests_that_run_all_lines_are_taken() -> None:
    seconds = {"t::all": 9.0, "t::half": 1.0, "t::same": 2.0, "t::other": 3.0}
    ran = {1: ["t::all", "t::half", "t::same"], 2: ["t::all", "t::half"], 3: ["t::all", "t::other"], 4: ["t::all"]}
    clean = CleanTests(seconds=seconds, ran={"pkg/a.py": ran}, contradicted=frozenset())
    assert clean.covering("pkg/a.py", {1, 2, 3}, 9) == ["t::half", "t::other"]
    assert clean.covering("pkg/a.py", {1, 2, 3, 4}, 9) == ["t::half", "t::other", "t::all"]
    assert clean.covering("pkg/a.py", {1, 2, 3, 4}, 1) == ["t::half"]
    assert clean.covering("pkg/b.py", {1}, 9) == []


def test_a_forked_process_is_as_the_interpreter_would_start_it(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "own.py").write_text("import sys\nimport colorsys, told\nprint('once')\n")
    (tmp_path / "project" / "told.py").touch()
    environment = {**os.environ, "PYTHONPATH": ""}
    report = "import json, os, sys; loaded = [n for n in ('colorsys', 'told', 'bdb') if n in sys.modules]; "
    report += (
        "print(json.dumps([sys.argv, os.getcwd(), os.environ.get('GIVEN'), sys.stdin.read(), loaded])); sys.exit(3)"
    )
    with ForkServer(
        sys.executable,
        tmp_path,
        environment,
        modules=["bdb"],
        own={"bdb"},
        learn=["own.py"],
        project=tmp_path / "project",
    ) as server:
        done = subprocess.run(
            [server.program, "-c", report, "a", "b"],
            cwd=tmp_path,
            env={**environment, "GIVEN": "yes"},
            input="typed",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3, done.stderr
        # What the learnt command imported is there, save the project's own and what is left out.
        assert json.loads(done.stdout) == [["-c", "a", "b"], str(tmp_path), "yes", "typed", ["colorsys"]]
        module = subprocess.run(
            [server.program, "-m", "own"], cwd=tmp_path / "project", capture_output=True, check=False
        )
        assert module.stdout == b"once\n", module.stderr
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run([server.program, "-c", "import time; time.sleep(60)"], timeout=1, check=False)


def test_a_mutant_is_judged_by_the_tests_of_its_package(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "pkg").mkdir(parents=True)
    (project / "pkg" / "__init__.py").touch()
    text = "import jax.numpy as jnp\n\n\ndef f(x, y):\n    z = x.sum(axis=1)  # (b,)\n    w = x @ y  # shape: (b, c)\n"
    text += "    return z[:, None] + w\n"
    (project / "pkg" / "a.py").write_text(text)
    (project / "test_a.py").write_text(
        "import jax.numpy as jnp\nfrom pkg.a import f\n\n\ndef test_f():\n    f(jnp.ones((3, 4)), jnp.ones((4, 5)))\n"
        "\n\ndef test_again():\n    test_f()\n"
    )
    where = Project(name="made-up", folder=project, package="pkg", tests=(), python=sys.executable, checker=str(SRC))
    seconds = {"test_a.py::test_f": 0.1, "test_a.py::test_again": 0.2}
    clean = CleanTests(
        seconds=seconds, ran={"pkg/a.py": {line: list(seconds) for line in (5, 6, 7)}}, contradicted=frozenset()
    )
    source = Source("pkg/a.py", text)
    claims: list[dict[str, Any]] = [
        {"path": "pkg/a.py", "line": 6, "column": 25, "notation": "comment", "spec": "b c", "scope": "f"},
    ]
    made = {m.after: m for m in [*code_mutants(source, ["f"]), *stale_mutants(source, claims)]}

    def shown(after: str) -> list[tuple[str, int]]:
        found = judge(where, clean, made[after], range(4, 8), most=2, patience=9, limit=90)
        assert (project / "pkg" / "a.py").read_text() == text
        assert len(found["outcomes"]) == 1, "it stops at the first proof"
        return [(fact["kind"], fact["line"]) for fact in found["evidence"]]

    assert shown("w = y @ x  # shape: (b, c)") == [("raised", 6)]
    assert shown("w = x @ y  # shape: (c,)") == [("contradicted", 6)]


def finding(code: str, line: int, severity: str = "error") -> dict[str, Any]:
    """A finding in the JSON report."""
    return {"code": code, "path": "m.py", "line": line, "end_line": line, "severity": severity, "message": ""}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([finding("SC301", 8)], ("detected", "changed")),
        ([finding("SC201", 12)], ("detected", "contradicted")),
        ([finding("SC301", 20)], ("detected", "raised")),
        ([finding("SC203", 5)], ("detected", "claim")),
        ([finding("SC301", 5)], ("elsewhere", "")),
        ([finding("SC201", 30)], ("elsewhere", "")),
        ([finding("SC302", 8, "note")], ("missed", "")),
        ([finding("SC201", 3)], ("missed", "")),  # the clean copy has it too
    ],
)
def test_what_counts_as_detected(new: list[dict[str, Any]], expected: tuple[str, str]) -> None:
    source = Source("m.py", MADE_UP)
    mutant = next(m for m in code_mutants(source, ["attend"]) if m.line == 8)
    facts = [{"kind": "contradicted", "path": "m.py", "line": 12}, {"kind": "raised", "path": "m.py", "line": 20}]
    right = detection.acceptable(mutant, facts, {"m.py": source})
    clean: dict[str, Any] = {"findings": [finding("SC201", 3)], "unreached": []}
    found = detection.new_findings({"findings": [*clean["findings"], *new], "unreached": []}, clean)
    assert detection.verdict(found, right, frozenset({("m.py", 5)})) == expected


def test_claims_that_are_unreached_or_reported_are_not_verified() -> None:
    claims = [{"path": "m.py", "line": line} for line in (1, 2, 3, 4)]
    strict = {
        "findings": [finding("SC201", 1), finding("SC201", 3), finding("SC302", 4, "note")],
        "unreached": [{"path": "m.py", "line": 2}],
    }
    assert [claim["line"] for claim in detection.verified_claims(claims, strict)] == [4]


def test_a_mutant_that_a_killed_run_left_is_taken_out(tmp_path: Path) -> None:
    for use, text in (("clean", "x = 1\n"), ("judged", "x = 2\n")):
        (tmp_path / use / "pkg").mkdir(parents=True)
        (tmp_path / use / "pkg" / "a.py").write_text(text)
    settings = {"package": "pkg", "suite": [], "python": "", "checker": "", "pytest_options": []}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    package = Package(tmp_path)
    assert (package.project("judged").folder / "pkg" / "a.py").read_text() == "x = 1\n"
    assert (package.project("checked").folder / "pkg" / "a.py").read_text() == "x = 1\n"


def test_files_in_which_alone_a_mutant_shows_are_checked_too() -> None:
    mutant = next(iter(code_mutants(Source("pkg/m.py", MADE_UP), ["attend"])))
    there = {"path": "pkg/other.py", "line": 3, "kind": "raised", "callers": {"pkg/other.py": 3}}
    through = {**there, "callers": {"pkg/m.py": 8, "pkg/other.py": 3}}
    own = {"path": "pkg/m.py", "line": 8, "kind": "contradicted"}
    assert elsewhere(mutant, [there]) == ["pkg/other.py"]
    assert elsewhere(mutant, [there, through]) == []
    assert elsewhere(mutant, [there, own]) == []


def test_claims_of_a_class_concern_its_methods_and_those_of_a_function_its_own_lines() -> None:
    text = "class M:\n    a: int\n\n    def f(self):\n        return 1\n\n\n"
    text += "def g():\n    return 2\n\n\ndef h():\n    return 3\n"
    claims: list[dict[str, Any]] = [{"scope": "M"}, {"scope": "g"}, {"scope": ""}]
    assert claimed_lines(Source("m.py", text), claims) == {4, 5, 8, 9}


def test_other_tests_than_the_chosen_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tmp_path / "names"
    names.write_text("test_a.py::test_f\ntest_a.py::test_g[1]")
    monkeypatch.setenv("MUTATION_TESTS", str(names))

    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    items: Any = [Item(f"test_a.py::{name}") for name in ("test_f", "test_g[0]", "test_g[1]")]
    pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["test_a.py::test_f", "test_a.py::test_g[1]"]


def test_recall_is_the_share_of_the_detected() -> None:
    def result(verdict: str, without: str) -> dict[str, Any]:
        return {"checks": {"tests": {"verdict": verdict}, "no-tests": {"verdict": without}}}

    results = [result("detected", "missed"), result("detected", "missed"), result("elsewhere", "detected")]
    results.append(result("missed", "missed"))
    assert tables.recall(results, "tests") == 0.5
    assert tables.recall(results, "no-tests") == 0.25
