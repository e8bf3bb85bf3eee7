"""Parameters that go where a part of another goes: `target` is like `nets["q"]`, as both are the `p` of `q(p, x)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.model.parameter_parts import Part


def like_parts(function: Callable[..., object], parameter: str) -> Iterator[Part]:
    """The parts of other parameters, or these as they are, that a function gives for the same parameter of another."""
    source = function_parts(function)
    if source is None:
        return
    places = {(each.callee, each.parameter, each.mapped) for each in source.all_receivers(Part(parameter))}
    for part in source.handed_parts():
        others = {(each.callee, each.parameter, each.mapped) for each in source.all_receivers(part)}
        if part.parameter != parameter and None not in part.keys and places & others:
            yield part
