"""Fixes in the source: nothing but their edits changes, whatever the file is written in."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands import file_changes, fix
from shapecheck.commands.fix import FixedFile
from shapecheck.config import ConfigError
from shapecheck.model import Edit, Finding, Report, Span, Summary

HERE = Path(__file__).parent
TEXT = '# coding: utf-8\nprint("é", x, y)\nlast'


def finding(column: int, end: int, new: str) -> Finding:
    span = Span(2, column, 2, end)
    return Finding(code="SC401", severity="warning", path="a.py", span=span, message="", fix=(Edit(span, new),))


def fixed(data: bytes, *findings: Finding, checked: str = TEXT) -> FixedFile:
    (result,) = fix.fixes(
        Report(
            findings=findings,
            summary=Summary(),
            unreached=(),
            entries=(),
            sources=(("a.py", tuple(checked.split("\n"))),),
        ),
        data,
    )
    return result


@pytest.mark.parametrize(
    ("encoding", "end"),
    [("utf-8", "\n"), ("utf-8", "\r"), ("utf-8-sig", "\r\n"), ("latin-1", "\n"), ("latin-1", "\r\n")],
)
def test_only_the_edit_changes(encoding: str, end: str) -> None:
    text = TEXT.replace("utf-8", encoding.removesuffix("-sig"))
    before = text.replace("\n", end).encode(encoding)
    result = fixed(before, finding(12, 13, "longer"), checked=text)
    assert result.after == before.replace(b"x, y", b"longer, y")


def test_edits_of_one_line_do_not_move_each_other() -> None:
    assert fixed(TEXT.encode(), finding(12, 13, "longer"), finding(15, 16, "")).after == TEXT.replace(
        "x, y", "longer, "
    ).encode("utf-8")


def test_of_overlapping_fixes_the_first_counts() -> None:
    result = fixed(TEXT.encode(), finding(12, 13, "z, z"), finding(12, 13, "w"))
    assert result.after == TEXT.replace("x, y", "z, z, y").encode()
    assert len(result.findings) == 1


@pytest.mark.parametrize("data", [TEXT.replace("x", "xx"), TEXT + "\n", ""])
def test_a_file_that_has_changed_is_left_alone(data: str) -> None:
    with pytest.raises(ConfigError, match=r"a\.py: is no longer what was checked"):
        fixed(data.encode(), finding(12, 13, "z"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TEXT, "line 2: no argument of a call stands where one is to be replaced"),
        (TEXT.replace("last", "[a async\n for b in c]"), "libcst cannot parse it"),
        (TEXT.replace("last", "if a:\n    b\n\f    c"), "line 5: libcst would not give it back as it is"),
    ],
    ids=["place", "syntax", "form feed"],
)
def test_a_file_in_which_libcst_can_replace_nothing_is_left_alone(text: str, why: str) -> None:
    result = fixed(text.encode(), finding(12, 16 if text == TEXT else 13, "z"), checked=text)
    assert (result.after, result.findings) == (text.encode(), ())
    assert why in result.problem


def test_a_diff_is_one_that_patch_takes(tmp_path: Path) -> None:
    before = TEXT.replace("\n", "\r\n").encode()
    (tmp_path / "a.py").write_bytes(before)
    change = fixed(before, finding(12, 13, "z"))
    subprocess.run(["git", "apply", "-p1"], input=file_changes.diff(change).encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "a.py").read_bytes() == change.after


def test_writing_keeps_links_and_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text(TEXT)
    real.chmod(0o755)
    link.symlink_to(real)
    file_changes.write(FixedFile(str(link), TEXT.encode(), b"new\r\n", ()))
    assert link.is_symlink()
    assert real.read_bytes() == b"new\r\n"
    assert real.stat().st_mode & 0o777 == 0o755


def test_fixed_code_is_the_golden_and_is_not_fixed_again(tmp_path: Path, command_line: Callable[..., Any]) -> None:
    shutil.copy(HERE / "fixing" / "before.txt", tmp_path / "model.py")

    def run(*options: str) -> Any:
        return command_line(tmp_path, "model.py", "--output-format", "concise", *options)

    first = run("--fix")
    after = (HERE / "fixing" / "after.txt").read_text()
    assert (tmp_path / "model.py").read_text() == after
    assert "Fixed 5 findings in model.py\n" in first.stderr
    left = [line.partition(": ")[2][:5] for line in first.stdout.splitlines()]
    assert (left, first.returncode) == (["SC401", "SC401"], 1)  # a conversion, and a format that no such array takes
    second = run("--fix")  # from the cache
    assert second.stdout == first.stdout
    assert "Fixed" not in second.stderr
    assert run("--diff").stdout == ""
    assert (tmp_path / "model.py").read_text() == after
