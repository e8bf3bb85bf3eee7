"""The claims of a file as checks in its source, and back.

Only whole lines are inserted, each with a mark at its end, so that nothing else of a file changes, and whatever was
edited around them since, they can be taken out again. Insertions always start from the file without any, so that
what a run inserts depends on its options only. User code is neither imported nor run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shapecheck.claims.module_claims import claims_of
from shapecheck.model import Edit, Module, Problem
from shapecheck.rewrite.assertions import AssertionRewrite
from shapecheck.rewrite.insertion import Insertion, insert
from shapecheck.rewrite.jaxtyping_checks import JaxtypingChecks
from shapecheck.rewrite.removal import remove_code
from shapecheck.rewrite.replace_arguments import replace_arguments
from shapecheck.rewrite.rewrite_plan import FilePlan, RewriteOptions, RewriteOutcome, SkippedClaim
from shapecheck.rewrite.transform import RewriteError, require_lossless
from shapecheck.rewrite.value_checks import ValueChecks
from shapecheck.syntax.concrete_file import ConcreteFile
from shapecheck.syntax.inserted_lines import find_inserted
from shapecheck.syntax.owners import UnreadableError
from shapecheck.syntax.source_text import SourceText, declared_encoding, read_source

__all__ = [
    "RewriteError",
    "RewriteOptions",
    "RewriteOutcome",
    "RewriteResult",
    "SkippedClaim",
    "apply_edits",
    "instrument",
    "readable",
    "remove",
    "require_readable",
]

_CONFLICT = re.compile(rb"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)
_IMPORTS = -1


@dataclass(frozen=True)
class RewriteResult:
    """The new contents of a file, and what became of its claims; lines count as in the file without insertions."""

    data: bytes
    outcome: RewriteOutcome


def instrument(path: str, data: bytes, options: RewriteOptions) -> RewriteResult:
    """The file with checks, for what is claimed in it. Raises RewriteError."""
    with _failures():
        return _instrument(path, data, options)


def _instrument(path: str, data: bytes, options: RewriteOptions) -> RewriteResult:
    clean = _without_inserted(path, data, verify=True)
    source, file = _readable(path, clean)
    module = claims_of(source)
    unread = next((c.unread for c in module.claims if c.unread and c.notation == "comment"), "")
    if unread:
        raise RewriteError(unread)
    outcome = _outcome(module, source, file, options, path.rpartition("/")[2])
    result = insert(file, outcome.insertions)
    if result != clean and _without_inserted(path, result) != clean:
        require_lossless(file)
        raise RewriteError("the inserted lines could not be distinguished from others, so that nothing is inserted")
    return RewriteResult(result, outcome)


def apply_edits(path: str, data: bytes, edits: Sequence[Edit]) -> bytes:
    """The file with the edits of findings in it. Raises RewriteError."""
    with _failures():
        _, file = _readable(path, data)
        return replace_arguments(file, edits)


def require_readable(path: str, data: bytes) -> None:
    """Raise RewriteError for a file that would not be Python, or has the markers of a merge conflict."""
    with _failures():
        _readable(path, data)


def remove(path: str, data: bytes) -> bytes:
    """The file without what `instrument` inserted. Raises RewriteError."""
    with _failures():
        return _without_inserted(path, data, verify=True)


@contextmanager
def _failures() -> Iterator[None]:
    """What libcst cannot read is left alone."""
    try:
        yield
    except UnreadableError as error:
        raise RewriteError(str(error)) from error


def _without_inserted(path: str, data: bytes, *, verify: bool = False) -> bytes:
    source, file = _readable(path, data)
    inserted = find_inserted(source)
    if inserted is None:
        return data
    if verify:
        require_lossless(file)
    return remove_code(file, inserted)


def readable(data: bytes) -> str:
    """The text of a file for people, its line ends as they are."""
    try:
        return data.decode(declared_encoding(data), errors="replace")
    except (SyntaxError, LookupError):
        return data.decode("utf-8", errors="replace")


def _readable(path: str, data: bytes) -> tuple[SourceText, ConcreteFile]:
    if _CONFLICT.search(data):
        raise RewriteError("it has the markers of a merge conflict; resolve that first")
    source = read_source(path, data)
    if source.tree is None:
        raise RewriteError(_reason(source.problem))
    if b"coding" not in data[:400] and source.text.encode("utf-8", "surrogatepass") == data:
        return source, source.concrete  # in which its comments may be found already
    return source, ConcreteFile(data, source.tree)


def _reason(problem: Problem | None) -> str:
    if problem is None:
        return "it cannot be read"
    return f"line {problem.span.line}: {problem.message.replace(', so nothing in it is checked', '')}"


def _outcome(
    module: Module,
    source: SourceText,
    concrete: ConcreteFile,
    options: RewriteOptions,
    name: str,
    above: int = sys.maxsize,
) -> RewriteOutcome:
    """All that is to be inserted; the file's own imports serve if they stand above line `above`."""
    outcome = RewriteOutcome()
    file = FilePlan(module, source, concrete, above)
    if options.shapes:
        contracts = JaxtypingChecks(file, outcome)
        contracts.run()
        AssertionRewrite(file, contracts, outcome).run()
        outcome.insertions += contracts.decorators()
    ValueChecks(file, name, outcome).run(options)
    first = min((each.spot.line for each in outcome.insertions), default=0) + 1
    if file.needs.last_own() >= first:
        return _outcome(module, source, concrete, options, name, first)
    if outcome.insertions and (lines := file.needs.lines()):
        spot, others = file.needs.spot(first)
        comment = f"{'# noqa: E402  ' * others}# isort: skip  "
        outcome.insertions += [Insertion(spot, line, _IMPORTS, comment=comment) for line in lines]
    outcome.left.sort(key=lambda left: left.line)
    return outcome
