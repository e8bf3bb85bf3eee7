"""Text for a terminal: colours, and source text that cannot play tricks on it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

Part = tuple[str, str]
"""A piece of a line and the name of its style, "" for none."""

_SGR: Final = MappingProxyType(
    {"bold": "1", "dim": "2", "error": "1;31", "warning": "1;33", "note": "1;36", "good": "1;32", "caret": "31"}
)


def paint(lines: Iterable[Iterable[Part]], *, color: bool) -> str:
    """Join lines of parts to a text, each line with its newline; styles become colours only if `color`."""
    return "".join("".join(_style(text, style, color) for text, style in line) + "\n" for line in lines)


def _style(text: str, style: str, color: bool) -> str:
    return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if color and style and text else text


def visible(text: str) -> str:
    """Replace control characters (and bidirectional overrides), which a terminal would obey, by their escapes."""
    if text.isprintable():
        return text
    return "".join(char if _harmless(char) else _escape(char) for char in text)


def _harmless(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cells(text: str) -> int:
    """How many columns of a terminal the text takes: two for wide characters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
