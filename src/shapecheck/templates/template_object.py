"""A template as its users hold it: the tree of a model's stages, with all the ways to show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shapecheck.model import Evaluation
from shapecheck.templates.from_json import of_json
from shapecheck.templates.template_tree import StageTree, all_stages


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
