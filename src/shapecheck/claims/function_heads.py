"""What comments at the head of a function tell of it: what it takes, and what it returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from shapecheck.claims.comment_labels import CommentLabels
from shapecheck.claims.comment_lines import CommentLine
from shapecheck.claims.comment_targets import CommentTarget, CommentTargets
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.signature_lines import ARROW, is_random_key
from shapecheck.claims.statement_subjects import is_plain_type
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments

_RESULT_LABELS = frozenset({"result", "returns", "output", "outputs"})
_ARGUMENT_LABELS = frozenset({"input", "inputs"})
_RETURNS = re.compile(r"#+\s*+returns?\s*+:", re.IGNORECASE)


class FunctionHeads:
    """Finds what is meant by comments above the first statements of functions, and behind their headers."""

    def __init__(self, tables: Tables, anchors: CommentTargets, labels: CommentLabels) -> None:
        self._tables, self._anchors, self._labels = tables, anchors, labels

    def result(self, line: CommentLine, segment: Segment, placed: PlacedStatement) -> CommentTarget | None:
        """What a function returns, if a comment above its first statement tells of it: `# returns: (b, t)`."""
        is_said = _RETURNS.match(line.comment.text) is not None and len(line.stated) == len(segment.shapes) == 1
        is_labelled = len(segment.labels) == len(segment.shapes) == 1 and segment.labels[0].lower() in _RESULT_LABELS
        is_said = is_said or (is_labelled and (len(line.stated) > 1 or segment.colon))
        if not is_said or segment.arrow or not self._labels.begins(placed) or only_returns(placed):
            return None
        function = self._tables.nodes[self._tables.function_scope(placed.scope)]
        if not isinstance(function, Function):
            return None
        return self._anchors.signature(self._tables.by_node[function])[-1]

    def argument(self, segment: Segment, placed: PlacedStatement) -> CommentTarget | None:
        """The one array that a function takes, if a comment that begins it tells of that: `# Input: (b, t)`."""
        is_labelled = segment.colon and len(segment.labels) == len(segment.shapes) == 1 and not segment.arrow
        if not (is_labelled and segment.labels[0].lower() in _ARGUMENT_LABELS and self._labels.begins(placed)):
            return None
        function = self._tables.nodes[self._tables.function_scope(placed.scope)]
        if not isinstance(function, Function):
            return None
        every = self._anchors.signature(self._tables.by_node[function])[:-1]
        given = [each for each in every if _may_be_array(each, function)]
        return given[0] if len(given) == 1 else None

    def signature(
        self, line: CommentLine, segment: Segment, placed: PlacedStatement, targets: Sequence[CommentTarget]
    ) -> tuple[CommentTarget, ...]:
        """What a function takes and returns, if an arrow at its beginning leads from arguments to a result.

        That may be its own result: `# x: (n, d), y: (m, d) -> (n, n)`. `# x: (n, d) -> (d, n)` above `x = x.T` tells
        of that statement alone. Behind the header of a function an arrow is about nothing else.
        """
        if segment.arrow and not line.comment.own_line:
            return self._anchors.signature(placed)  # behind its header
        if not segment.arrow or not self._labels.begins(placed):
            return ()
        if not segment.taken and ARROW.search(line.comment.text) is None:
            return ()  # "Reshape inputs to (b, t)" tells what becomes of one array
        function = self._tables.nodes[self._tables.function_scope(placed.scope)]
        if not isinstance(function, Function):
            return ()
        given = {label for each in line.stated for label in each.segment.labels}
        is_single = len(line.stated) == len(segment.taken) == 1
        result = {*(segment.becomes or segment.labels)}
        is_of_statement = is_single and (not given or any(each.name in given & result for each in targets[:1]))
        if is_of_statement or not given <= {each.arg for each in arguments(function)}:
            return ()
        return self._anchors.signature(self._tables.by_node[function])


def _may_be_array(parameter: CommentTarget, function: Function) -> bool:
    """Whether a parameter has neither a plain type nor a literal by default, and is no random key."""
    given = function.args
    defaults = dict(zip([a.arg for a in [*given.posonlyargs, *given.args][::-1]], given.defaults[::-1], strict=False))
    defaults.update((a.arg, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None)
    annotation = next((each.annotation for each in arguments(function) if each.arg == parameter.name), None)
    is_plain = annotation is not None and is_plain_type(annotation)
    return not (is_plain or isinstance(defaults.get(parameter.name), ast.Constant) or is_random_key(parameter.name))


def only_returns(statement: PlacedStatement) -> bool:
    """Whether a statement returns what others have computed."""
    if not isinstance(statement.node, ast.Return):
        return False
    value = statement.node.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(part, ast.Name) for part in parts)
