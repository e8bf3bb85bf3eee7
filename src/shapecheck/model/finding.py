"""What a run tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from shapecheck.model.assumption import Assumption
    from shapecheck.model.claim import Notation
    from shapecheck.model.location import Span
    from shapecheck.model.observation import Mode

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Edit:
    """Text to put in the place of a stretch of source."""

    span: Span
    replacement: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule's verdict at one place. `details` are the lines under the message; `bindings` name -> size.

    All edits of the `fix` together make the finding go away, and leave what the program computes as it is.
    """

    code: str
    severity: Severity
    path: str
    span: Span
    message: str
    details: tuple[str, ...] = ()
    claimed: str = ""
    observed: str = ""
    bindings: tuple[tuple[str, str], ...] = ()
    stage: str = ""
    fix: tuple[Edit, ...] = ()
    unsafe_fix: bool = False  # the fix changes code, an annotation: who writes it shall look at it

    def __str__(self) -> str:
        """One line, as compilers write it: `path:line:column: CODE message`."""
        return f"{self.path}:{self.span.line}:{self.span.column}: {self.code} {self.message}"


@dataclass(frozen=True)
class UnreachedClaim:
    """A claim that evaluation did not get to, or not wholly, and why."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How the claims ended. total = verified + mismatched + tentative + unreached.

    Of the `unreached` some stand in declarations, such as abstract methods: there is nothing there to evaluate.
    """

    total: int = 0
    verified: int = 0
    verified_for_all_sizes: int = 0
    mismatched: int = 0
    tentative: int = 0
    unreached: int = 0
    unreached_declarations: int = 0
    verified_loosely: int = 0  # some name is bound by nothing but the claim itself, so that any size would do
    verified_on_alias: int = 0  # by runs alone in which a feature axis has the size of a model's under another name
    verified_on_invention: int = 0  # by runs alone that rest on something invented


@dataclass(frozen=True)
class AssumedClaim:
    """What a verified claim rests on that the user did not give."""

    path: str
    line: int
    claim: str
    assumptions: tuple[Assumption, ...]


How = Literal["all sizes", "seen sizes", "rank alone"]
"""For which sizes a claim was seen to hold. What only the rank is proved of has a name that nothing else binds."""


@dataclass(frozen=True)
class VerifiedClaim:
    """A claim that holds: where its text begins, the text as written, its notation, and how it was verified."""

    path: str
    line: int
    column: int
    claim: str
    notation: Notation
    how: How


@dataclass(frozen=True)
class NameBinding:
    """What a name of a claim stands for: a size as text, the words for where that comes from, and the line of it."""

    name: str
    size: str
    source: str
    line: int | None = None


Verdict = Literal["verified", "mismatched", "tentative", "unreached"]
"""How a claim ended. A tentative one was reached, is not verified, and may be no claim at all: it is not reported."""


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim and how it ended.

    `claim` is the text as written, `target` what it describes, `function` where it stands ("" for the module itself),
    `observed` the value that was seen there. A verified one has `how`, what its names are bound to, and the
    assumptions that it rests on; one that is not has the `reason`.
    """

    path: str
    span: Span
    claim: str
    notation: Notation
    target: str
    function: str
    verdict: Verdict
    how: How | None = None
    observed: str = ""
    bindings: tuple[NameBinding, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class EntryResult:
    """What became of one entry, for the report."""

    target: str
    origin: str
    mode: Mode
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class TestCounts:
    """What became of the user's tests. `cut` were not evaluated for want of time; `problems` are pytest's."""

    __test__ = False  # no test class of ours

    collected: int = 0
    ok: int = 0
    stopped: int = 0
    skipped: int = 0
    cut: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LockCounts:
    """The lock at `path`: how many of its templates were compared, their stages, and how often they differ.

    `failed` are those that cannot be evaluated.
    """

    path: str
    templates: int = 0
    stages: int = 0
    differences: int = 0
    failed: int = 0


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How many functions there are outside of tests, and how many of them ran; likewise of those with claims."""

    total: int = 0
    reached: int = 0
    claimed: int = 0
    claimed_reached: int = 0
    annotated: int = 0
    annotated_reached: int = 0


@dataclass(frozen=True)
class ShardShare:
    """The part of a run that shard `number` of `total` did: so many tests, models and functions, and what it left.

    `left_targets` names these.
    """

    number: int
    total: int
    taken: int
    left: int
    left_targets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a run: findings sorted by path, line, column, code.

    `remedy` is an example to paste when nothing was verified.
    """

    findings: tuple[Finding, ...]
    summary: Summary
    unreached: tuple[UnreachedClaim, ...]
    entries: tuple[EntryResult, ...]
    files: int = 0
    remedy: str = ""
    suppressed: int = 0
    baselined: int = 0
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()  # path -> source lines, for excerpts
    unparsed: int = 0  # files whose claims nobody could read, so that they are not counted either
    python: str = ""  # the interpreter that evaluated, if one did
    tests: TestCounts | None = None  # None: none were looked for, or found
    cut: int = 0  # entries that the budget left out
    functions: Reach = Reach()
    broken: tuple[str, ...] = ()  # examples that are wrong by themselves, and what to change
    unread: tuple[tuple[str, str], ...] = ()  # files and folders that cannot be read, and why
    bugs: tuple[str, ...] = ()  # tracebacks of our own bugs, where the run went on
    resting: tuple[AssumedClaim, ...] = ()  # the verified claims that rest on assumptions
    loose: tuple[UnreachedClaim, ...] = ()  # the claims that hold loosely, and the names that nothing binds
    lock: LockCounts | None = None  # None: there is none for what was checked
    verified: tuple[VerifiedClaim, ...] = ()  # by path, line and column
    shard: ShardShare | None = None  # None: it is of everything
    notes: tuple[str, ...] = ()  # what else there is to say of the run, which its results do not depend on
