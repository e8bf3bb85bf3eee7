"""What a lock keeps of a template, as text and compared."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecheck.templates.fold import StageLocation, fold_locations, unfold_locations
from shapecheck.templates.lockfile import LockedTemplate, LockError, Shapes, TemplateInputs, dump, merge_locks, parse
from shapecheck.templates.template_diff import Drift, drift

LINEAR = Shapes(
    type="Linear", under=("vmap(batch)",), input={"x": "f32[4]"}, state={}, output="f32[8]", params=40, bytes=160
)


def stage(output: Any = "f32[8]", **changes: Any) -> Shapes:
    return replace(LINEAR, output=output, **changes)


def of(
    stages: Mapping[str, Shapes] | Sequence[tuple[StageLocation, Shapes]], target: str = "model.py:GPT"
) -> LockedTemplate:
    items = (
        [(StageLocation(path), shapes) for path, shapes in stages.items()] if isinstance(stages, Mapping) else stages
    )
    return LockedTemplate(target, TemplateInputs(), tuple(fold_locations(items)))


def deep(depth: int, **changed: Shapes) -> LockedTemplate:
    """`depth` equal blocks of three stages; a stage of a block may be `changed`, as in `b3_attn`."""
    stages = {"": stage(params=0)}
    for index in range(depth):
        stages |= {f"blocks[{index}]{part}": LINEAR for part in ("", ".attn", ".mlp")}
    stages |= {f"blocks[{name[1:].replace('_', '].')}": shapes for name, shapes in changed.items()}
    return of(stages)


# --- repeats


def test_a_deep_model_is_as_long_as_a_block() -> None:
    paths = [str(place) for place, _ in deep(96).stages]
    assert paths == ["", "blocks[0..95]", "blocks[0..95].attn", "blocks[0..95].mlp"]


def test_a_block_that_differs_stands_by_itself() -> None:
    paths = [str(place) for place, _ in deep(12, b3_attn=stage("f32[9]")).stages]
    ranges = ("blocks[0..2]", "blocks[3]", "blocks[4..11]")
    assert paths == ["", *(f"{name}{part}" for name in ranges for part in ("", ".attn", ".mlp"))]


def test_calls_and_nested_parts_fold_too() -> None:
    items = [
        (StageLocation(f"a[{i}].b[{j}]", call, call), "x") for i in range(3) for j in range(4) for call in (1, 2, 3)
    ]
    assert [str(place) for place, _ in fold_locations(items)] == ["a[0..2].b[0..3] #1..3"]


def test_places_are_in_natural_order() -> None:
    paths = ["head", "a_b", "a[10]", "a[2].z", "a[2]", "a.x", "a", ""]
    assert [place.path for place, _ in fold_locations((StageLocation(p), p) for p in paths)] == paths[::-1]


@given(
    st.dictionaries(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.sampled_from(["", ".w", ".v[1]", "['k.1']"]), st.integers(1, 3)
        ),
        st.sampled_from("xy"),
    )
)
def test_unfolding_is_the_inverse(found: Mapping[tuple[int, int, str, int], str]) -> None:
    items = {StageLocation(f"a[{i}].b[{j}]{end}", call, call): content for (i, j, end, call), content in found.items()}
    lines = fold_locations(items.items())
    assert len(lines) <= len(items)
    assert dict(unfold_locations(lines)) == items


# --- the file


TREE = {"h": ["f32[7]", {"a b": "f32[7]"}], "empty": [], "none": {}}
FULL = LockedTemplate(
    "src/model.py:GPT",
    TemplateInputs(("d_model=48", 'act="gelu"'), ("x=@data/batch.npz",), {"vocab": 80}, {"batch": 68}),
    ((StageLocation(""), stage(TREE, state={"carry": "f32[2]"})), (StageLocation("blocks[0..11].norm", 1, 2), LINEAR)),
)


def test_a_line_for_each_stage() -> None:
    text = dump([FULL])
    assert '["src/model.py:GPT"]\ninit = ["d_model=48", "act=\\"gelu\\""]\nargs = ["x=@data/batch.npz"]\n' in text
    assert "made_up = { vocab = 80 }\ndims = { batch = 68 }\nstages = [\n" in text
    line = '  { path = "blocks[0..11].norm", calls = "1..2", type = "Linear", under = ["vmap(batch)"], '
    assert f'{line}input = {{ x = "f32[4]" }}, output = "f32[8]", params = 40, bytes = 160 }},\n]\n' in text


def test_what_is_read_is_what_was_written() -> None:
    (found,) = parse(dump([FULL]), "shapes.lock")
    assert found == FULL
    assert dump([found]) == dump([FULL])
    assert parse(dump([FULL]).replace("\n", "\r\n"), "shapes.lock") == (FULL,)


@given(st.text(), st.text(min_size=1))
def test_any_name_can_be_kept(name: str, key: str) -> None:
    one = LockedTemplate(
        f"model.py:{name}", TemplateInputs((name,)), ((StageLocation(name), stage({key: name}, input={key: "f32[]"})),)
    )
    try:
        name.encode(), key.encode()
    except UnicodeEncodeError:
        with pytest.raises(LockError, match="UTF-8"):
            dump([one])
    else:
        assert parse(dump([one]), "shapes.lock") == (one,)
        assert list(tomllib.loads(dump([one]))) == ["version", one.target]


def test_lines_of_stages_are_known() -> None:
    lines = dump([deep(3), replace(FULL, target="z.py:Z")]).split("\n")
    first, second = parse("\n".join(lines), "shapes.lock")
    assert lines[first.head - 1] == '["model.py:GPT"]'
    assert 'path = "blocks[0..2].mlp"' in lines[first.line(StageLocation("blocks[1].mlp")) - 1]
    assert 'path = "blocks[0..11].norm"' in lines[second.line(StageLocation("blocks[7].norm", 2, 2)) - 1]


def test_other_targets_stay_and_all_are_sorted() -> None:
    kept = [deep(3), of({"": LINEAR}, "z.py:Z")]
    names = [each.target for each in merge_locks(kept, [of({"": LINEAR}, "b.py:B"), deep(4)])]
    assert names == ["b.py:B", "model.py:GPT", "z.py:Z"]
    assert merge_locks(kept, [deep(4)]) == (deep(4), kept[1])


def test_only_lines_of_stages_that_changed_change() -> None:
    """There are no counts of the whole, on which any two branches would be in conflict."""
    base, ours = dump([deep(3)]).split("\n"), dump([deep(3, b0_mlp=stage("f32[9]"))]).split("\n")
    assert all("blocks[" in line for line in {*base} ^ {*ours})
    theirs = dump([of({"a": LINEAR}, "a.py:A"), deep(3)]).split("\n")
    assert {*base} < {*theirs}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version = 1\n<<<<<<< HEAD\n",
            "shapes.lock:2: a merge conflict is not resolved: take either side of each, then",
        ),
        ("version = 1\n=======\r\n", "shapes.lock:2: a merge conflict is not resolved"),
        ("version = 1\n[", "shapes.lock: is not valid TOML: "),
        ("version = 2\n", "shapes.lock: a newer shapecheck wrote it (version 2, this one reads 1): upgrade"),
        ("name = 3\n", "shapes.lock: is no lock of shapecheck"),
        (
            'version = 1\n["m.py:A"]\n',
            "shapes.lock:2: m.py:A: is damaged ('stages'): delete this part, and run `shapech",
        ),
        ('version = 1\n["m.py:A"]\nstages = [{path = ""}]', "shapes.lock:2: m.py:A: is damaged ('type')"),
        ("version = 1\nx = 3\n", "shapes.lock:1: x: is damaged"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(text: str, message: str) -> None:
    with pytest.raises(LockError) as raised:
        parse(text, "shapes.lock")
    assert str(raised.value).startswith(message)


# --- drift


def told(found: Sequence[Drift]) -> list[tuple[str, str, tuple[tuple[str, str, str], ...]]]:
    return [(d.kind, str(d.place), tuple((p.name, p.was, p.now) for p in d.parts)) for d in found]


def test_the_same_has_no_drift() -> None:
    assert drift(deep(12), deep(12)) == []


def test_one_block_of_many() -> None:
    found = drift(deep(12), deep(12, b3_attn=stage("f32[64]")))
    assert told(found) == [("changed", "blocks[3].attn", (("output", "f32[8]", "f32[64]"),))]


def test_what_changes_in_all_blocks_is_told_once() -> None:
    now = deep(12, **{f"b{index}_attn": stage("f32[64]") for index in range(12)})
    assert told(drift(deep(12), now)) == [("changed", "blocks[0..11].attn", (("output", "f32[8]", "f32[64]"),))]


def test_a_block_more_is_one_addition() -> None:
    (found,) = drift(deep(12), deep(14))
    assert (found.kind, str(found.place), found.inside, found.shapes) == (
        "added",
        "blocks[12..13]",
        2,
        "f32[4] -> f32[8]",
    )
    (found,) = drift(deep(12), deep(11))
    assert (found.kind, str(found.place), found.inside) == ("removed", "blocks[11]", 2)


def test_one_call_more() -> None:
    once, twice = (
        [(StageLocation("norm"), LINEAR)],
        [(StageLocation("norm"), LINEAR), (StageLocation("norm", 2, 2), LINEAR)],
    )
    assert [(d.kind, str(d.place)) for d in drift(of(once), of(twice))] == [("added", "norm #2")]


def test_leaves_are_told_apart() -> None:
    was = stage({"h": ["f32[7]", "f32[7]"], "n": "int"}, state={"c": "f32[7]"})
    now = stage({"h": ["f32[7]", "f32[9]"], "n": "int"}, state={"c": "bf16[7]"}, under=(), type="Dense")
    parts = (
        ("type", "Linear", "Dense"),
        ("output.h[1]", "f32[7]", "f32[9]"),
        ("state c", "f32[7]", "bf16[7]"),
        ("transformation", "vmap(batch)", "none"),
    )
    assert told(drift(of({"a": was}), of({"a": now}))) == [("changed", "a", parts)]


def test_another_structure_is_told_whole() -> None:
    (found,) = drift(of({"a": stage(["f32[7]"])}), of({"a": stage(["f32[7]", {"h": "f32[3]"}], input={})}))
    names = (("output", "[f32[7]]", "[f32[7], {h=f32[3]}]"), ("input x", "f32[4]", "none"))
    assert tuple((p.name, p.was, p.now) for p in found.parts) == names


def test_parameters_are_told_where_they_are_not_around() -> None:
    def model(width: int, own: int = 0) -> LockedTemplate:
        return of({"": stage(params=100 + width + own), "a": stage(params=50 + width), "a.b": stage(params=width)})

    assert [str(d.place) for d in drift(model(8), model(9))] == ["a.b"]
    assert [str(d.place) for d in drift(model(8), model(8, own=1))] == [""]
    dtype = of({"a": stage(bytes=80)})
    assert told(drift(of({"a": LINEAR}), dtype)) == [
        ("changed", "a", (("number of parameters", "40 (160 bytes)", "40 (80 bytes)"),))
    ]


def test_a_size_in_place_of_a_free_dim_is_no_drift() -> None:
    under = ("vmap(b)",)
    free = of({"a": stage(["f32[b,4*b + 1,floordiv(b, 2)]", "f32[seq,48]"], under=under)})
    number = of({"a": stage(["f32[68,273,34]", "f32[seq,48]"], under=("vmap(68)",))})
    chosen = replace(number, making=TemplateInputs(dims={"b": 68}))
    assert drift(free, chosen) == drift(chosen, free) == []
    assert [p.name for p in drift(free, number)[0].parts] == ["output[0]", "transformation"]
    other = replace(of({"a": stage(["f32[68,272,34]", "f32[seq,48]"], under=under)}), making=chosen.making)
    assert told(drift(free, other)) == [("changed", "a", (("output[0]", "f32[68,273,34]", "f32[68,272,34]"),))]
