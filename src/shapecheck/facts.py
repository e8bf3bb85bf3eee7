"""The data that flows through the pipeline: frozen, plain, and known to every layer.

This module imports nothing of the project and runs on Python 3.10, because the worker uses it in the user's
interpreter. Whoever needs the meaning of a `spec` string parses it with `shapecheck.shapes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

Notation = Literal["annotation", "comment", "docstring"]
SiteKind = Literal["param", "return", "value", "name", "field"]
ScopeKind = Literal["module", "class", "function"]
Severity = Literal["error", "warning", "note"]
Mode = Literal["symbolic", "sized"]
Selector = Union[int, str]  # noqa: UP007 - evaluated on Python 3.10


@dataclass(frozen=True)
class Span:
    """A stretch of source text for people: lines and columns count from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Position:
    """A syntax node as `ast` gives it: lines count from 1, columns count UTF-8 bytes from 0, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Scope:
    """A function (or class, or the module) whose calls hold bindings.

    `index` is its place in `Module.scopes`, `parent` the index of the scope around it (None for the module).
    `position` is that of the `def` or `class` statement (None for the module); `parameters` are in order, without
    stars. Lambdas and comprehensions belong to the function around them.
    """

    index: int
    kind: ScopeKind
    qualname: str
    parent: int | None
    position: Position | None
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """A place in the source where a value arises, and which evaluation shall observe.

    - `param`: parameter `name` of the function `scope`, at its entry.
    - `return`: every value that the function `scope` returns.
    - `value`: the expression node at `position`.
    - `name`: the variable or attribute chain `name` (`x`, `self.w`), read `when` "before" or "after" the statement
      at `position`, or at the start of its "body" (targets of `for` and `with`).
    - `field`: field `name` of each instance that the class `scope` constructs.

    `scope` is the index of the nearest function (or module; for fields the class). `names` are the identifiers and
    dotted names whose integer values the claims at this site may mean.
    """

    index: int
    kind: SiteKind
    scope: int
    position: Position | None
    name: str
    when: Literal["", "before", "after", "body"] = ""
    names: tuple[str, ...] = ()
    loop: tuple[int, ...] = ()  # lines of the enclosing `for`/`while` statements and comprehensions, outermost first


@dataclass(frozen=True)
class Claim:
    """What the source says of one value.

    `spec` is canonical text that `shapecheck.shapes.parse_spec` reads back, `dtype` a jaxtyping dtype name ("Float",
    "Int32", ...) or "" for any. `text` is as written. `sites` lists the readings of where the value stands, the most
    natural first: the claim holds if it holds for any of them. `select` leads from the observed value to the part
    that is described: an int takes that element, "*" every element, "leaves" every array leaf of a pytree, "?"
    something that evaluation cannot look into. Claims that share a `group` at one site are alternatives (a union).
    A tentative claim (`sure` false) may be verified but is never reported, unless the user asks.
    """

    path: str
    span: Span
    notation: Notation
    text: str
    spec: str
    dtype: str
    target: str
    scope: int
    sites: tuple[int, ...]
    select: tuple[Selector, ...] = ()
    group: int | None = None
    sure: bool = True
    marked: bool = False  # has an explicit marker such as "shape:"
    loose: bool = False  # a literal stands in the way of certainty: plain numbers only, no name
    structure: str = ""  # PyTree structure names, as written
    unread: str = ""  # why only the running program can read it, so that it stays unreached
    each: bool = False  # one shape for a tuple target or a list: that of the whole value, or else of each element


@dataclass(frozen=True)
class Suppression:
    """An ignore comment. `codes` empty means every code; `line` None means the whole file."""

    line: int | None
    codes: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Problem:
    """A claim or file that could not be read: `code` is SC101, SC102, or "" for a note about the file."""

    code: str
    span: Span
    message: str


@dataclass(frozen=True)
class Module:
    """All that the source of one file claims."""

    path: str
    scopes: tuple[Scope, ...]
    sites: tuple[Site, ...]
    claims: tuple[Claim, ...]
    suppressions: tuple[Suppression, ...] = ()
    problems: tuple[Problem, ...] = ()
    lines: tuple[str, ...] = ()  # the source text, for carets and excerpts
    parsed: bool = True  # else there are no claims because nobody could read them: see `problems`


@dataclass(frozen=True)
class ArrayValue:
    """An observed array: full dtype name, dims as text ("b", "48", "4*d"), sizes of mapped axes outermost first."""

    dtype: str
    shape: tuple[str, ...]
    mapped: tuple[str, ...] = ()


@dataclass(frozen=True)
class TreeValue:
    """An observed "tuple", "list", "dict" or "node" (dataclass, namedtuple, Module); `keys` name its parts."""

    kind: str
    type: str
    keys: tuple[str, ...]
    children: tuple[Value, ...]


@dataclass(frozen=True)
class OtherValue:
    """An observed value that is no array: its type's name, and the text of its number if it is a Python scalar."""

    type: str
    number: str = ""


