"""The baseline: findings that were there when the project began to use shapecheck, kept in a file and not shown.

An entry knows a finding by its file and the content of its line (see `fingerprint`), so it survives moved lines.
SARIF's `partialFingerprints` stand on the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

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


_VERSION = 1
_Key = tuple[str, str, str]


class BaselineError(Exception):
    """The baseline cannot be used; the message says why."""


def filter(
    findings: Sequence[Finding], sources: Mapping[str, Sequence[str]], path: Path
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings that the baseline at `path` does not know, and how many it knows.

    `sources` gives the lines of each path. Of findings with equal content, an entry covers the first `count`.
    """
    left = Counter(_read_counts(path))
    fresh = []
    for finding in findings:
        key = _key(finding, sources, path)
        if finding.severity != "note" and left[key] > 0:
            left[key] -= 1
        else:
            fresh.append(finding)
    return tuple(fresh), len(findings) - len(fresh)


def write(findings: Sequence[Finding], sources: Mapping[str, Sequence[str]], path: Path) -> int:
    """Write the baseline of these findings, and return how many it holds.

    Notes stay out: they say that something could not be checked, which no baseline makes acceptable.
    """
    from shapecheck.files.atomic_write import write_text  # noqa: PLC0415  # most runs write none

    counts = Counter(_key(finding, sources, path) for finding in findings if finding.severity != "note")
    entries = [
        {"path": name, "code": code, "fingerprint": mark, "count": count}
        for (name, code, mark), count in sorted(counts.items())
    ]
    try:
        write_text(path, json.dumps({"version": _VERSION, "findings": entries}, indent=1) + "\n")
    except OSError as error:
        raise BaselineError(f"{path}: cannot be written: {error.strerror}") from error
    return counts.total()


def _key(finding: Finding, sources: Mapping[str, Sequence[str]], path: Path) -> _Key:
    # relative to the baseline, so that it means the same wherever the command runs
    try:
        name = Path(os.path.relpath(Path(finding.path).absolute(), path.absolute().parent)).as_posix()
    except ValueError:  # another drive, on Windows
        name = Path(finding.path).absolute().as_posix()
    return name, finding.code, content(finding, sources)


def _read_counts(path: Path) -> dict[_Key, int]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BaselineError(f"{path}: there is no such baseline; --update-baseline writes it") from error
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: is not a baseline (no JSON): {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise BaselineError(f"{path}: is not a baseline; --update-baseline writes a new one")
    if document.get("version") != _VERSION:
        version = document.get("version")
        raise BaselineError(f"{path}: has version {version!r}, this shapecheck reads version {_VERSION}")
    entries: Counter[_Key] = Counter()
    for index, entry in enumerate(document["findings"]):
        key, count = _entry(entry, f"{path}: findings[{index}]")
        entries[key] += count
    return entries


def _entry(entry: object, where: str) -> tuple[_Key, int]:
    match entry:
        case {"path": str(name), "code": str(code), "fingerprint": str(mark), "count": int(count)} if count > 0:
            return (name, code, mark), count
    raise BaselineError(f"{where}: needs path, code, fingerprint (texts) and count (1 or more)")
