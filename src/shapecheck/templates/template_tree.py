"""The tree of a model's stages: the data that all views of a template show, and what all stages come to."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shapecheck.model import Stage
from shapecheck.templates import format_value

_SIGN = re.compile(r" ([+-]) ")
_FACTOR = re.compile(r"(\d+)(?:\*(.+))?")


def holders(stages: Sequence[Stage], seen: set[str] | None = None) -> Iterator[Stage]:
    """The outermost stages that hold parameters, each place once: a function or a scope has none of its own."""
    seen = set() if seen is None else seen
    for stage in stages:
        if not stage.params:
            yield from holders(stage.children, seen)
        elif stage.path not in seen:
            seen.add(stage.path)
            yield stage


def total(numbers: Iterable[int | str]) -> int | str:
    """The sum of numbers that are integers or polynomials as JAX writes them, `2*b*d^2 + 3`."""
    sums: Counter[str] = Counter()
    for number in numbers:
        for sign, term in _terms(str(number)):
            factor = _FACTOR.fullmatch(term)
            sums[(factor[2] or "") if factor else term] += sign * (int(factor[1]) if factor else 1)
    constant = sums.pop("", 0)
    terms = [(f"{abs(times)}*{name}" if abs(times) != 1 else name, times) for name, times in sums.items() if times]
    if not terms:
        return constant
    terms += [(str(abs(constant)), constant)] if constant else []
    text = "".join(f" {'-' if times < 0 else '+'} {term}" for term, times in terms)
    return text.removeprefix(" + ") if text.startswith(" + ") else f"-{text[3:]}"


def _terms(text: str) -> Iterator[tuple[int, str]]:
    """The terms of a polynomial with their signs; `floordiv(b + 1, 2)` is one."""
    sign, start = (-1, 1) if text.startswith("-") else (1, 0)
    for found in _SIGN.finditer(text):
        if text.count("(", start, found.start()) == text.count(")", start, found.start()):
            yield sign, text[start : found.start()]
            sign, start = (-1 if found[1] == "-" else 1), found.end()
    yield sign, text[start:]


VERSION = 1


@dataclass(frozen=True)
class StageTree:
    """The stages of `target`, evaluated with the sizes `dims` of its free names (symbols have their own name).

    `count` is the number of all stages of the model, of which a part may be left out; then those at the top of the
    `whole` are kept too, for what all come to.
    """

    target: str
    dims: tuple[tuple[str, str], ...]
    stages: tuple[Stage, ...]
    count: int
    whole: tuple[Stage, ...] = ()

    def __iter__(self) -> Iterator[Stage]:
        """All stages, each before those inside of it."""
        return all_stages(self.stages)

    def __getitem__(self, path: str) -> Stage:
        """The first call at `path`, `blocks[0].attn` for example; KeyError names the nearest if there is none."""
        for stage in self:
            if stage.path == path:
                return stage
        near = difflib.get_close_matches(path, dict.fromkeys(stage.path for stage in self), n=3)
        raise KeyError(f"{path}; there is {', '.join(near)}" if near else path)

    @property
    def params(self) -> int:
        """The numbers that the model holds."""
        return sum(stage.params for stage in holders(self.whole or self.stages))

    @property
    def param_bytes(self) -> int:
        """Their bytes."""
        return sum(stage.param_bytes for stage in holders(self.whole or self.stages))

    @property
    def flops(self) -> int | str | None:
        """An estimate of the operations of all, as text where free sizes enter; None if nobody asked for it."""
        found = [stage.flops for stage in self.whole or self.stages if stage.flops is not None]
        return total(found) if found else None

    def to_json(self) -> str:
        """The template as JSON text, version 1; shapes are text such as `f32[batch,48]` inside of pytrees."""
        return json.dumps(
            {
                "version": VERSION,
                "target": self.target,
                "dims": dict(self.dims),
                "total": {
                    "stages": self.count,
                    "params": self.params,
                    "param_bytes": self.param_bytes,
                    **({"flops": self.flops} if self.flops is not None else {}),
                },
                "stages": [_plain(stage) for stage in self.stages],
            },
            indent=2,
        )


def _plain(stage: Stage) -> dict[str, object]:
    return {
        "path": stage.path,
        "type": stage.type,
        "label": stage.label,
        "callable": stage.callable,
        "call": stage.call,
        "under": list(stage.under),
        "input": {name: format_value.plain(value) for name, value in stage.input},
        "state": {name: format_value.plain(value) for name, value in stage.state},
        "output": format_value.plain(stage.output),
        "params": stage.params,
        "param_bytes": stage.param_bytes,
        "source": {"path": stage.source.path, "line": stage.source.line} if stage.source is not None else None,
        **({"owner": stage.owner} if stage.owner else {}),
        **({"intervenors": list(stage.intervenors)} if stage.intervenors else {}),
        **({"flops": stage.flops} if stage.flops is not None else {}),
        "children": [_plain(child) for child in stage.children],
    }


def all_stages(stages: Sequence[Stage]) -> Iterator[Stage]:
    """All stages of a tree, each before those inside of it."""
    todo = list(stages[::-1])
    while todo:
        stage = todo.pop()
        yield stage
        todo += stage.children[::-1]
