"""The structure of docstrings: which parameter, field or return each piece of text describes.

Google's, NumPy's and Sphinx's style, and Markdown as equinox writes it (`**Arguments:**` over a list of `- `x`: ...`).
Descriptions are read without their markup: Sphinx roles, and the LaTeX that people write shapes in.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["param", "return", "field", ""]

_SECTIONS: dict[str, Kind] = {
    **dict.fromkeys(
        ["args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"], "param"
    ),
    **dict.fromkeys(
        ["inputs", "input", "call arguments", "initialisation arguments", "constructor arguments", "shapes"], "param"
    ),
    **dict.fromkeys(["returns", "return", "outputs", "output"], "return"),
    **dict.fromkeys(["attributes", "fields"], "field"),
}
_HEADER = re.compile(r"\s*(?P<bold>\*\*)?(?P<name>[A-Za-z][A-Za-z ]{2,30}?)(?P<colon>:)?(?(bold)\*\*):?\s*$")
# "Returns three arrays:", "Returns a tuple:", "Returns the following:"
_RETURNS_PARTS = re.compile(
    r"returns\s+(?:an?\s+|the\s+)?(?:(?:two|three|four|five|several|named)\s+)?"
    r"(?:arrays|values|tensors|tuple|dict|dictionary|following)\s*",
    re.IGNORECASE,
)
_INLINE_RETURN = re.compile(r"\s*(?:\*\*)?(?:Returns?|Outputs?):(?:\*\*)?\s+(?=\S)")
_UNDERLINE = re.compile(r"\s*-{3,}\s*$")
_BULLET = re.compile(r"\s*[-*+]\s+")
# A shape that stands between a name and its colon: x `[n, 3]`: points, x `float` `[n, 3]`: points, x [n, 3]-array: ...
SHAPE_BEFORE_COLON = r"(?:`\w+`[ \t]*)?(?:`?\[[^\[\]\n]*\]`?[\w -]{0,20})?"
_ITEM = re.compile(
    r"\s*(?:[-*+]\s+)?(?P<names>`?\*{0,2}[A-Za-z_]\w*`?(?:\s*,\s*`?\*{0,2}[A-Za-z_]\w*`?)*)"
    rf"\s*(?=[:(]|--\s|(?<=\s){SHAPE_BEFORE_COLON}:)"
)
# In a section of parameters: `x is (B, T, D)`, `q, k are of shape [B, D]`.
_SENTENCE_ITEM = re.compile(
    r"\s*(?:[-*+]\s+)?(?P<names>`?[A-Za-z_]\w*`?(?:\s*,\s*`?[A-Za-z_]\w*`?)*)"
    r"\s+(?=(?:is|are)\s+(?:of\s+shape\s+)?[(\[])"
)
_NUMPY_NAMES = r"\*{0,2}[A-Za-z_]\w*(?:\s*,\s*\*{0,2}[A-Za-z_]\w*)*"
_NUMPY_ITEM = re.compile(rf"\s*(?:(?P<names>{_NUMPY_NAMES})|\((?P<several>{_NUMPY_NAMES})\)(?=\s*:))\s*(?::|$)")
_SPHINX = re.compile(r"\s*:(?:param|parameter|arg|argument|type)\s+(?:(?P<type>[^:\n]*)\s)?\*{0,2}(?P<name>\w+)\s*:")
_SPHINX_FIELD = re.compile(r"\s*:(?:[ic]?var|attr|attribute)\s+(?:(?P<type>[^:\n]*)\s)?(?P<name>\w+)\s*:")
_SPHINX_RETURN = re.compile(r"\s*:(?:returns?|rtype)\s*:")
_ADMONITION = re.compile(r"\s*(?:!!!|\?\?\?|\.\.\s)")
_NAME = re.compile(r"\w+")
_FURTHER = re.compile(
    r"(?:[,;.]|(?<=[)\]])\s+and\b)\s+(?:and\s+)?`?(?P<names>(?:[A-Za-z_]\w*`?(?:\s+and\s+|\s*,\s*)`?)*[A-Za-z_]\w*)`?"
    r"\s*(?::(?=\s)|(?=[(\[]))"
)
# What a function gives, behind what it takes: `x: (n, d) -> (n,)`, `x: (n, d). Returns the norms (n,).`
_RESULT = re.compile(r"\s*(?:->|→|[.;,]\s+returns?:?\s)\s*(?=[^.]*[(\[])", re.IGNORECASE)
# Below a list of parameters: `returns: (n,)`, `-> (n,)`.
_LIST_RESULT = re.compile(r"\s*(?:returns?\s*:|->|→)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A line of a docstring: its number in the file, the column (from 0) where `text` begins, and the text."""

    number: int
    column: int
    text: str

    @property
    def indent(self) -> int:
        """The width of the white space at its start (tabs as they come)."""
        return self.column + len(self.text) - len(self.text.lstrip())


