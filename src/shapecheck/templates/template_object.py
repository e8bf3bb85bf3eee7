"""A template as its users hold it: the tree of a model's stages, with all the ways to show it, and back from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from shapecheck.model import Evaluation, Frame, Stage, Value
from shapecheck.templates import format_value
from shapecheck.templates.template_tree import VERSION, StageTree, all_stages


class _Printer(Protocol):
    """What IPython prints with: https://ipython.readthedocs.io/en/stable/api/generated/IPython.lib.pretty.html."""

    def text(self, text: str) -> None:
        """Print a text without line breaks."""

    def break_(self) -> None:
        """Begin a line."""


class Template(StageTree):
    """The stages of a model. `str(template)` is the tree as a terminal shows it."""

    def __str__(self) -> str:
        """The tree, as a terminal shows it."""
        from shapecheck.templates.template_views import tree  # noqa: PLC0415 - it needs rich, which may be absent

        return tree(self, color=False)

    @classmethod
    def from_json(cls, text: str) -> Template:
        """The template that `to_json` made this text of; raises ValueError for a text that is none.

        What JSON does not tell is lost: tuples are lists, dataclasses dicts, and functions have the callable's name.
        """
        return of_json(text, cls)

    def to_html(self) -> str:
        """A page of its own that needs nothing else: a tree to fold and to search, in light and dark."""
        from shapecheck.templates.html_page import html  # noqa: PLC0415 - a running program may never ask for it

        return html(self)

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        """The tree, where IPython shows a value as text."""
        try:
            text = str(self)
        except ImportError:  # rich is not there
            text = f"{self.target}: {self.count} stages; to_html() makes a page of them"
        for index, line in enumerate(text.rstrip("\n").split("\n")):
            if index:
                printer.break_()
            printer.text(line)

    def _repr_html_(self) -> str:
        """The page, inside of a notebook's cell."""
        from shapecheck.templates.html_page import cell  # noqa: PLC0415 - as in `to_html`

        return cell(self)


def of_runs(target: str, runs: Sequence[Evaluation]) -> Template:
    """The template of the most general run that came to its end; raises ValueError if none did."""
    best = next((run for run in runs if run.status == "ok"), None)
    if best is None:
        reasons = "; ".join(dict.fromkeys(f"{run.reason}{_at(run)}" for run in runs)) or "nothing was evaluated"
        raise ValueError(f"{target} cannot be evaluated: {reasons}")
    return Template(target, best.sizes, best.stages, sum(1 for _ in all_stages(best.stages)))


def _at(run: Evaluation) -> str:
    """The line of the user's code at which a run ended, and the arrays on it."""
    if run.failure is None or run.failure.frame is None:
        return ""
    frame = run.failure.frame
    arrays = ", ".join(f"{name}: {text}" for name, text in run.failure.arrays)
    return f" ({frame.path}:{frame.line}, in {frame.function}{'; with ' * bool(arrays)}{arrays})"


_Tree = TypeVar("_Tree", bound=StageTree)
_KINDS = {str: "a text", int: "a number", dict: "an object", list: "a list"}


def of_json(text: str, cls: type[_Tree]) -> _Tree:
    """The template as a `cls`; raises ValueError, saying where, for what is none or of another version."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no template: it is not JSON: {error}") from None
    if not isinstance(found, Mapping) or "version" not in found:
        raise ValueError("this is no template: it is no JSON object with a version")
    if found["version"] != VERSION:
        raise ValueError(
            f"this template has version {found['version']!r}, but this shapecheck reads version {VERSION}: "
            "write it again, with `shapecheck template --format json`"
        )
    return cls(
        _part(found, "target", str, ""),
        tuple((name, _as(size, str, f"dims.{name}")) for name, size in _part(found, "dims", dict, "").items()),
        tuple(_stages(found, "")),
        _part(_part(found, "total", dict, ""), "stages", int, "total."),
    )


def _stages(above: Mapping[str, object], where: str) -> Iterator[Stage]:
    name = "children" if where else "stages"
    for index, found in enumerate(_part(above, name, list, where)):
        yield _stage(_as(found, dict, f"{where}{name}[{index}]"), f"{where}{name}[{index}].")


def _stage(found: Mapping[str, object], where: str) -> Stage:
    flops = found.get("flops")
    return Stage(
        path=_part(found, "path", str, where),
        type=_part(found, "type", str, where),
        label=_part(found, "label", str, where),
        callable=_part(found, "callable", str, where),
        call=_part(found, "call", int, where),
        under=_texts(found, "under", where),
        input=_named_values(found, "input", where),
        state=_named_values(found, "state", where),
        output=_value(_any(found, "output", where), f"{where}output"),
        params=_part(found, "params", int, where),
        param_bytes=_part(found, "param_bytes", int, where),
        source=_source(found, where),
        children=tuple(_stages(found, where)),
        owner=_part(found, "owner", str, where) if "owner" in found else "",
        intervenors=_texts(found, "intervenors", where) if "intervenors" in found else (),
        flops=flops if flops is None or isinstance(flops, str) else _as(flops, int, f"{where}flops"),
    )


def _source(found: Mapping[str, object], where: str) -> Frame | None:
    if _any(found, "source", where) is None:
        return None
    source, where = _part(found, "source", dict, where), f"{where}source."
    # the function has its name in `callable` already
    return Frame(_part(source, "path", str, where), _part(source, "line", int, where), str(found["callable"]))


def _named_values(found: Mapping[str, object], name: str, where: str) -> tuple[tuple[str, Value], ...]:
    values = _part(found, name, dict, where)
    return tuple((each, _value(value, f"{where}{name}.{each}")) for each, value in values.items())


def _value(found: object, where: str) -> Value:
    try:
        return format_value.of_plain(found)
    except ValueError as error:
        raise ValueError(f"this is no template: {where}: {error}") from None


def _texts(found: Mapping[str, object], name: str, where: str) -> tuple[str, ...]:
    texts = _part(found, name, list, where)
    return tuple(_as(text, str, f"{where}{name}[{index}]") for index, text in enumerate(texts))


def _part(found: Mapping[str, object], name: str, kind: type, where: str) -> Any:
    return _as(_any(found, name, where), kind, where + name)


def _any(found: Mapping[str, object], name: str, where: str) -> object:
    if name not in found:
        raise ValueError(f"this is no template: {where}{name} is missing")
    return found[name]


def _as(found: object, kind: type, where: str) -> Any:
    if not isinstance(found, kind) or isinstance(found, bool):
        raise ValueError(f"this is no template: {where} is not {_KINDS[kind]}")
    return found
