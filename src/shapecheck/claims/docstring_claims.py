"""From docstrings to claims: of parameters, fields and what a function returns.

Prose hedges more than a comment does, so that only a shape which is plainly said of the value itself is a claim.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from shapecheck.claims.axis_words import MAY_SAY_RANK, rank_of
from shapecheck.claims.brackets import Bracket
from shapecheck.claims.claim_sites import SiteKey, Sites
from shapecheck.claims.comment_text import lone_capital
from shapecheck.claims.described_entries import entry_shapes, item_shapes
from shapecheck.claims.described_shapes import gives_else, list_elements, read_shapes, says_entries
from shapecheck.claims.docstring_sections import Item, Line, read_items, without_markup
from shapecheck.claims.mentioned_shapes import named_shapes, shape_of_summary
from shapecheck.claims.result_phrases import has_another_case
from shapecheck.claims.signature_lines import ARROW, read_signature
from shapecheck.claims.statement_subjects import is_plain_type
from shapecheck.claims.unmarked_shapes import admits_number, takes_no_array
from shapecheck.claims.value_hints import MAY_LIST_TEXTS, MAY_SAY_TYPE, texts_of, type_of
from shapecheck.claims.value_sentences import DescribedShape, sentence_at
from shapecheck.model import Claim, DocstringHint, Selector, Span, entry_selector
from shapecheck.shapes import AnyDim, AnyDims, NamedDim, Spec, parse_spec, print_spec
from shapecheck.syntax.scopes import (
    Function,
    Tables,
    arguments,
    dotted_name,
    is_generator,
    last_name,
    result_count,
    returned_values,
)
from shapecheck.syntax.source_text import SourceText

_WISHED = re.compile(
    r"\W*(?:int(?:eger)?\W+)?(?:the\s+)?(?:target|desired|wanted|requested|new)\s+(?:number|size|length|count|width|height)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')")
_MAY_HINT_TYPED = re.compile(rf"{MAY_SAY_RANK.pattern}|{MAY_LIST_TEXTS.pattern}", re.IGNORECASE)
_MAY_HINT = re.compile(rf"{_MAY_HINT_TYPED.pattern}|{MAY_SAY_TYPE.pattern}", re.IGNORECASE)
_MAY_STATE = re.compile(
    r"shape|scalar|\b(?:1|one)[- ]?d|[(\[][^()\[\]]*[)\]]|\w [x×] \w|-by-|[A-Z\d]x[A-Z\d]", re.IGNORECASE
)
_OR_TREE = re.compile(r"\bor\s+(?:an?\s+)?(?:pytrees?|trees?|nested\b)", re.IGNORECASE)
_SCALAR_NAMED = re.compile(r"\b(?:an?|the)\s+scalar\s+[`'\"*]*(?P<name>[A-Za-z_]\w*)")  # "along (a scalar index)"
_LIST_OF_TUPLES = re.compile(r"\b[Ll]ists? of\b[^.:]*\b(?:tuples?|pairs?)\b")
# `(M)`, `(n_beacons)`: the one axis of a vector, where others have it too
_ALONE = re.compile(r"\(([A-Z]|[A-Za-z]\w*_\w+)\)")


@dataclass(frozen=True)
class _Description:
    """A description as one text without markup, with the way back to the file."""

    text: str
    offsets: Sequence[int]
    starts: tuple[tuple[int, Line], ...]

    def span(self, start: int, end: int) -> Span:
        """Where a stretch of the text stands in the file."""
        (line, column), (end_line, end_column) = self._position(start), self._position(end - 1)
        return Span(line, column, end_line, end_column + 1)

    def _position(self, offset: int) -> tuple[int, int]:
        offset = self.offsets[offset]
        begin, line = max((each for each in self.starts if each[0] <= offset), key=lambda each: each[0])
        return line.number, line.column + offset - begin + 1


_IS_SHAPE = re.compile(r"(?:^|_)shapes?$", re.IGNORECASE)
# "input_name: The name of the input to use, of shape [features]" is a text.
_IS_OF_NAME = re.compile(r"[\s:]*(?:the\s+)?names?\s+(?:of|to|for|under|that|by)\b", re.IGNORECASE)
_GIVES = re.compile(r"\s*(?:[Rr]eturns?|Gets?|Gives?)[\s:]\s*")
_GIVES_THEN = re.compile(r"(?:[.;:,)]\s+(?:and\s+)?(?:Returns?|returns)|\n\s*(?:Returns?|returns))[\s:]\s*")
_IN_CASE = re.compile(r"\s*(?:if|when|whenever|where|unless|in\s+case)\b", re.IGNORECASE)
_FOR_NAME = re.compile(r"\b(?:for|of|from|in|over|at|with|on|to)\s+[`'\"*]*(?P<name>[A-Za-z_]\w*)[`'\"*]*\s*$")
_LAST_IS_SHAPE = re.compile(
    r".*\w(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})(?<![A-Z][a-z]s)\.\s+(?=(?:[Ss]hape:?\s*)?`*[(\[][^.]*[)\]]`*(?:,(?:\s[\w-]+){1,3})?[.\s]*\Z)",
    re.DOTALL,
)
# "The (rows, columns) shape, as a tuple"
_IS_TUPLE_ITSELF = re.compile(r"[)\]]`*\s+shape,?\s+as\s+an?\s+(?:\w+\s+)?tuple\b")
_BEGINS_WITH_SHAPE = re.compile(r"\s*(?=`*[(\[])")
_RESULT_IS = re.compile(
    r"(?:^|[.;]\s+)\s*[Tt]he\s+(?:results?|outputs?|return(?:ed)?\s+values?|answer)\s+(?:is|are|has|have)\s+"
    r"(?=(?:of\s+)?(?:shape\s+)?[`\[(\w])"
)
_SENTENCE_END = re.compile(r"(?<=[^.]\.)\s")
_MAPS = frozenset({"vmap", "pmap", "jit", "grad", "value_and_grad", "scan", "map", "checkpoint", "remat"})
_IS_SCALAR = re.compile(
    r"\s*(?:an?|the)\s+(?:[a-z-]+\s+){0,2}(?P<word>scalar)(?:\s+(?:loss|value|number|array))?[.\s]*"
)
_PROPERTIES = frozenset({"property", "cached_property", "lazy_property"})


class DocstringReader:
    """Reads the docstrings of one file. `known` are names of dims, `taught` those that its own texts show to be."""

    def __init__(
        self,
        source: SourceText,
        tables: Tables,
        sites: Sites,
        known: Set[str],
        taught: Set[str],
        new_group: Callable[[], int],
    ) -> None:
        self.source = source
        self.tables = tables
        self.sites = sites
        self.known = known
        self.readable = known | taught
        self.new_group = new_group
        self._items: dict[int, list[Item]] = {}  # of the docstrings that were taken apart, by scope

    def claims(self) -> list[Claim]:
        """All claims of docstrings, in order."""
        return [
            claim
            for scope, node in enumerate(self.tables.nodes)
            if not isinstance(node, ast.Module)
            for claim in self._of_node(scope, node)
        ]

    def hints(self) -> list[DocstringHint]:
        """What docstrings say of parameters beside shapes: how many axes, a plain type, which texts they may be."""
        return [
            hint
            for scope, node in enumerate(self.tables.nodes)
            if not isinstance(node, ast.Module)
            for hint in self._hints_of_node(scope, node)
        ]

    def _hints_of_node(self, scope: int, node: Function | ast.ClassDef) -> Iterator[DocstringHint]:
        docstring = _docstring_matching(_MAY_HINT if _has_open_parameters(node) else _MAY_HINT_TYPED, node)
        if docstring is None:
            return
        for item in self._items_of(scope, node, docstring):
            if item.kind != "param":
                named = _SCALAR_NAMED.finditer(_join_lines(item.lines).text)
                places = (self._place(scope, node, "param", each["name"]) for each in named)
                yield from (DocstringHint(p[0], p[1], 0, "", ()) for p in places if p is not None)
                continue
            text = _join_lines(item.lines).text
            axes = rank_of(text) if item.style != "list" else None  # a list outside of sections tells of anything
            kind, texts = type_of(item.type or text), texts_of(text, item.names)
            if axes is not None or kind or texts:
                places = (self._place(scope, node, item.kind, name) for name in item.names)
                yield from (DocstringHint(p[0], p[1], axes, kind, texts) for p in places if p is not None)

    def _of_node(self, scope: int, node: Function | ast.ClassDef) -> Iterator[Claim]:
        if isinstance(node, ast.ClassDef):
            yield from self._of_fields(scope, node)
        docstring = _docstring_matching(_MAY_STATE, node)
        if docstring is None:
            return
        items = self._items_of(scope, node, docstring)
        items = _in_place_of_names(items, node)
        returned = sum(item.kind == "return" and item.style == "numpy" for item in items)
        *items, prose = items
        one_of = self.new_group() if _returns_one_of(node, items) else None
        said: set[str] = set()  # the names of dims that the parameters have here
        known_by_others: set[str] = set()  # those of claims that are sure
        wished = _wished_sizes(items)
        for item in items:
            text = _join_lines(item.lines)
            if _MAY_STATE.search(text.text) or lone_capital(text.text) or says_entries(text.text) is not None:
                beside = said if item.kind == "return" else said.intersection(_ALONE.findall(text.text))
                known = self.readable | beside
                claims = list(self._of_item(scope, node, item, text, returned if one_of is None else 1, known))
                if item.kind == "return" and one_of is not None:
                    claims = [replace(claim, group=one_of) for claim in claims]
                claims = [_as_sure_as_others(claim, known_by_others) for claim in claims]
                said.update(name for claim in claims for name in parse_spec(claim.spec).names())
                known_by_others.update(n for claim in claims if claim.sure for n in parse_spec(claim.spec).names())
                yield from claims if item.kind == "return" else (_with_any(claim, wished) for claim in claims)
        gives = isinstance(node, Function) and not is_generator(node) and any(True for _ in returned_values(node))
        says_result = not gives or any(each.kind == "return" for each in items)
        for number, lines in enumerate(_paragraphs(prose.lines)):
            text = _join_lines(lines)
            mapping = [*self._of_signature(scope, node, text)] if isinstance(node, Function) else []
            spans = {each.span for each in mapping}
            yield from (each for each in self._of_prose(scope, node, text) if each.span not in spans)
            yield from mapping
            says_result = says_result or bool(mapping)
            if not says_result and isinstance(node, Function):
                is_result = number == 0 and _is_property(node)
                yield from self._of_result(scope, node, text, is_result=is_result, is_first=number == 0)

    def _of_fields(self, scope: int, node: ast.ClassDef) -> Iterator[Claim]:
        """What a string below a field says of it, as documentation tools read them."""
        for field, below in itertools.pairwise(node.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str()) as docstring):
                    item = Item("field", (name,), self._lines(docstring))
                    text = _join_lines(item.lines)
                    if _MAY_STATE.search(text.text):
                        yield from self._of_item(scope, node, item, text, 0, self.readable)

    def _items_of(self, scope: int, node: Function | ast.ClassDef, docstring: ast.Constant) -> list[Item]:
        if scope not in self._items:
            self._items[scope] = read_items(self._lines(docstring), self._names(scope, node))
        return self._items[scope]

    def _of_prose(self, scope: int, node: Function | ast.ClassDef, text: _Description) -> Iterator[Claim]:
        """What a text says in passing: "where x is an array of shape (n, d)"."""
        for name, each in named_shapes(text.text, self._names(scope, node), self.readable):
            if isinstance(node, Function) and _names_items(node, name, each.bracket.spec.names()):
                continue
            place = self._place(scope, node, "param", name)
            if place is not None:
                yield self._claim(text, each, *place, (), None)

    def _of_signature(self, scope: int, node: Function, text: _Description) -> Iterator[Claim]:
        """What a line with an arrow says of what a function takes and gives: "(b, n) -> (b, n, n), of pairs"."""
        names = [each.arg for each in arguments(node) if each.arg not in ("self", "cls")]
        by_place = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        required = [each for each in by_place[: len(by_place) - len(node.args.defaults)] if each in names]
        count = result_count(node)
        names_of_results = _returned_names(node) if count > 1 else ()
        read = functools.partial(read_signature, count=count, returned=names_of_results)
        found = read(text.text, names, required, self.readable)
        if found is None and len(arrows := [*ARROW.finditer(text.text)]) == 1:  # a last sentence may have it alone
            ends = [each.end() for each in _SENTENCE_END.finditer(text.text, 0, arrows[0].start())]
            begin = ends[-1] if ends else 0
            found = read(" " * begin + text.text[begin:], names, required, self.readable)
        if found is None or is_generator(node) or _calls(node, [name for name, _ in found.taken]):
            return  # or it tells of what a function takes and gives that is an argument
        for name, bracket in found.taken:
            place = self._place(scope, node, "param", name)
            if place is not None:
                yield self._claim(text, _in_place(bracket), *place, (), None)
        result = SiteKey(kind="return", scope=scope)
        for each in found.given:
            select: tuple[Selector, ...] = () if each.place is None else (each.place,)
            shape = replace(_in_place(each.bracket), sure=each.sure)
            yield self._claim(text, shape, scope, "the returned value", result, select, None)

    def _of_result(
        self, scope: int, node: Function, text: _Description, *, is_result: bool, is_first: bool
    ) -> Iterator[Claim]:
        """What a text says of the result, as that of a property does, or a sentence "Returns the [n, d] array".

        Or the first one of all ends with it.
        """
        gives = _GIVES.match(text.text) or _GIVES_THEN.search(text.text) or _RESULT_IS.search(text.text)
        if gives is None and is_first and not ARROW.search(text.text):
            gives = _BEGINS_WITH_SHAPE.match(text.text) or _LAST_IS_SHAPE.match(text.text)
        if gives is None and not is_result:
            if is_first and (last := shape_of_summary(text.text, self._names(scope, node), self.readable)) is not None:
                place = SiteKey(kind="return", scope=scope)
                yield self._claim(text, last, scope, "the returned value", place, (), None)
            return
        begin = gives.end() if gives is not None else 0
        if _IN_CASE.match(text.text[sentence_at(text.text, begin)[0] : begin]):
            return  # "When all lists are empty, returns shape (n, 0)"
        first = _SENTENCE_END.split(text.text[begin:], maxsplit=1)[0]
        if _IS_TUPLE_ITSELF.search(first):
            return
        place = SiteKey(kind="return", scope=scope)
        count = result_count(node)
        if count == 0 and (scalar := _IS_SCALAR.fullmatch(first)) is not None:
            start, end = (begin + each for each in scalar.span("word"))
            bracket = Bracket(start=start, end=end, text="scalar", spec=Spec(()))
            yield self._claim(
                text, DescribedShape(bracket, True, leaves=False), scope, "the returned value", place, (), None
            )
            return
        names = _returned_names(node) if count > 1 else ()
        shapes = read_shapes(
            " " * begin + first,
            (),
            is_return=True,
            known=self.readable,
            count=count,
            returned=names,
            parameters=self._names(scope, node),
        )
        shapes = [each for each in shapes if not self._is_of_parameter(scope, node, text.text[: each.bracket.start])]
        if count > 1:  # nobody says else which of the results it is
            shapes = [each for each in shapes if each.result is not None]
        if has_another_case(text.text, begin + len(first), self.readable):
            shapes = [replace(each, sure=False) for each in shapes]
        for each in shapes if count > 1 else shapes[:1]:
            way: tuple[Selector, ...] = () if each.result is None else (each.result,)
            select = (*way, "leaves") if each.leaves else way
            yield self._claim(text, each, scope, "the returned value", place, select, None)

    def _is_of_parameter(self, scope: int, node: Function, before: str) -> bool:
        """Whether a shape stands behind the name of what a function takes: "The frequencies for `g (n, m)`"."""
        found = _FOR_NAME.search(before)
        return found is not None and found["name"] in self._names(scope, node)

    def _names(self, scope: int, node: Function | ast.ClassDef) -> frozenset[str]:
        """The parameters of a function, or the fields of a class and the parameters of its constructor."""
        if isinstance(node, Function):
            return frozenset(self.tables.scopes[scope].parameters)
        inner = (each for each in self.tables.scopes[scope:] if each.parent == scope and each.kind == "function")
        made = (name for each in inner if each.qualname.endswith(".__init__") for name in each.parameters)
        fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
        return frozenset({*made, *(name for field in fields if (name := dotted_name(field)) is not None)} - {"self"})

    def _lines(self, node: ast.Constant) -> list[Line]:
        """The docstring as it stands in the file."""
        span = self.source.span(node)
        result = []
        for number in range(span.line, span.end_line + 1):
            text = self.source.lines[number - 1]
            column = 0
            if number == span.end_line:
                text = text[: span.end_column - 1]
                text = text[: len(text) - (3 if text.endswith(('"""', "'''")) else 1)]
            if number == span.line:
                opening = _OPENING.match(text, span.column - 1)
                column = opening.end() if opening is not None else span.column
            result.append(Line(number, column, text[column:]))
        return result

    def _of_item(
        self,
        scope: int,
        node: Function | ast.ClassDef,
        item: Item,
        text: _Description,
        returned: int,
        known: Set[str],
    ) -> Iterator[Claim]:
        if item.style == "arrow" and _calls(node, item.names):
            return  # `f: (n,) -> (m,)` tells of what the function f takes and gives
        is_return = item.kind == "return"
        is_whole = is_return and returned <= 1
        names = _returned_names(node) if is_whole and isinstance(node, Function) else []
        elements = list_elements(text.text) or names
        count = result_count(node) if is_whole and isinstance(node, Function) else 0
        shapes = read_shapes(
            text.text,
            elements,
            is_return=is_return,
            known=known,
            count=count,
            returned=names,
            parameters=self._names(scope, node),
        )
        if is_return:  # "of shape [...] (as the input)" leaves it to the words behind, and cannot be false
            shapes = [each for each in shapes if each.bracket.dtype or each.bracket.spec.dims != (AnyDims(),)]
        if is_return and gives_else(text.text, self.tables.scopes[scope].parameters):
            shapes = [replace(each, sure=False) for each in shapes]
        if _OR_TREE.search(text.text):  # then its arrays have the shapes of what that is like
            shapes = [replace(each, sure=False) for each in shapes]
        select: tuple[Selector, ...] = ("leaves",) if any(each.leaves for each in shapes) else ()
        if item.kind == "return":
            if isinstance(node, ast.ClassDef) or is_generator(node):
                return
            if item.style == "arrow" and count > 1 and any(each.result is None for each in shapes):
                return  # nobody says which of the results it is
            if returned > 1:
                select = (item.place, *select)
            places = [(scope, "the returned value", SiteKey(kind="return", scope=scope))]
        else:
            found = [self._place(scope, node, item.kind, name) for name in item.names]
            places = [place for place in found if place is not None]
        entries: list[tuple[str | int, DescribedShape]] = [*entry_shapes(text.text, known)]
        entries = entries or [*item_shapes(text.text, known)]
        for owner, name, place in places:
            if entries:
                outer = (item.place,) if is_return and returned > 1 else ()
                for key, each in entries:
                    way = (*outer, entry_selector(key) if isinstance(key, str) else key)
                    yield self._claim(text, each, owner, f"{name}[{key!r}]", place, way, None)
                continue
            if place.kind != "return" and _IS_OF_NAME.match(text.text):
                continue
            if place.kind != "return" and _IS_SHAPE.search(name):
                continue  # "full_shape: image shape (n, h, w, c)" tells what is in it
            # "b, c: coefficients", and below it "- b: (n,)": each of them has its own.
            said = [each for each in shapes if each.part in ("", name) or each.part not in item.names]
            annotation = self._annotation(owner, place) if place.kind != "return" else None
            if place.kind != "return" and takes_no_array(name, text.text, annotation):
                # `step (float): the size of a step   (n,)` has the type of its elements.
                said = [each for each in said if not each.unmarked or _ends_as_shape(text.text, each.bracket)]
            if annotation is not None and is_plain_type(annotation):
                # "num_classes: also controls the output of shape (num_classes,)" tells of something else.
                said = [each for each in said if name not in each.bracket.spec.names()]
            if annotation is not None and _has_different_members(annotation):
                said = [each if each.part else replace(each, sure=False) for each in said]
            groups = self._groups_of_alternatives(said)
            ends = (said[0].bracket.start, said[-1].bracket.end) if said else (0, 0)
            around = text.text[: ends[0]], text.text[ends[1] :]
            if place.kind == "param" and said and admits_number(*around, annotation):
                said = [replace(each, or_number=True) for each in said]
            for each, group in zip(said, groups, strict=True):
                if each.result is not None:
                    yield self._claim(text, each, owner, name, place, (each.result, *select), group)
                elif each.part and each.part in elements:  # of what is no variable the name is ""
                    index: tuple[Selector, ...] = (elements.index(each.part), *select)
                    if _LIST_OF_TUPLES.search(text.text):
                        index = ("*", elements.index(each.part))
                    yield self._claim(text, replace(each, part=""), owner, name, place, index, group)
                else:
                    own = replace(each, part="" if each.part == name else each.part)
                    yield self._claim(text, own, owner, name, place, select, group)

    def _groups_of_alternatives(self, shapes: Sequence[DescribedShape]) -> list[int | None]:
        """For each shape the group of those that the same value may have: all, or those of one part or result."""
        values = [(each.result, each.part) if each.apart else () for each in shapes]
        groups = {value: self.new_group() for value in dict.fromkeys(values) if values.count(value) > 1}
        return [groups.get(value) for value in values]

    def _place(
        self, scope: int, node: Function | ast.ClassDef, kind: str, name: str
    ) -> tuple[int, str, SiteKey] | None:
        """The parameter or field of this name, with the scope whose bindings count."""
        if isinstance(node, ast.ClassDef):
            for inner in self.tables.scopes[scope:] if kind == "param" else ():
                if inner.parent == scope and inner.qualname.endswith(".__init__") and name in inner.parameters:
                    return inner.index, name, SiteKey(kind="param", scope=inner.index, position=None, name=name)
            if self.tables.has_field(scope, name):
                return scope, name, SiteKey(kind="field", scope=scope, position=None, name=name)
            return None
        if kind == "param" and name in self.tables.scopes[scope].parameters:
            return scope, name, SiteKey(kind="param", scope=scope, position=None, name=name)
        return None

    def _annotation(self, scope: int, place: SiteKey) -> ast.expr | None:
        """The type of a parameter or field."""
        node = self.tables.nodes[scope]
        if place.kind == "param" and isinstance(node, Function):
            return next((each.annotation for each in arguments(node) if each.arg == place.name), None)
        fields = (each for each in node.body if isinstance(each, ast.AnnAssign))
        return next((each.annotation for each in fields if dotted_name(each.target) == place.name), None)

    def _claim(
        self,
        text: _Description,
        shape: DescribedShape,
        scope: int,
        name: str,
        place: SiteKey,
        select: tuple[Selector, ...],
        group: int | None,
    ) -> Claim:
        bracket = shape.bracket
        names = bracket.spec.names()
        sure = shape.sure and (not shape.unmarked or any(each in self.known for each in names))
        return Claim(
            path=self.source.path,
            span=text.span(bracket.start, bracket.end),
            notation="docstring",
            text=" ".join(bracket.text.split()),
            spec=print_spec(bracket.spec),
            dtype=bracket.dtype,
            target=name,
            scope=scope,
            sites=(self.sites.add(place, names),),
            select=select,
            group=group,
            sure=sure,
            marked=True,
            readings=tuple(map(print_spec, bracket.readings)),
            part=shape.part,
            loose=not (shape.sure and names),
            each=shape.leaves,  # what is called a list may be an array
            or_number=shape.or_number,
            under_condition=shape.under_condition,
        )


