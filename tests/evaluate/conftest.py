"""Cases are small modules; a folder of them is checked in one run.

A line which must give a finding ends in `~SC201` (taken off before the file is written), one whose claim must stay
unreached in `~unreached`, one that does not hold but is not reported in `~tentative`. Every other claim must be
verified, and every comment must be read as a claim.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from shapecheck import claims
from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Finding, Report

_MARK = re.compile(r"\s*~([A-Za-z]+\d*)$", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """One case: what was asked for, and what the run gave, as (line, code, "unreached" or "tentative")."""

    expected: list[tuple[int, str]]
    actual: list[tuple[int, str]]
    findings: list[Finding]
    unread: list[int]  # lines with a comment that was not read as a claim
    details: str

    def as_marked(self) -> bool:
        """Whether the run gave what the marks ask for; prints what it gave, for the failure's report."""
        print(self.details)
        return self.expected == self.actual and not self.unread


@dataclass(frozen=True)
class Folder:
    """All cases of one run."""

    cases: Mapping[str, Checked]
    report: Report


CheckFolder = Callable[..., Folder]


@pytest.fixture(scope="session")
def check_folder(tmp_path_factory: pytest.TempPathFactory) -> CheckFolder:
    """Check `{file name: text}` in one run; `config` is the text of `[tool.shapecheck]` and what follows.

    What is found shall not depend on how busy the machine is: there is ten times the usual time.
    """

    def run(cases: Mapping[str, str], config: str = "") -> Folder:
        folder = tmp_path_factory.mktemp("cases")
        budget = "" if "budget" in config else "budget = 600\n"
        (folder / "pyproject.toml").write_text(f"[tool.shapecheck]\n{budget}{config}")
        plain = {}
        for name, text in cases.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            plain[name] = _MARK.sub("", text.lstrip("\n"))
            file.write_text(plain[name])
        with contextlib.chdir(folder):
            report = check([folder], load([folder]))
        return Folder(
            {name: _checked(name, text.lstrip("\n"), plain[name], report) for name, text in cases.items()}, report
        )

    return run


def _checked(name: str, marked: str, plain: str, report: Report) -> Checked:
    expected = []
    for number, line in enumerate(marked.splitlines(), 1):
        mark = _MARK.search(line)
        if mark:
            expected.append((number, mark.group(1)))
    findings = [f for f in report.findings if f.path == name]
    unreached = [u for u in report.unreached if u.path == name]
    actual = sorted({*((f.span.line, f.code) for f in findings), *((u.line, "unreached") for u in unreached)})
    module = claims.read_module(name, plain.encode())
    claimed = {line for c in module.claims for line in range(c.span.line, c.span.end_line + 1)}
    held = {each.line for each in report.verified if each.path == name}
    tentative = {c.span.line for c in module.claims} - held - {line for line, _ in actual}
    actual = sorted([*actual, *((line, "tentative") for line in tentative)])
    unread = [n for n, line in enumerate(plain.splitlines(), 1) if "# " in line and n not in claimed]
    told = [f"{f.path}:{f.span.line} {f.code} {f.message} | {' | '.join(f.details)}" for f in findings]
    told += [f"{u.path}:{u.line} unreached: {u.reason}" for u in unreached]
    told += [f"entry {e.target} {e.origin} {e.mode} {e.status} {e.reason}" for e in report.entries]
    return Checked(expected, actual, findings, unread, "\n".join([*told, f"not read as claims: {unread}"]))
