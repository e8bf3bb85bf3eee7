"""The whole: from the bytes of a file to all that it claims, and to what it wants to have ignored."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Final, TypeVar

from shapecheck.claims.annotation_claims import AnnotatedCode
from shapecheck.claims.annotation_names import Names, read_names
from shapecheck.claims.annotation_specs import AnnotationReader
from shapecheck.claims.claim_sites import Sites
from shapecheck.claims.code_claims import CodeClaimReader
from shapecheck.claims.comment_claims import CommentClaimReader
from shapecheck.claims.comment_lines import read_lines
from shapecheck.claims.debug_calls import DebugCalls
from shapecheck.claims.docstring_claims import DocstringReader
from shapecheck.claims.doubtful_words import FOR_A_RANK
from shapecheck.claims.imported_aliases import Neighbours
from shapecheck.claims.inferred_parameters import inferred_parameters
from shapecheck.claims.kept_shapes import keeps_shape
from shapecheck.claims.known_dims import known_dims, own_sizes
from shapecheck.claims.local_names import has_meaning, rebound
from shapecheck.claims.near_names import NearNames
from shapecheck.claims.part_claims import described_parts
from shapecheck.claims.paths import PathReader
from shapecheck.claims.shape_names import shape_names, with_whole_shapes
from shapecheck.claims.shared_patterns import with_open_patterns
from shapecheck.claims.taught_dims import taught_dims
from shapecheck.claims.written_equations import written_equations
from shapecheck.model import Claim, Module, Problem, Scope, Span, Suppression
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.inserted_lines import find_inserted, in_whole, original
from shapecheck.syntax.scopes import Function, Tables, arguments, survey
from shapecheck.syntax.source_text import SourceText, read_source

_T = TypeVar("_T")


@dataclass(frozen=True)
class NotebookContext:
    """What its names stand for, which of them are variables, and which names are known as dims."""

    names: Names = field(default_factory=Names)
    variables: frozenset[str] = frozenset()
    dims: frozenset[str] = frozenset()

    def names_behind(self, own: Names, tables: Tables) -> Names:
        """The tables of a cell, `own`, and behind them what it does not bind anew itself."""
        bound = {*own.imported, *tables.assigned[0], *(scope.qualname for scope in tables.scopes)}
        return Names(
            imported={**_without(self.names.imported, bound), **own.imported},
            starred=own.starred,
            aliases={**_without(self.names.aliases, bound), **own.aliases},
            constants={**_without(self.names.constants, bound), **own.constants},
            unclear=own.unclear,
        )


NOTHING: Final = NotebookContext()


def read_notebook_context(text: str, dims: Iterable[str]) -> NotebookContext:
    """What the statements of `text` would leave behind, where the names `dims` are known as dims besides."""
    tables = survey(ast.parse(text))
    names = read_names(tables.statements, frozenset())
    return NotebookContext(names, frozenset(tables.assigned[0]), frozenset({*dims, *known_dims(tables, ())}))


def _without(table: dict[str, _T], names: set[str]) -> dict[str, _T]:
    return {name: value for name, value in table.items() if name not in names}


_IGNORE = re.compile(
    r"#\s*+shapecheck:\s*+ignore(?P<file>-file)?+(?![\w-])\s*+(?:\[(?P<codes>[\w\s,]*+)\])?+", re.IGNORECASE
)


def read_suppressions(comments: Iterable[Comment]) -> Iterator[Suppression]:
    """The ignore comments among all comments of a file."""
    for comment in comments:
        if "shapecheck" not in comment.text.lower():
            continue
        for match in _IGNORE.finditer(comment.text):
            codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
            start = comment.column + match.start() + 1
            span = Span(comment.line, start, comment.line, start + len(match.group().rstrip()))
            yield Suppression(None if match["file"] else comment.line, codes, span)


_MODULE = Scope(index=0, kind="module", qualname="<module>", parent=None, position=None)
_in_order = attrgetter("span.line", "span.column")


def read_module(
    path: str, data: bytes, around: NotebookContext = NOTHING, neighbours: Neighbours | None = None
) -> Module:
    """Read all claims of a file. Nothing is imported or run; a file that Python would not parse has one problem.

    A notebook's cell is no whole file: `around` knows the names that other cells have given it. `neighbours` are the
    files of the project whose aliases its annotations may use.
    """
    return claims_of(read_source(path, data, newer=True), around, neighbours)


def claims_of(source: SourceText, around: NotebookContext = NOTHING, neighbours: Neighbours | None = None) -> Module:
    """All claims of a file that is read already."""
    inserted = find_inserted(source)
    if inserted is not None:
        before = original(source, inserted)
        return in_whole(_read_tree(before.source, around, neighbours), before.kept, source.lines)
    return _read_tree(source, around, neighbours)


def _read_tree(source: SourceText, around: NotebookContext, neighbours: Neighbours | None) -> Module:
    tree = source.tree
    if tree is None:
        unread = (source.problem,) if source.problem is not None else ()
        return Module(
            path=source.path,
            scopes=(_MODULE,),
            sites=(),
            claims=(),
            suppressions=(),
            problems=unread,
            lines=source.lines,
            parsed=False,
        )
    tables = survey(tree)
    sites = Sites(partial(has_meaning, tables))
    classes = frozenset(scope.index for scope in tables.scopes if scope.kind == "class")
    names = around.names_behind(read_names(tables.statements, classes), tables)
    names.follow = neighbours
    for name in around.variables:
        tables.assigned[0].setdefault(name, [])
    annotations = AnnotationReader(source, names)
    claims: list[Claim] = list(AnnotatedCode(annotations, tables, sites).claims())
    known = known_dims(tables, sites.names()) | around.dims
    lines, malformed = read_lines(source.comments, known)
    taught = taught_dims(lines, source.comments, tables, known)
    if taught:
        lines, malformed = read_lines(source.comments, known | taught)
    comments = CommentClaimReader(source, tables, sites, known, taught, lines, annotations.new_group)
    claims += comments.claims()
    docstrings = DocstringReader(source, tables, sites, known, taught, annotations.new_group)
    claims += docstrings.claims()
    claims += CodeClaimReader(source, tables, sites, known).claims()
    shapes = shape_names(tables) - known
    claims = [with_whole_shapes(claim, shapes) for claim in with_open_patterns(claims)]
    debug_calls = tuple(DebugCalls(source, tables, sites, names).calls())
    problems: Iterable[Problem] = [*annotations.problems, *malformed, *comments.problems]
    ordered = tuple(sorted(claims, key=_in_order))
    near = NearNames(source, tables, ordered, known).find()
    paths = PathReader(tables)
    built = sites.build(paths.paths)
    return Module(
        path=source.path,
        scopes=tuple(_with_variables(tables, sites.names(), paths)),
        sites=built,
        claims=ordered,
        suppressions=tuple(read_suppressions(source.comments)),
        problems=tuple(sorted(problems, key=_in_order)),
        lines=source.lines,
        debug_calls=debug_calls,
        near_names=tuple(near),
        hints=tuple(docstrings.hints()),
        parts=tuple(described_parts(tables, ordered, built)),
        inferred=tuple(inferred_parameters(tables, ordered, built)),
        equations=tuple(written_equations(source, tables, sites.names())),
        alias_files=tuple(sorted(neighbours.used)) if neighbours is not None else (),
    )


def _with_variables(tables: Tables, used: set[str], paths: PathReader) -> Iterator[Scope]:
    """The scopes, with what is to be known of their variables that claims use, or that choose a path."""
    sizes = own_sizes(tables)
    records = _record_types(tables)
    for scope, node in zip(tables.scopes, tables.nodes, strict=True):
        own = tuple(sorted(sizes.get(scope.index, set()) & used)) if isinstance(node, Function) else ()
        types = records[scope.index]
        own_class = [scope.parent] if scope.parent and tables.scopes[scope.parent].kind == "class" else []
        changing = rebound(node) if isinstance(node, Function) else ()
        if scope.qualname.rpartition(".")[2] != "__init__":
            changing = tuple(name for name in changing if name in used)
        yield replace(
            scope,
            rebound=changing,
            sizes=own,
            switches=paths.switches(scope.index),
            records=tuple(dict.fromkeys((*own_class, *(t for name in scope.parameters for t in types.get(name, ()))))),
            reassigned=tuple(name for name in scope.parameters if _is_changed(tables, scope.index, name)),
            for_a_rank=isinstance(node, Function) and FOR_A_RANK.search(ast.get_docstring(node) or "") is not None,
        )


def _is_changed(tables: Tables, scope: int, name: str) -> bool:
    """Whether a parameter is given values that need not have its shape, as `x = jnp.asarray(x)` has."""
    places, function = tables.assignments(scope, name), tables.nodes[scope]
    if len(places) != 1 or not isinstance(function, Function):
        return bool(places)
    return not keeps_shape(function, tables.statements[places[0]].node.lineno, name)


def _record_types(tables: Tables) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
    """For each scope the classes of the file that its parameters are, as their annotations say.

    What has none is of the class that all others of its name have.
    """
    classes = {scope.qualname: scope.index for scope in tables.scopes if scope.kind == "class" and scope.parent == 0}
    found: defaultdict[int, dict[str, tuple[int, ...]]] = defaultdict(dict)
    by_name: defaultdict[str, set[tuple[int, ...]]] = defaultdict(set)
    open_ones: list[tuple[int, str]] = []
    for scope, node in enumerate(tables.nodes if classes else ()):
        for each in arguments(node) if isinstance(node, Function) else ():
            if each.annotation is None:
                open_ones.append((scope, each.arg))
                continue
            parts = (part for part in ast.walk(each.annotation))
            called = (part.value if isinstance(part, ast.Constant) else getattr(part, "id", None) for part in parts)
            types = tuple(classes[name] for name in called if isinstance(name, str) and name in classes)
            by_name[each.arg].add(types)
            if types:
                found[scope][each.arg] = types
    for scope, name in open_ones:
        if len(by_name[name]) == 1:
            found[scope][name] = next(iter(by_name[name]))
    return found


def claims_json(modules: Sequence[Module]) -> dict[str, object]:
    """What `shapecheck claims --output-format json` prints."""
    return {"version": 1, "claims": [_plain(module, claim) for module in modules for claim in module.claims]}


def _plain(module: Module, claim: Claim) -> dict[str, object]:
    return {
        "path": claim.path,
        "line": claim.span.line,
        "column": claim.span.column,
        "notation": claim.notation,
        "spec": f"{claim.dtype} {claim.spec}".strip(),
        "target": claim.target,
        "sure": claim.sure,
        "scope": module.scopes[claim.scope].qualname,
    }
