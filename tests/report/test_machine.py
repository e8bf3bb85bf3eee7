"""The formats for programs: well-formed whatever a message holds, and right in the eyes of an independent model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from sarif_pydantic import Sarif

from shapecheck.model import Finding, Report, Span, Summary
from shapecheck.report import FORMATS
from shapecheck.rules import RULES

Make = Callable[..., Finding]
EMPTY = Report(findings=(), summary=Summary(), unreached=(), entries=())
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
PLACE = {"type": "integer", "minimum": 1}


def exact(**properties: object) -> dict[str, object]:
    """A schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


FINDING = exact(
    code={"enum": list(RULES)},
    name={"enum": [rule.name for rule in RULES.values()]},
    severity={"enum": ["error", "warning", "note"]},
    path=TEXT,
    line=PLACE,
    column=PLACE,
    end_line=PLACE,
    end_column=PLACE,
    message=TEXT,
    details={"type": "array", "items": TEXT},
    claimed=TEXT,
    observed=TEXT,
    bindings={"type": "object", "additionalProperties": TEXT},
    stage=TEXT,
    fix_applicability={"enum": [None, "safe", "unsafe"]},
    fix={
        "anyOf": [
            {"type": "null"},
            {
                "type": "array",
                "minItems": 1,
                "items": exact(line=PLACE, column=PLACE, end_line=PLACE, end_column=PLACE, replacement=TEXT),
            },
        ]
    },
)
PROVENANCE = {"enum": ["given", "written", "namesake", "alias", "invented"]}
ASSUMPTIONS = {
    "type": "array",
    "minItems": 1,
    "items": exact(kind=TEXT, subject=TEXT, value={"type": "string"}, provenance=PROVENANCE),
}
SCHEMA = exact(
    version={"const": 1},
    findings={"type": "array", "items": FINDING},
    claims=exact(
        total=COUNT,
        verified=COUNT,
        verified_for_all_sizes=COUNT,
        mismatched=COUNT,
        tentative=COUNT,
        unreached=COUNT,
        unreached_declarations=COUNT,
        verified_loosely=COUNT,
        verified_on_alias=COUNT,
        verified_on_invention=COUNT,
    ),
    verified={
        "type": "array",
        "items": exact(
            path=TEXT,
            line=PLACE,
            column=PLACE,
            claim=TEXT,
            notation={"enum": ["annotation", "comment", "docstring"]},
            how={"enum": ["all sizes", "seen sizes", "rank alone"]},
        ),
    },
    assumptions={"type": "array", "items": exact(path=TEXT, line=PLACE, claim=TEXT, assumptions=ASSUMPTIONS)},
    unreached={"type": "array", "items": exact(path=TEXT, line=PLACE, reason=TEXT)},
    tests={
        "anyOf": [
            {"type": "null"},
            exact(
                collected=COUNT,
                ok=COUNT,
                stopped=COUNT,
                skipped=COUNT,
                cut=COUNT,
                problems={"type": "array", "items": TEXT},
            ),
        ]
    },
    functions=exact(
        total=COUNT,
        reached=COUNT,
        claimed=COUNT,
        claimed_reached=COUNT,
        annotated=COUNT,
        annotated_reached=COUNT,
    ),
    unread={"type": "array", "items": exact(path=TEXT, reason=TEXT)},
    loose={"type": "array", "items": exact(path=TEXT, line=PLACE, reason=TEXT)},
    lock={
        "anyOf": [{"type": "null"}, exact(path=TEXT, templates=COUNT, stages=COUNT, differences=COUNT, failed=COUNT)]
    },
    entries={"type": "array", "items": exact(target=TEXT, origin=TEXT, mode=TEXT, status=TEXT, reason=TEXT)},
)


def of(*findings: Finding) -> Report:
    return replace(EMPTY, findings=findings)


def simple(message: str, path: str = "a.py", details: tuple[str, ...] = ()) -> Finding:
    return Finding(code="SC201", severity="error", path=path, span=Span(1, 1, 1, 2), message=message, details=details)


