"""Rules: one Markdown file a rule, which is its documentation, its metadata and its test at once.

    # SC201 comment-mismatch

    - severity: error
    - message: `{notation} says {claimed}, but {target} is {observed}`

    Why it matters, in a paragraph.

    ## Bad                      a whole file that gives exactly this code
    ```python ... ```
    ## Good                     a whole file that gives nothing
    ```python ... ```
    ## Lock                     what shapes.lock keeps of both, where a rule needs one
    ```toml ... ```

(As ty and ruff do it: https://github.com/astral-sh/ruff/tree/main/crates/ty_python_semantic/resources/mdtest.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from shapecheck.model import Severity


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What one code means.

    `message` is the template of a finding's first line. `bad` and `good` are whole files: checked, `bad` gives exactly
    this code and `good` gives nothing (for SC100, with unused suppressions reported). `lock` is what shapes.lock keeps
    of both, if it needs a lock: that of model.py. An `optional` rule is one of taste: off, unless it is selected.
    """

    code: str
    name: str
    severity: Severity
    message: str
    why: str
    bad: str
    good: str
    lock: str = ""
    optional: bool = False


_HEAD = re.compile(r"\A# (?P<code>SC\d{3}) (?P<name>[a-z-]+)\n\n(?P<fields>(?:- [^\n]+\n)+)\n(?P<rest>.*)\Z", re.DOTALL)
_FIELD = re.compile(r"- (?P<name>[a-z]+): `?(?P<value>.+?)`?\n")
_SECTION = re.compile(r"^## (?P<title>\w+)\n\n```(?:python|toml)\n(?P<text>.*?)^```\n", re.DOTALL | re.MULTILINE)


def parse_rule(text: str) -> Rule:
    """The rule of a file's text; raises ValueError for a text that is none."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"a rule begins with `# SCnnn its-name` and a list of fields, not with {text[:60]!r}")
    fields = {field["name"]: field["value"] for field in _FIELD.finditer(head["fields"])}
    why, *_ = head["rest"].partition("\n## ")
    sections = {section["title"]: section["text"] for section in _SECTION.finditer(head["rest"])}
    if unknown := (fields.keys() - {"severity", "message", "optional"}) | (sections.keys() - {"Bad", "Good", "Lock"}):
        raise ValueError(f"{head['code']} has parts that no rule has: {', '.join(sorted(unknown))}")
    if fields.get("severity") not in ("error", "warning", "note") or not {"Bad", "Good"} <= sections.keys():
        raise ValueError(f"{head['code']} needs a severity (error, warning or note), and a bad and a good example")
    return Rule(
        code=head["code"],
        name=head["name"],
        severity=cast("Severity", fields["severity"]),
        message=fields["message"],
        why=" ".join(why.split()),
        bad=sections["Bad"],
        good=sections["Good"],
        lock=sections.get("Lock", ""),
        optional=fields.get("optional") == "yes",
    )


class RuleFiles(Mapping[str, Rule]):
    """All rules by their codes, in order: read when the first is asked for, since many runs need none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rules: dict[str, Rule] = {}

    def __getitem__(self, code: str) -> Rule:
        return self._load_rules()[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load_rules())

    def __len__(self) -> int:
        return len(self._load_rules())

    def _load_rules(self) -> dict[str, Rule]:
        if not self._rules:
            rules = (parse_rule(file.read_text("utf-8")) for file in sorted(self._folder.glob("SC*.md")))
            self._rules = {rule.code: rule for rule in rules}
        return self._rules
