"""Every file in fixtures/ is checked through the command line, and gives exactly the findings that stand in it.

A line on which a finding is expected ends in `# E: SC201` (several: `# E: SC201, SC203`); a line of a good file with a
claim that cannot be reached ends in `# U: part of the reason`. The checker sees neither: behind a shape comment they
would be part of it. Notes (SC302 to SC304) are not expectations.

A fixture is a folder with good.py, which gives nothing, and bad.py, the same with mistakes. Folders named `config_*`
have a pyproject.toml, and are checked from inside; all others go into one run, since JAX takes seconds to import.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shapecheck.rules import RULES

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
# The README shows the whole output of quickstart, which is tested there.
FILES = sorted(file for file in FIXTURES.glob("*/*.py") if file.parent.name != "quickstart")
GOOD = [file for file in FILES if file.name == "good.py"]
COMPARED = re.compile(r"SC(1\d\d|2\d\d|301|305|4\d\d)")

_EXPECTED = re.compile(r"[ \t]*# E: (SC\d{3}(?:, SC\d{3})*)$")
_UNREACHED = re.compile(r"[ \t]*# U: (.+)$")

Found = frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Expectations:
    """A fixture's text as the checker shall see it, with what it shall say: (line, code), and line -> reason."""

    text: str
    findings: Found
    unreached: Mapping[int, str]


def read(text: str) -> Expectations:
    """Take the expectations out of a fixture's text."""
    plain, findings, unreached = [], set(), {}
    for number, line in enumerate(text.split("\n"), start=1):
        if expected := _EXPECTED.search(line):
            findings |= {(number, code) for code in expected[1].split(", ")}
            line = line[: expected.start()]  # noqa: PLW2901
        if reason := _UNREACHED.search(line):
            unreached[number] = reason[1]
            line = line[: reason.start()]  # noqa: PLW2901
        plain.append(line)
    return Expectations("\n".join(plain), frozenset(findings), unreached)


def rewrite(text: str, findings: Found) -> str:
    """Put `findings` in the place of the expectations in a fixture's text; the rest stays as it is."""
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        codes = sorted(code for at, code in findings if at == number)
        lines.append(_EXPECTED.sub("", line) + (f"  # E: {', '.join(codes)}" if codes else ""))
    return "\n".join(lines)


@dataclass(frozen=True)
class Run:
    """What the command line said about one file."""

    findings: Found
    messages: tuple[str, ...]
    claims: int
    unreached: tuple[tuple[int, str], ...]


