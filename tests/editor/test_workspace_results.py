"""What is kept of one run beside the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.claims import read_module
from shapecheck.editor.file_result import FileResult, WorkspaceResults
from shapecheck.model import Finding, JudgedClaim, Span, Verdict

TEXT = "def f(x):\n    y = g(x)  # (a, b)\n    return y\n"


def result(path: str = "m.py", text: str = TEXT, verdict: Verdict = "verified") -> FileResult:
    module = read_module(path, text.encode())
    span = Span(2, 17, 2, 23)
    claim = JudgedClaim(
        path=path, span=span, claim="(a, b)", notation="comment", target="y", function="f", verdict=verdict
    )
    finding = Finding(code="SC201", severity="error", path=path, span=span, message="false")
    return FileResult(
        path=path,
        lines=module.lines,
        version=1,
        module=module,
        findings=(finding,) if verdict == "mismatched" else (),
        claims=(claim,),
        values={},
    )


def test_an_unreadable_text_keeps_what_was_said_of_the_lines_that_stayed() -> None:
    results = WorkspaceResults()
    results.take([result(verdict="mismatched")], None)
    for text in ("import (\n" + TEXT, TEXT + "import (\n"):
        unreadable = replace(result(text=text), claims=())
        results.take([unreadable], None)
        known = results.get("m.py")
        assert known is not None
        assert known.unread is unreadable
        moved = results.movement(known, unreadable.lines)
        assert moved.span(known.findings[0].span) == moved.span(known.claims[0].span)
        assert moved.span(known.module.claims[0].span) == moved.span(known.claims[0].span)
        assert known.status == "Python cannot read this; before, verified 0 of 1"


@pytest.mark.parametrize("cut", [True, False])
def test_a_text_that_can_be_read_again_has_no_more_to_mend(cut: bool) -> None:
    results = WorkspaceResults()
    results.take([result()], None)
    results.take([result(text="import (\n" + TEXT)], None)
    results.take([result(verdict="unreached")], None, cut=cut)
    known = results.get("m.py")
    assert known is not None
    assert known.unread is None


@pytest.mark.parametrize(("cut", "text", "kept"), [(True, TEXT, 1), (False, TEXT, 0), (True, TEXT + "#\n", 0)])
def test_a_run_without_time_takes_nothing_back_of_the_same_text(cut: bool, text: str, kept: int) -> None:
    results = WorkspaceResults()
    results.take([result()], None)
    results.take([result(text=text, verdict="unreached")], None, cut=cut)
    known = results.get("m.py")
    assert known is not None
    assert known.verified_count == kept


def test_what_is_no_longer_in_its_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = WorkspaceResults()
    results.take([result("one/a.py"), result("one/b.py"), result("two/c.py")], None)
    assert results.take([result("one/a.py")], tmp_path / "one") == {"one/a.py", "one/b.py"}
    assert results.get("one/b.py") is None
    assert results.get("two/c.py") is not None
