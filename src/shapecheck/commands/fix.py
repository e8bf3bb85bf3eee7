"""Fixes put into the source: only what their edits replace changes, and every file all at once or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck.commands.file_changes import FileText
from shapecheck.config import ConfigError
from shapecheck.files.notebook_source import cell_python, read_notebook, split_cell_path, with_cells, with_python
from shapecheck.model import Edit, Finding, Report, Span


@dataclass(frozen=True)
class FixedFile:
    """A file before and after; `findings` are those whose fixes are in it, or `problem` says why none is."""

    path: str
    before: bytes
    after: bytes
    findings: tuple[Finding, ...]
    problem: str = ""


def fixes(report: Report, stdin: bytes | None = None, *, unsafe: bool = False) -> Iterator[FixedFile]:
    """The files of a report, with the fixes of its findings; `stdin` is the text of the one file, if it came so.

    Those that change annotations are `unsafe`: they are left out unless asked for. Where edits overlap, the first
    finding's count. Raises ConfigError for a file that is not what was checked.
    """
    found: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.fix and (unsafe or not finding.unsafe_fix):
            found.setdefault(finding.path, []).append(finding)
    sources: Mapping[str, Sequence[str]] = dict(report.sources)
    yield from _notebooks(found, sources)
    for path, findings in found.items():
        if not split_cell_path(path)[1]:
            yield _fix_file(path, stdin if stdin is not None else _read_file(path), sources[path], findings)


def _notebooks(found: Mapping[str, Sequence[Finding]], sources: Mapping[str, Sequence[str]]) -> Iterator[FixedFile]:
    """The notebooks among the files, which stay the JSON that they are but for the cells that are fixed."""
    cells: dict[str, dict[int, FixedFile]] = {}
    for path, findings in found.items():
        file, number = split_cell_path(path)
        if number:
            python = cell_python("\n".join(sources[path]))
            cells.setdefault(file, {})[number] = _fix_file(path, python.encode(), python.split("\n"), findings)
    for file, fixed in cells.items():
        before = _read_file(file)
        texts = {number: cell.text for number, cell in enumerate(read_notebook(before).cells, 1)}
        if any(texts.get(number) != "\n".join(sources[each.path]) for number, each in fixed.items()):
            raise ConfigError(f"{file}: is no longer what was checked, so nothing is fixed in it; check it again")
        problems = [f"cell {number}: {each.problem}" for number, each in fixed.items() if each.problem]
        if problems:
            yield FixedFile(file, before, before, (), "; ".join(problems))
            continue
        after = with_cells(before, {n: with_python(texts[n], each.after.decode()) for n, each in fixed.items()})
        if after is None:
            raise ConfigError(f"{file}: is not written as Jupyter writes notebooks, so nothing is fixed in it")
        yield FixedFile(file, before, after, tuple(finding for each in fixed.values() for finding in each.findings))


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def _fix_file(path: str, data: bytes, checked: Sequence[str], findings: Sequence[Finding]) -> FixedFile:
    from shapecheck.rewrite import RewriteError, apply_edits, require_readable  # noqa: PLC0415  # loads libcst

    if FileText(data).plain() != list(checked):
        raise ConfigError(f"{path}: is no longer what was checked, so nothing is fixed in it; check it again")
    edits: list[Edit] = []
    in_claims: list[Edit] = []
    used: list[Finding] = []
    for finding in findings:
        if not any(_overlap(new.span, old.span) for new in finding.fix for old in (*edits, *in_claims)):
            (in_claims if finding.claimed else edits).extend(finding.fix)
            used.append(finding)
    try:
        after = FileText(data).with_edits(in_claims) if in_claims else data
        if in_claims and not edits:
            require_readable(path, after)
        return FixedFile(path, data, apply_edits(path, after, edits) if edits else after, tuple(used))
    except RewriteError as error:
        return FixedFile(path, data, data, (), str(error))


def _overlap(one: Span, other: Span) -> bool:
    begins, ends = (one.line, one.column), (one.end_line, one.end_column)
    return begins < (other.end_line, other.end_column) and (other.line, other.column) < ends
