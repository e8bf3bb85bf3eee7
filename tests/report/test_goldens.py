"""Every format against a file. SHAPECHECK_UPDATE_GOLDENS=1 rewrites them: read the difference before you commit."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.model import Report, Summary
from shapecheck.report import FORMATS, summary

GOLDENS = Path(__file__).parent / "goldens"
NAMES = {
    "full": "full.txt",
    "concise": "concise.txt",
    "json": "report.json",
    "json-lines": "findings.jsonl",
    "sarif": "report.sarif",
    "github": "github.txt",
    "junit": "junit.xml",
}


def compare(name: str, text: str) -> None:
    golden = GOLDENS / name
    if os.environ.get("SHAPECHECK_UPDATE_GOLDENS"):
        golden.write_text(text, encoding="utf-8", newline="")
    with golden.open(encoding="utf-8", newline="") as stream:
        assert text == stream.read()


def test_every_format_has_a_golden() -> None:
    assert set(NAMES) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_format(name: str, sample: Report) -> None:
    text = FORMATS[name](sample)
    if name == "sarif":  # the rules' texts and the version are tested elsewhere, and change often
        document = json.loads(text)
        driver = document["runs"][0]["tool"]["driver"]
        driver["rules"] = [rule["id"] for rule in driver["rules"]]
        driver["version"] = "VERSION"
        text = json.dumps(document, indent=2) + "\n"
    compare(NAMES[name], text)


def test_full_in_colour(sample: Report) -> None:
    compare("full-color.txt", FORMATS["full"](sample, color=True))


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"full", "concise"}))
def test_colour_makes_no_difference_to_programs(name: str, sample: Report) -> None:
    assert FORMATS[name](sample, color=True) == FORMATS[name](sample)


def test_summary(sample: Report) -> None:
    compare("summary.txt", summary.render(sample))


def test_summary_that_lists_unreached_claims(sample: Report) -> None:
    compare("summary-unreached.txt", summary.render(sample, show_unreached=True))


def test_summary_that_lists_assumptions(sample: Report) -> None:
    compare("summary-assumptions.txt", summary.render(sample, show_assumptions=True))


def test_summary_where_nothing_was_verified(sample: Report) -> None:
    report = replace(
        sample,
        findings=(),
        summary=Summary(total=3, verified=0, verified_for_all_sizes=0, mismatched=0, tentative=0, unreached=3),
        suppressed=0,
        baselined=0,
        remedy='Add an example:\n\n    [[tool.shapecheck.example]]\n    call = "pkg.gpt:GPT"\n',
    )
    compare("summary-nothing.txt", summary.render(report))


def test_statistics(sample: Report) -> None:
    more = tuple(sample.findings[0] for _ in range(9))
    compare("statistics.txt", summary.statistics(replace(sample, findings=(*sample.findings, *more))))
