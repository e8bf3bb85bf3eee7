"""Every rule, once: the docs, the SARIF metadata, config validation and the tests of the examples come from here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from shapecheck.rules.rule_files import Rule, RuleFiles

__all__ = ["RULES", "Rule", "as_code", "nearest_code"]

RULES: Final = RuleFiles(Path(__file__).parent)


def as_code(text: str) -> str | None:
    """Return the code, or beginning of codes ("SC2"), that `text` is in any case or names (`comment-mismatch`)."""
    code = text.upper()
    if code.startswith("SC") and any(known.startswith(code) for known in RULES):
        return code
    return next((rule.code for rule in RULES.values() if rule.name == text.lower()), None)


def nearest_code(text: str) -> str:
    """Return the rule's code that `text` was probably meant to be."""
    import difflib  # noqa: PLC0415  # most codes are right

    return difflib.get_close_matches(text.upper(), RULES, n=1, cutoff=0.0)[0]
