"""Verdicts -> the findings and counts of the whole run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import (
    OWN_CHECK,
    PRINTING,
    AssumedClaim,
    Claim,
    Evaluation,
    Failure,
    Finding,
    Frame,
    How,
    Module,
    Problem,
    Summary,
    UnreachedClaim,
    VerifiedClaim,
    proves,
    weakest,
)
from shapecheck.rules import RULES
from shapecheck.shapes import parse_spec
from shapecheck.verdicts.claim_repairs import Repair, find_repairs
from shapecheck.verdicts.debug_findings import debug_findings, is_about_order, is_unfit_print
from shapecheck.verdicts.evaluation_results import ClaimKey, ends_at_claim
from shapecheck.verdicts.judge import Contradiction, Verdicts
from shapecheck.verdicts.messages import failure_finding, line_span, mismatch_finding
from shapecheck.verdicts.unreached import Reasons

_NAMES = re.compile(r"[^\W\d]\w*")
_DIGITS = re.compile(r"\d+")  # sizes in reasons, which differ from call to call


def near_misses(module: Module) -> list[Finding]:
    """The slips of the pen that reading the file has shown."""
    rule = RULES["SC103"]
    found = []
    for each in module.near_names:
        claim = module.claims[each.claim]
        message = rule.message.format(name=each.name, nearest=each.nearest)
        found.append(
            Finding(
                code=rule.code,
                severity=rule.severity,
                path=module.path,
                span=claim.span,
                message=message,
                claimed=claim.text,
            )
        )
    return found


def reportable(modules: Mapping[str, Module], verdicts: Verdicts, strict: bool) -> set[ClaimKey]:
    """The claims that may be reported: sure ones, and comments with a name that evaluation knows for a dim.

    That is a name which a verified comment uses as a dim, or which is an integer where the comment stands. Numbers
    alone may be those of an example, unless the value has numbers of its own whatever sizes are given.
    """
    sure: set[ClaimKey] = set()
    for path, module in modules.items():
        known: set[str] = set()
        for index, claim in enumerate(module.claims):
            if (path, index) in verdicts.good and (claim.sure or len(parse_spec(claim.spec).dims) > 1):
                known.update(n for n in parse_spec(claim.spec).names())
        for index, claim in enumerate(module.claims):
            names, key = set(parse_spec(claim.spec).names()), (path, index)
            is_known = not claim.loose and (known & names or _of_integers(verdicts, key))
            if strict or claim.sure or is_known or (claim.exact and _is_constant(verdicts, key)):
                sure.add(key)
    return sure


def _is_constant(verdicts: Verdicts, key: ClaimKey) -> bool:
    """Whether a false list of numbers stands behind a value of other numbers, which the code gives it alone."""
    false = verdicts.bad.get(key)
    return false is not None and false.mismatch.reason == "dim" and false.constant


def _of_integers(verdicts: Verdicts, key: ClaimKey) -> bool:
    """Whether a false comment has the value's rank, and a name that is an integer where it stands."""
    false = verdicts.bad.get(key)
    if false is None or false.mismatch.reason != "dim":
        return False
    return any(b.line is None for b in false.mismatch.bound)


def findings(
    modules: Mapping[str, Module], runs: Sequence[Sequence[Evaluation]], verdicts: Verdicts, sure: set[ClaimKey]
) -> list[Finding]:
    """What is wrong: false claims, malformed ones, near misses, shape errors that JAX raised, and calls to debug."""
    found: list[Finding] = []
    structures: set[tuple[str, int, str, str]] = set()
    errors = _shape_errors(modules, runs_for_claims(runs), verdicts, sure)
    raising = {(each.path, each.span.line) for each in errors}
    repairs = find_repairs(modules, runs_for_claims(runs), verdicts, sure & verdicts.bad.keys(), raising)
    for (path, index), false in sorted(verdicts.bad.items(), key=lambda item: item[0]):
        claim = modules[path].claims[index]
        place = (path, claim.sites[0], false.mismatch.way, false.mismatch.wanted)
        if place in structures:  # a tuple of another length is one mistake, not one for each of its parts
            continue
        if (path, index) in sure and not _is_reported_elsewhere(claim, index, modules[path], verdicts, sure):
            if false.mismatch.wanted:
                structures.add(place)
            if _repeated_by(claim, "annotation", verdicts, sure, modules[path]):
                continue
            finding = mismatch_finding(modules[path], claim, false)
            for other in _repeated_by(claim, "docstring", verdicts, sure, modules[path]):
                said = f"the docstring says the same on line {other.span.line}"
                finding = replace(finding, details=(*finding.details, said))
            found.append(_with_repair(finding, repairs.get((path, index), Repair())))
    for module in modules.values():
        found += [_problem(module, problem) for problem in module.problems if problem.code]
        found += near_misses(module)
    found += errors
    found += debug_findings(modules, runs)
    return found