def _has_different_members(annotation: ast.expr) -> bool:
    """Whether a tuple has members of different shapes, so that none of them has the one that a text tells of it all."""
    if not isinstance(annotation, ast.Subscript) or last_name(annotation.value) not in ("tuple", "Tuple"):
        return False
    members = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
    shapes = {part.value for each in members for part in ast.walk(each) if isinstance(part, ast.Constant)}
    return len({each for each in shapes if isinstance(each, str)}) > 1


def _ends_as_shape(text: str, bracket: Bracket) -> bool:
    """Whether a text ends with what can be nothing but the shape of a vector: `(n,)`."""
    return bracket.trailing_comma and not text[bracket.end :].strip(" `.\n")


def _in_place(bracket: Bracket) -> DescribedShape:
    """A shape that nothing but its place says to be one."""
    return DescribedShape(bracket, sure=True, leaves=False, unmarked=True)


def _wished_sizes(items: Sequence[Item]) -> frozenset[str]:
    """The parameters that are sizes to be had: `frames: the target number of frames`. What comes in may have others."""
    found = (item.names for item in items if item.kind == "param" and _WISHED.match(_join_lines(item.lines).text))
    return frozenset(name for names in found for name in names)


def _as_sure_as_others(claim: Claim, known: Set[str]) -> Claim:
    """A claim that nothing but its place says to be one, sure where those of other entries have all of its names."""
    names = parse_spec(claim.spec).names()
    return replace(claim, sure=True) if not (claim.sure or claim.loose) and names and {*names} <= known else claim


