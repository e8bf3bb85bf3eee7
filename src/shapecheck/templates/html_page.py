"""A page of its own: the tree of stages, to be folded and searched.

All rows stand in it as HTML, so that it can be read without scripts; `page/page.js` hides and shows them.
"""

from __future__ import annotations

import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from shapecheck.model import Stage, Value
from shapecheck.templates import format_stage, format_value
from shapecheck.templates.template_tree import StageTree

_WIDTH = 48  # of a value that is shown in full
_ARRAY = re.compile(r"\b(bool|(?:bf|[fiuc])\d\w*)\[([^\[\]&]*)\]")
_NAME = re.compile(r"[^\W\d]\w*")
_ROW, _REST, _LOWEST, _HIGHEST = 27, 170, 220, 640  # pixels of a cell in a notebook


def html(template: StageTree, *, color: bool = False) -> str:
    """The page; the reader's system says whether it is light or dark, or a button on it."""
    script, style = _resource("page.js"), _resource("page.css")
    # Were there a hole in the escaping, a script in it would not run, and nothing can be loaded from anywhere.
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(_title(template))}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1 class="title">{escape(_title(template))}</h1>
<p class="facts">{_facts(template)}</p>
<div class="tools" role="toolbar" hidden>
<input type="search" id="search" placeholder="Search paths, types, shapes  ( / )" aria-label="Search stages"
 autocomplete="off" spellcheck="false">
