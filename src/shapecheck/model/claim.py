"""What the source holds: scopes, sites and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Union

from shapecheck.model.location import Point, Position, Span

Notation = Literal["annotation", "comment", "docstring", "code"]
SiteKind = Literal["param", "return", "value", "name", "field", "shown", "called", "yielded"]
ScopeKind = Literal["module", "class", "function"]
Selector = Union[int, str]  # noqa: UP007 - evaluated on Python 3.10


def is_structure(selector: Selector) -> bool:
    """Whether it goes on only where the value has this structure: "array", "tuple/2", "list", "dict" or "holder".

    "call/2" is that of a call with two arguments.
    """
    return isinstance(selector, str) and (
        selector in ("array", "list", "dict", "holder") or selector.startswith(("tuple/", "call/"))
    )


def call_part(select: Sequence[Selector]) -> Selector | None:
    """Which part of a call the selectors of a callable's claim lead to: the number of an argument, or "result"."""
    return next((each for each in select if not is_structure(each)), None)


def admitted_structures(selector: Selector) -> tuple[str, ...]:
    """The structures of which a value must have one at this selector, which leads nowhere: "only array tuple/2"."""
    is_demand = isinstance(selector, str) and selector.startswith("only ")
    return tuple(str(selector).split()[1:]) if is_demand else ()


_ENTRY = "entry "


def entry_selector(key: str) -> Selector:
    """What leads to the entry of a dict."""
    return f"{_ENTRY}{key}"


def entry_key(selector: Selector) -> str | None:
    """The key of the entry that a selector leads to, None if it is another selector."""
    is_entry = isinstance(selector, str) and selector.startswith(_ENTRY)
    return str(selector).removeprefix(_ENTRY) if is_entry else None


INSERTED = "# shapecheck: inserted"
"""Ends each line that `instrument` wrote: such a line is none of the source, it claims nothing and is not evaluated."""


@dataclass(frozen=True)
class Switch:
    """What branches are chosen by: the `texts` that it is compared with, and the lines of the tests."""

    name: str
    texts: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scope:
    """A function (or class, or the module) whose calls hold bindings.

    `index` is its place in `Module.scopes`, `parent` the index of the scope around it (None for the module).
    `position` is that of the `def` or `class` statement (None for the module); `parameters` are in order, without
    stars. Lambdas and comprehensions belong to the function around them. `rebound` are the variables that a call
    binds more than once, of a constructor all and else those that claims use, `sizes` those that a function surely
    binds to a size. `switches` are the parameters and their attributes (`causal`, `self.causal`, `cfg.mode`) that the
    tests of a function's branches mention, `records` the classes of the module that are types of its parameters, or
    that a method is of, and `reassigned` the parameters that are given other values further down. It `declares` a
    function if it says only how others look: an `@overload`, an abstract method, a body of `...` or of an error that
    says that it is not implemented. Its docstring may speak `for_a_rank`: "in case of 1d inputs".
    """

    index: int
    kind: ScopeKind
    qualname: str
    parent: int | None
    position: Position | None
    parameters: tuple[str, ...] = ()
    rebound: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    switches: tuple[Switch, ...] = ()
    declares: bool = False
    records: tuple[int, ...] = ()
    reassigned: tuple[str, ...] = ()
    for_a_rank: bool = False


@dataclass(frozen=True, kw_only=True)
class Site:
    """A place in the source where a value arises, and which evaluation shall observe.

    - `param`: parameter `name` of the function `scope`, at its entry.
    - `return`: every value that the function `scope` returns.
    - `value`: the expression node at `position`.
    - `name`: the variable or attribute chain `name` (`x`, `self.w`), read `when` "before" or "after" the statement
      at `position`, or at the start of its "body" (targets of `for` and `with`).
    - `field`: field `name` of each instance that the class `scope` constructs.
    - `shown`: what a print makes text of: the expression at `position`, or of the f-string there the field `part`.
    - `called`: each call of the callable that is parameter `name` of the function `scope`, field `name` of what the
      class `scope` constructs, or the value at `position`; or of those that this holds at the end of the selectors
      `inside`. Each is a TreeValue "call".
    - `yielded`: each item of the iterator that is parameter `name` of the function `scope`; without a name, that it
      yields or returns.

    `scope` is the index of the nearest function (or module; for fields the class). `names` are the identifiers and
    dotted names whose integer values the claims at this site may mean. If the value may come by several `paths`, these
    say where each begins: a `return` statement, or an arm of an `if`. Where only `arrays` are of interest, other values
    are not looked into: a program passes whole models around.
    """

    index: int
    kind: SiteKind
    scope: int
    position: Position | None
    name: str
    when: Literal["", "before", "after", "body"] = ""
    names: tuple[str, ...] = ()
    loop: tuple[int, ...] = ()  # lines of the enclosing `for`/`while` statements and comprehensions, outermost first
    part: int | None = None
    paths: tuple[Point, ...] = ()
    inside: tuple[Selector, ...] = ()
    arrays: bool = False


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the source says of one value.

    `spec` is canonical text that `shapecheck.shapes.parse_spec` reads back, `dtype` a jaxtyping dtype name
    ("Float", "Int32", ...) or "" for any. `text` is as written. `sites` lists the readings of where the value
    stands, the most natural first: the claim holds if it holds for any of them. `select` leads from the
    observed value to the part that is described: an int takes that element, "*" every element, "leaves" every
    array leaf of a pytree, "?" something that evaluation cannot look into; "held" takes what stands in a value
    for the one parameter of its generic class, as an array does in a variable. Of a call an int takes that
    argument, "result" what it gives. One of several shapes in a list has "0/2": the first of two elements, also
    of an array stacked of two; "0/2?": or else an array as it is. Behind a structure ("array", "tuple/2",
    "list", "dict", "holder") it describes only values of that structure, as a member of a union does; the
    annotation is false of a value of none of the structures that "only array tuple/2" lists. Claims that share
    a `group` at one site are alternatives (a union). A tentative claim (`sure` false) may be verified but is
    never reported, unless the user asks. `readings` are what the same text may mean besides `spec`: the claim
    holds of an array if any of them does. `part` is the word that the text has for what it describes, no
    variable: the entry of that name, should the value have entries (`a|b` for several). `by_alias` tells that the
    shape stands in an alias, which knows nothing of the function where it is used, `general` that this is one for any
    array of a rank (`Matrix = Float[Array, "m n"]`), `or_number` that in place of the array one number may be given;
    one `under_condition` is another shape that the value has then. A comment behind a statement is `exact` if it is
    no more than a list of numbers. What stands `behind_arrow` is what a statement makes of the shape in front: it
    says nothing of another. `later_sizes` are names that the function gives to sizes further down, of what is there
    already and stays as it is.
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
    readings: tuple[str, ...] = ()
    part: str = ""
    each: bool = False  # one shape for a tuple target or a list: that of the whole value, or else of each element
    by_alias: bool = False
    general: bool = False
    or_number: bool = False
    under_condition: bool = False
    exact: bool = False
    behind_arrow: bool = False
    later_sizes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suppression:
    """An ignore comment. `codes` empty means every code; `line` None means the whole file."""

    line: int | None
    codes: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Problem:
    """A claim or file that could not be read: `code` is SC101, SC102, or "" for a note about the file.

    One that `may_matter` is a note whatever its rule's severity is: it depends on what the file does not say.
    """

    code: str
    span: Span
    message: str
    may_matter: bool = False


