"""How stages, and arrays of theirs, are called in what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

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