def _repeated_by(
    claim: Claim, notation: str, verdicts: Verdicts, sure: Container[ClaimKey], module: Module
) -> list[Claim]:
    """The claims in another notation that say just the same of one value, and are as false: one mistake, said once."""
    if {claim.notation, notation} != {"annotation", "docstring"}:
        return []
    others = ((i, each) for i, each in enumerate(module.claims) if each.notation == notation)
    return [
        each
        for i, each in others
        if each.sites[:1] == claim.sites[:1]
        and (each.spec, each.dtype, each.select) == (claim.spec, claim.dtype, claim.select)
        and (claim.path, i) in sure
        and (claim.path, i) in verdicts.bad
    ]


def _with_repair(finding: Finding, repair: Repair) -> Finding:
    if repair.edit is not None:
        return replace(finding, fix=(repair.edit,), unsafe_fix=repair.unsafe)
    return replace(finding, details=(*finding.details, repair.reason)) if repair.reason else finding


def runs_for_claims(runs: Sequence[Sequence[Evaluation]]) -> list[Sequence[Evaluation]]:
    """The runs that may show something of claims: not those for what is printed, whose arguments are a guess."""
    return [run for run in runs if not any(evaluation.origin == PRINTING for evaluation in run)]


def _is_reported_elsewhere(claim: Claim, index: int, module: Module, verdicts: Verdicts, sure: set[ClaimKey]) -> bool:
    """Whether a union that nothing fits is told elsewhere: at the member whose shape is right, else at the first."""
    if claim.group is None:
        return False
    members = [i for i, each in enumerate(module.claims) if each.group == claim.group and (claim.path, i) in sure]
    false = [i for i in members if (claim.path, i) in verdicts.bad]
    closest = (i for i in false if verdicts.bad[claim.path, i].mismatch.reason == "dtype")
    return index != next(closest, false[0])


def _problem(module: Module, problem: Problem) -> Finding:
    severity = "note" if problem.may_matter else RULES[problem.code].severity
    return Finding(code=problem.code, severity=severity, path=module.path, span=problem.span, message=problem.message)


def _shape_errors(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    verdicts: Verdicts,
    sure: set[ClaimKey],
) -> list[Finding]:
    """SC301 and SC305. Where the code needs a tie of a free dim and a claim on the way is false, that is the cause."""
    found: dict[tuple[str, int], Finding] = {}
    blamed = {key: false for key, false in verdicts.bad.items() if key in sure}
    for run in runs:
        failed = [each for each in run if _is_shape_error(each) and not any(each is e for e in verdicts.explained)]
        if not failed or not proves([each.assumptions for each in failed]):
            continue
        for evaluation in failed:
            failure = evaluation.failure
            if failure is None or failure.frame is None or failure.frame.path not in modules:
                continue
            if failure.operation == OWN_CHECK and _is_claim(modules[failure.frame.path], evaluation):
                continue
            tied, is_tie, _ = failure.requires.partition(" = ")
            is_of_constructor = is_tie and tied not in dict(evaluation.sizes)
            of_run = [key for key, false in blamed.items() if any(false.evaluation is each for each in run)]
            causes = [key for key in of_run if not _is_beside(modules[key[0]], key, blamed[key], failure)]
            if failure.requires and not is_of_constructor and causes:
                continue
            if failure.requires and " = " not in failure.requires and _says_rank(modules, evaluation, verdicts):
                continue
            if is_tie and _names_axis_of_alias(modules, evaluation, failure):
                continue
            if _is_wrongly_called(modules, run, failure, verdicts, sure):
                continue
            if _has_fields_of_any_size(modules[failure.frame.path], evaluation, failure):
                continue
            key = (failure.frame.path, failure.frame.line)
            finding = failure_finding(evaluation, failure, failure.frame, modules[key[0]].lines)
            denied = tuple(_denied_before(modules[key[0]], failure.frame, run, verdicts, sure))
            found.setdefault(key, replace(finding, details=(*finding.details, *denied)))
    return list(found.values())