@pytest.mark.parametrize("report", ["sample", "empty"])
def test_json_has_exactly_the_promised_keys(report: str, sample: Report) -> None:
    text = FORMATS["json"](sample if report == "sample" else EMPTY)
    assert text.endswith("}\n")
    jsonschema.validate(json.loads(text), SCHEMA)


def test_json_tells_what_was_found(sample: Report) -> None:
    document = json.loads(FORMATS["json"](sample))
    first = document["findings"][0]
    assert (first["path"], first["line"], first["column"], first["code"]) == ("pkg/attn.py", 5, 5, "SC201")
    assert first["bindings"] == {"batch": "b", "heads": "4", "seq": "s"}
    assert document["claims"]["verified_for_all_sizes"] == 150
    assert [(each["path"], each["line"]) for each in document["unreached"]] == [
        ("pkg/attn.py", 2),
        ("pkg/attn.py", 12),
        ("pkg/b.py", 9),
    ]


def test_json_lines_are_the_findings_of_json(sample: Report) -> None:
    lines = FORMATS["json-lines"](sample).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(FORMATS["json"](sample))["findings"]


@pytest.mark.parametrize("name", ["json", "json-lines", "sarif", "junit"])
@given(message=st.text())
def test_programs_get_ascii(name: str, message: str) -> None:
    assert FORMATS[name](of(simple(message))).isascii()


# --- SARIF


def sarif(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(FORMATS["sarif"](report))
    return document


def unknown(model: object, where: str = "") -> Iterator[str]:
    """Keys that the model does not know: it lets them pass, and so would not notice a wrong spelling."""
    if isinstance(model, BaseModel):
        yield from (f"{where}.{key}" for key in model.model_extra or {})
        for name in type(model).model_fields:
            yield from unknown(getattr(model, name), f"{where}.{name}")
    elif isinstance(model, list):
        for item in model:
            yield from unknown(item, where)


def test_sarif_satisfies_an_independent_model(sample: Report) -> None:
    model = Sarif.model_validate(sarif(sample))
    assert model.version == "2.1.0"
    # the model lacks columnKind, which the standard has (3.14.27)
    assert set(unknown(model)) == {".runs.columnKind"}


@pytest.mark.parametrize(
    "path",
    [("runs",), ("runs", 0, "tool"), ("runs", 0, "results", 0, "message"), ("runs", 0, "tool", "driver", "name")],
)
def test_the_model_rejects_a_broken_report(path: tuple[str | int, ...], sample: Report) -> None:
    document: Any = sarif(sample)
    at = document
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    with pytest.raises(ValidationError):
        Sarif.model_validate(document)


def test_the_model_rejects_a_wrong_level(sample: Report) -> None:
    document = sarif(sample)
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(ValidationError):
        Sarif.model_validate(document)


def test_sarif_describes_every_rule() -> None:
    rules = sarif(EMPTY)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"] == RULES[rule["id"]].why
        assert RULES[rule["id"]].bad in rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] == RULES[rule["id"]].severity


def test_sarif_results_point_to_their_rule(sample: Report) -> None:
    run = sarif(sample)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result, finding in zip(run["results"], sample.findings, strict=True):
        assert result["ruleId"] == rules[result["ruleIndex"]]["id"] == finding.code
        assert result["level"] == finding.severity


def test_sarif_columns_count_characters(sample: Report) -> None:
    run = sarif(sample)["runs"][0]
    region = run["results"][1]["locations"][0]["physicalLocation"]["region"]
    assert run["columnKind"] == "unicodeCodePoints"
    line = dict(sample.sources)["pkg/attn.py"][region["startLine"] - 1]
    assert line[region["startColumn"] - 1 :].startswith("f(")


@pytest.mark.parametrize("path", ["a b.py", "a, b:100%.py", "größe/日本.py", "../up.py", "a#b?.py"])
def test_sarif_uris_lead_back_to_the_path(path: str) -> None:
    run = sarif(of(simple("m", path)))["runs"][0]
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert unquote(location["uri"]) == path
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", location["uri"])
    assert location["uriBaseId"] in run["originalUriBaseIds"]


