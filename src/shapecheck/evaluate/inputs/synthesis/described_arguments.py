"""Arguments that a comment or docstring describes, whole or in parts, or of which claims say what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shapecheck.evaluate.framework_protocol import apply_variables
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape
from shapecheck.evaluate.inputs.facts.handed_parts import goes_elsewhere, parts_of
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, array_type
from shapecheck.evaluate.inputs.project.nested_arguments import classes_in
from shapecheck.evaluate.inputs.synthesis.arrange_parts import arrange_parts
from shapecheck.evaluate.inputs.synthesis.synthesise_instances import InstanceSynthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis
from shapecheck.evaluate.inputs.trials.choices import AS_ELSEWHERE, OTHERWISE, ArgumentChoices
from shapecheck.model.assumption import AS_CLAIMED
from shapecheck.model.parameter_parts import Part, entries_of
from shapecheck.shapes import AnyDim, AnyDims, is_variadic, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec


class DescribedArguments:
    """Makes them, and notes in `parts` what is said of parts of them, and in `inferred` what follows from claims."""

    def __init__(self, values: ValueSynthesis, instances: InstanceSynthesis, choices: ArgumentChoices) -> None:
        self._values, self._instances, self._choices = values, instances, choices
        self.parts: dict[str, str] = {}
        self.inferred: dict[str, str] = {}

    def likeness(self, name: str, described: ParameterSpec | BodyShape | None) -> ParameterSpec | BodyShape | None:
        """What is said of a parameter elsewhere, or follows from claims, unless that is chosen not to count."""
        if not isinstance(described, BodyShape) or not (described.elsewhere or described.inferred):
            return described
        usual = AS_CLAIMED if described.inferred else AS_ELSEWHERE
        chosen = self._choices.likeness(self._values.place(name), (usual, OTHERWISE))
        if chosen != usual:
            return described.otherwise
        if described.inferred:
            self.inferred[name] = described.spec
        return described

    def of_parts(
        self,
        function: Callable[..., object],
        name: str,
        said: Mapping[str, ParameterSpec | BodyShape],
        *,
        as_taken: bool = False,
    ) -> object:
        """What holds all that a function takes out of a parameter, if anybody describes some of it.

        Or, `as_taken`, if the body says of some that they are arrays.
        """
        listed = [part for part in entries_of(name, said) if getattr(said[str(part)], "prose", False)]
        parts = tuple(dict.fromkeys((*parts_of(function, name), *listed)))
        kinds = (ParameterSpec, BodyShape) if as_taken else ParameterSpec
        if not any(isinstance(said.get(str(part)), kinds) for part in parts):
            return MISSING
        is_data = any(part.keys[0] is not None for part in parts)
        if is_data and not listed and apply_variables() and goes_elsewhere(function, name):
            return MISSING  # they may be what a model's `init` makes
        written = [each.spec for part in parts if isinstance(each := said.get(str(part)), ParameterSpec)]
        others = tuple(dict.fromkeys(filter(None, written)))
        return arrange_parts(name, {part.keys: self._part(part, said.get(str(part)), others) for part in parts})

    def _part(self, part: Part, said: ParameterSpec | BodyShape | None, others: tuple[str, ...]) -> object:
        """One of several; those that nobody describes may all be as one of the `others` is."""
        if isinstance(said, ParameterSpec):
            self.parts[str(part)] = said.spec
            return self.array(MISSING, str(part), said)
        said = said if isinstance(said, ParameterSpec) else self.likeness(str(part), said)
        if isinstance(said, BodyShape) and said.exact:
            return self._values.as_taken(str(part), said)
        last = part.keys[-1]
        if isinstance(last, str) and (
            name_hints.is_key(last, self._values.beside) or name_hints.flag(last) is not None
        ):
            return self._values.value(MISSING, last)
        if part.keys[-1] is None:
            return self._values.stand_in(part.parameter)
        spec = self._choices.spec(self._values.place(part.parameter), "", others)
        if not spec and isinstance(said, BodyShape):
            return self._values.as_taken(str(part), said)
        if not spec:
            return self._values.number_or_array(str(part))
        self._values.invent("value", str(part), f"an array of ({', '.join(spec.split())})")
        return self._values.assignment.array(spec, self._values.usual_dtype(str(part)), str(part))

    def array(self, annotation: object, name: str, described: ParameterSpec) -> object:
        """The array that a comment or docstring describes, or an instance of a class whose arrays all are like it."""
        found = array_type(annotation)
        place = self._values.place(name)
        spec = self._choices.spec(place, described.spec, described.others)
        dtype = described.dtype or (found.dtype if found is not None else "")
        dtype = dtype or self._values.usual_dtype(name)
        if any(isinstance(dim, AnyDim) for dim in parse_spec(spec).dims):  # of `[n, j|k]` nobody says what j|k is
            self._values.invent("sizes", name, "any")
        if found is not None:
            return self._described_array(described, spec, dtype, name)
        for cls in classes_in(annotation):
            try:
                with self._values.alike(described):
                    return self._instances.instance(cls, name)
            except CannotSynthesiseError:
                # What follows from an array in the place of such an instance proves nothing.
                self._values.invent("value", name, "an array")
        return self._described_array(described, spec, dtype, name)

    def _described_array(self, described: ParameterSpec, spec: str, dtype: str, name: str) -> object:
        with self._values.assignment.as_callees_say(described.foreign):
            array = self._values.assignment.array(spec, dtype, name)
        return self._choices.note(self._values.place(name), array)


def with_leading_axes(annotation: object, described: str) -> str | None:
    """The spec of an array type, if that begins with `...` and a description says which axes these are.

    `Float[Array, "... d"]` of what a docstring calls `(batch, time, dim)` is (batch, time, d).
    """
    found = array_type(annotation)
    own = parse_spec(found.shape).dims if found is not None else ()
    if not own or not isinstance(own[0], AnyDims):
        return None
    said, rest = parse_spec(described).dims, own[1:]
    if len(own) == 1:
        return described
    if any(map(is_variadic, (*said, *rest))) or len(said) < len(rest):
        return None
    return " ".join(map(str, (*said[: len(said) - len(rest)], *rest)))
