"""Facts as JSON: what crosses the border of a process, and what is kept between runs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Union

_SETS: Mapping[str, type[Any]] = {"set": set, "frozenset": frozenset}
Plain = Union[bool, int, float, str, list[Any], dict[str, Any], None]  # noqa: UP007 - evaluated on Python 3.10


class PlainFacts:
    """Writes facts, tuples, sets, mappings and scalars as JSON, and rebuilds them: facts of these data classes."""

    def __init__(self, *classes: type) -> None:
        self._classes = {each.__name__: each for each in classes}
        self._fields = {each.__name__: tuple(field.name for field in dataclasses.fields(each)) for each in classes}

    def dump(self, message: object) -> str:
        """One line of JSON for `message`; raises TypeError for what is none of these facts."""
        return json.dumps(self.to_plain(message), separators=(",", ":"))

    def load(self, line: str | bytes) -> Any:
        """The message of a line; raises ValueError for what is not one."""
        return self.from_plain(json.loads(line))

    def to_plain(self, value: object) -> Plain:
        """Frozen facts become `{"!": class name, "v": field values}`."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (tuple, list)):
            return [self.to_plain(v) for v in value]
        if isinstance(value, Mapping):
            return {"!": "", "v": {str(k): self.to_plain(v) for k, v in value.items()}}
        name = type(value).__name__
        if isinstance(value, (set, frozenset)):
            return {"!": name, "v": [self.to_plain(v) for v in value]}
        if self._classes.get(name) is not type(value):
            raise TypeError(f"{name} does not cross the process boundary")
        return {"!": name, "v": [self.to_plain(getattr(value, f)) for f in self._fields[name]]}

    def from_plain(self, value: Plain) -> Any:
        """The inverse of `to_plain`; lists come back as tuples."""
        if isinstance(value, list):
            return tuple(self.from_plain(v) for v in value)
        if isinstance(value, dict):
            name, inner = value["!"], value["v"]
            if name == "":
                return {k: self.from_plain(v) for k, v in inner.items()}
            if name in _SETS:
                return _SETS[name](map(self.from_plain, inner))
            if name not in self._classes:
                raise ValueError(f"{name} is no message of this version")
            return self._classes[name](**dict(zip(self._fields[name], map(self.from_plain, inner), strict=True)))
        return value
