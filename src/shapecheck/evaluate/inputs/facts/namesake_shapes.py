"""Arrays that nothing describes where they are taken, and other functions of the file do, by the same name.

Whoever writes `pos: (N, 3)` in one docstring means the same by `pos` in the next function, most likely. What follows
from such an array proves nothing against a claim.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set

from shapecheck.evaluate.inputs.facts.attribute_reads import attribute_reads
from shapecheck.evaluate.inputs.facts.body_facts import facts_of
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape, asked_dtype, open_parameters
from shapecheck.evaluate.inputs.facts.handed_parts import parts_of
from shapecheck.evaluate.inputs.facts.parameter_facts import BodyFact
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.plans import ParameterSpec, ShapeOfName


def with_namesakes(
    function: Callable[..., object],
    described: Mapping[str, ParameterSpec],
    body: Mapping[str, BodyShape],
    elsewhere: Mapping[str, Sequence[ShapeOfName]],
    claims: Iterable[Set[str]],
    given: Container[str],
) -> dict[str, BodyShape]:
    """How the body takes its parameters, with what is said `elsewhere` of those that it leaves open.

    Of several shapes that is the one of which the function's own `claims` use all names. What is `given` needs none.
    """
    used = set().union(*claims)
    found = dict(body)
    open_ones = [name for name in open_parameters(function, described) if name not in given]
    if open_ones:  # a comment anywhere in the file may say what they are
        note_module_read(sys.modules.get(str(getattr(function, "__module__", ""))))
    for name in open_ones:
        own, said = body.get(name), _only_one(elsewhere.get(name, ()), used)
        if said is None or (own is not None and own.exact and own.named):
            continue
        if _may_be(function, name, len(parse_spec(said.spec).dims)):
            dtype = said.dtype or asked_dtype(name, facts_of(function).parameters.get(name, BodyFact()))
            found[name] = BodyShape(said.spec, dtype, exact=True, named=True, elsewhere=True, otherwise=own)
    return found


def _only_one(shapes: Sequence[ShapeOfName], used: Set[str]) -> ShapeOfName | None:
    """The only shape, or the only one whose names are all used; None if that does not tell."""
    fitting = [each for each in shapes if len(shapes) == 1 or {*parse_spec(each.spec).names()} <= used]
    return fitting[0] if len(fitting) == 1 else None


def _may_be(function: Callable[..., object], name: str, axes: int) -> bool:
    """Whether the body may take an array of so many axes for a parameter."""
    fact = facts_of(function).parameters.get(name, BodyFact())
    if axes < fact.least or (fact.ranks and axes not in fact.ranks):
        return False
    return not parts_of(function, name) and not attribute_reads(function, name)
