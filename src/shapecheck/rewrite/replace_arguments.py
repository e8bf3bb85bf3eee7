"""The edits of findings put into a file: each has new arguments for one argument of a call."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from shapecheck.model import Edit, Span
from shapecheck.rewrite.transform import RewriteError, require_lossless, transform
from shapecheck.syntax.concrete_file import ConcreteFile, deep_recursion, libcst_failures


def replace_arguments(file: ConcreteFile, edits: Sequence[Edit]) -> bytes:
    """The file with the edits in it. Raises RewriteError where one of them stands for no argument."""
    require_lossless(file)
    replacing = ReplaceArguments(file, edits)
    data = transform(file, replacing)
    if replacing.left:
        line = min(span.line for span in replacing.left)
        raise RewriteError(f"line {line}: no argument of a call stands where one is to be replaced")
    return data


class ReplaceArguments(cst.CSTTransformer):
    """Puts new arguments in the place of those whose values stand at given spans; `left` are the others."""

    def __init__(self, file: ConcreteFile, edits: Sequence[Edit]) -> None:
        super().__init__()
        self.left = {edit.span: edit.replacement for edit in edits}
        with deep_recursion():
            wrapper = MetadataWrapper(file.module, unsafe_skip_copy=True)
            self._ranges = wrapper.resolve(PositionProvider)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg | cst.FlattenSentinel[cst.Arg]:
        """Replace the value with what surrounds it kept: its name, and the comma behind it."""
        replacement = self.left.pop(_span(self._ranges[original_node.value]), None)
        if replacement is None:
            return updated_node
        with libcst_failures():
            call = cst.ensure_type(cst.parse_expression(f"f({replacement})"), cst.Call)
        new = list(call.args)
        if new:
            new[0] = updated_node.with_changes(value=new[0].value, comma=new[0].comma)
            new[-1] = new[-1].with_changes(
                comma=updated_node.comma, whitespace_after_arg=updated_node.whitespace_after_arg
            )
        return cst.FlattenSentinel(new)


def _span(found: CodeRange) -> Span:
    return Span(found.start.line, found.start.column + 1, found.end.line, found.end.column + 1)
