"""Arguments of which nothing is said, and of which the code tells what they are: records, and settings."""

from __future__ import annotations

import collections.abc
import contextlib
import typing
from collections.abc import Callable
from typing import Any

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.attribute_reads import attribute_reads
from shapecheck.evaluate.inputs.facts.record_classes import record_classes
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    holds_attributes,
    own_annotations,
)
from shapecheck.evaluate.inputs.facts.written_tables import UNKNOWN
from shapecheck.evaluate.inputs.project.call_sites import CallSites
from shapecheck.evaluate.inputs.project.factories import factories_of
from shapecheck.evaluate.inputs.synthesis.made_integers import AS_CALLED, DEFAULTS_KEPT
from shapecheck.evaluate.inputs.synthesis.made_settings import are_real_numbers, made_settings, text_of_integers
from shapecheck.evaluate.inputs.synthesis.synthesise_instances import InstanceSynthesis
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, ValueSynthesis


class RecognisedArguments:
    """Makes them; `known` tells of each what it was taken for."""

    def __init__(self, values: ValueSynthesis, instances: InstanceSynthesis, call_sites: CallSites) -> None:
        self._values, self._instances, self._integers = values, instances, values.integers
        self._call_sites = call_sites
        self.known: dict[str, str] = {}

    def as_record(self, function: Callable[..., object], name: str) -> object:
        """An instance of the one record that has what the code reads off the parameter, or MISSING."""
        if isinstance(function, type) and factories_of(function):
            return MISSING  # who writes one knows better what such an object is made of
        for cls in record_classes(function, name):
            with contextlib.suppress(CannotSynthesiseError):
                made = self._instances.instance(cls, name, self._tables_in(cls, function, name))
                self.known[name] = f"one {cls.__name__}, which has all that is read off it"
                return made
        return MISSING

    def _tables_in(self, cls: type, function: Callable[..., object], name: str) -> dict[str, object]:
        """The fields of a record that are dicts of which nothing is said, with numbers under the keys that are read."""
        found: dict[str, object] = {}
        for field, keys in attribute_reads(function, name).items():
            annotation = annotation_of(cls, field, own_annotations(cls).get(field, MISSING))
            if not keys or not (annotation is dict or typing.get_origin(annotation) in (dict, collections.abc.Mapping)):
                continue
            found[field] = {key: self._values.number(key) for key in keys}
        return found

    def as_settings(self, function: Callable[..., object], name: str, annotation: object) -> object:
        """Settings with what the code reads off them, or MISSING if it reads nothing or they are of some class."""
        if not (annotation in (MISSING, Any, dict) or holds_attributes(annotation)):
            return MISSING
        reads = attribute_reads(function, name) if name_hints.is_settings(name) else {}
        if not reads:
            return MISSING
        table = self._call_sites.table(reads)
        if annotation is dict and not table:  # of which nobody says that its keys are settings
            return MISSING
        made = made_settings(
            reads,
            table,
            self._written_size,
            self._setting_by_name,
        )
        if not reads.keys() <= made.keys():  # arrays, perhaps: nobody knows what to make
            return MISSING
        if table:
            self.known[name] = "settings as the project writes them"
        elif not are_real_numbers(made):  # no shape follows from a step or a rate
            self._values.invent("value", name, f"made-up settings{text_of_integers(made)}")
        return made

    def _written_size(self, name: str, size: int) -> int:
        """An integer of written settings: as a default, it is kept only in some constructions."""
        if self._integers.variant in (DEFAULTS_KEPT, AS_CALLED) or not name_hints.may_replace(name):
            return size
        self._integers.defaults_replaced = True
        return self._integers.choose(name)

    def _setting_by_name(self, name: str) -> object:
        """A setting of which nothing is written: by its name; UNKNOWN if that does not tell."""
        try:
            return self._values.value(MISSING, name, constructing=True)
        except CannotSynthesiseError:
            return name_hints.number(name) if name_hints.is_scalar(name) else UNKNOWN
