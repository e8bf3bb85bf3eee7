"""Arrays that nothing describes, and that claims about what is computed of them say all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_facts import facts_of
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape, asked_dtype, open_parameters
from shapecheck.evaluate.inputs.facts.handed_parts import parts_of
from shapecheck.evaluate.inputs.facts.parameter_facts import BodyFact
from shapecheck.model import InferredParameter
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.plans import ParameterSpec


def with_inferred(
    function: Callable[..., object],
    described: Mapping[str, ParameterSpec],
    body: Mapping[str, BodyShape],
    inferred: Mapping[str, InferredParameter],
) -> dict[str, BodyShape]:
    """How the body takes its parameters, with what its claims say of those that it leaves open, and of their parts."""
    found = dict(body)
    for name in open_parameters(function, described) if inferred else ():
        for text in (name, *map(str, parts_of(function, name))):
            said = inferred.get(text)
            if said is None or said.guess or text in described or name_hints.is_scalar(text):
                continue
            own, fact = body.get(text), facts_of(function).parameters.get(text, BodyFact())
            axes = len(parse_spec(said.spec).dims)
            is_said = own is not None and own.exact and not own.elsewhere
            if not is_said and axes >= fact.least and (not fact.ranks or axes in fact.ranks):
                own = own.otherwise if own is not None and own.elsewhere else own
                dtype = asked_dtype(text, fact)
                found[text] = BodyShape(said.spec, dtype, exact=True, named=True, inferred=True, otherwise=own)
    return found
