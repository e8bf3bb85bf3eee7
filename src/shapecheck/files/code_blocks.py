"""The Python in a text: blocks of Markdown and reStructuredText, doctests, what stands under `__main__`."""

from __future__ import annotations

import ast
import doctest
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from shapecheck.files.notebook_source import cell_python
from shapecheck.model.snippet import CodeBlock

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>.*)$")
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\. (?:code-block|code|sourcecode|testcode|testsetup|ipython|jupyter-execute|plot)::"
    r"[ \t]*(?P<info>\S*)[ \t]*$"
)
_LANGUAGE = re.compile(r"^\W*(?:code-cell|code-block|code)?\W*(?P<name>[\w+-]*)")
_PYTHON = frozenset(
    {"python", "python3", "py", "py3", "pycon", "python-repl", "ipython", "ipython3", "jupyter-execute"}
)
_PROMPT = ">>> "
_PARSER = doctest.DocTestParser()
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def blocks_of_document(text: str) -> tuple[CodeBlock, ...]:
    """The Python blocks of a Markdown or reStructuredText document, and its doctests outside of these."""
    lines = text.expandtabs().splitlines()
    found: list[CodeBlock] = []
    prose: list[str] = []
    number = 0
    while number < len(lines):
        end = _end_of_block(lines, number)
        if end is None:
            prose.append(lines[number])
            number += 1
            continue
        first, last, is_python = end
        if is_python:
            found += _read_block("\n".join(lines[first:last]), first + 1)
        prose += [""] * (max(last + 1, number + 1) - number)
        number = max(last + 1, number + 1)
    found += _doctests("\n".join(prose), 1)
    return tuple(sorted(found, key=lambda block: block.line))


def blocks_of_docstrings(tree: ast.Module) -> Iterator[tuple[CodeBlock, ...]]:
    """The blocks of each docstring that has any."""
    for node in ast.walk(tree):
        if not isinstance(node, _WITH_DOCSTRING) or not node.body:
            continue
        first = node.body[0]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            continue
        text = first.value.value
        if isinstance(text, str) and (_PROMPT in text or "```" in text or ".. code" in text):
            blocks = tuple(
                CodeBlock(line=block.line + first.lineno - 1, text=block.text, raises=block.raises)
                for block in blocks_of_document(text)
            )
            if blocks:
                yield blocks


def main_blocks(tree: ast.Module, text: str) -> tuple[CodeBlock, ...]:
    """What a module does where it is the program: the bodies of `if __name__ == "__main__":`."""
    lines = text.splitlines()
    bodies = [node.body for node in tree.body if isinstance(node, ast.If) and _asks_for_main(node.test)]
    found: list[CodeBlock] = []
    for body in bodies:
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        found.append(CodeBlock(line=first, text=textwrap.dedent("\n".join(lines[first - 1 : last]))))
    return readable(found)


def _asks_for_main(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    is_name = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return is_name and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def _end_of_block(lines: Sequence[str], number: int) -> tuple[int, int, bool] | None:
    """The first line of the block that begins at a line, the line behind it, and whether it is Python; or nothing."""
    fence = _FENCE.match(lines[number])
    if fence is not None:
        closing = re.compile(rf"^[ \t]*{re.escape(fence['mark'][0])}{{{len(fence['mark'])},}}[ \t]*$")
        last = next((n for n in range(number + 1, len(lines)) if closing.match(lines[n])), None)
        return None if last is None else (number + 1, last, _is_python(fence["info"]))
    directive = _DIRECTIVE.match(lines[number])
    if directive is None:
        return None
    depth = len(directive["indent"])
    first = number + 1
    while first < len(lines) and (not lines[first].strip() or lines[first].strip().startswith(":")):
        first += 1  # options of the directive
    last = first
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > depth):
        last += 1
    return first, last - 1, not directive["info"] or _is_python(directive["info"])


def _is_python(info: str) -> bool:
    found = _LANGUAGE.match(info.strip())
    return found is not None and found["name"].lower() in _PYTHON


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_block(text: str, line: int) -> tuple[CodeBlock, ...]:
    text = textwrap.dedent(text)
    if _PROMPT in text:
        return _doctests(text, line)
    return readable([CodeBlock(line=line, text=cell_python(text))])


def _doctests(text: str, line: int) -> tuple[CodeBlock, ...]:
    if _PROMPT not in text:
        return ()
    try:
        examples = _PARSER.get_examples(text)
    except ValueError:  # its lines are indented inconsistently
        return ()
    skipped = doctest.SKIP
    return readable(
        [
            CodeBlock(line=each.lineno + line, text=each.source, raises=each.exc_msg is not None)
            for each in examples
            if not each.options.get(skipped)
        ]
    )


def readable(blocks: Iterable[CodeBlock]) -> tuple[CodeBlock, ...]:
    """Those that Python can parse, and that are not empty."""
    found: list[CodeBlock] = []
    for block in blocks:
        try:
            body = ast.parse(block.text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # with dots, say, or of another language
            continue
        if body:
            found.append(block)
    return tuple(found)
