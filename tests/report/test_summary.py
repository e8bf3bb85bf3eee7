from __future__ import annotations

from dataclasses import replace

from shapecheck.model import Report, Summary, UnreachedClaim
from shapecheck.report import summary

EMPTY = Report(findings=(), summary=Summary(), unreached=(), entries=())
PASS = replace(
    EMPTY,
    summary=Summary(total=3, verified=2, verified_for_all_sizes=1, mismatched=0, tentative=0, unreached=1),
    unreached=(UnreachedClaim("a.py", 1, "no entry"),),
)


def test_a_real_pass_says_how_much_it_means() -> None:
    text = summary.render(PASS)
    assert "3 claims: 2 verified (1 for all sizes), 0 mismatched, 0 tentative, 1 unreached" in text
    assert "No problems in 2 verified claims" in text
    assert "Nothing was verified" not in text


def test_nothing_verified_never_looks_like_a_pass() -> None:
    for counts in (
        Summary(total=4, verified=0, verified_for_all_sizes=0, mismatched=0, tentative=0, unreached=4),
        Summary(total=4, verified=0, verified_for_all_sizes=0, mismatched=0, tentative=4, unreached=0),
        Summary(total=4, verified=0, verified_for_all_sizes=0, mismatched=0, tentative=1, unreached=3),
    ):
        text = summary.render(replace(EMPTY, summary=counts))
        assert "Nothing was verified: of 4 claims" in text
        assert "No problems in" not in text


def test_nothing_verified_is_said_even_to_the_quiet() -> None:
    text = summary.render(
        replace(
            EMPTY,
            summary=Summary(total=1, verified=0, verified_for_all_sizes=0, mismatched=0, tentative=0, unreached=1),
            remedy="Paste this",
        ),
        quiet=True,
    )
    assert text == "Nothing was verified: of 1 claim, 1 unreached.\nPaste this\n"
    assert summary.render(PASS, quiet=True) == ""


def test_no_claims_at_all() -> None:
    assert summary.render(replace(EMPTY, files=7)) == "No shape claims found in 7 files.\n"
    assert summary.render(replace(EMPTY, files=1)) == "No shape claims found in 1 file.\n"


def test_files_that_nobody_can_parse_do_not_count_as_free_of_claims() -> None:
    unparsed = "1 file could not be parsed: nothing in it was checked or counted (SC104).\n"
    assert summary.render(replace(EMPTY, files=1, unparsed=1)) == unparsed
    assert summary.render(replace(EMPTY, files=3, unparsed=1)) == f"No shape claims found in 2 files.\n{unparsed}"
    assert summary.render(replace(PASS, files=3, unparsed=1), quiet=True) == unparsed


def test_a_folder_without_python() -> None:
    assert summary.render(EMPTY) == "No Python files found: nothing was checked.\n"


def test_mismatches_alone_are_a_judgement() -> None:
    assert not summary.nothing_verified(
        replace(
            EMPTY,
            summary=Summary(total=2, verified=0, verified_for_all_sizes=0, mismatched=2, tentative=0, unreached=0),
        )
    )


def test_reasons_are_grouped_the_most_frequent_first_and_bounded() -> None:
    reasons = [f"reason {index}" for index in range(12) for _ in range(index + 1)]
    report = replace(PASS, unreached=tuple(UnreachedClaim("a.py", 1, reason) for reason in reasons))
    lines = summary.render(report).splitlines()
    assert lines[2:4] == ["  12  reason 11 (first at a.py:1)", "  11  reason 10 (first at a.py:1)"]
    assert lines[10] == "  10  for 4 more reasons"
    assert len([line for line in lines if line.startswith("  ")]) == 9


def test_control_characters_in_a_reason_do_not_reach_the_terminal() -> None:
    report = replace(PASS, unreached=(UnreachedClaim("a\x1b.py", 1, "\x1b[2J"),))
    assert "\x1b" not in summary.render(report) + summary.render(report, show_unreached=True)


def test_statistics_of_nothing() -> None:
    assert summary.statistics(EMPTY) == ""
