"""The Python of a notebook: its code cells in order, as one module, and back to the cells again."""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SUFFIX = ".ipynb"

# What these cell magics stand in front of is Python all the same; of others, nobody knows.
_PYTHON_MAGICS = frozenset({"capture", "memit", "prun", "time", "timeit", "shapecheck"})
_MAGIC = re.compile(r"^(\s*)(?:[%!].*|\?.*|[\w.%*]+\?{1,2}\s*)$")
# Those that people write without the sign, as IPython lets them, where no variable has the name.
_BARE_MAGIC = re.compile(
    r"^(?:alias|cat|cd|conda|cp|ls|ll|load_ext|man|matplotlib|mkdir|more|mv|pip|pwd|pylab|reload_ext|rm|rmdir|who|whos)"
    r"(?:\s+(?![=(]).*)?$"
)
_ASSIGNED_MAGIC = re.compile(r"^(\s*[\w.,\s]+=\s*)[%!].*$")
_CELL = re.compile(rf"^(?P<file>.*{re.escape(SUFFIX)}):cell (?P<number>\d+)$", re.DOTALL)


class NotebookError(Exception):
    """A file that is no notebook, or one of another language; the text says why."""


@dataclass(frozen=True)
class NotebookCell:
    """A code cell: its `text` as it is, and the line of the module on which it begins, from 1."""

    text: str
    begin: int


@dataclass(frozen=True)
class Notebook:
    """The code cells, and the module that they are together: magics are passed over, lines stay lines.

    Of cells that are `unread` it has blank lines.
    """

    cells: tuple[NotebookCell, ...]
    module: str
    unread: frozenset[int] = frozenset()  # numbers of cells, from 1

    def place(self, line: int) -> tuple[int, int]:
        """The number of the code cell that a line of the module stands in, and the line there, both from 1."""
        number = max(bisect.bisect_right([cell.begin for cell in self.cells], line), 1)
        return number, line - self.cells[number - 1].begin + 1 if self.cells else line


def read_notebook(data: bytes) -> Notebook:
    """The code of a notebook. Raises NotebookError."""
    document = _document(data)
    language = document.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if language != "python":
        raise NotebookError(f"its language is {language}")
    return notebook_of_cells(map(_source, _code_cells(document)))


def notebook_of_cells(texts: Iterable[str], unread: Collection[int] = ()) -> Notebook:
    """The notebook whose code cells have these texts, of which those with the numbers `unread` are passed over."""
    cells: list[NotebookCell] = []
    lines: list[str] = []
    for number, text in enumerate(texts, 1):
        cells.append(NotebookCell(text, len(lines) + 1))
        python = cell_python(text)
        lines += [*("\n" * python.count("\n") if number in unread else python).split("\n"), ""]
    return Notebook(tuple(cells), "\n".join(lines), frozenset(unread))


def cell_path(path: str, number: int) -> str:
    """What reports call a code cell."""
    return f"{path}:cell {number}"


def split_cell_path(path: str) -> tuple[str, int]:
    """The file of a path, and the number of the code cell in it; 0 for the file itself."""
    found = _CELL.match(path)
    return (found["file"], int(found["number"])) if found is not None else (path, 0)


def cell_python(text: str) -> str:
    """The text of a cell, with something that Python reads in the place of each line that only IPython does."""
    indent = _indent(text)
    lines = [line.removeprefix(indent) for line in text.split("\n")]
    # Colab's titles are comments, which may stand ahead of a magic.
    first = next((number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if lines[first].startswith("%%"):
        magic = lines[first][2:].split(maxsplit=1)[:1]
        if magic[:1] and magic[0] not in _PYTHON_MAGICS:
            return "\n".join("" for _ in lines)
        lines[first] = ""
    if _is_python("\n".join(lines)):
        return "\n".join(lines)
    changed: list[str] = []
    goes_on = False  # a magic whose line ends in a backslash has the next one, too
    for line in lines:
        new = "" if goes_on else _ASSIGNED_MAGIC.sub(r"\1None", _MAGIC.sub(r"\1pass", _BARE_MAGIC.sub("pass", line)))
        goes_on = (goes_on or new != line) and line.endswith("\\")
        changed.append(new)
    return "\n".join(changed)


def with_python(text: str, python: str) -> str:
    """The text of a cell whose Python has changed to this; all lines that are the same there stay as they are."""
    import difflib  # noqa: PLC0415  # only who fixes a notebook pays for it

    written, before, after = text.split("\n"), cell_python(text).split("\n"), python.split("\n")
    lines: list[str] = []
    for kind, first, last, new_first, new_last in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        new = [line and _indent(text) + line for line in after[new_first:new_last]]
        lines += written[first:last] if kind == "equal" else new
    return "\n".join(lines)


def with_cells(data: bytes, texts: Mapping[int, str]) -> bytes | None:
    """A notebook with other texts of some code cells (from 1); None if its layout could not be kept."""
    document = _document(data)
    text = data.decode("utf-8")
    end = text[len(text.rstrip("\n")) :]
    for indent in (1, 2, 4, None):
        for ascii_only in (False, True):
            if json.dumps(document, indent=indent, ensure_ascii=ascii_only) + end == text:
                for number, cell in enumerate(_code_cells(document), 1):
                    if number in texts:
                        whole = isinstance(cell["source"], str)
                        cell["source"] = texts[number] if whole else texts[number].splitlines(keepends=True)
                return (json.dumps(document, indent=indent, ensure_ascii=ascii_only) + end).encode()
    return None


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotebookError(f"it is no notebook: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise NotebookError("it is no notebook of version 4: it has no cells")
    return document


def _code_cells(document: Mapping[str, Any]) -> list[dict[str, object]]:
    return [cell for cell in document["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def _source(cell: Mapping[str, object]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _indent(text: str) -> str:
    """The blanks in front of the first line with code, which IPython takes off all lines."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
