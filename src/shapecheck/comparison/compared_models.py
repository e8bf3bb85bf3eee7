"""Two models that ran on the same inputs: their stages side by side, and where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shapecheck.model import ArrayMismatch, ComparedRuns, ComparedStage, Tolerance

if TYPE_CHECKING:
    from typing import Self  # part of typing from Python 3.11 on


@dataclass(frozen=True, kw_only=True)
class ComparedModels:
    """What became of comparing `a` with the reference `b`, within the `tolerance`.

    `stages` are those that both have, outer ones first, in the order of `a`; `only_a` and `only_b` are the paths of the
    others, some of which may belong together, as the rules `proposed` say. What the whole of one gives is compared, or
    else `outermost` is False.
    """

    a: str
    b: str
    stages: tuple[ComparedStage, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    proposed: Mapping[str, str] = field(default_factory=dict)
    outermost: bool = True

    @classmethod
    def of(cls, a: str, b: str, compared: ComparedRuns, tolerance: Tolerance) -> Self:
        """What is to be said of two models of these names. Raises ValueError if nothing was compared."""
        if not compared.stages:
            sides = [", ".join(only) or "none" for only in (compared.only_a, compared.only_b)]
            raise ValueError(
                f"{a} and {b} have no stage in common, so nothing was compared. Stages of the first: {sides[0]}; "
                f"of the second: {sides[1]}. Say which belong together: --map old=new, or map={{'old': 'new'}}"
            )
        if all(stage.empty for stage in compared.stages):
            raise ValueError(f"no stage that {a} and {b} have in common gives an array, so nothing was compared")
        return cls(
            a=a,
            b=b,
            stages=compared.stages,
            only_a=compared.only_a,
            only_b=compared.only_b,
            tolerance=tolerance,
            proposed=compared.proposed,
            outermost=compared.outermost,
        )

    @property
    def equal(self) -> bool:
        """Whether all stages that both have gave the same, within the tolerance, and the whole is among them."""
        return self.outermost and all(stage.equal for stage in self.stages)

    @property
    def first(self) -> str | None:
        """The path of the first stage that gives something else; None if there is none. See `divergence`."""
        found = self.divergence
        return found.path if found is not None else None

    @property
    def divergence(self) -> ComparedStage | None:
        """The first stage that gives something else, as far inside as it was given the same."""
        return _first(self.stages, _below(self.stages), None)

    def slight(self, stage: ComparedStage) -> ComparedStage | None:
        """The stage before another from which on the two differ, but by less than the tolerance; None if there is none.

        It may be inside of that other stage, before the first that differs by more.
        """
        place = self.stages.index(stage)
        inner = self.inside(stage) if not stage.inexact else None
        end = self.stages.index(inner) if inner is not None else place
        around = set(self._around(end))
        start = place + 1 if inner is not None else 0
        earlier = [(at, self.stages[at]) for at in range(start, end) if at not in around and self.stages[at].absolute]
        begins = [(at, each) for at, each in earlier if each.inputs and not each.inexact]
        whole = {self.stages[at].parent for at, _ in begins}
        innermost = [each for at, each in begins if at not in whole] or [each for _, each in earlier]
        return innermost[0] if innermost else None

    def _around(self, place: int) -> list[int]:
        """The places of a stage and of those that it is inside of."""
        found = [place]
        while (above := self.stages[found[-1]].parent) is not None:
            found.append(above)
        return found

    def inside(self, stage: ComparedStage) -> ComparedStage | None:
        """The first stage inside of another that gives something else."""
        return next((each for each in self.parts(stage) if not each.equal), None)

    def parts(self, stage: ComparedStage) -> list[ComparedStage]:
        """The stages right inside of another."""
        return [self.stages[place] for place in _below(self.stages).get(self.stages.index(stage), ())]


def _below(stages: Sequence[ComparedStage]) -> dict[int | None, list[int]]:
    """The places of the stages inside of each; None has the outermost."""
    found: dict[int | None, list[int]] = {}
    for place, stage in enumerate(stages):
        found.setdefault(stage.parent, []).append(place)
    return found


def _first(
    stages: Sequence[ComparedStage], below: Mapping[int | None, Sequence[int]], parent: int | None
) -> ComparedStage | None:
    """The first below `parent` that differs; but where it was given the same as its like, what inside of it did so.

    Stages that agree are looked into last: what differs inside of them has not mattered.
    """
    places = below.get(parent, ())
    for place in places:
        if not stages[place].equal:
            inner = _first(stages, below, place) if stages[place].inputs else None
            return inner if inner is not None and inner.inputs else stages[place]
    return next((inner for place in places if (inner := _first(stages, below, place)) is not None), None)


def plain(stage: ComparedStage) -> dict[str, object]:
    """A stage for JSON, which knows no infinity."""
    return {
        "path": stage.path,
        "call": stage.call,
        "type": stage.type,
        "equal": stage.equal,
        "same_shapes": stage.shapes,
        "max_absolute": _number(stage.absolute),
        "max_relative": _number(stage.relative),
        "nan_in_both": stage.nans,
        "nan_in_one": stage.odd,
        "outputs_that_differ": list(map(_part, stage.parts)),
        "arranged": stage.arranged,
        "inputs_agree": stage.inputs,
        "inputs_differ_within_tolerance_by": stage.inexact,
        "inputs_that_differ": list(map(_part, stage.arguments)),
        "parameters_agree": stage.parameters,
        "parameters_that_differ": list(map(_part, stage.held)),
        "parameters_rearranged": stage.rearranged,
        "states_agree": stage.states,
        "states_that_differ": list(map(_part, stage.kept)),
        "layout": stage.layout,
        "inside": stage.parent,
        **{
            name: {
                "path": side.path,
                "output": side.output,
                "source": {"path": side.source.path, "line": side.source.line} if side.source is not None else None,
            }
            for name, side in (("a", stage.a), ("b", stage.b))
        },
    }


def _part(part: ArrayMismatch) -> dict[str, object]:
    sides = {"a": (part.a, part.a_form), "b": (part.b, part.b_form)}
    return {
        **{side: {"name": name, "array": form} if form else None for side, (name, form) in sides.items()},
        "max_absolute": _number(part.absolute),
        "numbers": part.size,
        "numbers_that_differ": part.differing,
        "layout": part.layout,
    }


def _number(value: float | None) -> float | str | None:
    return value if value is None or abs(value) != float("inf") else str(value)
