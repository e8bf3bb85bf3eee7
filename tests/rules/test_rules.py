from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shapecheck.rules import RULES, Rule, as_code, nearest_code


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_a_rule_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"SC\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.why.endswith(".")
    # the examples are docs: files that parse, in which something differs
    for text in [rule.good] if rule.code == "SC104" else [rule.bad, rule.good]:
        assert ast.dump(ast.parse(text))
    assert rule.bad != rule.good


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_a_message_has_named_gaps_and_fits_a_line(rule: Rule) -> None:
    gaps = [name for _, name, _, _ in string.Formatter().parse(rule.message) if name is not None]
    assert gaps and all(name.isidentifier() for name in gaps)
    assert "\n" not in rule.message


def test_codes_and_names_are_unique_and_sorted() -> None:
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert all(code == rule.code for code, rule in RULES.items())


def test_what_proves_nothing_never_fails_a_run() -> None:
    notes = {rule.code for rule in RULES.values() if rule.severity == "note"}
    assert notes == {"SC302", "SC303", "SC304", "SC306"}


@pytest.mark.parametrize(
    ("text", "code"),
    [("SC", "SC"), ("SC2", "SC2"), ("SC201", "SC201"), ("sc20", "SC20"), ("comment-mismatch", "SC201")],
)
def test_codes_beginnings_and_names_are_codes(text: str, code: str) -> None:
    assert as_code(text) == code


@pytest.mark.parametrize("text", ["", "S", "SC9", "SC2011", "E501", "comment"])
def test_other_texts_are_no_codes(text: str) -> None:
    assert not as_code(text)


@pytest.mark.parametrize(("text", "nearest"), [("SC211", "SC201"), ("sc301", "SC301"), ("SC2099", "SC209")])
def test_nearest_code(text: str, nearest: str) -> None:
    assert nearest_code(text) == nearest


@pytest.mark.parametrize("text", ["", "mypy", "完全"])
def test_there_is_always_a_nearest_code(text: str) -> None:
    assert nearest_code(text) in RULES


def test_the_examples_give_what_they_promise(tmp_path: Path, command_line: Callable[..., Any]) -> None:
    """One run over all of them: each bad file gives its own code and nothing else, each good file nothing."""
    for rule in RULES.values():
        (tmp_path / f"{rule.code}_bad.py").write_text(rule.bad)
        (tmp_path / f"{rule.code}_good.py").write_text(rule.good)
    kept = [
        rule.lock.replace("model.py", f"{rule.code}_{one}.py") for rule in RULES.values() for one in ("bad", "good")
    ]
    (tmp_path / "shapes.lock").write_text("\n".join(["version = 1", *kept]))
    options = ["--output-format", "json", "--report-unused-ignores"]
    result = command_line(tmp_path, ".", *options, "--select", "SC")  # those that are off by default too
    assert result.returncode == 1, result.stderr
    found: dict[str, set[str]] = {}
    for finding in json.loads(result.stdout)["findings"]:
        if not RULES[finding["code"]].optional or finding["path"].startswith(finding["code"]):
            found.setdefault(finding["path"], set()).add(finding["code"])
    assert found == {f"{code}_bad.py": {code} for code in RULES}
