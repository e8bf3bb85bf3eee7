"""What a run takes from docs, docstrings and scripts: the code that shows how the checked modules are called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from shapecheck import files
from shapecheck.files.code_blocks import blocks_of_docstrings, blocks_of_document, main_blocks, readable
from shapecheck.files.notebook_source import SUFFIX, NotebookError, cell_python, read_notebook
from shapecheck.model import CodeBlock, Snippet, SnippetKind
from shapecheck.worker.messages.plans import ModulePlan

_HINTS = (b">>> ", b"```", b".. code", b"__main__")


def read_snippets(
    texts: Mapping[str, tuple[Path, bytes]], outside: Sequence[Path], plans: Mapping[str, ModulePlan]
) -> tuple[Snippet, ...]:
    """Those of the checked files, `texts` by shown path, and those of files `outside` that import a checked one.

    Scripts that are checked and claim nothing are not imported either, and so are as those outside.
    """
    imported = {file.resolve() for shown, (file, _) in texts.items() if plans[shown].claimed}
    tops = frozenset(plan.name.partition(".")[0] for plan in plans.values())
    found = [each for shown, (file, text) in texts.items() for each in _of_module(shown, file, text)]
    for file in outside:
        if file.resolve() not in imported:
            found += _of_file(file, tops)
    return tuple(found)


def _of_module(shown: str, file: Path, text: bytes) -> Iterator[Snippet]:
    if file.suffix != ".py" or not any(hint in text for hint in _HINTS):
        return
    tree = _parse(text)
    if tree is None:
        return
    for blocks in blocks_of_docstrings(tree):
        yield Snippet(path=shown, file=str(file.absolute()), kind="docstring", blocks=blocks)
    blocks = main_blocks(tree, text.decode("utf-8", "replace"))
    if blocks:
        yield Snippet(path=shown, file=str(file.absolute()), kind="main", blocks=blocks)


def _of_file(file: Path, tops: frozenset[str]) -> Iterator[Snippet]:
    try:
        text = file.read_bytes()
    except OSError:
        return
    if not any(top.encode() in text for top in tops):
        return
    kind: SnippetKind = "script" if file.suffix == ".py" else "document"
    if kind == "script":
        blocks: tuple[CodeBlock, ...] = _whole(text)
    elif file.suffix == SUFFIX:
        blocks = _cells(text)
    else:
        blocks = blocks_of_document(text.decode("utf-8", "replace"))
    if any(_imports(blocks, tops)):
        yield Snippet(path=files.shown_path(file), file=str(file.absolute()), kind=kind, blocks=blocks)


def _whole(text: bytes) -> tuple[CodeBlock, ...]:
    return (CodeBlock(line=1, text=text.decode("utf-8", "replace")),) if _parse(text) is not None else ()


def _cells(text: bytes) -> tuple[CodeBlock, ...]:
    try:
        cells = read_notebook(text).cells
    except NotebookError:
        return ()
    blocks = (CodeBlock(line=1, text=cell_python(cell.text), cell=number) for number, cell in enumerate(cells, 1))
    return readable(blocks)


def _imports(blocks: Iterable[CodeBlock], tops: frozenset[str]) -> Iterator[str]:
    """The checked packages that some blocks import."""
    for block in blocks:
        for node in ast.walk(ast.parse(block.text)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            yield from (name for name in names if name.partition(".")[0] in tops)


def _parse(text: bytes) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
