"""What a rule is."""

from __future__ import annotations

from dataclasses import dataclass

from shapecheck.model import Severity


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What one code means.

    `message` is the template of a finding's first line. `bad` and `good` are whole files: checked, `bad` gives exactly
    this code and `good` gives nothing (for SC100, with unused suppressions reported). `lock` is what shapes.lock keeps
    of both, if it needs a lock: that of model.py. An `optional` rule is one of taste: off, unless it is selected.
    """

    code: str
    name: str
    severity: Severity
    message: str
    why: str
    bad: str
    good: str
    lock: str = ""
    optional: bool = False