@dataclass(frozen=True)
class NearName:
    """A dim of a claim (by its index) that nothing binds, and the name that is nearest to it."""

    claim: int
    name: str
    nearest: str


ANY_ARRAY: Final = "array"
ARRAY_OR_NUMBER: Final = "array or number"


@dataclass(frozen=True)
class DocstringHint:
    """What a docstring says of a parameter of the function `scope`, and not of its shape.

    That is how many axes it has, or its plain type or class, by name, or which texts it may be: several, as in `n
    (int): a scalar`. `ANY_ARRAY` is the type of what is called an array, and no more; `ARRAY_OR_NUMBER` that of what
    may be a number as well.
    """

    scope: int
    parameter: str
    axes: int | None = None
    type: str = ""
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class DescribedPart:
    """That a claim, by its index, says `spec` of a part of a parameter of the function `scope`, as text: `batch["x"]`.

    The claim may be about more: several of what the part is mapped to, or what it is joined with.
    """

    scope: int
    part: str
    claim: int
    spec: str


@dataclass(frozen=True)
class InferredParameter:
    """What the claims in the function `scope` say of a parameter, or of a part of one, as text.

    With a `guess` it may be a number as well.
    """

    scope: int
    parameter: str
    spec: str
    guess: bool = False


@dataclass(frozen=True)
class DebugCall:
    """A call of `print`, of `jax.debug.print` or `breakpoint`, or of what calls back: `function`.

    `shown` are the sites of what becomes text as soon as Python comes to the call, each with its own text; `unfit`
    says why its format and its arguments do not go together, if they do not. `captured` are the sites of what a
    callback has without being given it by JAX, each with its name.
    """

    function: str
    span: Span
    shown: tuple[tuple[int, str], ...] = ()
    unfit: str = ""
    captured: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Module:
    """All that the source of one file claims."""

    path: str
    scopes: tuple[Scope, ...]
    sites: tuple[Site, ...]
    claims: tuple[Claim, ...]
    suppressions: tuple[Suppression, ...] = ()
    problems: tuple[Problem, ...] = ()
    lines: tuple[str, ...] = ()  # the source text, for carets and excerpts
    debug_calls: tuple[DebugCall, ...] = ()
    near_names: tuple[NearName, ...] = ()
    hints: tuple[DocstringHint, ...] = ()
    parts: tuple[DescribedPart, ...] = ()
    inferred: tuple[InferredParameter, ...] = ()
    equations: tuple[tuple[str, str], ...] = ()  # names of dims, and what its comments and docstrings say they equal
    alias_files: tuple[str, ...] = ()  # the other files whose aliases its annotations use
    parsed: bool = True  # else there are no claims because nobody could read them: see `problems`

    @cached_property
    def claims_by_site(self) -> Mapping[int, tuple[int, ...]]:
        """The indices of the claims about each site."""
        found: dict[int, list[int]] = {}
        for index, claim in enumerate(self.claims):
            for site in claim.sites:
                found.setdefault(site, []).append(index)
        return {site: tuple(indices) for site, indices in found.items()}

    def site_of(self, claim: Claim) -> Site | None:
        """The site of the most natural reading of a claim; None for one that no code shows, as of an `@overload`."""
        return self.sites[claim.sites[0]] if claim.sites else None

    def is_about(self, claim: Claim, kind: str) -> bool:
        """Whether the most natural reading of a claim is about a site of this kind."""
        site = self.site_of(claim)
        return site is not None and site.kind == kind
