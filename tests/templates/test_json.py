"""A template as JSON: exactly what is promised, and back again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecheck.model import ArrayValue, Frame, OtherValue, Stage, TreeValue, Value
from shapecheck.templates import Template

TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
FLOPS = {"type": ["integer", "string"]}
VALUE = {"$ref": "#/$defs/value"}


def exact(required: dict[str, object], **optional: object) -> dict[str, object]:
    """A schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def several(items: object, least: int = 0) -> dict[str, object]:
    return {"type": "array", "items": items, "minItems": least}


STAGE = exact(
    {
        "path": TEXT,
        "type": TEXT,
        "label": TEXT,
        "callable": TEXT,
        "call": COUNT,
        "under": several(TEXT),
        "input": {"type": "object", "additionalProperties": VALUE},
        "state": {"type": "object", "additionalProperties": VALUE},
        "output": VALUE,
        "params": COUNT,
        "param_bytes": COUNT,
        "source": {"anyOf": [{"type": "null"}, exact({"path": TEXT, "line": {"type": "integer", "minimum": 1}})]},
        "children": several({"$ref": "#/$defs/stage"}),
    },
    owner={"type": "string", "minLength": 1},
    intervenors=several(TEXT, least=1),
    flops=FLOPS,
)
SCHEMA = exact(
    {
        "version": {"const": 1},
        "target": TEXT,
        "dims": {"type": "object", "additionalProperties": TEXT},
        "total": exact({"stages": COUNT, "params": COUNT, "param_bytes": COUNT}, flops=FLOPS),
        "stages": several({"$ref": "#/$defs/stage"}),
    }
) | {
    "$defs": {
        "stage": STAGE,
        "value": {
            "anyOf": [TEXT, {"type": "array", "items": VALUE}, {"type": "object", "additionalProperties": VALUE}],
        },
    }
}


@pytest.mark.parametrize("name", ["body", "hostile", "many"])
def test_json_has_exactly_the_promised_keys(name: str, request: pytest.FixtureRequest) -> None:
    jsonschema.validate(json.loads(request.getfixturevalue(name).to_json()), SCHEMA)


def test_the_schema_rejects_what_is_not_promised(body: Template) -> None:
    found = json.loads(body.to_json())
    found["stages"][0]["children"][0]["notes"] = ""
    with pytest.raises(jsonschema.ValidationError, match="notes"):
        jsonschema.validate(found, SCHEMA)


def test_what_people_have_is_told(body: Template) -> None:
    (whole,) = json.loads(body.to_json())["stages"]
    net = whole["children"][0]["children"][1]
    assert (net["owner"], net["intervenors"], net["flops"]) == (
        "SimpleFeedback",
        ["CurlField", "AddNoise"],
        "2*batch*13500",
    )
    assert net["state"] == {"state": {"hidden": "f32[50]", "output": "f32[6]", "encoding": "None"}}
    assert not {"owner", "intervenors", "flops"} & whole.keys()


def test_values_come_back() -> None:
    arrays = [
        ArrayValue("float32", ("batch", "floordiv(h - 1, mod(a, b)) + 1", "4*d")),
        ArrayValue("bfloat16", ()),
        ArrayValue("float8_e4m3fn", ("3",)),
        ArrayValue("complex64", ("3",)),
        ArrayValue("uint8", ("3",)),
        ArrayValue("bool", ("3",)),
        ArrayValue("key<fry>", ("2",)),
    ]
    others = [OtherValue("int", "3"), OtherValue("float", "1e-05"), OtherValue("bool", "True"), OtherValue("State")]
    parts = (*arrays, *others, TreeValue("list", "list", (), ()))
    output = TreeValue("dict", "dict", tuple(f"k{index}" for index in range(len(parts))), parts)
    stage = Stage(
        path="a",
        type="A",
        label="a",
        callable="A.__call__",
        call=0,
        under=(),
        input=(("x", output),),
        state=(),
        output=output,
        params=3,
        param_bytes=12,
        source=None,
    )
    template = Template("t", (("batch", "8"),), (stage,), 1)
    assert Template.from_json(template.to_json()) == template


