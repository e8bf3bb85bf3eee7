"""What evaluation shows: values at sites, call by call, and the stages of models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Union

from shapecheck.model.assumption import Assumption
from shapecheck.model.location import Point

Mode = Literal["symbolic", "sized"]


SHORT_DTYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
"""How jaxprs abbreviate the dtypes of numbers, before their bits."""
_NUMBER_TYPE = re.compile(r"(float|bfloat|int|uint|complex)(\d\w*)\Z")


@dataclass(frozen=True)
class ArrayValue:
    """An observed array: full dtype name, dims as text ("b", "48", "4*d"), sizes of mapped axes outermost first.

    Around these there may be `hidden` ones: inside of a `jit` under `vmap`, no value shows which it has. `within` tells
    whether one was taken from another place than the front, so that the front need not be where a text has it.
    """

    dtype: str
    shape: tuple[str, ...]
    mapped: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    within: bool = False

    def __str__(self) -> str:
        """`f32[8]`, as jaxprs have it."""
        found = _NUMBER_TYPE.match(self.dtype)
        dtype = f"{SHORT_DTYPES[found.group(1)]}{found.group(2)}" if found else self.dtype
        return f"{dtype}[{','.join(self.shape)}]"


@dataclass(frozen=True)
class TreeValue:
    """An observed "tuple", "list", "dict" or "node" (dataclass, namedtuple); `keys` name its parts.

    Of nodes, an "operator" stands for an array of other axes than its parts have, and a "function" is called (a layer).
    A "call" of a function has its positional arguments as parts, and last what it gave. The part `held` is what stands
    for the one parameter of a generic class: the array of a variable.
    """

    kind: str
    type: str
    keys: tuple[str, ...]
    children: tuple[Value, ...]
    held: int | None = None


@dataclass(frozen=True)
class OtherValue:
    """An observed value that is no array: its type's name, and the text of its number if it is a Python scalar."""

    type: str
    number: str = ""


Value = Union[ArrayValue, TreeValue, OtherValue]  # noqa: UP007 - as above


@dataclass(frozen=True)
class NamedSize:
    """An integer visible at a site under a name that a claim uses; `source` says where: "b", "self.config.heads"."""

    name: str
    size: str
    source: str


@dataclass(frozen=True)
class Observation:
    """The value at a site in one call. `site` is an index into `Module.sites`.

    Of what a print shows, `traced` names the transformation (`jit`, `scan`) that traces it, in any run of this code.
    """

    site: int
    value: Value
    names: tuple[NamedSize, ...] = ()
    traced: str = ""


@dataclass(frozen=True)
class Frame:
    """A line of the user's code, for messages."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of one scope: its observations in order. `parent` is the `number` of the enclosing function's call.

    `paths` are those of its sites' paths that it came to. The scope may be a declaration, held against what overrides
    it: if that has claims `of_its_own`, what fails here is no news, and if it has a docstring, what texts say is not.
    """

    path: str
    scope: int
    number: int
    parent: int | None
    observations: tuple[Observation, ...]
    caller: Frame | None = None
    stage: str = ""
    complete: bool = True  # it went on to the end of the function: else its claims were only looked at half-way
    paths: tuple[Point, ...] = ()
    of_its_own: Literal["", "claims", "docstring"] = ""


def arrays_in(value: Value) -> Iterator[ArrayValue]:
    """The arrays of a value, which may be one itself."""
    if isinstance(value, ArrayValue):
        yield value
    elif isinstance(value, TreeValue):
        for child in value.children:
            yield from arrays_in(child)


NUMBERS = frozenset({"float", "int", "complex"})
"""The types of Python's numbers."""


def is_left_out(value: Value) -> bool:
    """Whether an argument is no array though it could be one: `None`, or a number of Python, as defaults are."""
    return isinstance(value, OtherValue) and value.type in ("NoneType", *NUMBERS)


FailureKind = Literal["shape", "value", "other"]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why an evaluation ended early: where in the user's code, what was raised, and the arrays on that line."""

    kind: FailureKind
    message: str
    frame: Frame | None
    operation: str = ""
    arrays: tuple[tuple[str, str], ...] = ()
    requires: str = (
        ""  # what lets the code run nevertheless, though nothing explains it: "time = n_heads", "*b is one axis"
    )
    of_two_kinds: bool = False  # the two that have to be equal count things that nobody makes one number
    may_be_made_up: bool = False  # a shape error that may lie with made-up arguments, and is held against nobody


OWN_CHECK = "what this checks"
"""The operation of a failure that is a check of the user's own, of what the code computed."""

PRINTING = "print"
"""The origin of what is evaluated for what it prints alone, with arguments that are a guess."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What one run of one entry showed. `status`: "ok", "stopped" (observations before the stop count), "failed"."""

    target: str
    # "test", "seen" in one; "example", "config", "script", SNIPPET; "model", "function", "module"; PRINTING
    origin: str
    path: str
    line: int
    mode: Mode
    status: Literal["ok", "stopped", "failed"]
    reason: str
    calls: tuple[Call, ...]
    failure: Failure | None = None
    sizes: tuple[tuple[str, str], ...] = ()  # what was chosen for the free names, for messages
    tried: int = 1  # assignments of sizes that were tried
    assumptions: tuple[Assumption, ...] = ()  # what it uses and the user did not give
    features: tuple[str, ...] = ()  # the free names of feature axes, which a model's integer may be another name of
    rank: int = 1  # the number of axes of variadic dims: a claim has to hold for each
    stages: tuple[Stage, ...] = ()  # where they were asked for
    case: str = ""  # the shapes that arguments have which may have one of several: a claim has to hold for each
    refused: str = ""  # the argument whose documented shape the code refuses, for `reason`: here it has another
    integers: tuple[tuple[str, str], ...] = ()  # those that were made up for constructors and the call, by name
    other_guess: bool = False  # arrays that nothing describes have other ranks: it repeats contradictions, or does not


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of a model: one call of a part of it. `path` is where the part lies, "" for the whole.

    `type` is the name of its class, or of its function. `call` counts the calls of that path from 0. `under` are JAX's
    transformations between the stage above and this one, outermost first, with their sizes: `vmap(32)`. `input` and
    `state` are arguments by name. `params` counts the inexact numbers that the part holds, `param_bytes` their bytes.
    `owner` is the type of the model that has this as a step with a label of its own, `intervenors` are what acts on
    the state after it. `flops` estimates the arithmetic operations, all that the whole runs of this stage, as
    text where free sizes enter. `called` is the callable with the fields of its part: `Linear(in_features=3)`.
    """

    path: str
    type: str
    label: str
    callable: str
    call: int
    under: tuple[str, ...]
    input: tuple[tuple[str, Value], ...]
    state: tuple[tuple[str, Value], ...]
    output: Value
    params: int
    param_bytes: int
    source: Frame | None
    children: tuple[Stage, ...] = ()
    owner: str = ""
    intervenors: tuple[str, ...] = ()
    flops: int | str | None = None  # None: not asked for
    called: str = ""
