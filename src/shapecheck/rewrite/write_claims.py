"""Claims put into a file where there were none: comments behind statements, annotations of parameters and results."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from shapecheck.rewrite.transform import RewriteError, require_lossless
from shapecheck.syntax.concrete_file import ConcreteFile, deep_recursion
from shapecheck.syntax.owners import UnreadableError
from shapecheck.syntax.source_text import declared_encoding, read_source

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SHORTEST_LIMIT = 88  # how long lines may become where the file itself has no longer ones

_ARRAY_MODULES = ("jaxtyping", "jax", "chex")

SignatureKey = tuple[int, int, str]
"""The line and column of a `def`, and a parameter; "" for the result."""


def write_comments(path: str, data: bytes, comments: Mapping[int, str]) -> bytes:
    """The file with comments at the ends of lines, of those that do not make a line too long."""
    encoding = declared_encoding(data)
    lines: list[str] = _LINES.findall(data.decode(encoding))[:-1]
    longest = max([_SHORTEST_LIMIT, *(len(line.rstrip()) for line in lines)])
    for number, comment in comments.items():
        line = lines[number - 1]
        text = line.rstrip("\r\n")
        written = f"{text.rstrip()}  # {comment}"
        if len(written) <= longest:
            lines[number - 1] = written + line[len(text) :]
    after = "".join(lines).encode(encoding)
    if ast.dump(ast.parse(after)) != ast.dump(ast.parse(data)):
        raise RewriteError(f"{path}: a comment would have changed its code")
    return after


def write_annotations(path: str, data: bytes, wanted: Mapping[SignatureKey, tuple[str, str]]) -> bytes:
    """The file with annotations: for each key the jaxtyping class and its dims. Raises RewriteError."""
    source = read_source(path, data)
    if source.tree is None:
        raise RewriteError("it cannot be read")
    bound = _bound_names(source.tree)
    if any(origin == ("jaxtyping", "*") for origin in bound.values()):
        raise RewriteError("`from jaxtyping import *` binds none of its names: import Array and Float by name")
    own = {name: _own_name(bound, name) for name in {dtype for dtype, _ in wanted.values()}}
    own["Array"] = next((found for module in _ARRAY_MODULES if (found := _own_name(bound, "Array", module))), "")
    taken = {name for name, found in own.items() if not found and name in bound}
    if taken:
        raise RewriteError(f"{', '.join(sorted(taken))} means something else in it than jaxtyping's")
    file = ConcreteFile(data, source.tree)
    try:
        require_lossless(file)
        context = CodemodContext()
        with deep_recursion():
            names = {name: found or name for name, found in own.items()}
            module = file.module.visit(_AnnotationWriter(file, wanted, names, _keeps_names_bare(source.tree)))
            for name in sorted(name for name, found in own.items() if not found):
                AddImportsVisitor.add_needed_import(context, "jaxtyping", name)
            return AddImportsVisitor(context).transform_module(module).bytes
    except UnreadableError as error:
        raise RewriteError(str(error)) from error


Origin = tuple[str, str]
"""The module that a name is imported from and what it is called there; "" for a whole module, and for own names."""


def _bound_names(tree: ast.Module) -> dict[str, Origin]:
    """The names that the file imports or defines, with what they are."""
    found: dict[str, Origin] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names})
        elif isinstance(node, ast.Import):
            found.update({alias.asname or alias.name: (alias.name, "") for alias in node.names})
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = ("", "")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, ("", ""))
    return found


def _own_name(bound: Mapping[str, Origin], name: str, module: str = "jaxtyping") -> str:
    """What the file calls a name of a module: `Float`, `F`, or `jt.Float`; "" if it has none for it."""
    single = [own for own, origin in bound.items() if origin == (module, name)]
    if single:
        return name if name in single else single[0]
    return next((f"{own}.{name}" for own, origin in bound.items() if origin == (module, "") and own != module), "")


def _keeps_names_bare(tree: ast.Module) -> bool:
    """Whether the file writes one dim alone as `"n"`: linters take that for a type, which is why most write `" n"`."""
    texts = [
        node.slice.elts[-1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1
        if isinstance(node.slice.elts[-1], ast.Constant) and isinstance(node.slice.elts[-1].value, str)
    ]
    return any(text.isidentifier() for text in texts)


class _AnnotationWriter(cst.CSTTransformer):
    """Writes the annotations of functions."""

    def __init__(
        self, file: ConcreteFile, wanted: Mapping[SignatureKey, tuple[str, str]], names: Mapping[str, str], bare: bool
    ) -> None:
        super().__init__()
        self._file, self._wanted, self._names, self._bare = file, wanted, names, bare

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        """Annotate the parameters and the result."""
        node = self._file.statement(original_node)
        place = node.lineno, node.col_offset
        params = updated_node.params
        params = params.with_changes(
            **{
                kind: [self._annotate(place, each) for each in getattr(params, kind)]
                for kind in ("posonly_params", "params", "kwonly_params")
            }
        )
        returns = self._annotation(place, "") or updated_node.returns
        return updated_node.with_changes(params=params, returns=returns)

    def _annotate(self, place: tuple[int, int], param: cst.Param) -> cst.Param:
        annotation = self._annotation(place, param.name.value)
        if annotation is None:
            return param
        spaced = {} if param.default is None or param.annotation is not None else {"equal": cst.AssignEqual()}
        return param.with_changes(annotation=annotation, **spaced)

    def _annotation(self, place: tuple[int, int], name: str) -> cst.Annotation | None:
        found = self._wanted.get((*place, name))
        if found is None:
            return None
        dtype, dims = found
        text = f" {dims}" if dims.isidentifier() and not self._bare else dims
        return cst.Annotation(cst.parse_expression(f'{self._names[dtype]}[{self._names["Array"]}, "{text}"]'))
