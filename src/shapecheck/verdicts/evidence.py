"""Evaluations as evidence against a claim: which of them count, and on what made-up arguments that rests.

What they show may owe nothing to an invention: `without_harmless` leaves such out, before `proves` weighs the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import SNIPPET, ArrayValue, Assumption, Claim, Evaluation, Module
from shapecheck.model.assumption import NUMBER, OF_VALUES, without_numbers
from shapecheck.shapes import FixedDim, Spec, parse_spec
from shapecheck.verdicts.claim_outcome import Mismatch, size_at_fault
from shapecheck.verdicts.evaluation_results import ClaimKey, Result, ends_at_claim, is_invented_call
from shapecheck.verdicts.parameter_dependencies import without_unused

_GIVEN = ("test", "example", "config", "script", "run", SNIPPET)  # origins of arguments that the user wrote
_NAME = re.compile(r"[^\W\d]\w*")
_PARTICULAR = ("tie", "size", "rank")  # assumptions under which a claim was not seen for all sizes


@dataclass(frozen=True, eq=False)
class EvaluationView:
    """What one evaluation shows of the claims."""

    evaluation: Evaluation
    results: Mapping[ClaimKey, Result]

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What it rests on."""
        return self.evaluation.assumptions

    def everywhere(self) -> bool:
        """Whether it is for all sizes: with symbols, none of which had to be a number or another."""
        is_whole = self.evaluation.mode == "symbolic" and self.evaluation.status == "ok"
        return is_whole and not any(each.kind in _PARTICULAR for each in self.assumptions)

    def is_free(self, group: Sequence[EvaluationView]) -> bool:
        """Whether it went to its end with numbers, and with no more ties than others needed."""
        is_whole = self.evaluation.mode == "sized" and self.evaluation.status == "ok"
        is_another_case = any(each.kind == "value" and each.provenance == "given" for each in self.assumptions)
        return is_whole and not is_another_case and self.ties() == min(each.ties() for each in group)

    def ties(self) -> int:
        """How many dims were tied."""
        return sum(each.kind == "tie" for each in self.assumptions)


def select_counting(
    modules: Mapping[str, Module], every: Sequence[EvaluationView]
) -> tuple[list[EvaluationView], list[Evaluation]]:
    """Those that count, where some ran only under a tie that nothing explains: the others, which failed without it.

    But a relation with a factor (`d = 2*half`) is explained if a claim holds only with it: the claim writes it. Second
    come the evaluations whose failure that explains.
    """
    tied = [each for each in every if any(a.kind == "tie" and a.provenance == "invented" for a in each.assumptions)]
    if not tied:
        return list(every), []
    untied = [each for each in every if each not in tied]
    failed = [each for each in untied if each.evaluation.failure is not None and each.evaluation.failure.requires]
    if failed and any(_writes_relation(modules, each, failed) for each in tied):
        return [_as_written(each) for each in tied], [each.evaluation for each in failed]
    return untied, []


def only_if(assumptions: Sequence[Assumption]) -> str:
    """Why what was seen under these counts for nothing: nobody says that two sizes are equal, and it needs that."""
    ties = (f"{a.subject} = {a.value}" for a in assumptions if a.kind == "tie" and a.provenance == "invented")
    return f"the code runs only if {' and '.join(ties)}, which nothing says"


def _writes_relation(modules: Mapping[str, Module], tied: EvaluationView, failed: Sequence[EvaluationView]) -> bool:
    """Whether a claim holds only with the relations, and none has both sides of one, or the names of both.

    `(time, 2*series)` are two axes, and so are the n and the bins of `(n, bins)`.
    """
    relations = [a for a in tied.assumptions if a.kind == "tie" and a.provenance == "invented"]
    if any(a.value.isalnum() or a.value.isidentifier() for a in relations):
        return False
    for path, index in tied.results:
        dims = {str(dim) for dim in parse_spec(modules[path].claims[index].spec).dims}
        if any({a.subject, a.value} <= dims or {a.subject, *_NAME.findall(a.value)} <= dims for a in relations):
            return False
    holds = (key for key, result in tied.results.items() if result.good)
    return any((r := each.results.get(key)) is not None and r.bad is not None for key in holds for each in failed)


def _as_written(seen: EvaluationView) -> EvaluationView:
    """The same, with its relations as the claims write them."""
    written = tuple(
        replace(a, provenance="written") if a.kind == "tie" and a.provenance == "invented" else a
        for a in seen.assumptions
    )
    return EvaluationView(replace(seen.evaluation, assumptions=written), seen.results)


def counts(modules: Mapping[str, Module], key: ClaimKey, each: EvaluationView) -> bool:
    """Whether a claim that an evaluation contradicts is contradicted. Sizes which do not even evaluate prove nothing.

    But whatever the sizes are, the number of axes is the same, unless that was chosen as well.
    """
    evaluation, mismatch = each.evaluation, each.results[key].bad
    if mismatch is not None and _follows_values(each, mismatch):
        return False
    if evaluation.status == "ok":
        return True
    if mismatch is not None and mismatch.reason == "rank" and not _has_variadics(modules, each):
        return True
    module = modules[key[0]]
    if ends_at_claim(module, module.claims[key[1]], evaluation):
        return True
    if mismatch is not None and _is_of_ended_call(module, key, each, mismatch):
        return True
    # A failure of kind "shape" is one that is reported itself.
    is_known = evaluation.failure is not None and evaluation.failure.kind in ("value", "shape")
    return is_known or evaluation.origin in _GIVEN


