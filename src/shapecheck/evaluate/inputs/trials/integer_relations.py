"""Integers that follow from others, as their file writes it: `d_k = d_model // n_heads`, or `n_v // n_k` of a repeat.

Each is made up apart, so that a mix-up of two shows. What fits only where they have the relation that the file gives
them is no mistake of the code, which leaves it to whoever calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.evaluate.inputs.facts.namesakes import are_spelled_alike
from shapecheck.evaluate.inputs.trials.choices import Choices, multiple_key
from shapecheck.evaluate.inputs.trials.multiples import divisions
from shapecheck.evaluate.inputs.trials.trial import BoundCall, TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import WrittenRelation
from shapecheck.model import Assumption

_NUMBER = re.compile(r"\d+")
_QUOTIENT = re.compile(r"([^\W\d]\w*)//?([^\W\d]\w*)")
_NAME = re.compile(r"[^\W\d]\w*")
_MOST = 4


@dataclass(frozen=True)
class IntegerRelation:
    """Integers that a constructor is given so that they have a relation, `name = text`, which is written.

    Some of them, the `changed` ones, had other sizes. Where the relation is that a quotient has no rest, `choices` make
    what is divided a multiple, wherever the two integers are taken.
    """

    init: tuple[tuple[str, int], ...]
    changed: frozenset[str]
    name: str
    text: str
    choices: Choices = ()

    def assumptions(self) -> tuple[Assumption, ...]:
        """What is assumed of the constructor's integers; choices are assumptions themselves."""
        return () if self.choices else (Assumption("tie", self.name, self.text, "written"),)


def integer_relations(integers: Mapping[str, int], relations: Sequence[WrittenRelation]) -> Iterator[IntegerRelation]:
    """The written relations that integers do not have, with those that have them."""
    for relation in relations:
        if relation.name not in integers and (quotient := _QUOTIENT.fullmatch(relation.text)) is not None:
            yield from _without_rest(integers, *quotient.groups())
        names = dict.fromkeys((relation.name, *_NAME.findall(relation.text)))
        called = {name: found for name in names if name and (found := _namesake(name, integers)) is not None}
        if not relation.name or len(called) < len(names) or len({*called.values()}) < len(names) or len(names) == 1:
            continue
        sizes = {name: integers[parameter] for name, parameter in called.items()}
        wanted = relation.size(sizes)
        if wanted == sizes[relation.name]:
            continue
        if (quotient := _QUOTIENT.fullmatch(relation.text)) is not None:
            whole, part = quotient.groups()
            changed = {whole: sizes[relation.name] * sizes[part]}  # which is divided without a rest
        elif wanted is not None and wanted > 0:
            changed = {relation.name: wanted}
        else:
            continue
        # All are given, since those that are left would be made up anew.
        init = tuple((called[name], changed.get(name, size)) for name, size in sizes.items())
        yield IntegerRelation(init, frozenset(called[name] for name in changed), relation.name, relation.text)


def blamed_relations(outcome: TrialOutcome, relations: Sequence[WrittenRelation]) -> list[IntegerRelation]:
    """The first of the written relations that a failed run's integers do not have, and that may be to blame.

    One of them may be if the failure names a size that an integer has, or that it would have.
    """
    if outcome.bound_call is None or outcome.failure is None:
        return []
    words = set(_NUMBER.findall(outcome.failure.message))
    integers = outcome.bound_call.integers
    found = integer_relations(integers, relations)
    blamed = [each for each in found if words & _sizes_about(each, integers)]
    return [*_division_relations(outcome.failure.message, outcome.bound_call), *blamed][:_MOST]


def _division_relations(message: str, bound_call: BoundCall) -> Iterator[IntegerRelation]:
    """That an integer is a multiple of the one by which an error says that it is divided."""
    integers, free = bound_call.integers, {text for _, text in bound_call.chosen}
    by_size = {str(size): name for name, size in integers.items()}
    for size, parts in divisions(message, by_size.keys() - free, free, by_size):
        if str(parts) in by_size:
            yield from _without_rest(integers, by_size[size], by_size[str(parts)])


def _without_rest(integers: Mapping[str, int], whole: str, part: str) -> Iterator[IntegerRelation]:
    """That one integer is a multiple of another by which the file divides it, if it is none."""
    divided, divisor = (_namesake(name, integers) for name in (whole, part))
    if divided is None or divisor is None or divided == divisor or integers[divided] % integers[divisor] == 0:
        return
    choices = ((multiple_key(divided), divisor),)
    yield IntegerRelation((), frozenset((divided, divisor)), divided, f"{whole}//{part}", choices)


def _namesake(name: str, integers: Mapping[str, int]) -> str | None:
    """The integer of a name, or the only one that is spelled like it: `heads` for `n_heads`."""
    if name in integers:
        return name
    alike = [each for each in integers if are_spelled_alike(name, each)]
    return alike[0] if len(alike) == 1 else None


def _sizes_about(relation: IntegerRelation, integers: Mapping[str, int]) -> set[str]:
    changed = [size for name, size in relation.init if name in relation.changed]
    return {str(size) for size in (*changed, *(integers[name] for name in relation.changed))}
