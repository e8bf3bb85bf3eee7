"""The ways to show a template: a tree for the terminal, JSON, a table for a pull request, a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape as entities

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from shapecheck.model import Stage
from shapecheck.templates import format_stage, format_value
from shapecheck.templates.html_page import html
from shapecheck.templates.template_tree import StageTree


def tree(template: StageTree, *, color: bool = False) -> str:
    """A tree with a line for each stage; the terminal folds those that are longer."""
    top = Tree(f"[bold]{escape(template.target)}[/]{escape(_with(template))}", guide_style="dim")
    for stage in template.stages:
        _grow(top, stage)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=color, no_color=not color, width=_ENDLESS, highlight=False)
    console.print(top, soft_wrap=True)
    return f"{stream.getvalue()}{format_stage.total(template)}\n"


def markdown(template: StageTree, *, color: bool = False) -> str:
    """A table, with those columns that anything stands in."""
    rows = [dict(_cells(stage)) for stage in template]
    always = ("stage", "type", "input", "output", "parameters")
    columns = [*always, *(name for name in _MORE if any(row[name] for row in rows))]
    lines = [f"**{entities(template.target, quote=False)}**{entities(_with(template), quote=False)}", ""]
    lines += [_row(columns), "|" + "---|" * len(columns), *(_row([row[name] for name in columns]) for row in rows)]
    return "\n".join([*lines, "", format_stage.total(template)]) + "\n"


def as_json(template: StageTree, *, color: bool = False) -> str:
    """JSON, version 1."""
    return template.to_json() + "\n"


FORMATS: Mapping[str, Callable[..., str]] = {"tree": tree, "json": as_json, "markdown": markdown, "html": html}

_ENDLESS = 100_000  # columns: Rich cuts what is longer
_MORE = ("state", "flops", "model", "intervenors")


def _grow(parent: Tree, stage: Stage) -> None:
    kind = f" [cyan]{escape(format_stage.kind(stage))}[/]" if stage.path else ""
    owner = f" [dim]of {escape(stage.owner)}[/]" if stage.owner else ""
    under = "".join(f" [magenta]{escape(text)}[/]" for text in stage.under)
    shapes = f"{escape(format_stage.inputs(stage))} -> {escape(format_value.brief(stage.output))}"
    state = "".join(f" [dim]{escape(name)} {escape(format_value.brief(value))}[/]" for name, value in stage.state)
    after = f" [yellow]then {escape(', '.join(stage.intervenors))}[/]" if stage.intervenors else ""
    held = f" [dim]{format_stage.count(stage.params)}[/]" if stage.params else ""
    flops = f" [dim]{escape(format_stage.flops(stage))} flops[/]" if stage.flops is not None else ""
    name = f"[bold]{escape(stage.path or stage.type)}[/]{format_stage.call(stage)}"
    branch = parent.add(f"{name}{kind}{owner}{under}  {shapes}{state}{after}{held}{flops}")
    for child in stage.children:
        _grow(branch, child)


def _cells(stage: Stage) -> Iterator[tuple[str, str]]:
    """The cells of a table by the names of their columns."""
    yield "stage", _code(format_stage.place(stage))
    yield "type", entities(format_stage.kind(stage), quote=False)
    yield "input", _code(format_stage.inputs(stage))
    yield "output", _code(format_value.brief(stage.output))
    yield "parameters", format_stage.count(stage.params)
    yield "state", _code(format_stage.states(stage)) if stage.state else ""
    yield (
        "flops",
        _code(stage.flops) if isinstance(stage.flops, str) else format_stage.flops(stage),
    )  # `2*n*3` has asterisks
    yield "model", entities(stage.owner, quote=False)
    yield "intervenors", entities(", ".join(stage.intervenors), quote=False)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _code(text: str) -> str:
    """Text between as many backticks as it takes."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def _with(template: StageTree) -> str:
    return f"  with {format_stage.dims(template)}" if template.dims else ""