def _is_of_ended_call(module: Module, key: ClaimKey, each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether an annotated result of a call inside of the code is false, whose arguments are all as annotated.

    It went to its end with these, whatever came of what it gave: a library that calls it back may refuse that.
    """
    claim, call = module.claims[key[1]], mismatch.call
    if claim.notation != "annotation" or call.caller is None or not call.complete:
        return False
    if module.sites[claim.sites[0]].kind != "return":
        return False
    beside = [index for index, other in enumerate(module.claims) if other.scope == claim.scope and index != key[1]]
    params = [index for index in beside if module.sites[module.claims[index].sites[0]].kind == "param"]
    results = [each.results.get((key[0], index)) for index in params]
    are_good = all(result is not None and result.good and result.bad is None for result in results)
    named = {name for index in params for name in parse_spec(module.claims[index].spec).names()}
    return bool(params) and are_good and {*parse_spec(claim.spec).names()} <= named


def _follows_values(each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether a size may be what made-up values are counted to, as by `np.unique`: it is none that was given."""
    if mismatch.reason != "dim" or not any(a.subject == OF_VALUES for a in each.assumptions):
        return False
    given = {"1", *(text for pair in each.evaluation.sizes for text in pair), *(b.size for b in mismatch.bound)}
    return size_at_fault(mismatch) not in given


def _has_variadics(modules: Mapping[str, Module], each: EvaluationView) -> bool:
    """Whether arguments or fields that an evaluation saw leave open how many axes they have: `(..., d)`."""
    seen = ((modules[path], modules[path].claims[index]) for path, index in each.results)
    given = (claim for module, claim in seen if module.sites[claim.sites[0]].kind in ("param", "field"))
    return any(parse_spec(claim.spec).rank() is None for claim in given)


def without_harmless(module: Module, claim: Claim, each: EvaluationView, mismatch: Mismatch) -> Sequence[Assumption]:
    """What an evaluation rests on that may bring about what does not fit.

    The number of axes owes nothing to sizes that were made up, nor does one of the call's own, for which its claims or
    its integers have a name, nor a number that is the same whatever sizes arrays have.
    """
    spec = parse_spec(claim.spec)
    owes_none = _owes_no_number(each, mismatch, spec)
    found: Sequence[Assumption] = without_numbers(each.assumptions) if owes_none else each.assumptions
    if _is_other_number(each, mismatch, spec) and not is_made_itself(module, claim, each):
        found = [a for a in found if a.kind != "sizes"]
    if mismatch.reason == "rank" or _is_of_named_sizes(each, mismatch):
        found = [a for a in found if a.kind != "size"]
    if each.evaluation.origin in ("function", "model") and mismatch.call.caller is None:
        known = [
            module.claims[index]
            for (path, index), result in each.results.items()
            if path == module.path and result.good and result.bad is None and not result.loose
        ]
        found = without_unused(found, module, claim, [bound.source for bound in mismatch.bound], known)
    return found


def _is_of_named_sizes(each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether the size that does not fit, and all that its names mean, are those of the call and of nothing made up."""
    made = {a.value for a in each.assumptions if a.kind == "size"}
    named = {text for pair in each.evaluation.sizes for text in pair}
    bound = {each.size for each in mismatch.bound}
    at_fault = size_at_fault(mismatch)
    return mismatch.reason == "dim" and at_fault in named | bound and not ({at_fault} | bound) & made


def _is_other_number(each: EvaluationView, mismatch: Mismatch, spec: Spec) -> bool:
    """Whether a claim has a number where the code has another for all sizes: a run with symbols comes to it."""
    axis, at_fault = mismatch.axis, size_at_fault(mismatch)
    if each.evaluation.mode != "symbolic" or mismatch.reason != "dim" or axis is None or spec.rank() is None:
        return False
    return isinstance(spec.dims[axis], FixedDim) and at_fault.isdigit()


def is_made_itself(module: Module, claim: Claim, each: EvaluationView) -> bool:
    """Whether a claim is about a field or an argument that was made up with any sizes."""
    site = module.sites[claim.sites[0]]
    made = {a.subject.rpartition(".")[2] for a in each.assumptions if a.kind == "sizes" and a.provenance == "invented"}
    return site.kind in ("field", "param") and site.name in made


def _owes_no_number(each: EvaluationView, mismatch: Mismatch, spec: Spec) -> bool:
    """Whether what does not fit cannot be due to a made-up number, which may be an array.

    An array in its place broadcasts: it may bring further axes, and may stretch one of size 1. Nor is it the size that
    a dim of its name has.
    """
    numbers = {a.subject for a in each.assumptions if (a.kind, a.value) == ("rank", NUMBER)}
    if any(bound.source in numbers for bound in mismatch.bound):
        return False
    value, axis, rank = mismatch.value, mismatch.axis, spec.rank()
    if not isinstance(value, ArrayValue):
        return False
    if mismatch.reason == "rank":
        return rank is not None and len(value.shape) > rank
    return mismatch.reason == "dim" and axis is not None and axis < len(value.shape) and value.shape[axis] != "1"


def annotation_beside(module: Module, claim: Claim, evaluation: Evaluation, mismatch: Mismatch) -> Claim | None:
    """The annotation that a comment or docstring contradicts: the argument was made as the annotation has it."""
    site = claim.sites[0]
    made = mismatch.call.caller is None and is_invented_call(evaluation)
    if not made or claim.notation == "annotation" or module.sites[site].kind != "param":
        return None
    beside = (c for c in module.claims if c.notation == "annotation" and c.sites[:1] == (site,))
    return next(beside, None)
