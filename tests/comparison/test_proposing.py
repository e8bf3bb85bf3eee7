"""Rules that are proposed for stages under other names."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from shapecheck.evaluate.compare.rename_stages import Renames, pairs, propose_renames
from shapecheck.model import StageRun, Tensor

Told = tuple[str, str, int]  # path, type, the size of what it gives


def ran(stages: Iterable[Told], digests: str) -> list[StageRun]:
    """Runs that give arrays of these sizes, and no two the same."""
    calls: dict[str, int] = {}
    found = []
    for number, (path, kind, size) in enumerate(stages):
        given = (Tensor(name="", dtype="float32", shape=(size,), digest=f"{digests}{number}"),)
        parent = 0 if path else None
        found.append(
            StageRun(
                path=path,
                type=kind,
                call=calls.get(path, 0),
                parent=parent,
                source=None,
                inputs=(),
                outputs=given,
                parameters=(),
            )
        )
        calls[path] = calls.get(path, 0) + 1
    return found


@pytest.mark.parametrize(
    ("a", "b", "rules"),
    [
        ([("stem", "Linear", 4), ("out", "Linear", 2)], [("inp", "Dense", 4), ("out", "Dense", 2)], {}),
        ([("stem", "Linear", 4)], [("inp", "Linear", 4)], {"stem": "inp"}),
        ([("stem", "Linear", 4)], [("inp", "Linear", 5)], {}),
        ([("encoder", "Linear", 4)], [("encode", "Dense", 4)], {"encoder": "encode"}),
        # a block, its parts under names of their own
        (
            [
                (f"blocks[{n}]{part}", kind, 4)
                for n in range(12)
                for part, kind in (("", "Block"), (".ln", "LayerNorm"))
            ],
            [(f"h_{n}{part}", kind, 4) for n in range(12) for part, kind in (("", "Block"), (".norm", "LayerNorm"))],
            {"blocks[*]": "h_*", "blocks[*].ln": "h_*.norm"},
        ),
        (
            [(f"blocks[{n}]", "B", 4) for n in range(3)],
            [(f"layers[{n}]", "B", 4) for n in range(3)],
            {"blocks": "layers"},
        ),
        # written out, and in a loop
        ([(f"blocks[{n}]", "B", 4) for n in range(3)], [("layers", "B", 4)] * 3, {"blocks[*]": "layers"}),
        # one more layer, so that numbers have moved
        (
            [("Dense_0", "Dense", 8), ("Dense_1", "Dense", 4)],
            [("Dense_0", "Dense", 8), ("Dense_1", "Dense", 8), ("Dense_2", "Dense", 4)],
            {"Dense_1": "Dense_2"},
        ),
    ],
)
def test_rules_are_the_fewest_that_give_stages_the_names_of_their_like(
    a: list[Told], b: list[Told], rules: dict[str, str]
) -> None:
    one, other = ran([("", "Net", 9), *a], "a"), ran([("", "Net", 9), *b], "b")
    found = propose_renames(one, other, pairs(one, other, Renames({})), {})
    assert found == rules
    if found:
        again = pairs(one, other, Renames(found))
        assert propose_renames(one, other, again, found) == {}
