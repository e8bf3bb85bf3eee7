"""The README says what is so: its rules are the rules, its formats the formats."""

from __future__ import annotations

import re
from pathlib import Path

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
