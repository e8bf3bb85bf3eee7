"""Type annotations: every spec written in one, with the way from the annotated value to the array that it describes."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from shapecheck.claims.annotation_names import TYPED_DICT, ArrayClass, Names, typed_dict_entries
from shapecheck.claims.axis_words import words
from shapecheck.model import Problem, Selector, entry_key, entry_selector, is_structure
from shapecheck.shapes import NamedDim, Spec, SpecError, UnsupportedSpec, jaxtyping_texts, parse_spec, print_spec
from shapecheck.syntax.source_text import SourceText

# The words of typing, by what they say about the value.
_WRAPPERS = words("Annotated Final ClassVar Required NotRequired ReadOnly InitVar AbstractVar AbstractClassVar")
_TUPLES = words("tuple Tuple")
_SEQUENCES = words("list List Sequence MutableSequence Collection Iterable set Set frozenset FrozenSet deque Deque")
_LISTS = words("list List")
_MAPPINGS = words("dict Dict Mapping MutableMapping OrderedDict defaultdict DefaultDict ChainMap MappingProxyType")
# A member of a union that can be no array and no tree of arrays, so that it leaves an array to the other members.
_PLAIN = words("None int float bool complex str bytes Callable Literal type Type slice")
_NUMBERS = words("int float complex bool")
_ITERATORS = words("Iterator Generator")
# One that any array fits, so that nothing is said of its shape.
_ANY = words("Array ArrayLike ndarray Any object PyTree")
# Generics of the language whose values do not hold what they are of, or not yet.
_UNSEEN = words(
    "type Type Callable Iterator Generator AsyncIterator AsyncIterable AsyncGenerator Awaitable Coroutine"
    " ContextManager AbstractContextManager Concatenate Unpack TypeGuard TypeIs Generic Protocol"
)
# What leads to parts of a value that nobody can take out and put back: what is called there is not watched.
_UNWATCHED = frozenset({"?", "leaves", "held"})
_MAX_DEPTH = 32
# The array types that pyrefly lets carry a list of dims, and its text of one: `Shaped[Array, "[B, D]"]`.
_LISTED = words("Array ndarray")
# `Matrix`, `Vec3`, `RealVector`, `Array2D`: an alias for any array of a rank.
_RANK = re.compile(r"(?:[A-Z]\w*)?(?:Matri(?:x|ces)|Mat|Vectors?|Vec|Tensors?|Array)(?:\d?[dD]?|[nN]d)")
_LIST = re.compile(r"\s*\[([^\[\]]*)\]\s*")


LaterUse = Literal["", "called", "yielded"]


@dataclass(frozen=True, kw_only=True)
class AnnotationSpec:
    """One spec in an annotation: the node to show, its text, and what `model.Claim` needs.

    If it `arises` later, it is about each call of the annotated value, or about each item that this yields; or about
    each call of those that stand at the end of the selectors `inside` in it.
    """

    node: ast.expr
    text: str
    spec: str
    dtype: str
    names: tuple[str, ...]
    select: tuple[Selector, ...]
    group: int | None = None
    structure: str = ""
    unread: str = ""
    arises: LaterUse = ""
    inside: tuple[Selector, ...] = ()
    sure: bool = True
    by_alias: bool = False
    general: bool = False
    arity: int | None = None  # of the callable whose calls it describes
    or_number: bool = False  # in its place a number may be given, of which `jit` makes an array

    @property
    def way(self) -> tuple[Selector, ...]:
        """From the annotated value to what is described, or to the callable whose calls are."""
        return self.inside if self.arises == "called" else self.select

    def by(self, way: tuple[Selector, ...]) -> AnnotationSpec:
        """The same at another way."""
        return replace(self, inside=way) if self.arises == "called" else replace(self, select=way)


@dataclass(frozen=True)
class _Place:
    """Where the reader is: the way from the annotated value, the node to show, the aliases on the way to here.

    The way may begin when the annotated value is called, or yields; or when something `inside` of it is called.
    """

    select: tuple[Selector, ...] = ()
    shown: ast.expr | None = None
    structure: str = ""
    aliases: frozenset[ast.expr] = frozenset()
    depth: int = 0
    arises: LaterUse = ""
    inside: tuple[Selector, ...] = ()
    among: bool = False  # it is a member of a union, which the value is or is not

    def into(self, *step: Selector) -> _Place:
        """One level deeper. Where evaluation cannot look, it cannot look any deeper."""
        select = ("?",) if "?" in (*self.select, *step) else (*self.select, *step)
        return replace(self, select=select, depth=self.depth + 1, among=False)

    def same(self) -> _Place:
        """The same value, as another expression has it."""
        return replace(self.into(), among=self.among)

    def is_watched(self) -> bool:
        """Whether the calls of a callable here can be watched."""
        return not (self.arises or any(each in _UNWATCHED or entry_key(each) is not None for each in self.select))

    def into_member(self, structure: str) -> _Place:
        """Inside a value of such a structure: of a union's member it is told, since the value may be another one."""
        return self.into(structure) if self.among else replace(self, among=False)


