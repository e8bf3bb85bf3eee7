"""What in a comment is meant for people: not directives to tools, nor code that somebody switched off."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOOLS = "noqa|nosec|nopycln|type:|pyright:|mypy:|pylint:|pragma:|fmt:|yapf:|isort:|ruff:|flake8:|shapecheck:|%%"
_DIRECTIVE = rf"(?:{_TOOLS})"
_SPLIT = re.compile(rf"(?:^|(?<=\s))#+:?(?=\s)|(?:^|(?<=\s))#+:?\s*+(?={_DIRECTIVE})|^#+[:!]?", re.IGNORECASE)
_IS_DIRECTIVE = re.compile(rf"\s*+{_DIRECTIVE}", re.IGNORECASE)


@dataclass(frozen=True)
class CommentPart:
    """One of several comments on one line, without its `#`: `offset` counts from the first `#`."""

    offset: int
    text: str


def split_comment(comment: str) -> list[CommentPart]:
    """The parts of a comment that are meant for people: `# (b, s)  # noqa` has one."""
    cuts = list(_SPLIT.finditer(comment[:4000]))
    parts: list[CommentPart] = []
    for index, cut in enumerate(cuts):
        end = cuts[index + 1].start() if index + 1 < len(cuts) else len(comment)
        text = comment[cut.end() : end]
        if text.strip() and not _IS_DIRECTIVE.match(text):
            parts.append(CommentPart(cut.end(), text))
    return parts


_KEYWORD_CODE = re.compile(
    r"(?:return|yield|raise|del|import|assert|print|lambda|async|await|global|nonlocal)\b(?!\s*+[:.,])"
    r"|from\s++[\w.]++\s++import\b|(?:def|class)\s++\w++\s*+[(:]|@\w|(?:if|elif|for|while|with|try|else|except)\b.*:\s*$"
)
_ASSIGNMENT = re.compile(
    r"(?P<target>[\w.]++(?:\[[^\]]*+\])?+(?:\s*+,\s*+[\w.*]++)*+)\s*+(?:[-+*/@|&]|//|\*\*)?=(?![=>])"
)
# An element of a list, behind which others come: `[2, 0],`.
_ELEMENT = re.compile(r"[(\[][^()\[\]]*[)\]],")
_CALL = re.compile(r"[\w.]++\(.*\)[\s,:]*+$|[\w.]++\($")


def looks_like_code(text: str) -> bool:
    """Whether a comment on a line of its own is code that somebody switched off."""
    text = text.strip()
    if not text or len(text) > 1000:
        return False
    if text[-1] in "([{\\" or _ELEMENT.fullmatch(text) or text[0] in ")]}" or _KEYWORD_CODE.match(text):
        return True
    assignment = _ASSIGNMENT.match(text)
    if assignment is not None:
        return not re.search(r"shapes?$", assignment.group("target").strip(), re.IGNORECASE)
    return _CALL.match(text) is not None and not text.lower().startswith("shape(")
