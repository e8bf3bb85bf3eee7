"""The data that flows through the pipeline: frozen, plain, and known to every layer.

This module imports nothing of the project and runs on Python 3.10, because the worker uses it in the user's
interpreter. Whoever needs the meaning of a `spec` string parses it with `shapecheck.shapes`. A file is imported when
the first of its names is asked for: making data classes is most of what a run without changes would do.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapecheck.model.assumption import Assumption, Provenance, proves, weakest
    from shapecheck.model.claim import (
        INSERTED,
        Claim,
        DebugCall,
        DescribedRank,
        Module,
        NearName,
        Notation,
        Problem,
        Scope,
        ScopeKind,
        Selector,
        Site,
        SiteKind,
        Suppression,
        Switch,
    )
    from shapecheck.model.compared_stage import (
        ROUNDING,
        ArrayMismatch,
        ComparedRuns,
        ComparedStage,
        StageOutput,
        StageRun,
        Tensor,
        Tolerance,
    )
    from shapecheck.model.finding import (
        AssumedClaim,
        Edit,
        EntryResult,
        Finding,
        How,
        LockCounts,
        Reach,
        Report,
        Severity,
        ShardShare,
        Summary,
        TestCounts,
        UnreachedClaim,
        VerifiedClaim,
    )
    from shapecheck.model.location import FunctionKey, Point, Position, Span, is_test_file
    from shapecheck.model.observation import (
        PRINTING,
        ArrayValue,
        Call,
        Evaluation,
        Failure,
        Frame,
        Mode,
        NamedSize,
        Observation,
        OtherValue,
        Stage,
        TreeValue,
        Value,
    )

__all__ = [
    "INSERTED",
    "PRINTING",
    "ROUNDING",
    "ArrayMismatch",
    "ArrayValue",
    "AssumedClaim",
    "Assumption",
    "Call",
    "Claim",
    "ComparedRuns",
    "ComparedStage",
    "DebugCall",
    "DescribedRank",
    "Edit",
    "EntryResult",
    "Evaluation",
    "Failure",
    "Finding",
    "Frame",
    "FunctionKey",
    "How",
    "LockCounts",
    "Mode",
    "Module",
    "NamedSize",
    "NearName",
    "Notation",
    "Observation",
    "OtherValue",
    "Point",
    "Position",
    "Problem",
    "Provenance",
    "Reach",
    "Report",
    "Scope",
    "ScopeKind",
    "Selector",
    "Severity",
    "ShardShare",
    "Site",
    "SiteKind",
    "Span",
    "Stage",
    "StageOutput",
    "StageRun",
    "Summary",
    "Suppression",
    "Switch",
    "Tensor",
    "TestCounts",
    "Tolerance",
    "TreeValue",
    "UnreachedClaim",
    "Value",
    "VerifiedClaim",
    "is_test_file",
    "proves",
    "weakest",
]

_FILES = {
    "assumption": ("Assumption", "Provenance", "proves", "weakest"),
    "claim": (
        "Claim",
        "DebugCall",
        "DescribedRank",
        "INSERTED",
        "Module",
        "NearName",
        "Notation",
        "Problem",
        "Scope",
        "ScopeKind",
        "Selector",
        "Site",
        "SiteKind",
        "Suppression",
        "Switch",
    ),
    "compared_stage": (
        "ArrayMismatch",
        "ComparedRuns",
        "ComparedStage",
        "ROUNDING",
        "StageOutput",
        "StageRun",
        "Tensor",
        "Tolerance",
    ),
    "finding": (
        "AssumedClaim",
        "Edit",
        "EntryResult",
        "Finding",
        "How",
        "LockCounts",
        "Reach",
        "Report",
        "Severity",
        "ShardShare",
        "Summary",
        "TestCounts",
        "UnreachedClaim",
        "VerifiedClaim",
    ),
    "location": ("FunctionKey", "Point", "Position", "Span", "is_test_file"),
    "observation": (
        "ArrayValue",
        "Call",
        "Evaluation",
        "Failure",
        "Frame",
        "Mode",
        "NamedSize",
        "Observation",
        "OtherValue",
        "PRINTING",
        "Stage",
        "TreeValue",
        "Value",
    ),
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_FILE_OF[name]}"), name)
    return value