def _is_claim(module: Module, evaluation: Evaluation) -> bool:
    """Whether a run ended at a check that is a claim itself, and is judged as one."""
    return any(ends_at_claim(module, claim, evaluation) for claim in module.claims if claim.notation == "code")


def _is_beside(module: Module, key: ClaimKey, false: Contradiction, failure: Failure) -> bool:
    """Whether what is false is a text about a parameter of a function that was called on another line of the code.

    That went to its end with what the text denies, which is then no reason for what does not fit behind it.
    """
    claim, caller, frame = module.claims[key[1]], false.mismatch.call.caller, failure.frame
    is_text = claim.notation != "annotation" and module.sites[claim.sites[0]].kind == "param"
    if not is_text or caller is None or frame is None or (caller.path, caller.line) == (frame.path, frame.line):
        return False
    is_in_it = (caller.function + ".").startswith(frame.function + ".") or caller.function == "<lambda>"  # Python 3.10
    return caller.path == frame.path and is_in_it


def _denied_before(
    module: Module, frame: Frame, run: Sequence[Evaluation], verdicts: Verdicts, sure: Container[ClaimKey]
) -> Iterator[str]:
    """What tentative claims in front of an error say that is false: no finding alone, but likely why it fails there."""
    for key, false in verdicts.bad.items():
        claim = module.claims[key[1]] if key[0] == module.path else None
        if claim is None or key in sure or not any(false.evaluation is each for each in run):
            continue
        if claim.span.line < frame.line and module.scopes[claim.scope].qualname == frame.function:
            yield f"before that, on line {claim.span.line}, {mismatch_finding(module, claim, false).message}"


def _is_wrongly_called(
    modules: Mapping[str, Module],
    run: Sequence[Evaluation],
    failure: Failure,
    verdicts: Verdicts,
    sure: Container[ClaimKey],
) -> bool:
    """Whether the function that an error is in was given there what its own parameters deny: one finding says both.

    A text that they deny may be wrong itself, so that it says no more than for which sizes the code runs.
    """
    frame = failure.frame
    if frame is None:
        return False
    module = modules[frame.path]
    for key, false in verdicts.bad.items():
        if key[0] != frame.path or key not in sure or not any(false.evaluation is each for each in run):
            continue
        claim = module.claims[key[1]]
        is_own = module.scopes[claim.scope].qualname == frame.function and module.sites[claim.sites[0]].kind == "param"
        is_handed = bool(failure.requires) and false.mismatch.call.caller is not None
        if is_own and (claim.notation == "annotation" or is_handed):
            return True
    return False


def _names_axis_of_alias(modules: Mapping[str, Module], evaluation: Evaluation, failure: Failure) -> bool:
    """Whether a name in what an error requires is a letter of aliases alone: `N = Nx` for `Slice = Float[Array, "N"]`.

    These know nothing of the function where they are used, and nobody has told the two sizes apart. A record is more
    than an alias: its author has named the sizes of its arrays together.
    """
    scopes = {(call.path, call.scope) for call in evaluation.calls}
    claims = [claim for path, scope in scopes for claim in modules[path].claims if claim.scope == scope]
    for name in filter(lambda each: len(each) == 1, _NAMES.findall(failure.requires)):
        naming = [claim for claim in claims if name in parse_spec(claim.spec).names()]
        if naming and all(claim.by_alias and not claim.select for claim in naming):
            return True
    return False


