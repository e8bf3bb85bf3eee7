"""The template that a JSON text, version 1, tells of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from shapecheck.model import Frame, Stage, Value
from shapecheck.templates import format_value
from shapecheck.templates.template_tree import VERSION, StageTree

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
