"""What a false claim should say: written in its own notation, and held against all that evaluation showed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import ArrayValue, Call, Claim, Edit, Evaluation, Module
from shapecheck.model.assumption import MADE_FUNCTION
from shapecheck.shapes import Spec, comment_dtype, is_variadic, parse_spec, short_dtype
from shapecheck.shapes.claim_text import ClaimText, split_annotation, split_comment
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.hold_claims import hold_claims
from shapecheck.verdicts.judge import Contradiction, Verdicts
from shapecheck.verdicts.name_axes import AxisNames, call_reader

ALIKE = "--fix leaves it: line {line} says so too, so the code may be what is wrong"
BESIDE = "--fix leaves it: what stands beside it says so too, so the code may be what is wrong"
FAILS = "--fix leaves it: line {line} does not run with everything that was tried, so the code may be what is wrong"
RAISES = "--fix leaves it: line {line} raises a shape error, so the code may be what is wrong"
TAKEN = "--fix leaves it: line {line} calls what does not take it, so the code may be what is wrong"
MADE = "--fix leaves it: {name} was made up, and another function may give other axes"
TWICE = "--fix leaves it: {name} and {other} would be one axis, so what {name} is bound to may be what is wrong"

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_DEFAULT = re.compile(r"\w\s*(?::[^=,()]*)?=\s*(\d+)(?![\w.])")


@dataclass(frozen=True)
class Repair:
    """The edit that makes a false claim true, `unsafe` in annotations; or the reason why its author has to decide."""

    edit: Edit | None = None
    unsafe: bool = False
    reason: str = ""


@dataclass(frozen=True)
class _Proposal:
    claim: Claim
    edit: Edit


def find_repairs(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    verdicts: Verdicts,
    false: Collection[ClaimKey],
    raising: Collection[tuple[str, int]] = (),
) -> dict[ClaimKey, Repair]:
    """The repairs of false claims. One is kept only if the claim then holds, and no other fails for it.

    None is made in a function where some run ended in a shape error, on one of the lines that are reported as `raising`
    or on another.
    """
    repairs: dict[ClaimKey, Repair] = {}
    proposals: dict[ClaimKey, _Proposal] = {}
    for key in sorted(false):
        module = modules[key[0]]
        claim = module.claims[key[1]]
        if claim.notation == "code" or module.sites[claim.sites[0]].kind == "param":
            continue  # it is run itself, or tells callers what to give
        reason = _doubt(modules, key, runs, verdicts, raising)
        if reason:
            repairs[key] = Repair(reason=reason)
        elif (proposal := _propose(modules, key, verdicts.bad[key])) is not None:
            proposals[key] = proposal

    def holds(key: ClaimKey, again: Verdicts) -> bool:
        """Whether a claim is verified, and each name that is new to it is bound by something else."""
        new = set(parse_spec(proposals[key].claim.spec).names())
        new -= set(parse_spec(modules[key[0]].claims[key[1]].spec).names())
        return key in again.good and new.isdisjoint(again.loose.get(key, ()))

    wanted = {key: proposal.claim for key, proposal in proposals.items()}
    for key, claim in hold_claims(modules, runs, verdicts, wanted, holds).items():
        repairs[key] = Repair(proposals[key].edit, unsafe=claim.notation == "annotation")
    return repairs


def _doubt(
    modules: Mapping[str, Module],
    key: ClaimKey,
    runs: Sequence[Sequence[Evaluation]],
    verdicts: Verdicts,
    raising: Collection[tuple[str, int]],
) -> str:
    """Why the code rather than the claim may be wrong."""
    module = modules[key[0]]
    claim = module.claims[key[1]]
    mismatch, assumptions = verdicts.bad[key].mismatch, verdicts.bad[key].evaluation.assumptions
    made = [each.subject for each in assumptions if each.kind == "value" and each.value.startswith(MADE_FUNCTION)]
    if mismatch.reason == "rank" and made:
        return MADE.format(name=made[0].rpartition(".")[2])
    own = _difference(claim, verdicts.bad[key])
    if own is not None and (names := _names_of_one_axis(claim, verdicts.bad[key])):
        return TWICE.format(name=names[0], other=names[1])
    for other, false in verdicts.bad.items():
        sibling = module.claims[other[1]] if other[0] == key[0] else claim
        if (
            sibling is claim
            or sibling.span == claim.span
            or _are_alternatives(sibling, claim)
            or sibling.scope != claim.scope
        ):
            continue
        theirs = _difference(sibling, false)
        if (own is not None and theirs is not None and own.agrees(theirs)) or _is_same(claim, sibling):
            line = sibling.span.line
            return BESIDE if line == claim.span.line else ALIKE.format(line=line)
    position = module.scopes[claim.scope].position
    for other, false in verdicts.bad.items():
        caller, callee = false.mismatch.call.caller, modules[other[0]]
        is_argument = callee.sites[callee.claims[other[1]].sites[0]].kind == "param"
        if is_argument and caller is not None and caller.path == module.path and position is not None:
            is_same = false.mismatch.value == verdicts.bad[key].mismatch.value
            if is_same and position.line <= caller.line <= position.end_line:
                return TAKEN.format(line=caller.line)
    for failure in (each.failure for run in runs for each in run):
        if failure is None or failure.kind != "shape" or failure.frame is None or position is None:
            continue
        line = failure.frame.line
        if failure.frame.path == module.path and position.line <= line <= position.end_line:
            return (RAISES if (module.path, line) in raising else FAILS).format(line=line)
    return ""


@dataclass(frozen=True)
class _LostDims:
    """The dims that are claimed and not there, and those that are there instead; of a permutation all of both."""

    lost: Counter[str]
    gained: Counter[str]

    def agrees(self, other: _LostDims) -> bool:
        """Whether both claims miss the same axis where the code has the same other one."""
        if self.is_permutation or other.is_permutation:
            return self == other
        return bool(self.lost & other.lost) and (bool(self.gained & other.gained) or self.gained == other.gained)

    @property
    def is_permutation(self) -> bool:
        """Whether the same dims are claimed in another order."""
        return any(" " in dim for dim in self.lost)


def _difference(claim: Claim, false: Contradiction) -> _LostDims | None:
    value = false.mismatch.value
    if not isinstance(value, ArrayValue):
        return None
    meant = {bound.name: bound.size for bound in false.mismatch.bound}
    claimed = [str(dim) for dim in parse_spec(claim.spec).dims if not is_variadic(dim)]
    gained, lost = Counter(value.shape), Counter(claimed)
    for dim in claimed:
        size = meant.get(dim, dim)
        if gained[size]:
            gained[size] -= 1
            lost[dim] -= 1
    # That an axis of 1 is kept or not is a slip of its own each time.
    lost, gained = (Counter({dim: n for dim, n in each.items() if n > 0 and dim != "1"}) for each in (lost, gained))
    if lost or gained:
        return _LostDims(lost, gained)
    return _LostDims(Counter([f"{' '.join(claimed)} "]), Counter([" ".join(value.shape)]))


def _names_of_one_axis(claim: Claim, false: Contradiction) -> tuple[str, str] | None:
    """A name that has the size of an axis which the claim rightly calls otherwise: `n = x.shape[0]`, `x  # (b, n)`.

    The code is likely to have taken that number off the wrong axis, and the claim to mean what it says.
    """
    value, dims = false.mismatch.value, parse_spec(claim.spec).dims
    if not isinstance(value, ArrayValue) or len(dims) != len(value.shape) or any(map(is_variadic, dims)):
        return None
    meant = {bound.name: bound.size for bound in false.mismatch.bound}
    claimed = [(str(dim), size, meant.get(str(dim))) for dim, size in zip(dims, value.shape, strict=True)]
    right = {size: name for name, size, own in claimed if own == size}
    wrong = [(name, right[own]) for name, size, own in claimed if own is not None and own != size and own in right]
    return next(((name, other) for name, other in wrong if name != other), None)


def _are_alternatives(one: Claim, other: Claim) -> bool:
    """Whether two claims say what one value may be: `(m,) or (m, k)`."""
    return one.group is not None and one.group == other.group


def _is_same(claim: Claim, other: Claim) -> bool:
    return claim.sites[:1] == other.sites[:1] and claim.select == other.select and claim.spec == other.spec


def _propose(modules: Mapping[str, Module], key: ClaimKey, false: Contradiction) -> _Proposal | None:
    module = modules[key[0]]
    claim, mismatch = module.claims[key[1]], false.mismatch
    value, span = mismatch.value, claim.span
    is_own = claim.group is None and not claim.each and "|" not in claim.part
    if mismatch.reason == "structure" or not isinstance(value, ArrayValue) or not is_own:
        return None
    if span.line != span.end_line or module.lines[span.line - 1][span.column - 1 : span.end_column - 1] != claim.text:
        return None
    spec = parse_spec(claim.spec)
    formal = claim.notation == "annotation"
    text = split_annotation(claim.text) if formal else split_comment(claim.text, len(spec.dims))
    if text is None or len(text.dims) != len(spec.dims):
        return None
    if mismatch.reason == "dtype":
        return _propose_dtype(claim, text, value.dtype)
    reader = call_reader(modules, false.evaluation, mismatch.call)
    shape = reader.samples.shape(value.shape)
    names = AxisNames(reader, false.evaluation, formal=formal)
    dims = _dims(names, spec, text, shape) if shape is not None else None
    new = text.spec_of(dims) if dims is not None else None
    if dims is None or new is None or str(new) == claim.spec or _owes_default(module, mismatch.call, dims, claim):
        return None
    written = text.with_dims(dims)
    return _Proposal(replace(claim, spec=str(new), text=written, readings=()), Edit(span, written))


def _owes_default(module: Module, call: Call, dims: Sequence[str], claim: Claim) -> bool:
    """Whether dims have a number that the claim has not, and that a parameter has by default: `2*t` for `rep=2`."""
    position = module.scopes[call.scope].position
    if position is None:
        return False
    new = {*_NUMBER.findall(" ".join(dims))} - {*_NUMBER.findall(claim.spec)}
    header = "\n".join(module.lines[position.line - 1 : position.end_line]).partition("):")[0].partition(") ->")[0]
    return not new.isdisjoint(_DEFAULT.findall(header))


def _propose_dtype(claim: Claim, text: ClaimText, observed: str) -> _Proposal | None:
    """Another dtype word of the same kind, `i32` for `f32`; an annotation's would have to be imported."""
    module, dot, word = text.before[:-1].strip().rpartition(".")
    wanted = short_dtype(observed) if word == short_dtype(claim.dtype.lower()) else observed
    new = comment_dtype(wanted)
    if (
        text.in_annotation
        or not word
        or new is None
        or comment_dtype(word) != claim.dtype
        or not claim.dtype[-1].isdigit()
    ):
        return None
    written = f"{module}{dot}{wanted}{text.before[len(text.before[:-1].rstrip()) :]}{claim.text[len(text.before) :]}"
    return _Proposal(replace(claim, dtype=new, text=written), Edit(claim.span, written))


def _dims(names: AxisNames, spec: Spec, text: ClaimText, shape: Sequence[tuple[int, ...]]) -> list[str] | None:
    """The dims for a shape; variadic ones stay, and stand for what the others leave over."""
    places = [index for index, dim in enumerate(spec.dims) if is_variadic(dim)]
    if not places:
        return names.dims_of(spec, text.dims, shape)
    first, behind = places[0], len(spec.dims) - places[-1] - 1
    if len(places) > 1 or len(shape) < len(spec.dims) - 1:
        return None
    split = len(shape) - behind
    front = names.dims_of(Spec(spec.dims[:first]), text.dims[:first], shape[:first])
    back = names.dims_of(Spec(spec.dims[first + 1 :]), text.dims[first + 1 :], shape[split:])
    return [*front, text.dims[first], *back] if front is not None and back is not None else None
