"""Settings that nobody annotates, such as `config` of `config.num_head`: what the code reads off them, and no more.

Their values are those of the smallest table in the project that has all these names; one that is written nowhere is
made by its name, or left out: then there are no such settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts.attribute_reads import Reads
from shapecheck.evaluate.inputs.facts.written_tables import UNKNOWN


class MadeSettings(dict[str, object]):
    """A table whose entries are attributes as well, and which has a hash, as what a model holds must have."""

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"nothing says what `{name}` of made-up settings is") from None

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def made_settings(
    reads: Reads,
    written: Mapping[str, object],
    size: Callable[[str, int], int],
    make: Callable[[str], object],
) -> MadeSettings:
    """Settings with all that is read. `size` gives an integer in the place of a written one, `make` what has no value,
    or UNKNOWN.
    """
    made = MadeSettings()
    for name in {**written, **reads}:
        value, inner = written.get(name, UNKNOWN), reads.get(name, {})
        if isinstance(value, dict) or inner:
            table = value if isinstance(value, dict) else {}
            made[name] = made_settings(inner, table, size, make)
        elif type(value) is int:
            made[name] = size(name, value)
        elif value is not UNKNOWN:
            made[name] = value
        elif name in reads and (by_name := make(name)) is not UNKNOWN:
            made[name] = by_name
    return made


def are_real_numbers(settings: MadeSettings) -> bool:
    """Whether settings hold nothing else."""
    return all(type(value) is float for _, value in _leaves(settings))


def text_of_integers(settings: MadeSettings) -> str:
    """What integers settings hold, as ` with heads=8`, if these are all that may decide on a shape; else nothing.

    Another invention has others.
    """
    leaves = list(_leaves(settings))
    if not all(type(value) in (int, float) for _, value in leaves):
        return ""
    return f" with {', '.join(f'{name}={value}' for name, value in leaves if type(value) is int)}"


def _leaves(settings: MadeSettings, place: str = "") -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, MadeSettings):
            yield from _leaves(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value
