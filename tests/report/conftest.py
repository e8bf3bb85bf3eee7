from __future__ import annotations

import pytest

from shapecheck.model import (
    AssumedClaim,
    Assumption,
    Edit,
    EntryResult,
    Finding,
    LockCounts,
    Reach,
    Report,
    Span,
    Summary,
    TestCounts,
    UnreachedClaim,
    VerifiedClaim,
)

ATTENTION = (
    "import jax",
    "",
    "",
    "def attend(q, k):",
    '    scores = jnp.einsum("bqhd,bkhd->bqhk", q, k)  # (batch, heads, seq, seq)',
    "\tgröße = f(  # 日本語: wide",
    "\t    x, y)",
    "    if x.sum() > 0:",
)


def finding(code: str = "SC201", **changes: object) -> Finding:
    """A finding to vary: a wrong comment on line 5 of pkg/attn.py."""
    values: dict[str, object] = {
        "severity": "error",
        "path": "pkg/attn.py",
        "span": Span(5, 5, 5, 11),
        "message": "comment says (batch, heads, seq, seq), but scores is (batch, seq, heads=4, seq)",
        "details": (
            'with heads=4 (self.heads, pkg/attn.py:17); batch, seq from q: Float[Array, "batch seq d"] (line 4)',
            "in stage blocks[0].attn, called from GPT.__call__ (pkg/gpt.py:58)",
        ),
        "claimed": "batch heads seq seq",
        "observed": "batch seq 4 seq",
        "bindings": (("batch", "b"), ("heads", "4"), ("seq", "s")),
        "stage": "blocks[0].attn",
    }
    return Finding(code=code, **{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture(name="finding")
def _finding() -> object:
    return finding


@pytest.fixture
def sample() -> Report:
    """A report with every severity, a wide and a multi-line span, and a path that needs escaping."""
    findings = (
        finding(),
        finding(
            "SC301",
            severity="warning",
            span=Span(6, 10, 7, 11),
            message='f does not fit: "einsum" got <b> & {c}',
            details=(),
            fix=(Edit(Span(6, 10, 6, 11), "g{x}"), Edit(Span(7, 6, 7, 10), "")),
            claimed="",
            observed="",
            bindings=(),
            stage="",
        ),
        finding(
            "SC302",
            severity="note",
            span=Span(8, 8, 8, 19),
            message="attend cannot be evaluated abstractly: it decides on a value",
            details=(),
            claimed="",
            observed="",
            bindings=(),
            stage="",
        ),
        finding("SC203", path="pkg/a, b:100%.py", span=Span(1, 1, 1, 7), details=()),
    )
    return Report(
        findings=findings,
        summary=Summary(
            total=212,
            verified=180,
            verified_for_all_sizes=150,
            mismatched=2,
            tentative=10,
            unreached=20,
            unreached_declarations=3,
            verified_loosely=1,
            verified_on_alias=2,
            verified_on_invention=1,
        ),
        tests=TestCounts(
            collected=40,
            ok=30,
            stopped=6,
            skipped=2,
            cut=2,
            problems=("tests/test_b.py: ImportError: no module named b",),
        ),
        functions=Reach(total=90, reached=70, claimed=30, claimed_reached=20, annotated=12, annotated_reached=10),
        resting=(AssumedClaim("pkg/attn.py", 5, "(b, t)", (Assumption("tie", "embed", "d_model", "alias"),)),),
        unread=(("pkg/closed.py", "cannot be read: Permission denied"),),
        loose=(UnreachedClaim("pkg/attn.py", 7, "nothing else binds width"),),
        unreached=(
            UnreachedClaim("pkg/b.py", 9, "pkg.b could not be imported: No module named 'flax'"),
            UnreachedClaim("pkg/attn.py", 12, "no entry reaches this function"),
            UnreachedClaim("pkg/attn.py", 2, "no entry reaches this function"),
        ),
        entries=(
            EntryResult("pkg.gpt:GPT", "model", "symbolic", "ok", ""),
            EntryResult("pkg.b:f", "function", "sized", "failed", "needs a value"),
        ),
        files=3,
        suppressed=3,
        baselined=1,
        sources=(("pkg/attn.py", ATTENTION),),
        lock=LockCounts("shapes.lock", 2, 41, 1),
        verified=(VerifiedClaim("pkg/attn.py", 5, 51, "(b, t)", "comment", "all sizes"),),
    )
