"""Each claim with how it ended, for those who ask about single claims: programs and editors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shapecheck.model import (
    ArrayValue,
    Claim,
    How,
    JudgedClaim,
    Module,
    NameBinding,
    NamedSize,
    TreeValue,
    Value,
    Verdict,
)
from shapecheck.shapes import parse_spec
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.judge import ClaimInCall, Contradiction, Verdicts
from shapecheck.verdicts.messages import mismatch_finding
from shapecheck.verdicts.unreached import Reasons
from shapecheck.verdicts.whole_sizes import whole_sizes

_MOST_PARTS = 4  # of a pytree that are written out


def judged_claims(
    modules: Mapping[str, Module], verdicts: Verdicts, sure: set[ClaimKey], reasons: Reasons
) -> Iterator[JudgedClaim]:
    """All claims, by path and as they stand in the file."""
    for path in sorted(modules):
        module = modules[path]
        for index in sorted(range(len(module.claims)), key=lambda i: _begin(module.claims[i])):
            yield _judged_claim(module, (path, index), verdicts, sure, reasons)


def _begin(claim: Claim) -> tuple[int, int]:
    return claim.span.line, claim.span.column


def _judged_claim(
    module: Module, key: ClaimKey, verdicts: Verdicts, sure: set[ClaimKey], reasons: Reasons
) -> JudgedClaim:
    claim = module.claims[key[1]]
    verdict: Verdict = "unreached"
    how: How | None = None
    observed, reason = "", ""
    bindings: tuple[NameBinding, ...] = ()
    if key in verdicts.bad:
        verdict = "mismatched" if key in sure else "tentative"
        observed, bindings, reason = _of_mismatch(module, claim, verdicts.bad[key])
    elif key in verdicts.good:
        verdict = "verified"
        how = "all sizes" if key in verdicts.for_all_sizes else "rank alone" if key in verdicts.loose else "seen sizes"
        shown = verdicts.shown_by.get(key)
        if shown is not None:
            observed, bindings = _of_good(claim, shown)
    else:
        reason = reasons.of(claim, key[1])
    return JudgedClaim(
        path=claim.path,
        span=claim.span,
        claim=claim.text,
        notation=claim.notation,
        target=claim.target,
        function=module.scopes[claim.scope].qualname,
        verdict=verdict,
        how=how,
        observed=observed,
        bindings=bindings,
        assumptions=verdicts.rests_on.get(key, ()) if verdict == "verified" else (),
        reason=reason,
    )


def _of_mismatch(module: Module, claim: Claim, false: Contradiction) -> tuple[str, tuple[NameBinding, ...], str]:
    finding = mismatch_finding(module, claim, false)
    size = whole_sizes(false.evaluation)
    bound = tuple(NameBinding(b.name, size(b.size), b.source, b.line) for b in false.mismatch.bound)
    return finding.observed, bound, finding.message


def _of_good(claim: Claim, shown: ClaimInCall) -> tuple[str, tuple[NameBinding, ...]]:
    """The value at a claim that holds, and what its names are bound to."""
    reader, size = shown.reader, whole_sizes(shown.evaluation)
    names: tuple[NamedSize, ...] = ()
    observed = ""
    for site in claim.sites:
        if reader.seen.get(site):
            first = reader.seen[site][0]
            names, observed = first.names, format_shapes(first.value, size)
            break
    bound = reader.bound_sizes(parse_spec(claim.spec), names)
    return observed, tuple(NameBinding(b.name, size(b.size), b.source, b.line) for b in bound)


def format_shapes(value: Value, size: Callable[[str], str] = str) -> str:
    """An observed value in short, with sizes as `size` shows them: `float32[batch, 48]`, `tuple(float32[seq], int)`."""
    if isinstance(value, ArrayValue):
        return f"{value.dtype}[{', '.join(map(size, value.shape))}]"
    if isinstance(value, TreeValue):
        parts = [format_shapes(child, size) for child in value.children[:_MOST_PARTS]]
        parts += ["..."] if len(value.children) > _MOST_PARTS else []
        return f"{value.type}({', '.join(parts)})"
    return value.number or value.type
