"""A comparison in words: what it comes to in one line, and how stages and arrays are called in it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.comparison.compared_models import ComparedModels
from shapecheck.model import ArrayMismatch, ComparedStage

_MOST = 8  # that are named in one line


def run_name(stage: ComparedStage) -> str:
    """One run of a stage."""
    return f"{name_of(stage)}, call {stage.call + 1}" if stage.call else name_of(stage)


def name_of(stage: ComparedStage) -> str:
    """A stage by its path, and that of A if it has another there."""
    renamed = f" (in A {stage.a.path or 'the whole'})" if stage.a.path != stage.path else ""
    return f"{stage.path or 'the whole'}{renamed}"


def list_paths(paths: tuple[str, ...]) -> str:
    """The outermost of them."""
    outer = [path for path in paths if not any(path != other and _is_inside(path, other) for other in paths)]
    more = f" and {len(outer) - _MOST} more" if len(outer) > _MOST else ""
    return f"{', '.join(path or 'the whole' for path in outer[:_MOST])}{more}"


def _is_inside(path: str, other: str) -> bool:
    return path.startswith(other) and path[len(other) :][:1] in (".", "[", "/") if other else False


def count(number: int, noun: str) -> str:
    """So many of these."""
    return f"{number} {noun}{'' if number == 1 or noun == 'NaN' else 's'}"


def describe_differences(arrays: Sequence[ArrayMismatch]) -> str:
    """Arrays that differ, or are in one only, and how they differ."""
    more = f"; and {len(arrays) - _MOST} more" if len(arrays) > _MOST else ""
    return f"{'; '.join(map(_describe_difference, arrays[:_MOST]))}{more}"


def _describe_difference(part: ArrayMismatch) -> str:
    a, b = (name.lstrip(".") for name in (part.a, part.b))
    if not (part.a_form and part.b_form):
        return f"{a}{b} {part.a_form}{part.b_form} in {'A' if part.a_form else 'B'} only"
    name = b if a in ("", b) else f"{b} (in A {a})"
    forms = f": A {part.a_form}, B {part.b_form}" if part.a_form != part.b_form else ""
    if part.layout:
        return f"{name}, in A {part.layout}{forms}".lstrip(", ")
    if part.exact and part.differing:
        return f"{name} in {part.differing} of {count(part.size, 'number')}{forms}".lstrip()
    return (f"{name} by up to {part.absolute:.3g}{forms}" if part.absolute else f"{name}{forms}").lstrip(": ")


@dataclass(frozen=True)
class Row:
    """All runs of a stage in one line of the table."""

    cells: tuple[str, ...]
    equal: bool


def rows(comparison: ComparedModels) -> Iterator[Row]:
    """A line for each stage that both have."""
    by_path: dict[str, list[ComparedStage]] = {}
    for stage in comparison.stages:
        by_path.setdefault(stage.path, []).append(stage)
    for path, runs in by_path.items():
        differing = [run for run in runs if not run.equal]
        shown = (differing or runs)[0]
        times = f" ×{len(runs)}" if len(runs) > 1 else ""
        known = [run for run in runs if run.absolute is not None and run.relative is not None and not run.empty]
        numbers = [
            f"{max(values):.3g}" if values else "-"
            for values in ([run.absolute or 0.0 for run in known], [run.relative or 0.0 for run in known])
        ]
        cells = (f"{path or '(the whole)'}{times}", shown.type, shown.b.output, *numbers, _verdict(shown, len(runs)))
        yield Row(cells, not differing)


def _verdict(stage: ComparedStage, runs: int) -> str:
    if stage.empty and stage.equal:
        return "gives no arrays" + (", though its inputs differ" if stage.inputs is False else "")
    words = [f"equal, {count(stage.nans, 'NaN')} in both" if stage.nans else "equal"]
    if not stage.equal:
        words = [f"differs{_amounts(stage)}"]
        if runs > 1:
            words.append(f"from call {stage.call + 1} on" if stage.call else "from the first call on")
    if not stage.shapes or stage.layout:
        words.append(" ".join(filter(None, [f"A has {stage.a.output}", stage.layout and f"({stage.layout})"])))
    if stage.arranged:
        words.append(stage.arranged)
    if not stage.equal:
        if stage.odd:
            words.append(f"{count(stage.odd, 'NaN')} in one only")
        if stage.states is False:
            words.append(f"keeps other {list_paths(tuple(part.b or part.a for part in stage.kept))}")
        if stage.inputs is False:
            words.append("as its inputs do")
    elif stage.inputs is False:
        words.append("though its inputs differ")
    if stage.states is None and stage.kept:
        words.append("what it keeps is not compared")
    return ", ".join(words)


def _amounts(stage: ComparedStage) -> str:
    """Which of several arrays differ, and how many of their numbers, if none of them may."""
    found = []
    for part in stage.parts:
        amount = f"{part.differing} of {count(part.size, 'number')}" if part.exact and part.differing else ""
        found.append(f" in {part.b}{amount and f' ({amount})'}" if part.b else f" in {amount}" if amount else "")
    return ",".join(filter(None, found))


def notes(comparison: ComparedModels) -> Iterator[str]:
    """What is to be known before the values: shapes that differ, stages that only one has, other parameters."""
    shapes: dict[str, ComparedStage] = {}
    for stage in comparison.stages:
        if not stage.shapes and not stage.equal:
            shapes.setdefault(name_of(stage), stage)
    if shapes:
        yield f"Shapes or dtypes differ in {count(len(shapes), 'stage')}:"
        width = max(map(len, shapes))
        yield from (f"  {name:{width}}  A {each.a.output}, B {each.b.output}" for name, each in shapes.items())
    for name, only in (("A", comparison.only_a), ("B", comparison.only_b)):
        if only:
            yield f"Only in {name}: {list_paths(only)}"
    yield from _proposals(comparison)
    others = [(place, stage) for place, stage in enumerate(comparison.stages) if stage.parameters is False]
    holders = {stage.parent for _, stage in others}
    inner = [stage for place, stage in others if place not in holders]
    if inner:
        yield f"Parameters differ in: {list_paths(tuple(dict.fromkeys(map(name_of, inner))))}"
        if comparison.proposed:
            yield (
                "  Some frameworks make parameters by the names of modules, others in their order: for the same in "
                "both, let each target be a function that returns (model, parameters, *inputs)."
            )
    if shapes or comparison.only_a or comparison.only_b or inner:
        yield ""


def _proposals(comparison: ComparedModels) -> Iterator[str]:
    rules = list(comparison.proposed.items())
    if not rules:
        if comparison.only_a and comparison.only_b:
            yield "Stages that belong together under other names: --map old=new, from Python map={'old': 'new'}."
        return
    yield "By their sizes and their order, these may belong together; to compare them so:"
    yield "  " + " ".join("--map " + shlex.quote(f"{old}={new}") for old, new in rules)
    yield f"  map={dict(rules)}"


def conclusion(comparison: ComparedModels) -> str:
    """One line: that all is equal, or where the two part, and what that tells."""
    stage = comparison.divergence
    if stage is None:
        most = max(comparison.stages, key=lambda each: each.absolute or 0.0)
        tail = f"; the largest difference is {most.absolute:.3g}, in {run_name(most)}" if most.absolute else ""
        number = count(sum(not each.empty for each in comparison.stages), "stage")
        if not comparison.outermost:
            return f"Not known: {number} within {_tolerance(comparison)}, but neither whole is among them{tail}."
        return f"Equal: {number} within {_tolerance(comparison)}{tail}."
    return f"First divergent stage: {run_name(stage)}{_where(stage)}. {_cause(comparison, stage)}"


def _tolerance(comparison: ComparedModels) -> str:
    given = [(name, getattr(comparison.tolerance, name)) for name in ("rtol", "atol")]
    return ", ".join(f"{name}={value:g}" for name, value in given if value is not None) or "rounding"


def _cause(comparison: ComparedModels, stage: ComparedStage) -> str:
    which = f" ({describe_differences(stage.arguments)})" if stage.arguments else ""
    if stage.inputs is None:
        return f"Its inputs cannot be compared: the two are given other arrays, or the same in another order{which}."
    if not stage.inputs:
        if stage.parent is None:
            return f"The two were not given the same{which}, so nothing can be said of the cause."
        above = name_of(comparison.stages[stage.parent])
        return f"Its inputs differ already{which}: the cause lies before it, in {above}."
    agree = f"Its inputs agree{which}"
    if stage.apart:
        return f"{agree}, and what it gives is equal once that of A is {stage.layout}."
    if stage.close:
        states = describe_differences(stage.kept)
        return f"{agree}, and what it gives is equal; but not what it keeps for its next run: {states}."
    if stage.parameters is False or (stage.held and not comparison.parts(stage)):
        return f"{agree}, and its parameters differ{f' ({describe_differences(stage.held)})' if stage.held else ''}."
    if not comparison.parts(stage) and (text := _parameters(stage)):
        return f"{agree}, and {text}."
    both = f"Its inputs and its parameters agree{which}" if stage.parameters else agree
    if slight := _slight(comparison, stage, both):
        return slight
    return f"{both}, so the cause lies in its own code{_before(comparison, stage)}.{_hint(comparison, stage)}"


def _slight(comparison: ComparedModels, stage: ComparedStage, agree: str) -> str:
    """What is to be said where differences under the tolerance come before, which may be the cause; else nothing."""
    first = comparison.slight(stage)
    if not stage.inexact and first is None:
        return ""
    begin = f", first in {run_name(first)} (by up to {first.absolute:.3g})" if first is not None else ""
    if not stage.inexact:
        return (
            f"{agree}. Inside of it, differences under the tolerance come before what differs{begin}: they may be the "
            f"cause, or its own code{_before(comparison, stage)}. A smaller --rtol tells.{_hint(comparison, stage)}"
        )
    amount = f", and what it gives by up to {stage.absolute:.3g}" if stage.absolute is not None else ""
    return (
        f"{agree} within the tolerance, but differ by up to {stage.inexact:.3g}{amount}. Such differences come before "
        f"it{begin}, and may be the cause; else it lies in its own code. A smaller --rtol tells."
        f"{_hint(comparison, stage)}"
    )


def _parameters(stage: ComparedStage) -> str:
    """What is to be known of the parameters of a layer."""
    if stage.rearranged:
        return (
            "its parameters hold the same numbers in another order, so the cause lies in that order, or in its own code"
        )
    if stage.untransposed:
        return (
            "its parameters have the same numbers in the same order; but one framework keeps weights as (out, in), "
            "the other as (in, out): is one to be transposed?"
        )
    return ""


def _before(comparison: ComparedModels, stage: ComparedStage) -> str:
    """Where in the code of a stage the cause lies, as far as those inside of it tell."""
    inner = comparison.inside(stage)
    if inner is None:
        return ": all stages inside of it are equal" if comparison.parts(stage) else ""
    text = f", before {run_name(inner)}, the first inside of it that differs"
    if inner.inputs is None:
        return f"{text}, or inside of that: what the two give to it cannot be compared"
    is_given = inner.inputs is False and inner.arguments
    return f"{text}, as what it is given does ({describe_differences(inner.arguments)})" if is_given else text


def _hint(comparison: ComparedModels, stage: ComparedStage) -> str:
    """What else may be the cause: a choice that is nearly tied, or parts of what is inside that were mixed up."""
    if stage.parts and all(part.exact and 0 < part.differing < part.size / 2 for part in stage.parts):
        return " What differs are integers; where values are nearly tied, rounding decides between them."
    if stage.parts and all(part.absolute == 0 and not part.differing for part in stage.parts):
        return f" The numbers are the same, in another dtype ({describe_differences(stage.parts)})."
    moved = next((each for each in comparison.parts(stage) if each.arranged), None)
    return f" In {run_name(moved)}, {moved.arranged}: is that meant?" if moved is not None else ""


def _where(stage: ComparedStage) -> str:
    sources = [source for source in (stage.a.source, stage.b.source) if source is not None]
    places = dict.fromkeys(f"{source.path}:{source.line}" for source in sources)
    return f" ({' and '.join(places)})" if places else ""
