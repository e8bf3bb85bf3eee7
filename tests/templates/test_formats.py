"""What each format for people tells of a template."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.lib.pretty import pretty

from shapecheck.cli import main
from shapecheck.model import ArrayValue, OtherValue, Stage, TreeValue
from shapecheck.templates import Template, format_stage, format_value, log_records
from shapecheck.templates.template_views import FORMATS

NET = "NetworkState(hidden=f32[50], output=f32[6], encoding=None)"


def test_ipython_shows_the_tree_where_it_prints(body: Template) -> None:
    assert pretty(body) == str(body).rstrip("\n")
    assert pretty([body]).splitlines()[1].startswith(" └── Iterator")


def test_a_page_says_nothing_of_the_folders_of_one_machine(body: Template) -> None:
    text = replace(body, target="/home/ada/pkg/model.py:Net").to_html()
    assert "/home/" not in text and "<title>model.py:Net</title>" in text
    assert "<title>pkg/model.py:Net</title>" in body.to_html()


def test_the_tree(body: Template) -> None:
    assert FORMATS["tree"](body, color=False).splitlines() == [
        "pkg/model.py:Net  with batch, d=7",
        "└── Iterator  f32[batch,4*d] -> SimpleFeedbackState(...) 27k",
        "    ├── step SimpleFeedback scan(100)  f32[batch,48] -> SimpleFeedbackState(...) "
        "state SimpleFeedbackState(...) 27k",
        "    │   ├── step.feedback Channel of SimpleFeedback vmap(3)  f32[batch,48] -> f32[4]",
        f"    │   ├── step.net SimpleStagedNetwork of SimpleFeedback  f32[batch,48] -> {NET} state {NET} "
        "then CurlField, AddNoise 13.5k 2*batch*13500 flops",
        "    │   │   └── step.net.hidden GRUCell  f32[batch,48] -> f32[50] 13.5k 27k flops",
        f"    │   └── step.net #2 SimpleStagedNetwork  f32[batch,48] -> {NET} 13.5k",
        "    └── heads['a.b'] <lambda>  f32[batch,48] -> [f32[]]",
        "7 stages, 27k parameters, 105 KiB",
    ]
    assert "\x1b[" in FORMATS["tree"](body, color=True)


def test_keys_are_left_out_where_they_are_random(body: Template) -> None:
    key = ArrayValue("uint32", ("2",))
    given = (("key", ArrayValue("float32", ("4",))), ("rngs", TreeValue("dict", "dict", ("a",), (key,))), ("rng", key))
    assert format_stage.arguments(replace(body.stages[0], input=given)) == given[:1]


def test_a_method_is_told_from_the_call_itself(body: Template) -> None:
    names = ("LSTM.initial_state", "LSTM.__call__", "Other.step")
    found = [replace(body.stages[0], type="LSTM", callable=name) for name in names]
    assert list(map(format_stage.kind, found)) == ["LSTM.initial_state", "LSTM", "LSTM"]


def test_the_table_has_the_columns_in_which_anything_stands(body: Template, many: Template) -> None:
    lines = FORMATS["markdown"](body).splitlines()
    assert lines[2] == "| stage | type | input | output | parameters | state | flops | model | intervenors |"
    assert lines[7] == (
        f"| `step.net` | SimpleStagedNetwork | `f32[batch,48]` | `{NET}` | 13.5k | `{NET}` | `2*batch*13500` "
        "| SimpleFeedback | CurlField, AddNoise |"
    )
    assert "| &lt;lambda&gt; |" in lines[10]
    assert lines[-2:] == ["", "7 stages, 27k parameters, 105 KiB"]
    assert "| stage | type | input | output | parameters |" in FORMATS["markdown"](many).splitlines()


def test_the_table_stays_a_table(hostile: Template) -> None:
    odd = "a|b `c` ``d\n| e"
    inner = Stage(
        path=odd,
        type=odd,
        label=odd,
        callable=odd,
        call=0,
        under=(),
        input=(),
        state=(),
        output=OtherValue(odd),
        params=0,
        param_bytes=0,
        source=None,
    )
    lines = FORMATS["markdown"](Template("t", (), (inner,), 1)).splitlines()
    assert re.split(r"(?<!\\)\|", lines[4])[1:3] == [r" ``` a\|b `c` ``d \| e ``` ", r" a\|b `c` ``d \| e "]
    assert "<img" not in re.sub("`[^`]*`", "", FORMATS["markdown"](hostile))


@pytest.mark.parametrize(
    ("number", "count", "size"),
    [
        (0, "0", "0 B"),
        (999, "999", "999 B"),
        (1010, "1.01k", "1010 B"),
        (12_345, "12.3k", "12.1 KiB"),
        (999_999, "1M", "977 KiB"),
        (1_034_000, "1.03M", "1010 KiB"),
        (4_928_307, "4.93M", "4.7 MiB"),
        (10**16, "10P", "9095 TiB"),
    ],
)
def test_numbers_for_people(number: int, count: str, size: str) -> None:
    assert (format_stage.count(number), format_stage.size(number)) == (count, size)


def test_one_stage_is_no_stages() -> None:
    leaf = Stage(
        path="",
        type="A",
        label="",
        callable="A",
        call=0,
        under=(),
        input=(),
        state=(),
        output=OtherValue("int", "3"),
        params=1,
        param_bytes=4,
        source=None,
    )
    assert format_stage.total(Template("t", (), (leaf,), 1)) == "1 stage, 1 parameters, 4 B"


def test_a_large_value_takes_a_line_for_each_part() -> None:
    row = ArrayValue("float32", ("batch", "48"))
    inner = TreeValue("node", "Inner", ("a", "b"), (row, OtherValue("int", "3")))
    value = TreeValue("node", "Outer", ("first", "rest"), (inner, TreeValue("tuple", "tuple", ("0",), (inner,))))
    assert format_value.pretty(value, 200) == format_value.text(value)
    assert format_value.pretty(value, 40).splitlines() == [
        "Outer(",
        "  first=Inner(a=f32[batch,48], b=3),",
        "  rest=(Inner(a=f32[batch,48], b=3),),",
        ")",
    ]
    assert format_value.brief(value) == "Outer(first=Inner(...), rest=(...))"
    assert format_value.brief(value, 20) == "Outer(...)"


def test_a_record_for_each_stage_after_those_inside_of_it(body: Template, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="shapecheck.template"):
        log_records.emit(body)
    assert {(record.name, record.levelname) for record in caplog.records} == {("shapecheck.template", "INFO")}
    places = [(record.stage.path, record.stage.call) for record in caplog.records]
    assert places == [
        ("step.feedback", 0),
        ("step.net.hidden", 0),
        ("step.net", 0),
        ("step.net", 1),
        ("step", 0),
        ("heads['a.b']", 0),
        ("", 0),
    ]
    assert caplog.messages[2].splitlines() == [
        "  Model type: SimpleFeedback",
        '  Stage: "net" at step.net',
        "  Callable: SimpleStagedNetwork.__call__ (pkg/model.py:12)",
        "  Input:",
        "    x = f32[batch,48]",
        "  Substate:",
        f"    {NET}",
        "  Intervenors: CurlField, AddNoise",
        "  Flops: 2*batch*13500",
    ]
    # whose model says nothing of its steps: the one that called it
    assert caplog.messages[1].startswith("  Model type: SimpleStagedNetwork\n")
    assert "  Output:\n    SimpleFeedbackState(\n      mechanics=MechanicsState(" in caplog.messages[-1]


def test_a_substate_that_changes_its_shape_is_logged_before_and_after() -> None:
    before, after = ArrayValue("float32", ("4",)), ArrayValue("float32", ("5",))
    step = Stage(
        path="grow",
        type="Grow",
        label="grow",
        callable="Grow",
        call=0,
        under=(),
        input=(),
        state=(("substate", before),),
        output=after,
        params=0,
        param_bytes=0,
        source=None,
        owner="Net",
    )
    assert log_records.message(step, "Net").endswith("\n  Substate before:\n    f32[4]\n  Substate:\n    f32[5]")


def test_nobody_who_listens_is_no_work(
    body: Template, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatted: list[object] = []
    monkeypatch.setattr(format_value, "pretty", lambda value: formatted.append(value) or "")
    with caplog.at_level(logging.WARNING, logger="shapecheck.template"):
        log_records.emit(body)
    assert formatted == []


def test_a_path_that_is_none_comes_with_those_near_to_it(body: Template) -> None:
    assert body["step.net"].call == 0
    with pytest.raises(KeyError, match=r"step\.nett; there is step\.net, "):
        body["step.nett"]
    with pytest.raises(KeyError, match=r"^'quite_else'$"):
        body["quite_else"]


MODEL = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float


class Net(eqx.Module):
    out: eqx.nn.Linear

    def __call__(self, x: Float[Array, "batch 4"]) -> Float[Array, "batch 3"]:
        return jax.vmap(self.out)(x)


def make():
    return Net(eqx.nn.Linear(4, 3, key=jax.random.PRNGKey(0)))
"""
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODEL)


def test_the_log_goes_to_the_terminal_and_to_the_file(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(log_records.LOGGER.handlers), log_records.LOGGER.level
    assert main(["template", "net.py:make", "--format", "log", "--output-file", "stages.log"]) == 0
    out = capsys.readouterr().out
    assert Path("stages.log").read_text() == out
    assert re.match(rf"{TIME} \[INFO\] shapecheck\.template\n  Model type: Net\n  Stage: \"out\"\n", out)
    assert len(re.findall(TIME, out)) == 2
    assert "  Under: vmap(batch)\n  Input:\n    x = f32[4]\n  Output:\n    f32[3]\n\n" in out
    assert (log_records.LOGGER.handlers, log_records.LOGGER.level) == before


def test_the_page_goes_to_a_file(model: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "net.py:make", "--format", "html", "--output-file", "net.html"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("net.html").read_text().startswith("<!doctype html>")