texts = st.text(max_size=8)
values = st.recursive(
    st.builds(ArrayValue, st.sampled_from(["float32", "int8", "bool", "key<fry>", "odd"]), st.lists(texts).map(tuple))
    | st.builds(OtherValue, texts, texts),
    lambda inner: (
        st.tuples(st.sampled_from(["tuple", "list", "dict", "node"]), texts, st.dictionaries(texts, inner, max_size=3))
    ).map(lambda found: TreeValue(found[0], found[1], tuple(found[2]), tuple(found[2].values()))),
    max_leaves=5,
)
named = st.dictionaries(texts, values, max_size=2).map(lambda found: tuple(found.items()))
frames = st.none() | st.builds(Frame, texts, st.integers(1), texts)
stages: st.SearchStrategy[Stage] = st.deferred(
    lambda: st.builds(
        Stage,
        path=texts,
        type=texts,
        label=texts,
        callable=texts,
        call=st.integers(0),
        under=st.lists(texts, max_size=2).map(tuple),
        input=named,
        state=named,
        output=values,
        params=st.integers(0),
        param_bytes=st.integers(0),
        source=frames,
        children=st.lists(stages, max_size=1).map(tuple),
        owner=texts,
        intervenors=st.lists(texts, max_size=2).map(tuple),
        flops=st.none() | st.integers(0) | texts,
    )
)
dims = st.dictionaries(texts, texts, max_size=2).map(lambda found: tuple(found.items()))
templates = st.builds(Template, texts, dims, st.lists(stages, max_size=2).map(tuple), st.integers(0))


@given(templates)
def test_any_template_comes_back(template: Template) -> None:
    text = template.to_json()
    again = Template.from_json(text)
    assert again.to_json() == text
    assert Template.from_json(again.to_json()) == again


def plain(value: Value) -> Value:
    """What JSON tells of it."""
    if not isinstance(value, TreeValue):
        return value
    kind = "list" if value.kind in ("tuple", "list") else "dict"
    return replace(value, kind=kind, type=kind, children=tuple(map(plain, value.children)))


def test_a_template_comes_back_but_for_the_names_of_classes(body: Template) -> None:
    def told(stage: Stage) -> Stage:
        given = [tuple((name, plain(value)) for name, value in part) for part in (stage.input, stage.state)]
        children = tuple(map(told, stage.children))
        return replace(stage, input=given[0], state=given[1], output=plain(stage.output), children=children)

    assert Template.from_json(body.to_json()) == replace(body, stages=tuple(map(told, body.stages)))


def changed(template: Template, path: str, value: Any) -> str:
    """The JSON with one value replaced, or taken away if it is `...`."""
    found = json.loads(template.to_json())
    *above, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    place = found
    for part in above:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(found)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, r"has version 2, but this shapecheck reads version 1: write it again"),
        ("version", ..., r"no JSON object with a version"),
        ("target", ..., r"no template: target is missing"),
        ("total/stages", "3", r"total\.stages is not a number"),
        ("dims/d", 7, r"dims\.d is not a text"),
        ("stages", {}, r"stages is not a list"),
        ("stages/0", None, r"stages\[0\] is not an object"),
        ("stages/0/children/0/path", ..., r"stages\[0\]\.children\[0\]\.path is missing"),
        ("stages/0/children/0/call", True, r"stages\[0\]\.children\[0\]\.call is not a number"),
        ("stages/0/children/0/under/0", 3, r"under\[0\] is not a text"),
        ("stages/0/output", 3, r"stages\[0\]\.output: 3 is no shape"),
        ("stages/0/input/input", [None], r"stages\[0\]\.input\.input: None is no shape"),
        ("stages/0/source/line", "12", r"stages\[0\]\.source\.line is not a number"),
        ("stages/0/flops", 1.5, r"stages\[0\]\.flops is not a number"),
    ],
)
def test_what_is_no_template_is_told(path: str, value: Any, message: str, body: Template) -> None:
    with pytest.raises(ValueError, match=message):
        Template.from_json(changed(body, path, value))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '{"findings": []}', "[" * 100_000])
def test_what_is_something_else_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="this is no template"):
        Template.from_json(text)