def _with_any(claim: Claim, sizes: Set[str]) -> Claim:
    """A claim that also holds of any other size where it names one of these."""
    dims = parse_spec(claim.spec).dims
    opened = [AnyDim(str(dim)) if isinstance(dim, NamedDim) and dim.name in sizes else dim for dim in dims]
    return replace(claim, readings=(*claim.readings, print_spec(Spec(tuple(opened))))) if opened != [*dims] else claim


def _paragraphs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines between blank ones."""
    for is_blank, inside in itertools.groupby(lines, key=lambda line: not line.text.strip()):
        if not is_blank:
            yield [*inside]


def _calls(node: Function | ast.ClassDef, names: Sequence[str]) -> bool:
    """Whether a function calls a parameter, or hands one on as it is to what may call it: `jax.vmap(f)(x)`."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    mapped = [
        each.args[0] for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr in _MAPS and each.args
    ]
    return any(isinstance(each, ast.Name) and each.id in names for each in (*(call.func for call in calls), *mapped))


def _names_items(node: Function, parameter: str, names: Collection[str]) -> bool:
    """Whether a function takes items out of a parameter under these names: a state `[S, V]`, `S, _V = state`."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(target := each.targets[-1], ast.Tuple)
        and {(dotted_name(name) or "").strip("_") for name in target.elts} == {*names}
        and all(_is_item(value, parameter) for value in getattr(each.value, "elts", [each.value]))
        for each in ast.walk(node)
    )


def _is_item(value: ast.expr, parameter: str) -> bool:
    """Whether an expression is a parameter, or an item of it."""
    return dotted_name(value.value if isinstance(value, ast.Subscript) else value) == parameter


def _is_property(node: Function) -> bool:
    return any((dotted_name(each) or "").rpartition(".")[2] in _PROPERTIES for each in node.decorator_list)


def _has_open_parameters(node: Function | ast.ClassDef) -> bool:
    """Whether a function, or the constructor of a class, has parameters without an annotation."""
    if isinstance(node, Function):
        return any(each.annotation is None and each.arg not in ("self", "cls") for each in arguments(node))
    made = (each for each in node.body if isinstance(each, Function) and each.name == "__init__")
    return any(map(_has_open_parameters, made))


def _docstring_matching(pattern: re.Pattern[str], node: Function | ast.ClassDef) -> ast.Constant | None:
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return None
    text = first.value.value
    return first.value if isinstance(text, str) and pattern.search(text) else None


def _join_lines(lines: Sequence[Line]) -> _Description:
    starts, parts, length = [], [], 0
    for line in lines:
        starts.append((length, line))
        parts.append(line.text)
        length += len(line.text) + 1
    text, offsets = without_markup("\n".join(parts))
    return _Description(text, offsets, tuple(starts) or ((0, Line(1, 0, "")),))


def _in_place_of_names(items: list[Item], node: Function | ast.ClassDef) -> list[Item]:
    """The items, those of returned variables in the places of these, where a sentence stands before them, or one twice.

    A function that returns `P, offset` may say what they are together, and then `P: (d, d)` and `offset: (n,)`.
    """
    names = _returned_names(node) if isinstance(node, Function) else []
    results = [item for item in items if item.kind == "return" and item.style == "numpy"]
    named = [item for item in results if item.names]
    if len(results) == len(names) or len(named) < 2 or {name for each in named for name in each.names} != {*names}:
        return items
    if any(len(item.names) > 1 for item in named):
        return items
    for item in named:
        item.place = names.index(item.names[0])
    return [item for item in items if item not in results or item in named]


def _returns_one_of(node: Function | ast.ClassDef, items: Sequence[Item]) -> bool:
    """Whether a function returns one variable or another, which the items of its results name."""
    named = [item.names for item in items if (item.kind, item.style) == ("return", "numpy")]
    if not isinstance(node, Function) or len(named) < 2:
        return False
    returned = {value.id if isinstance(value, ast.Name) else "" for value in returned_values(node)}
    return len(returned) > 1 and "" not in returned and all(len(each) == 1 and each[0] in returned for each in named)


def _returned_names(node: Function) -> list[str]:
    """The names of what a function returns, if it returns the same tuple of variables everywhere, or None for some."""
    tuples = [value.elts for value in returned_values(node) if isinstance(value, ast.Tuple)]
    if len({*map(len, tuples)}) != 1:
        return []
    names: list[str] = []
    for parts in zip(*tuples, strict=True):
        called = {dotted_name(each) or "" for each in parts if not _is_none(each)}
        if len(called) > 1:
            return []
        names += called or {""}
    return names


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