<span id="found" role="status"></span>
<span class="spring"></span>
<button type="button" id="unfold">Unfold all</button>
<button type="button" id="fold">Fold all</button>
<button type="button" id="theme" aria-label="Light or dark">&#9680;</button>
</div>
</header>
<main>
{_table(template)}
</main>
<aside id="details" aria-label="The chosen stage" hidden>
<button type="button" id="close" aria-label="Close">&#10005;</button>
<dl></dl>
</aside>
<script>{script}</script>
</body>
</html>
"""
    return page.encode(errors="backslashreplace").decode()  # a file's name may hold half a character


def cell(template: StageTree) -> str:
    """The page for a notebook's cell.

    It stands in a frame: so the notebook's styles for tables and ours do not touch, several can stand in one notebook,
    and what they show cannot reach the notebook, whose scripts have the right to run code.
    """
    height = min(max(_REST + _ROW * sum(1 for _ in template), _LOWEST), _HIGHEST)
    return (
        f'<iframe srcdoc="{escape(html(template))}" sandbox="allow-scripts" title="{escape(_title(template))}" '
        f'style="width: 100%; height: {height}px; border: 0; resize: vertical; overflow: auto"></iframe>'
    )


def _title(template: StageTree) -> str:
    """What a template is of: a page that is passed on says nothing of the folders of one machine."""
    path, colon, name = template.target.rpartition(":")
    return f"{os.path.basename(path)}{colon}{name}" if os.path.isabs(path) else template.target


def _resource(name: str) -> str:
    return (resources.files("shapecheck.templates") / "page" / name).read_text(encoding="utf-8")


def _facts(template: StageTree) -> str:
    total = format_stage.total(template)
    return f"{total} &middot; with <code>{escape(format_stage.dims(template))}</code>" if template.dims else total


def _table(template: StageTree) -> str:
    columns = list(_columns(template))
    return "\n".join(
        [
            '<table role="treegrid" aria-label="Stages">',
            f"<colgroup>{''.join(f'<col class={_kind(template, name)}>' for name in columns)}</colgroup>",
            f'<thead><tr role="row">{"".join(map(_head, columns))}</tr></thead>',
            "<tbody>",
            *_rows(template.stages, columns, max(template.params, 1)),
            "</tbody>",
            "</table>",
        ]
    )


def _columns(template: StageTree) -> Iterator[str]:
    """Those in which anything stands."""
    yield from ("stage", "type")
    if any(stage.under for stage in template):
        yield "under"
    yield "input"
    if any(stage.state for stage in template):
        yield "state"
    yield from ("output", "parameters")
    if any(stage.flops is not None for stage in template):
        yield "flops"
    if any(stage.source is not None for stage in template):
        yield "source"


def _kind(template: StageTree, name: str) -> str:
    """The class of a column; operations take more room as text."""
    is_text = name == "flops" and any(isinstance(stage.flops, str) for stage in template)
    return "'flops text'" if is_text else name


def _head(name: str) -> str:
    number = ' class="number"' if name in ("parameters", "flops") else ""
    return f'<th scope="col" role="columnheader"{number}>{name}</th>'


def _rows(stages: Sequence[Stage], columns: Sequence[str], params: int, depth: int = 0) -> Iterator[str]:
    for stage in stages:
        expanded = ' aria-expanded="true"' if stage.children else ""
        cells = (_CELLS[name](stage, params) for name in columns[1:])
        yield (
            f'<tr role="row" aria-level="{depth + 1}"{expanded} tabindex="-1" style="--depth:{depth}">'
            f"{_stage(stage)}{''.join(cells)}</tr>"
        )
        yield from _rows(stage.children, columns, params, depth + 1)


def _stage(stage: Stage) -> str:
    name = escape(stage.label or stage.path or stage.type)
    fold = f'<button type="button" class="fold" tabindex="-1" aria-label="Fold {name}"></button>'
    after = f' <span class="after">then {escape(", ".join(stage.intervenors))}</span>' if stage.intervenors else ""
    return (
        f'<th scope="row" role="rowheader" data-find><div>{fold if stage.children else "<span class=fold></span>"}'
        f'<span class="label">{name}</span><span class="soft">{format_stage.call(stage)}</span>{after}</div>'
        f"{_more(stage.path) if stage.path != stage.label else ''}</th>"
    )


def _type(stage: Stage, params: int) -> str:
    owner = f' <span class="soft">of {escape(stage.owner)}</span>' if stage.owner else ""
    return _cell("type", f"<div>{escape(format_stage.kind(stage))}{owner}</div>{_more(stage.callable)}", find=True)


def _under(stage: Stage, params: int) -> str:
    return _cell("under", f"<code>{escape(' '.join(stage.under))}</code>" if stage.under else "", find=True)


def _input(stage: Stage, params: int) -> str:
    others = [(name, value) for name, value in stage.input if (name, value) not in format_stage.arguments(stage)]
    rest = ", ".join(f"{name}={format_value.text(value)}" for name, value in others)
    return _cell("input", _values(format_stage.arguments(stage)) + _more(rest), find=True, name="in")


def _state(stage: Stage, params: int) -> str:
    return _cell("state", _values(stage.state), find=True, name="state")


def _output(stage: Stage, params: int) -> str:
    return _cell("output", _values((("", stage.output),)), find=True, name="out")


def _parameters(stage: Stage, params: int) -> str:
    if not stage.params:
        return _cell("parameters number", "")
    share = min(100 * stage.params / params, 100)
    return _cell(
        "parameters number",
        f'<div class="held" title="{share:.3g} % of all"><span>{format_stage.count(stage.params)}</span> '
        f'<span class="soft">{format_stage.size(stage.param_bytes)}</span>'
        f'<span class="bar"><span style="width:{share:.1f}%"></span></span></div>'
        + _more(f"{stage.params:,} numbers, {stage.param_bytes:,} bytes"),
    )


def _flops(stage: Stage, params: int) -> str:
    text = escape(format_stage.flops(stage))
    content = f'<div title="{text}">{text}</div>' if stage.flops is not None else ""
    return _cell("flops number", content, name="flops")


def _source(stage: Stage, params: int) -> str:
    if stage.source is None:
        return _cell("source", "")
    place = f"{stage.source.path}:{stage.source.line}"
    short = escape(re.split(r"[/\\]", place)[-1])
    return _cell("source", f'<div title="{escape(place)}">{short}</div>{_more(place)}')


_CELLS = {
    "type": _type,
    "under": _under,
    "input": _input,
    "state": _state,
    "output": _output,
    "parameters": _parameters,
    "flops": _flops,
    "source": _source,
}


def _cell(classes: str, content: str, *, find: bool = False, name: str = "") -> str:
    """A cell; `name` stands in front of it where there are no columns."""
    named = f' data-name="{name}"' if name and content else ""
    return f'<td role="gridcell" class="{classes}"{" data-find" if find else ""}{named}>{content}</td>'


def _more(text: str) -> str:
    """What the details show besides."""
    return f'<div class="more">{escape(text)}</div>' if text else ""


def _values(values: Sequence[tuple[str, Value]]) -> str:
    prefixes = [f"{name}=" if len(values) > 1 else "" for name, _ in values]
    lines = (prefix + format_value.pretty(value, _WIDTH) for prefix, (_, value) in zip(prefixes, values, strict=True))
    text = escape("\n".join(lines))
    return f"<code>{_ARRAY.sub(_mark_array, text)}</code>" if text else ""


def _mark_array(array: re.Match[str]) -> str:
    """An array whose dtype steps back, and whose free sizes stand out."""
    dims = _NAME.sub(r"<b>\g<0></b>", array[2])
    return f"<i>{array[1]}</i>[{dims}]"