class AnnotationReader:
    """Reads the annotations of one file."""

    def __init__(self, source: SourceText, names: Names) -> None:
        self.source = source
        self.names = names
        self.problems: list[Problem] = []
        self._groups = 0

    def new_group(self) -> int:
        """A number that no other union of the file has."""
        self._groups += 1
        return self._groups

    def read_specs(self, annotation: ast.expr | None, select: tuple[Selector, ...] = ()) -> list[AnnotationSpec]:
        """All specs of an annotation, in the order of the text. `select` leads to the value that it annotates."""
        return [] if annotation is None else self._type(annotation, _Place(select))

    def _type(self, node: ast.expr, place: _Place) -> list[AnnotationSpec]:
        if place.depth > _MAX_DEPTH:
            return []
        if isinstance(node, ast.Constant):
            return self._read_string(node, place)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._alias(node, place)
        if isinstance(node, ast.BinOp):
            return self._union(list(_alternatives(node)), place)
        if isinstance(node, ast.Starred):
            return self._type(node.value, place.into("?"))
        if not isinstance(node, ast.Subscript):
            return []
        array = self.names.array_class(node.value)
        if array is not None:
            return self._array(node, array, place)
        if isinstance(node.slice, ast.Dict):
            return self._entries(node, place) if self.names.original(node.value) == TYPED_DICT else []
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(arguments[0] if arguments else None, ast.List) and (listed := self._listed_shape(node, place)):
            return listed
        return self._generic(self.names.original(node.value), arguments, place)

    def _read_string(self, node: ast.Constant, place: _Place) -> list[AnnotationSpec]:
        """A type written as a string: it has no positions of its own."""
        if not isinstance(node.value, str) or not ("[" in node.value or _are_names(node.value)):
            return []
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        return self._type(inner, replace(place.same(), shown=place.shown or node))

    def _alias(self, node: ast.Name | ast.Attribute, place: _Place) -> list[AnnotationSpec]:
        alias = self.names.alias(node)
        if alias is None:
            return []
        inner = replace(place.same(), shown=place.shown or node)
        if alias.value is None:
            where = f" of {alias.origin}" if alias.origin else ""
            reason = f"the alias {ast.unparse(node)}{where} may stand for several types"
            return [
                AnnotationSpec(
                    node=inner.shown or node,
                    text=ast.unparse(node),
                    spec="...",
                    dtype="",
                    names=(),
                    select=("?",),
                    unread=reason,
                )
            ]
        if alias.value in place.aliases:
            return []
        inner = replace(inner, aliases=place.aliases | {alias.value})
        with self._in_file(alias.names):
            return self._type(alias.value, inner)

    @contextmanager
    def _in_file(self, names: Names) -> Iterator[None]:
        """Names mean what they mean in the file where the alias stands."""
        own, self.names = self.names, names
        try:
            yield
        finally:
            self.names = own

    def _generic(self, name: str, arguments: Sequence[ast.expr], place: _Place) -> list[AnnotationSpec]:
        if not arguments:  # `tuple[()]`
            return []
        if name == "Optional":
            return self._type(arguments[0], place.same())
        if name == "Union":
            return self._union(arguments, place)
        if name in _WRAPPERS:
            return self._type(arguments[0], place.same())
        if name in _TUPLES:
            return self._tuple(arguments, place)
        if name in _SEQUENCES:
            member = place.into_member("list") if name in _LISTS else place
            return self._each(arguments, member.into("*"))
        if name in _MAPPINGS:
            return self._each(arguments[-1:], place.into_member("dict").into("*"))
        if name == "PyTree":
            structure = self.names.text(arguments[1]) if len(arguments) > 1 else None
            return self._type(arguments[0], replace(place.into("leaves"), structure=structure or ""))
        if name == "Literal":
            return []
        if name == "Callable" and len(arguments) == 2 and place.is_watched():
            return self._callable(
                arguments[0], arguments[1], replace(place, arises="called", inside=place.select, select=())
            )
        if name in _ITERATORS and not (place.select or place.arises):
            items = self._type(arguments[0], replace(place.into(), arises="yielded"))
            return [*items, *self._each(arguments[1:], place.into("?"))]
        if name in _UNSEEN or "?" in place.select or place.arises == "yielded":
            return self._each(arguments, place.into("?"))
        if len(arguments) == 1:
            return self._type(arguments[0], place.into_member("holder").into("held"))
        reason = f"nothing says which part of {name} is of which of its types"
        return [replace(each, unread=each.unread or reason) for each in self._each(arguments, place.into("?"))]

    def _callable(self, taken: ast.expr, given: ast.expr, place: _Place) -> list[AnnotationSpec]:
        """What a callable takes, by position, and what it gives."""
        parameters = taken.elts if isinstance(taken, ast.List) else []
        found = [each for index, node in enumerate(parameters) for each in self._type(node, place.into(index))]
        found += self._type(given, place.into("result"))
        return [replace(each, arity=len(parameters)) for each in found] if isinstance(taken, ast.List) else found

    def _entries(self, node: ast.Subscript, place: _Place) -> list[AnnotationSpec]:
        """What a TypedDict says of its entries."""
        inner = place.into_member("dict")
        entries = typed_dict_entries(node).items()
        return [found for key, each in entries for found in self._type(each, inner.into(entry_selector(key)))]

    def _each(self, arguments: Sequence[ast.expr], place: _Place) -> list[AnnotationSpec]:
        result: list[AnnotationSpec] = []
        for argument in arguments:
            inner = argument.elts if isinstance(argument, ast.List) else [argument]  # `Callable[[X, Y], Z]`
            for node in inner:
                result += self._type(node, place)
        return result

    def _tuple(self, arguments: Sequence[ast.expr], place: _Place) -> list[AnnotationSpec]:
        last = arguments[-1]
        if len(arguments) == 2 and isinstance(last, ast.Constant) and last.value is Ellipsis:
            return self._type(arguments[0], place.into("*"))
        if any(isinstance(argument, ast.Starred) for argument in arguments):
            return self._each(arguments, place.into("?"))
        structure = f"tuple/{len(arguments)}"
        inner = place.into_member(structure) if place.among else place.into(f"only {structure}")
        return [found for index, node in enumerate(arguments) for found in self._type(node, inner.into(index))]

    def _union(self, members: Sequence[ast.expr], place: _Place) -> list[AnnotationSpec]:
        """Alternatives: claims of one place share a group, those of other structures speak of other values.

        Where neither can say it, evaluation need not look. A callable or an iterator leaves arrays to the other
        members, and these leave its calls or items to it.
        """
        read = [self._type(member, replace(place.into(), among=True)) for member in members]
        later = [found for found in read if found and all(each.arises for each in found)]
        speaking = [found for found in read if found and found not in later]
        result = _with_structures([claim for found in speaking for claim in found], len(place.select))
        structures = {_structure(claim, len(place.select)) for claim in result}
        can_differ = all(map(is_structure, structures))
        # What a class of others' is, a list or a tuple perhaps, nobody knows.
        is_known = structures.isdisjoint(("list", "dict", "holder"))
        is_closed = is_known and all(claim.sure for claim in result) and not place.among
        if not place.among and (len(speaking) == 1 or structures == {"array"}):
            result = _without_structures(result, len(place.select))
        if len(speaking) > 1:
            groups = {select: self.new_group() for select in dict.fromkeys(claim.select for claim in result)}
            result = [replace(claim, group=groups[claim.select]) for claim in result]
        if any(claim.unread for claim in result):  # perhaps it is the one that holds
            return [_out_of_sight(claim) for claim in (*result, *itertools.chain(*later))]
        silent = [member for member, found in zip(members, read, strict=True) if not found]
        if any(self.names.original(member) in _NUMBERS for member in silent):
            result = [replace(claim, or_number=True) for claim in result]
        are_plain = all(self._is_plain(member) for member in silent)
        if can_differ and is_closed and are_plain and structures - {"array"}:
            only = {*map(str, structures), *(() if all(map(_is_no_scalar, members)) else ("array",))}
            result = [_with_demand(claim, f"only {' '.join(sorted(only))}", len(place.select)) for claim in result]
        if (len(speaking) > 1 and not can_differ) or any(self.names.original(member) in _ANY for member in silent):
            result = [_out_of_sight(claim) for claim in result]
        result += _of_several_callables(later)
        # A name among the others may stand for arrays or callables of another kind: what fits none may be one of those.
        return result if are_plain else [replace(claim, sure=False) for claim in result]

    def _is_plain(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, str)
        if isinstance(node, ast.Subscript):
            return self._is_plain(node.value)
        return self.names.original(node) in _PLAIN

    def _array(self, node: ast.Subscript, array: ArrayClass, place: _Place) -> list[AnnotationSpec]:
        shown = place.shown or node
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(arguments) > 2 or (len(arguments) == 1 and array.certain):
            return []
        shape = arguments[-1]
        text = self.names.text(shape)
        if text is None:
            if isinstance(shape, ast.JoinedStr | ast.BinOp) or (array.certain and isinstance(shape, ast.Name)):
                return [self._unread(node, array, place, "the shape of the annotation is computed")]
            return []
        inner = self._inner(arguments[0], place) if len(arguments) == 2 else None
        if inner is not None:
            text = f"{text} {inner.spec}".strip()
        try:
            specs = [parse_spec(each, strict=True) for each in _readings(text, array)]
        except UnsupportedSpec as error:
            return [self._unread(node, array, place, f"the shape of the annotation is not evaluated: {error}")]
        except SpecError as error:
            if array.kauldron:
                return [self._unread(node, array, place, f"the shape of the annotation is not evaluated: {error}")]
            if array.certain:
                message = f"malformed annotation {self._annotation_text(node, place)}: {error}"
                self.problems.append(Problem("SC101", self.source.span(shown), message))
            return []
        dtype = inner.dtype if inner is not None and array.dtype == "Shaped" else array.dtype
        return self._specs(node, specs, dtype, place)

    def _specs(self, node: ast.Subscript, specs: Sequence[Spec], dtype: str, place: _Place) -> list[AnnotationSpec]:
        """A shape, or several of which one will do."""
        group = self.new_group() if len(specs) > 1 else None
        return [
            AnnotationSpec(
                node=place.shown or node,
                text=self._annotation_text(node, place),
                spec=print_spec(spec),
                dtype=dtype,
                names=spec.names(),
                select=place.select,
                group=group,
                structure=place.structure,
                arises=place.arises,
                inside=place.inside,
                by_alias=bool(place.aliases),
                general=bool(place.aliases) and _is_general(ast.unparse(place.shown or node), spec),
            )
            for spec in specs
        ]

    def _listed_shape(self, node: ast.Subscript, place: _Place) -> list[AnnotationSpec]:
        """`Array[[B, 3]]`, as pyrefly has it: the dims in a list."""
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        if not isinstance(first, ast.List) or self.names.original(node.value) not in _LISTED:
            return []
        text = " ".join(ast.unparse(each).replace(" ", "") for each in first.elts)
        try:
            return self._specs(node, [parse_spec(text, strict=True)], "Shaped", place)
        except SpecError:
            return []

    def _inner(self, node: ast.expr, place: _Place) -> AnnotationSpec | None:
        """The spec of an array type whose own array type has one: `Float[Image, "batch"]` is `batch h w`."""
        alias = self.names.alias(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if alias is not None and alias.value is not None and alias.value not in place.aliases:
            inner = replace(place.into(), aliases=place.aliases | {alias.value})
            with self._in_file(alias.names):
                return self._inner(alias.value, inner)
        if not isinstance(node, ast.Subscript) or place.depth > _MAX_DEPTH:
            return None
        array = self.names.array_class(node.value)
        found = self._array(node, array, place.into()) if array is not None else []
        return found[0] if found else None

    def _annotation_text(self, node: ast.Subscript, place: _Place) -> str:
        """The annotation as written; that of an alias or a string as Python prints it."""
        if place.shown is None:
            return self.source.segment(node)
        try:
            return ast.unparse(node).replace("'", '"')
        except RecursionError:
            return self.source.segment(place.shown)

    def _unread(self, node: ast.Subscript, array: ArrayClass, place: _Place, reason: str) -> AnnotationSpec:
        """A claim that only the running program can read: it is counted, and stays unreached for that reason."""
        text = self._annotation_text(node, place)
        return AnnotationSpec(
            node=place.shown or node, text=text, spec="...", dtype=array.dtype, names=(), select=("?",), unread=reason
        )


def _with_structures(claims: Sequence[AnnotationSpec], depth: int) -> list[AnnotationSpec]:
    """The claims of a union's members, with the structure of each behind the selectors that lead to the union."""
    return [replace(each, select=(*each.select, "array")) if _is_whole(each, depth) else each for each in claims]


def _without_structures(claims: Sequence[AnnotationSpec], depth: int) -> list[AnnotationSpec]:
    """The same as claims on any value."""
    return [
        each.by((*each.way[:depth], *each.way[depth + 1 :])) if is_structure(_structure(each, depth)) else each
        for each in claims
    ]


def _with_demand(claim: AnnotationSpec, demand: str, depth: int) -> AnnotationSpec:
    """The claim, which is false of a value that none of the union's members describes."""
    return claim.by((*claim.way[:depth], demand, *claim.way[depth:]))


def _is_no_scalar(member: ast.expr) -> bool:
    """Whether a member is surely no number, in whose place arrays without axes come as well."""
    return isinstance(member, ast.Subscript) or (isinstance(member, ast.Constant) and member.value is None)


def _is_whole(claim: AnnotationSpec, depth: int) -> bool:
    return not claim.arises and len(claim.select) == depth and "?" not in claim.select


def _structure(claim: AnnotationSpec, depth: int) -> Selector:
    return "?" if "?" in claim.select or len(claim.way) == depth else claim.way[depth]


def _is_general(alias: str, spec: Spec) -> bool:
    """Whether an alias is called by a rank alone, and names its axes by letters: those of any such array."""
    is_rank = _RANK.fullmatch(alias.strip("'\"").rpartition(".")[2]) is not None
    return is_rank and bool(spec.dims) and all(isinstance(dim, NamedDim) and len(dim.name) == 1 for dim in spec.dims)


def _of_several_callables(members: Sequence[Sequence[AnnotationSpec]]) -> list[AnnotationSpec]:
    """What a union's callables or iterators say: of several callables each of the calls with as many arguments."""
    if len(members) == 1:
        return list(members[0])
    arities = [{each.arity for each in found} for found in members]
    if any(None in each or len(each) > 1 for each in arities) or len(set[int | None]().union(*arities)) < len(members):
        return [_out_of_sight(each) for each in itertools.chain(*members)]
    return [replace(each, select=(f"call/{each.arity}", *each.select)) for each in itertools.chain(*members)]


def _out_of_sight(claim: AnnotationSpec) -> AnnotationSpec:
    return replace(claim, select=("?",), group=None, arises="", inside=())


def _readings(text: str, array: ArrayClass) -> Sequence[str]:
    """A shape as jaxtyping has it, where another package has a notation of its own."""
    if array.kauldron:
        return jaxtyping_texts(text)
    listed = _LIST.fullmatch(text)
    if listed is None or array.certain:
        return (text,)
    dims = (dim.replace(" ", "") for dim in listed.group(1).split(","))
    return (" ".join(dim for dim in dims if dim),)


def _are_names(text: str) -> bool:
    """Whether a text is the name of a type, or a union of such: `types.Act | None`."""
    return all(part.strip().replace(".", "").isidentifier() for part in text.split("|"))


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """The members of `A | B | C`, without recursion: unions may be long."""
    members: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        members.append(node.right)
        node = node.left
    yield node
    yield from reversed(members)
