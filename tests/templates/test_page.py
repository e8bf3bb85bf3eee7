"""The page in a browser: what it shows, folds and finds, and that it asks for nothing."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from shapecheck.templates import Template

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason="pages are tested with selenium")
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or chromium is None:
        pytest.skip("pages are tested in Chromium: there is none, or no chromedriver (chromium, chromium-driver)")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1200,800"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with selenium.Chrome(options=options, service=selenium.ChromeService(driver)) as found:
        yield found


class Page:
    """One page in the browser."""

    def __init__(self, browser: Any, file: Path, html: str, *, dark: bool = False) -> None:
        self.browser, self.url = browser, file.as_uri()
        browser.get("about:blank")
        for log in ("browser", "performance"):
            browser.get_log(log)  # of what was there before, a start page perhaps
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        file.write_text(html, encoding="utf-8")
        browser.get(self.url)
        while self.run("return document.readyState") != "complete":  # seldom so, on a machine with much to do
            time.sleep(0.01)

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def find(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def search(self, text: str) -> None:
        box = self.find("#search")
        box.clear()
        box.send_keys(text)

    def press(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)

    def rows(self, selector: str = "tbody tr") -> list[str]:
        """The stages that can be seen, by their paths."""
        names = f"[...document.querySelectorAll({selector!r})].filter(r => r.getClientRects().length)"
        path = "(r.querySelector('th .more') ?? r.querySelector('.label')).textContent"
        found: list[str] = self.run(f"return {names}.map(r => {path})")
        return found

    def focused(self) -> str:
        found: str = self.run("return document.activeElement.querySelector('.label').textContent")
        return found

    def colors(self) -> tuple[str, str]:
        """Of the paper and of the ink."""
        found = self.run("let s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
        return found[0], found[1]

    def is_clean(self) -> None:
        """It has no errors, and asked nobody for anything."""
        assert self.browser.get_log("browser") == []
        messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        sent = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        assert {url for url in sent if not url.startswith("data:")} <= {self.url}


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Page] = []

    def show(html: str, **how: Any) -> Page:
        pages.append(Page(browser, tmp_path / f"{len(pages)}.html", html, **how))
        return pages[-1]

    yield show
    pages[-1].is_clean()


ALL = ["Iterator", "step", "step.feedback", "step.net", "step.net.hidden", "step.net", "heads['a.b']"]


def test_every_stage_has_a_row(body: Template, show: Any) -> None:
    page = show(body.to_html())
    assert page.rows() == ALL
    assert page.browser.title == "pkg/model.py:Net"
    assert page.find(".facts").text == "7 stages, 27k parameters, 105 KiB · with batch, d=7"
    heads = page.run("return [...document.querySelectorAll('thead th')].map(h => h.textContent)")
    assert heads == ["stage", "type", "under", "input", "state", "output", "parameters", "flops", "source"]
    cells = page.run("return [...document.querySelectorAll('tbody tr')[3].cells].map(c => c.innerText.split(/\\s+/))")
    assert cells[0] == ["net", "then", "CurlField,", "AddNoise"]
    assert cells[1] == ["SimpleStagedNetwork", "of", "SimpleFeedback"]
    assert cells[6:] == [["13.5k", "52.7", "KiB"], ["2*batch*13500"], ["model.py:12"]]
    widths = page.run("return [...document.querySelectorAll('.bar span')].map(s => s.style.width)")
    assert widths == ["100%", "100%", "50%", "50%", "50%"]


@pytest.mark.parametrize(
    ("text", "hits", "around"),
    [
        ("hidden=", ["Iterator", "step", "step.net", "step.net"], []),  # in a state
        ("GRUCell", ["step.net.hidden"], ["Iterator", "step", "step.net"]),
        ("grucell F32[50]", ["step.net.hidden"], ["Iterator", "step", "step.net"]),
        ("scan(100)", ["step"], ["Iterator"]),
        ("f32[batch, 48] lambda", ["heads['a.b']"], ["Iterator"]),
        ("curlfield", ["step.net"], ["Iterator", "step"]),
        ("step.net.hidden", ["step.net.hidden"], ["Iterator", "step", "step.net"]),
        ("13.5k", [], []),  # numbers of parameters are no shapes
        ("nowhere", [], []),
    ],
)
def test_a_search_shows_what_it_finds_and_what_is_around_it(
    text: str, hits: list[str], around: list[str], body: Template, show: Any
) -> None:
    page = show(body.to_html())
    page.search(text)
    assert page.rows("tbody tr:not(.around)") == hits
    assert page.rows("tbody tr.around") == around
    assert page.find("#found").text == f"{len(hits)} of 7 stages"
    page.press("\ue00c")  # Escape
    assert (page.rows(), page.rows("tr.around"), page.find("#found").text) == (ALL, [], "")


def test_stages_fold(body: Template, show: Any) -> None:
    page = show(body.to_html())
    page.click("tbody tr:nth-child(4) .fold")
    assert page.rows() == [path for path in ALL if path != "step.net.hidden"]
    page.click("tbody tr:nth-child(2) .fold")
    assert page.rows() == ["Iterator", "step", "heads['a.b']"]
    assert page.run("return document.querySelectorAll('tr')[2].getAttribute('aria-expanded')") == "false"
    page.click("tbody tr:nth-child(2) .fold")  # what was folded inside of it still is
    assert page.rows() == [path for path in ALL if path != "step.net.hidden"]
    page.click("#unfold")
    assert page.rows() == ALL
    page.click("#fold")
    assert page.rows() == ["Iterator"]
    page.search("grucell")  # opens what it finds, and what it finds can be folded
    assert page.rows() == ["Iterator", "step", "step.net", "step.net.hidden"]
    page.click("tbody tr:nth-child(4) .fold")
    assert page.rows() == ["Iterator", "step", "step.net"]
    page.press("/", "\ue00c")
    assert page.rows() == ["Iterator"]


def test_keys_do_what_the_mouse_does(body: Template, show: Any) -> None:
    down, up, left, right, home, end = "\ue015", "\ue013", "\ue012", "\ue014", "\ue011", "\ue010"
    page = show(body.to_html())
    page.find("body").send_keys("/")
    assert page.run("return document.activeElement.id") == "search"
    page.press(down)
    assert page.focused() == "Iterator"
    page.press(right, right, down)
    assert page.focused() == "net"
    page.press(left)
    assert (page.focused(), page.rows()) == ("net", [path for path in ALL if path != "step.net.hidden"])
    page.press(right, right)
    assert (page.focused(), page.rows()) == ("hidden", ALL)
    page.press(left, left)
    assert (page.focused(), page.rows()) == ("net", [path for path in ALL if path != "step.net.hidden"])
    page.press(left)
    assert page.focused() == "step"
    page.press(end)
    assert page.focused() == "a|`b`"
    page.press(up)
    assert (page.focused(), page.find("tr:focus .soft").text) == ("net", "#2")
    page.press(home)
    assert page.focused() == "Iterator"
    assert page.run("return document.querySelectorAll('tr[tabindex=\"0\"]').length") == 1


def test_a_stage_that_is_chosen_is_shown_in_full(body: Template, show: Any) -> None:
    page = show(body.to_html())
    assert not page.find("#details").is_displayed()
    page.click("tbody tr:nth-child(2) td.type")
    lines = page.find("#details").text.splitlines()
    assert lines.index("SimpleFeedback.__call__") and lines.index("key=u32[2]")
    assert lines.index("27,000 numbers, 108,000 bytes")
    assert lines.index("SimpleFeedbackState(") + 1 == lines.index("  mechanics=MechanicsState(")
    page.press("\ue015")  # the details follow
    assert page.find("#details dd .more").text == "step.feedback"
    page.press("\ue00c")
    assert not page.find("#details").is_displayed()
    page.press("\ue007")
    assert page.find("#details").is_displayed()
    page.click("#close")
    assert not page.find("#details").is_displayed()


def test_light_and_dark(body: Template, show: Any) -> None:
    def is_light(color: str) -> bool:
        return sum(map(int, re.findall(r"\d+", color)[:3])) > 3 * 128

    page = show(body.to_html())
    light = page.colors()
    assert is_light(light[0]) and not is_light(light[1])
    page.click("#theme")
    dark = page.colors()
    assert not is_light(dark[0]) and is_light(dark[1])
    page.click("#theme")
    assert page.colors() == light
    page = show(body.to_html(), dark=True)  # as the reader's system is
    assert page.colors() == dark
    page.click("#theme")
    assert page.colors() == light


def test_nothing_of_the_users_becomes_markup(hostile: Template, show: Any) -> None:
    page = show(hostile.to_html())
    bad = hostile.target
    assert page.browser.title == bad
    assert page.find("h1").text == bad
    assert page.run("return document.querySelectorAll('script, img').length") == 1
    page.click("tbody tr:nth-child(2) td.type")
    assert page.run("return document.querySelectorAll('script, img').length") == 1
    found = page.run("return [...document.querySelectorAll('dd')].map(d => d.innerText)")
    assert len(found) == 8
    assert all(bad in text for text in found if not text.startswith("f32[n]"))


def test_a_script_that_got_in_would_not_run(body: Template, show: Any) -> None:
    page = show(body.to_html().replace("</main>", "</main><script>document.title = 'owned'</script>"))
    assert page.browser.title == "pkg/model.py:Net"
    assert "Content Security Policy" in page.browser.get_log("browser")[0]["message"]


def test_two_thousand_stages(many: Template, show: Any) -> None:
    page = show(many.to_html())
    assert len(page.rows()) == 201  # too many to begin with
    script = """
        const [begin, box] = [performance.now(), document.getElementById("search")];
        document.getElementById("unfold").click();
        for (const text of ["b", "blocks", "blocks[77].attn", ""]) {
            box.value = text;
            box.dispatchEvent(new Event("input"));
            document.body.offsetHeight;
        }
        return performance.now() - begin"""
    assert page.run(script) < 10_000
    assert len(page.rows()) == 2001
    page.search("blocks[77].attn")
    assert page.rows("tbody tr:not(.around)") == [f"blocks[77].attn{end}" for end in ("", ".qkv", ".proj")]


@pytest.mark.parametrize("width", [1200, 700, 420])
def test_nothing_is_wider_than_the_window(width: int, body: Template, show: Any) -> None:
    page = show(body.to_html())
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert page.run("return document.documentElement.scrollWidth") <= width
        # between the two, the table scrolls inside of the page
        inner = page.run("let m = document.querySelector('main'); return m.scrollWidth - m.clientWidth")
        assert inner == 0 or width == 700
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_in_a_notebook_it_stands_apart(body: Template, hostile: Template, show: Any) -> None:
    style = "<style>td { display: none !important }</style><table><td id=own>x</td></table>"
    page = show(style + body._repr_html_() + hostile._repr_html_())
    height = page.run("return document.querySelector('iframe').clientHeight")
    assert 220 <= height <= 640
    assert not page.find("#own").is_displayed()
    for index, stages in enumerate([7, 2]):
        page.browser.switch_to.frame(index)
        assert len(page.rows()) == stages
        assert page.find("td.type").is_displayed()
        page.click("#fold")
        assert len(page.rows()) == 1
        assert page.run("try { return parent.document.title } catch (error) { return error.name }") == "SecurityError"
        page.browser.switch_to.default_content()


class Outline(HTMLParser):
    """The elements of a page, and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input", "col", "img"):
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["body", "hostile", "many"])
def test_without_a_browser_it_is_still_well_formed(name: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name).to_html()
    outline = Outline()
    outline.feed(page)
    assert (outline.open, outline.links) == ([], ["data:,"])
    assert "http" not in re.sub('http-equiv="', "", page)
    assert not re.search(r"url\(|@import", page)


def test_half_a_character_is_written_as_its_code() -> None:
    page = Template("caf\udce9.py:Net", (), (), 0).to_html()
    assert "<title>caf\\udce9.py:Net</title>" in page
    page.encode()