@dataclass
class Item:
    """What a docstring says of some parameters or fields (all the same), or of what is returned.

    Of `arrow` style are a result behind an arrow, which has the names of what stands before it, and that itself.
    `type` is what Sphinx's style has of it in front of the name.
    """

    kind: Kind
    names: tuple[str, ...]
    lines: list[Line] = field(default_factory=list)
    place: int = 0  # counts the items of a NumPy section of returns
    style: str = ""
    type: str = ""


def read_items(lines: Sequence[Line], names: Container[str] = ()) -> list[Item]:
    """Take a docstring apart. Of these parameters or fields lines may also tell that stand in no section.

    All other lines of no section are the last item, without a kind.
    """
    return _SectionReader(lines, names).read_items()


class _SectionReader:
    """One pass over the lines. An instance reads one docstring."""

    def __init__(self, lines: Sequence[Line], names: Container[str]) -> None:
        self.lines = lines
        self.names = names
        self.items: list[Item] = []
        self.kind: Kind = ""
        self.style = ""
        self.header_indent = 0
        self.item_indent: int | None = None
        self.current: Item | None = None
        self.prose: list[Line] = []

    def read_items(self) -> list[Item]:
        skip = fenced = False
        for index, line in enumerate(self.lines):
            if line.text.lstrip().startswith("```"):
                fenced = not fenced
            elif skip or fenced or line.text.lstrip().startswith(">>>"):
                skip = False
                continue
            if _ADMONITION.match(line.text):
                self.kind, self.style, self.current = "", "", None
            following = self.lines[index + 1] if index + 1 < len(self.lines) else None
            if self._sphinx(line):
                continue
            behind = self.lines[index + 2] if index + 2 < len(self.lines) else None
            header = self._header(line, following, behind)
            if header is not None:
                self._open(header, line)
                skip = following is not None and _UNDERLINE.match(following.text) is not None
            elif self.kind or self.style == "sphinx":
                self._body(line, after_blank=index > 0 and not self.lines[index - 1].text.strip())
            if not self.kind and not self.style:
                self._outside(line)
        return [*self.items, Item("", (), self.prose)]

    def _outside(self, line: Line) -> None:
        """A line of no section: it may tell of a parameter or field, or go on with that of the line before."""
        match = _ITEM.match(line.text)
        names = tuple(_NAME.findall(match["names"])) if match is not None else ()
        if match is not None and names and all(name in self.names for name in names):
            self.item_indent = line.indent
            self._add_items(Item("param", names, style="list"), line, match.end())
        elif self._ends_list(line) and (result := _LIST_RESULT.match(line.text)) is not None:
            self.current = Item("return", (), style="list")
            self.current.lines.append(Line(line.number, line.column + result.end(), line.text[result.end() :]))
            self.items.append(self.current)
        elif self.current is not None and line.text.strip() and line.indent > (self.item_indent or 0):
            self.current.lines.append(line)
        else:
            self.current = None
            self.prose.append(line)

    def _ends_list(self, line: Line) -> bool:
        """Whether a line stands below the parameters of a list outside of sections, as one of these would."""
        return bool(self.items) and self.items[-1].style == "list" and line.indent == self.item_indent

    def _sphinx(self, line: Line) -> bool:
        kinds: dict[Kind, re.Pattern[str]] = {"param": _SPHINX, "field": _SPHINX_FIELD, "return": _SPHINX_RETURN}
        found: Iterator[tuple[Kind, re.Match[str] | None]]
        found = ((kind, pattern.match(line.text)) for kind, pattern in kinds.items())
        kind, match = next((each for each in found if each[1] is not None), ("", None))
        if match is None:
            return False
        name, type_ = match.groupdict().get("name"), match.groupdict().get("type")
        self.kind, self.style, self.header_indent = "", "sphinx", line.indent
        self.current = Item(kind, (name,) if name else (), style="sphinx", type=type_ or "")
        self.current.lines.append(Line(line.number, line.column + match.end(), line.text[match.end() :]))
        self.items.append(self.current)
        return True

    def _header(self, line: Line, following: Line | None, behind: Line | None) -> tuple[Kind, str] | None:
        """The kind and style of the section that a line opens: of `Args:` it is Google's, even if it is underlined."""
        if _INLINE_RETURN.match(line.text):
            return "return", "google"
        match = _HEADER.match(line.text)
        if match is None:
            return None
        kind = _SECTIONS.get(match["name"].strip().lower(), "")
        if match["colon"] and _RETURNS_PARTS.fullmatch(match["name"]):
            kind = "return"
        is_inside = line.indent > self.header_indent or self.style == "numpy"
        if self.kind and match["name"] in self.names and is_inside:
            return None  # a parameter called `inputs`, or one on a line of its own: `weights:`
        if following is not None and _UNDERLINE.match(following.text):
            is_google = match["colon"] and behind is not None and behind.indent > line.indent
            return kind, "google" if is_google else "numpy"
        if match["bold"]:
            return kind, "markdown"
        indents = following is not None and following.indent > line.indent and bool(following.text.strip())
        if kind == "return" and indents and not self.kind:  # `returns` without a colon
            return kind, "google"
        if not match["colon"] or (kind == "" and self.kind and line.indent > self.header_indent):
            return None
        return kind, "google"

    def _open(self, header: tuple[Kind, str], line: Line) -> None:
        self.kind, self.style = header
        self.header_indent, self.item_indent, self.current = line.indent, None, None
        inline = _INLINE_RETURN.match(line.text)
        if self.kind == "return" and self.style != "numpy":
            self.current = Item("return", (), style=self.style)
            self.items.append(self.current)
            if inline is not None:
                self.current.lines.append(Line(line.number, line.column + inline.end(), line.text[inline.end() :]))

    def _body(self, line: Line, *, after_blank: bool) -> None:
        if not line.text.strip():
            return
        if self._ends_section(line, after_blank):
            self.kind, self.style, self.current = "", "", None
            return
        if self.style == "sphinx" or (self.kind == "return" and self.style != "numpy"):
            if self.current is not None:
                self.current.lines.append(line)
            return
        if self.item_indent is None:
            self.item_indent = line.indent
        if line.indent <= self.item_indent and self._starts_item(line):
            return
        if self.current is not None:
            self.current.lines.append(line)

    def _ends_section(self, line: Line, after_blank: bool) -> bool:
        if self.style == "sphinx":  # a description goes on, indented or not, to a blank line or the next field
            is_other = after_blank or line.text.lstrip().startswith(":")
            return line.indent < self.header_indent or (line.indent == self.header_indent and is_other)
        if self.style == "google":
            return line.indent <= self.header_indent and (after_blank or self.item_indent is not None)
        if self.style == "markdown":
            if self.kind == "return":
                return after_blank and bool(self.current and self.current.lines)
            return after_blank and line.indent <= self.header_indent and not _BULLET.match(line.text)
        return line.indent < self.header_indent

    def _starts_item(self, line: Line) -> bool:
        match = (_NUMPY_ITEM if self.style == "numpy" else _ITEM).match(line.text)
        if match is None and self.kind == "param":
            match = _SENTENCE_ITEM.match(line.text)
        anonymous = self.style == "numpy" and self.kind == "return"
        if match is None and not anonymous:
            self.current = None
            return self.style == "numpy"
        groups = match.groupdict() if match is not None else {}
        names = tuple(_NAME.findall(groups.get("names") or groups.get("several") or ""))
        end = match.end() if match is not None else 0
        place = 0
        if self.kind == "return":  # another section, of another style, may have told of them all
            before = [item for item in self.items if (item.kind, item.style) == ("return", self.style)]
            place = sum(max(len(item.names), 1) for item in before)  # `l, u : bounds` is of two
        self._add_items(Item(self.kind, names, place=place, style=self.style), line, end)
        return True

    def _add_items(self, item: Item, line: Line, start: int) -> None:
        """The item that a line begins, and those that follow on it: `x: (b, d), y: (b,) labels`."""
        results = _RESULT.finditer(line.text, start) if item.style == "list" else ()
        result = next((each for each in results if _is_outside(line.text[start : each.start()])), None)
        end = result.start() if result is not None else len(line.text)
        further = [each for each in _FURTHER.finditer(line.text, start, end) if _names_of(each, self.names)]
        further = [each for each in further if _is_outside(line.text[start : each.start()])]
        ends = [*(each.start() for each in further), len(line.text)]
        starts = [start, *(each.end() for each in further)]
        items = [item, *(replace(item, names=_names_of(each, self.names), lines=[]) for each in further)]
        if result is not None:
            items[-1].style = "arrow"
            items.append(Item("return", items[-1].names, style="arrow"))
            ends[-1:] = [result.start(), len(line.text)]
            starts.append(result.end())
        for each, begin, end in zip(items, starts, ends, strict=True):
            each.lines.append(Line(line.number, line.column + begin, line.text[begin:end]))
            self.items.append(each)
        self.current = items[-1]


