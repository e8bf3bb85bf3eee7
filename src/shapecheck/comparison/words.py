"""A comparison in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapecheck.comparison.comparison import Comparison
from shapecheck.facts import ComparedStage

_MOST = 8  # stages that are named in one line


@dataclass(frozen=True)
class Row:
    """All runs of a stage in one line of the table."""

    cells: tuple[str, ...]
    equal: bool


def rows(comparison: Comparison) -> Iterator[Row]:
    """A line for each stage that both have."""
    by_path: dict[str, list[ComparedStage]] = {}
    for stage in comparison.stages:
        by_path.setdefault(stage.path, []).append(stage)
    for path, runs in by_path.items():
        differing = [run for run in runs if not run.equal]
        shown = (differing or runs)[0]
        times = f" ×{len(runs)}" if len(runs) > 1 else ""
        known = [run for run in runs if run.absolute is not None and run.relative is not None]
        numbers = [
            f"{max(values):.3g}" if values else "-"
            for values in ([run.absolute or 0.0 for run in known], [run.relative or 0.0 for run in known])
        ]
        cells = (f"{path or '(the whole)'}{times}", shown.type, shown.b.output, *numbers, _verdict(shown, len(runs)))
        yield Row(cells, not differing)


def _verdict(stage: ComparedStage, runs: int) -> str:
    words = [f"equal, {_count(stage.nans, 'NaN')} in both" if stage.nans else "equal"]
    if not stage.equal:
        words = ["differs"]
        if runs > 1:
            words.append(f"from call {stage.call + 1} on" if stage.call else "from the first call on")
    if not stage.shapes or stage.layout:
        words.append(" ".join(filter(None, [f"A has {stage.a.output}", stage.layout and f"({stage.layout})"])))
    if not stage.equal:
        if stage.odd:
            words.append(f"{_count(stage.odd, 'NaN')} in one only")
        if stage.inputs is False:
            words.append("as its inputs do")
    elif stage.inputs is False:
        words.append("though its inputs differ")
    return ", ".join(words)


def notes(comparison: Comparison) -> Iterator[str]:
    """What is to be known before the values: shapes that differ, stages that only one has, other parameters."""
    shapes = [stage for stage in comparison.stages if not stage.shapes and not stage.equal]
    if shapes:
        yield f"Shapes or dtypes differ in {_count(len(shapes), 'stage')}:"
        width = max(len(_called(stage)) for stage in shapes)
        yield from (f"  {_called(each):{width}}  A {each.a.output}, B {each.b.output}" for each in shapes)
    for name, only in (("A", comparison.only_a), ("B", comparison.only_b)):
        if only:
            yield f"Only in {name}: {_listed(only)}"
    if comparison.only_a and comparison.only_b:
        yield "Stages that belong together under other names: --map old=new, from Python map={'old': 'new'}."
    others = [(place, stage) for place, stage in enumerate(comparison.stages) if stage.parameters is False]
    holders = {stage.parent for _, stage in others}
    inner = [stage for place, stage in others if place not in holders]
    if inner:
        yield f"Parameters differ in: {_listed(tuple(dict.fromkeys(map(_name, inner))))}"
    if shapes or comparison.only_a or comparison.only_b or inner:
        yield ""


def conclusion(comparison: Comparison) -> str:
    """One line: that all is equal, or where the two part, and what that tells."""
    stage = comparison.divergence
    if stage is None:
        most = max(comparison.stages, key=lambda each: each.absolute or 0.0)
        tail = f"; the largest difference is {most.absolute:.3g}, in {_called(most)}" if most.absolute else ""
        return f"Equal: {_count(len(comparison.stages), 'stage')} within {_tolerance(comparison)}{tail}."
    return f"First divergent stage: {_called(stage)}{_where(stage)}. {_cause(comparison, stage)}"


def _tolerance(comparison: Comparison) -> str:
    given = [(name, getattr(comparison.tolerance, name)) for name in ("rtol", "atol")]
    return ", ".join(f"{name}={value:g}" for name, value in given if value is not None) or "rounding"


def _cause(comparison: Comparison, stage: ComparedStage) -> str:
    if stage.inputs is None:
        return "Its inputs cannot be compared: the two are given other arrays, or the same in another order."
    if not stage.inputs:
        if stage.parent is None:
            return "The two were not given the same, so nothing can be said of the cause."
        return f"Its inputs differ already: the cause lies before it, in {_name(comparison.stages[stage.parent])}."
    if stage.apart:
        return f"Its inputs agree, and what it gives is equal once that of A is {stage.layout}."
    if stage.parameters is False:
        return "Its inputs agree, and its parameters differ."
    inner = comparison.inside(stage)
    if stage.rearranged and not comparison.parts(stage):
        return (
            "Its inputs agree, and its parameters hold the same numbers in another order, so the cause lies in that "
            "order, or in its own code."
        )
    if stage.untransposed and not comparison.parts(stage):
        return (
            "Its inputs agree, and its parameters have the same numbers in the same order; but Equinox keeps weights "
            "as (out, in), Flax and Haiku as (in, out): is one to be transposed?"
        )
    also = " and its parameters" if stage.parameters else ""
    cause = f"Its inputs{also} agree, so the cause lies in its own code"
    if inner is not None:
        unknown = ", or inside of that: what the two give to it cannot be compared" if inner.inputs is None else ""
        return f"{cause}, before {_called(inner)}, the first inside of it that differs{unknown}."
    return f"{cause}: all stages inside of it are equal." if comparison.parts(stage) else f"{cause}."


def _where(stage: ComparedStage) -> str:
    sources = [source for source in (stage.a.source, stage.b.source) if source is not None]
    places = dict.fromkeys(f"{source.path}:{source.line}" for source in sources)
    return f" ({' and '.join(places)})" if places else ""


def _called(stage: ComparedStage) -> str:
    return f"{_name(stage)}, call {stage.call + 1}" if stage.call else _name(stage)


def _name(stage: ComparedStage) -> str:
    renamed = f" (in A {stage.a.path or 'the whole'})" if stage.a.path != stage.path else ""
    return f"{stage.path or 'the whole'}{renamed}"


def _listed(paths: tuple[str, ...]) -> str:
    """The outermost of them."""
    outer = [path for path in paths if not any(path != other and _lies_in(path, other) for other in paths)]
    more = f" and {len(outer) - _MOST} more" if len(outer) > _MOST else ""
    return f"{', '.join(path or 'the whole' for path in outer[:_MOST])}{more}"


def _lies_in(path: str, other: str) -> bool:
    return path.startswith(other) and path[len(other) :][:1] in (".", "[", "/") if other else False


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 or noun == 'NaN' else 's'}"
