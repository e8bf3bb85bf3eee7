"""Names of axes that were made up for the evaluation are nobody's, and are not written into a source."""

from __future__ import annotations

import pytest

from shapecheck.claims import read_module
from shapecheck.model import ArrayValue, Call, Evaluation, Observation
from shapecheck.verdicts.name_axes import AxisNames, call_reader

MODULE = read_module("m.py", b"def f(x, v_1, w):\n    # x: (*channels, d)\n    return x\n")


@pytest.mark.parametrize(
    ("text", "name"),
    [("batch", "batch"), ("x0", None), ("v_10", None), ("x_0", None), ("channels0", None), ("x0y", "x0y")],
)
def test_an_axis_goes_by_what_people_call_it(text: str, name: str | None) -> None:
    seen = Observation(MODULE.claims[0].sites[0], ArrayValue("float32", (text, "other")))
    call = Call(path="m.py", scope=1, number=0, parent=None, observations=(seen,))
    evaluation = Evaluation(
        target="m:f",
        origin="function",
        path="m.py",
        line=1,
        mode="symbolic",
        status="ok",
        reason="",
        calls=(call,),
        sizes=(),
    )
    reader = call_reader({"m.py": MODULE}, evaluation, call)
    size = reader.samples.size(text)
    assert size is not None
    assert AxisNames(reader, evaluation, anew=True).name(size) == name
