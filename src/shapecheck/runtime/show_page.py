"""The page of `--show`: pictures of arrays, drawn by matplotlib, in one HTML file that needs nothing else."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shapecheck.evaluate.stages.value_taps import HostArray

_EVERY: Final = 100  # calls
_PICTURES: Final = 8  # of one array
_ARRAYS: Final = 40
_OFTEN: Final = 10.0  # seconds between writes, so that there is a page of a program that is killed
_DOTS: Final = 80  # an inch
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1, h2 { font-weight: 600; } h2 { font-family: ui-monospace, monospace; font-size: 1.05rem; margin: 2.5rem 0 0; }
p { margin: .3rem 0; opacity: .8; } .pictures { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: .6rem 0; } img { max-width: 100%; background: #fff; border-radius: 4px; }
figcaption { font-family: ui-monospace, monospace; font-size: .8rem; opacity: .8; }
"""


def require_matplotlib() -> None:
    """Raise ValueError, with the remedy, where this interpreter has no matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError(
            f"--show draws with matplotlib, which this Python does not have: {sys.executable} -m pip install matplotlib"
            " (the extra jax-shapecheck[show] has it)"
        )


@dataclass(frozen=True, kw_only=True)
class ArrayView:
    """What is drawn of an array: `slices` along its last two axes, with `labels`, and of a large one a `sample`."""

    name: str
    place: str
    text: str
    slices: HostArray
    labels: tuple[str, ...]
    sample: HostArray
    notes: tuple[str, ...]


@dataclass
class _ShownArray:
    """An array that is drawn again and again."""

    place: str
    calls: int = 0
    pictures: list[str] = field(default_factory=list)  # HTML


class ShowPage:
    """Draws arrays when they come for the first time, and then now and then, and keeps a bounded number of pictures."""

    def __init__(self, path: str) -> None:
        stem, suffix = os.path.splitext(path)
        self._path = path if parent_process() is None else f"{stem}-{os.getpid()}{suffix}"
        self._shown: dict[tuple[str, str], _ShownArray] = {}
        self._left_out: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._written = time.monotonic()

    def add(self, view: ArrayView) -> None:
        """Draw an array, if it is its turn."""
        key = view.name, view.place
        with self._lock:
            if key not in self._shown and len(self._shown) == _ARRAYS:
                self._left_out.add(key)
                return
            shown = self._shown.setdefault(key, _ShownArray(view.place))
            shown.calls += 1
            if shown.calls > 1 and shown.calls % _EVERY:
                return
            if len(shown.pictures) == _PICTURES:
                del shown.pictures[1]  # the first stays
            shown.pictures.append(_figure(view, shown.calls))
            if time.monotonic() - self._written > _OFTEN:
                self._write()

    def close(self) -> None:
        """Write the page, and say where it is."""
        with self._lock:
            if self._shown and self._write():
                count = sum(len(each.pictures) for each in self._shown.values())
                pictures = "1 picture is" if count == 1 else f"{count} pictures are"
                sys.stderr.write(f"shapecheck: --show: {pictures} in {os.path.relpath(self._path)}\n")
                sys.stderr.flush()

    def _write(self) -> bool:
        """Put the whole page in the place of what is there; whether that could be done."""
        self._written = time.monotonic()
        text = "".join(self._html())
        beside = f"{self._path}.{os.getpid()}.part"
        try:
            with open(beside, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(beside, self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            sys.stderr.write(f"shapecheck: --show: {self._path} cannot be written: {error.strerror}\n")
            return False
        return True

    def _html(self) -> Iterator[str]:
        title = escape(f"Arrays of {os.path.basename(sys.argv[0]) or 'the program'}")
        yield (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
            "style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        )
        yield (
            f"<p>Drawn at the first call, and at every {_EVERY}th; of each array the first picture is kept, "
            f"and the latest {_PICTURES - 1}. Red is not finite.</p>\n"
        )
        if self._left_out:
            yield f"<p>{len(self._left_out)} arrays more matched, which are too many for this page.</p>\n"
        for (name, place), shown in self._shown.items():
            times = "once" if shown.calls == 1 else f"{shown.calls} times"
            yield f"<h2>{escape(name)}</h2>\n<p>{escape(place)}; computed {times}</p>\n"
            yield f'<div class="pictures">\n{"".join(shown.pictures)}</div>\n'
        yield "</body>\n</html>\n"


def _figure(view: ArrayView, call: int) -> str:
    words = "; ".join([view.text, *view.notes])
    try:
        picture = b64encode(_draw(view)).decode()
    except Exception as error:  # of another library: the program goes on without a picture
        words += f"; not drawn: {error}"
        return f"<figure><figcaption>call {call}: {escape(words)}</figcaption></figure>\n"
    return (
        f'<figure><img alt="{escape(view.name)} at call {call}" src="data:image/png;base64,{picture}">'
        f"<figcaption>call {call}: {escape(words)}</figcaption></figure>\n"
    )


def _draw(view: ArrayView) -> bytes:
    """A picture as PNG. Only matplotlib's classes are used, so that the program's own backend and figures stay."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only where something is drawn

    count, rows, columns = view.slices.shape
    if rows * columns == 1 and count == 1:
        figure = Figure(figsize=(2.4, 0.6), dpi=_DOTS)
        figure.text(0.05, 0.4, f"{float(view.slices[0, 0, 0]):.6g}", family="monospace")
        return _png(figure)
    is_line = rows == 1 and count == 1
    panels = count + bool(view.sample.size)
    figure = Figure(figsize=(4.0 * panels if is_line else 3.4 * panels, 2.4 if is_line else 3.0), dpi=_DOTS)
    figure.set_layout_engine("constrained")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    if is_line:
        _draw_line(axes[0], view.slices[0, 0])
    else:
        _draw_heat_maps(axes[:count], view.slices, view.labels)
    if view.sample.size:
        _draw_histogram(axes[-1], view.sample)
    return _png(figure)


def _draw_line(axes: Axes, values: HostArray) -> None:
    axes.plot(values, marker="." if values.size <= 64 else "", linewidth=1)
    _mark_not_finite(axes, values)


def _mark_not_finite(axes: Axes, values: HostArray) -> None:
    import numpy as np  # noqa: PLC0415 - the program decides when it is loaded

    for index in np.flatnonzero(~np.isfinite(values))[:_EVERY]:
        axes.axvline(float(index), color="red", linewidth=0.8)


def _draw_heat_maps(axes: list[Axes], slices: HostArray, labels: tuple[str, ...]) -> None:
    """All with the same colours."""
    import numpy as np  # noqa: PLC0415 - likewise

    finite = slices[np.isfinite(slices)]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    for axis, values, label in zip(axes, slices, labels, strict=True):
        axis.set_facecolor("red")
        image = axis.imshow(np.ma.masked_invalid(values), vmin=least, vmax=most, aspect="auto", interpolation="nearest")
        axis.set_title(label, fontsize="small")
    axes[-1].figure.colorbar(image, ax=axes)


def _draw_histogram(axes: Axes, sample: HostArray) -> None:
    import numpy as np  # noqa: PLC0415 - likewise

    axes.hist(sample[np.isfinite(sample)], bins=64)
    axes.set_title("histogram", fontsize="small")


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()
