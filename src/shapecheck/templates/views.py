"""The ways to show a template: a tree for the terminal, JSON, a table for a pull request."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from shapecheck.facts import Stage
from shapecheck.templates import shown
from shapecheck.templates.tree import Template

_KEYS = frozenset(["key", "rng", "rngs"])  # arguments that are shown in JSON only


def tree(template: Template, *, color: bool, width: int = 160) -> str:
    """A tree with a line for each stage."""
    top = Tree(f"[bold]{escape(template.target)}[/]{_dims(template)}", guide_style="dim")
    for stage in template.stages:
        _grow(top, stage)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=color, no_color=not color, width=width, highlight=False)
    console.print(top, soft_wrap=True)
    total = f"{template.count} stages, {count(template.params)} parameters, {size(template.param_bytes)}"
    return f"{stream.getvalue()}{total}\n"


def markdown(template: Template, *, color: bool = False) -> str:
    """A table."""
    lines = [f"**{template.target}**{_dims(template)}", "", "| stage | type | input | output | parameters |"]
    lines.append("|---|---|---|---|---|")
    for stage in template:
        cells = (
            f"`{place(stage)}`",
            stage.type,
            f"`{inputs(stage)}`",
            f"`{shown.text(stage.output)}`",
            count(stage.params),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def as_json(template: Template, *, color: bool = False) -> str:
    """JSON, version 1."""
    return template.to_json() + "\n"


FORMATS: Mapping[str, Callable[..., str]] = {"tree": tree, "json": as_json, "markdown": markdown}


def place(stage: Stage) -> str:
    """The path, with the number of the call if it is not the first, and what it runs under."""
    call = f" #{stage.call + 1}" if stage.call else ""
    return f"{stage.path or stage.type}{call}{''.join(f' {text}' for text in stage.under)}"


def inputs(stage: Stage) -> str:
    """The arguments that are no random keys."""
    found = [(name, value) for name, value in stage.input if name not in _KEYS and shown.holds_arrays(value)]
    if len(found) == 1:
        return shown.text(found[0][1])
    return ", ".join(f"{name}={shown.text(value)}" for name, value in found)


def count(number: int) -> str:
    """A number of parameters: 1234567 is `1.23M`."""
    return _scaled(number, 1000, ("", "k", "M", "G", "T"))


def size(number: int) -> str:
    """A number of bytes: `4.7 MiB`."""
    return _scaled(number, 1024, (" B", " KiB", " MiB", " GiB", " TiB"))


def _scaled(number: int, step: int, units: tuple[str, ...]) -> str:
    value = float(number)
    for unit in units[:-1]:
        if value < step:
            return f"{value:.3g}{unit}" if value != int(value) else f"{int(value)}{unit}"
        value /= step
    return f"{value:.3g}{units[-1]}"


def _grow(parent: Tree, stage: Stage) -> None:
    under = "".join(f" [magenta]{escape(text)}[/]" for text in stage.under)
    call = f" #{stage.call + 1}" if stage.call else ""
    name = escape(stage.path or stage.type)
    kind = f" [cyan]{escape(stage.type)}[/]" if stage.path else ""
    state = "".join(f" [dim]{name} {escape(shown.text(value))}[/]" for name, value in stage.state)
    shapes = f"{escape(inputs(stage))} -> {escape(shown.text(stage.output))}"
    held = f" [dim]{count(stage.params)}[/]" if stage.params else ""
    branch = parent.add(f"[bold]{name}[/]{call}{kind}{under}  {shapes}{state}{held}")
    for child in stage.children:
        _grow(branch, child)


def _dims(template: Template) -> str:
    return "  with " + ", ".join(_sizes(template)) if template.dims else ""


def _sizes(template: Template) -> Iterator[str]:
    for name, text in template.dims:
        yield name if name == text else f"{name}={text}"
