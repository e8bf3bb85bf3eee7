"""The README says what is so: its rules are the rules, its formats the formats."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shapecheck.report import FORMATS
from shapecheck.rules import RULES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def rules_table() -> str:
    rows = [f"| {r.code} | {r.name} | {r.severity} | {r.why.split('. ')[0].rstrip('.')}. |" for r in RULES.values()]
    return "\n".join(["| code | name | severity | why |", "|---|---|---|---|", *rows])


def test_the_rules_table_is_that_of_the_rules() -> None:
    section = re.search(r"<!-- rules -->\n(.*)\n<!-- end of rules -->", README.read_text(), re.DOTALL)
    assert section is not None
    assert section.group(1) == rules_table()


def test_every_format_is_named() -> None:
    text = README.read_text()
    assert [name for name in FORMATS if name not in text and name != "full"] == []


def test_the_top_level_holds_what_was_agreed() -> None:
    names = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}
    assert names - {"build", "dist"} == {"pyproject.toml", "src", "tests", "fixtures", "README.md", "LICENSE"}


@pytest.mark.parametrize("marker", ["quickstart", "template"])
def test_what_the_readme_shows_is_what_the_command_prints(marker: str) -> None:
    shown = re.search(rf"<!-- {marker} -->\n    \$ shapecheck (.*)\n((?:    .*\n|\n)+)<!--", README.read_text())
    assert shown is not None
    command = [sys.executable, "-m", "shapecheck", *shlex.split(shown.group(1))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.rstrip("\n") == re.sub("^    ", "", shown.group(2), flags=re.MULTILINE).rstrip("\n")
