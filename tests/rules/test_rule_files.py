"""Rules are read from Markdown; a file that is no rule says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import shapecheck.rules
from shapecheck.rules import RULES
from shapecheck.rules.rule_files import parse_rule

TEXT = """\
# SC999 made-for-this-test

- severity: warning
- message: `{name} is odd`
- optional: yes

It is odd, and this
takes two lines.

## Bad

```python
x = 1
```

## Good

```python
x = 2
```
"""


def test_a_rule_is_what_its_file_says() -> None:
    rule = parse_rule(TEXT)
    assert (rule.code, rule.name, rule.severity, rule.message) == (
        "SC999",
        "made-for-this-test",
        "warning",
        "{name} is odd",
    )
    assert rule.why == "It is odd, and this takes two lines."
    assert (rule.bad, rule.good, rule.lock, rule.optional) == ("x = 1\n", "x = 2\n", "", True)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("# SC999", "# 999", "begins with"),
        ("severity: warning", "severity: fatal", "SC999 needs a severity"),
        ("## Good", "## Nice", "SC999 has parts that no rule has: Nice"),
        ("- optional: yes", "- option: yes", "SC999 has parts that no rule has: option"),
    ],
)
def test_what_is_no_rule_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_rule(TEXT.replace(old, new))


def test_each_file_has_the_name_of_its_rule() -> None:
    files = Path(shapecheck.rules.__file__).parent.glob("*.md")
    assert {file.stem for file in files} == set(RULES)
