"""What `--print` and `--show` ask for by name: `blocks[0].*`, and `grad:scores` for the gradient of that."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterator, Sequence

_GRADIENT = "grad:"
_MOST = 1000  # names that are kept to choose near ones from


class PrintGlobs:
    """Patterns, and which of them have matched anything so far."""

    def __init__(self, globs: Sequence[str], flag: str) -> None:
        self._globs, self._flag = tuple(globs), flag
        self._found: set[str] = set()
        self._names: dict[str, None] = {}

    def selects(self, names: Sequence[str]) -> tuple[bool, bool]:
        """Whether the value of what has these names is asked for, and whether its gradient is."""
        if not self._globs:
            return False, False
        if len(self._names) < _MOST:
            self._names.update(dict.fromkeys(names))
        matching = {glob for glob in self._globs if _matches(names, glob.removeprefix(_GRADIENT))}
        self._found |= matching
        gradients = {glob for glob in matching if glob.startswith(_GRADIENT)}
        return matching != gradients, bool(gradients)

    def idle(self) -> Iterator[str]:
        """In words, each pattern that has matched nothing, with the names nearest to it."""
        for glob in self._globs:
            if glob in self._found:
                continue
            near = difflib.get_close_matches(glob.removeprefix(_GRADIENT), self._names, n=3)
            hint = f"; there is {', '.join(near)}" if near else ""
            yield f"{self._flag} {glob}: no stage and no variable of that name has run{hint}"


def _matches(names: Sequence[str], glob: str) -> bool:
    """Whether a name matches. Brackets mean themselves: `blocks[0].*`."""
    return any(fnmatch.fnmatchcase(name, glob.replace("[", "[[]")) for name in names)
