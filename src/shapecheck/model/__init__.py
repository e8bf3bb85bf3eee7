"""The data that flows through the pipeline: frozen, plain, and known to every layer.

This module imports nothing of the project and runs on Python 3.10, because the worker uses it in the user's
interpreter. Whoever needs the meaning of a `spec` string parses it with `shapecheck.shapes`. A file is imported when
the first of its names is asked for: making data classes is most of what a run without changes would do.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapecheck.model.assumption import *  # noqa: F403
    from shapecheck.model.claim import *  # noqa: F403
    from shapecheck.model.compared_stage import *  # noqa: F403
    from shapecheck.model.finding import *  # noqa: F403
    from shapecheck.model.location import *  # noqa: F403
    from shapecheck.model.observation import *  # noqa: F403
    from shapecheck.model.snippet import *  # noqa: F403

_FILES = {
    "assumption": ("Assumption", "Provenance", "proves", "weakest"),
    "claim": (
        "Claim",
        "DebugCall",
        "DescribedPart",
        "DocstringHint",
        "INSERTED",
        "InferredParameter",
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
        "admitted_structures",
        "call_part",
        "entry_key",
        "entry_selector",
        "is_structure",
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
        "JudgedClaim",
        "LockCounts",
        "NameBinding",
        "Reach",
        "Report",
        "Severity",
        "ShardShare",
        "Summary",
        "TestCounts",
        "UnreachedClaim",
        "Verdict",
        "VerifiedClaim",
    ),
    "location": ("FunctionKey", "Point", "Position", "Span", "is_program", "is_test_file"),
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
        "NUMBERS",
        "OWN_CHECK",
        "PRINTING",
        "SHORT_DTYPES",
        "Stage",
        "TreeValue",
        "Value",
        "arrays_in",
        "is_left_out",
    ),
    "snippet": ("CodeBlock", "SNIPPET", "Snippet", "SnippetKind"),
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_FILE_OF[name]}"), name)
    return value
