from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.commands import suppress
from shapecheck.config import Config
from shapecheck.model import Finding, Module, Span, Suppression, UnreachedClaim


def finding(code: str = "SC201", line: int = 3, end: int | None = None, path: str = "a.py", column: int = 9) -> Finding:
    return Finding(
        code=code, severity="error", path=path, span=Span(line, 1, end or line, column), message=f"{code} at {line}"
    )


def module(*suppressions: tuple[int | None, tuple[str, ...]], path: str = "a.py") -> Module:
    return Module(
        path=path,
        scopes=(),
        sites=(),
        claims=(),
        suppressions=tuple(
            Suppression(line, codes, Span(line or 1, 20, line or 1, 40)) for line, codes in suppressions
        ),
    )


def config(**values: object) -> Config:
    return Config(root=Path.cwd(), **values)  # type: ignore[arg-type]


def kept(findings: list[Finding], modules: list[Module], **values: object) -> list[tuple[str, int]]:
    outcome = suppress.apply(findings, modules, config(**values))
    return [(each.code, each.span.line) for each in outcome.findings]


@pytest.mark.parametrize("codes", [(), ("SC201",), ("SC2",), ("SC301", "SC201")])
def test_an_ignore_comment_on_the_line(codes: tuple[str, ...]) -> None:
    outcome = suppress.apply([finding(), finding(line=4)], [module((3, codes))], config())
    assert [each.span.line for each in outcome.findings] == [4]
    assert outcome.suppressed == 1


def test_an_ignore_comment_for_another_code_or_file_does_nothing() -> None:
    assert kept([finding()], [module((3, ("SC301",))), module((3, ()), path="b.py")]) == [("SC201", 3)]


@pytest.mark.parametrize(("line", "hidden"), [(2, False), (3, True), (4, False), (5, True), (6, False)])
def test_first_and_last_line_of_a_statement(line: int, hidden: bool) -> None:
    assert (kept([finding(line=3, end=5)], [module((line, ()))]) == []) is hidden


def test_a_span_that_ends_at_the_start_of_a_line_ends_on_the_line_before() -> None:
    spanning = finding(line=3, end=5, column=1)
    assert kept([spanning], [module((4, ()))]) == []
    assert kept([spanning], [module((5, ()))]) == [("SC201", 3)]


def test_ignore_file() -> None:
    findings = [finding(), finding("SC301", 9), finding(path="b.py")]
    assert kept(findings, [module((None, ()))]) == [("SC201", 3)]
    assert kept(findings, [module((None, ("SC3",)))]) == [("SC201", 3), ("SC201", 3)]


def test_select_and_ignore() -> None:
    findings = [finding("SC101"), finding("SC201"), finding("SC203"), finding("SC301")]

    def codes(**values: object) -> list[str]:
        return [code for code, _ in kept(findings, [], **values)]

    assert codes() == ["SC101", "SC201", "SC203", "SC301"]
    assert codes(select=("SC2",)) == ["SC201", "SC203"]
    assert codes(ignore=("SC2",)) == ["SC101", "SC301"]
    assert codes(select=("SC2",), ignore=("SC203",)) == ["SC201"]
    assert codes(select=("SC203",), ignore=("SC2",)) == ["SC203"], "the longer beginning wins"
    assert codes(select=("SC2",), ignore=("SC2",)) == []
    assert codes(select=("SC1", "SC3"), ignore=("SC",)) == ["SC101", "SC301"]


def test_what_is_not_selected_is_not_counted_as_suppressed() -> None:
    outcome = suppress.apply([finding()], [module((3, ()))], config(ignore=("SC201",)))
    assert (outcome.findings, outcome.suppressed) == ((), 0)


@pytest.mark.parametrize(
    ("glob", "hidden"),
    [
        ("tests/**", {"tests/x.py", "tests/deep/y.py"}),
        ("tests/*.py", {"tests/x.py"}),
        ("y.py", {"tests/deep/y.py"}),
        ("*.py", {"tests/x.py", "tests/deep/y.py", "src/z.py"}),
        ("/z.py", set()),
    ],
)
def test_per_file_ignores(glob: str, hidden: set[str]) -> None:
    paths = {"tests/x.py", "tests/deep/y.py", "src/z.py"}
    ignores = ((glob, ("SC2",)),)
    findings = [finding(path=path) for path in paths] + [finding("SC301", path=path) for path in paths]
    outcome = suppress.apply(findings, [], config(per_file_ignores=ignores))
    assert {each.path for each in outcome.findings if each.code == "SC201"} == paths - hidden
    assert {each.path for each in outcome.findings if each.code == "SC301"} == paths


def test_per_file_ignores_are_relative_to_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path / "tests")
    rules = Config(root=tmp_path, per_file_ignores=(("tests/*.py", ("SC201",)),))
    assert suppress.apply([finding(path="x.py")], [], rules).findings == ()


def unused(findings: list[Finding], modules: list[Module], *unreached: UnreachedClaim, **values: object) -> list[str]:
    outcome = suppress.apply(findings, modules, config(report_unused_ignores=True, **values), unreached)
    assert all(each.code == "SC100" and each.severity == "warning" for each in outcome.unused)
    return [f"{each.span.line}: {each.message}" for each in outcome.unused]


def test_unused_ignore_comments() -> None:
    ignores = module((3, ("SC201",)), (4, ()), (5, ("SC201", "SC301")), (None, ("SC101",)), (9, ("SC777",)))
    assert unused([finding(), finding(line=5)], [ignores]) == [
        "4: unused suppression: there is nothing to ignore on this line",
        "5: unused suppression: there is no SC301 to ignore on this line",
        "1: unused suppression: there is no SC101 to ignore in this file",
        "9: unused suppression: there is no SC777 to ignore on this line (SC777 is no rule)",
    ]


def test_unused_ignore_comments_are_reported_on_demand_only() -> None:
    assert suppress.apply([], [module((4, ()))], config()).unused == ()


def test_an_ignore_comment_for_a_rule_that_is_not_selected_is_used() -> None:
    assert unused([finding()], [module((3, ("SC201",)))], select=("SC3",)) == []


def test_an_ignore_comment_on_an_unreached_claim_may_be_needed() -> None:
    ignores = module((3, ("SC201",)), (None, ("SC3",)), (4, ()))
    assert len(unused([], [ignores], UnreachedClaim("a.py", 3, "no entry"))) == 1
    assert len(unused([], [ignores], UnreachedClaim("b.py", 3, "no entry"))) == 3


def test_unused_ignore_comments_can_be_ignored() -> None:
    assert unused([], [module((4, ()))], ignore=("SC1",)) == []
    assert unused([], [module((4, ()))], per_file_ignores=(("a.py", ("SC100",)),)) == []
    assert len(unused([], [module((4, ()))], select=("SC2",))) == 1


def test_an_optional_rule_has_to_be_selected() -> None:
    assert kept([finding("SC402")], []) == []
    assert kept([finding("SC402")], [], ignore=("SC1",)) == []
    assert kept([finding("SC402")], [], select=("SC4",)) == [("SC402", 3)]
    assert kept([finding("SC402")], [], select=("SC",), ignore=("SC402",)) == []
