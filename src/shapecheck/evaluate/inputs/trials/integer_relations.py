"""Integers of a constructor that follow from others, as its file writes it: `d_k = d_model // n_heads`.

Each is made up apart, so that a mix-up of two shows. What fits only where they have the relation that the file gives
them is no mistake of the code, which leaves it to whoever calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.evaluate.inputs.facts.namesakes import are_spelled_alike
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import WrittenRelation
from shapecheck.model import Assumption

_NUMBER = re.compile(r"\d+")
_QUOTIENT = re.compile(r"([^\W\d]\w*)//?([^\W\d]\w*)")
_NAME = re.compile(r"[^\W\d]\w*")
_MOST = 4


@dataclass(frozen=True)
class IntegerRelation:
    """Integers that a constructor is given so that they have a relation, `name = text`, which is written.

    Some of them, the `changed` ones, had other sizes.
    """

    init: tuple[tuple[str, int], ...]
    changed: frozenset[str]
    name: str
    text: str

    def assumption(self) -> Assumption:
        """What is assumed of the constructor's integers."""
        return Assumption("tie", self.name, self.text, "written")


def integer_relations(integers: Mapping[str, int], relations: Sequence[WrittenRelation]) -> Iterator[IntegerRelation]:
    """The written relations that integers do not have, with those that have them."""
    for relation in relations:
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
    return [each for each in found if words & _sizes_about(each, integers)][:_MOST]


def _namesake(name: str, integers: Mapping[str, int]) -> str | None:
    """The integer of a name, or the only one that is spelled like it: `heads` for `n_heads`."""
    if name in integers:
        return name
    alike = [each for each in integers if are_spelled_alike(name, each)]
    return alike[0] if len(alike) == 1 else None


def _sizes_about(relation: IntegerRelation, integers: Mapping[str, int]) -> set[str]:
    changed = ((integers[name], size) for name, size in relation.init if name in relation.changed)
    return {str(size) for sizes in changed for size in sizes}