def _has_fields_of_any_size(module: Module, evaluation: Evaluation, failure: Failure) -> bool:
    """Whether an array on the line of an error is a field of which an alias says no more than how many axes it has.

    Of a class without a constructor whose instance was made up: `W: Matrix` and `b: Vector` go together in what callers
    make. What stands in a test or an example is what somebody has made.
    """
    if failure.frame is None or evaluation.origin not in ("model", "function"):
        return False
    owner = failure.frame.function.rpartition(".")[0]
    constructors = {each.parent for each in module.scopes if each.qualname.endswith(".__init__")}
    fields = {name.removeprefix("self.") for name, _ in failure.arrays if name.startswith("self.")}
    return any(
        claim.general
        and module.is_about(claim, "field")
        and module.sites[claim.sites[0]].name in fields
        and module.scopes[claim.scope].qualname == owner
        and claim.scope not in constructors
        for claim in module.claims
    )


def _says_rank(modules: Mapping[str, Module], evaluation: Evaluation, verdicts: Verdicts) -> bool:
    """Whether a comment or docstring of what was called has a fixed number of axes, and holds: the annotation is loose.

    So people write `x: "... d"` where `# (batch, d)` on the first line tells what is meant.
    """
    scopes = {(call.path, call.scope) for call in evaluation.calls}
    return any(
        claim.notation != "annotation" and parse_spec(claim.spec).rank() is not None and (path, index) in verdicts.good
        for path in {path for path, _ in scopes}
        for index, claim in enumerate(modules[path].claims)
        if (path, claim.scope) in scopes
    )


def _is_shape_error(evaluation: Evaluation) -> bool:
    return evaluation.status != "ok" and evaluation.failure is not None and evaluation.failure.kind == "shape"


def stops(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    unreached: Sequence[UnreachedClaim],
    false: Collection[ClaimKey],
    reported: Iterable[Finding] = (),
) -> list[Finding]:
    """SC302: why evaluations ended early, where that left claims unreached, and none of the `false` ones says it.

    An error `reported` on the same line says it too. What ends on one line for one reason is one note, as the many
    calls of a parametrised test are.
    """
    paths = {u.path for u in unreached}
    errors = {(each.path, each.span.line) for each in reported if each.code in ("SC301", "SC305")}
    found: dict[tuple[str, int, str], dict[str, str]] = {}  # by place and reason: targets, with the reason of each
    for run in runs:
        if any(evaluation.refused for evaluation in run):  # a finding says it
            continue
        failed = [each for each in run if _is_shape_error(each)]
        is_guess = bool(failed) and not proves([each.assumptions for each in failed])
        went_on = any(each.mode == "sized" and each.status == "ok" for each in run)  # with other choices
        if went_on and not _leaves_open(modules, run, unreached):
            continue
        numbers = any(evaluation.mode == "sized" and evaluation.status != "failed" for evaluation in run)
        for evaluation in run:
            failure = evaluation.failure
            if evaluation.status != "stopped" or failure is None or is_about_order(failure):
                continue
            if failure.kind == "shape" and not is_guess:  # an error says it
                continue
            if evaluation.mode == "symbolic" and numbers:  # where symbols stop is no matter if numbers go further
                continue
            frame = failure.frame
            path, line = (frame.path, frame.line) if frame is not None else (evaluation.path, evaluation.line)
            if (path, line) in errors:
                continue
            if path in modules and is_unfit_print(modules[path], line):  # SC405 says it
                continue
            if any(ends_at_claim(modules[key[0]], modules[key[0]].claims[key[1]], evaluation) for key in false):
                continue
            if path in modules and evaluation.path in paths:
                same = found.setdefault((path, line, _DIGITS.sub("", evaluation.reason)), {})
                doubt = "its made-up arguments may not fit each other: " if failure.may_be_made_up else ""
                same.setdefault(evaluation.target, doubt + evaluation.reason)
    return [_note_of(modules[path], line, targets) for (path, line, _), targets in found.items()]


