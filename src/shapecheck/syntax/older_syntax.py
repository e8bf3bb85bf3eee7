"""A text in the syntax of newer versions of Python, as older ones can parse it: each name and line where it was.

The user's interpreter may be newer than the one that shapecheck runs under, and evaluates the file as it is. What is
read here are shapes, and what is new in the syntax hardly has any: so `type Row = Float[Array, "n"]` becomes
`type;Row = Float[Array, "n"]`, two statements, and type parameters and templates become blanks.
"""

from __future__ import annotations

import ast
import re

_STRING = re.compile(r"(?P<prefix>\b[A-Za-z]{1,2})?(?P<quote>\"\"\"|'''|\"|')|#[^\n]*")
_PLAIN_END = {quote: re.compile(rf"(?:[^\\]|\\.)*?{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}
_KEYWORD = re.compile(
    r"(?m)(?:^|(?<=[;:]))[ \t]*(?:(?P<type>type)[ \t]+\w+[ \t]*[\[=]|(?P<lazy>lazy)[ \t]+(?:import|from)\b)"
)
_PARAMETERS = re.compile(r"(?m)(?:\b(?:def|class)|\btype;)[ \t]*\w+[ \t]*(?=\[)")
_EXCEPT = re.compile(r"(?m)^[ \t]*except\*?[ \t]+[^\n(,:]+(?P<rest>,[^\n:]*)(?=:)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def in_older_syntax(text: str) -> str:
    """The text without the syntax that came with Python 3.12 and later, as far as it is known; else as it is."""
    text, code = _without_templates(text)
    for match in reversed([*_KEYWORD.finditer(code)]):
        behind = match.end("type") if match["type"] else match.end("lazy")
        text, code = (f"{each[:behind]};{each[behind + 1 :]}" for each in (text, code))
    for match in reversed([*_PARAMETERS.finditer(code)]):
        end = _bracket_end(code, match.end())
        if end:
            text = text[: match.end()] + _blank_lines(text[match.end() : end], "\\") + text[end:]
    for match in reversed([*_EXCEPT.finditer(code)]):
        start, end = match.span("rest")
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _without_templates(text: str) -> tuple[str, str]:
    """The text with a plain string for each template that cannot be parsed; and its code alone, strings blanked."""
    parts: list[str] = []
    code: list[str] = []
    place = 0
    while match := _STRING.search(text, place):
        end = _string_end(text, match)
        if end is None:  # it is not closed: the rest is as it was
            break
        written = text[match.start() : end]
        is_template = match["quote"] is not None and bool(set((match["prefix"] or "").lower()) & {"f", "t"})
        parts += [text[place : match.start()], _older_template(written, match) if is_template else written]
        code += [text[place : match.start()], re.sub(r"[^\n]", " ", written)]
        place = end
    return "".join([*parts, text[place:]]), "".join([*code, text[place:]])


def _string_end(text: str, match: re.Match[str]) -> int | None:
    """Where a string or a comment ends."""
    quote, prefix = match["quote"], (match["prefix"] or "").lower()
    if quote is None:
        return match.end()
    if set(prefix) & {"f", "t"}:
        return _template_end(text, match.end(), quote, raw="r" in prefix)
    found = _PLAIN_END[quote].match(text, match.end())
    return found.end() if found is not None else None


def _template_end(text: str, place: int, quote: str, *, raw: bool) -> int | None:
    """Where a template ends, in whose braces there may be any code: strings with the same quotes, too."""
    while place < len(text):
        if text.startswith(quote, place):
            return place + len(quote)
        if text.startswith("{{", place) or (text[place] == "\\" and not raw):
            place += 2
        elif text[place] == "{":
            end = _field_end(text, place, quote)
            if end is None:
                return None
            place = end
        else:
            place += 1
    return None


def _field_end(text: str, place: int, quote: str) -> int | None:
    """Where the braces of a template end that open at `place`."""
    depth = 0
    while place < len(text):
        sign = text[place]
        if sign in "\"'#":
            match = _STRING.match(text, place)
            end = _string_end(text, match) if match is not None else None
            if end is None:
                return None
            place = end
            continue
        depth += (sign in "([{") - (sign in ")]}")
        place += 1
        if not depth:
            return place
        if sign == ":" and depth == 1:  # a format, which is text with braces of its own
            while place < len(text) and text[place] not in "}":
                end = _field_end(text, place, quote) if text[place] == "{" else place + 1
                if end is None:
                    return None
                place = end
    return None


def _older_template(written: str, match: re.Match[str]) -> str:
    """A template as it is if it can be parsed; else a string of blanks that is as long."""
    try:
        ast.parse(f"({written})", mode="eval")
    except (SyntaxError, ValueError):
        prefix, quote = match["prefix"], match["quote"]
        inside = written[len(prefix) + len(quote) : -len(quote)]
        return (
            f"{'u' if len(prefix) == 1 else 'r'}{quote}{' ' * (len(prefix) - 1)}{_blank_lines(inside, chr(92))}{quote}"
        )
    return written


def _bracket_end(code: str, place: int) -> int:
    """Where the bracket ends that opens at `place`; 0 if it does not."""
    open_ones: list[str] = []
    for index in range(place, len(code)):
        sign = code[index]
        if sign in _CLOSING:
            open_ones.append(_CLOSING[sign])
        elif open_ones and sign == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return index + 1
    return 0


def _blank_lines(text: str, continued: str) -> str:
    """Blanks for a text, whose lines end with what continues a line."""
    lines = text.split("\n")
    blanks = [f"{' ' * (len(line) - 1)}{continued}" for line in lines[:-1]]
    return "\n".join([*blanks, " " * len(lines[-1])])
