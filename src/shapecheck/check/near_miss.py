"""SC103: a dim that is one edit away from a name used elsewhere, and stands nowhere else in the file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from shapecheck.check.rules import RULES
from shapecheck.facts import Finding, Module
from shapecheck.shapes import parse_spec

_SHORTEST = 4  # shorter names are one edit from each other by nature: `h`, `w`; `qk`, `qkv`
_WORD = re.compile(r"\w+")


def near_misses(module: Module) -> list[Finding]:
    """Names that stand once in the file, one edit from one that stands twice or more in the same scope."""
    in_scope: dict[int, Counter[str]] = defaultdict(Counter)
    for claim in module.claims:
        in_scope[claim.scope].update(set(parse_spec(claim.spec).names()))
    words: Counter[str] | None = None
    findings = []
    for claim in module.claims:
        if not claim.sure:
            continue
        counts = in_scope[claim.scope]
        for name in parse_spec(claim.spec).names():
            if len(name) < _SHORTEST or counts[name] > 1 or not name.isidentifier():
                continue
            near = next((n for n, c in counts.items() if c > 1 and _one_edit(name, n)), None)
            if near is None:
                continue
            if words is None:
                words = Counter(_WORD.findall("\n".join(module.lines)))
            if words[name] == 1:
                rule = RULES["SC103"]
                message = rule.message.format(name=name, nearest=near)
                findings.append(Finding(rule.code, rule.severity, module.path, claim.span, message, claimed=claim.text))
    return findings


def _one_edit(a: str, b: str) -> bool:
    """One letter inserted, left out, changed, or two neighbours swapped; but not a change of number: `dim1`, `dim2`."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    parts = [(x, y) for x, y in zip(a.split("_"), b.split("_"), strict=False) if x != y]
    if a.count("_") == b.count("_") and min(min(len(x), len(y)) for x, y in parts) < _SHORTEST - 1:
        return False  # `q_len` and `k_len`
    if len(a) > len(b):
        a, b = b, a
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    rest_a, rest_b = a[start:], b[start:]
    if len(a) == len(b):
        if rest_a[1:] == rest_b[1:]:
            return not (rest_a[0].isdigit() or rest_b[0].isdigit())
        return rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]
    # A plural or a numbered sibling is a name of its own: `head`, `heads`, `dim`, `dim2`.
    return rest_a == rest_b[1:] and not (start == len(a) and (b[-1] == "s" or b[-1].isdigit()))
