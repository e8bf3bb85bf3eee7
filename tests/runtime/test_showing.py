"""Arrays as pictures: what is drawn, how often, and where the page goes."""

from __future__ import annotations

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from shapecheck.runtime import show_page
from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.runtime_options import RuntimeOptions, absolute_paths
from shapecheck.runtime.show_page import require_matplotlib

pytest.importorskip("matplotlib")

TEXT = """
import jax
import jax.numpy as jnp
import equinox as eqx


class Attention(eqx.Module):
    scale: float

    def __call__(self, x):
        scores = x @ x.T * self.scale
        return jax.nn.softmax(scores)


class Model(eqx.Module):
    attn: Attention

    def __init__(self):
        self.attn = Attention(2.0)

    def __call__(self, x):
        return self.attn(x).sum()
"""


class Page(HTMLParser):
    """The headings, captions, pictures and whatever is loaded from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.pictures: list[str] = []
        self._open = ["html"]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        if tag == "img":
            self.pictures.append(dict(attrs)["src"] or "")
        assert tag not in ("script", "link", "iframe")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.setdefault(self._open[-1], []).append(data.strip())


def page_of(path: Path) -> Page:
    return Page(path.read_text("utf-8"))


def test_stages_that_match_are_drawn_at_the_first_call_and_now_and_then(
    load: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_page, "_EVERY", 2)
    monkeypatch.setattr(show_page, "_PICTURES", 3)
    path = tmp_path / "page.html"
    module = load(TEXT, shapes=False, shows=("*attn*",), show_output=str(path))
    model = module.Model()

    @jax.jit
    def loss(x: Any) -> Any:
        return jax.vmap(model)(x).sum()

    for _ in range(9):
        jax.block_until_ready(loss(jnp.ones((5, 3, 2))))
    load.session.stop()
    page = page_of(path)
    assert page.texts["h2"] == ["attn"]
    captions = page.texts["figcaption"]
    assert [text.partition(":")[0] for text in captions] == ["call 1", "call 6", "call 8"]
    assert "f32[5,3,3]  0.333333; the first 4 of 5 slices along the last two axes" in captions[0]
    assert len(page.pictures) == 3 and all(each.startswith("data:image/png;base64,iVBOR") for each in page.pictures)
    assert "at every 2th; of each array the first picture is kept, and the latest 2" in page.texts["p"][0]
    assert any("called at" in text and "computed 9 times" in text for text in page.texts["p"])
    assert "/" not in page.texts["title"][0]
    assert capfd.readouterr().err == "shapecheck: --show: 3 pictures are in page.html\n"
    assert [each.name for each in tmp_path.iterdir() if each.suffix not in (".py", "")] == ["page.html"]


def test_variables_and_gradients_are_drawn_whatever_their_shapes(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    module = load(
        """
        import jax.numpy as jnp

        def f(x):
            scalar = x.sum()
            line = x[0]
            large = jnp.concatenate([x] * 100)
            broken = jnp.log(x - 1)
            nothing = broken * jnp.nan
            return scalar + line.sum() + large.sum() + (broken * 0).sum()
        """,
        shapes=False,
        shows=("f.*", "grad:line"),
        show_output=str(path),
    )
    jax.block_until_ready(jax.grad(module.f)(jnp.arange(12.0).reshape(3, 4)))
    load.session.stop()
    page = page_of(path)
    expected = ["f.scalar", "f.line", "f.large", "f.broken", "f.nothing", "gradient of f.line"]
    assert sorted(page.texts["h2"]) == sorted(expected)
    captions = "\n".join(page.texts["figcaption"])
    assert "not drawn" not in captions and len(page.pictures) == len(expected)
    assert "f32[300,4]  0 .. 11; one of 2 rows" in captions
    assert re.search(r"f32\[3,4\]  0 \.\. 2\.30259, 2 not finite", captions)


def test_a_glob_that_matches_nothing_draws_nothing_and_is_told(
    load: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "page.html"
    module = load(TEXT, shapes=False, shows=("atn",), show_output=str(path))
    module.Model()(jnp.ones((3, 2)))
    load.session.stop()
    assert [record.message for record in caplog.records] == [
        "--show atn: no stage and no variable of that name has run; there is attn"
    ]
    assert not path.exists()


def test_without_matplotlib_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    require_matplotlib()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = RuntimeOptions(**absolute_paths({"shows": ("attn",), "show_output": "", "log": ()}))
    assert Path(options.show_output) == Path("shapecheck-show.html").absolute()
    with pytest.raises(ValueError, match=r"pip install matplotlib \(the extra jax-shapecheck\[show\] has it\)"):
        CheckSession(options)
