"""Claims that nobody has written yet, held against what evaluation showed: those that stay are true together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shapecheck.model import Claim, Evaluation, Module
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.judge import Verdicts, judge

_MOST_ROUNDS = 5

Holds = Callable[[ClaimKey, Verdicts], bool]


def hold_claims(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    before: Verdicts,
    wanted: Mapping[ClaimKey, Claim],
    holds: Holds,
) -> dict[ClaimKey, Claim]:
    """The wanted claims that hold as `holds` has it, and for which no other claim fails that did not before.

    An index behind a module's own claims is that of a new claim; all new ones of a module are numbered on from there.
    """
    kept = dict(wanted)
    for _ in range(_MOST_ROUNDS):
        if not kept:
            return {}
        paths = {path for path, _ in kept}
        about = [run for run in runs if any(call.path in paths for each in run for call in each.calls)]
        again = judge(_with_claims(modules, wanted, kept), about)
        wrong = {key for key in kept if key in again.bad or not holds(key, again)}
        if not wrong:
            harmed = {_scope(modules, wanted, key) for key in again.bad.keys() - before.bad.keys()}
            wrong = {key for key in kept if _scope(modules, wanted, key) in harmed}
        if not wrong:
            return kept
        kept = {key: each for key, each in kept.items() if key not in wrong}
    return {}


def _scope(modules: Mapping[str, Module], wanted: Mapping[ClaimKey, Claim], key: ClaimKey) -> tuple[str, int]:
    path, index = key
    claim = wanted[key] if key in wanted else modules[path].claims[index]
    return path, claim.scope


def _with_claims(
    modules: Mapping[str, Module], wanted: Mapping[ClaimKey, Claim], kept: Mapping[ClaimKey, Claim]
) -> dict[str, Module]:
    """The modules as if their claims were these; a new one that is not kept stands nowhere."""
    changed: dict[str, dict[int, Claim]] = {}
    for (path, index), claim in wanted.items():
        is_new = index >= len(modules[path].claims)
        if (path, index) in kept:
            changed.setdefault(path, {})[index] = claim
        elif is_new:
            changed.setdefault(path, {})[index] = replace(claim, sites=())
    found = dict(modules)
    for path, claims in changed.items():
        own = modules[path].claims
        old = [claims.get(index, each) for index, each in enumerate(own)]
        new = [claims[index] for index in sorted(claims) if index >= len(own)]
        found[path] = replace(modules[path], claims=(*old, *new))
    return found
