"""What a client may set: as `initializationOptions`, or later as the settings `shapecheck`."""

from __future__ import annotations

from dataclasses import dataclass

_MOST = 10_000.0  # milliseconds


@dataclass(frozen=True)
class ServerSettings:
    """The settings of the server; what a check means is set in `[tool.shapecheck]`.

    `debounce` are the seconds after an edit before it is checked. `python` wins over the configuration's.
    """

    inlay_hints: bool = False
    debounce: float = 0.25
    python: str = ""

    @classmethod
    def of_json(cls, given: object) -> ServerSettings:
        """The settings in a client's JSON, with defaults in place of what is no setting."""
        if not isinstance(given, dict):
            return cls()
        debounce, python = given.get("debounce"), given.get("python")
        seconds = cls.debounce
        if isinstance(debounce, int | float) and not isinstance(debounce, bool) and 0 <= debounce <= _MOST:
            seconds = debounce / 1000
        return cls(
            inlay_hints=given.get("inlayHints") is True,
            debounce=seconds,
            python=python if isinstance(python, str) else "",
        )