def run_in(folder: Path, command_line: Callable[..., Any]) -> dict[str, Run]:
    """Check a folder from inside, and sort what came out by the files' paths."""

    def shapecheck(*arguments: str) -> str:
        done = command_line(folder, *arguments)
        assert done.returncode in (0, 1), f"exit code {done.returncode}\n{done.stderr}"
        return str(done.stdout)

    # A slow machine shall not cut what is compared.
    report = json.loads(shapecheck("check", ".", "--output-format", "json", "--budget", "600"))
    claims = json.loads(shapecheck("claims", ".", "--output-format", "json"))["claims"]
    runs = {}
    for file in folder.glob("**/*.py"):
        path = file.relative_to(folder).as_posix()
        found = [each for each in report["findings"] if each["path"] == path and COMPARED.fullmatch(each["code"])]
        runs[path] = Run(
            frozenset((each["line"], each["code"]) for each in found),
            tuple(f"{path}:{each['line']}: {each['code']} {each['message']}" for each in found),
            sum(claim["path"] == path for claim in claims),
            tuple((each["line"], each["reason"]) for each in report["unreached"] if each["path"] == path),
        )
    return runs


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Callable[..., Any]) -> Callable[[Path], Run]:
    """Return a function from a fixture's file to what the checker says about it."""
    together = tmp_path_factory.mktemp("fixtures")

    def copy(folders: Iterable[Path], to: Path) -> Path:
        for folder in folders:
            shutil.copytree(folder, to / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
            for file in (to / folder.name).glob("*.py"):
                file.write_text(read(file.read_text("utf-8")).text, "utf-8")
        return to

    @cache
    def batch(name: str) -> Mapping[str, Run]:
        if name:
            alone = copy([FIXTURES / name], tmp_path_factory.mktemp("configured")) / name
            return {f"{name}/{path}": each for path, each in run_in(alone, command_line).items()}
        plain = {file.parent for file in FILES if not file.parent.name.startswith("config_")}
        return run_in(copy(sorted(plain), together), command_line)

    def of(file: Path) -> Run:
        name = file.parent.name
        return batch(name if name.startswith("config_") else "")[f"{name}/{file.name}"]

    return of


def named(file: Path) -> str:
    return file.relative_to(FIXTURES).with_suffix("").as_posix()


@pytest.mark.parametrize("file", FILES, ids=named)
def test_findings_are_those_that_stand_in_the_file(
    file: Path, run: Callable[[Path], Run], request: pytest.FixtureRequest
) -> None:
    expected, actual = read(file.read_text("utf-8")), run(file)
    if request.config.getoption("--update-fixtures"):
        file.write_text(rewrite(file.read_text("utf-8"), actual.findings), "utf-8")
        return
    missing, surplus = sorted(expected.findings - actual.findings), sorted(actual.findings - expected.findings)
    said = "\n".join(actual.messages)
    assert (missing, surplus) == ([], []), f"missing {missing}, not expected {surplus}; said:\n{said}"


@pytest.mark.parametrize("file", GOOD, ids=named)
def test_good_files_are_verified_and_reached(file: Path, run: Callable[[Path], Run]) -> None:
    expected, actual = read(file.read_text("utf-8")).unreached, run(file)
    unexpected = [
        (line, reason) for line, reason in actual.unreached if line not in expected or expected[line] not in reason
    ]
    assert unexpected == []
    assert {line for line, _ in actual.unreached} == set(expected)
    assert actual.claims > len(actual.unreached)


def test_good_files_expect_no_findings_and_have_bad_twins() -> None:
    for file in GOOD:
        assert read(file.read_text("utf-8")).findings == frozenset(), file
        assert read((file.with_name("bad.py")).read_text("utf-8")).findings, file


def test_every_rule_about_code_is_expected_somewhere() -> None:
    expected = {code for file in FILES for _, code in read(file.read_text("utf-8")).findings}
    # SC100 and optional rules need a flag, and SC104 is of files that Python cannot parse
    elsewhere = {"SC100", "SC104", *(code for code, rule in RULES.items() if rule.optional)}
    assert expected == {code for code in RULES if COMPARED.fullmatch(code)} - elsewhere


EXAMPLE = '''\
def f(x):
    """Returns:
        Array of shape (b, t).  # E: SC207
    """
    y = g(x)  # (b, t, d)  # E: SC201, SC206
    return y  # (b, t)  # U: needs a key
'''


def test_expectations_are_taken_out_of_the_text() -> None:
    found = read(EXAMPLE)
    assert found.findings == {(3, "SC207"), (5, "SC201"), (5, "SC206")}
    assert found.unreached == {6: "needs a key"}
    assert found.text == (
        'def f(x):\n    """Returns:\n        Array of shape (b, t).\n    """\n'
        "    y = g(x)  # (b, t, d)\n    return y  # (b, t)\n"
    )


def test_rewriting_with_the_same_findings_changes_nothing() -> None:
    assert rewrite(EXAMPLE, read(EXAMPLE).findings) == EXAMPLE
    for file in FILES:
        text = file.read_text("utf-8")
        assert rewrite(text, read(text).findings) == text


def test_rewriting_moves_adds_and_takes_away() -> None:
    findings = frozenset({(1, "SC203"), (5, "SC204"), (5, "SC201"), (6, "SC203")})
    text = rewrite(EXAMPLE, findings)
    assert read(text).findings == findings
    assert read(text).text == read(EXAMPLE).text
    assert read(text).unreached == {6: "needs a key"}
    assert text.split("\n")[4] == "    y = g(x)  # (b, t, d)  # E: SC201, SC204"
    assert rewrite(text, frozenset()) == rewrite(EXAMPLE, frozenset())
