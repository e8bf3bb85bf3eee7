"""From annotations to claims: of parameters, returns, annotated locals and fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from shapecheck.claims.annotation_names import is_typed_dict
from shapecheck.claims.annotation_specs import AnnotationReader, AnnotationSpec
from shapecheck.claims.claim_sites import SiteKey, Sites, name_place, value_place
from shapecheck.claims.compared_names import compared_names
from shapecheck.claims.unbound_expressions import UnboundExpressions
from shapecheck.model import Claim, Selector, SiteKind, call_part
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, dotted_name, is_generator

# Of which values evaluation sees the calls, and the items.
_ARISING: Mapping[str, tuple[SiteKind, ...]] = {
    "called": ("param", "return", "value", "field"),
    "yielded": ("param", "return"),
}


class AnnotatedCode:
    """Turns the annotations of one file into claims."""

    def __init__(self, reader: AnnotationReader, tables: Tables, sites: Sites) -> None:
        self.reader = reader
        self.tables = tables
        self.sites = sites
        self._unbound = UnboundExpressions(reader.source)

    def claims(self) -> Iterator[Claim]:
        """All claims of annotations, in the order of the text."""
        for placed in self.tables.statements:
            if isinstance(placed.node, Function):
                yield from self._function(placed.node)
            elif isinstance(placed.node, ast.AnnAssign):
                yield from self._variable(placed, placed.node)
        self.reader.problems += self._unbound.problems()

    def _function(self, node: Function) -> Iterator[Claim]:
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        if any((dotted_name(d) or "").rpartition(".")[2] == "overload" for d in node.decorator_list):
            yield from self._overload_claims(node, scope)
            return
        parameters: list[AnnotationSpec] = []
        starred = {id(a) for a in (node.args.vararg, node.args.kwarg) if a is not None}
        for argument in arguments(node):
            select: tuple[Selector, ...] = ("*",) if id(argument) in starred else ()
            written = self.reader.read_specs(argument.annotation, select)
            parameters += written
            yield from self._claims(
                written, argument.arg, scope, [SiteKey(kind="param", scope=scope, position=None, name=argument.arg)]
            )
        written = self.reader.read_specs(node.returns)
        if is_generator(node):
            written = [_of_items(each) for each in written]
        self._unbound.read_function(node, parameters, written)
        yield from self._claims(written, "the returned value", scope, [SiteKey(kind="return", scope=scope)])

    def _overload_claims(self, node: Function, scope: int) -> Iterator[Claim]:
        """What an `@overload` says: no call ever enters it."""
        annotations = [(argument.arg, argument.annotation) for argument in arguments(node)]
        for target, annotation in (*annotations, ("the returned value", node.returns)):
            for claim in self._claims(self.reader.read_specs(annotation), target, scope, []):
                yield replace(
                    claim, unread=claim.unread or f"{node.name} is an @overload declaration, which never runs"
                )

    def _variable(self, placed: PlacedStatement, node: ast.AnnAssign) -> Iterator[Claim]:
        written = [_of_any_sizes(each) for each in self.reader.read_specs(node.annotation)]
        if not written:
            return
        name = dotted_name(node.target) or "the value"
        owner = self.tables.scopes[placed.scope]
        if owner.kind == "class" and isinstance(node.target, ast.Name):
            if is_typed_dict(self.reader.names.aliases.get(owner.qualname)):
                return  # a type, as an alias is: where it annotates a value, it claims something
            yield from self._claims(
                written, name, placed.scope, [SiteKey(kind="field", scope=placed.scope, position=None, name=name)]
            )
            return
        scope = self.tables.function_scope(placed.scope)
        yield from self._claims(written, name, scope, self._places(placed, node, scope, name))

    def _places(self, placed: PlacedStatement, node: ast.AnnAssign, scope: int, name: str) -> list[SiteKey]:
        """The value of the statement, or else that of the next statement which assigns the variable."""
        if node.value is not None:
            return [value_place(scope, node.value, name, placed.loop)]
        later = self.tables.next_assignment(placed.scope, name, placed.place)
        if later is None:
            return []
        if isinstance(later.node, ast.Assign) and [dotted_name(target) for target in later.node.targets] == [name]:
            return [value_place(scope, later.node.value, name, later.loop)]
        bound = isinstance(later.node, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith)
        return [name_place(scope, name, later.node, "body" if bound else "after", later.loop)]

    def _claims(
        self, written: Sequence[AnnotationSpec], target: str, scope: int, places: Sequence[SiteKey]
    ) -> Iterator[Claim]:
        for found in written:
            each, around = found, places
            if each.arises == "called" and places and self._is_compared(places[0]):
                each = replace(
                    each, select=("?",), unread=f"{target} is compared with others, so its calls are not watched"
                )
            elif each.arises and places and places[0].kind in _ARISING[each.arises]:
                around = [replace(places[0], kind=each.arises, inside=each.inside)]
            elif each.arises:
                each = replace(each, select=("?",))
            yield Claim(
                path=self.reader.source.path,
                span=self.reader.source.span(each.node),
                notation="annotation",
                text=each.text,
                spec=each.spec,
                dtype=each.dtype,
                target=_described_part(each, target),
                scope=scope,
                sites=tuple(self.sites.add(place, each.names) for place in around),
                select=each.select,
                group=each.group,
                sure=each.sure,
                loose=not each.sure,
                structure=each.structure,
                unread=each.unread,
                by_alias=each.by_alias,
                general=each.general,
                or_number=each.or_number,
            )

    @cached_property
    def _names_compared(self) -> frozenset[str]:
        tree = self.reader.source.tree
        return compared_names(tree) if tree is not None else frozenset()

    def _is_compared(self, place: SiteKey) -> bool:
        """Whether code may tell the value from what stands in for it, so as to see its calls."""
        name = place.name.rpartition(".")[2]
        return (f".{name}" if place.kind == "field" or "." in place.name else name) in self._names_compared


def _of_any_sizes(spec: AnnotationSpec) -> AnnotationSpec:
    """What an alias for any matrix says of a field or variable: how many axes. There jaxtyping compares no names."""
    return replace(spec, spec=" ".join("_" for _ in spec.spec.split()), names=()) if spec.general else spec


def _of_items(spec: AnnotationSpec) -> AnnotationSpec:
    """What the annotation of a generator function says of what it yields: `Iterable[X]` as much as `Iterator[X]`."""
    if spec.arises == "yielded":
        return spec
    if spec.select[:1] == ("*",):
        return replace(spec, select=spec.select[1:], arises="yielded")
    return replace(spec, select=("?",), arises="")


def _described_part(spec: AnnotationSpec, target: str) -> str:
    """What a message calls the value: of a callable one of its arguments, or what it gives."""
    if spec.arises == "yielded":
        return f"an item of {target}"
    if spec.arises != "called" or "?" in spec.select:
        return target
    first = call_part(spec.select)
    if first is None:
        return target
    return f"what {target} gives" if first == "result" else f"argument {int(first) + 1} of {target}"
