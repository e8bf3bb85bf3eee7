"""SC103: a dim that nothing binds, one edit away from a name that something does."""

from __future__ import annotations

from shapecheck.model import Finding, Module
from shapecheck.rules import RULES


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
