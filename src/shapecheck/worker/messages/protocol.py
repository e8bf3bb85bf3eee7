"""What parent and worker say to each other: one JSON object a line, rebuilt into frozen data classes.

The parent begins with a `Startup`, and sends a `Request`, with a time limit, for each thing that it wants to know. The
worker says `Ready` when it has imported JAX, and answers each request with an `Answer`, which holds what the request
says that it is answered with, or a `TimedOut`. Between them come `ModuleStart` and `Bug`; a `Bug` that ends the
process, as where it knows no such request, or `DamageNotice`, is its last message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, get_args

from shapecheck.model import FunctionKey
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings


@dataclass(frozen=True, kw_only=True)
class Startup:
    """The parent's first message: what may be imported, and the files that ended a worker, with the reason.

    A worker that is `confined` writes in temporary folders only, whatever the user's code does.
    """

    plans: tuple[ModulePlan, ...]
    settings: WorkerSettings
    culprits: Mapping[str, str]
    confined: bool = False


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The worker's first message: who evaluates."""

    python: str
    jax: str
    executable: str


@dataclass(frozen=True, kw_only=True)
class StartRefusal:
    """The worker's first and last message: why its interpreter will not do."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ModuleStart:
    """The file whose module body runs from now on, or whose functions and classes are looked at; "" if none."""

    path: str


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A traceback of our own code. It is the worker's last message if it `ends` the process."""

    text: str
    ends: bool


@dataclass(frozen=True, kw_only=True)
class DamageNotice:
    """The worker's last message: what the user's code has broken that the worker stands on, in words."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class TimedOut:
    """In place of a reply: the user's code took longer than the call's limit; `touched` are the functions that ran."""

    reason: str
    touched: tuple[FunctionKey, ...]


Reply = TypeVar("Reply")


class Request:
    """What the parent wants to know, answered with a value of the class `reply`."""

    reply: ClassVar[type] = object


class RequestFor(Request, Generic[Reply]):
    """A request that is answered with a value of this class."""

    def __init_subclass__(cls) -> None:
        (cls.reply,) = get_args(vars(cls)["__orig_bases__"][0])


@dataclass(frozen=True, kw_only=True)
class ForkReadiness:
    """Whether a worker can be forked from: it has no threads of others, and nothing half-imported."""

    safe: bool


@dataclass(frozen=True, kw_only=True)
class ServeForks(RequestFor[ForkReadiness]):
    """From now on fork workers that have imported the same modules, at each request on the socket of this path."""

    socket: str


@dataclass(frozen=True, kw_only=True)
class TimedRequest:
    """A request, and the seconds that the user's code may take to answer it."""

    request: Request
    limit: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a call."""

    reply: object


WorkerMessage = Ready | StartRefusal | ModuleStart | Bug | DamageNotice | Answer
Send = Callable[[WorkerMessage], None]
"""Sends a message to the parent."""
Serve = Callable[[type[Request]], None]
"""Answers calls, until one comes of a request of this class."""
