"""What a running program asks the judge, and the answers: what a file claims, and what contradicts that."""

from __future__ import annotations

from dataclasses import dataclass

from shapecheck.model import Evaluation
from shapecheck.worker.messages.plans import ModulePlan
from shapecheck.worker.messages.protocol import RequestFor


@dataclass(frozen=True, kw_only=True)
class ObservationPlan:
    """What to observe in a file, and the sites that can be judged at once; without a plan it claims nothing."""

    plan: ModulePlan | None = None
    prompt: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ContradictedClaim:
    """A claim that does not hold: its rule, where it stands, and the message."""

    code: str
    path: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class ContradictedClaims:
    """All claims that the last call of an evaluation contradicts."""

    claims: tuple[ContradictedClaim, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeRefusal:
    """Why the judge cannot answer: a configuration that is wrong, or a file that cannot be read."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ReadFile(RequestFor[ObservationPlan]):
    """Read a file whose bytes are `text`, as Latin-1. It had as many other texts before as its `version` says."""

    file: str
    text: str
    version: int


@dataclass(frozen=True, kw_only=True)
class ReadCell(RequestFor[ObservationPlan]):
    """Read a notebook's cell. `before` says, as statements, what it finds there."""

    name: str
    text: str
    before: str


@dataclass(frozen=True, kw_only=True)
class JudgeCall(RequestFor[ContradictedClaims]):
    """Judge an evaluation's last call. One that is not `over` yet shows of its annotations only."""

    evaluation: Evaluation
    over: bool
