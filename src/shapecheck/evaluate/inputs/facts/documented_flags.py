"""Flags of which a docstring says that other arguments are otherwise with them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

from shapecheck.evaluate.inputs.facts.runtime_annotations import signature_of
from shapecheck.evaluate.probes.attribute_access import read_attribute

_OF_SHAPES = re.compile(r"\b(?:shape|size|col|row|axis|axes|dim|must|should|has|have|expect|assume)\w*", re.IGNORECASE)


def changes_others(function: Callable[..., object], name: str) -> bool:
    """Whether a docstring says of a parameter something about the shapes of others, which it may change.

    "bidirectional (bool): whether ... Note for this case C_tilde will have 2P cols".
    """
    docstring = read_attribute(function, "__doc__", None)
    if not isinstance(docstring, str):
        return False
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):
        return False
    others = [each for each in parameters if each != name and len(each) > 1]  # one letter may be any word's
    said = " ".join(_entry(inspect.cleandoc(docstring).splitlines(), name, others))
    return not {*re.findall(r"\w+", said)}.isdisjoint(others) and _OF_SHAPES.search(said) is not None


def _entry(lines: list[str], name: str, others: list[str]) -> Iterator[str]:
    """The lines of a docstring that tell of a parameter: its own one, and those that stand further in below."""
    begin = re.compile(rf"[\s*:-]*(?:param )?(?:{'|'.join(map(re.escape, [name, *others]))})\b\W*[(:\[]")
    own = re.compile(rf"[\s*:-]*(?:param )?{re.escape(name)}\b\W*[(:\[]")
    first = next((place for place, line in enumerate(lines) if own.match(line)), None)
    if first is None:
        return
    yield lines[first]
    for line in lines[first + 1 :]:
        is_further_in = len(line) - len(line.lstrip()) > len(lines[first]) - len(lines[first].lstrip())
        if begin.match(line) or (line.strip() and not is_further_in):
            return
        yield line
