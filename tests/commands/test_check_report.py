"""`shapecheck.check` gives what the command gives, as values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shapecheck
from shapecheck import cli
from shapecheck.config import options
from shapecheck.config.config_keywords import CheckOptions

MODEL = """\
import jax.numpy as jnp
from jaxtyping import Array, Float

def scores(q: Float[Array, "s h d"], k: Float[Array, "t h d"]):
    half = q.shape[-1] // 2
    out = jnp.einsum("shd,thd->sht", q, k)  # (h, s, t)
    return out[..., :half]

def mean(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    return x.mean(-1)  # (b,)

def never(x, y):
    if x.sum() > 0:
        return y  # (b, t)
    return None
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n")
    return tmp_path


def test_it_gives_what_the_command_gives(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = shapecheck.check("model.py")
    assert capsys.readouterr() == ("", "")
    assert cli.main(["check", "model.py", "--output-format", "json"]) == 1
    assert report.to_json() == capsys.readouterr().out
    assert cli.main(["check", "model.py", "--output-format", "sarif"]) == 1
    assert report.to_sarif() == capsys.readouterr().out
    assert [(f.code, f.span.line) for f in report if f.severity != "note"] == [("SC201", 6)]
    assert not report.ok


def test_what_is_printed_of_it_is_what_the_command_prints(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = shapecheck.check("model.py")
    cli.main(["check", "model.py"])
    shown = capsys.readouterr()
    assert [line for line in str(report).splitlines() if line] == f"{shown.out}{shown.err}".replace(
        "\n\n", "\n"
    ).splitlines()
    cli.main(["check", "model.py", "--output-format", "concise"])
    assert "".join(f"{finding}\n" for finding in report) == capsys.readouterr().out


def test_each_claim_has_its_verdict(project: Path) -> None:
    claims = {(c.span.line, c.claim): c for c in shapecheck.check(Path("model.py")).claims}
    good = claims[10, "(b,)"]
    assert (good.verdict, good.how, good.function, good.observed) == ("verified", "all sizes", "mean", "float32[b]")
    assert [(b.name, b.size, b.line) for b in good.bindings] == [("b", "b", 9)]
    bad = claims[6, "(h, s, t)"]
    assert (bad.verdict, bad.how) == ("mismatched", None)
    assert "(h, s, t)" in bad.reason
    lost = claims[14, "(b, t)"]
    assert lost.verdict in ("unreached", "tentative")
    assert lost.reason or lost.verdict == "tentative"


def test_claims_add_up_to_the_summary_also_from_the_cache(project: Path) -> None:
    first = shapecheck.check("model.py", cache=True)
    again = shapecheck.check("model.py", cache=True)
    assert again.claims == first.claims
    assert again.to_json() == first.to_json()
    counts = [sum(c.verdict == v for c in first.claims) for v in ("verified", "mismatched", "tentative", "unreached")]
    summary = first.summary
    assert counts == [summary.verified, summary.mismatched, summary.tentative, summary.unreached]
    assert sum(counts) == summary.total


def test_options_win_over_the_configuration_which_counts(project: Path) -> None:
    Path("pyproject.toml").write_text('[tool.shapecheck]\ncache = false\nignore = ["SC201"]\n')
    assert shapecheck.check("model.py").ok
    assert not shapecheck.check("model.py", ignore=()).ok
    assert shapecheck.check("model.py", ignore=(), select=["SC3"], tests=False).ok
    Path("other.toml").write_text("[tool.shapecheck]\ncache = false\n")
    assert not shapecheck.check(["model.py"], config="other.toml").ok


@pytest.mark.parametrize(
    ("paths", "given", "message"),
    [
        ("absent.py", {}, "there is no file or folder 'absent.py'"),
        ([], {}, "there is no path to check"),
        ("model.py", {"selct": ["SC2"]}, "check\\(\\) has no option 'selct'; did you mean 'select'"),
        ("model.py", {"select": ["XY9"]}, "there is no rule 'XY9'"),
        ("model.py", {"budget": -1}, "budget: expected a number above 0"),
        ("model.py", {"python": "no-such-python"}, "there is no Python interpreter 'no-such-python'"),
        ("model.py", {"examples": [{"call": "model:gone"}]}, "gone"),
    ],
)
def test_what_cannot_be_done_is_raised(project: Path, paths: str, given: CheckOptions, message: str) -> None:
    with pytest.raises(shapecheck.CheckRunError, match=message):
        shapecheck.check(paths, **given)


def test_a_wrong_example_still_shows_what_was_found(project: Path) -> None:
    with pytest.raises(shapecheck.CheckRunError) as caught:
        shapecheck.check("model.py", examples=[{"call": "model:gone"}])
    assert caught.value.report is not None
    assert [f.code for f in caught.value.report if f.severity == "error"] == ["SC201"]


def test_keywords_are_the_options() -> None:
    assert set(CheckOptions.__annotations__) == set(options()) - {"output_format", "fail_on_unreached"}


def test_the_face_stays_light() -> None:
    code = "import sys, shapecheck; shapecheck.check; print('click' in sys.modules, 'shapecheck.config' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "False False\n"
    )


LAYER = """
import equinox as eqx
import jax

class Layer(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(width, 5, key=key)

    def __call__(self, x: Float[Array, "b width"]) -> Float[Array, "b 5"]:
        return jax.vmap(self.linear)(x)
"""


@pytest.mark.parametrize(
    ("init", "args", "flags"),
    [
        ((), (), []),
        ("width=24", ["f32[batch 24]"], ["--init", "width=24", "--arg", "f32[batch 24]"]),
    ],
)
def test_its_template_is_that_of_the_command(
    init: str, args: list[str], flags: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model.py").write_text(MODEL.replace("Array, Float", "Array, Float, PRNGKeyArray") + LAYER)
    Path("pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n[tool.shapecheck.sizes]\nwidth = 40\n")
    found = shapecheck.check("model.py").template("model.py:Layer", init=init, args=args)
    assert capsys.readouterr() == ("", "")
    assert cli.main(["template", "model.py:Layer", *flags, "--format", "json"]) == 0
    assert json.loads(found.to_json()) == json.loads(capsys.readouterr().out)
    assert "linear" in str(found)


@pytest.mark.parametrize("target", ["model.py:Absent", "model.py", "gone.py:Layer"])
def test_a_template_that_cannot_be_made_is_an_error_of_the_check(target: str, project: Path) -> None:
    report = shapecheck.check("model.py")
    with pytest.raises(shapecheck.CheckRunError, match=r"Absent|names no model|gone\.py"):
        report.template(target)


def test_a_baseline_that_is_not_there_is_always_said(tmp_path: Path, command_line: Callable[..., Any]) -> None:
    (tmp_path / "m.py").write_text("import jax.numpy as jnp\n\nx = jnp.zeros(3)  # shape: (3,)\n")
    assert command_line(tmp_path, "check", "m.py").returncode == 0
    missing = command_line(tmp_path, "check", "m.py", "--baseline", "nope.json")
    assert missing.returncode == 2
    assert "there is no such baseline" in missing.stderr
