"""Observed dims as sizes: each free symbol stands for several numbers at once, so that equal means equal for all."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from shapecheck.model import ArrayValue, Evaluation, TreeValue, Value
from shapecheck.shapes import EvaluationError, Expression, Size, SpecError, evaluate, parse_dim, sample_sizes
from shapecheck.shapes.expressions import names

_SAMPLES = 6


class Samples:
    """The sizes of all dims of one evaluation. `multiple_of` makes the free symbols divisible by it."""

    def __init__(self, evaluation: Evaluation, multiple_of: int = 1) -> None:
        texts = {text for call in evaluation.calls for o in call.observations for text in _texts(o.value)}
        texts.update(n.size for call in evaluation.calls for o in call.observations for n in o.names)
        symbols = sorted({name for text in texts for name in _names(text)})
        self.symbolic = bool(symbols)
        self.count = _SAMPLES if symbols else 1
        self._env = sample_sizes(symbols, self.count, multiple_of)
        self._sizes: dict[str, Size | None] = {}
        self._texts: dict[Size, str] = {}
        self._symbols = {size: name for name, size in self._env.items()}

    def size(self, text: str) -> Size | None:
        """The size of a dim that JAX printed; None if it has none under these samples."""
        if text not in self._sizes:
            size = self._evaluate(text)
            self._sizes[text] = size
            if size is not None:
                self._texts.setdefault(size, text)
        return self._sizes[text]

    def shape(self, dims: tuple[str, ...]) -> tuple[Size, ...] | None:
        """The sizes of a shape, or None if any is unknown."""
        sizes = tuple(self.size(d) for d in dims)
        known = tuple(s for s in sizes if s is not None)
        return known if len(known) == len(sizes) else None

    def text(self, size: Size) -> str:
        """How JAX wrote this size, or, of one that it did not write, how far it is from another; else "?"."""
        if size in self._texts:
            return self._texts[size]
        if len(set(size)) == 1:
            return str(size[0])
        return self._symbols.get(size) or next(self._neighbours(size), "?")

    def _neighbours(self, size: Size) -> Iterator[str]:
        """`t - 1` of what a claim `t+1` says where JAX wrote only `t`."""
        for other, text in self._texts.items():
            steps = {a - b for a, b in zip(size, other, strict=True)}
            if len(steps) == 1:
                step = steps.pop()
                yield f"{text} {'+' if step > 0 else '-'} {abs(step)}"

    def _evaluate(self, text: str) -> Size | None:
        if text.isdigit():
            return (int(text),) * self.count
        expression = _parse(text)
        if expression is None:
            return None
        try:
            return evaluate(expression, self._env, self.count)
        except EvaluationError:
            return None


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Expression | None:
    try:
        return parse_dim(text)
    except SpecError:
        return None


def _names(text: str) -> Iterator[str]:
    if not text.isdigit():
        expression = _parse(text)
        if expression is not None:
            yield from names(expression)


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, ArrayValue):
        yield from value.shape
        yield from value.mapped
        yield from value.hidden
    elif isinstance(value, TreeValue):
        for child in value.children:
            yield from _texts(child)
