"""Axes that are made one as it becomes known that they have the same size, in one function's values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class UnifiedAxis:
    """An axis of unknown size, or with the text of a dim; axes that are one point to the same."""

    def __init__(self, text: str = "") -> None:
        self.text, self._same = text, self

    def root(self) -> UnifiedAxis:
        """The one axis that stands for all that are the same."""
        found = self
        while found._same is not found:
            found = found._same
        return found

    def differs(self, other: UnifiedAxis) -> bool:
        """Whether the two have different texts."""
        one, two = self.root(), other.root()
        return one is not two and bool(one.text and two.text)

    def unify(self, other: UnifiedAxis) -> None:
        """Make the two one; those that have different texts stay apart."""
        one, two = self.root(), other.root()
        if one is two or self.differs(other):
            return
        if one.text:
            two._same = one
        else:
            one._same = two


UnifiedShape = list[UnifiedAxis]


@dataclass
class UnifiedValue:
    """What is known of the shape of a value: its axes, once it is known how many there are."""

    axes: UnifiedShape | None = None
    of_parameters: bool = False  # it is one, or part of one, or what is computed of these and numbers alone
    is_product: bool = False
    is_loose: bool = False  # it may be a number after all, if its axes do not fit elsewhere
    contradicted: bool = False

    def take(self, axes: Sequence[UnifiedAxis] | None) -> None:
        """It has these axes; what contradicts in one of them what is known says nothing of the others either."""
        if axes is None:
            return
        if self.axes is None:
            self.axes = list(axes)
        elif len(self.axes) == len(axes):
            unify(zip(self.axes, axes, strict=True))


@dataclass
class AxesByText:
    """One axis for each text, as claims mean by a name the same throughout a function."""

    axes: dict[str, UnifiedAxis] = field(default_factory=dict)

    def shape(self, texts: Sequence[str]) -> UnifiedShape:
        """The axes with these texts."""
        return [self.axes.setdefault(text, UnifiedAxis(text)) if text else UnifiedAxis() for text in texts]


def unify(pairs: Iterable[tuple[UnifiedAxis, UnifiedAxis]]) -> bool:
    """Make all pairs one, or none if two of them differ: then False. An axis of one element may meet any other."""
    every = [pair for pair in pairs if "1" not in (pair[0].root().text, pair[1].root().text)]
    if any(one.differs(other) for one, other in every):
        return False
    for one, other in every:
        one.unify(other)
    return True


def new_axes(number: int) -> UnifiedShape:
    """So many axes of which nothing is known yet."""
    return [UnifiedAxis() for _ in range(number)]


def broadcast(axes: Sequence[UnifiedAxis], longer: Sequence[UnifiedAxis]) -> bool:
    """Two shapes that meet element by element: the axes are one, from the end, but for those of one element."""
    return unify(zip(reversed(axes), reversed(longer), strict=False))