def _note_of(module: Module, line: int, targets: Mapping[str, str]) -> Finding:
    """SC302 for what ended on one line, each of the targets for its reason."""
    rule = RULES["SC302"]
    (target, reason), *others = targets.items()
    several = f"{target} (and {len(others)} more that end here)" if others else target
    message = rule.message.format(target=several, reason=reason)
    span = line_span(module.lines, line)
    return Finding(code=rule.code, severity=rule.severity, path=module.path, span=span, message=message)


def _leaves_open(modules: Mapping[str, Module], run: Sequence[Evaluation], unreached: Sequence[UnreachedClaim]) -> bool:
    """Whether claims of what one entry runs are unreached, and no error of its says why."""
    if any(each.failure is not None and each.failure.kind == "shape" for each in run):
        return False
    name = run[0].target.partition(":")[2].partition(" ")[0]
    scopes = modules[run[0].path].scopes if run[0].path in modules else ()
    inside = {each.index for each in scopes if each.qualname == name or each.qualname.startswith(f"{name}.")}
    lines = {each.line for each in unreached if each.path == run[0].path}
    return any(c.scope in inside and c.span.line in lines for c in modules[run[0].path].claims) if inside else True


@dataclass(frozen=True)
class Tally:
    """How every claim ended, why those which nothing reached were not, and what the verified ones leave open."""

    summary: Summary
    unreached: tuple[UnreachedClaim, ...]
    loose: tuple[UnreachedClaim, ...]
    resting: tuple[AssumedClaim, ...]
    verified: tuple[VerifiedClaim, ...]


def tally(modules: Mapping[str, Module], verdicts: Verdicts, sure: set[ClaimKey], reasons: Reasons) -> Tally:
    """Count the claims."""
    counts: Counter[str] = Counter()
    missing: list[UnreachedClaim] = []
    loose: list[UnreachedClaim] = []
    resting: list[AssumedClaim] = []
    verified: list[VerifiedClaim] = []
    for path, module in modules.items():
        for index, claim in enumerate(module.claims):
            key = (path, index)
            if key in verdicts.bad:
                counts["mismatched" if key in sure else "tentative"] += 1
            elif key in verdicts.good:
                counts["verified"] += 1
                verified.append(_describe_verified(claim, key, verdicts))
                counts["verified_for_all_sizes"] += key in verdicts.for_all_sizes
                if key in verdicts.loose:
                    loose.append(
                        UnreachedClaim(path, claim.span.line, f"nothing else binds {_list_names(verdicts.loose[key])}")
                    )
                assumptions = verdicts.rests_on.get(key, ())
                if assumptions:
                    resting.append(AssumedClaim(path, claim.span.line, claim.text, assumptions))
                    counts["verified_on_alias"] += weakest(assumptions) == "alias"
                    counts["verified_on_invention"] += weakest(assumptions) == "invented"
            else:
                missing.append(UnreachedClaim(path, claim.span.line, reasons.of(claim, index)))
                counts["unreached_declarations"] += module.scopes[claim.scope].declares
    total = sum(len(module.claims) for module in modules.values())
    summary = Summary(total=total, unreached=len(missing), verified_loosely=len(loose), **counts)
    resting.sort(key=lambda each: (each.path, each.line, each.claim))
    verified.sort(key=lambda each: (each.path, each.line, each.column, each.claim))
    return Tally(summary, _sort(missing), _sort(loose), tuple(resting), tuple(verified))


def _describe_verified(claim: Claim, key: ClaimKey, verdicts: Verdicts) -> VerifiedClaim:
    how: How = "all sizes" if key in verdicts.for_all_sizes else "rank alone" if key in verdicts.loose else "seen sizes"
    return VerifiedClaim(claim.path, claim.span.line, claim.span.column, claim.text, claim.notation, how)


def _sort(items: Sequence[UnreachedClaim]) -> tuple[UnreachedClaim, ...]:
    return tuple(sorted(items, key=lambda u: (u.path, u.line, u.reason)))


def _list_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