def _names_of(match: re.Match[str], known: Container[str]) -> tuple[str, ...]:
    """The known names directly in front of a shape: `k_cache and v_cache`, `B, C`."""
    names = [name for name in _NAME.findall(match["names"]) if name != "and"]
    return tuple(reversed([*itertools.takewhile(known.__contains__, reversed(names))]))


def _is_outside(text: str) -> bool:
    """Whether no bracket is open at the end of a text."""
    return all(text.count(opening) <= text.count(closing) for opening, closing in ("()", "[]", "{}"))


# `:math:` before a back quote, and inside of it what stands for plain signs.
_ROLE = re.compile(r":(?:py:)?(?:math|code|data|attr|class|obj|samp|literal):(?=`)")
_MATH = re.compile(r":math:`[^`]*`|\$[^$\n]{1,200}\$")
_SIGNS = re.compile(
    r"(?P<word>\\{1,2}(?:text|texttt|mathrm|mathtt|mathit|operatorname)\{(?P<inner>[^{}]*)\})"
    r"|(?P<times>\\{1,2}times(?![a-z]))|(?P<dots>\\{1,2}l?dots(?![a-z]))|\\{1,2}(?P<sign>[_,;! ])|\$"
)
# One word for what may be given as an array, in another spelling.
_ARRAY_LIKE = re.compile(r"(?<=[Aa]rray)(?:-(?=like\b)| (?=like(?:,|\s+(?:of|with)\b)))")


