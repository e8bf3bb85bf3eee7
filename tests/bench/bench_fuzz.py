"""Check random and hostile sources, and count the reports that are not clean.

    python tests/bench/bench_fuzz.py [--seconds 3600] [--seed N] [--keep FOLDER] [--package NAME ...]

Each round checks a folder of three modules: one made at random from an installed package's source, and two neighbours
of which every run must say the same. A round is not clean if it ends the run, shows a bug of ours or a traceback, lasts
longer than its limits, or loses what is known of a neighbour. What such a module looked like is kept.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz import edits

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report
from shapecheck.worker import worker_client
from shapecheck.worker.fork_server import ForkServers

BUDGET, TIMEOUT = 20.0, 4.0
LATEST = BUDGET + 15.0  # seconds that a round may last
_LINES = 700  # of a source
_CONFIG = f"[tool.shapecheck]\ncache = false\njobs = 1\nbudget = {BUDGET}\ntimeout = {TIMEOUT}\n"
_NEIGHBOUR = """
from jaxtyping import Array, Float

def bad(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    return x.T

def good(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    y = x.T  # (d, b)
    return y
"""
_OWN = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

class Layer(eqx.Module):
    w: Float[Array, "d k"]
    def __init__(self, d: int, k: int, *, key):
        self.w = jax.random.normal(key, (d, k))
    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b k"]:
        y = x @ self.w  # (b, k)
        return jax.nn.relu(y)

def attend(q: Float[Array, "s d"], k: Float[Array, "t d"], v: Float[Array, "t d"]) -> Float[Array, "s d"]:
    scores = q @ k.T  # (s, t)
    return jax.nn.softmax(scores) @ v

def half(x: Float[Array, "b d"]) -> Float[Array, "b d//2"]:
    return x[:, : x.shape[1] // 2]

def mapped(xs: Float[Array, "n b d"]) -> Float[Array, "n d b"]:
    return jax.vmap(lambda x: x.T)(xs)

def pick(x: Float[Array, "b d"], i: Int[Array, "b"]) -> Float[Array, "b"]:
    return jnp.take_along_axis(x, i[:, None], axis=1)[:, 0]
"""


class RoundTooLongError(Exception):
    """A round lasted longer than its limits."""


def main() -> None:
    """Run rounds until the time is over, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "shapecheck-fuzz")
    parser.add_argument("--package", action="append", help="whose sources are edited (equinox, optax, flax, haiku)")
    options = parser.parse_args()
    chance, counts = random.Random(options.seed), Counter[str]()  # noqa: S311 - nothing is kept secret
    end = time.monotonic() + options.seconds
    sources = list(_sources(options.package or ["equinox", "optax", "flax", "haiku"]))
    print(f"seed {options.seed}, {len(sources)} sources; what is not clean is kept in {options.keep}", flush=True)
    with tempfile.TemporaryDirectory() as name, _fork_server():
        before = _neighbours(_checked(Path(name), _OWN))
        for number in range(10**9):
            if time.monotonic() > end:
                break
            text = _module(sources, chance)
            kind, details = _round(Path(name), text, before)
            counts[kind] += 1
            if kind not in ("clean", "late"):
                print(f"{number}: {kind}: {details[-1500:]}", flush=True)
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{options.seed}_{number}.py").write_text(text)
    for kind, count in sorted(counts.items()):
        print(f"{count:6} {kind}")


def _sources(packages: list[str]) -> Iterator[str]:
    for name in packages:
        found = importlib.util.find_spec(name)
        for folder in (found.submodule_search_locations or ()) if found is not None else ():
            for file in sorted(Path(folder).rglob("*.py")):
                text = file.read_text(encoding="utf-8")
                # Relative imports are the package's own: the copy is a module of the same package by its full names.
                package = ".".join([name, *file.relative_to(folder).parts[:-1]])
                if text.count("\n") < _LINES and "test" not in file.name:
                    with contextlib.suppress(SyntaxError, ImportError):
                        yield edits.prepared(_absolute(text, package))


def _absolute(text: str, package: str) -> str:
    """The source with relative imports written out."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line.replace(f"from {'.' * node.level}{node.module or ''} ", f"from {base} ", 1)
    return "\n".join(lines) + "\n"


def _module(sources: list[str], chance: random.Random) -> str:
    kind = chance.random()
    text = edits.prepared(_OWN) if kind < 0.5 else chance.choice(sources)
    if kind < 0.3:
        return edits.hostile(text, chance)
    text = edits.edited(text, chance)
    with contextlib.suppress(SyntaxError):
        return edits.hostile(text, chance) if kind < 0.35 else text
    return text


def _round(folder: Path, text: str, before: object) -> tuple[str, str]:
    started = time.monotonic()
    try:
        report = _checked(folder, text)
    except RoundTooLongError:
        return "hang", traceback.format_exc()
    except Exception:
        return "ended the run", traceback.format_exc()
    took = time.monotonic() - started
    if report.bugs or report.broken:
        return "bug", "\n".join([*report.bugs, *report.broken])
    said = " ".join([*(each.reason for each in report.unreached), *(each.message for each in report.findings)])
    if "Traceback" in said:
        return "traceback", said
    if _neighbours(report) != before:
        reasons = {each.reason for each in report.unreached if each.path in ("a_first.py", "z_last.py")}
        late = bool(reasons) and all("--budget" in reason for reason in reasons)
        return ("late" if late else "lost a neighbour"), f"{reasons} {_neighbours(report)}"
    return ("too long", f"{took:.0f} s") if took > LATEST else ("clean", "")


def _checked(folder: Path, text: str) -> Report:
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    texts = {"pyproject.toml": _CONFIG, "a_first.py": _NEIGHBOUR, "m_fuzz.py": text, "z_last.py": _NEIGHBOUR}
    for name, content in texts.items():
        (project / name).write_text(content)

    def stop(number: int, frame: object) -> None:
        raise RoundTooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(LATEST) + 15)
    try:
        with contextlib.chdir(project):
            return check([project], load([project]))
    finally:
        signal.alarm(0)


def _neighbours(report: Report) -> object:
    names = ("a_first.py", "z_last.py")
    findings = [(each.path, each.span.line, each.code) for each in report.findings if each.path in names]
    verified = [(each.path, each.line) for each in report.verified if each.path in names]
    return sorted(findings), sorted(verified)


@contextlib.contextmanager
def _fork_server() -> Iterator[None]:
    """Workers need not wait for JAX."""
    os.environ["PYTHONPATH"] = str(Path(worker_client.__file__).parents[2])
    with ForkServers() as servers, pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_client, "spawn_process", servers.start)
        yield


if __name__ == "__main__":
    main()
