"""What stays the same of a finding when its file changes around it: the content of its line and its claim.

SARIF's `partialFingerprints` and the baseline both stand on this, so both survive moved lines.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from shapecheck.model import Finding


def content(finding: Finding, sources: Mapping[str, Sequence[str]]) -> str:
    """Hash the finding's code, the text of its first line (white space apart) and its claim.

    `sources` gives the lines of each path. Sizes and stages are left out: they may change while the mistake stays.
    """
    lines = sources.get(finding.path, ())
    line = lines[finding.span.line - 1] if 0 < finding.span.line <= len(lines) else ""
    return digest(finding.code, " ".join(line.split()), " ".join(finding.claimed.split()))


def hash_findings(findings: Sequence[Finding], sources: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return one hash per finding, in order, that tells findings of equal content apart by path and occurrence."""
    seen: Counter[tuple[str, str]] = Counter()
    result = []
    for finding in findings:
        key = (finding.path, content(finding, sources))
        result.append(digest(*key, str(seen[key])))
        seen[key] += 1
    return tuple(result)


def digest(*parts: str) -> str:
    """Hash some texts, kept apart from each other, to 32 hexadecimal digits."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]