def test_sarif_uri_of_an_absolute_path() -> None:
    location = sarif(of(simple("m", "/opt/a b.py")))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "file:///opt/a%20b.py"}


def test_sarif_escapes_braces() -> None:
    """`{0}` would be replaced by an argument that is not there."""
    message = sarif(of(simple("comment says {self.n}")))["runs"][0]["results"][0]["message"]["text"]
    assert message == "comment says {{self.n}}"


def marks(report: Report) -> list[str]:
    return [result["partialFingerprints"]["shapecheck/v1"] for result in sarif(report)["runs"][0]["results"]]


def test_sarif_fingerprints_survive_moved_lines(finding: Make) -> None:
    lines = ("import jax", "y = x  # (a, b)")
    before = replace(of(finding(span=Span(2, 1, 2, 2))), sources=(("pkg/attn.py", lines),))
    moved = replace(of(finding(span=Span(4, 5, 4, 6))), sources=(("pkg/attn.py", ("", "", "", "    " + lines[1])),))
    other = replace(before, sources=(("pkg/attn.py", ("", "z = x  # (a, b)")),))
    assert marks(before) == marks(moved)
    assert marks(before) != marks(other)


def test_sarif_fingerprints_tell_equal_findings_apart(finding: Make) -> None:
    assert len(set(marks(of(finding(), finding(), finding(path="b.py"), finding("SC203"))))) == 4


@given(message=st.text(), path=st.text(min_size=1), details=st.lists(st.text(), max_size=2))
def test_sarif_carries_any_message(message: str, path: str, details: list[str]) -> None:
    document = sarif(of(simple(message, path, tuple(details))))
    Sarif.model_validate(document)
    text = document["runs"][0]["results"][0]["message"]["text"]
    assert text.format() == "\n".join((message, *details))


# --- GitHub


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as GitHub's runner does."""
    found = re.fullmatch(r"::(\w+) (.*?)::(.*)", line, re.S)
    assert found is not None
    pairs = (pair.split("=", 1) for pair in found[2].split(","))
    return found[1], {name: unescape(value) for name, value in pairs}, unescape(found[3])


def unescape(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(message=st.text(), path=st.text(min_size=1), details=st.lists(st.text(), max_size=2))
def test_github_commands_carry_any_message(message: str, path: str, details: list[str]) -> None:
    text = FORMATS["github"](of(simple(message, path, tuple(details))))
    assert re.split("\r\n|\r|\n", text)[1:] == [""]
    name, properties, data = parse_command(text[:-1])
    assert name == "error"
    assert properties["file"] == path
    assert properties["title"] == "SC201 comment-mismatch"
    assert data == "\n".join((message, *details))


def test_github_levels_and_columns(sample: Report) -> None:
    commands = [parse_command(line) for line in FORMATS["github"](sample).splitlines()]
    assert [name for name, _, _ in commands] == ["error", "warning", "notice", "error"]
    assert (commands[0][1]["col"], commands[0][1]["endColumn"]) == ("5", "11")
    assert "col" not in commands[1][1], "GitHub refuses columns of a span over several lines"


# --- JUnit


def junit(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(FORMATS["junit"](report))  # noqa: S314  # our own text


def test_junit_counts_what_it_holds(sample: Report) -> None:
    suite = junit(sample)[0]
    assert suite.attrib["tests"] == str(len(suite.findall("testcase"))) == "4"
    assert suite.attrib["failures"] == str(len(suite.findall("testcase/failure"))) == "3"
    assert suite.attrib["skipped"] == str(len(suite.findall("testcase/skipped"))) == "1"


def test_junit_of_a_clean_run_has_a_passing_case() -> None:
    suite = junit(EMPTY)[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("1", "0")
    assert suite.findall("testcase/failure") == []


@given(message=st.text(), path=st.text(min_size=1), details=st.lists(st.text(), max_size=2))
def test_junit_is_well_formed_whatever_the_message(message: str, path: str, details: list[str]) -> None:
    root = junit(of(simple(message, path, tuple(details))))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    if re.fullmatch("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", message):
        assert failure.attrib["message"] == message
