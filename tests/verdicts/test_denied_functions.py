"""Where nothing that the words about a function say holds, they are told once, and prove nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report

HEAD = """\
import jax.numpy as jnp
from jaxtyping import Array, Float

def brightness(image: Float[Array, "channels height width"]):
"""
MOVED = "    moved = jnp.moveaxis(image, 0, -1)  # shape: {}\n"
SCALED = "    scaled = 2 * moved  # shape: {}\n"
GREY = "    return scaled.mean(-1)  # shape: {}\n"


def checked(folder: Path, body: str, *, head: str = HEAD, strict: bool = False) -> Report:
    (folder / "m.py").write_text(head + body)
    with contextlib.chdir(folder):
        return check([Path("m.py")], load([Path("m.py")], flags={"cache": False, "strict_comments": strict}))


def codes(report: Report) -> list[tuple[str, int]]:
    return [(each.code, each.span.line) for each in report.findings]


def test_it_is_one_note_and_the_claims_are_tentative(tmp_path: Path) -> None:
    body = MOVED.format("(pixels, channels)") + SCALED.format("(pixels, channels)") + GREY.format("(pixels,)")
    report = checked(tmp_path, body)
    assert codes(report) == [("SC306", 5)]
    assert "of the 3 shapes" in report.findings[0].message and "brightness" in report.findings[0].message
    assert "(height, width, channels)" in report.findings[0].message
    assert (report.summary.mismatched, report.summary.tentative) == (0, 3)
    assert all(each.severity == "note" for each in report.findings)
    assert codes(checked(tmp_path, body, strict=True)) == [("SC201", 5), ("SC201", 6), ("SC201", 7)]


@pytest.mark.parametrize(
    ("moved", "scaled", "grey", "lines"),
    [
        ("(pixels, channels)", "(height, width, channels)", "(pixels,)", [5, 7]),  # one of them holds
        ("(channels, height, width)", "(channels, height, width)", "(height, width)", [5, 6]),
    ],
)
def test_beside_one_that_holds_each_is_a_mistake(
    moved: str, scaled: str, grey: str, lines: list[int], tmp_path: Path
) -> None:
    report = checked(tmp_path, MOVED.format(moved) + SCALED.format(scaled) + GREY.format(grey))
    assert codes(report) == [("SC201", line) for line in lines]


def test_two_lines_are_too_few_to_doubt_them(tmp_path: Path) -> None:
    body = MOVED.format("(pixels, channels)") + SCALED.format("(pixels, channels)") + "    return scaled\n"
    assert codes(checked(tmp_path, body)) == [("SC201", 5), ("SC201", 6)]


def test_annotations_are_no_such_words(tmp_path: Path) -> None:
    body = MOVED.format("(pixels, channels)") + SCALED.format("(pixels, channels)") + GREY.format("(pixels,)")
    annotated = HEAD.replace('width"]):', 'width"]) -> Float[Array, "height"]:')
    assert codes(checked(tmp_path, body, head=annotated)) == [("SC203", 4), ("SC306", 5)]