def without_markup(text: str) -> tuple[str, Sequence[int]]:
    """The text in plain words, and for each of its characters the offset in what was written."""
    text = _ARRAY_LIKE.sub("_", text)
    if ":`" not in text and "$" not in text:
        return text, range(len(text) + 1)
    offsets = list(range(len(text) + 1))
    for math in reversed([*_MATH.finditer(text)]):
        text, offsets = _plain(text, offsets, math.start(), math.end())
    return _ROLE.sub(lambda role: " " * len(role.group()), text), offsets


def _plain(text: str, offsets: list[int], start: int, end: int) -> tuple[str, list[int]]:
    """The text with plain signs between `start` and `end`."""
    for found in reversed([*_SIGNS.finditer(text, start, end)]):
        begin, stop = found.span()
        if found["word"]:
            inner = found["inner"].replace("\\\\_", "_").replace("\\_", "_")
            origins = [each for each in range(*found.span("inner")) if text[each] != "\\"]
        else:
            inner = " x " if found["times"] else "..." if found["dots"] else (found["sign"] or " ").strip(",;!") or " "
            origins = [begin] * len(inner)
        text = text[:begin] + inner + text[stop:]
        offsets = offsets[:begin] + [offsets[each] for each in origins] + offsets[stop:]
    return text, offsets
