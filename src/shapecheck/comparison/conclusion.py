"""What a comparison comes to, in one line."""

from __future__ import annotations

from shapecheck.comparison.compared_models import ComparedModels
from shapecheck.comparison.comparison_text import count, describe_differences, name_of, run_name
from shapecheck.model import ComparedStage


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
