"""What checks in the running program raise."""

from __future__ import annotations


class ShapeMismatch(TypeError):  # noqa: N818 - the name says what is wrong, as in what users read
    """A value contradicts what the source claims of it. `code`, `path` and `line` say which rule, and where."""

    def __init__(self, text: str, code: str = "", path: str = "", line: int = 0) -> None:
        super().__init__(text)
        self.code, self.path, self.line = code, path, line


ShapeMismatch.__module__ = "shapecheck"  # where users find it


class NonFinite(FloatingPointError):  # noqa: N818 - likewise
    """A stage or a claimed value gave NaN or infinity."""


NonFinite.__module__ = "shapecheck"


class CheckError(RuntimeError):
    """Checks cannot be made at all; the text names the remedy."""


def note(error: BaseException, text: str) -> None:
    """Add a note to an error; before Python 3.11 nothing shows them but our own hook."""
    notes = [*getattr(error, "__notes__", ()), text]
    error.__notes__ = notes
