"""What explains that two sizes of a run are equal: that is written, or follows from what code calls and claims name."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator

from shapecheck.evaluate.inputs.facts.namesakes import may_be_one_dim
from shapecheck.evaluate.inputs.trials.size_assignment import STACKED, known_size
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec, CallSignature, Tie, equal_through_open, explain_tie
from shapecheck.evaluate.inputs.trials.trial import BoundCall, TrialOutcome
from shapecheck.evaluate.probes.recorder import ClaimedShapes
from shapecheck.evaluate.search.suggest_ties import contracts_with_own, counts_true, meets_count
from shapecheck.evaluate.search.unfit_sizes import contracts
from shapecheck.model import ArrayValue, Assumption, FunctionKey
from shapecheck.shapes import NamedDim, parse_spec
from shapecheck.shapes.expressions import names

_NUMBER = re.compile(r"\d+")
_QUOTIENT = re.compile(r"(?P<of>[^\W\d]\w*)//(?P<by>[^\W\d]\w*)")


class TieExplanations:
    """Explains the ties of one entry's runs, of a function with this `signature` in this `scope`.

    A search notes the ties that it has seen to be so: `met` are sizes of arrays that instances hold, with which axes
    are contracted; `related` are as functions that are called say of their arguments; `demanded` are as a check in the
    code demands of its arguments; `contracted` are with axes in front, as of `...`, over which the code sums, so that
    these are none of a batch; `apart` are of sizes that a claim of what was computed has two names for; `columns` are
    names of last axes, by which integers code flattens these.
    """

    def __init__(
        self,
        signature: CallSignature,
        claimed_shapes: ClaimedShapes,
        claimed_fields: ClaimedShapes,
        scope: FunctionKey | None = None,
    ) -> None:
        self._signature, self._scope = signature, scope
        self._claimed_shapes, self._claimed_fields = claimed_shapes, claimed_fields
        self.met: set[Tie] = set()
        self.related: set[Tie] = set()
        self.demanded: set[Tie] = set()
        self.contracted: set[Tie] = set()
        self.apart: set[Tie] = set()
        self.columns: dict[str, tuple[str, ...]] = {}

    def is_explained(self, tie: Tie, outcome: TrialOutcome) -> bool:
        """Whether something that is written says that the two have one size."""
        signature = self._signature
        if signature.is_variadic_axis(tie[0]) and tie[1].isdigit() and contracts(outcome):
            self.contracted.add(tie)
            return False
        if self._has_two_names(tie, outcome):
            self.apart.add(tie)
            return False
        if (
            (contracts_with_own(tie, outcome, signature) and not self._is_called_otherwise(tie, outcome))
            or meets_count(tie, outcome, signature)
            or counts_true(tie, outcome)
            or self._is_named_so(tie, outcome)
        ):
            self.met.add(tie)
        of_one = any({*tie} <= {*parse_spec(array.spec).names()} for array in signature.arrays)
        if not of_one and _is_demanded(tie, outcome):  # two axes of one array are told apart by what it is said to be
            self.demanded.add(tie)
        return self.explain(tie, outcome).provenance != "invented"

    def explain(self, tie: Tie, outcome: TrialOutcome) -> Assumption:
        """The assumption that a tie of a run is, with what explains it.

        If nothing does, and another name that a claim tells apart has the same number, it is that one.
        """
        found, (name, text) = self._explain(tie, outcome), tie
        if found.provenance == "invented" and text.isdigit() and outcome.ok:
            equal = (each for each, other in outcome.trial.substitution.ties if other == text)
            apart = next((each for each in equal if self._signature.distinguishes(name, each)), found.value)
            return dataclasses.replace(found, value=apart)
        return found

    def _explain(self, tie: Tie, outcome: TrialOutcome) -> Assumption:
        if outcome.bound_call is None:
            return Assumption("tie", *tie, "invented")
        name, text = tie
        if tie in self.contracted or tie in self.apart:
            named = outcome.bound_call.sizes().names_of(int(text)) if text.isdigit() else []
            return Assumption("tie", name, named[0] if named else text, "invented")
        if tie in self.related or tie in self.demanded:
            named = outcome.bound_call.sizes().names_of(int(text)) if text.isdigit() else []
            return Assumption("tie", name, named[0] if named else text, "written")
        if tie in self.met or STACKED in tie:  # several records are as many as what goes along with them
            return Assumption("tie", *tie, "alias")
        if _counts_blocks(text, outcome) and not self._signature.distinguishes(name, text.partition("//")[0]):
            return Assumption("tie", *tie, "written")
        columns = self.columns.get(name, ())
        sizes_of_columns = [outcome.bound_call.integers.get(each, 0) for each in columns]
        if columns and text == str(math.prod(sizes_of_columns)):
            return Assumption("tie", name, "*".join(columns), "alias")
        sizes = outcome.bound_call.sizes()
        if outcome.ok and self.is_denied_by_results(outcome):
            named = sizes.names_of(int(text)) if text.isdigit() else []
            return Assumption("tie", name, named[0] if named else text, "invented")
        if text.isdigit() and (other := _other_axis(name, int(text), outcome.bound_call)):
            return Assumption("tie", name, other, "invented")
        if text.isdigit() and _was_alone(name, int(text), outcome.bound_call) and not sizes.names_of(int(text)):
            return Assumption("tie", *tie, "alias")  # the instance was made for that size
        signature = self._signature
        specs = outcome.bound_call.inner_specs
        said = (spec for spec in specs if not all(map(signature.is_made, parse_spec(spec).names())))
        inner = (ArgumentSpec("", spec, inside=True) for spec in said)
        signature = dataclasses.replace(signature, arrays=(*signature.arrays, *inner))
        number = dict(outcome.trial.substitution.ties).get(text, "")
        if number.isdigit():  # a name that has the size of the model's own axis: it is that axis that both follow
            to_number = explain_tie((name, number), signature, sizes)
            if to_number.provenance != "invented":
                return to_number
        alike = (each for each, other in outcome.trial.substitution.ties if other == text and text.isidentifier())
        if any(signature.distinguishes(name, each) for each in alike):
            return Assumption("tie", *tie, "invented")  # both are that size, and a claim tells the two apart
        for equal in equal_through_open(tie, outcome.trial.substitution.ties, signature):
            both = explain_tie(equal, signature, sizes)
            if both.provenance == "invented":
                return both
        found = explain_tie(tie, signature, sizes)
        if found.provenance == "alias" and found.value in outcome.bound_call.arguments:
            claimed = self._names_of_size(outcome, str(outcome.bound_call.integers[found.value]))
            if any(not may_be_one_dim(name, other) for other in claimed - {name}):
                return dataclasses.replace(found, provenance="invented")  # claims have another name for the integer
        return found

    def _is_named_so(self, tie: Tie, outcome: TrialOutcome) -> bool:
        """Whether some claim calls an axis of the model's own as one of an argument: so the two have one size.

        It has the size of one of the model's integers, and no axis beside it is of an argument. What a mistake makes of
        arguments may be called so, too.
        """
        name, text = tie
        if not text.isdigit() or outcome.bound_call is None:
            return False
        named = outcome.bound_call.sizes().names_of(int(text))
        own = [each for each in named if each not in outcome.bound_call.arguments]
        return bool(own) and name in self._names_of_size(outcome, text, apart=True)

    def _is_called_otherwise(self, tie: Tie, outcome: TrialOutcome) -> bool:
        """Whether claims of fields have other names for the axes of this size, whose arrays were made in the run.

        So does Flax's `setup`; what an instance holds from its construction on is known before.
        """
        name, size = tie
        named: set[str] = set()
        for call in outcome.calls:
            for each in call.observations:
                claimed = self._claimed_fields.get((call.path, each.site))
                shape = each.value.shape if isinstance(each.value, ArrayValue) else ()
                dims = parse_spec(claimed.spec).dims if claimed is not None else ()
                pairs = zip(dims, shape, strict=True) if len(dims) == len(shape) else ()
                named.update(dim.name for dim, axis in pairs if isinstance(dim, NamedDim) and axis == size)
        return bool(named) and not any(may_be_one_dim(name, each) for each in named)

    def is_denied_by_results(self, found: TrialOutcome) -> bool:
        """Whether a claim of what was computed has another name beside that of a tied axis, for an axis as long.

        Of `x: "d"`, tied to the `steps` of the model, it is wrong if the result is claimed to be `"d n"` and both are
        as many. Names that something else gives a size, as integers do, are other numbers by themselves.
        """
        bound_call, ties = found.bound_call, dict(found.trial.substitution.ties)
        if bound_call is None or not ties:
            return False
        chosen = dict(bound_call.chosen)
        tied = {name: text if text.isdigit() else chosen.get(text, "") for name, text in ties.items()}
        known = {name.rpartition(".")[2] for name in (*bound_call.integers, *bound_call.held, *ties)}
        known |= {name for name, _ in (*bound_call.chosen, *bound_call.fields, *bound_call.shared)}
        known = {name for name in known if not self._signature.is_nobodys(name)}
        known |= {each.removeprefix("*") for each in self._signature.variadics()}
        for observed, claimed in self._claimed_values(found, inside=True):
            pairs = zip(parse_spec(claimed).dims, observed, strict=True)
            named = [(dim.name, axis) for dim, axis in pairs if isinstance(dim, NamedDim)]
            for (name, axis), (other, length) in itertools.permutations(named, 2):
                is_tied = axis == length == tied.get(name)
                if is_tied and other not in known and not may_be_one_dim(name, other):
                    return True
        return False

    def _has_two_names(self, tie: Tie, outcome: TrialOutcome) -> bool:
        """Whether a claim of what was computed, here or in what is called, has two names for the sizes of a tie.

        Of `"head seq dim"` that is (8, 68, 6) seq is not the number of heads, whatever it is called outside.
        """
        if outcome.bound_call is None or tie[1].isidentifier():
            return False
        size = dict(outcome.bound_call.chosen).get(tie[0], "")
        sizes = outcome.bound_call.sizes().by_name()
        number = tie[1] if tie[1].isdigit() else str(known_size(parse_spec(f"({tie[1]})").dims[0], sizes))
        if not (size.isdigit() and number.isdigit()) or size == number:
            return False
        for observed, claimed in self._claimed_values(outcome, inside=True):
            pairs = zip(parse_spec(claimed).dims, observed, strict=True)
            named = {axis: dim.name for dim, axis in pairs if isinstance(dim, NamedDim)}
            if size in named and number in named and not may_be_one_dim(named[size], named[number]):
                return True
        return False

    def _claimed_values(self, outcome: TrialOutcome, *, inside: bool = False) -> Iterator[tuple[tuple[str, ...], str]]:
        """The shapes of arrays in the evaluated function, and what claims of as many axes say of them.

        Also `inside` of what it calls of its file, whose claims may have the same name for a size that it hands on.
        """
        path = self._scope[0] if self._scope is not None and inside else ""
        for call in outcome.calls:
            for each in call.observations if (call.path, call.scope) == self._scope or call.path == path else ():
                claimed = self._claimed_shapes.get((call.path, each.site))
                shape = each.value.shape if isinstance(each.value, ArrayValue) else ()
                if claimed is not None and len(parse_spec(claimed.spec).dims) == len(shape):
                    yield shape, claimed.spec

    def _names_of_size(self, outcome: TrialOutcome, size: str, *, apart: bool = False) -> set[str]:
        """What claims of the evaluated function call the axes that have this size in a run.

        Only of what is `apart` from the arguments: no axis of it has the size of one of theirs.
        """
        free = {text for _, text in outcome.bound_call.chosen} if apart and outcome.bound_call is not None else set()
        found: set[str] = set()
        for shape, claimed in self._claimed_values(outcome):
            if free.isdisjoint(shape):
                pairs = zip(parse_spec(claimed).dims, shape, strict=True)
                found.update(dim.name for dim, axis in pairs if isinstance(dim, NamedDim) and axis == size)
        return found


def _is_demanded(tie: Tie, outcome: TrialOutcome) -> bool:
    """Whether a check of the arguments, which the code makes itself, has refused the two sizes since they differ.

    One that writes a number, `x.shape == (3, 3)`, takes less than is said of its argument.
    """
    bound_call, refused = outcome.bound_call, outcome.refused
    (name, text) = tie
    if bound_call is None or refused is None or not refused.given or text in _NUMBER.findall(refused.condition):
        return False
    sizes = bound_call.sizes().by_name()
    size = int(text) if text.isdigit() else known_size(parse_spec(f"({text})").dims[0], sizes)
    before = sizes.get(name)
    if before is None or not isinstance(size, int):
        return False
    # Of what follows from the name, as `n*width` does, it is the product that was refused.
    follow = [number for number, dim in bound_call.computed.items() if name in names(dim.expression)]
    tied = {before: size, **{number: number // before * size for number in follow if number % before == 0}}
    pairs = itertools.chain(*((pair, pair[::-1]) for pair in refused.unequal()))
    return any(wanted == tied.get(number) for number, wanted in pairs)


def _other_axis(name: str, size: int, bound_call: BoundCall) -> str:
    """The axis of the class's own arrays that has this size, where one called `name` has another; "" if none has."""
    held = bound_call.held
    if held.get(name, size) == size:
        return ""
    return next((each for each, other in held.items() if other == size), "")


def _was_alone(name: str, size: int, bound_call: BoundCall) -> bool:
    """Whether a name had a size when a method was seen, and no other name had it."""
    return [each for each, other in bound_call.apart.before.items() if other == size] == [name]


def _counts_blocks(text: str, outcome: TrialOutcome) -> bool:
    """Whether a size is the number of blocks of an axis that the code splits evenly: `cols//group_size`."""
    found = _QUOTIENT.fullmatch(text)
    if found is None or outcome.bound_call is None:
        return False
    parts = outcome.bound_call.integers.get(found["by"])
    return parts is not None and dict(outcome.trial.multiples).get(found["of"], 0) % parts == 0 < parts