Value = Union[ArrayValue, TreeValue, OtherValue]  # noqa: UP007 - as above


@dataclass(frozen=True)
class Named:
    """An integer visible at a site under a name that a claim uses; `source` says where: "b", "self.config.heads"."""

    name: str
    size: str
    source: str


@dataclass(frozen=True)
class Observation:
    """The value at a site in one call. `site` is an index into `Module.sites`."""

    site: int
    value: Value
    names: tuple[Named, ...] = ()


@dataclass(frozen=True)
class Frame:
    """A line of the user's code, for messages."""

    path: str
    line: int
    function: str


@dataclass(frozen=True)
class Call:
    """One call of one scope: its observations in order. `parent` is the `number` of the enclosing function's call."""

    path: str
    scope: int
    number: int
    parent: int | None
    observations: tuple[Observation, ...]
    caller: Frame | None = None
    stage: str = ""


@dataclass(frozen=True)
class Failure:
    """Why an evaluation ended early: where in the user's code, what was raised, and the arrays on that line."""

    kind: Literal["shape", "value", "other"]
    message: str
    frame: Frame | None
    operation: str = ""
    arrays: tuple[tuple[str, str], ...] = ()
    fixed: bool = False  # the operands' dims are all numbers


@dataclass(frozen=True)
class Evaluation:
    """What one run of one entry showed. `status`: "ok", "stopped" (observations before the stop count), "failed"."""

    target: str
    origin: str  # "test", "seen" in one; "example", "config", "script"; "model", "function", "module"
    path: str
    line: int
    mode: Mode
    status: Literal["ok", "stopped", "failed"]
    reason: str
    calls: tuple[Call, ...]
    failure: Failure | None = None
    sizes: tuple[tuple[str, str], ...] = ()  # what was chosen for the free names, for messages
    tried: int = 1  # assignments of sizes that were tried
    tied: bool = True  # every dim came from the user or from a name
    guessed: bool = False  # an argument has a shape that nothing speaks for: contradictions prove nothing
    guessed_dtype: bool = False  # an argument has a dtype that nothing speaks for: SC206 proves nothing
    made_up: tuple[int, ...] = ()  # sizes inside of modules that nobody gave, and that no argument had to fit
    proves: bool = True  # else sizes that were made free may have to follow others, and only what holds is news


@dataclass(frozen=True)
class Finding:
    """A rule's verdict at one place. `details` are the lines under the message; `bindings` name -> size."""

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


@dataclass(frozen=True)
class Unreached:
    """A claim that evaluation did not get to, or not wholly, and why."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class Summary:
    """How the claims ended. total = verified + mismatched + tentative + unreached."""

    total: int = 0
    verified: int = 0
    verified_for_all_sizes: int = 0
    mismatched: int = 0
    tentative: int = 0
    unreached: int = 0
    verified_loosely: int = 0  # some name is bound by nothing but the claim itself, so that any size would do


@dataclass(frozen=True)
class EntryResult:
    """What became of one entry, for the report."""

    target: str
    origin: str
    mode: Mode
    status: str
    reason: str


@dataclass(frozen=True)
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
class Reach:
    """How many functions there are outside of tests, and how many of them ran; likewise of those with claims."""

    total: int = 0
    reached: int = 0
    claimed: int = 0
    claimed_reached: int = 0
    annotated: int = 0
    annotated_reached: int = 0


@dataclass(frozen=True)
class Report:
    """The result of a run: findings sorted by path, line, column, code.

    `remedy` is an example to paste when nothing was verified.
    """

    findings: tuple[Finding, ...]
    summary: Summary
    unreached: tuple[Unreached, ...]
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
    loose: tuple[Unreached, ...] = ()  # the claims that hold loosely, and the names that nothing binds
