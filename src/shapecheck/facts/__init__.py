"""The data that flows through the pipeline: frozen, plain, and known to every layer.

This module imports nothing of the project and runs on Python 3.10, because the worker uses it in the user's
interpreter. Whoever needs the meaning of a `spec` string parses it with `shapecheck.shapes`.
"""

from shapecheck.facts.code import (
    Claim,
    Module,
    Notation,
    Position,
    Problem,
    Scope,
    ScopeKind,
    Selector,
    Site,
    SiteKind,
    Span,
    Suppression,
)
from shapecheck.facts.observed import (
    ArrayValue,
    Call,
    Evaluation,
    Failure,
    Frame,
    Mode,
    Named,
    Observation,
    OtherValue,
    Stage,
    TreeValue,
    Value,
)
from shapecheck.facts.report import EntryResult, Finding, Reach, Report, Severity, Summary, TestCounts, Unreached

__all__ = [
    "ArrayValue",
    "Call",
    "Claim",
    "EntryResult",
    "Evaluation",
    "Failure",
    "Finding",
    "Frame",
    "Mode",
    "Module",
    "Named",
    "Notation",
    "Observation",
    "OtherValue",
    "Position",
    "Problem",
    "Reach",
    "Report",
    "Scope",
    "ScopeKind",
    "Selector",
    "Severity",
    "Site",
    "SiteKind",
    "Span",
    "Stage",
    "Summary",
    "Suppression",
    "TestCounts",
    "TreeValue",
    "Unreached",
    "Value",
]
